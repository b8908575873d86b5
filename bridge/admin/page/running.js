// SPDX-License-Identifier: Apache-2.0
// running: runs a job, and shows its progress in a place of the page, with a button that stops it.

import {runJob} from "./api.js";
import {el, replace} from "./dom.js";
import {percent, plural} from "./format.js";
import {loading, problemBox} from "./parts.js";

function progressBox(words, stop) {
  const bar = el("progress", {max: 1, "aria-label": "progress"});
  const read = el("span", {});
  const button = el("button", {type: "button", on: {click: stop}}, "Stop");
  const update = (job) => {
    if (job.progress !== null) bar.value = job.progress;
    const share = job.progress === null ? "" : `${percent(job.progress)}, `;
    read.textContent = `${share}${plural(job.records_read, "record")} read`;
  };
  return {node: el("div", {class: "searching"}, loading(words), bar, read, button), update};
}

export class Runner {
  // again starts the run again after a failure.
  constructor(place, again) {
    this.place = place;
    this.again = again;
    this.current = new AbortController();
  }

  // Runs a job in place of the one before. Returns it, or null if it failed, which the place shows,
  // or if another one has replaced it.
  async run(kind, body, words) {
    this.end();
    const mine = new AbortController();
    this.current = mine;
    const {node, update} = progressBox(words, () => mine.abort());
    replace(this.place, node);
    try {
      const job = await runJob(kind, body, update, mine.signal);
      return mine === this.current ? job : null;
    } catch (problem) {
      if (mine === this.current) replace(this.place, problemBox(problem, this.again));
      return null;
    }
  }

  end() {
    this.current.abort();
  }
}
