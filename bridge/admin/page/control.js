// SPDX-License-Identifier: Apache-2.0
// control: pauses and limits of targets: those in force, and the dialogs that change them.

import {hasRoute, post} from "./api.js";
import {ask} from "./dialog.js";
import {el, keyed} from "./dom.js";
import {readAll} from "./feeds.js";
import {span} from "./format.js";
import {field, problemBox, state} from "./parts.js";
import {foreign, time} from "./text.js";

// An older process has no such routes.
export function canControl() {
  return ["pause", "limit", "resume"].every((name) => hasRoute("POST", name));
}

const input = (name, placeholder, value = "") =>
  el("input", {name, placeholder, value, autocomplete: "off", spellcheck: "false"});

// Returns a sentence about the entry that the new one replaces.
function replacedSentence(entry) {
  if (entry === null) return "";
  return [
    ` This replaces a ${entry.op === "pause" ? "pause" : `limit of ${entry.rate}`} since `,
    time(entry.at),
    entry.until === null ? ", without an end" : [", until ", time(entry.until)],
    ".",
  ];
}

// Returns a sentence about the removed entry. The bound after a limit is the longest level, far above the usual wait.
function removedSentence({removed, removed_op: op, longest_wait_ms: wait}) {
  if (!removed) return "No such pause or limit was left: another operator may have ended it.";
  if (op === "limit")
    return "Done. Waiting records follow when they leave their level, no later than with the limit.";
  return `Done. Waiting records follow within ${span(wait)}.`;
}

async function write(route, body) {
  const {results, problem} = await post(route, body);
  readAll();
  if (problem !== null) return problemBox({message: problem.detail});
  const done = results[0];
  return el(
    "p",
    {class: "outcome"},
    done.entry === null ? removedSentence(done) : "Done. All processes follow within a second.",
    replacedSentence(done.replaced),
  );
}

const PATTERN = "A topic, or a pattern with *.";
const END = "Such as 2h. Empty: until you resume.";

function optional(name, element) {
  return element.value.trim() === "" ? {} : {[name]: element.value.trim()};
}

export function askPause(pattern) {
  const targets = input("targets", "", pattern);
  const until = input("for", "2h");
  ask({
    title: "Pause deliveries",
    button: "Pause",
    body: [
      el(
        "p",
        {},
        "All processes of the group stop deliveries to these targets. Their records wait, can be cancelled, and expire at their time.",
      ),
      field("Targets", targets, PATTERN),
      field("End after", until, END),
    ],
    act: () => write("pause", {targets: targets.value.trim(), ...optional("for", until)}),
  });
}

export function askLimit(pattern) {
  const targets = input("targets", "", pattern);
  const most = input("rate", "100/s");
  const until = input("for", "2h");
  ask({
    title: "Limit deliveries",
    button: "Limit",
    body: [
      el("p", {}, "The rate counts for each target that matches, over all processes of the group."),
      field("Targets", targets, PATTERN),
      field("Rate", most, "Such as 100/s or 6000/m."),
      field("End after", until, END),
    ],
    act: () =>
      write("limit", {
        targets: targets.value.trim(),
        rate: most.value.trim(),
        ...optional("for", until),
      }),
  });
}

function askResume(pattern) {
  ask({
    title: "Resume deliveries",
    button: "Resume",
    body: el("p", {}, "Ends the pause or limit of ", foreign(pattern), "."),
    act: () => write("resume", {targets: pattern}),
  });
}

function row(entry, controls) {
  const paused = entry.op === "pause";
  return el(
    "li",
    {},
    state({kind: "warn", word: paused ? "paused" : `limited to ${entry.rate}`}),
    foreign(entry.targets),
    el(
      "small",
      {},
      "since ",
      time(entry.at),
      entry.until === null ? "" : [", until ", time(entry.until, {relative: true})],
      entry.by === null ? "" : [", by ", foreign(entry.by)],
    ),
    controls &&
      el(
        "button",
        {
          type: "button",
          class: "small",
          "aria-label": `Resume ${entry.targets}`,
          on: {click: () => askResume(entry.targets)},
        },
        "Resume",
      ),
  );
}

// The list of entries in force. controls: whether they can be changed.
export function controlList(controls) {
  const node = el("ul", {class: "control", "aria-label": "Pauses and limits in force"});
  return {
    node,
    update: (entries) => {
      node.hidden = entries.length === 0;
      keyed(
        node,
        entries,
        (entry) => JSON.stringify(entry),
        (entry) => ({node: row(entry, controls), update: () => {}}),
      );
    },
  };
}
