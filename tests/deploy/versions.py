# SPDX-License-Identifier: Apache-2.0
"""One version in all places."""
from __future__ import annotations

import re

from parts import CHART, DEPLOY, ROOT, World, part, require


@part("versions", quick=True)
def versions(world: World) -> str:
    """Image, chart, compose file and Debian changelog have the project's version."""
    del world
    version = re.search(r"project\(delaybridge VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())[1]
    places = {
        DEPLOY / "Dockerfile": r"^ARG VERSION=(\S+)",
        CHART / "Chart.yaml": r"^appVersion: (\S+)",
        DEPLOY / "compose.yaml": r"image: delaybridge:(\S+)",
        DEPLOY / "deb" / "changelog": r"^delaybridge \(([^)]+)\)",
    }
    for path, pattern in places.items():
        found = set(re.findall(pattern, path.read_text(), re.M))
        require(found, f"{path} names no version")
        require(found == {version} or path.name == "changelog" and version in found,
                f"{path} says {sorted(found)}, CMakeLists.txt {version}")
    return f"{version} in {len(places)} places"
