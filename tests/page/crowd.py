#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Opens each view of the page while millions of records wait, and prints how long each takes and the memory of the
bridge. It makes its own broker:

  ./dev e2e page && cmake --preset bench && cmake --build --preset bench      # once: the cache, and the bench tool
  $DEV_CACHE/venv/bin/python tests/page/crowd.py [RECORDS]                    # 5,000,000"""
from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlencode

from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "tests" / "bench"), str(ROOT / "tests" / "e2e")]

from place import Place  # noqa: E402  pylint: disable=wrong-import-position
from processes import reserve_ports  # noqa: E402  pylint: disable=wrong-import-position
from searched import PARTS, Wanted, fill  # noqa: E402  pylint: disable=wrong-import-position

TOKEN = "0123456789abcdef0123456789abcdef"
WAIT_MS = 60_000
GET = """([path, token]) => fetch('api/v1/' + path, {headers: {Authorization: 'Bearer ' + token}})
    .then((answer) => answer.text())"""


def took(what: str, act: Callable[[], object]) -> None:
    began = time.monotonic()
    act()
    print(f"{what:44} {1000 * (time.monotonic() - began):8,.0f} ms", flush=True)


def show(page: Page, view: str, ready: str) -> None:
    page.evaluate("view => { location.hash = '#/' + view; }", view)
    page.wait_for_selector(ready)


def rss_mib(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def visit(page: Page, url: str, wanted: Wanted, pid: int) -> None:
    page.set_default_timeout(WAIT_MS)
    took("open: status", lambda: (page.goto(f"{url}#token={TOKEN}"), page.wait_for_selector("#pill:not(.idle)")))
    took("overview: levels", lambda: page.wait_for_selector('[aria-label="Levels"] tbody tr'))
    took("overview: next hour", lambda: page.wait_for_selector('[aria-label*="in the next hour"]'))
    print("levels:", page.inner_text('[aria-label="Levels"] tbody tr:last-child').replace("\n", " "))
    took("find by ID", lambda: show(page, "find?" + urlencode({"by": "id", "text": wanted.word}), ".card"))
    print("found:", page.inner_text(".card .state"))
    took("dead letters", lambda: show(page, "dead", ".panel-body .buttons"))
    took("send", lambda: show(page, "send", "form.request button"))
    took("jobs", lambda: show(page, "jobs", "tbody tr"))
    took("configuration", lambda: show(page, "config", "tbody tr"))
    took("overview again", lambda: show(page, "", '[aria-label="Levels"] tbody tr'))
    for name in ("status", "levels", "lanes", "forecast", "targets", "history", "forecast/deliveries"):
        took(f"GET {name}", lambda name=name: page.evaluate(GET, [name, TOKEN]))
    print(f"memory of the bridge: {rss_mib(pid):.0f} MiB")


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 5_000_000
    with tempfile.TemporaryDirectory() as folder:
        token = Path(folder) / "token"
        token.write_text(TOKEN)
        place = Place(Path(folder) / "place")
        try:
            port = reserve_ports()
            name, config = place.schedule(admin=f"127.0.0.1:{port}", admin_token={"file": str(token)}, events=["all"])
            wanted = Wanted("wanted", PARTS // 2)
            took(f"fill {count:,}", lambda: fill(place, name, count, [wanted]))
            bridge = place.bridge(config, wait=True)
            print(f"memory of the bridge before: {rss_mib(bridge.pid):.0f} MiB")
            with sync_playwright() as playwright:
                chromium = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
                visit(chromium.new_page(), f"http://127.0.0.1:{port}/", wanted, bridge.pid)
                chromium.close()
        finally:
            place.close()


if __name__ == "__main__":
    main()
