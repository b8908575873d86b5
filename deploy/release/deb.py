# SPDX-License-Identifier: Apache-2.0
"""The Debian packages. Each is built from the source archive, in the Debian that it is for."""
from __future__ import annotations

import shutil
from pathlib import Path

import sbom
from common import Release
from debian import FIRST, Debian

SUITES = {"bookworm": "deb12", "trixie": "deb13"}


def package(suite: str, arch: str, release: Release, given: Path, out: Path, settings: dict[str, str]) -> None:
    """Builds the package of a suite. Its version says the suite, so that an upgrade of Debian upgrades it."""
    debian = Debian(suite, given.parent / f"{suite}-{arch}")
    work = Path("/build") / given.parent.name  # another folder for each build
    (debian.root / str(work)[1:]).mkdir(parents=True)
    shutil.copy(given, debian.root / "source.tar.gz")
    debian.run("tar", "-C", work, "--strip-components=1", "-xzf", "/source.tar.gz")
    debian.run("sh", "deploy/image/packages.sh", arch, cwd=str(work))
    cross = ["--toolchain", "deploy/image/arm64.cmake"] if arch == "arm64" else []
    env = {**FIRST, **settings, "SOURCE_DATE_EPOCH": str(release.epoch)}
    for command in (("cmake", "--preset", "release", f"-DCOMMIT={release.commit[:10]}", f"-DPACKAGE_SUFFIX=~{SUITES[suite]}", *cross),
                    ("cmake", "--build", "--preset", "release"),
                    ("cpack", "--config", "build/release/CPackConfig.cmake", "-B", "/made"),
                    ("sh", "deploy/image/root.sh", "build/release/delaybridge", "/described")):
        debian.run(*command, cwd=str(work), **env)
    [made] = (debian.root / "made").glob("*.deb")
    shutil.copyfile(made, out / made.name)
    sbom.describe(release, out / made.name, SUITES[suite].removeprefix("deb"), debian.root / "described")
    shutil.rmtree(debian.root)
