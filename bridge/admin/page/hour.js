// SPDX-License-Identifier: Apache-2.0
// hour: the seconds of the history, gathered in columns. Pure.

// Rows of the heat map: names, and the bounds of lateness in ms that each includes.
export const ROWS = [
  ["1 ms", 1],
  ["10 ms", 10],
  ["100 ms", 100],
  ["1 s", 1000],
  ["10 s", 10000],
  ["1 min", 60000],
  ["5 min", 300000],
  ["more", Infinity],
];
export const LATE_ROW = 4; // from here on, a delivery is late

function emptyColumn(fromMs, toMs) {
  return {
    fromMs,
    toMs,
    seconds: 0,
    deliveries: 0,
    requests: 0,
    deadLetters: 0,
    p99: 0,
    max: 0,
    waiting: null,
    rows: ROWS.map(() => 0),
  };
}

function addSecond(column, history, i, rowOf) {
  column.seconds += history.span_ms[i] / 1000;
  column.deliveries += history.deliveries[i];
  column.requests += history.requests[i];
  column.deadLetters += history.dead_letters[i];
  column.p99 = Math.max(column.p99, history.p99_ms[i]);
  column.max = Math.max(column.max, history.max_ms[i]);
  column.waiting = history.waiting[i] + history.backlog[i];
  history.lateness[i].forEach((n, bucket) => {
    column.rows[rowOf[bucket]] += n;
  });
}

// Returns columns of stepMs each, over the last rangeMs. A column without seconds has waiting null.
export function columnsOf(history, {rangeMs, stepMs}, nowMs) {
  const n = rangeMs / stepMs;
  const endMs = Math.ceil(nowMs / stepMs) * stepMs;
  const startMs = endMs - rangeMs;
  const columns = Array.from({length: n}, (_, i) =>
    emptyColumn(startMs + i * stepMs, startMs + (i + 1) * stepMs),
  );
  const rowOf = [...history.lateness_bounds_ms, Infinity].map((bound) =>
    ROWS.findIndex(([, most]) => bound <= most),
  );
  history.at.forEach((at, i) => {
    // A second is named by its end.
    const column = columns[Math.floor((Date.parse(at) - 1 - startMs) / stepMs)];
    if (column !== undefined) addSecond(column, history, i, rowOf);
  });
  return columns;
}
