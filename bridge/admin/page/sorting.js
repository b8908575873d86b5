// SPDX-License-Identifier: Apache-2.0
// sorting: the order of the rows of a table, by a column that the reader chooses.

import {el, replace} from "./dom.js";

const NEXT = {none: "descending", descending: "ascending", ascending: "none"};

function compare(a, b) {
  if (a === null || b === null) return Number(a !== null) - Number(b !== null);
  return typeof a === "number" ? a - b : String(a).localeCompare(String(b));
}

// Makes buttons of the headings. values: for each column a function that returns the number, text
// or null of an item, or nothing for a column without an order. Returns a function that returns
// items in the chosen order: as they are, until one is chosen. changed is called after a choice.
export function sortable(frame, values, changed) {
  const heads = [...frame.querySelectorAll("thead th")];
  let chosen = null;
  const choose = (i) => {
    const order = NEXT[heads[i].getAttribute("aria-sort") ?? "none"];
    for (const head of heads) head.removeAttribute("aria-sort");
    chosen = order === "none" ? null : values[i];
    if (chosen !== null) heads[i].setAttribute("aria-sort", order);
    changed();
  };
  heads.forEach((head, i) => {
    if (values[i] === undefined) return;
    const properties = {type: "button", class: "sort", on: {click: () => choose(i)}};
    replace(head, el("button", properties, head.textContent));
  });
  return (items) => {
    if (chosen === null) return items;
    const sorted = [...items].sort((a, b) => compare(chosen(a), chosen(b)));
    const down = heads[values.indexOf(chosen)].getAttribute("aria-sort") === "descending";
    return down ? sorted.reverse() : sorted;
  };
}
