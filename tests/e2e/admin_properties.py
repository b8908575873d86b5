# SPDX-License-Identifier: Apache-2.0
"""The admin API and its OpenAPI file, compared by a client that makes calls from the file: good ones, bad ones, and random
ones (schemathesis)."""
from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from admin import TOKEN
from processes import CACHE
from stage import Fault, Stage, require

VERSION = "4.32.5"
# The API can refuse a body that the file allows: a time in the past, or two times in one request. So a refusal of good
# data is no fault. Each 5xx is one, each answer that the file does not describe, and each bad call that passes.
LEFT_OUT = "positive_data_acceptance"
# Without admin_token no header helps: 403 names the key to set.
LEFT_OUT_OPEN = f"{LEFT_OUT},missing_required_header"


def program() -> Path:
    """Returns schemathesis, in a separate environment that is made once."""
    folder = CACHE / f"venv-schemathesis-{VERSION}"
    if not (folder / "ready").exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        subprocess.run([str(folder / "bin" / "pip"), "install", "-q", "--disable-pip-version-check",
                        f"schemathesis=={VERSION}"], check=True)
        (folder / "ready").touch()
    return folder / "bin" / "schemathesis"


def admin_properties(stage: Stage) -> str:
    """The admin API answers calls that are made from its OpenAPI file as the file says, with a token and without one."""
    tool = program()
    stage.broker()
    port = stage.spare_port
    token = stage.folder / "token"
    token.write_text(TOKEN)
    stage.ready(events=["all"])
    seconds = 300 if stage.full else 40
    lines = []
    for name, more, header in (("open", {}, []), ("token", {"admin_token": {"file": str(token)}},
                                                  ["-H", f"Authorization: Bearer {TOKEN}"])):
        config = stage.config(f"{name}.yaml", admin=f"127.0.0.1:{port}", events=["all"], **more)
        bridge = stage.bridge(config, name)
        done = stage.run_with(tool, "run", f"http://127.0.0.1:{port}/openapi.json", *header, "--checks", "all",
                              "--exclude-checks", LEFT_OUT if header else LEFT_OUT_OPEN, "--max-time", str(seconds), "--rate-limit", "auto",
                              "--exclude-path", "/api/dev/clock", "--suppress-health-check", "all",
                              "--seed", str(stage.seed), "--request-timeout", "30",
                              "--no-color", timeout=seconds + 200, cwd=stage.folder)
        (stage.folder / f"schemathesis-{name}.txt").write_text(done.stdout + done.stderr)
        if done.returncode != 0:
            raise Fault(f"{name}: schemathesis ended with {done.returncode}:\n{done.stdout[-6000:]}")
        require(bridge.running() and bridge.stop() == 0, f"{name}: the bridge ended with an error:\n{bridge.tail()}")
        lines += [line.strip() for line in done.stdout.splitlines() if " generated, " in line]
    return "; ".join(lines)


SCENARIOS = {"admin_properties": admin_properties}
ON_DEMAND = set(SCENARIOS)
