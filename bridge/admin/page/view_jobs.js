// SPDX-License-Identifier: Apache-2.0
// view_jobs: the last searches and redrives of this process, with progress and stop.

import {jobEnded, stopJob} from "./api.js";
import {el, keyed, replace, setText} from "./dom.js";
import {feeds} from "./feeds.js";
import {count, percent, span} from "./format.js";
import {empty, loading, panel, problemBox, table} from "./parts.js";
import {foreign, time} from "./text.js";

const KINDS = {done: "ok", failed: "bad", stopped: "warn", running: "ok", stopping: "warn"};

function optionsText(options) {
  return Object.entries(options)
    .filter(([, value]) => value !== null && value !== false)
    .map(([name, value]) => (value === true ? name : `${name} ${[value].flat().join(", ")}`))
    .join(", ");
}

function rowOf(job) {
  const options = optionsText(job.options);
  const mark = el("span", {class: "state"});
  const progress = el("progress", {max: 1, "aria-label": "progress"});
  const share = el("small", {});
  const read = el("td", {class: "number"});
  const took = el("td", {class: "number"});
  const why = el("small", {});
  const stop = el(
    "button",
    {
      type: "button",
      class: "small",
      "aria-label": `Stop ${job.kind} ${job.id}`,
      on: {
        click: async () => {
          stop.disabled = true;
          await stopJob(job.id).catch(() => {
            stop.disabled = false;
          });
          feeds.jobs.read();
        },
      },
    },
    "Stop",
  );
  const node = el(
    "tr",
    {},
    el("th", {scope: "row"}, job.kind),
    el("td", {}, options === "" ? null : foreign(options, 120)),
    el("td", {}, mark, why),
    el("td", {class: "progress"}, progress, share),
    read,
    el("td", {}, time(job.started)),
    took,
    el("td", {class: "actions"}, stop),
  );
  return {
    node,
    update: (now) => {
      const ended = jobEnded(now);
      mark.className = `state ${KINDS[now.state]}`;
      setText(mark, now.state);
      setText(why, now.problem === null ? "" : now.problem.detail);
      const part = now.state === "done" ? 1 : now.progress;
      progress.hidden = ended;
      if (part !== null) progress.value = part;
      setText(share, part === null ? "" : percent(part));
      setText(read, count(now.records_read));
      setText(took, span((ended ? Date.parse(now.ended) : Date.now()) - Date.parse(now.started)));
      stop.hidden = ended;
    },
  };
}

export function mountJobs(root) {
  const {node, body, note} = panel("Jobs", {level: 1});
  const {
    node: frame,
    rows,
    stacked,
  } = table("Jobs", [
    ["Job"],
    ["Options"],
    ["State"],
    ["Progress"],
    ["Records read", "number"],
    ["Started"],
    ["Took", "number"],
    ["Actions", "actions"],
  ]);
  note.textContent = "the last ones of this process";
  replace(body, loading());
  root.append(node);
  return feeds.jobs.listen(({data, problem}) => {
    if (data === null) {
      replace(body, problem.isLost ? loading() : problemBox(problem));
      return;
    }
    if (data.jobs.length === 0) replace(body, empty("No search or redrive has run yet."));
    else if (frame.parentNode !== body) replace(body, frame);
    keyed(
      rows,
      data.jobs,
      ({id}) => id,
      (job) => {
        const row = rowOf(job);
        stacked(row.node);
        return row;
      },
    );
  });
}
