// SPDX-License-Identifier: Apache-2.0
// overview_status: is it on time? One answer, the figures of now, and what needs attention.

import {el, keyed, replace, setText} from "./dom.js";
import {feeds} from "./feeds.js";
import {bytes, count, plural, rate, span} from "./format.js";
import {alertsOf, verdict} from "./alerts.js";
import {problemBox, runbookLink} from "./parts.js";
import {time} from "./text.js";

function figure(name, view = "") {
  const value = el("dd", {}, "–");
  const unit = el("span", {class: "unit"});
  const more = el("dd", {class: "more"});
  const label = view === "" ? name : el("a", {href: `#/${view}`}, name);
  const node = el("div", {class: "figure"}, el("dt", {}, label), value, more);
  return {
    node,
    show: (text, unitText, ...details) => {
      setText(unit, unitText);
      replace(value, text, " ", unit);
      replace(more, details);
    },
  };
}

function alertRow() {
  const text = el("span", {});
  const link = el("span", {});
  const node = el("li", {}, text, " ", link);
  return {
    node,
    update: (one) => {
      node.className = one.kind;
      setText(text, one.text);
      if (link.firstChild === null) link.append(runbookLink(one.section));
    },
  };
}

function showFigures(figures, {status, levels}) {
  const {recent, now, total} = status;
  const late = recent.late_p99_ms;
  figures.late.show(
    ...(late === null ? ["–", ""] : span(late).split(/ (?=[a-z]+$)/)),
    late === null
      ? "nothing was due"
      : `p50 ${span(recent.late_p50_ms)}, max ${span(recent.late_max_ms)}`,
  );
  figures.deliveries.show(
    rate(recent.deliveries_per_s),
    "/s",
    `${count(total.deliveries)} since the start`,
  );
  figures.requests.show(
    rate(recent.requests_per_s),
    "/s",
    `${rate(recent.hops_per_s)} hops/s, ${rate(recent.cancelled_per_s)} cancelled/s`,
  );
  const waiting =
    levels === null
      ? now.waiting
      : levels.levels.reduce((sum, level) => sum + level.waiting, levels.in_memory);
  const backlog = levels === null ? now.backlog : levels.backlog;
  figures.waiting.show(
    count(waiting),
    waiting === 1 ? "record" : "records",
    `${count(backlog)} not read yet, ${levels === null ? "this process" : "whole group"}`,
  );
  figures.dead.show(
    levels === null ? count(total.dead_letters) : count(levels.dead_letters),
    "records",
    `${rate(recent.dead_letters_per_s)}/s now`,
  );
  figures.process.show(
    `${count(now.owned_lanes)} of ${count(now.lanes)}`,
    "lanes",
    `up ${span(Date.parse(status.at) - Date.parse(status.started))}, ${bytes(now.buffered_bytes)} buffered`,
  );
}

export function mountStatus(root, full) {
  const word = el("p", {class: "verdict-word"}, "Connecting");
  const why = el("p", {class: "verdict-why"}, "");
  const answer = el("div", {class: "verdict idle"}, word, why);
  const figures = {
    late: figure("Lateness, p99"),
    deliveries: figure("Deliveries"),
    requests: figure("Requests"),
    waiting: figure("Waiting"),
    dead: figure("Dead letters", full ? "dead" : ""),
    process: figure("This process"),
  };
  const list = el("ul", {class: "alerts", "aria-label": "What needs attention"});
  const trouble = el("div", {});
  const strip = el(
    "section",
    {class: "strip", "aria-label": "Status"},
    answer,
    el(
      "dl",
      {class: "figures"},
      Object.values(figures).map(({node}) => node),
    ),
  );
  root.append(strip, list, trouble);
  const show = () => {
    const status = feeds.status.data;
    if (status === null) return;
    const known = {status, levels: feeds.levels.data, targets: feeds.targets.data};
    const alerts = alertsOf(known);
    const {kind, word: text, sentence} = verdict(status, alerts);
    answer.className = `verdict ${kind}`;
    setText(word, text);
    setText(why, sentence);
    showFigures(figures, known);
    keyed(list, alerts, ({key}) => key, alertRow);
    list.hidden = alerts.length === 0;
    replace(
      trouble,
      feeds.levels.problem !== null && !feeds.levels.problem.isLost && feeds.levels.data !== null
        ? [
            problemBox(feeds.levels.problem),
            el(
              "p",
              {class: "empty"},
              "Figures of the levels are those of ",
              time(feeds.levels.atMs),
              ".",
            ),
          ]
        : [],
    );
  };
  const ends = [feeds.status.listen(show), feeds.levels.listen(show), feeds.targets.listen(show)];
  return () => ends.forEach((end) => end());
}

export function processLine(status) {
  return `${status.schedule} · ${plural(status.now.lanes, "lane")} · ${status.delivery}`;
}
