// SPDX-License-Identifier: Apache-2.0
// main: starts the page, and shows one view at a time by the fragment of the address.

import {findAccess, promptToken} from "./access.js";
import {alertsOf, verdict} from "./alerts.js";
import {el, replace, setText} from "./dom.js";
import {areHeld, holdUpdates} from "./feed.js";
import {feeds} from "./feeds.js";
import {mountHour} from "./overview_hour.js";
import {mountLevels} from "./overview_levels.js";
import {mountNext} from "./overview_next.js";
import {mountProcesses} from "./overview_processes.js";
import {mountStatus, processLine} from "./overview_status.js";
import {mountTargets} from "./overview_targets.js";
import {panel, problemBox} from "./parts.js";
import {forgetToken, takeToken, token} from "./session.js";
import {tickTimes, time} from "./text.js";
import {startTheme} from "./theme.js";
import {mountConfig} from "./view_config.js";
import {mountDead} from "./view_dead.js";
import {mountFind} from "./view_find.js";
import {mountJobs} from "./view_jobs.js";
import {mountRunbook} from "./view_runbook.js";
import {mountSend} from "./view_send.js";
import {startZone} from "./zone.js";

const NO_TOKEN = {key: "admin_token", message: "this needs a token"};
const place = (id) => document.getElementById(id);
let access = null;
let unmount = () => {};

function mountOverview(root) {
  const full = access === "full";
  const grid = el("div", {class: "grid"});
  const left = el("div", {class: "column"});
  const right = el("div", {class: "column"});
  root.append(el("h1", {class: "hidden"}, "Overview"));
  const ends = [mountStatus(root, full)];
  grid.append(left, right);
  root.append(grid);
  ends.push(mountLevels(left), mountHour(right), mountTargets(left, full), mountNext(right, full));
  if (full) ends.push(mountProcesses(right));
  return () => ends.forEach((end) => end());
}

const VIEWS = {
  "": {name: "Overview", mount: mountOverview, open: true},
  find: {name: "Find", mount: mountFind},
  dead: {name: "Dead letters", mount: mountDead},
  send: {name: "Send", mount: mountSend},
  jobs: {name: "Jobs", mount: mountJobs},
  config: {name: "Configuration", mount: mountConfig},
  runbook: {name: "Runbook", mount: mountRunbook, open: true},
};

function route() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [name, section = ""] = path.split("/");
  return {name: name in VIEWS ? name : "", section, parameters: new URLSearchParams(query)};
}

// The title of a tab names what is wrong, also while another tab is shown.
function titleOf(trouble) {
  const {name} = route();
  return [trouble, name === "" ? "" : VIEWS[name].name, "Delaybridge"].filter(Boolean).join(" · ");
}

function mountClosed(root, view) {
  const {node, body} = panel(view.name, {level: 1});
  replace(body, problemBox(NO_TOKEN));
  root.append(node);
  return () => {};
}

function show() {
  const {name, section, parameters} = route();
  const view = VIEWS[name];
  const root = place("main");
  unmount();
  replace(root);
  root.classList.toggle("reading", name !== "");
  unmount =
    view.open || access === "full"
      ? view.mount(root, parameters, section)
      : mountClosed(root, view);
  for (const link of document.querySelectorAll("nav a")) {
    if (link.dataset.view === name) {
      link.setAttribute("aria-current", "page");
      link.scrollIntoView({block: "nearest"});
    } else link.removeAttribute("aria-current");
  }
  document.title = titleOf("");
  window.scrollTo(0, 0);
}

function makeNav() {
  replace(
    place("nav"),
    Object.entries(VIEWS).map(([name, view]) =>
      el("a", {href: `#/${name}`, "data-view": name}, view.name),
    ),
  );
}

// Shows since when the process does not answer. A screen reader reads the first words, once.
function showLost(lost) {
  const bar = place("lost");
  document.documentElement.toggleAttribute("data-lost", lost);
  if (bar.hidden === !lost) return;
  const {atMs} = feeds.status;
  bar.hidden = !lost;
  replace(
    bar,
    el("strong", {role: "alert"}, "No connection."),
    atMs === null ? null : [" The figures are those of ", time(atMs, {relative: true}), "."],
    " Trying again.",
  );
}

// Stops and resumes updates, so that a reader has the time that reading needs.
function startHold(button) {
  button.addEventListener("click", () => {
    const held = !areHeld();
    button.setAttribute("aria-pressed", held);
    holdUpdates(held);
    const bar = place("held");
    bar.hidden = !held;
    replace(
      bar,
      el("span", {role: "status"}, "Updates are held."),
      " The figures are those of ",
      time(Date.now(), {relative: true}),
      ".",
    );
  });
}

function showFoot(status) {
  const foot = place("foot");
  if (foot.dataset.started === status.started) return;
  foot.dataset.started = status.started;
  const versions = `Delaybridge ${status.version} (${status.commit}), librdkafka ${status.librdkafka}.`;
  replace(foot, `${versions} Group ${status.group}. Started `, time(status.started), ".");
}

// The state of the bridge in the head of each view. The live region speaks only when it changes.
function showHead({data: status, problem}) {
  const pill = place("pill");
  const lost = problem?.isLost ?? false;
  showLost(lost);
  if (problem?.status === 401) promptToken(entered);
  if (status === null) return;
  const known = {status, levels: feeds.levels.data, targets: feeds.targets.data};
  const {kind, word} = verdict(status, alertsOf(known));
  document.title = titleOf(kind === "ok" && !lost ? "" : lost ? "No connection" : word);
  pill.className = `pill ${lost ? "bad" : kind}`;
  setText(pill, lost ? "No connection" : word);
  setText(place("process"), processLine(status));
  showFoot(status);
}

function entered(now) {
  access = now;
  place("session").hidden = token() === null;
  place("mode").hidden = access !== "read-only";
  show();
}

async function start() {
  takeToken();
  startTheme(place("theme"));
  startZone(place("zone"));
  startHold(place("hold"));
  makeNav();
  place("session").addEventListener("click", () => {
    forgetToken();
    promptToken(entered);
  });
  window.addEventListener("hashchange", () => {
    if (takeToken()) location.reload();
    else if (access !== null && (location.hash === "" || location.hash.startsWith("#/"))) show();
  });
  setInterval(() => tickTimes(areHeld() ? place("held") : document), 1000);
  for (;;) {
    try {
      const now = await findAccess();
      feeds.status.listen(showHead);
      if (now === "locked") promptToken(entered);
      else entered(now);
      return;
    } catch (problem) {
      showHead({data: null, problem});
      if (!problem.isLost) replace(place("main"), problemBox(problem));
      await new Promise((resume) => {
        setTimeout(resume, 2000);
      });
    }
  }
}

start();
