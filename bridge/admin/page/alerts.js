// SPDX-License-Identifier: Apache-2.0
// alerts: what needs attention, in words, each with its section of the runbook. Pure: it only reads
// answers of the API. The thresholds are those of the alert rules in deploy/prometheus/.

import {count, percent, plural, span} from "./format.js";

const LATE_MS = 1000;
const BEHIND_MS = 1000;
const CANCELS_FULL = 0.8;
export const OVERDUE_ALERT_MS = 60000;

// Kind, section, and a function that returns the sentence, or a false value.
const OF_STATUS = [
  [
    "bad",
    "nothing-is-delivered",
    ({alive}) => !alive && "A thread of the process does not respond.",
  ],
  ["bad", "nothing-is-delivered", ({ready, why}) => !ready && `The process is not ready: ${why}.`],
  [
    "bad",
    "a-lane-is-not-served",
    ({now}) =>
      now.unserved_lanes > 0 && `Added, and not served: ${plural(now.unserved_lanes, "lane")}.`,
  ],
  [
    "bad",
    "a-partition-is-blocked",
    ({now}) =>
      now.blocked_partitions > 0 && `Blocked: ${plural(now.blocked_partitions, "partition")}.`,
  ],
  [
    "warn",
    "deliveries-are-late",
    ({recent}) =>
      recent.late_p99_ms > LATE_MS &&
      `One delivery in a hundred is ${span(recent.late_p99_ms)} late or more.`,
  ],
  [
    "warn",
    "requests-are-read-late",
    ({now}) =>
      now.read_behind_ms > BEHIND_MS &&
      `Requests wait ${span(now.read_behind_ms)} before they are read.`,
  ],
  [
    "warn",
    "lanes-restore-for-long",
    ({now}) =>
      now.restoring_lanes > 0 &&
      `Reading cancels, no deliveries yet: ${plural(now.restoring_lanes, "lane")}.`,
  ],
  [
    "warn",
    "events-are-blocked",
    ({now}) =>
      now.events_blocked_lanes > 0 &&
      `Waiting, because events cannot be written: ${plural(now.events_blocked_lanes, "lane")}.`,
  ],
  [
    "warn",
    "cancels-are-nearly-full",
    ({now}) =>
      now.cancels_limit > 0 &&
      now.cancels_in_force > CANCELS_FULL * now.cancels_limit &&
      `The memory for cancels is ${percent(now.cancels_in_force / now.cancels_limit)} full.`,
  ],
  [
    "warn",
    "requests-are-dead-lettered",
    ({recent}) =>
      recent.dead_letters_per_s > 0 && "Requests were dead-lettered in the last 10 seconds.",
  ],
  [
    "bad",
    "unsafe-topic-settings",
    ({refusals}) => refusals > 0 && `Settings that could lose waiting records: ${count(refusals)}.`,
  ],
  [
    "warn",
    "unsafe-topic-settings",
    ({faults}) =>
      faults > 0 && `Topic faults that make requests fail or lose them: ${count(faults)}.`,
  ],
];

// The same for the head of a level. blocked_lane needs no head.
const OF_LEVEL = [
  [
    "a-partition-is-blocked",
    ({level, blocked_lane: lane}) => lane !== null && `Lane ${lane} of level ${level} is blocked.`,
  ],
  [
    "a-newer-version-wrote-a-record",
    ({level, head}) => head?.newer && `Level ${level} has a record of a newer version.`,
  ],
  [
    "batch-is-unreadable",
    ({level, head}) => head?.unreadable && `Level ${level} has a batch that cannot be read.`,
  ],
  [
    "deliveries-are-late",
    ({level, head}) =>
      head?.overdue_ms >= OVERDUE_ALERT_MS &&
      `The first record of level ${level} is ${span(head.overdue_ms)} overdue, in lane ${head.lane}.`,
  ],
];

// subject distinguishes alerts of one section.
function alert(kind, section, text, subject = "") {
  return {kind, section, text, key: `${kind} ${section} ${subject}`};
}

function statusAlerts(status) {
  return OF_STATUS.map(([kind, section, say], i) => alert(kind, section, say(status), i));
}

function levelAlerts({levels, unreadable, open_transactions: transactions}) {
  const blocked = "is blocked by a batch that cannot be read.";
  return [
    ...levels.flatMap((level) =>
      OF_LEVEL.map(([section, say]) => alert("bad", section, say(level), level.level)),
    ),
    ...unreadable.map(({lane}) =>
      alert("bad", "batch-is-unreadable", `Lane ${lane} of the schedule topic ${blocked}`, lane),
    ),
    ...transactions.map(({lane, records}) =>
      alert(
        "warn",
        "requests-wait-behind-a-transaction",
        `Lane ${lane}: an open transaction of a producer holds ${plural(records, "record")}.`,
        lane,
      ),
    ),
  ];
}

function targetAlerts({targets}) {
  return targets
    .filter(({state}) => state === "failing")
    .map(({entry}) => alert("bad", "target-unavailable", `Deliveries to ${entry} fail.`, entry));
}

// Returns {kind, section, text, key} for all that needs attention, the worst first. Any answer may
// be null.
export function alertsOf({status, levels, targets}) {
  return [
    status === null ? [] : statusAlerts(status),
    levels === null ? [] : levelAlerts(levels),
    targets === null ? [] : targetAlerts(targets),
  ]
    .flat()
    .filter(({text}) => text)
    .sort((a, b) => Number(a.kind !== "bad") - Number(b.kind !== "bad"));
}

// Answers "is it on time?" with a word and a sentence.
export function verdict({alive, ready, recent, now}, alerts) {
  if (!alive || !ready)
    return {kind: "bad", word: "Not ready", sentence: "This process delivers nothing."};
  const late = recent.late_p99_ms;
  const others = now.lanes - now.owned_lanes;
  const sentence =
    (late === null
      ? "Nothing was due in the last 10 seconds."
      : `99 % of deliveries within ${span(Math.max(1, late))}.`) +
    (others > 0 ? ` Other processes own ${plural(others, "lane")}.` : "");
  if (late > LATE_MS) return {kind: "warn", word: "Late", sentence};
  return alerts.some(({kind}) => kind === "bad")
    ? {kind: "bad", word: "Needs attention", sentence}
    : {kind: "ok", word: "On time", sentence};
}
