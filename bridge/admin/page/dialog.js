// SPDX-License-Identifier: Apache-2.0
// dialog: asks before a write, and shows how it ended.

import {el, freshId, replace} from "./dom.js";
import {problemBox} from "./parts.js";

// Opens a dialog. body is nodes. act runs on the main button and returns nodes that replace the
// body, or throws a Problem.
export function ask({title, body, button, danger = false, act}) {
  const id = freshId("dialog");
  const place = el("div", {class: "dialog-body"}, body);
  const outcome = el("div", {"aria-live": "polite"});
  const main = el("button", {type: "submit", class: danger ? "danger" : "primary"}, button);
  const close = el("button", {type: "button", on: {click: () => dialog.close()}}, "Back");
  const form = el(
    "form",
    {method: "dialog"},
    el("h2", {id}, title),
    place,
    outcome,
    el("footer", {}, close, main),
  );
  const dialog = el("dialog", {"aria-labelledby": id}, form);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    main.disabled = true;
    replace(outcome);
    try {
      replace(place, await act());
      main.remove();
      close.textContent = "Close";
      close.focus();
    } catch (problem) {
      replace(outcome, problemBox(problem));
      main.disabled = false;
    }
  });
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
