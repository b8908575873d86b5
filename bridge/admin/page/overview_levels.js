// SPDX-License-Identifier: Apache-2.0
// overview_levels: the levels as lanes of a timeline that begins now. Bars show when the waiting
// records of a level leave it, dots the first one, which moves to the left.

import {el, keyed, replace, setText, svg} from "./dom.js";
import {feeds} from "./feeds.js";
import {count, fromNow, parseSpan, plural, shortSpan, utc} from "./format.js";
import {loading, panel, problemBox, table} from "./parts.js";
import {levelState, OVERDUE_MS} from "./states.js";

const SHADES = 5;
const NEAR_MS = 250;
const LANE_PX = 22;
const LABEL_GAP = 12; // percent
const TICKS_MS = [1000, 10000, 60000, 600000, 3600000, 86400000];

// Returns the place of a time from now, in percent. The scale is logarithmic: a second and an hour
// both have room.
function place(ms, longestMs) {
  return (100 * Math.log1p(Math.max(0, ms) / NEAR_MS)) / Math.log1p(longestMs / NEAR_MS);
}

// Returns spans {fromMs, toMs, records} of the records of a level.
function spansOf(level, forecast) {
  const longestMs = parseSpan(level.level);
  const leftMs = level.head?.release ? Date.parse(level.head.release) - Date.now() : 0;
  const headMs = Math.min(Math.max(0, leftMs), longestMs);
  const row = forecast?.levels.find((other) => other.level === level.level);
  if (level.waiting === 0) return [];
  if (row === undefined) return [{fromMs: headMs, toMs: longestMs, records: level.waiting}];
  const bounds = [0, ...forecast.horizons_ms, Infinity];
  const sums = [0, ...row.leaving, row.waiting];
  return bounds
    .slice(1)
    .map((bound, i) => ({
      fromMs: Math.max(bounds[i], headMs),
      toMs: Math.min(bound, longestMs),
      records: sums[i + 1] - sums[i],
    }))
    .filter(({fromMs, toMs, records}) => records > 0 && toMs > fromMs);
}

function shade(records, most) {
  return 1 + Math.min(SHADES - 1, Math.floor((Math.log(records) / Math.log(most + 1)) * SHADES));
}

function ticks(longestMs) {
  return TICKS_MS.filter((ms) => ms < longestMs).map((ms) => {
    const x = `${place(ms, longestMs)}%`;
    return svg("line", {class: "rule", x1: x, x2: x, y1: 0, y2: LANE_PX});
  });
}

function bars(level, {forecast, longestMs, most}) {
  return spansOf(level, forecast).map(({fromMs, toMs, records}) => {
    const x = place(fromMs, longestMs);
    const size = {x: `${x}%`, width: `${place(toMs, longestMs) - x}%`, y: 6, height: 10};
    return svg("rect", {class: `heat s${shade(records, most)}`, ...size});
  });
}

// The picture of a level. The dot stays the same element, so that it can glide.
function makeLane() {
  const back = svg("g", {});
  const dot = svg("circle", {r: 4, cy: LANE_PX / 2, cx: "0%"});
  const node = svg("svg", {class: "lane", width: "100%", height: LANE_PX, "aria-hidden": "true"});
  node.append(back, dot);
  const update = (level, picture) => {
    const leftMs = level.head?.release ? Date.parse(level.head.release) - Date.now() : null;
    replace(back, ticks(picture.longestMs), bars(level, picture));
    dot.setAttribute("class", `head ${levelState(level).kind}`);
    dot.toggleAttribute("hidden", leftMs === null);
    dot.style.setProperty("cx", `${place(leftMs ?? 0, picture.longestMs)}%`);
  };
  return {node, update};
}

function axis(longestMs) {
  return [
    svg("text", {class: "tick", x: 0, y: 12}, "now"),
    TICKS_MS.filter((ms) => place(ms, longestMs) < 100 - LABEL_GAP).map((ms) =>
      svg("text", {class: "tick middle", x: `${place(ms, longestMs)}%`, y: 12}, shortSpan(ms)),
    ),
    svg("text", {class: "tick end", x: "100%", y: 12}, shortSpan(longestMs)),
  ];
}

function rowOf() {
  const waiting = el("td", {class: "number"});
  const head = el("td", {class: "number leaves"});
  const state = el("td", {});
  const name = el("th", {scope: "row"});
  const lane = makeLane();
  const node = el("tr", {}, name, waiting, el("td", {class: "track"}, lane.node), head, state);
  const mark = el("span", {class: "state"});
  state.append(mark);
  return {
    node,
    update: ({level, picture}) => {
      const {kind, word} = levelState(level);
      setText(name, level.level);
      setText(waiting, count(level.waiting));
      showHead(head, level.head);
      mark.className = `state ${kind}`;
      setText(mark, word);
      node.classList.toggle("quiet", level.waiting === 0);
      lane.update(level, picture);
    },
  };
}

function showHead(cell, head) {
  if (!head?.release) {
    replace(cell, el("span", {class: "faint"}, "–"));
    return;
  }
  const ms = Date.parse(head.release);
  replace(
    cell,
    el(
      "time",
      {
        datetime: head.release,
        "data-from-now": ms,
        "data-grace": OVERDUE_MS,
        title: `${utc(head.release)}, lane ${head.lane}, offset ${head.offset}`,
      },
      fromNow(ms, Date.now(), OVERDUE_MS),
    ),
  );
}

export function mountLevels(root) {
  const {node, body, note} = panel("Levels", {className: "levels"});
  const {node: frame, rows} = table("Levels", [
    ["Level"],
    ["Waiting", "number"],
    ["", "track"],
    ["First leaves", "number"],
    ["State"],
  ]);
  const axisPlace = frame.querySelector("th.track");
  const scale = svg("svg", {width: "100%", height: 16, "aria-hidden": "true"});
  axisPlace.append(el("span", {class: "hidden"}, "Timeline"), scale);
  let forecast = null;
  replace(body, loading());
  root.append(node);
  const show = ({data, problem}) => {
    if (data === null) {
      replace(body, problem === null || problem.isLost ? loading() : problemBox(problem));
      return;
    }
    const longestMs = Math.max(...data.levels.map(({level}) => parseSpan(level)));
    const picture = {
      forecast,
      longestMs,
      most: Math.max(2, ...data.levels.map(({waiting}) => waiting)),
    };
    if (frame.parentNode !== body) replace(body, frame);
    if (problem !== null && !problem.isLost) replace(body, problemBox(problem), frame);
    replace(scale, axis(longestMs));
    const unread = `not read yet: ${plural(data.backlog, "record")}`;
    const where = `On ${data.schedule}, ${unread}; in memory: ${count(data.in_memory)}`;
    setText(note, `${plural(data.lanes, "lane")}, whole group. ${where}`);
    keyed(
      rows,
      data.levels.map((level) => ({level, picture})),
      ({level}) => level.level,
      () => rowOf(),
    );
  };
  const ends = [
    feeds.forecast.listen(({data}) => {
      forecast = data;
    }),
    feeds.levels.listen(show),
  ];
  return () => ends.forEach((end) => end());
}
