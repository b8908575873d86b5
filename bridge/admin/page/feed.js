// SPDX-License-Identifier: Apache-2.0
// feed: an answer of the API that is read again and again while a view shows it. In a hidden tab it
// is read rarely.

const HIDDEN_MS = 15000;
const updates = {held: false};

// Holds the figures of all views as they are, or reads them again.
export function holdUpdates(held) {
  updates.held = held;
  if (!held) document.dispatchEvent(new Event("wake"));
}

export function areHeld() {
  return updates.held;
}

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
    if (this.isRead) listener(this);
    if (this.timer === null) this.read();
    return () => {
      this.listeners.delete(listener);
      if (this.listeners.size === 0) this.rest();
    };
  }

  get isRead() {
    return this.data !== null || this.problem !== null;
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
    this.repeat();
    // Without a token that is accepted, the next read is that of readAll.
    if (this.listeners.size > 0 && this.problem?.status !== 401)
      this.wait();
  }

  // A listener expects data or a problem, so none is called before the first read has ended.
  repeat() {
    if (!this.isRead) return;
    for (const listener of [...this.listeners]) listener(this);
  }

  // A feed without figures is read even if updates are held.
  wait() {
    this.timer = setTimeout(
      () => (updates.held && this.data !== null ? this.wait() : this.read()),
      document.hidden ? HIDDEN_MS : this.everyMs,
    );
  }
}

document.addEventListener("visibilitychange", () => {
  if (!document.hidden && !updates.held) document.dispatchEvent(new Event("wake"));
});
