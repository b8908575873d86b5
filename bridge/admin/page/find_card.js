// SPDX-License-Identifier: Apache-2.0
// find_card: one answer of find: where the request is, its life, its content, and the actions.

import {actionsFor} from "./actions.js";
import {el, replace} from "./dom.js";
import {count, plural} from "./format.js";
import {lifeList, placeText, stepsOf} from "./life.js";
import {facts, state} from "./parts.js";
import {saveButton} from "./saving.js";
import {copyButton, foreign, sizeOf, time, valueBlock} from "./text.js";

const NOTE_MAX = 400;
const STATES = {
  waiting: ["ok", "waiting"],
  delivered: ["idle", "delivered"],
  dead_lettered: ["bad", "dead-lettered"],
  cancelled: ["warn", "cancelled"],
};

function headersOf(headers) {
  if (headers === null || headers.length === 0) return null;
  const rows = headers.map(([name, value]) => [foreign(name), foreign(value)]);
  return el("details", {}, el("summary", {}, plural(headers.length, "header")), facts(rows));
}

function content(record) {
  if (record === null) return null;
  if (record.fault !== null) return el("p", {class: "problem"}, foreign(record.fault));
  const value = el("details", {open: true}, el("summary", {}, `Value, ${sizeOf(record.value)}`), valueBlock(record.value));
  return [headersOf(record.headers), value];
}

function notesOf(found) {
  if (found.notes.length === 0) return null;
  return el(
    "ul",
    {class: "notes"},
    found.notes.map((note) => el("li", {}, foreign(note, NOTE_MAX))),
  );
}

function known(value, name) {
  return value === undefined || value === null ? null : [foreign(value), " ", copyButton(value, name)];
}

// Events name the request of which no record is left.
function identity(found, events) {
  const data = events[0]?.data ?? {};
  const {record} = found;
  return facts([
    ["ID", known(record?.id ?? data.id, "ID")],
    ["Key", known(record?.key ?? data.key, "key")],
    ["Target", known(record?.target ?? data.target, "target")],
    ["Due", found.due && time(found.due, {relative: true})],
    ["Place", found.topic && placeText(found)],
    ["Late", found.late_ms === null ? null : `${count(found.late_ms)} ms`],
  ]);
}

// Returns {node, addEvents}. Events arrive later than the rest. They change only their part, so that
// a text that the reader has opened stays open. changed is called after an action.
export function card(found, changed) {
  const [kind, word] = STATES[found.state] ?? ["idle", found.state];
  const waits = found.state === "waiting" && found.record !== null && found.record.fault === null;
  const source = found.source && placeText(found.source);
  const title = el("h2", {}, source || "Request");
  const names = el("div", {}, identity(found, []));
  const life = el("div", {}, lifeList(stepsOf(found, [])));
  const left = el("div", {}, names, waits && actionsFor(found.record, changed));
  const saved = {...found, events: []};
  const node = el(
    "article",
    {class: "card"},
    el("header", {}, state({kind, word}), title, source && copyButton(source, "source")),
    el("div", {class: "card-columns"}, left, life),
    content(found.record),
    notesOf(found),
    el("div", {class: "buttons"}, saveButton(() => saved, "request")),
  );
  const addEvents = (events) => {
    const own = events.filter(({subject}) => !source || subject === source);
    saved.events = own;
    replace(life, lifeList(stepsOf(found, own)));
    if (found.record === null) replace(names, identity(found, own));
  };
  return {node, addEvents};
}

// An answer without a record: what was searched, and the limits of the search.
export function nothing(found) {
  const offsets = found.searched.reduce((sum, one) => sum + one.offsets, 0);
  const topics = plural(found.searched.length, "topic");
  const words = found.state === "not_waiting" ? "No such request waits." : "No request was found.";
  const text = `${words} Searched: ${plural(offsets, "offset")} of ${topics}.`;
  return [el("p", {class: "empty"}, text), notesOf(found)];
}
