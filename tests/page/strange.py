# SPDX-License-Identifier: Apache-2.0
"""Records whose names attack the page or its reader."""
from __future__ import annotations

from acting import find, state, until
from browser import Browser, fits
from client import now_ms
from stage import Stage, require

MINUTE = 60_000
NAMES = {
    "markup": '<img src=x onerror=alert(1)>"><script>alert(2)</script>',
    "reversed": "invoice‮gpj.exe",
    "right to left": "שלום עולם",
    "template": "${alert(1)} {{7*7}}",
    "path": "../../api/v1/config?x=#/send",
}
LONG = b"k" * 10_000


def names(browser: Browser, stage: Stage) -> None:
    for name in NAMES.values():
        headers = [("dlb-deliver-at", b"%d" % (now_ms() + 50 * MINUTE)), ("dlb-target", b"e2e.b"), ("dlb-id", name.encode()),
                   (name[:20], name.encode())]
        stage.sender.producer.produce(stage.schedule, name.encode(), name.encode(), headers=headers)
    stage.sender.producer.produce(stage.schedule, b"\xff\xfe binary", LONG, headers=[
        ("dlb-deliver-at", b"%d" % (now_ms() + 50 * MINUTE)), ("dlb-id", b"long")])
    # They are dead-lettered: the target is the hostile text.
    for name in NAMES.values():
        stage.sender.producer.produce(stage.schedule, b"x", b"x", headers=[("dlb-delay", b"1s"), ("dlb-target", name.encode())])
    stage.sender.producer.flush(30)
    page = browser.open("find", width=360)
    for kind, name in NAMES.items():
        until(f"the name {kind}", lambda name=name: find(browser, page, "ID", name))
        require(state(page) == "waiting", f"{kind}: {state(page)}")
        shown = page.locator(".card dd .foreign").first.inner_text()
        require(shown.replace("\\u202e", "‮") == name, f"{kind} is shown as {shown!r}")
        require("‮" not in shown, "an invisible mark is in the text")
        fits(page, kind)
    require(page.locator("main img, main script").count() == 0, "a name became markup")
    until("the long key", lambda: find(browser, page, "ID", "long"))
    fits(page, "a key of 10 kB")
    page.get_by_role("button", name="show all 9.8 KiB").click()
    require("k" * 10_000 in page.inner_text(".card"), "the whole key")
    fits(page, "the whole key of 10 kB")
    dead_letters(browser)


def dead_letters(browser: Browser) -> None:
    page = browser.open("dead", width=360)
    until("the dead letters", lambda: (page.get_by_role("button", name="Count again").click(), page.wait_for_timeout(500),
                                       page.locator("tr", has_text="target_denied").count() >= len(NAMES))[2])
    page.get_by_role("button", name="Show target_denied for <img").click()
    page.wait_for_selector("details.letter")
    page.locator("details.letter").first.click()
    fits(page, "dead letters with hostile targets")
    require(page.locator("main img, main script").count() == 0, "a target became markup")
