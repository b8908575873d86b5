# SPDX-License-Identifier: Apache-2.0
"""The processes of a group publish summaries, and check and top compare them."""
from __future__ import annotations

import json
import signal
import time

from operating import Watch
from processes import Bridge
from stage import Stage, require

EVERY_S, GONE_S = 10, 30
RELOAD_S = 5


def findings(stage: Stage, config) -> list[str]:
    """Returns the sentences of check about processes that differ."""
    done = stage.run("check", "-c", str(config), "-o", "json")
    require(done.returncode == 0, f"check: {done.returncode} {done.stdout} {done.stderr}")
    return [f["sentence"] for f in json.loads(done.stdout)["findings"] if "processes differ" in f["sentence"]]


def top(stage: Stage, config) -> dict:
    done = stage.run("top", "--once", "-c", str(config), "-o", "json")
    require(done.returncode == 0, f"top: {done.returncode} {done.stdout} {done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def await_shown(stage: Stage, config, addresses: set[str], timeout: float) -> float:
    """Waits until top shows these processes. Returns how long that took."""
    began = time.monotonic()
    while (shown := {p["address"] for p in top(stage, config)["processes"]}) != addresses:
        require(time.monotonic() - began < timeout, f"top shows {shown}, not {addresses}")
        time.sleep(0.5)
    return time.monotonic() - began


def hashes(ports: tuple[int, int]) -> list[float]:
    """Returns the hash of the configuration of each process, from its metrics."""
    return [Watch(port).metrics()["delaybridge_config_hash", ""] for port in ports]


def reload_as(stage: Stage, bridge: Bridge, ports: tuple[int, int]) -> None:
    """Gives the second process the targets of the first one. Their hashes become equal."""
    first, second = hashes(ports)
    require(first != second and 0 not in (first, second), f"targets differ, and the hashes are {first:.0f} and {second:.0f}")
    stage.config("1.yaml", listen=f"127.0.0.1:{ports[1]}")
    bridge.process.send_signal(signal.SIGHUP)
    began = time.monotonic()
    while (both := hashes(ports)) != [first, first]:
        require(time.monotonic() - began < RELOAD_S, f"after the reload, the hashes are {both}, not {first:.0f}")
        time.sleep(0.2)


def processes_known(stage: Stage) -> str:
    """Two processes differ in targets: check and top name both, and their addresses. A process that ended is gone at once,
    one that was killed after 30 s."""
    stage.broker()
    ports = (stage.spare_port, stage.spare_port + 1)
    addresses = [f"127.0.0.1:{port}" for port in ports]
    stage.ready()
    configs = [stage.config(f"{n}.yaml", listen=addresses[n], targets=["e2e.*", "other"][:1 + n]) for n in (0, 1)]
    bridges = [stage.bridge(config, f"bridge-{n}", members=n + 1) for n, config in enumerate(configs)]
    await_shown(stage, configs[0], set(addresses), EVERY_S + 10)
    said = findings(stage, configs[0])
    require(len(said) == 1 and "targets" in said[0] and all(a in said[0] for a in addresses), f"check: {said}")
    require(f"{addresses[0]} has e2e.*, {addresses[1]} has e2e.*,other" in said[0], f"check: {said}")
    shown = top(stage, configs[0])
    require(shown["differences"] == said and shown["answered"] == 2, f"top: {shown}")
    text = stage.run("top", "--once", "-c", str(configs[0])).stdout
    require("processes differ in targets" in text, f"top: {text}")
    require(bridges[1].stop() == 0, "the second process did not end")
    await_shown(stage, configs[0], {addresses[0]}, 5)
    require(not findings(stage, configs[0]), "a process that ended is compared")
    bridges[1].start()
    await_shown(stage, configs[0], set(addresses), EVERY_S + 20)
    reload_as(stage, bridges[1], ports)
    bridges[1].kill()
    took = await_shown(stage, configs[0], {addresses[0]}, GONE_S + 10)
    require(took > GONE_S - EVERY_S - 5, f"a killed process was gone after {took:.0f} s")
    require(top(stage, configs[0])["processes"][0]["lanes"] > 0, "the summary has no lanes")
    require(Watch(ports[0]).get("/readyz")[0] == 200, "the first process is not ready")
    return f"named by check and top; after its kill, a process was gone within {took:.0f} s"


SCENARIOS = {"processes_known": processes_known}
ON_DEMAND = {"processes_known"}
