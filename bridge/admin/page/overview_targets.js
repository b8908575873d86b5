// SPDX-License-Identifier: Apache-2.0
// overview_targets: the targets with their rates and failures, and the pauses and limits in force.

import {askLimit, askPause, canControl, controlList} from "./control.js";
import {el, keyed, replace, setText} from "./dom.js";
import {feeds} from "./feeds.js";
import {count, rate, span} from "./format.js";
import {targetDetails, targetState} from "./states.js";
import {empty, loading, panel, problemBox, table} from "./parts.js";
import {foreign} from "./text.js";

// Entries that stand for no topic.
const OTHERS = {"(none)": "no such target", "(other)": "all others"};

function buttons(entry) {
  const button = (text, act) =>
    el(
      "button",
      {type: "button", class: "small", "aria-label": `${text} ${entry}`, on: {click: act}},
      text,
    );
  return [button("Pause", () => askPause(entry)), button("Limit", () => askLimit(entry))];
}

function countsText(counts) {
  const names = Object.entries(counts).filter(([, n]) => n > 0);
  return names.length === 0 ? "–" : names.map(([name, n]) => `${name} ${count(n)}`).join(", ");
}

function rowOf(controls) {
  const cells = {
    name: el("th", {scope: "row"}),
    rate: el("td", {class: "number"}),
    late: el("td", {class: "number"}),
    all: el("td", {class: "number"}),
    failures: el("td", {}),
    dead: el("td", {}),
    state: el("td", {}),
    act: el("td", {class: "actions"}),
  };
  const mark = el("span", {class: "state"});
  const details = el("small", {});
  cells.state.append(mark, details);
  if (!controls) cells.act = null;
  return {
    node: el("tr", {}, Object.values(cells)),
    update: (target) => {
      const {kind, word} = targetState(target);
      const special = OTHERS[target.entry];
      if (cells.name.firstChild === null)
        cells.name.append(
          special === undefined ? foreign(target.entry) : el("span", {class: "faint"}, special),
        );
      setText(
        cells.rate,
        target.deliveries_per_s === null ? "–" : `${rate(target.deliveries_per_s)}/s`,
      );
      setText(cells.late, span(target.late_p99_ms));
      setText(cells.all, count(target.deliveries));
      setText(cells.failures, countsText({...target.failures, deferred: target.deferrals}));
      setText(cells.dead, countsText(target.dead_letters));
      mark.className = `state ${kind}`;
      setText(mark, word);
      setText(details, targetDetails(target));
      if (controls && special === undefined && cells.act.firstChild === null)
        cells.act.append(...buttons(target.entry));
    },
  };
}

export function mountTargets(root, full) {
  const {node, body, note} = panel("Targets", {className: "targets"});
  const controls = full && canControl();
  const list = controlList(controls);
  const {
    node: frame,
    rows,
    stacked,
  } = table("Targets", [
    ["Entry of targets"],
    ["Rate", "number"],
    ["Late, p99", "number"],
    ["Delivered", "number"],
    ["Failed attempts"],
    ["Dead letters"],
    ["State"],
    ...(controls ? [["Actions", "actions"]] : []),
  ]);
  note.textContent = "this process, since its start";
  replace(body, loading());
  root.append(node);
  const end = feeds.targets.listen(({data, problem}) => {
    if (data === null) {
      replace(body, problem.isLost ? loading() : problemBox(problem));
      return;
    }
    const used = data.targets.filter(
      (target) =>
        OTHERS[target.entry] === undefined ||
        target.deliveries > 0 ||
        Object.keys(target.dead_letters).length > 0,
    );
    if (frame.parentNode !== body)
      replace(body, used.length === 0 ? empty("No targets are configured.") : frame, list.node);
    list.update(feeds.levels.data?.control ?? []);
    keyed(
      rows,
      used,
      ({entry}) => entry,
      () => {
        const row = rowOf(controls);
        stacked(row.node);
        return row;
      },
    );
  });
  return end;
}
