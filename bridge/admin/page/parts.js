// SPDX-License-Identifier: Apache-2.0
// parts: pieces that several views use.

import {el, freshId, replace} from "./dom.js";
import {foldable} from "./folding.js";

// A section with a heading. Returns {node, body, note}: note is the place of a line next to the
// heading.
export function panel(title, {className = "", level = 2} = {}) {
  const id = freshId("panel");
  const body = el("div", {class: "panel-body"});
  const note = el("p", {class: "note"});
  const node = el(
    "section",
    {class: `panel ${className}`, "aria-labelledby": id},
    el("header", {class: "panel-head"}, el(`h${level}`, {id}, title), note),
    body,
  );
  return {node, body, note};
}

export function state({kind, word}) {
  return el("span", {class: `state ${kind}`}, word);
}

// Shows a problem calmly: the sentence of the API, and what to do about it.
export function problemBox(problem, retry = undefined) {
  const box = el("div", {class: "problem", role: "alert"});
  if (problem.key === "admin_token")
    replace(
      box,
      el(
        "p",
        {},
        "This needs a token. Set ",
        el("code", {}, problem.key),
        " in the configuration of the bridge, and restart it.",
      ),
    );
  else replace(box, el("p", {}, sentence(problem.message)));
  if (retry !== undefined)
    box.append(el("button", {type: "button", on: {click: retry}}, "Try again"));
  return box;
}

export function sentence(text) {
  const full = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(full) ? full : `${full}.`;
}

export function empty(text) {
  return el("p", {class: "empty"}, text);
}

export function loading(text = "Loading") {
  return el("p", {class: "empty loading"}, `${text}…`);
}

// A field of a form, with its label and a hint. input is an element.
export function field(label, input, hint = "") {
  const id = freshId("field");
  input.id = id;
  const note = hint === "" ? null : el("small", {id: `${id}-hint`}, hint);
  if (note !== null) input.setAttribute("aria-describedby", note.id);
  return el("div", {class: "field"}, el("label", {for: id}, label), input, note);
}

export function choice(name, label, input, hint = "") {
  return el(
    "label",
    {class: "choice"},
    input,
    el("span", {}, label, hint === "" ? null : el("small", {}, hint)),
  );
}

// A list of terms and values. Values are nodes or texts.
export function facts(pairs) {
  return el(
    "dl",
    {class: "facts"},
    pairs
      .filter(([, value]) => value !== null && value !== undefined)
      .map(([term, value]) => el("div", {}, el("dt", {}, term), el("dd", {}, value))),
  );
}

// A table in a frame that folds when the table does not fit. Returns {node, rows, stacked}: stacked
// prepares a row to be shown as a list of named values there.
export function table(caption, columns) {
  const rows = el("tbody", {});
  const head = el(
    "tr",
    {},
    columns.map(([name, className = ""]) => el("th", {scope: "col", class: className}, name)),
  );
  const stacked = (row) => {
    rows.parentNode.classList.add("stacked");
    [...row.children].forEach((cell, i) => {
      cell.dataset.name = columns[i][0];
    });
    return row;
  };
  const node = el(
    "div",
    {class: "scroll", tabindex: 0, role: "group", "aria-label": caption},
    el("table", {}, el("caption", {class: "hidden"}, caption), el("thead", {}, head), rows),
  );
  foldable(node);
  return {rows, stacked, node};
}

export function runbookLink(section, text = "What to do") {
  return el("a", {href: `#/runbook/${section}`}, text);
}
