# SPDX-License-Identifier: Apache-2.0
"""The example of deploy/example/order-timeout with few orders, and faults that its check must find."""
from __future__ import annotations

import re
import signal
import subprocess
from pathlib import Path

from processes import CACHE, ROOT
from stage import Stage, require, require_prompt, until

MAIN = ROOT / "deploy" / "example" / "order-timeout" / "run" / "main.py"
LIMIT_S = 240
# The faults of the example, each with a rule that it breaks.
BROKEN = {"unconditional": "no paid order is closed",
          "forgotten": "no unpaid order is left open",
          "stock-kept": "the stock is right",
          "uncancelled": "each paid order has a cancel, and no other order has one",
          "cancels-dropped": "each paid order has a cancel, and no other order has one",
          "cancels-late": "a payment 2 seconds before the deadline, or earlier, stops the timeout",
          "cancels-misnamed": "a cancel that is stored a second before the deadline, or earlier, stops the timeout",
          "requests-dropped": "the timeout of each order that is not paid came"}
# Rules with a time. A machine that stalls for a second can break them.
TIMED = {BROKEN["cancels-late"], BROKEN["cancels-misnamed"]}
BROKEN_RULE = re.compile(r"^FAILED  (.*)$", re.M)
FIRST_ORDERS = re.compile(r"^ +2\.\ds ", re.M)
FIGURES = re.compile(r"^(deliveries: .*|example: .*)$", re.M)


def command(stage: Stage, name: str, *options: str) -> list[str]:
    python = CACHE / "venv-example" / "bin" / "python"
    return [str(python), str(MAIN), "--short", "--binary", str(stage.binary), "--in", str(stage.folder / name),
            "--seed", str(stage.seed), *options]


def played(stage: Stage, name: str, *options: str) -> subprocess.CompletedProcess:
    """Runs the example, and keeps its output as a log."""
    with open(stage.folder / f"{name}.out", "w+", encoding="utf-8") as out:
        done = subprocess.run(command(stage, name, *options), stdout=out, stderr=out, timeout=LIMIT_S, check=False)
        out.seek(0)
        done.stdout = out.read()
    return done


def text_of(file: Path) -> str:
    try:
        return file.read_text()
    except OSError:  # the process ended
        return ""


def ends_on_sigterm(stage: Stage) -> None:
    """SIGTERM while orders come ends the example and all that it started, without a traceback."""
    log = stage.folder / "ended.out"
    with open(log, "w", encoding="utf-8") as out, \
            subprocess.Popen(command(stage, "ended"), stdout=out, stderr=out) as example:
        until("the first orders", lambda: example.poll() is not None or FIRST_ORDERS.search(log.read_text()), LIMIT_S)
        example.terminate()
        code = example.wait(LIMIT_S)
    require(code == 128 + signal.SIGTERM and "Traceback" not in log.read_text(),
            f"SIGTERM: the example ended with {code}: {log.read_text()[-3000:]}")
    left = [args for args in Path("/proc").glob("[0-9]*/cmdline") if str(stage.folder / "ended") in text_of(args)]
    require(not left, f"SIGTERM: the example left {left}")


def order_timeout(stage: Stage) -> str:
    """The shop of deploy/example: relay, bridge and consumer are killed, and the orders are right, in both modes."""
    done = played(stage, "shop")
    broken = set(BROKEN_RULE.findall(done.stdout))
    require_prompt(not broken & TIMED, f"rules with a time are broken: {', '.join(sorted(broken))}")
    require(done.returncode == (1 if broken else 0) and broken <= TIMED, f"the example ended with {done.returncode}: {done.stdout[-3000:]}")
    ends_on_sigterm(stage)
    return "; ".join(FIGURES.findall(done.stdout))


def order_timeout_fault(stage: Stage) -> str:
    """Each fault of the example breaks a rule, and the check says which."""
    for fault, rule in BROKEN.items():
        done = played(stage, fault, "--mode", "at-least-once", "--fault", fault)
        require(done.returncode == 1 and f"FAILED  {rule}" in done.stdout,
                f"{fault}: the example ended with {done.returncode}: {done.stdout[-3000:]}")
    return f"{len(BROKEN)} faults found"


SCENARIOS = {"order_timeout": order_timeout, "order_timeout_fault": order_timeout_fault}
ON_DEMAND = {"order_timeout_fault"}
