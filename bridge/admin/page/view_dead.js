// SPDX-License-Identifier: Apache-2.0
// view_dead: the dead letters by code and target, and those of one kind with their reasons. The
// address names the kind, so that a link leads to it.

import {meaning} from "./codes.js";
import {el, replace} from "./dom.js";
import {count, plural} from "./format.js";
import {empty, facts, field, panel, runbookLink, table} from "./parts.js";
import {openRedrive} from "./redrive.js";
import {Runner} from "./running.js";
import {saveButton} from "./saving.js";
import {sortable} from "./sorting.js";
import {foreign, plain, time, valueBlock} from "./text.js";

const SHOWN = 50;
const FEW = 5; // letters that need no filter
const READ = 900; // results of a job that the page filters
const TARGET_SHOWN = 60; // characters
const ADDRESS_MAX = 250; // characters of a word
const GONE = "There are no dead letters of the code and target in the address.";
const COLUMNS = [
  ["Code"],
  ["Target"],
  ["Records", "number"],
  ["First"],
  ["Last"],
  ["Actions", "actions"],
];

const ORDER = [
  ({code}) => plain(code),
  ({target}) => plain(target),
  ({records}) => records,
  ({first_failed_at: at}) => at,
  ({last_failed_at: at}) => at,
];

// Commands select records by the name of a topic. A refused request may have another text as target.
function isTopic(target) {
  return typeof target === "string" && /^[\w.-]{1,249}$/.test(target);
}

function selectionOf({code, target}) {
  return {...(typeof code === "string" && {code}), ...(isTopic(target) && {target})};
}

// Returns the address of a kind. A text that is too long for an address is left out.
function addressOf({code, target}) {
  const words = Object.entries({code: plain(code), target: plain(target)});
  const short = words.filter(([, text]) => text !== undefined && String(text).length <= ADDRESS_MAX);
  return `#/dead?${new URLSearchParams(short)}`;
}

// Returns the kind that the address names, or null. A code alone stands for all of its targets.
function kindOfAddress(counts) {
  const address = [...new URLSearchParams(location.hash.split("?")[1])];
  const found = counts.filter((kind) =>
    address.every(([name, text]) => text === String(plain(kind[name]))),
  );
  if (address.length === 0 || found.length === 0) return null;
  const records = found.reduce((sum, kind) => sum + kind.records, 0);
  return found.length === 1 ? found[0] : {code: found[0].code, target: undefined, records};
}

function isOfKind(line, {code, target}) {
  return (
    line.counts === undefined &&
    plain(line.code) === plain(code) &&
    (target === undefined || plain(line.target) === plain(target))
  );
}

function kindRow(kind, {show, redrive}) {
  const code = String(plain(kind.code));
  const target = plain(kind.target);
  const name = target === null ? code : `${code} for ${target}`;
  const button = (text, click) =>
    el(
      "button",
      {type: "button", class: "small", "aria-label": `${text} ${name}`, on: {click}},
      text,
    );
  return el(
    "tr",
    {},
    el("th", {scope: "row"}, foreign(kind.code), el("small", {}, meaning(code))),
    el("td", {}, foreign(kind.target, TARGET_SHOWN)),
    el("td", {class: "number"}, count(kind.records)),
    el("td", {}, time(kind.first_failed_at)),
    el("td", {}, time(kind.last_failed_at)),
    el(
      "td",
      {class: "actions"},
      button("Show", () => show(kind)),
      isTopic(kind.target) &&
        button("Redrive", () => redrive(selectionOf(kind), `Redrive ${name}`)),
    ),
  );
}

function findLink(source) {
  const query = new URLSearchParams({by: "source", text: plain(source)});
  return source === null ? null : el("a", {href: `#/find?${query}`}, foreign(source));
}

function letter(one) {
  const reason = el("span", {class: "reason"}, foreign(one.reason, 240));
  return el(
    "details",
    {class: "letter"},
    el("summary", {}, time(one.failed_at), " ", foreign(one.key, 60), reason),
    facts([
      ["Code", foreign(one.code)],
      ["Target", foreign(one.target)],
      ["Sent", time(one.sent_at, {relative: true})],
      ["Source", findLink(one.source)],
      ["Place", `partition ${one.partition} offset ${one.offset}`],
      ["Missing", one.truncated === null ? null : foreign(one.truncated)],
      ...one.headers.map(([name, value]) => [foreign(name), foreign(value)]),
    ]),
    valueBlock(one.value),
  );
}

function letterList(kind, job) {
  const found = job.results.filter((line) => isOfKind(line, kind)).slice(0, SHOWN);
  const all = plural(kind.records, "record");
  const text = found.length < kind.records ? `The newest ${count(found.length)} of ${all}.` : all;
  const target = (kind.target ?? null) === null ? "" : foreign(kind.target, TARGET_SHOWN);
  const shown = found.map((one) => ({node: letter(one), text: JSON.stringify(one).toLowerCase()}));
  return [
    el("h2", {}, foreign(kind.code), " ", target),
    el("p", {class: "note"}, text),
    found.length > FEW && filterOf(shown),
    el("div", {class: "buttons"}, saveButton(() => found, "dead-letters")),
    shown.map(({node}) => node),
  ];
}

// A field that hides the letters without its text.
function filterOf(shown) {
  const input = el("input", {type: "search", autocomplete: "off", spellcheck: "false"});
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase();
    for (const {node, text} of shown) node.hidden = !text.includes(words);
  });
  return field("Filter these", input);
}

// What the counts of a job say, with a row for each kind.
function overview(sums, acts) {
  const again = el("button", {type: "button", on: {click: acts.load}}, "Count again");
  if (sums.counts.length === 0)
    return [empty("There are no dead letters."), el("div", {class: "buttons"}, again)];
  const {node, rows, stacked} = table("Dead letters by code and target", COLUMNS);
  const show = () =>
    replace(
      rows,
      inOrder(sums.counts).map((kind) => stacked(kindRow(kind, acts))),
    );
  const inOrder = sortable(node, ORDER, show);
  show();
  const all = () => acts.redrive({}, "Redrive all dead letters");
  const every = el("button", {type: "button", on: {click: all}}, "Redrive all");
  const help = runbookLink("requests-are-dead-lettered");
  return [node, el("div", {class: "buttons"}, again, every, help)];
}

export function mountDead(root) {
  const {node, body, note} = panel("Dead letters", {level: 1});
  const letters = el("section", {class: "letters", "aria-live": "polite"});
  const counting = new Runner(body, load);
  const reading = new Runner(letters, load);
  const acts = {
    load,
    show,
    redrive: (selection, title) => openRedrive(selection, title, load),
  };

  async function load() {
    const job = await counting.run("dead-letters", {}, "Counting");
    const sums = job?.results.at(-1);
    if (sums === undefined || !node.isConnected) return;
    const others = sums.foreign > 0 ? `, ${count(sums.foreign)} not written by the bridge` : "";
    const counted = time(Date.now(), {relative: true});
    replace(note, `${plural(sums.records, "record")}${others}. Counted at `, counted);
    replace(body, overview(sums, acts));
    const kind = kindOfAddress(sums.counts);
    if (kind !== null) show(kind);
    else replace(letters, location.hash.includes("?") && sums.records > 0 && empty(GONE));
  }

  async function show(kind) {
    const isAgain = letters.hasChildNodes() && location.hash === addressOf(kind);
    history.replaceState(null, "", addressOf(kind));
    const most = isTopic(kind.target) ? SHOWN : READ;
    const job = await reading.run("dead-letters", {...selectionOf(kind), show: most}, "Reading");
    if (job === null) return;
    replace(letters, letterList(kind, job));
    if (!isAgain) letters.scrollIntoView({block: "nearest"});
  }

  root.append(node, letters);
  load();
  return () => {
    counting.end();
    reading.end();
  };
}
