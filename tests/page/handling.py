# SPDX-License-Identifier: Apache-2.0
"""What a reader does with the figures: another range, another order, held updates, a copy, a filter, a link."""
from __future__ import annotations

import json
import re

from acting import find
from browser import Browser, axe
from playwright.sync_api import Page
from seeing import rows
from stage import require

FEW_S = 2  # of a column of the last five minutes on a wide screen
TARGET = {"entry": "", "state": "open", "limit_per_s": None, "topics": 1, "failing_topics": 0, "slow_topics": 0,
          "deliveries_per_s": 0.0, "late_p50_ms": None, "late_p99_ms": None, "deliveries": 0, "deferrals": 0,
          "withheld": {"paused": 0, "limited": 0}, "failures": {}, "dead_letters": {}}
TARGETS = ({"entry": "b", "deliveries_per_s": 9.0, "late_p99_ms": 5}, {"entry": "a", "deliveries_per_s": 700.0, "dead_letters": {"expired": 3}},
           {"entry": "c", "state": "failing", "failing_topics": 1, "failures": {"missing": 2}})


def answer_targets(page: Page, targets) -> None:
    body = {"at": "2026-11-21T08:00:00Z", "targets": [{**TARGET, **one} for one in targets]}
    page.unroute("**/api/v1/targets")
    page.route("**/api/v1/targets", lambda route: route.fulfill(content_type="application/json", body=json.dumps(body)))


def names(page: Page) -> list[str]:
    return [row[0] for row in rows(page, "Targets")]


def sorts(browser: Browser) -> None:
    """A heading sorts the targets, down, up, and not. The focus stays on a button whose row moves."""
    page = browser.blank(width=1600)
    answer_targets(page, TARGETS)
    page.goto(f"{browser.url}#token={browser.token}")
    page.wait_for_selector('[aria-label="Targets"] tbody tr')
    require(names(page) == ["b", "a", "c"], f"without an order: {names(page)}")
    for heading, down in (("Rate", ["a", "b", "c"]), ("Late, p99", ["b", "c", "a"]), ("State", ["c", "a", "b"]),
                          ("Entry of targets", ["c", "b", "a"])):
        button = page.get_by_role("button", name=heading, exact=True)
        for order, shown in (("descending", down), ("ascending", down[::-1]), (None, ["b", "a", "c"])):
            button.click()
            require(page.locator("th", has=button).get_attribute("aria-sort") == order, f"{heading}: {order}")
            require(names(page) == shown, f"{heading}, {order}: {names(page)}")
    page.get_by_role("button", name="Rate", exact=True).click()
    page.get_by_role("button", name="Pause b", exact=True).focus()
    answer_targets(page, [{**one, "deliveries_per_s": 800.0} if one["entry"] == "b" else one for one in TARGETS])
    page.locator('[aria-label="Targets"] tbody tr:first-child th', has_text="b").wait_for()
    require(page.evaluate("document.activeElement.getAttribute('aria-label')") == "Pause b", "a row that moves loses the focus")
    axe(page, "sorted targets")
    page.get_by_role("link", name="expired 3").click()
    page.wait_for_selector("h1:has-text('Dead letters')")
    require("#/dead?code=expired" in page.url, f"the link of a count leads to {page.url}")


def ranges(browser: Browser) -> None:
    """The pictures of the last minutes show single seconds. The choice stays while another view is shown."""
    page = browser.open()
    page.wait_for_selector('[aria-label^="Last hour: "]')
    page.get_by_role("button", name="5 min", exact=True).click()
    chart = page.locator('[aria-label^="Last 5 minutes: "]')
    chart.focus()
    page.keyboard.press("End")
    shown = page.inner_text('.chart-box:has([aria-label^="Last 5 minutes"]) .readout')
    found = re.match(r"\d\d:\d\d:(\d\d) – \d\d:\d\d:(\d\d): ", shown)
    require(found is not None and (int(found[2]) - int(found[1])) % 60 == FEW_S, f"the readout is {shown}")
    browser.show(page, "jobs")
    browser.show(page, "")
    page.wait_for_selector('[aria-label^="Last 5 minutes: "]')
    require(page.locator(".ranges [aria-pressed=true]").all_inner_texts() == ["5 min"], "the chosen range")
    axe(page, "the last five minutes")


def holds(browser: Browser) -> None:
    """Held updates change no figure, and the page says so."""
    page = browser.open()
    page.wait_for_selector('[aria-label="Levels"] tbody tr')
    page.get_by_role("button", name="Hold updates").click()
    page.get_by_text("Updates are held.").wait_for()
    page.wait_for_timeout(1500)  # reads that were on their way
    calls: list[str] = []
    page.on("request", lambda request: calls.append(request.url))
    before = page.inner_text("main")
    page.wait_for_timeout(3000)
    require(not calls and page.inner_text("main") == before, f"held updates: {calls}")
    axe(page, "held updates")
    page.get_by_role("button", name="Hold updates").click()
    page.wait_for_timeout(1500)
    require(len(calls) > 1 and page.locator("#held").is_hidden(), "updates do not begin again")


def copies(browser: Browser, name: str) -> None:
    """The ID, key and source of a found request are copied."""
    page = browser.open("find")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    require(find(browser, page, "ID", name), f"{name} is not found")
    for what, text in (("ID", name), ("source", page.inner_text(".card h2"))):
        page.get_by_role("button", name=f"Copy {what}", exact=True).click()
        page.get_by_role("button", name=f"Copied {what}", exact=True).wait_for()
        require(page.evaluate("navigator.clipboard.readText()") == text, f"the copied {what}")
    require(re.search(r"Value, \d+ B", page.inner_text(".card")) is not None, "the size of the value")


def filters(browser: Browser) -> None:
    """A text limits the dead letters that are shown."""
    page = browser.open("dead")
    page.get_by_role("button", name="Show expired for e2e.a").click()
    page.wait_for_selector(".letter")
    require(page.locator(".letter").count() > 5, "too few dead letters to filter")
    page.get_by_label("Filter these").fill("no such text in any letter")
    require(page.locator(".letter:visible").count() == 0, "letters without the text")
    page.get_by_label("Filter these").fill("")
    require(page.locator(".letter:visible").count() == page.locator(".letter").count(), "letters of an empty filter")
