// SPDX-License-Identifier: Apache-2.0
// overview_hour: the last hour, or a part of it: rates, the lateness of deliveries as a heat map, and
// what waited.

import {area, Chart, label, roundUp, scale} from "./chart.js";
import {el, replace, setText, svg} from "./dom.js";
import {feeds} from "./feeds.js";
import {clockTime, count, minuteTime, plural, rate, span} from "./format.js";
import {columnsOf, LATE_ROW, ROWS} from "./hour.js";
import {loading, panel, problemBox} from "./parts.js";

const RATE = {top: 18, height: 84};
const HEAT = {top: 130, row: 18};
const WAIT = {top: 302, height: 64};
const AXIS_Y = 384;
const HEIGHT = 390;
const NARROW = 480;
// The steps are those of wide and narrow pictures. The process keeps one figure for each second.
const RANGES = [
  {name: "5 min", title: "Last 5 minutes", rangeMs: 300000, steps: [2000, 5000], when: clockTime},
  {
    name: "15 min",
    title: "Last 15 minutes",
    rangeMs: 900000,
    steps: [10000, 15000],
    when: minuteTime,
  },
  {name: "1 h", title: "Last hour", rangeMs: 3600000, steps: [30000, 60000], when: minuteTime},
];
let range = RANGES[2]; // stays while other views are shown

function perSecond(column, n) {
  return column.seconds > 0 ? n / column.seconds : null;
}

function drawRates(chart, columns) {
  const delivered = columns.map((c) => perSecond(c, c.deliveries));
  const requested = columns.map((c) => perSecond(c, c.requests));
  const max = roundUp(Math.max(1, ...delivered.map(Number), ...requested.map(Number)));
  const place = {...RATE, max};
  return [
    ...scale(chart, place, "/s"),
    ...area(chart, requested, {...place, className: "second"}),
    ...area(chart, delivered, {...place, className: "first"}),
  ];
}

// Five shades by the logarithm, so that one late delivery is seen next to a million.
function shade(n, most) {
  return n === 0
    ? 0
    : 1 + Math.min(4, Math.floor((Math.log(n) / Math.log(Math.max(2, most + 1))) * 5));
}

function drawHeat(chart, columns) {
  const most = Math.max(...columns.flatMap((c) => c.rows));
  const nodes = [];
  const y = (row) => HEAT.top + (ROWS.length - 1 - row) * HEAT.row;
  ROWS.forEach(([name], row) =>
    nodes.push(
      label(chart.left - 8, y(row) + 13, row === ROWS.length - 1 ? "later" : `≤ ${name}`, "end"),
    ),
  );
  columns.forEach((column, i) =>
    column.rows.forEach((n, row) => {
      if (n > 0 || column.waiting !== null)
        nodes.push(
          svg("rect", {
            x: chart.x(i) + 0.5,
            y: y(row) + 1,
            width: Math.max(1, chart.step - 1),
            height: HEAT.row - 2,
            class: `heat ${row >= LATE_ROW ? "late" : ""} s${shade(n, most)}`,
          }),
        );
    }),
  );
  return nodes;
}

function drawWaiting(chart, columns) {
  const values = columns.map((c) => c.waiting);
  const place = {...WAIT, max: roundUp(Math.max(1, ...values.map(Number)))};
  return [
    ...scale(chart, place),
    ...area(chart, values, {...place, className: "third"}),
  ];
}

function drawAxis(chart, columns) {
  const every = Math.ceil(columns.length / (chart.width < NARROW ? 3 : 6));
  const nodes = [];
  for (let i = 0; i < columns.length; i += every)
    nodes.push(label(chart.x(i), AXIS_Y, range.when(columns[i].fromMs), "middle"));
  nodes.push(label(chart.x(columns.length), AXIS_Y, "now", "end"));
  return nodes;
}

function headings(chart) {
  return [
    ["Deliveries, and requests (dashed)", RATE.top],
    ["Lateness of deliveries", HEAT.top],
    ["Waiting records", WAIT.top],
  ].map(([text, y]) => label(chart.left, y - 6, text, "heading"));
}

function describe(column) {
  const when = `${clockTime(column.fromMs)} – ${clockTime(column.toMs)}`;
  if (column.waiting === null) return `${when}: no figures of this process`;
  const figures = [
    `${rate(perSecond(column, column.deliveries))} deliveries/s`,
    `${rate(perSecond(column, column.requests))} requests/s`,
    column.deliveries > 0 && `p99 ${span(column.p99)}, max ${span(column.max)} late`,
    `${count(column.waiting)} waiting`,
  ];
  return `${when}: ${figures.filter(Boolean).join(", ")}`;
}

function summaryOf(columns) {
  const deliveries = columns.reduce((sum, c) => sum + c.deliveries, 0);
  const late = columns.reduce(
    (sum, c) => sum + c.rows.slice(LATE_ROW).reduce((a, b) => a + b, 0),
    0,
  );
  const all = plural(deliveries, "delivery", "deliveries");
  return `${range.title}: ${all}, ${count(late)} of them more than 1 s late`;
}

// Buttons that choose the range.
function chooser(changed) {
  const buttons = RANGES.map((one) =>
    el("button", {type: "button", on: {click: () => choose(one)}}, one.name),
  );
  const choose = (chosen) => {
    range = chosen;
    RANGES.forEach((one, i) => buttons[i].setAttribute("aria-pressed", one === chosen));
    changed();
  };
  RANGES.forEach((one, i) => buttons[i].setAttribute("aria-pressed", one === range));
  return el("div", {class: "ranges", role: "group", "aria-label": "Range"}, buttons);
}

export function mountHour(root) {
  const {node, body, note} = panel(range.title);
  let columns = [];
  const chart = new Chart({
    height: HEIGHT,
    describe: (i) => describe(columns[i]),
    summary: () => summaryOf(columns),
    idle: () => (columns.length === 0 ? "" : summaryOf(columns)),
    draw: (frame) => [
      ...headings(frame),
      ...drawRates(frame, columns),
      ...drawHeat(frame, columns),
      ...drawWaiting(frame, columns),
      ...drawAxis(frame, columns),
    ],
  });
  const show = ({data, problem}) => {
    if (data === null) {
      replace(body, problem === null || problem.isLost ? loading() : problemBox(problem));
      return;
    }
    if (chart.node.parentNode !== body) replace(body, chart.node);
    const stepMs = range.steps[Number(body.clientWidth < NARROW)];
    columns = columnsOf(data, {rangeMs: range.rangeMs, stepMs}, Date.now());
    chart.render(columns.length);
  };
  note.textContent = "this process";
  note.before(
    chooser(() => {
      setText(node.querySelector("h2"), range.title);
      show(feeds.history);
    }),
  );
  replace(body, loading());
  root.append(node);
  const end = feeds.history.listen(show);
  return () => {
    end();
    chart.stop();
  };
}
