// SPDX-License-Identifier: Apache-2.0
// overview_processes: the processes of the group, with links to their pages.

import {hasRoute} from "./api.js";
import {el, replace} from "./dom.js";
import {feeds} from "./feeds.js";
import {count, plural} from "./format.js";
import {loading, panel, problemBox, runbookLink, sentence, table} from "./parts.js";
import {foreign, time} from "./text.js";

const COLUMNS = [["Host"], ["Lanes", "number"], ["Version"], ["Delivery"], ["Heard"], ["Page"]];

// Another process has its own page. It asks for its own token.
function pageLink({admin, host}) {
  if (admin === null) return el("span", {class: "faint"}, "none");
  const name = `${admin}, page of ${host}`;
  return el("a", {href: `http://${admin}/`, rel: "noreferrer", "aria-label": name}, admin);
}

function row(one) {
  return el(
    "tr",
    {},
    el("th", {scope: "row"}, foreign(one.host)),
    el("td", {class: "number"}, count(one.lanes)),
    el("td", {}, one.version),
    el("td", {}, one.delivery),
    el("td", {}, time(one.at, {relative: true})),
    el("td", {}, pageLink(one)),
  );
}

function differences(list) {
  if (list.length === 0) return null;
  return el(
    "div",
    {class: "problem"},
    list.map((words) => el("p", {}, sentence(words))),
    runbookLink("processes-differ"),
  );
}

// A process without the topic of control, or of an older version, does not know the others.
export function mountProcesses(root) {
  if (!hasRoute("GET", "processes")) return () => {};
  const {node, body, note} = panel("Processes");
  const {node: frame, rows, stacked} = table("Processes", COLUMNS);
  replace(body, loading());
  root.append(node);
  return feeds.processes.listen(({data, problem}) => {
    if (data === null) {
      replace(body, problem.isLost ? loading() : problemBox(problem));
      return;
    }
    note.textContent = plural(data.processes.length, "process", "processes");
    replace(
      rows,
      data.processes.map((one) => stacked(row(one))),
    );
    replace(body, frame, differences(data.differences));
  });
}
