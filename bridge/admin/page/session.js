// SPDX-License-Identifier: Apache-2.0
// session: the token. It is kept for this tab only, and never in a cookie, so no other page can use
// it.

const KEY = "delaybridge.token";

// Takes the token from #token=… and removes it from the address bar and the history.
export function takeToken() {
  const found = /^#token=(.+)$/.exec(location.hash);
  if (found === null) return false;
  setToken(decodeURIComponent(found[1]));
  history.replaceState(null, "", location.pathname + location.search);
  return true;
}

export function token() {
  return sessionStorage.getItem(KEY);
}

export function setToken(text) {
  sessionStorage.setItem(KEY, text);
}

export function forgetToken() {
  sessionStorage.removeItem(KEY);
}
