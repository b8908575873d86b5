// SPDX-License-Identifier: Apache-2.0
// feed: an answer of the API that is read again and again while a view shows it. In a hidden tab it
// is read rarely.

const HIDDEN_MS = 15000;

export class Feed {
  // load returns the new data. It receives the old one.
  constructor(everyMs, load) {
    Object.assign(this, {
      everyMs,
      load,
      data: null,
      problem: null,
      atMs: null,
      listeners: new Set(),
      timer: null,
      busy: false,
    });
  }

  // Calls the listener after each read, also after one that failed. Returns the function that ends
  // this.
  listen(listener) {
    this.listeners.add(listener);
    if (this.data !== null || this.problem !== null) listener(this);
    if (this.timer === null) this.read();
    return () => {
      this.listeners.delete(listener);
      if (this.listeners.size === 0) this.rest();
    };
  }

  rest() {
    clearTimeout(this.timer);
    this.timer = null;
  }

  async read() {
    this.rest();
    if (this.busy) return;
    this.busy = true;
    try {
      this.data = await this.load(this.data);
      this.problem = null;
      this.atMs = Date.now();
    } catch (problem) {
      this.problem = problem;
    }
    this.busy = false;
    for (const listener of [...this.listeners]) listener(this);
    // Without a token that is accepted, the next read is that of readAll.
    if (this.listeners.size > 0 && this.problem?.status !== 401)
      this.timer = setTimeout(() => this.read(), document.hidden ? HIDDEN_MS : this.everyMs);
  }
}

document.addEventListener("visibilitychange", () => {
  if (!document.hidden) document.dispatchEvent(new Event("wake"));
});
