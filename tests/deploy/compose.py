# SPDX-License-Identifier: Apache-2.0
"""The compose file as docker-compose reads it, without an engine."""
from __future__ import annotations

import os
import shutil

from parts import DEPLOY, Skip, World, load, part, require, run


@part("compose")
def compose(world: World) -> str:
    """docker-compose accepts the file. The bridge starts after topics and target, on a read-only root."""
    if shutil.which("docker-compose") is None:
        raise Skip("docker-compose is not installed")
    merged = load(run("docker-compose", "-f", DEPLOY / "compose.yaml", "config").stdout)[0]["services"]
    require(set(merged) == {"kafka", "target", "topics", "token", "bridge"}, f"services {sorted(merged)}")
    for name in ("topics", "bridge"):
        require(merged[name].get("read_only") is True, f"{name} has a writable root")
        require(merged[name]["cap_drop"] == ["ALL"], f"{name} keeps capabilities")
        require(merged[name]["build"]["context"] == str(DEPLOY.parent), f"{name} is built from another file")
    after = merged["bridge"]["depends_on"]
    for name in ("topics", "target", "token"):
        require(after[name]["condition"] == "service_completed_successfully", f"the bridge does not wait for {name}")
    ports = [str(port) for port in merged["bridge"]["ports"]]
    require(all("127.0.0.1" in port for port in ports) and any("9405" in port for port in ports), f"the bridge publishes {ports}")
    require(merged["bridge"]["environment"]["DELAYBRIDGE_ADMIN_TOKEN"] == "/run/admin/token", "the admin API has no token")
    # The bridge logs unknown variables, and refuses bad values.
    said = run(world.binary, "explain", "1m", env={**os.environ, **merged["bridge"]["environment"]}, cwd=world.folder)
    require("unknown" not in said.stdout, said.stdout)
    return f"{len(merged)} services; validated only, since no engine is installed"
