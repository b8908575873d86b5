# SPDX-License-Identifier: Apache-2.0
"""What the commands that look after topics do on brokers that are many, slow to learn, or refuse."""
from __future__ import annotations

import os
import re
import subprocess

from bad_input import says
from client import Admin
from processes import ROOT
from stage import Skip, Stage, require

INTEGRATION = ROOT / "build" / "dev" / "integration_tests"
ROUNDS, OWN_TOPICS = 5, 22  # schedule, 18 levels, dead letters, cancels, pulse
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


def apply_three(stage: Stage) -> str:
    """Three brokers: what 'topics apply' made is on each of them when it ends; with fewer alive it refuses."""
    stage.broker(brokers=3)
    for n in range(ROUNDS):
        path = stage.config(schedule=f"s{n}", replication=3)
        stage.apply(path)
        for port in range(3):
            broker = f"127.0.0.1:{stage.kafka.port + port}"
            made = Admin(broker).described(f"s{n}")
            require(len(made) == OWN_TOPICS and all(copies == 3 for copies in made.values()), f"{broker} shows {made}")
        planned = stage.run("topics", "plan", "-c", str(path))
        require(planned.returncode == 0 and planned.stdout == "nothing to do\n",
                f"after apply, plan ended with {planned.returncode}:\n{planned.stdout}{planned.stderr}")
    stage.kafka.call("kill", "3")
    stage.admin.wait("two brokers", lambda: len(stage.admin.client.list_topics(timeout=20).brokers) == 2)
    path = stage.config(schedule="late", replication=3)
    says(stage, "two of three alive", stage.run("topics", "apply", "-c", str(path)), (78,),
         "replication is 3 and 2 brokers are alive", "--fewer-replicas")
    require(not stage.admin.described("late"), "topics were made though it refused")
    says(stage, "told to", stage.run("topics", "apply", "--fewer-replicas", "-c", str(path)), (0,), "replicas=2")
    require(set(stage.admin.described("late").values()) == {2}, "other replicas than two")
    return f"{ROUNDS} times on each of three brokers at once; refused with two alive"


SCENARIOS = {play.__name__: play for play in (integration, apply_three)}
