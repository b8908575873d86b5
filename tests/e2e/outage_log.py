# SPDX-License-Identifier: Apache-2.0
"""The log of a bridge during an outage of all brokers."""
from __future__ import annotations

import json
import re
from collections import Counter

from processes import Bridge
from stage import LANES, require

SLOW_MS = 30_000  # a broker that starts on a loaded machine answers so much later
CLIENT_LINES = 12  # in a second: two for each of six clients


def outage_is_logged(bridge: Bridge, away_ms: float) -> None:
    """Checks that the log names the number of waiting lanes, before it says that they are lost, and later the length of the
    outage. The lines of clients must not hide that."""
    log = bridge.tail(10_000)
    down = re.search(r"Kafka unreachable, lanes wait until a broker answers.*?lanes\W+(\d+)", log)
    back = re.search(r"Kafka answers again, forwarding continues.*?away_ms\W+(\d+)", log)
    require(down and int(down[1]) == LANES, f"the log does not say that {LANES} lanes wait:\n{bridge.tail(100)}")
    require(back and away_ms - 3000 < int(back[1]) < away_ms + SLOW_MS,
            f"the log does not say that Kafka was away for about {away_ms:.0f} ms:\n{bridge.tail(100)}")
    require("brokers hold a transactional producer" not in log[down.start():back.start()],
            f"no broker is there to hold one:\n{bridge.tail(100)}")
    lost = log.find('"msg":"lanes lost"')
    require(lost < 0 or down.start() < lost, f"lanes are lost before the log says why:\n{bridge.tail(100)}")
    each_second = Counter(line["ts"][:19] for line in map(json.loads, log.splitlines())
                          if line["level"] in ("warn", "error") and "client" in line)
    most = max(each_second.values())
    require(most <= CLIENT_LINES, f"clients log {most} lines in a second:\n{bridge.tail(100)}")
