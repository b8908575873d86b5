# SPDX-License-Identifier: Apache-2.0
"""The operators' page in a real Chromium, on a real Kafka. Its checks are in tests/page/."""
from __future__ import annotations

import random
import sys

from admin import TOKEN, Api
from client import now_ms
from processes import ROOT
from stage import Skip, Stage, require

MINUTE, DAY = 60_000, 86_400_000
WAITING = 400


def crowd(stage: Stage) -> None:
    """Sends requests that are due within seconds to days."""
    chance = random.Random(stage.seed)
    for n in range(WAITING):
        due = now_ms() + int(chance.choice((9_000, MINUTE, 50 * MINUTE, 3 * DAY)) * (0.1 + chance.random()))
        stage.sender.producer.produce(stage.schedule, b"crowd", b"crowd-%d" % n, headers=[
            ("dlb-deliver-at", b"%d" % due), ("dlb-target", chance.choice((b"e2e.a", b"e2e.b"))), ("dlb-id", b"crowd-%d" % n)])
    stage.sender.producer.flush(30)


def page(stage: Stage) -> str:
    """The page of the admin listener: each view, each action, hostile names, no Kafka, no process, no token."""
    sys.path.insert(0, str(ROOT / "tests" / "page"))
    try:
        import acting  # pylint: disable=import-outside-toplevel
        import failing  # pylint: disable=import-outside-toplevel
        import handling  # pylint: disable=import-outside-toplevel
        import strange  # pylint: disable=import-outside-toplevel
        import seeing  # pylint: disable=import-outside-toplevel
        import sharing  # pylint: disable=import-outside-toplevel
        from browser import Browser  # pylint: disable=import-outside-toplevel
    except ImportError as missing:
        raise Skip(f"{missing}: ./dev e2e page installs it") from missing

    stage.broker()
    port = stage.spare_port
    token = stage.folder / "token"
    token.write_text(TOKEN)
    stage.ready(events=["all"])
    with_token = stage.config("token.yaml", admin=f"127.0.0.1:{port}", admin_token={"file": str(token)}, events=["all"])
    bridge = stage.bridge(with_token)
    crowd(stage)
    api, browser = Api(port, TOKEN), Browser(port, TOKEN)
    try:
        failing.prompts_for_token(browser)
        failing.hides_token(browser)
        acting.sends(browser, stage)
        acting.finds(browser, stage)
        handling.copies(browser, "page-waits")
        sharing.request(browser, "page-waits")
        acting.cancels(browser, stage, api)
        acting.keyed_otherwise(browser, stage, api)
        acting.delivers_now(browser, stage)
        acting.replaces(browser, stage)
        acting.redrives(browser, stage, api)
        handling.filters(browser)
        sharing.dead_letters(browser)
        acting.stops_a_job(browser, api)
        acting.pauses(browser, stage, api)
        strange.names(browser, stage)
        seeing.overview(browser, api)
        handling.sorts(browser)
        handling.ranges(browser)
        handling.holds(browser)
        sharing.zone(browser)
        seeing.head(browser)
        seeing.theme(browser)
        seeing.config(browser)
        seeing.runbook(browser)
        seeing.alerts(browser)
        seeing.each_view(browser)
        seeing.folds(browser)
        seeing.each_width(browser)
        seeing.each_width(browser, crowd=True)
        seeing.small(browser)
        browser.check()

        bridges = [bridge]
        failing.without_process(browser, lambda: require(bridge.stop() == 0, bridge.tail()),
                                lambda: bridges.append(stage.bridge(with_token, "bridge-2")))
        require(bridges[-1].stop() == 0, bridges[-1].tail())
        browser.token = None
        last = stage.bridge(stage.config("open.yaml", admin=f"127.0.0.1:{port}"), "bridge-3")
        failing.read_only(browser)
        require(last.stop() == 0, last.tail())
        browser.token = TOKEN
        stage.bridge(with_token, "bridge-4")
        failing.without_kafka(browser, stage.kafka.stop)
        failing.demonstrates(browser, stage.binary)
        browser.check()
    finally:
        browser.close()
    size = sum(n for path, n in browser.bytes.items() if not path.endswith(".md"))
    return f"{len(browser.bytes)} files of {size:,} bytes, {api.calls} calls"


SCENARIOS = {"page": page}
