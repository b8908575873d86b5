// SPDX-License-Identifier: Apache-2.0
// saving: a button that saves what a view shows as a file of JSON, for a ticket or another team.

import {el} from "./dom.js";

// contents returns what the file contains at the time of the click.
export function saveButton(contents, name) {
  const save = () => {
    const text = `${JSON.stringify(contents(), null, 2)}\n`;
    const href = URL.createObjectURL(new Blob([text], {type: "application/json"}));
    el("a", {href, download: `${name}.json`}).click();
    URL.revokeObjectURL(href);
  };
  return el("button", {type: "button", class: "small", on: {click: save}}, "Save as JSON");
}
