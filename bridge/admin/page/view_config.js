// SPDX-License-Identifier: Apache-2.0
// view_config: the configuration in force, without secrets.

import {el, replace} from "./dom.js";
import {feeds} from "./feeds.js";
import {field, loading, panel, problemBox, table} from "./parts.js";
import {foreign} from "./text.js";

function row({key, value, live}) {
  return el(
    "tr",
    {},
    el("th", {scope: "row"}, el("code", {}, key)),
    el("td", {class: "wide"}, value === "" ? el("span", {class: "faint"}, "–") : foreign(value, 300)),
    el("td", {class: "faint nowrap"}, live ? "by SIGHUP" : "at a restart"),
  );
}

export function mountConfig(root) {
  const {node, body, note} = panel("Configuration", {level: 1});
  const filter = el("input", {type: "search", autocomplete: "off", spellcheck: "false"});
  const {
    node: frame,
    rows,
    stacked,
  } = table("Configuration", [["Key"], ["Value"], ["Change"]]);
  const show = ({data}) => {
    const words = filter.value.toLowerCase();
    replace(
      rows,
      data.keys
        .filter(({key, value}) => `${key} ${value}`.toLowerCase().includes(words))
        .map((one) => stacked(row(one))),
    );
  };
  replace(body, loading());
  root.append(node);
  filter.addEventListener("input", () => show(feeds.config));
  return feeds.config.listen((feed) => {
    if (feed.data === null) {
      replace(body, feed.problem.isLost ? loading() : problemBox(feed.problem));
      return;
    }
    note.textContent = feed.data.file === null ? "" : `read from ${feed.data.file}`;
    if (frame.parentNode !== body) replace(body, field("Filter", filter), frame);
    show(feed);
  });
}
