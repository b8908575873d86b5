// SPDX-License-Identifier: Apache-2.0
// view_find: looks up requests by ID, key or source.

import {runJob} from "./api.js";
import {el, replace, setText} from "./dom.js";
import {card, nothing} from "./find_card.js";
import {choice, field, panel} from "./parts.js";
import {Runner} from "./running.js";
import {foreign, time} from "./text.js";

const NOTE_MAX = 400;
const WAYS = [
  ["id", "ID", "Reads all that waits. A key or source is faster."],
  ["key", "Key", "Searches its lane first."],
  ["source", "Source", "TOPIC/PARTITION/OFFSET, as in dlb-source."],
];

// Returns {node, asked()}: the form, and the body of a search.
function searchForm(parameters, submit) {
  const input = {autocomplete: "off", spellcheck: "false"};
  const given = parameters.get("text") ?? "";
  const text = el("input", {...input, type: "search", name: "text", required: true, value: given});
  const due = el("input", {...input, name: "due", value: parameters.get("due") ?? ""});
  const chosenAtFirst = parameters.get("by") ?? "id";
  const radios = WAYS.map(([name]) =>
    el("input", {type: "radio", name: "by", value: name, checked: name === chosenAtFirst}),
  );
  const way = () =>
    WAYS[
      Math.max(
        0,
        radios.findIndex((radio) => radio.checked),
      )
    ];
  const named = field("ID", text, way()[2]);
  const choices = WAYS.map(([name, label], i) => choice(name, label, radios[i]));
  const button = el("button", {type: "submit", class: "primary"}, "Find");
  const limit = field("Due (optional)", due, "2026-11-21T08:00:00Z±5m limits the search.");
  const node = el(
    "form",
    {class: "search", role: "search"},
    el("fieldset", {class: "choices"}, el("legend", {class: "hidden"}, "Search by"), choices),
    el("div", {class: "search-line"}, named, limit, button),
  );
  const label = () => {
    setText(named.querySelector("label"), way()[1]);
    setText(named.querySelector("small"), way()[2]);
  };
  node.addEventListener("change", label);
  node.addEventListener("submit", (event) => {
    event.preventDefault();
    const limits = due.value === "" ? {} : {due: due.value};
    const query = new URLSearchParams({by: way()[0], text: text.value, ...limits});
    history.replaceState(null, "", `#/find?${query}`);
    submit();
  });
  label();
  return {node, asked: () => ({[way()[0]]: text.value, ...(due.value && {due: due.value})})};
}

// Returns the events of the requests. Without the topic of events there are none, and a note.
async function eventsOf({due, ...asked}, signal) {
  try {
    return {events: (await runJob("events", asked, () => {}, signal)).results, problem: null};
  } catch (problem) {
    return {events: [], problem: `Events: ${problem.message}`};
  }
}

function isRecord(found) {
  return found.state !== "not_found" && found.state !== "not_waiting";
}

function note(text) {
  return el("p", {class: "note"}, foreign(text, NOTE_MAX));
}

export function mountFind(root, parameters) {
  const {node, body, note: searched} = panel("Find a request", {level: 1});
  const results = el("div", {class: "results", "aria-live": "polite"});
  const runner = new Runner(results, search);
  const form = searchForm(parameters, search);

  async function search() {
    const asked = form.asked();
    const job = await runner.run("find", asked, "Searching");
    if (job === null) return;
    const mine = runner.current;
    replace(searched, "Searched at ", time(Date.now(), {relative: true}));
    const cards = job.results.filter(isRecord).map((found) => card(found, search));
    replace(
      results,
      job.state === "stopped" ? note("The search was stopped.") : null,
      cards.length > 0 ? cards.map((one) => one.node) : job.results.map(nothing),
      job.warnings.map(note),
    );
    if (cards.length > 0) await addEvents(cards, asked, mine);
  }

  async function addEvents(cards, asked, mine) {
    const {events, problem} = await eventsOf(asked, mine.signal);
    if (mine !== runner.current) return;
    for (const one of cards) one.addEvents(events);
    if (problem !== null) results.append(note(problem));
  }

  replace(body, form.node);
  root.append(node, results);
  if (parameters.get("text")) search();
  return () => runner.end();
}
