# SPDX-License-Identifier: Apache-2.0
"""The delays after an upgrade, a scale-down, a crash and a lost node, for a Deployment and a StatefulSet. Processes on a
real broker stand for pods, with the variables that the chart sets. The chart's guide has the figures."""
from __future__ import annotations

import sys
import time

from parts import ROOT, World, part, require

SESSION_S = 30  # the chart's statefulSet.sessionTimeout
AWAY_S = 2  # how long a replaced pod is absent, without pulling an image
ROWS = ("nothing", "upgrade", "scale-down", "crash", "node loss")
LIMIT_MS = 3000  # limit, in addition to WAITS and three times the delay without an event, on a busy machine
WAITS = {("Deployment", "crash"): 6, ("Deployment", "node loss"): 6, ("StatefulSet", "upgrade"): AWAY_S,
         ("StatefulSet", "crash"): AWAY_S, ("StatefulSet", "scale-down"): SESSION_S,
         ("StatefulSet", "node loss"): SESSION_S}


@part("membership")
def membership(world: World) -> str:
    """The lanes of a Deployment move at once after a stop, those of a StatefulSet return after a restart. Prints the waits."""
    sys.path.insert(0, str(ROOT / "tests" / "e2e"))
    figures = {}
    for kind in ("Deployment", "StatefulSet"):
        figures[kind] = play(world, kind)
    lines = [f"longest wait of a record, ms; session 6 s, {SESSION_S} s", f"{'':12}{'Deployment':>12}{'StatefulSet':>13}"]
    for row in ROWS:
        lines.append(f"{row:12}" + "".join(f"{figures[kind][row]:>{12 + n}}" for n, kind in enumerate(figures)))
    text = "\n    ".join(lines)
    for kind, found in figures.items():
        for row, ms in found.items():
            most = LIMIT_MS + 1000 * WAITS.get((kind, row), 0) + 3 * found["nothing"]
            require(ms <= most, f"{kind}, {row}: {ms} ms is more than {most}\n    {text}")
    return text


def play(world: World, kind: str) -> dict[str, int]:
    from processes import Bridge  # pylint: disable=import-error,import-outside-toplevel
    from scenarios import longest_waits  # pylint: disable=import-error,import-outside-toplevel
    from stage import Stage, judge  # pylint: disable=import-error,import-outside-toplevel
    folder = world.folder / kind
    folder.mkdir()
    stage = Stage(folder, world.binary, False, 1)
    static = kind == "StatefulSet"
    windows: list[tuple[str, float, float]] = []
    count = 0

    def pod(number: int) -> Bridge:
        nonlocal count
        count += 1
        env = {"DELAYBRIDGE_LISTEN": ""}
        if static:
            env |= {"DELAYBRIDGE_KAFKA_GROUP_INSTANCE_ID": f"rel-delaybridge-{number}",
                    "DELAYBRIDGE_KAFKA_SESSION_TIMEOUT_MS": f"{SESSION_S}000",
                    "DELAYBRIDGE_KAFKA_MAX_POLL_INTERVAL_MS": f"{SESSION_S}000"}
        return Bridge(stage.binary, folder / "delaybridge.yaml", f"pod-{count}", env)

    def event(row: str, act, members: int, at_least_s: float = 0) -> None:
        """Runs act, and watches waits until the group has this many members, plus 3 s."""
        time.sleep(4)
        start = time.time()
        act()
        require(stage.admin.wait_members(stage.group, members, SESSION_S + 30), f"{kind}, {row}: the members have no lanes")
        time.sleep(max(3.0, at_least_s - (time.time() - start)))
        windows.append((row, start * 1000, time.time() * 1000))

    try:
        stage.ready()
        pods = [pod(n).start() for n in range(2)]
        require(stage.admin.wait_members(stage.group, 2), f"no lanes:\n{pods[0].tail()}")
        generator = stage.generator(3000)
        sending = stage.background(lambda n, now: generator.request(now), 1_000_000, 200)
        time.sleep(8)  # until all pods serve lanes
        event("nothing", lambda: None, 2)

        def upgrade() -> None:
            """Upgrades: the new pod of a Deployment joins before the old one leaves, that of a StatefulSet after it."""
            new = pod(0)
            if not static:
                new.start()
                require(stage.admin.wait_members(stage.group, 3), "the new pod has no lanes")
            require(pods[0].stop() == 0, "SIGTERM did not end the pod cleanly")
            if static:
                time.sleep(AWAY_S)
                new.start()
            pods[0] = new

        def crash() -> None:
            """Kills a container, which is then restarted."""
            pods[0].kill()
            time.sleep(AWAY_S)
            pods[0] = pod(0).start()

        event("upgrade", upgrade, 2, 8)
        event("crash", crash, 2, 12)
        event("scale-down", lambda: require(pods[1].stop() == 0, "SIGTERM did not end the pod cleanly"), 1)
        pods[1] = pod(1).start()
        require(stage.admin.wait_members(stage.group, 2), "the second pod has no lanes again")
        event("node loss", lambda: pods[1].kill(), 1)
        sending.finish(stop=True)
        judge(stage.verify(timeout=90), None)
        return longest_waits(stage, windows)
    finally:
        stage.close()
