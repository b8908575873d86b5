# SPDX-License-Identifier: Apache-2.0
"""What the commands that look after topics do on brokers that are many, slow to learn, or refuse."""
from __future__ import annotations

import os
import re
import subprocess

from processes import ROOT
from stage import Skip, Stage, require

INTEGRATION = ROOT / "build" / "dev" / "integration_tests"
SUITES = ("topics", "offsets", "broker_limits")  # those with tests that need a broker


def integration(stage: Stage) -> str:
    """The integration tests that are skipped without a broker."""
    if not INTEGRATION.exists():
        raise Skip(f"{INTEGRATION} is not there: cmake --preset dev && cmake --build --preset dev")
    broker = stage.broker().bootstrap
    passed = 0
    for suite in SUITES:
        done = subprocess.run([str(INTEGRATION), f"--filter={suite}/*", "--timeout", "60"], capture_output=True,
                              text=True, env={**os.environ, "KAFKA": broker}, check=False, timeout=200)
        counted = re.search(r"Tested: (\d+) \| Passing: (\d+)", done.stdout + done.stderr)
        require(done.returncode == 0 and counted and counted[1] == counted[2] != "0",
                f"{suite} ended with {done.returncode}:\n{done.stderr[-2000:]}")
        passed += int(counted[2])
    return f"{passed} tests of {len(SUITES)} suites"


SCENARIOS = {"integration": integration}
