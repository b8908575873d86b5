// SPDX-License-Identifier: Apache-2.0
// feeds: what the page reads from the process, and how often.

import {get} from "./api.js";
import {Feed} from "./feed.js";

const HISTORY_MAX = 3600;

// Adds the newer seconds to the ones that the page has.
async function loadHistory(old) {
  const last = old?.at.at(-1);
  const more = await get(
    last === undefined ? "history" : `history?since=${encodeURIComponent(last)}`,
  );
  if (old === null) return more;
  const all = {lateness_bounds_ms: more.lateness_bounds_ms};
  for (const [name, column] of Object.entries(more))
    if (name !== "lateness_bounds_ms") all[name] = old[name].concat(column).slice(-HISTORY_MAX);
  return all;
}

export const feeds = {
  status: new Feed(1000, () => get("status")),
  levels: new Feed(2000, () => get("levels")),
  forecast: new Feed(5000, () => get("forecast")),
  deliveries: new Feed(30000, () => get("forecast/deliveries")),
  targets: new Feed(3000, () => get("targets")),
  processes: new Feed(10000, () => get("processes")),
  history: new Feed(2000, loadHistory),
  jobs: new Feed(1000, () => get("jobs")),
  config: new Feed(60000, () => get("config")),
};

// Reads all shown feeds now: after a token was entered, or when the tab is shown again.
export function readAll() {
  for (const feed of Object.values(feeds)) if (feed.listeners.size > 0) feed.read();
}

// Shows the figures again that the page has: after their form has changed.
export function showAgain() {
  for (const feed of Object.values(feeds)) feed.repeat();
}

document.addEventListener("wake", readAll);
