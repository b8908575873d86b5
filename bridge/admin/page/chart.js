// SPDX-License-Identifier: Apache-2.0
// chart: the frame of a picture over time. It follows the width of its place, and has a cursor for
// pointer and arrow keys. Colors come from classes in page.css.

import {el, replace, setText, svg} from "./dom.js";
import {shortCount} from "./format.js";

const GUTTER = 70;
const RIGHT = 10;

export class Chart {
  // height: of the picture in px. draw(frame) returns nodes, describe(i) the readout of a column.
  // summary() says what the picture shows, for readers who cannot see it.
  constructor({height, draw, describe, summary, idle}) {
    Object.assign(this, {height, draw, describe, summary, idle, columns: 0, at: null});
    this.readout = el("p", {class: "readout"}, idle);
    this.picture = svg("svg", {role: "img", tabindex: 0, height, class: "chart"});
    this.cursor = svg("line", {class: "cursor", y1: 0, y2: height});
    this.node = el("div", {class: "chart-box"}, this.readout, this.picture);
    this.picture.addEventListener("pointermove", (event) => this.point(event));
    this.picture.addEventListener("pointerleave", () => this.move(null));
    this.picture.addEventListener("blur", () => this.move(null));
    this.picture.addEventListener("keydown", (event) => this.key(event));
    this.observer = new ResizeObserver(() => this.render());
    this.observer.observe(this.node);
  }

  get left() {
    return GUTTER;
  }
  get width() {
    return Math.max(60, this.node.clientWidth - GUTTER - RIGHT);
  }
  get step() {
    return this.width / Math.max(1, this.columns);
  }

  // Returns the left edge of a column in px.
  x(i) {
    return GUTTER + i * this.step;
  }

  render(columns = this.columns) {
    this.columns = columns;
    if (this.node.clientWidth === 0) return;
    this.picture.setAttribute("width", this.node.clientWidth);
    this.picture.setAttribute("aria-label", this.summary());
    replace(this.picture, columns === 0 ? [] : this.draw(this), this.cursor);
    this.move(this.at !== null && this.at < columns ? this.at : null);
  }

  point(event) {
    const x = event.clientX - this.picture.getBoundingClientRect().left - GUTTER;
    this.move(x < 0 || x >= this.width ? null : Math.floor(x / this.step));
  }

  key(event) {
    const last = this.columns - 1;
    const to = {
      ArrowLeft: (this.at ?? this.columns) - 1,
      ArrowRight: (this.at ?? -1) + 1,
      Home: 0,
      End: last,
    }[event.key];
    if (to === undefined || this.columns === 0) return;
    event.preventDefault();
    this.move(Math.min(last, Math.max(0, to)));
  }

  move(i) {
    this.at = i;
    this.cursor.classList.toggle("shown", i !== null);
    if (i !== null) {
      this.cursor.setAttribute("x1", this.x(i + 0.5));
      this.cursor.setAttribute("x2", this.x(i + 0.5));
    }
    setText(this.readout, i === null || this.columns === 0 ? this.idle() : this.describe(i));
  }

  stop() {
    this.observer.disconnect();
  }
}

export function label(x, y, text, className = "") {
  return svg("text", {x, y, class: `tick ${className}`}, text);
}

// A line with the area below it, from values of columns, null where there is none. max is the value
// of the top.
export function area(chart, values, {top, height, max, className}) {
  const known = values
    .map((value, i) => [chart.x(i + 0.5).toFixed(1), value])
    .filter(([, value]) => value !== null);
  if (known.length === 0) return [];
  const points = known.map(
    ([x, value]) => `${x},${(top + height - (value / max) * height).toFixed(1)}`,
  );
  const base = (top + height).toFixed(1);
  const [first] = known[0];
  const [last] = known.at(-1);
  return [
    svg("path", {
      class: `area ${className}`,
      d: `M${first},${base}L${points.join("L")}L${last},${base}Z`,
    }),
    svg("path", {class: `line ${className}`, d: `M${points.join("L")}`}),
  ];
}

function rule(chart, y) {
  return svg("line", {class: "rule", x1: GUTTER, x2: GUTTER + chart.width, y1: y, y2: y});
}

// The lines of a scale from 0 to max, with the values of the top and the middle.
export function scale(chart, {top, height, max}, unit = "") {
  return [0, 0.5, 1].flatMap((share) => [
    rule(chart, top + share * height),
    share < 1 &&
      label(chart.left - 8, top + share * height + 4, shortCount(max * (1 - share)) + unit, "end"),
  ]);
}

// The next round number.
export function roundUp(n) {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, n)));
  return power * [1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].find((factor) => factor * power >= n);
}
