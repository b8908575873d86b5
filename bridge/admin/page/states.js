// SPDX-License-Identifier: Apache-2.0
// states: the state of a level or a target, as a kind and a word. Pure.

import {OVERDUE_ALERT_MS} from "./alerts.js";
import {count} from "./format.js";

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
  const more = level.retrying_at_least ? "+" : "";
  if (level.retrying > 0) return {kind: "warn", word: `${count(level.retrying)}${more} retrying`};
  return {kind: "ok", word: "flowing"};
}

export function failuresOf(target) {
  return Object.values(target.failures).reduce((sum, n) => sum + n, 0) + target.deferrals;
}

export function targetState(target, control = []) {
  const held = control.find((entry) => matches(entry.targets, target.entry));
  if (held?.op === "pause") return {kind: "warn", word: "paused"};
  if (target.failures_per_s > 0) return {kind: "bad", word: "failing"};
  if (held !== undefined) return {kind: "warn", word: "limited"};
  if (target.deliveries_per_s > 0) return {kind: "ok", word: "delivering"};
  return failuresOf(target) > 0
    ? {kind: "warn", word: "failed before"}
    : {kind: "idle", word: "idle"};
}

// Whether a pattern of S.control names a target, or an entry of targets.
function matches(pattern, target) {
  const parts = pattern.split("*").map((part) => part.replace(/[.+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`).test(target);
}
