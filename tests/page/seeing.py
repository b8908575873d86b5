# SPDX-License-Identifier: Apache-2.0
"""Each view shows the figures of the API, fits on the screen, and axe finds nothing in it."""
from __future__ import annotations

import re

from browser import PAGE_BYTES_MAX, Browser, axe, contained, fits
from playwright.sync_api import Page, Route
from stage import require

VIEWS = {"": "Overview", "find": "Find a request", "dead": "Dead letters", "send": "Send a test request", "jobs": "Jobs",
         "config": "Configuration", "runbook/deliveries-are-late": "Troubleshooting"}
WIDTHS = (320, 360, 600, 768, 1024, 1199, 1200, 1280, 1440, 1600, 1800, 2000)


def number(text: str) -> int:
    return int(re.sub(r"[^\d]", "", text))


def near(shown: int, real: int) -> bool:
    """Records arrive and leave between two readings."""
    return abs(shown - real) <= 20 + real / 50


def rows(page: Page, table: str) -> list[list[str]]:
    return page.eval_on_selector_all(f'[aria-label="{table}"] tbody tr', "all => all.map(row => [...row.children].map(c => c.innerText))")


def overview(browser: Browser, api) -> None:
    page = browser.open()
    page.wait_for_selector('[aria-label="Levels"] tbody tr')
    page.wait_for_selector('[aria-label^="Last hour: "]')
    page.wait_for_selector('[aria-label*="in the next hour"]')
    levels = api.call("GET", "levels").body
    shown = rows(page, "Levels")
    require([row[0] for row in shown] == [level["level"] for level in levels["levels"]], f"levels: {shown}")
    require(near(sum(number(row[1]) for row in shown), sum(level["waiting"] for level in levels["levels"])), f"waiting: {shown}")
    note = page.inner_text(".levels .note")
    require(re.search(r"On \S+, not read yet: [\d,]+ records?; in memory: [\d,]+$", note), f"the note is {note}")
    verdict = page.inner_text(".verdict-word")
    require(verdict in ("On time", "Late", "Needs attention"), f"the verdict is {verdict}")
    require(page.locator(".figure").count() == 6, "six figures")
    targets = {row[0]: row for row in rows(page, "Targets")}
    require("e2e.*" in targets, f"targets: {targets}")
    hour = page.get_attribute('[aria-label^="Last hour: "]', "aria-label")
    require(number(hour.split(",")[0]) > 0, f"the last hour: {hour}")
    times(page)
    keys(page)


def times(page: Page) -> None:
    """Times are in the reader's zone (here 5:30 before UTC), with UTC on hover."""
    started = page.locator("#foot time")
    utc, shown = started.get_attribute("title"), started.inner_text()
    require(utc.endswith(" UTC"), f"title: {utc}")
    minutes = [int(text[-8:-6]) * 60 + int(text[-5:-3]) for text in (shown, utc.split(".")[0])]
    require((minutes[0] - minutes[1]) % 1440 == 330, f"{shown} for {utc}")


def keys(page: Page) -> None:
    """The keyboard reaches all: the skip link comes first, arrows move the cursor of a chart."""
    page.evaluate("document.activeElement.blur(); window.scrollTo(0, 0)")
    page.keyboard.press("Tab")
    require(page.evaluate("document.activeElement.className") == "skip", "the first stop is the skip link")
    chart = page.locator('[aria-label*="in the next hour"]')
    chart.focus()
    before = page.inner_text(".chart-box:has([aria-label*='in the next hour']) .readout")
    page.keyboard.press("End")
    after = page.inner_text(".chart-box:has([aria-label*='in the next hour']) .readout")
    require(before != after and re.match(r"\d\d:\d\d: ", after), f"the readout is {after}")


def each_view(browser: Browser) -> None:
    """Each view at three widths in both themes."""
    for width, theme in ((360, "light"), (360, "dark"), (900, "dark"), (1920, "light")):
        page = browser.open(width=width, theme=theme)
        for view, heading in VIEWS.items():
            browser.show(page, view)
            page.wait_for_selector("h1")
            page.wait_for_timeout(300)
            require(page.locator("h1").first.text_content() == heading, f"the heading of {view}")
            fits(page, f"{view or 'overview'} at {width} px")
            axe(page, f"{view or 'overview'} at {width} px, {theme}")


def crowded(route: Route) -> None:
    """Answers with targets that have long figures, as after months."""
    answer = route.fetch()
    full = answer.json()
    for one in full["targets"]:
        one.update(deliveries=1_234_567_890, deferrals=1_234_567, deliveries_per_s=12_345.6, late_p99_ms=59_999, state="partly_paused",
                   topics=120, limit_per_s=0.5, failures={"timeout": 12_345_678, "topic_authorization_failed": 12_345_678},
                   dead_letters={"UNKNOWN_TARGET": 1_234_567, "DELIVERY_FAILED": 1_234_567})
    route.fulfill(response=answer, json=full)


def each_width(browser: Browser, crowd: bool = False) -> None:
    """Nothing lies outside of its card, from a small phone to a wide screen."""
    page = browser.open()
    if crowd:
        page.route("**/api/v1/targets", crowded)
    for view in ("",) if crowd else VIEWS:
        browser.show(page, view)
        page.wait_for_timeout(3500 if crowd else 500)  # a new answer of the targets
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            page.wait_for_timeout(150)
            name = f"{view or 'overview'} at {width} px{', with long figures' if crowd else ''}"
            contained(page, name)
            fits(page, name)


def folds(browser: Browser) -> None:
    """A table folds on a phone, and unfolds where it fits."""
    page = browser.open("config", width=360)
    page.locator('.folded[aria-label="Configuration"]').wait_for()
    page.set_viewport_size({"width": 1280, "height": 900})
    page.locator('.scroll:not(.folded)[aria-label="Configuration"]').wait_for()


def head(browser: Browser) -> None:
    """The longest state of the bridge leaves the buttons of the head in its first row, also on a phone."""
    for width in (360, 1180):
        page = browser.open(width=width)
        brand, tools = page.evaluate("""() => {
            document.getElementById('pill').textContent = 'Needs attention';
            return ['.brand', '.tools'].map((name) => document.querySelector(name).getBoundingClientRect());
        }""")
        require(tools["top"] < brand["bottom"] and tools["right"] <= width, f"at {width} px: {brand}, {tools}")


def theme(browser: Browser) -> None:
    """The button changes the theme, and the next visit keeps it."""
    page = browser.open()
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    for _ in range(2):
        page.click("#theme")
    require(page.evaluate(ground) != light, "the dark theme is light")
    page.reload()
    page.wait_for_selector("#pill:not(.idle)")
    require(page.evaluate(ground) != light, "a reload forgets the theme")


def config(browser: Browser) -> None:
    page = browser.open("config")
    page.wait_for_selector('[aria-label="Configuration"] tbody tr')
    shown = {row[0]: row[1] for row in rows(page, "Configuration")}
    require(shown["targets"] == "[e2e.*]" and shown["admin_token"] == "(hidden)", f"{shown}")
    page.get_by_label("Filter").fill("default_target")
    require([row[0] for row in rows(page, "Configuration")] == ["default_target"], "the filter")


def runbook(browser: Browser) -> None:
    """An alert leads to its section, and every link of an alert has one."""
    page = browser.open("runbook/target-unavailable")
    page.wait_for_selector("#runbook-target-unavailable")
    text = page.evaluate("fetch('page/alerts.js').then((answer) => answer.text())")
    for section in set(re.findall(r'"([a-z]+(?:-[a-z]+)+)"', text)):
        require(page.locator(f"#runbook-{section}").count() == 1, f"the runbook has no section {section}")


CALM = {
    "alive": True, "ready": True, "why": None, "refusals": 0, "faults": 0,
    "recent": {"late_p50_ms": 0, "late_p99_ms": 3, "late_max_ms": 9, "dead_letters_per_s": 0},
    "now": {"lanes": 8, "owned_lanes": 8, "blocked_partitions": 0, "read_behind_ms": 0, "restoring_lanes": 0, "unserved_lanes": 0,
            "events_blocked_lanes": 0, "cancels_limit": 1000, "cancels_in_force": 10}}
HEAD = {"lane": 2, "unreadable": False, "newer": False, "foreign": False, "overdue_ms": 0}
LEVEL = {"level": "5s", "waiting": 3, "blocked_lane": None, "withheld": 0, "redelivering": 0, "head": HEAD}
LEVELS = {"levels": [LEVEL], "unreadable": [], "open_transactions": []}
# A change of the calm answers, and the section of the runbook that the alert must name.
TROUBLES: tuple[tuple[dict, str], ...] = (
    ({"alive": False}, "nothing-is-delivered"), ({"ready": False, "why": "x"}, "nothing-is-delivered"),
    ({"recent": {"late_p99_ms": 1001}}, "deliveries-are-late"),
    ({"recent": {"dead_letters_per_s": 0.1}}, "requests-are-dead-lettered"),
    ({"now": {"blocked_partitions": 1}}, "a-partition-is-blocked"), ({"now": {"read_behind_ms": 1001}}, "requests-are-read-late"),
    ({"now": {"restoring_lanes": 1}}, "lanes-restore-for-long"),
    ({"now": {"unserved_lanes": 1}}, "a-lane-is-not-served"), ({"now": {"events_blocked_lanes": 1}}, "events-are-blocked"),
    ({"now": {"cancels_in_force": 801}}, "cancels-are-nearly-full"), ({"refusals": 1}, "unsafe-topic-settings"),
    ({"faults": 1}, "unsafe-topic-settings"), ({"level": {"blocked_lane": 3}}, "a-partition-is-blocked"),
    ({"level": {"head": {**HEAD, "newer": True}}}, "a-newer-version-wrote-a-record"),
    ({"level": {"head": {**HEAD, "unreadable": True}}}, "batch-is-unreadable"),
    ({"level": {"head": {**HEAD, "overdue_ms": 60_000}}}, "deliveries-are-late"),
    ({"unreadable": [{"lane": 1, "offset": 5}]}, "batch-is-unreadable"),
    ({"open_transactions": [{"lane": 1, "records": 5}]}, "requests-wait-behind-a-transaction"),
    ({"state": "failing"}, "target-unavailable"))


def troubled(change: dict) -> dict:
    """Returns answers with this change."""
    status: dict = {**CALM, **{k: v for k, v in change.items() if k in CALM}}
    for part in ("recent", "now"):
        status[part] = {**CALM[part], **change.get(part, {})}  # type: ignore[dict-item]
    levels = {**LEVELS, **{k: v for k, v in change.items() if k in LEVELS}, "levels": [{**LEVEL, **change.get("level", {})}]}
    targets = {"targets": [{"entry": "e2e.*", "state": change.get("state", "open")}]}
    return {"status": status, "levels": levels, "targets": targets}


def alerts(browser: Browser) -> None:
    """Each trouble is an alert with its section, and none is shown in calm."""
    page = browser.open()
    sections = """async (answers) => {
        const {alertsOf, verdict} = await import('/page/alerts.js');
        const found = alertsOf(answers);
        return [found.map(({section}) => section), verdict(answers.status, found).word];
    }"""
    calm = page.evaluate(sections, troubled({}))
    require(calm == [[], "On time"], f"in calm: {calm}")
    for change, section in TROUBLES:
        found, word = page.evaluate(sections, troubled(change))
        require(found == [section], f"{change}: {found}")
        require(word in ("On time", "Late", "Needs attention", "Not ready"), word)


def small(browser: Browser) -> None:
    total = sum(size for path, size in browser.bytes.items() if not path.endswith(".md"))
    require(0 < total < PAGE_BYTES_MAX, f"the page is {total} bytes")
    require(min(browser.bytes.values()) > 0, f"a file without a size: {browser.bytes}")
