# SPDX-License-Identifier: Apache-2.0
"""A Chromium that shows the page, and collects everything that no page may do."""
from __future__ import annotations

import os
from pathlib import Path

from playwright.sync_api import Page, sync_playwright
from stage import Skip, require

CHROMIUM = Path("/usr/bin/chromium")
AXE = Path(os.environ.get("DEV_CACHE", ".cache")) / "axe" / "node_modules" / "axe-core" / "axe.min.js"
WATCH = """
window.violations = [];
document.addEventListener('securitypolicyviolation', (event) => window.violations.push(event.violatedDirective + ' ' + event.blockedURI));
"""
PAGE_BYTES_MAX = 100_000


class Browser:
    """Opens pages of one admin listener. check() fails on anything that no page may do."""

    def __init__(self, port: int, token: str | None):
        if not CHROMIUM.exists():
            raise Skip("there is no /usr/bin/chromium")
        if not AXE.exists():
            raise Skip(f"there is no {AXE}: ./dev e2e page fetches it")
        self.url, self.token = f"http://127.0.0.1:{port}/", token
        self.playwright = sync_playwright().start()
        self.chromium = self.playwright.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        self.pages: list[Page] = []
        self.faults: list[str] = []
        self.bytes: dict[str, int] = {}

    def blank(self, width: int = 1200, theme: str = "light") -> Page:
        """Opens an empty page, the only one: each context has its own connections, and an address may have 16."""
        self.look()
        for page in self.pages:
            page.context.close()
        context = self.chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=theme,
                                            timezone_id="Asia/Kolkata")
        page = context.new_page()
        page.set_default_timeout(15_000)
        page.add_init_script(WATCH)
        page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        page.on("console", lambda message: self.heard(message.type, message.text))
        page.on("dialog", lambda dialog: self.faults.append(f"a script of a record ran: {dialog.message}"))
        page.on("request", lambda request: self.requested(request.url))
        page.on("response", self.answered)
        self.pages = [page]
        return page

    def open(self, view: str = "", width: int = 1200, theme: str = "light") -> Page:
        """Opens a view with the token, and waits until it has figures."""
        page = self.blank(width, theme)
        page.goto(self.url + (f"#token={self.token}" if self.token else ""))
        page.wait_for_selector("#pill:not(.idle)")
        self.show(page, view)
        return page

    def show(self, page: Page, view: str) -> None:
        page.evaluate("view => { location.hash = '#/' + view; }", view)
        page.wait_for_timeout(100)
        page.wait_for_selector("main > *")

    def heard(self, kind: str, text: str) -> None:
        # Chromium writes a line for each answer of 400 and above. The tests cause some.
        if kind in ("error", "warning") and "Failed to load resource" not in text:
            self.faults.append(f"console: {text}")

    def requested(self, url: str) -> None:
        if not url.startswith(self.url):
            self.faults.append(f"a request to {url}")

    def answered(self, response) -> None:
        path = response.url.removeprefix(self.url).split("#", maxsplit=1)[0]
        if path == "" or path.startswith("page/"):
            self.bytes[path] = int(response.headers.get("content-length", 0))

    def look(self) -> None:
        for page in self.pages:
            self.faults += page.evaluate("window.violations ?? []")

    def check(self) -> None:
        self.look()
        require(not self.faults, f"the page: {self.faults[:5]}")

    def close(self) -> None:
        self.chromium.close()
        self.playwright.stop()


def axe(page: Page, name: str) -> None:
    """Fails on any finding of axe."""
    page.evaluate(AXE.read_text())
    found = page.evaluate("async () => (await axe.run(document, {resultTypes: ['violations']})).violations.map("
                          "(v) => v.id + ': ' + v.help + ' ' + v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160)).join(' | '))")
    require(not found, f"axe on {name}: {found}")


OUTSIDE = """() => {
    const cards = document.querySelectorAll('.panel, .card, .letter, .runbook, .strip, .alerts, dialog[open]');
    const found = new Set();
    for (const card of cards) {
        const box = card.getBoundingClientRect();
        for (const one of card.querySelectorAll('a, button, input, textarea, th, td')) {
            const {left, right, top, bottom, width} = one.getBoundingClientRect();
            if (width === 0 || !one.checkVisibility() || one.closest('.hidden')) continue;
            if (left < box.left - 1 || right > box.right + 1 || top < box.top - 1 || bottom > box.bottom + 1)
                found.add(`${one.tagName} '${one.getAttribute('aria-label') ?? one.textContent.slice(0, 40)}' lies outside`);
        }
        for (const one of [card, ...card.querySelectorAll(':not(.hidden, svg, svg *)')])
            if (one.scrollWidth > one.clientWidth + 1 && ['hidden', 'clip'].includes(getComputedStyle(one).overflowX))
                found.add(`${one.tagName}.${one.className} is clipped`);
    }
    return [...found];
}"""


def contained(page: Page, name: str) -> None:
    """Fails on a button, link, field or cell outside of its card, and on text that is clipped without a way to scroll."""
    found = page.evaluate(OUTSIDE)
    require(not found, f"{name}: {len(found)} outside of their card: {found[:4]}")


def fits(page: Page, name: str) -> None:
    wide, screen = page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
    require(wide <= screen, f"{name} is {wide} px wide on a screen of {screen} px")
