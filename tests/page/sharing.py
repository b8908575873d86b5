# SPDX-License-Identifier: Apache-2.0
"""What a reader hands to another one: times in UTC."""
from __future__ import annotations

from browser import Browser, axe, fits
from playwright.sync_api import Page
from stage import require


def minute_of_axis(page: Page) -> int:
    """Returns the first minute of the picture of the next hour, of the day."""
    labels = page.locator('[aria-label*="in the next hour"] .tick').all_text_contents()
    hour, minute = next(label for label in labels if ":" in label).split(":")
    return int(hour) * 60 + int(minute)


def zone(browser: Browser) -> None:
    """A button changes all times to UTC, as in logs, also in the pictures. The next visit keeps it."""
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
