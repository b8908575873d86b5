// SPDX-License-Identifier: Apache-2.0
// redrive: the dialog that sends dead letters again. A dry run shows first what would be sent.

import {el, freshId, replace} from "./dom.js";
import {count, plural} from "./format.js";
import {choice, facts, field} from "./parts.js";
import {Runner} from "./running.js";

const SKIPPED = {
  foreign: "not written by the bridge",
  unreadable: "cannot be read",
  not_ours: "no requests",
  operation: "cancels or replaces",
  expired: "expired",
  undated: "with a delay: choose its start",
  gone: "no longer on the schedule topic",
  refused: "would be refused again",
  too_large: "too large",
};

function outcome({dry_run: dry, sent, complete, skipped}) {
  const verb = dry
    ? "would be sent again"
    : complete
      ? "sent again"
      : "sent again before the stop. Another run continues";
  const rows = Object.entries(skipped)
    .filter(([, n]) => n > 0)
    .map(([why, n]) => [SKIPPED[why] ?? why, count(n)]);
  return [
    el("p", {class: "outcome"}, `${plural(sent, "request")} ${verb}.`),
    rows.length === 0 ? null : [el("h3", {}, "Skipped"), facts(rows)],
  ];
}

// Returns {nodes, chosen()}: the fields, and the options of a run.
function fields() {
  const radio = (value, checked) => el("input", {type: "radio", name: "delay", value, checked});
  const keep = radio("keep", true);
  const restart = radio("restart", false);
  const expiry = el("input", {type: "checkbox", name: "expiry"});
  const cancels = el("input", {type: "checkbox", name: "cancels"});
  const rate = el("input", {
    name: "rate",
    inputmode: "numeric",
    autocomplete: "off",
    placeholder: "no limit",
  });
  const start = [
    choice("delay", "from the first sending", keep, "the due time stays"),
    choice("delay", "from now", restart),
  ];
  const also = [
    choice("expiry", "Also expired requests, without their expiry", expiry),
    choice("cancels", "Also cancels and replaces", cancels),
  ];
  return {
    nodes: [
      el("fieldset", {}, el("legend", {}, "A delay counts"), el("div", {class: "choices"}, start)),
      el("div", {class: "choices"}, also),
      field("At most so many a second", rate),
    ],
    chosen: () => ({
      "keep-due": keep.checked,
      "restart-delay": restart.checked,
      "drop-expiry": expiry.checked,
      "with-cancels": cancels.checked,
      ...(rate.value.trim() !== "" && {rate: rate.value.trim()}),
    }),
  };
}

// Opens the dialog for a selection of dead letters, such as {code: "expired"}. changed is called
// after requests were sent.
export function openRedrive(selection, title, changed) {
  const id = freshId("redrive");
  const place = el("div", {"aria-live": "polite"});
  const {nodes, chosen} = fields();
  const send = el("button", {type: "button", class: "primary", disabled: true}, "Send again");
  const dry = el("button", {type: "submit"}, "Dry run");
  const close = el("button", {type: "button", on: {click: () => dialog.close()}}, "Close");
  const buttons = el("footer", {}, close, dry, send);
  const form = el("form", {}, el("h2", {id}, title), nodes, place, buttons);
  const dialog = el("dialog", {"aria-labelledby": id}, form);
  const runner = new Runner(place);

  async function run(options) {
    dry.disabled = send.disabled = true;
    const words = options["dry-run"] ? "Trying" : "Sending";
    const job = await runner.run("redrive", {...selection, ...options}, words);
    const last = job?.results.at(-1);
    dry.disabled = false;
    if (last === undefined) return;
    replace(place, outcome(last));
    send.disabled = !last.dry_run || last.sent === 0;
    send.textContent = send.disabled ? "Send again" : `Send ${plural(last.sent, "request")}`;
    if (!last.dry_run) changed();
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    run({...chosen(), "dry-run": true});
  });
  // Other options need another dry run.
  form.addEventListener("change", () => {
    send.disabled = true;
  });
  send.addEventListener("click", () => run(chosen()));
  dialog.addEventListener("close", () => {
    runner.end();
    dialog.remove();
  });
  document.body.append(dialog);
  dialog.showModal();
}
