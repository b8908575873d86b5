# SPDX-License-Identifier: Apache-2.0
"""The example of deploy/example/order-timeout with few orders, and a fault that its check must find."""
from __future__ import annotations

import re
import subprocess

from processes import CACHE, ROOT
from stage import Stage, require

MAIN = ROOT / "deploy" / "example" / "order-timeout" / "run" / "main.py"
LIMIT_S = 240
FIGURES = re.compile(r"^(deliveries: .*|example: .*)$", re.M)


def played(stage: Stage, name: str, *options: str) -> subprocess.CompletedProcess:
    """Runs the example, and keeps its output as a log."""
    python = CACHE / "venv-example" / "bin" / "python"
    with open(stage.folder / f"{name}.out", "w+", encoding="utf-8") as out:
        done = subprocess.run([python, MAIN, "--short", "--binary", stage.binary, "--in", stage.folder / name,
                               "--seed", str(stage.seed), *options], stdout=out, stderr=out, timeout=LIMIT_S, check=False)
        out.seek(0)
        done.stdout = out.read()
    return done


def order_timeout(stage: Stage) -> str:
    """The shop of deploy/example: relay, bridge and consumer are killed, and the orders are right, in both modes."""
    done = played(stage, "shop")
    require(done.returncode == 0, f"the example ended with {done.returncode}: {done.stdout[-3000:]}")
    return "; ".join(FIGURES.findall(done.stdout))


def order_timeout_fault(stage: Stage) -> str:
    """A consumer that closes orders without a condition: the check names the paid orders that it closed."""
    done = played(stage, "fault", "--mode", "at-least-once", "--fault", "unconditional")
    require(done.returncode == 1 and "FAILED  no paid order is closed" in done.stdout,
            f"the example ended with {done.returncode}: {done.stdout[-3000:]}")
    return "found"


SCENARIOS = {"order_timeout": order_timeout, "order_timeout_fault": order_timeout_fault}
ON_DEMAND = {"order_timeout_fault"}
