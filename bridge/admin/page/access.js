// SPDX-License-Identifier: Apache-2.0
// access: whether this reader may see all and write, only see the open part, or must enter a token.

import {get, loadRoutes} from "./api.js";
import {el, freshId, replace} from "./dom.js";
import {readAll} from "./feeds.js";
import {field} from "./parts.js";
import {forgetToken, setToken, token} from "./session.js";

// Asks the process. Returns "full", "read-only" (no admin_token is configured) or "locked".
export async function findAccess() {
  try {
    const status = await get("status");
    await loadRoutes();
    return status.token ? "full" : "read-only";
  } catch (problem) {
    if (problem.status === 401) return "locked";
    throw problem;
  }
}

let open = null;

// Opens the prompt, once. entered is called with a token that the process accepts.
export function promptToken(entered) {
  if (open !== null) return;
  const id = freshId("token");
  const wrong = token() !== null;
  const input = el("input", {
    type: "password",
    name: "token",
    required: true,
    autocomplete: "off",
    spellcheck: "false",
  });
  const outcome = el(
    "p",
    {role: "alert", class: "problem"},
    wrong ? "This token is not accepted. It may have been replaced." : "",
  );
  outcome.hidden = !wrong;
  const form = el(
    "form",
    {},
    el("h2", {id}, "Token"),
    el(
      "p",
      {},
      "This process asks for the token in the file of ",
      el("code", {}, "admin_token"),
      ".",
    ),
    field("Token", input, "It is kept until you close this tab."),
    outcome,
    el("footer", {}, el("button", {type: "submit", class: "primary"}, "Continue")),
  );
  open = el("dialog", {class: "token", "aria-labelledby": id}, form);
  forgetToken();
  open.addEventListener("cancel", (event) => event.preventDefault());
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    setToken(input.value.trim());
    const access = await findAccess().catch(() => null);
    if (access === null || access === "locked") {
      forgetToken();
      replace(
        outcome,
        access === null ? "The process does not answer." : "This token is not accepted.",
      );
      outcome.hidden = false;
      input.select();
      return;
    }
    open.close();
    open.remove();
    open = null;
    readAll();
    entered(access);
  });
  document.body.append(open);
  open.showModal();
}
