# SPDX-License-Identifier: Apache-2.0
"""The files of a release: built by the command for maintainers, and then used as a user would."""
from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import tools
from parts import CACHE, DEPLOY, ROOT, Skip, World, need_root, part, require, run

TOOL = DEPLOY / "release" / "release.py"


def version() -> str:
    return re.search(r"project\(delaybridge VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())[1]


def built(world: World, *parts: str, twice: bool = False) -> Path:
    out = world.folder / f"release-{parts[0]}"
    run(sys.executable, TOOL, version(), "--draft", "--out", out, *([] if twice else ["--once"]), "--only", *parts)
    run("sha256sum", "--quiet", "-c", "SHA256SUMS", cwd=out)
    return out


@part("release.source", quick=True)
def source(world: World) -> str:
    """Source archive and chart are the same twice. Helm installs the chart as it does the folder of the sources."""
    out = built(world, "source", "chart", twice=True)
    name = f"delaybridge-{version()}"
    run("tar", "-C", out, "-xzf", out / f"{name}.tar.gz")
    arguments = ("template", "bridge", "--set", "config.targets={a}", "--set", "config.kafka.bootstrap\\.servers=k:9092")
    packed = run(tools.helm(), *arguments, out / f"{name}.tgz").stdout
    plain = run(tools.helm(), *arguments, out / name / "deploy" / "helm" / "delaybridge").stdout
    require(packed == plain and "kind: Deployment" in packed or "kind: StatefulSet" in packed, "the chart's package differs")
    return f"{name}.tar.gz, {name}.tgz"


@part("release.packages")
def packages(world: World) -> str:
    """The packages of both Debians are the same twice, and install and run in their Debian."""
    need_root("chroot")
    out = built(world, "bookworm", "trixie", twice=True)
    commit = run("git", "-C", ROOT, "rev-parse", "--short=10", "HEAD").stdout.strip()
    seen = []
    for package in sorted(out.glob("*.deb")):
        if shutil.which("lintian"):
            said = run("lintian", "--allow-root", "--fail-on", "error,warning", package).stdout
            require(not said.strip(), said)
        suite = "bookworm" if "~deb12" in package.name else "trixie"
        seen.append(installed(world, package, suite, commit))
    require(len(seen) >= 2, f"{seen}")
    return "; ".join(seen)


def installed(world: World, package: Path, suite: str, commit: str) -> str:
    root = world.folder / suite
    root.mkdir()
    run("tar", "-C", root, "-xf", CACHE / "deploy-base" / f"{suite}-slim.tar")
    shutil.copy("/etc/resolv.conf", root / "etc" / "resolv.conf")
    shutil.copy(package, root / "delaybridge.deb")
    run("chroot", root, "apt-get", "update", "-qq")
    run("chroot", root, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "-qq", "-y", "--no-install-recommends",
        "/delaybridge.deb")
    said = run("chroot", root, "delaybridge", "version").stdout
    require(commit in said, f"{package.name} does not print the commit: {said}")
    shutil.rmtree(root)
    return f"{package.name} in {suite}: {' '.join(said.split())}"
