// SPDX-License-Identifier: Apache-2.0
// view_send: sends a test request.

import {post} from "./api.js";
import {el, replace} from "./dom.js";
import {feeds} from "./feeds.js";
import {placeText} from "./life.js";
import {panel, problemBox} from "./parts.js";
import {requestForm} from "./request_form.js";
import {foreign, time} from "./text.js";

function sent(one) {
  const place = placeText(one);
  return el(
    "p",
    {class: "outcome"},
    "Stored as ",
    el("code", {}, place),
    " at ",
    time(Date.now()),
    ". ",
    el("a", {href: `#/find?${new URLSearchParams({by: "source", text: place})}`}, "Follow it"),
  );
}

export function mountSend(root) {
  const {node, body} = panel("Send a test request", {level: 1, className: "narrow"});
  const outcome = el("div", {"aria-live": "polite"});
  const button = el("button", {type: "submit", class: "primary"}, "Send");
  const form = el("form", {class: "request"});
  root.append(node);
  const end = feeds.targets.listen(() => {
    if (form.firstChild !== null) return;
    const {nodes, request} = requestForm({
      value: '{"test": true}',
      key: "test",
      id: `test-${Date.now().toString(36)}`,
    });
    replace(form, nodes, outcome, el("footer", {}, button));
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      button.disabled = true;
      try {
        const {results, warnings, problem} = await post("send", {requests: [request()]});
        replace(
          outcome,
          results.map(sent),
          warnings.map((text) => el("p", {class: "note"}, foreign(text, 400))),
          problem && problemBox(problem),
        );
      } catch (problem) {
        replace(outcome, problemBox(problem));
      }
      button.disabled = false;
    });
  });
  replace(body, form);
  return end;
}
