// SPDX-License-Identifier: Apache-2.0
// text: shows foreign texts and instants. A text of a record may contain anything: markup, marks
// that reverse the order of characters, or ten thousand characters in a row.

import {el, replace, setText} from "./dom.js";
import {bytes, fromNow, NONE, utc, zoneTime} from "./format.js";

const SHOWN_MAX = 160;
const COPIED_MS = 2000;
// Control characters, and invisible ones that move or hide other characters.
// eslint-disable-next-line no-control-regex
const INVISIBLE =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/gu;

// Returns the text in nodes. An invisible character becomes its number.
function visible(text) {
  const nodes = [];
  let from = 0;
  for (const {0: character, index} of text.matchAll(INVISIBLE)) {
    nodes.push(
      text.slice(from, index),
      el("span", {class: "escape"}, `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`),
    );
    from = index + character.length;
  }
  return [...nodes, text.slice(from)];
}

// Text of a record is a string, null or {base64}.
export function plain(value) {
  return value !== null && typeof value === "object" ? value.base64 : value;
}

export function foreign(value, max = SHOWN_MAX) {
  if (value === null || value === undefined)
    return el("span", {class: "faint"}, value === null ? "null" : NONE);
  const text = String(plain(value));
  const binary = typeof value === "object";
  const shown = el("bdi", {class: "foreign"}, visible(text.slice(0, max)));
  const node = el("span", {}, binary && el("span", {class: "tag"}, "base64"), shown);
  if (text.length > max)
    node.append(
      "… ",
      el(
        "button",
        {
          type: "button",
          class: "link",
          on: {
            click: (event) => {
              replace(shown, visible(text));
              event.target.remove();
            },
          },
        },
        `show all ${bytes(text.length)}`,
      ),
    );
  return node;
}

// Returns a button that copies a text of a record. A browser copies only from a page that it trusts:
// by TLS, or of this machine. Elsewhere there is no button.
export function copyButton(value, name) {
  if (navigator.clipboard === undefined) return null;
  const button = el("button", {type: "button", class: "quiet copy", title: "Copy"});
  const say = (words) => button.setAttribute("aria-label", `${words} ${name}`);
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(plain(value));
    button.classList.add("copied");
    say("Copied");
    setTimeout(() => {
      button.classList.remove("copied");
      say("Copy");
    }, COPIED_MS);
  });
  say("Copy");
  return button;
}

// Returns the size of a value of a record, or "null".
export function sizeOf(value) {
  if (value === null || value === undefined) return String(value ?? null);
  return bytes(typeof value === "string" ? new Blob([value]).size : atob(value.base64).length);
}

// Returns a value as a block, JSON with indents.
export function valueBlock(value) {
  if (value === null || value === undefined || typeof value === "object")
    return el("p", {}, foreign(value, 2000));
  let text = value;
  try {
    text = JSON.stringify(JSON.parse(value), null, 2);
  } catch {
    // not JSON: as it is
  }
  return el("pre", {tabindex: 0, "aria-label": "value"}, foreign(text, 4000));
}

// Returns an instant in the chosen zone, with UTC on hover.
export function time(instant, {relative = false} = {}) {
  if (instant === null || instant === undefined) return el("span", {class: "faint"}, NONE);
  const ms = typeof instant === "number" ? instant : Date.parse(instant);
  const iso = new Date(ms).toISOString();
  const node = el("time", {datetime: iso, title: utc(iso)});
  setText(node, zoneTime(ms));
  return relative
    ? el("span", {}, node, " ", spanFromNow(ms))
    : node;
}

// Writes the instants of the page again, after another zone was chosen.
export function rewriteTimes() {
  for (const node of document.querySelectorAll("time:not([data-from-now])"))
    setText(node, zoneTime(Date.parse(node.dateTime)));
}

// A screen reader does not read a span each time that it changes.
function spanFromNow(ms) {
  const ticks = {class: "faint", "data-from-now": ms, "aria-live": "off"};
  return el("span", ticks, fromNow(ms));
}

// Updates the spans to instants in a part of the page. Call it every second.
export function tickTimes(part) {
  for (const node of part.querySelectorAll("[data-from-now]"))
    setText(
      node,
      fromNow(Number(node.dataset.fromNow), Date.now(), Number(node.dataset.grace ?? 1000)),
    );
}
