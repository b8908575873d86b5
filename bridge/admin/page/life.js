// SPDX-License-Identifier: Apache-2.0
// life: the whole life of a request as a list of steps, from the answer of find and its events.

import {el} from "./dom.js";
import {plural, span} from "./format.js";
import {foreign, time} from "./text.js";

const EVENTS = {
  accepted: ["ok", "Accepted"],
  delivered: ["ok", "Delivered"],
  cancel_accepted: ["ok", "Cancel accepted"],
  cancelled: ["warn", "Cancelled"],
  replaced: ["warn", "Replaced"],
  too_late: ["warn", "Cancel came too late"],
  delivery_retried: ["warn", "Delivery failed, next try planned"],
  dead_lettered: ["bad", "Dead-lettered"],
  expired: ["bad", "Expired"],
  cancel_unmatched: ["warn", "Cancel without a request"],
  redriven: ["ok", "Sent again"],
};

// An event may tell the topic alone.
export function placeText({topic, partition, offset}) {
  return [topic, partition, offset].filter((part) => part !== null).join("/");
}

function step(at, kind, title, ...details) {
  return {at, kind, title, details};
}

function eventStep(event) {
  const {data} = event;
  const [kind, title] = EVENTS[data.event] ?? ["idle", data.event];
  const details = [
    data.event === "accepted" && data.due ? ["due ", time(data.due)] : null,
    data.event === "delivered"
      ? [
          "to ",
          foreign(data.target),
          data.offset === undefined ? "" : ` partition ${data.partition} offset ${data.offset}`,
        ]
      : null,
    data.code ? el("code", {}, data.code) : null,
    data.reason ? foreign(data.reason) : null,
    data.next_try ? ["next try ", time(data.next_try, {relative: true})] : null,
    data.cancelled_by ? ["by ", foreign(data.cancelled_by)] : null,
    data.in_force ? ["in force since ", time(data.in_force)] : null,
    data.sent_as ? ["as ", foreign(data.sent_as)] : null,
  ];
  return step(event.time, kind, title, details.filter(Boolean));
}

// Steps that find knows, for requests without events.
function foundSteps(found) {
  const {record, cancel, dead_letter: dead} = found;
  return [
    record?.timestamp
      ? step(record.timestamp, "ok", "Requested", found.source ? placeText(found.source) : "")
      : null,
    cancel
      ? step(
          cancel.in_force ?? cancel.timestamp ?? found.event?.time ?? null,
          "warn",
          cancel.op === "replace" ? "Replaced" : "Cancelled",
          `by ${placeText(cancel)}`,
        )
      : null,
    found.delivered ? step(found.delivered, "ok", "Delivered", `to ${placeText(found)}`) : null,
    dead
      ? step(
          null,
          "bad",
          found.state === "waiting" ? "Will be dead-lettered" : "Dead-lettered",
          el("code", {}, dead.code),
          foreign(dead.reason),
        )
      : null,
  ].filter(Boolean);
}

// By in_memory: of the newest requests, the commits do not tell whether they are read.
const READ = new Map([
  [true, "Waits in memory"],
  [false, "Not read yet"],
  [null, "Not read yet, or in memory"],
]);

function nowAndLater(found) {
  const {record} = found;
  if (found.state === "cancelled" && record)
    return [step(null, "now", `Is dropped when it leaves ${found.topic}`)];
  if (found.state !== "waiting" || !record || record.fault !== null) return [];
  const hops =
    record.hops.n === 0
      ? "then it is delivered"
      : `then ${plural(record.hops.n, "more level")}: ${record.hops.levels.join(", ")}`;
  return [
    found.level === null
      ? step(null, "now", READ.get(found.in_memory), `on ${found.topic}`)
      : step(
          null,
          "now",
          `Waits in level ${found.level}`,
          ["leaves ", time(record.leaves, {relative: true})],
          hops,
        ),
    record.last_error
      ? step(
          null,
          "warn",
          plural(record.attempt, "failed attempt"),
          foreign(record.last_error.text),
        )
      : null,
    step(record.due, "later", "Due", ["for ", foreign(record.target)]),
    record.expires_at
      ? step(record.expires_at, "later", "Expires", "if it is not delivered before")
      : null,
  ].filter(Boolean);
}

// Events repeat what find knows, with more details. So they replace the steps of find.
function merged(found, events) {
  if (events.length === 0) return foundSteps(found);
  const known = new Set(events.map(({data}) => data.event));
  const covers = {
    Delivered: "delivered",
    Cancelled: "cancelled",
    Replaced: "cancelled",
    "Dead-lettered": "dead_lettered",
  };
  const rest = foundSteps(found).filter(({title}) => !known.has(covers[title]));
  return [...rest, ...events.map(eventStep)];
}

export function stepsOf(found, events) {
  const past = merged(found, events).sort(
    (a, b) => (Date.parse(a.at) || Infinity) - (Date.parse(b.at) || Infinity),
  );
  return [...past, ...nowAndLater(found)];
}

// Shows the steps, each with the time since the one before.
export function lifeList(steps) {
  let before = null;
  return el(
    "ol",
    {class: "life"},
    steps.map(({at, kind, title, details}) => {
      const ms = at === null ? null : Date.parse(at);
      const since = ms === null || before === null || ms < before ? "" : `+${span(ms - before)}`;
      before = ms ?? before;
      return el(
        "li",
        {class: kind},
        el(
          "div",
          {class: "life-when"},
          ms !== null ? time(at) : kind === "now" ? "now" : "",
          el("small", {}, since),
        ),
        el(
          "div",
          {class: "life-what"},
          el("strong", {}, title),
          details.flat().length > 0 &&
            el(
              "p",
              {},
              details.map((detail, i) => [i > 0 ? ", " : "", detail]),
            ),
        ),
      );
    }),
  );
}
