// SPDX-License-Identifier: Apache-2.0
// codes: the codes of dead letters in words, as in docs/dead-letters.md.

const CODES = {
  unknown_header: "unknown dlb- header",
  bad_header: "malformed header",
  bad_op: "unknown or unfitting dlb-op",
  bad_id: "unusable name",
  no_time: "no due time",
  two_times: "several due times",
  bad_time: "unreadable time",
  bad_retry: "unknown retry policy",
  too_far: "due beyond max_delay",
  expired: "expired before its delivery",
  no_target: "no target",
  target_denied: "target not allowed",
  retries_exhausted: "last retry failed",
  too_large: "record too large",
  target_failed: "every attempt failed",
  not_ours: "foreign or damaged record on a level",
  unreadable: "unreadable batch",
  cancels_full: "no room for a cancel",
};

export function meaning(code) {
  return CODES[code] ?? "";
}
