# SPDX-License-Identifier: Apache-2.0
"""The archive of the sources, and the chart as Helm takes it from a repository."""
from __future__ import annotations

import gzip
import io
import shutil
import tarfile
from pathlib import Path

from common import ROOT, Release, run
from version import CHANGELOG, notes

CHART = "deploy/helm/delaybridge"
LEFT_OUT = ("tests/", "ci/", ".helmignore")  # as .helmignore says


def pack(release: Release, folder: Path) -> Path:
    """Writes the archive of the commit. git gives all files the time of the commit."""
    name = f"delaybridge-{release.version}"
    plain = folder / f"{name}.tar"
    run("git", "-C", ROOT, "archive", "--format=tar", f"--prefix={name}/", "-o", plain, release.commit)
    run("gzip", "-n", "-9", plain)
    return folder / f"{name}.tar.gz"


def archive(release: Release, given: Path, out: Path, settings: dict[str, str]) -> None:
    """Writes the archive, and the section of its changelog about this version."""
    del settings
    shutil.copyfile(given, out / given.name)
    name = f"delaybridge-{release.version}"
    with tarfile.open(given) as archived:
        changelog = archived.extractfile(f"{name}/{CHANGELOG}")
        assert changelog is not None
        (out / f"{name}.notes.md").write_text(notes(changelog.read().decode(), release.version))


def chart(release: Release, given: Path, out: Path, settings: dict[str, str]) -> None:
    """Writes the package of the chart. `helm package` would write the current time into it."""
    del settings
    files: list[tuple[str, bytes]] = []
    with tarfile.open(given) as archived:
        start = f"delaybridge-{release.version}/{CHART}/"
        for member in archived.getmembers():
            name = member.name.removeprefix(start)
            if name == member.name or name.startswith(LEFT_OUT) or not (contents := archived.extractfile(member)):
                continue
            files.append((name, contents.read()))
    files.sort(key=lambda file: (file[0] != "Chart.yaml", file[0]))  # Helm reads this file first
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.USTAR_FORMAT) as package:
        for name, data in files:
            about = tarfile.TarInfo(f"delaybridge/{name}")
            about.size, about.mtime, about.mode = len(data), release.epoch, 0o644
            package.addfile(about, io.BytesIO(data))
    (out / f"delaybridge-{release.version}.tgz").write_bytes(gzip.compress(made.getvalue(), 9, mtime=0))
