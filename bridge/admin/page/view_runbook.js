// SPDX-License-Identifier: Apache-2.0
// view_runbook: docs/troubleshooting.md of this version, from the binary. It is at hand when no
// other site is.

import {el, replace} from "./dom.js";
import {render} from "./markdown.js";
import {loading, problemBox} from "./parts.js";

// Other documents are not in the binary: their name is shown.
function link(words, to) {
  return to.startsWith("#")
    ? el("a", {href: `#/runbook/${to.slice(1)}`}, words)
    : el("span", {title: `docs/${to}`}, words);
}

export function mountRunbook(root, parameters, section) {
  const place = el("article", {class: "runbook"}, loading());
  root.append(place);
  fetch(new URL("page/troubleshooting.md", document.baseURI))
    .then((answer) => answer.text())
    .then((text) => {
      replace(place, render(text, link));
      const heading = document.getElementById(`runbook-${section}`);
      heading?.scrollIntoView();
      heading?.focus({preventScroll: true});
    })
    .catch(() => replace(place, problemBox(new Error("the process does not answer"))));
  return () => {};
}
