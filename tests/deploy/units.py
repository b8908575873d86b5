# SPDX-License-Identifier: Apache-2.0
"""The systemd unit: valid, and confined."""
from __future__ import annotations

import re
import shutil

from parts import DEPLOY, Skip, World, part, require, run

UNIT = DEPLOY / "systemd" / "delaybridge.service"
EXPOSURE = 1.5  # the limit; the result line has the measured value


@part("systemd", quick=True)
def unit(world: World) -> str:
    """systemd accepts each directive of the unit, and its exposure is low."""
    if shutil.which("systemd-analyze") is None:
        raise Skip("systemd-analyze is not installed")
    text = UNIT.read_text()
    for line in ("Type=notify", "WatchdogSec=30s", "ExecReload=/bin/kill -HUP $MAINPID",
                 "RestartPreventExitStatus=64 78"):
        require(f"\n{line}\n" in text, f"the unit lacks {line}")
    here = world.folder / UNIT.name
    here.write_text(text.replace("/usr/bin/delaybridge", "/bin/true"))  # verify requires that the program exists
    said = run("systemd-analyze", "verify", "--man=no", here).stdout
    ours = [line for line in said.splitlines() if UNIT.name in line]
    require(not ours, "\n".join(ours))
    said = run("systemd-analyze", "security", "--offline=true", f"--threshold={EXPOSURE * 10:.0f}", here).stdout
    exposure = re.search(r"exposure level for \S+: ([0-9.]+)", said)[1]
    stop = int(re.search(r"TimeoutStopSec=(\d+)s", text)[1])
    require(stop > 15, f"TimeoutStopSec={stop}s is not above drain and 5 s")
    return f"verified, exposure {exposure}"
