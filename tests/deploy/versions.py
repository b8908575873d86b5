# SPDX-License-Identifier: Apache-2.0
"""The version of a release in all files."""
from __future__ import annotations

import shutil
import sys

from parts import ROOT, World, part, require, run

TOOL = ROOT / "deploy" / "release"


@part("versions", quick=True)
def versions(world: World) -> str:
    """A new version is written to all files that contain one, with a dated section of the changelog."""
    copy = world.folder / "versions"
    names = run("git", "-C", ROOT, "ls-files", "CMakeLists.txt", "CHANGELOG.md", "deploy").stdout.split()
    for name in names:
        if (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, copy / name)
    tool = copy / TOOL.relative_to(ROOT) / "version.py"
    before = run(sys.executable, tool).stdout
    after = run(sys.executable, tool, "set", "98.7.65").stdout
    require("version: 98.7.65 in " in after and ", 0 disagree" in after, after)
    for name, wanted in (("CHANGELOG.md", "\n## [98.7.65] - 20"), ("deploy/deb/changelog", "delaybridge (98.7.65) ")):
        require(wanted in "\n" + (copy / name).read_text(), f"{name} has no {wanted!r}")
    chart = copy / "deploy" / "helm" / "delaybridge" / "Chart.yaml"
    chart.write_text(chart.read_text().replace("appVersion: 98.7.65", "appVersion: 98.7.64"))
    said = run(sys.executable, tool, fails=True).stdout
    require("Chart.yaml has 98.7.64 and 98.7.65" in said, said)
    return f"{before.strip()}; 98.7.65 in the same files"
