# SPDX-License-Identifier: Apache-2.0
"""A Debian in a folder, from the mirror of this machine. The files of a release are built in one."""
from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from common import CACHE, Refused, run

# Files that Debian's slim images leave out. Those have the licenses of packages, too.
SLIM = ("./var/cache/apt/archives/*.deb", "./var/cache/apt/*.bin", "./var/lib/apt/lists/*", "./usr/share/man/*",
        "./usr/share/info/*", "./usr/share/locale/*", "./var/log/*")
# Two builds differ in everything that must not matter.
FIRST = {"TZ": "UTC", "LC_ALL": "C.UTF-8", "HOME": "/root"}
SECOND = {"TZ": "Asia/Tokyo", "LC_ALL": "C", "HOME": "/nonexistent", "DEBUG_COLORS": "1"}


def base_tar(suite: str) -> Path:
    """Returns a tar in the cache: the packages that each Debian has, and nothing else."""
    made = CACHE / "deploy-base" / f"{suite}-slim.tar"
    if made.exists():
        return made
    made.parent.mkdir(parents=True, exist_ok=True)
    tree, part = made.with_suffix(".tree"), made.with_suffix(".part")
    shutil.rmtree(tree, ignore_errors=True)
    run("debootstrap", "--variant=minbase", suite, tree)
    run("find", tree / "usr/share/doc", "-type", "f", "!", "-name", "copyright", "-delete")
    run("tar", "-C", tree, *(f"--exclude={path}" for path in SLIM), "-cf", part, ".")
    part.rename(made)
    shutil.rmtree(tree)
    return made


def security_too(root: Path, suite: str) -> None:
    """Adds the updates of security, by the sources of this machine, whose names of suites are replaced."""
    ours = re.search(r"^VERSION_CODENAME=(\S+)", Path("/etc/os-release").read_text(), re.M)
    source = Path("/etc/apt/sources.list.d/debian.sources")
    if ours and source.exists():
        (root / "etc/apt/sources.list").unlink(missing_ok=True)
        (root / "etc/apt/sources.list.d/debian.sources").write_text(source.read_text().replace(ours[1], suite))


class Debian:
    """A Debian of a suite with the packages of a build, for commands as root."""

    def __init__(self, suite: str, root: Path):
        if os.geteuid() != 0:
            raise Refused("a release needs root, for debootstrap and chroot")
        self.suite, self.root = suite, root
        root.mkdir(parents=True)
        run("tar", "-C", root, "-xf", base_tar(suite))
        security_too(root, suite)
        shutil.copy("/etc/resolv.conf", root / "etc/resolv.conf")
        (root / "usr/sbin/policy-rc.d").write_text("#!/bin/sh\nexit 101\n")
        (root / "usr/sbin/policy-rc.d").chmod(0o755)
        self.run("apt-get", "update", "-qq")
        self.run("apt-get", "upgrade", "-qq", "-y")

    def run(self, *args, cwd: str = "/", **env: str) -> str:
        settings = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive", **FIRST, **env}
        return run("env", "-i", *(f"{key}={value}" for key, value in settings.items()),
                   "chroot", self.root, "sh", "-c", 'cd "$1" && shift && exec "$@"', "sh", cwd, *args)
