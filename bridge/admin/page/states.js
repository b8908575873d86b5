// SPDX-License-Identifier: Apache-2.0
// states: the state of a level or a target, as a kind and a word. Pure.

import {OVERDUE_ALERT_MS} from "./alerts.js";
import {count, plural, rate} from "./format.js";

export const OVERDUE_MS = 5000;

// The state of a level. A head may be overdue for a moment: its progress is committed a little
// later than its delivery.
export function levelState(level) {
  const head = level.head;
  if (level.blocked_lane !== null || head?.unreadable || head?.newer || head?.foreign)
    return {kind: "bad", word: "blocked"};
  if (level.waiting === 0) return {kind: "idle", word: "empty"};
  if (head !== null && head.overdue_ms >= OVERDUE_MS)
    return {kind: head.overdue_ms >= OVERDUE_ALERT_MS ? "bad" : "warn", word: "overdue"};
  if (level.withheld > 0) return {kind: "warn", word: `${count(level.withheld)} withheld`};
  const more = level.redelivering_at_least ? "+" : "";
  if (level.redelivering > 0) return {kind: "warn", word: `${count(level.redelivering)}${more} redelivering`};
  return {kind: "ok", word: "flowing"};
}

const TARGET_STATES = {
  paused: {kind: "warn", word: "paused"},
  failing: {kind: "bad", word: "failing"},
  slow: {kind: "warn", word: "slow"},
  partly_paused: {kind: "warn", word: "partly paused"},
  limited: {kind: "warn", word: "limited"},
};

function hasFailed(target) {
  return target.deferrals > 0 || Object.values(target.failures).some((n) => n > 0);
}

export function targetState(target) {
  if (target.state in TARGET_STATES) return TARGET_STATES[target.state];
  if (target.deliveries_per_s > 0) return {kind: "ok", word: "delivering"};
  return hasFailed(target) ? {kind: "warn", word: "failed before"} : {kind: "idle", word: "idle"};
}

// What the state means in figures.
export function targetDetails(target) {
  const some = {failing: target.failing_topics, slow: target.slow_topics}[target.state];
  if (some !== undefined && target.topics > 1)
    return `${count(some)} of ${plural(target.topics, "topic")}`;
  return target.limit_per_s ? `lowest: ${rate(target.limit_per_s)}/s` : "";
}
