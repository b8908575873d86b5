// SPDX-License-Identifier: Apache-2.0
// zone: times in the reader's zone, or in UTC as in logs. The browser keeps the choice.

import {showAgain} from "./feeds.js";
import {useUtc} from "./format.js";
import {rewriteTimes} from "./text.js";

const KEY = "delaybridge.zone";
const UTC = "UTC";

function apply(button, isUtc) {
  useUtc(isUtc);
  const name = isUtc ? UTC : "local";
  button.textContent = name;
  button.setAttribute("aria-label", `Times: ${name}`);
  button.title = isUtc ? "Times: UTC" : "Times: local, in your zone";
}

export function startZone(button) {
  apply(button, localStorage.getItem(KEY) === UTC);
  button.addEventListener("click", () => {
    const isUtc = localStorage.getItem(KEY) !== UTC;
    if (isUtc) localStorage.setItem(KEY, UTC);
    else localStorage.removeItem(KEY);
    apply(button, isUtc);
    rewriteTimes();
    showAgain();
  });
}
