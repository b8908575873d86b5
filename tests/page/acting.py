# SPDX-License-Identifier: Apache-2.0
"""Each action of the page. Kafka and the API prove its effect."""
from __future__ import annotations

import time

from browser import Browser, axe
from client import now_ms
from playwright.sync_api import Page
from stage import Stage, require

MINUTE = 60_000


def until(what: str, condition, seconds: float = 20):
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        require(time.monotonic() < deadline, f"{what}: not within {seconds:.0f} s")
        time.sleep(0.1)
    return found


def delivered(stage: Stage, value: bytes) -> bool:
    return any(seen.value == value and seen.topic.startswith("e2e.") for seen in list(stage.collector.seen))


def find(browser: Browser, page: Page, by: str, text: str) -> bool:
    """Returns whether a request was found."""
    browser.show(page, "jobs")
    browser.show(page, "find")
    page.get_by_role("radio", name=by, exact=True).check()
    page.get_by_label(by, exact=True).and_(page.locator("input[name=text]")).fill(text)
    page.get_by_role("button", name="Find").click()
    page.wait_for_selector(".card, .results .empty:not(.loading), .results .problem")
    return page.locator(".card").count() > 0


def state(page: Page) -> str:
    return page.inner_text(".card .state") if page.locator(".card").count() else page.inner_text(".results")


def confirm(page: Page, button: str, dialog_button: str) -> str:
    """Presses a button and the main one of its dialog. Returns the words of the outcome."""
    page.get_by_role("button", name=button, exact=True).first.click()
    page.get_by_role("dialog").get_by_role("button", name=dialog_button, exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Close").wait_for()
    words = page.get_by_role("dialog").inner_text()
    page.get_by_role("dialog").get_by_role("button", name="Close").click()
    return words


def request(stage: Stage, name: str, value: bytes, due_ms: int, **headers: str) -> None:
    known = {"dlb-deliver-at": str(due_ms), "dlb-target": "e2e.a", "dlb-id": name, **headers}
    stage.sender.producer.produce(stage.schedule, value, name.encode(), headers=[(k, v.encode()) for k, v in known.items()])
    stage.sender.producer.flush(30)


def sends(browser: Browser, stage: Stage) -> None:
    page = browser.open("send")
    page.get_by_label("Delay or time").fill("1s")
    page.get_by_label("Target").fill("e2e.b")
    page.get_by_label("ID").fill("page-sent")
    page.get_by_label("Value", exact=True).fill("by the page")
    page.get_by_role("button", name="Send", exact=True).click()
    page.get_by_text("Stored as").wait_for()
    until("the request of the page", lambda: delivered(stage, b"by the page"))
    page.get_by_role("link", name="Follow it").click()
    page.wait_for_selector(".card")
    until("its delivery", lambda: follow(page))
    page.get_by_label("Source").and_(page.locator("input[name=text]")).wait_for()
    browser.show(page, "send")
    page.get_by_label("Delay or time").fill("soon")
    page.get_by_role("button", name="Send", exact=True).click()
    page.locator(".problem").get_by_text("soon").wait_for()


def follow(page: Page) -> bool:
    """Returns whether the life has both events, and looks again if not. The events may be newer than the state."""
    steps = [step for step in page.locator(".life strong").all_inner_texts() if step in ("Accepted", "Delivered")]
    if steps == ["Accepted", "Delivered"] and state(page) == "delivered":
        return True
    page.get_by_role("button", name="Find").click()
    page.wait_for_timeout(700)
    return False


def finds(browser: Browser, stage: Stage) -> None:
    """Each state, and each way to look."""
    request(stage, "page-waits", b"waits", now_ms() + 40 * MINUTE)
    page = browser.open("find")
    until("the request waits in a level",
          lambda: find(browser, page, "ID", "page-waits") and "Waits in level" in page.inner_text(".life"))
    require(state(page) == "waiting" and "page-waits" in page.inner_text(".card"), page.inner_text(".card"))
    axe(page, "a found request")
    source = page.inner_text(".card h2")
    for by, text in (("Key", "page-waits"), ("Source", source)):
        find(browser, page, by, text)
        require(state(page) == "waiting" and page.inner_text(".card h2") == source, f"by {by}: {page.inner_text('.results')}")
    find(browser, page, "Key", "no-such-key")
    require("No request was found" in state(page), state(page))
    find(browser, page, "Source", "nonsense")
    require(page.locator(".results .problem").count() == 1, "a source that is none")


def cancels(browser: Browser, stage: Stage, api) -> None:
    request(stage, "page-cancelled", b"never", now_ms() + 40 * MINUTE)
    page = browser.open("find")
    find(browser, page, "Key", "page-cancelled")
    words = confirm(page, "Cancel", "Cancel the request")
    require("in force" in words, words)
    until("the page shows it", lambda: page.locator(".card").count() and state(page) == "cancelled")
    api.found("cancelled", id="page-cancelled", key="page-cancelled")
    until("its life", lambda: "Cancelled" in page.inner_text(".life"))


def keyed_otherwise(browser: Browser, stage: Stage, api) -> None:
    """A request whose delivery has another key (dlb-key) is replaced and cancelled with the key of the request."""
    for name in ("page-keyed", "page-hurried-key"):
        request(stage, name, name.encode(), now_ms() + 40 * MINUTE, **{"dlb-key": "key of the delivery"})
    page = browser.open("find")
    until("the request", lambda: find(browser, page, "ID", "page-keyed"))
    confirm(page, "Cancel", "Cancel the request")
    until("the page shows the cancel", lambda: page.locator(".card").count() and state(page) == "cancelled")
    api.found("cancelled", id="page-keyed", key="page-keyed")
    until("the other request", lambda: find(browser, page, "ID", "page-hurried-key"))
    confirm(page, "Deliver now", "Deliver now")
    until("the delivery", lambda: delivered(stage, b"page-hurried-key"))
    keys = [seen.key for seen in stage.collector.seen if seen.value == b"page-hurried-key"]
    require(keys == [b"key of the delivery"], f"its keys: {keys}")


def delivers_now(browser: Browser, stage: Stage) -> None:
    request(stage, "page-hurried", b"hurried", now_ms() + 40 * MINUTE, trace="kept")
    page = browser.open("find")
    find(browser, page, "Key", "page-hurried")
    words = confirm(page, "Deliver now", "Deliver now")
    require("in force" in words, words)
    until("the delivery", lambda: delivered(stage, b"hurried"))
    copies = [seen for seen in stage.collector.seen if seen.value == b"hurried"]
    require(len(copies) == 1, f"{len(copies)} deliveries")
    require(("trace", b"kept") in [tuple(pair) for pair in copies[0].headers], f"its headers: {copies[0].headers}")


def replaces(browser: Browser, stage: Stage) -> None:
    request(stage, "page-replaced", b"old", now_ms() + 40 * MINUTE)
    page = browser.open("find")
    find(browser, page, "Key", "page-replaced")
    page.get_by_role("button", name="Replace", exact=True).click()
    dialog = page.get_by_role("dialog")
    require(dialog.get_by_label("Value", exact=True).input_value() == "old", "the form has the old value")
    axe(page, "the form of a replace")
    dialog.get_by_role("radio", name="after a delay").check()
    dialog.get_by_label("Delay or time").fill("1s")
    dialog.get_by_label("Value", exact=True).fill("new")
    dialog.get_by_role("button", name="Replace", exact=True).click()
    dialog.get_by_role("button", name="Close").click()
    until("the new value", lambda: delivered(stage, b"new"))
    require(not delivered(stage, b"old"), "the old value was delivered")


def redrives(browser: Browser, stage: Stage, api) -> None:
    for n in range(12):
        request(stage, f"page-dead-{n}", b"dead-%d" % n, now_ms() - 2000, **{"dlb-expires-at": str(now_ms() - 1000)})
    until("the dead letters", lambda: api.job("dead-letters", {"code": ["expired"]})["results"][-1]["records"] == 12)
    page = browser.open("dead")
    page.get_by_role("button", name="Show expired for e2e.a").click()
    page.wait_for_selector("details.letter")
    require(page.locator("details.letter").count() == 12, "the letters")
    page.locator("details.letter").first.click()
    axe(page, "dead letters")
    page.get_by_role("button", name="Redrive expired for e2e.a").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Dry run").click()
    dialog.get_by_text("0 requests would be sent again").wait_for()
    require(dialog.get_by_role("button", name="Send again").is_disabled(), "nothing to send, and the button is enabled")
    dialog.get_by_label("Also expired requests").check()
    dialog.get_by_role("button", name="Dry run").click()
    dialog.get_by_text("12 requests would be sent again").wait_for()
    axe(page, "the dialog of redrive")
    require(not delivered(stage, b"dead-0"), "a dry run has sent a request")
    dialog.get_by_role("button", name="Send 12 requests").click()
    dialog.get_by_text("12 requests sent again").wait_for()
    until("the redriven requests", lambda: all(delivered(stage, b"dead-%d" % n) for n in range(12)))


def stops_a_job(browser: Browser, api) -> None:
    slow = api.raw("POST", "/api/v1/redrive", {"code": ["expired"], "drop-expiry": True, "since": "2020-01-01T00:00:00Z", "rate": "1"})
    require(slow.status == 202, f"{slow}")
    page = browser.open("jobs")
    page.get_by_role("button", name=f"Stop redrive {slow.body['id']}").click()
    until("the job stops", lambda: api.call("GET", f"jobs/{slow.body['id']}").body["state"] == "stopped")
    page.locator("tr", has_text="redrive").get_by_text("stopped").first.wait_for()
    ended = page.locator("tr", has_text="done").first
    require("100 %" in ended.inner_text(), f"a job that is done: {ended.inner_text()}")


def pauses(browser: Browser, stage: Stage, api) -> None:
    """Pause, limit and resume, and nothing is delivered between."""
    page = browser.open()
    page.get_by_role("button", name="Pause e2e.*").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Targets").fill("e2e.c")
    dialog.get_by_label("End after").fill("1h")
    axe(page, "the dialog of pause")
    dialog.get_by_role("button", name="Pause", exact=True).click()
    dialog.get_by_role("button", name="Close").click()
    page.get_by_role("button", name="Resume e2e.c").wait_for()
    require([(e["targets"], e["op"]) for e in api.call("GET", "levels").body["control"]] == [("e2e.c", "pause")], "the pause")
    request(stage, "page-paused", b"paused", now_ms() + 1500, **{"dlb-target": "e2e.c"})
    page.get_by_text("1 withheld").wait_for()
    require(not delivered(stage, b"paused"), "a paused target received a record")
    page.get_by_role("button", name="Resume e2e.c").click()
    dialog.get_by_role("button", name="Resume", exact=True).click()
    dialog.get_by_text("Waiting records follow within").wait_for()
    dialog.get_by_role("button", name="Close").click()
    until("the delivery after the pause", lambda: delivered(stage, b"paused"), 40)
    page.get_by_role("button", name="Limit e2e.*").click()
    dialog.get_by_label("Rate").fill("often")
    dialog.get_by_role("button", name="Limit", exact=True).click()
    dialog.locator(".problem").wait_for()
    dialog.get_by_label("Rate").fill("1000/s")
    dialog.get_by_role("button", name="Limit", exact=True).click()
    dialog.get_by_role("button", name="Close").click()
    page.get_by_text("limited to 1000/s").wait_for()
    page.get_by_role("button", name="Limit e2e.*").click()
    dialog.get_by_label("Rate").fill("2000/s")
    dialog.get_by_role("button", name="Limit", exact=True).click()
    dialog.get_by_text("This replaces a limit of 1000/s since").wait_for()
    dialog.get_by_role("button", name="Close").click()
    page.get_by_text("limited to 2000/s").wait_for()
    page.get_by_role("button", name="Resume e2e.*").click()
    dialog.get_by_role("button", name="Resume", exact=True).click()
    dialog.get_by_text("Waiting records follow when they leave their level").wait_for()
    dialog.get_by_role("button", name="Close").click()
    until("no entry is in force", lambda: api.call("GET", "levels").body["control"] == [])
    ended_meanwhile(page, api)


def ended_meanwhile(page: Page, api) -> None:
    """Another operator ends a pause while the dialog is open."""
    api.call("POST", "pause", {"targets": "e2e.b"})
    page.get_by_role("button", name="Resume e2e.b").click()
    api.call("POST", "resume", {"targets": "e2e.b"})
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Resume", exact=True).click()
    dialog.get_by_text("No such pause or limit was left").wait_for()
    dialog.get_by_role("button", name="Close").click()
