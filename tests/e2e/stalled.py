# SPDX-License-Identifier: Apache-2.0
"""A process that stalls briefly and keeps its lanes."""
from __future__ import annotations

import os
import signal
import time

from client import now_ms
from stage import Stage, require, will_say

STILL_S = 4  # more than half a session of six seconds, and less than a session


def stalled(stage: Stage) -> str:
    """SIGSTOP for four seconds: the log reports it, and no record is lost or early."""
    bridge = stage.bridge(stage.ready())
    will_say(bridge, "lane opens")  # a member without open lanes has nothing to suspend
    generator = stage.generator(6000)
    for _ in range(100):
        stage.sender.send(generator.request(now_ms()))
    stage.sender.flush()
    os.kill(bridge.pid, signal.SIGSTOP)
    time.sleep(STILL_S)
    os.kill(bridge.pid, signal.SIGCONT)
    will_say(bridge, "process stalled, forwarding suspended")
    report = stage.verify()
    require(not report.faults and report.duplicates <= 100, report.line())
    require(bridge.stop() == 0, "SIGTERM:\n" + bridge.tail())
    return report.line()


SCENARIOS = {"stalled": stalled}
