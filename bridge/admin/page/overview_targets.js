// SPDX-License-Identifier: Apache-2.0
// overview_targets: the targets with their rates and failures, and the pauses and limits in force.

import {askLimit, askPause, canControl, controlList} from "./control.js";
import {el, keyed, replace, setText} from "./dom.js";
import {feeds} from "./feeds.js";
import {count, rate, span} from "./format.js";
import {targetDetails, targetState} from "./states.js";
import {empty, loading, panel, problemBox, table} from "./parts.js";
import {sortable} from "./sorting.js";
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

function total(counts) {
  return Object.values(counts).reduce((sum, n) => sum + n, 0);
}

function countsText(counts) {
  const names = Object.entries(counts).filter(([, n]) => n > 0);
  return names.length === 0 ? "–" : names.map(([name, n]) => `${name} ${count(n)}`).join(", ");
}

// A cell without a figure is not shown on a phone.
function show(cell, text) {
  setText(cell, text);
  cell.classList.toggle("none", text === "–");
}

// Each count leads to the dead letters of its code.
function codeLink([code]) {
  const node = el("a", {href: `#/dead?${new URLSearchParams({code})}`});
  return {node: el("span", {}, node), update: ([, n]) => setText(node, `${code} ${count(n)}`)};
}

function showDead(cell, list, counts) {
  const some = Object.entries(counts).filter(([, n]) => n > 0);
  cell.classList.toggle("none", some.length === 0);
  keyed(list, some, ([code]) => code, codeLink);
}

// The order of columns: the worst state comes first.
const KINDS = ["idle", "ok", "warn", "bad"];
const ORDER = [
  ({entry}) => entry,
  (target) => target.deliveries_per_s,
  (target) => target.late_p99_ms,
  (target) => target.deliveries,
  (target) => total(target.failures) + target.deferrals,
  (target) => total(target.dead_letters),
  (target) => KINDS.indexOf(targetState(target).kind),
];

function rowOf(controls) {
  const dead = el("span", {class: "codes"});
  const cells = {
    name: el("th", {scope: "row"}),
    rate: el("td", {class: "number"}),
    late: el("td", {class: "number"}),
    all: el("td", {class: "number"}),
    failures: el("td", {}),
    dead: el("td", {}),
    state: el("td", {class: "mark"}),
    act: el("td", {class: "actions"}),
  };
  const mark = el("span", {class: "state"});
  const details = el("small", {});
  cells.state.append(mark, details);
  cells.dead.append(dead);
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
      show(
        cells.rate,
        target.deliveries_per_s === null ? "–" : `${rate(target.deliveries_per_s)}/s`,
      );
      show(cells.late, span(target.late_p99_ms));
      show(cells.all, count(target.deliveries));
      show(cells.failures, countsText({...target.failures, deferred: target.deferrals}));
      showDead(cells.dead, dead, target.dead_letters);
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
  const {node: frame, rows, stacked} = table("Targets", [
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
  const inOrder = sortable(frame, ORDER, () => update(feeds.targets));
  const update = ({data, problem}) => {
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
      inOrder(used),
      ({entry}) => entry,
      () => {
        const row = rowOf(controls);
        stacked(row.node);
        return row;
      },
    );
  };
  return feeds.targets.listen(update);
}
