# SPDX-License-Identifier: Apache-2.0
"""What a reader hands to another one: a link, a file, a time in UTC, and how old the figures are."""
from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

from acting import find
from browser import Browser, axe, fits
from playwright.sync_api import Page, Route
from stage import require

ADDRESS = "#/dead?code=expired&target=e2e.a"
AGE = r" at \d\d:\d\d:\d\d (now|.* ago)"


def saved(page: Page) -> tuple[str, Any]:
    """Presses the button that saves. Returns the name and the content of the file."""
    with page.expect_download() as download:
        page.get_by_role("button", name="Save as JSON").click()
    return download.value.suggested_filename, json.loads(Path(download.value.path()).read_text())


def dead_letters(browser: Browser) -> None:
    """The address names the dead letters that are shown, and leads another reader to them."""
    page = browser.open("dead")
    page.get_by_role("button", name="Show expired for e2e.a").click()
    page.wait_for_selector(".letter")
    shown, address = page.locator(".letter").count(), page.url
    require(address == browser.url + ADDRESS, f"the address is {address}")
    name, letters = saved(page)
    require(name == "dead-letters.json" and len(letters) == shown, f"{name}: {letters}")
    require(all((one["code"], one["target"]) == ("expired", "e2e.a") for one in letters), f"the file: {letters}")
    with page.expect_response(lambda answer: '"show"' in (answer.request.post_data or "")):
        page.get_by_role("button", name="Count again").click()
    page.wait_for_selector(".letters:not(:has(.loading)) .letter")
    require(page.locator(".letter").count() == shown, "another count forgets the letters")
    require(re.search("Counted" + AGE, page.inner_text(".panel-head")) is not None, f"its time: {page.inner_text('.panel-head')}")

    page = browser.blank(width=360, theme="dark")
    page.goto(address)
    prompt = page.get_by_role("dialog")
    prompt.get_by_label("Token").fill(browser.token or "")
    prompt.get_by_role("button", name="Continue").click()
    page.wait_for_selector(".letter")
    require(page.locator(".letter").count() == shown and page.url == address, f"the letters of the link {page.url}")
    axe(page, "the dead letters of a link")
    fits(page, "the dead letters of a link")
    browser.show(page, "dead?code=expired")
    page.wait_for_selector(".letters h2:has-text('expired')")
    require(page.locator(".letter").count() >= shown, "the letters of a code")
    browser.show(page, "dead?code=no_such_code")
    page.get_by_text("There are no dead letters of the code").wait_for()


def request(browser: Browser, name: str) -> None:
    """A search has an address with its limit, shows its time, and is saved with its events."""
    page = browser.open("find")
    require(find(browser, page, "ID", name), f"{name} is not found")
    require(re.search("Searched" + AGE, page.inner_text(".panel-head")) is not None, f"its time: {page.inner_text('.panel-head')}")
    page.get_by_text("Accepted").first.wait_for()
    file, found = saved(page)
    require(file == "request.json" and found["record"]["id"] == name, f"{file}: {found}")
    require("accepted" in [event["data"]["event"] for event in found["events"]], f"the events: {found['events']}")
    limit = time.strftime("%Y-%m-%dT%H:%M:%SZ±1h", time.gmtime(time.time() + 2400))
    page.get_by_label("Due (optional)").fill(limit)
    page.get_by_role("button", name="Find").click()
    page.wait_for_function("text => decodeURIComponent(location.hash).includes('due=' + text)", arg=limit)
    with page.expect_request("**/find?*") as call:
        page.reload()
    require(call.value.post_data_json == {"id": name, "due": limit}, f"the search of the link: {call.value.post_data}")
    page.wait_for_selector(".card")
    require(page.get_by_label("Due (optional)").input_value() == limit, "the limit of the link")


def minute_of_axis(page: Page) -> int:
    """Returns the first minute of the picture of the next hour, of the day."""
    labels = page.locator('[aria-label*="in the next hour"] .tick').all_text_contents()
    hour, minute = next(label for label in labels if ":" in label).split(":")
    return int(hour) * 60 + int(minute)


def zone(browser: Browser) -> None:
    """A button changes all times to UTC, as in logs, also in the pictures. The next visit keeps it."""
    unanswered: list[Route] = []
    for width, theme in ((320, "light"), (1280, "dark")):
        page = browser.open(width=width, theme=theme)
        page.wait_for_selector('[aria-label*="in the next hour"] .tick')
        started = page.locator("#foot time")
        utc, own = started.get_attribute("title") or "", started.inner_text()
        before = minute_of_axis(page)
        page.get_by_role("button", name="Times: local").click()
        require(started.inner_text()[-8:] == utc[11:19] != own[-8:], f"{own}, then {started.inner_text()} for {utc}")
        require((before - minute_of_axis(page)) % 1440 in (329, 330), f"the picture begins at {minute_of_axis(page)}, not {before}")
        axe(page, f"times in UTC at {width} px, {theme}")
        fits(page, f"times in UTC at {width} px")
        page.reload()
        page.wait_for_selector("#foot time")
        require(started.inner_text()[-8:] == utc[11:19], "a reload forgets UTC")
        page.get_by_role("button", name="Times: UTC").click()
        require(started.inner_text() == own, f"the reader's zone: {started.inner_text()}, not {own}")
        page.route("**/api/v1/config", lambda route: unanswered.append(route))  # a view without figures stays empty
        browser.show(page, "config")
        page.get_by_role("button", name="Times: local").click()
        browser.check()
        while unanswered:
            unanswered.pop().abort()
