// SPDX-License-Identifier: Apache-2.0
// actions: cancel, replace and deliver now, for a request that waits.

import {post} from "./api.js";
import {ask} from "./dialog.js";
import {el} from "./dom.js";
import {placeText} from "./life.js";
import {facts, problemBox} from "./parts.js";
import {requestForm} from "./request_form.js";
import {foreign, time} from "./text.js";

const WAIT = "5s";
const NAMELESS =
  "The request has no name (no record key, or a retry without an ID), so it cannot be cancelled.";
const STATES = {
  in_force: "It is in force.",
  stored: "It is stored.",
  refused: "It was refused.",
  unanswered: "It is stored. No process has applied it yet. Do not send it again, but look later.",
};

function answerOf({results, problem}) {
  const [one] = results;
  return [
    el(
      "p",
      {},
      STATES[one.state] ?? one.state,
      one.in_force ? [" Since ", time(one.in_force), "."] : "",
    ),
    one.reason ? el("p", {}, el("code", {}, one.code), " ", foreign(one.reason)) : null,
    problem && one.state === "refused" ? problemBox(problem) : null,
    facts([["stored at", placeText(one)]]),
  ];
}

// A cancel carries the key of the request. With dlb-key, the delivery has another one.
function named(record) {
  return {key: record.record_key, ...(record.id === null ? {} : {id: record.id})};
}

// The members of a new request with the content of one that waits.
function copyOf(record) {
  const hasOwnKey = JSON.stringify(record.key) !== JSON.stringify(record.record_key);
  const headers = [...(hasOwnKey ? [["dlb-key", record.key]] : []), ...record.headers];
  return {
    ...named(record),
    target: record.target,
    value: record.value,
    ...(headers.length > 0 ? {headers} : {}),
    ...(record.expires_at ? {"expires-at": record.expires_at} : {}),
  };
}

function identity(record) {
  return facts([
    ["Key", foreign(record.key)],
    ["ID", record.id === null ? null : foreign(record.id)],
    ["Target", foreign(record.target)],
    ["Due", time(record.due, {relative: true})],
  ]);
}

function cancel(record, changed) {
  ask({
    title: "Cancel this request?",
    button: "Cancel the request",
    danger: true,
    body: [
      identity(record),
      el(
        "p",
        {},
        "A cancel voids every request with this name in the lane that is not delivered yet.",
      ),
    ],
    act: async () => {
      const done = await post("cancel", {requests: [named(record)], wait: WAIT});
      changed();
      return answerOf(done);
    },
  });
}

function deliverNow(record, changed) {
  ask({
    title: "Deliver it now?",
    button: "Deliver now",
    body: [
      identity(record),
      el("p", {}, "A replace voids the request and sends its content again, due at once."),
    ],
    act: async () => {
      const done = await post("replace", {
        requests: [{...copyOf(record), at: new Date().toISOString()}],
        wait: WAIT,
      });
      changed();
      return answerOf(done);
    },
  });
}

function replaceIt(record, changed) {
  const form = requestForm({...copyOf(record), at: record.due});
  ask({
    title: "Replace this request",
    button: "Replace",
    body: form.nodes,
    act: async () => {
      const done = await post("replace", {requests: [form.request()], wait: WAIT});
      changed();
      return answerOf(done);
    },
  });
}

// Returns the buttons for a record. changed is called after a write.
export function actionsFor(record, changed) {
  const isRetry = record.retry !== null;
  if (record.record_key === null || (isRetry && record.id === null))
    return el("p", {class: "empty"}, NAMELESS);
  const button = (text, act, className = "") =>
    el("button", {type: "button", class: className, on: {click: () => act(record, changed)}}, text);
  // A replace would lose the number of the retry.
  const others = isRetry ? [] : [button("Deliver now", deliverNow), button("Replace", replaceIt)];
  return el("div", {class: "buttons"}, others, button("Cancel", cancel, "danger"));
}
