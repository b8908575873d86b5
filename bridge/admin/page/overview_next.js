// SPDX-License-Identifier: Apache-2.0
// overview_next: the deliveries of the next hour by minute, from a sample of what waits.

import {Chart, label, roundUp, scale} from "./chart.js";
import {el, replace, svg} from "./dom.js";
import {feeds} from "./feeds.js";
import {count, minuteTime, plural, shortSpan} from "./format.js";
import {loading, panel, problemBox} from "./parts.js";
import {time} from "./text.js";

const BARS = {top: 18, height: 130};
const AXIS_Y = 166;
const HEIGHT = 172;
const MINUTES = 60;
const MINUTE_MS = 60000;
const NARROW = 480;

// Returns 60 entries {atMs, deliveries}, from this minute on. The forecast leaves empty minutes out.
function minutesOf(forecast, nowMs) {
  const known = new Map(
    forecast.minutes.map(({minute, deliveries}) => [Date.parse(minute), deliveries]),
  );
  const first = Math.floor(nowMs / MINUTE_MS) * MINUTE_MS;
  return Array.from({length: MINUTES}, (_, i) => ({
    atMs: first + i * MINUTE_MS,
    deliveries: known.get(first + i * MINUTE_MS) ?? 0,
  }));
}

function draw(chart, minutes) {
  const max = roundUp(Math.max(1, ...minutes.map((m) => m.deliveries)));
  const nodes = [
    ...scale(chart, {...BARS, max}),
    label(chart.left, BARS.top - 6, "Deliveries by minute", "heading"),
  ];
  minutes.forEach(({deliveries}, i) => {
    const height = Math.max(deliveries > 0 ? 1.5 : 0, (deliveries / max) * BARS.height);
    nodes.push(
      svg("rect", {
        class: "bar",
        x: chart.x(i) + 0.75,
        width: Math.max(1, chart.step - 1.5),
        y: BARS.top + BARS.height - height,
        height,
      }),
    );
  });
  const every = chart.width < NARROW ? 20 : 10;
  for (let i = 0; i < MINUTES; i += every)
    nodes.push(label(chart.x(i), AXIS_Y, minuteTime(minutes[i].atMs), i === 0 ? "" : "middle"));
  return nodes;
}

function total(minutes) {
  return minutes.reduce((sum, m) => sum + m.deliveries, 0);
}

function hotList(hot) {
  return hot.length === 0
    ? null
    : el(
        "p",
        {class: "hot"},
        "Many at one instant: ",
        hot
          .slice(0, 5)
          .map(({at, deliveries}, i) => [i > 0 ? ", " : "", `${count(deliveries)} at `, time(at)]),
      );
}

// Without a token, only the records that leave their levels within some horizons are known.
function coarse(forecast) {
  const sums = forecast.horizons_ms.map((_, i) =>
    forecast.levels.reduce((sum, level) => sum + level.leaving[i], 0),
  );
  const most = Math.max(1, ...sums);
  return el(
    "div",
    {class: "coarse"},
    el("p", {class: "empty"}, "Records that leave their level. Deliveries by minute need a token."),
    el(
      "dl",
      {},
      forecast.horizons_ms.map((ms, i) =>
        el(
          "div",
          {},
          el("dt", {}, `in ${shortSpan(ms)}`),
          el(
            "dd",
            {},
            el("span", {class: "meter", vars: {"--share": sums[i] / most}}),
            count(sums[i]),
          ),
        ),
      ),
    ),
  );
}

export function mountNext(root, full) {
  const {node, body, note} = panel("Next hour");
  let minutes = [];
  const summary = () =>
    `${plural(total(minutes), "delivery", "deliveries")} in the next hour, ` +
    `${count(total(minutes.slice(0, 10)))} of them within 10 minutes`;
  const chart = new Chart({
    height: HEIGHT,
    draw: (frame) => draw(frame, minutes),
    summary,
    idle: () => (minutes.length === 0 ? "" : summary()),
    describe: (i) =>
      `${minuteTime(minutes[i].atMs)}: ${plural(minutes[i].deliveries, "delivery", "deliveries")}`,
  });
  const hot = el("div", {});
  note.textContent = full ? "all lanes, estimated from a sample" : "all lanes";
  replace(body, loading());
  root.append(node);
  const end = (full ? feeds.deliveries : feeds.forecast).listen(({data, problem}) => {
    if (data === null) {
      replace(body, problem?.isLost ? loading() : problemBox(problem));
    } else if (!full) {
      replace(body, coarse(data));
    } else {
      if (chart.node.parentNode !== body) replace(body, chart.node, hot);
      minutes = minutesOf(data.deliveries, Date.now());
      replace(hot, hotList(data.deliveries.hot));
      chart.render(minutes.length);
    }
  });
  return () => {
    end();
    chart.stop();
  };
}
