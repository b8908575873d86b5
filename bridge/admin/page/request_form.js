// SPDX-License-Identifier: Apache-2.0
// request_form: the fields of a request, for send and replace.

import {el} from "./dom.js";
import {feeds} from "./feeds.js";
import {choice, field} from "./parts.js";

const plainInput = {autocomplete: "off", spellcheck: "false"};
const input = (name, value = "", more = {}) => el("input", {...plainInput, name, value, ...more});
const area = (name, rows, value) => el("textarea", {...plainInput, name, rows, value});
const radio = (value, checked) => el("input", {type: "radio", name: "when", value, checked});

// Whether the field "one header a line" can hold it. Others are sent as they are.
function isLine([, value]) {
  return value === null || (typeof value === "string" && !/[\r\n]/.test(value));
}

function headerLines(headers) {
  return headers
    .filter(isLine)
    .map(([name, value]) => (value === null ? name : `${name}: ${value}`))
    .join("\n");
}

function headersOf(text) {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return lines.map((line) => {
    const at = line.indexOf(":");
    return at < 0 ? [line.trim(), null] : [line.slice(0, at).trim(), line.slice(at + 1).trim()];
  });
}

// Entries of targets that are topics, and no patterns.
function targetList() {
  const entries = (feeds.targets.data?.targets ?? []).map(({entry}) => entry);
  const names = entries.filter((entry) => !/[(*]/.test(entry));
  return el(
    "datalist",
    {id: "targets"},
    names.map((value) => el("option", {value})),
  );
}

function makeFields(given) {
  const text = (value) => (typeof value === "string" ? value : "");
  return {
    delay: radio("delay", given.at === undefined),
    at: radio("at", given.at !== undefined),
    time: input("time", given.at ?? given.delay ?? "10s", {required: true}),
    target: input("target", given.target ?? "", {list: "targets"}),
    key: input("key", text(given.key)),
    id: input("id", text(given.id), {maxlength: 128}),
    expires: input("expires", given["expires-at"]),
    spread: input("spread"),
    headers: area("headers", 3, headerLines(given.headers ?? [])),
    value: area("value", 5, text(given.value)),
    none: el("input", {type: "checkbox", name: "none", checked: given.value === null}),
  };
}

function layout(f) {
  const when = [choice("when", "after a delay", f.delay), choice("when", "at a time", f.at)];
  const pair = (...nodes) => el("div", {class: "pair"}, nodes);
  const choices = (...nodes) => el("div", {class: "choices"}, nodes);
  return [
    targetList(),
    el(
      "fieldset",
      {},
      el("legend", {}, "Deliver"),
      choices(when),
      field("Delay or time", f.time, "Such as 15m or 1h30m, or 2026-11-21T08:00:00Z."),
    ),
    field("Target", f.target, "Empty: default_target."),
    pair(
      field("Key", f.key, "Decides the lane. Needed to cancel."),
      field("ID", f.id, "The name of the request."),
    ),
    field("Value", f.value),
    choices(choice("none", "null (a tombstone)", f.none)),
    el(
      "details",
      {},
      el("summary", {}, "More"),
      field("Headers", f.headers, "One a line, such as trace: 42."),
      pair(
        field("Expires at", f.expires, "A time, such as 2026-11-21T08:00:00Z."),
        field("Spread", f.spread, "Such as 2m: deliver within this time after the due time."),
      ),
    ),
  ];
}

// What is no text cannot be edited. It is sent as it is, unless its field was filled.
function textOr(given, typed) {
  return typed === "" && given !== null && typeof given === "object" ? given : typed;
}

// Returns {nodes, request()}. given has the members of a request that it starts with.
export function requestForm(given = {}) {
  const f = makeFields(given);
  const request = () => {
    const members = {
      [f.at.checked ? "at" : "delay"]: f.time.value.trim(),
      target: f.target.value.trim(),
      key: textOr(given.key, f.key.value),
      id: textOr(given.id, f.id.value),
      "expires-at": f.expires.value.trim(),
      spread: f.spread.value.trim(),
    };
    const filled = Object.entries(members).filter(([, text]) => text !== "");
    const kept = (given.headers ?? []).filter((header) => !isLine(header));
    const headers = [...headersOf(f.headers.value), ...kept];
    return {
      ...Object.fromEntries(filled),
      ...(headers.length > 0 && {headers}),
      value: f.none.checked ? null : textOr(given.value, f.value.value),
    };
  };
  return {nodes: layout(f), request};
}
