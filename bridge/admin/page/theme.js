// SPDX-License-Identifier: Apache-2.0
// theme: light, dark, or as the system has it. page.css reads data-theme.

const KEY = "delaybridge.theme";
const NAMES = ["auto", "light", "dark"];
const LABELS = {auto: "Theme: as the system", light: "Theme: light", dark: "Theme: dark"};

function current() {
  const stored = localStorage.getItem(KEY);
  return NAMES.includes(stored) ? stored : "auto";
}

function apply(button, name) {
  document.documentElement.dataset.theme = name;
  button.dataset.icon = name;
  button.setAttribute("aria-label", LABELS[name]);
  button.title = LABELS[name];
}

export function startTheme(button) {
  apply(button, current());
  button.addEventListener("click", () => {
    const next = NAMES[(NAMES.indexOf(current()) + 1) % NAMES.length];
    localStorage.setItem(KEY, next);
    apply(button, next);
  });
}
