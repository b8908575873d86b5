# SPDX-License-Identifier: Apache-2.0
"""What the page shows without a token, without a connection and without Kafka."""
from __future__ import annotations

import subprocess
from pathlib import Path

from browser import Browser, axe, fits
from stage import require


def prompts_for_token(browser: Browser) -> None:
    page = browser.blank()
    page.goto(browser.url)
    dialog = page.get_by_role("dialog")
    dialog.wait_for()
    axe(page, "the prompt for the token")
    dialog.get_by_label("Token").fill("not-the-token-of-it")
    dialog.get_by_role("button", name="Continue").click()
    dialog.get_by_text("not accepted").wait_for()
    page.keyboard.press("Escape")
    require(dialog.is_visible(), "the prompt can be closed")
    dialog.get_by_label("Token").fill(browser.token or "")
    dialog.get_by_role("button", name="Continue").click()
    page.wait_for_selector('[aria-label="Levels"] tbody tr')
    page.reload()
    page.wait_for_selector('[aria-label="Levels"] tbody tr')
    require(page.context.cookies() == [], f"cookies: {page.context.cookies()}")
    page.get_by_role("button", name="Forget the token").click()
    dialog.wait_for()
    require(page.evaluate("sessionStorage.length") == 0, "the token is not forgotten")


def hides_token(browser: Browser) -> None:
    """A token of the fragment disappears from the address bar."""
    page = browser.open()
    require(browser.token not in page.url, f"the address is {page.url}")
    require(page.evaluate("performance.getEntriesByType('resource').every((one) => !one.name.includes('token='))"), "a request has it")
    page.go_back()
    require(browser.token not in page.url, f"the address before is {page.url}")


def read_only(browser: Browser) -> None:
    """Without admin_token the open part is shown, and the rest names the key to set."""
    page = browser.open(width=360)
    page.wait_for_selector('[aria-label="Levels"] tbody tr')
    require(page.locator("#mode").is_visible(), "the mode is not shown")
    page.get_by_text("Deliveries by minute need a token").wait_for()
    require(page.get_by_role("button", name="Pause e2e.*").count() == 0, "a reader may pause")
    axe(page, "the read-only overview")
    fits(page, "the read-only overview")
    for view in ("find", "dead", "send", "jobs", "config"):
        browser.show(page, view)
        require("admin_token" in page.inner_text("main"), f"{view}: {page.inner_text('main')}")
        axe(page, f"{view} without a token")
    browser.show(page, "runbook")
    page.wait_for_selector("#runbook-deliveries-are-late")


def demonstrates(browser: Browser, binary: Path) -> None:
    """`demo --page` prints an address that opens the page, and each view is calm on its mock broker."""
    with subprocess.Popen([str(binary), "demo", "--page", "--no-tty"], stdout=subprocess.PIPE, text=True) as demo:
        try:
            address = next(line for line in demo.stdout if "in a browser" in line).split()[-1]
            page = browser.blank()
            browser.url = address.split("#", maxsplit=1)[0]
            page.goto(address)
            page.wait_for_selector('[aria-label="Levels"] tbody tr')
            page.locator(".verdict-word", has_text="On time").wait_for()
            axe(page, "the overview of the demonstration")
            for view in ("find", "dead", "send", "jobs", "config", "runbook", ""):
                browser.show(page, view)
                page.wait_for_timeout(500)
                require(page.locator("h1").count() > 0, f"{view} of the demonstration")
            require(address.split("=")[1] not in page.url, f"the address is {page.url}")
        finally:
            demo.terminate()


def without_kafka(browser: Browser, end_kafka) -> None:
    """The process answers, and Kafka does not."""
    page = browser.open()
    page.wait_for_selector('[aria-label="Levels"] tbody tr')
    end_kafka()
    page.locator(".problem").first.wait_for(timeout=40_000)
    require(page.locator("#lost").is_hidden(), "the process is called lost")
    axe(page, "the overview without Kafka")
    browser.show(page, "find")
    page.get_by_label("ID", exact=True).and_(page.locator("input[name=text]")).fill("x")
    page.get_by_role("button", name="Find").click()
    page.locator(".results .problem").wait_for(timeout=40_000)
    page.get_by_role("button", name="Try again").wait_for()


def without_process(browser: Browser, end_process, start_process) -> None:
    """A lost connection is shown, with the time of the figures, and ends by itself."""
    page = browser.open()
    page.wait_for_selector('[aria-label="Levels"] tbody tr')
    end_process()
    page.get_by_text("No connection.").wait_for(timeout=40_000)
    require("The figures are those of" in page.inner_text("#lost"), page.inner_text("#lost"))
    require(page.inner_text("#pill") == "No connection", page.inner_text("#pill"))
    axe(page, "a lost connection")
    start_process()
    page.locator("#lost").wait_for(state="hidden", timeout=40_000)
