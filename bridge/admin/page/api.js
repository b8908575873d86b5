// SPDX-License-Identifier: Apache-2.0
// api: calls of the admin API. A failed call throws a Problem (RFC 9457).

import {token} from "./session.js";

const TIMEOUT_MS = 20000;
const JOB_WAIT_MS = 1500;
const JOB_STEP_MS = 500;
const BASE = new URL("api/v1/", document.baseURI);
const ENDED = ["done", "failed", "stopped"];

class Problem extends Error {
  constructor({status, code, detail, key}) {
    super(detail);
    Object.assign(this, {status, code, key});
  }

  get isLost() {
    return this.status === 0;
  }
}

const LOST = {status: 0, code: "no_answer", detail: "the process does not answer"};

async function problemOf(answer) {
  try {
    return new Problem(await answer.json());
  } catch {
    return new Problem({
      status: answer.status,
      code: "no_json",
      detail: `${answer.status} ${answer.statusText}`,
    });
  }
}

async function call(method, path, body) {
  const headers = {Accept: "application/json"};
  if (token() !== null) headers.Authorization = `Bearer ${token()}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let answer;
  try {
    answer = await fetch(new URL(path, BASE), {
      method,
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: AbortSignal.timeout(TIMEOUT_MS),
      cache: "no-store",
      credentials: "omit",
    });
  } catch {
    throw new Problem(LOST);
  }
  if (!answer.ok) throw await problemOf(answer);
  return answer.json();
}

export const get = (path) => call("GET", path);
export const post = (path, body) => call("POST", path, body);

export function jobEnded(job) {
  return ENDED.includes(job.state);
}

export function stopJob(id) {
  return post(`jobs/${id}/stop`);
}

// Starts a job, reports its progress, and returns it when it has ended. An aborted signal stops the
// job in the process too.
export async function runJob(kind, body, onProgress = () => {}, signal = undefined) {
  let job = await post(`${kind}?wait_ms=${JOB_WAIT_MS}`, body);
  let stopped = false;
  while (!jobEnded(job)) {
    onProgress(job);
    await new Promise((resume) => {
      setTimeout(resume, JOB_STEP_MS);
    });
    if (signal?.aborted && !stopped) {
      stopped = true;
      await stopJob(job.id);
    }
    job = await get(`jobs/${job.id}`);
  }
  if (job.state === "failed" && job.problem !== null) throw new Problem(job.problem);
  return job;
}

let paths = {};

// Reads which routes this process has. A page of a newer version may meet an older process during an
// upgrade, behind one address.
export async function loadRoutes() {
  const file = await get("../../openapi.json");
  paths = file.paths ?? {};
}

export function hasRoute(method, path) {
  return paths[`/api/v1/${path}`]?.[method.toLowerCase()] !== undefined;
}
