# SPDX-License-Identifier: Apache-2.0
"""The container image as an OCI archive, built from the Dockerfile of the source archive."""
from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

import sbom
from common import Release, run
from debian import Debian

BASE = "docker.io/library/debian:trixie-slim"


class Store:
    """Images and containers of this run."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="dlb.")
        self.where = ["--root", f"{self.folder.name}/all", "--runroot", f"{self.folder.name}/run", "--storage-driver", "overlay"]

    def buildah(self, *args, **env: str) -> str:
        return run("buildah", *self.where, *args, env={**os.environ, **env}).strip()

    def close(self) -> None:
        for command in (["rm", "-a"], ["rmi", "-fa"]):
            subprocess.run(["buildah", *self.where, *command], check=False, capture_output=True)
        self.folder.cleanup()


def base(store: Store, arch: str, folder: Path) -> None:
    """Makes the image that the Dockerfile begins from, with the updates of security. Its programs are of this machine, but
    buildah 1.28 looks for the architecture of the result and ignores the platform that the Dockerfile names."""
    debian = Debian("trixie", folder / "base")
    debian.run("apt-get", "clean")
    container = store.buildah("from", "scratch")
    store.buildah("add", "-q", container, debian.root, "/")
    store.buildah("config", "--cmd", "bash", "--env", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "--arch", arch, container)
    store.buildah("commit", "-q", "--rm", container, BASE)
    shutil.rmtree(debian.root)


def image(arch: str, release: Release, given: Path, out: Path, settings: dict[str, str]) -> None:
    source = given.parent / f"image-{arch}"
    source.mkdir()
    run("tar", "-C", source, "--strip-components=1", "-xzf", given)
    store = Store()
    try:
        base(store, arch, given.parent)
        store.buildah("build", "--isolation", "chroot", "--network", "host", "--pull-never", "--format", "oci",
                      "--platform", f"linux/{arch}", "--timestamp", release.epoch, "--build-arg", f"REVISION={release.commit[:10]}",
                      "-t", "delaybridge", "-f", source / "deploy" / "Dockerfile", source, TZ=settings["TZ"])
        name = f"delaybridge-{release.version}-image-{arch}"
        store.buildah("push", "-q", "delaybridge", f"oci:{given.parent / name}:{release.version}")
        packed(given.parent / name, out / f"{name}.tar", release.epoch)
        container = store.buildah("from", "--pull-never", "--platform", f"linux/{arch}", "delaybridge")
        sbom.describe(release, out / f"{name}.tar", "13", Path(store.buildah("mount", container)))
    finally:
        store.close()
    shutil.rmtree(given.parent / name)
    shutil.rmtree(source)


def packed(folder: Path, out: Path, epoch: int) -> None:
    """Writes a folder as an archive that depends only on the files in it."""
    def plain(about: tarfile.TarInfo) -> tarfile.TarInfo:
        about.mtime, about.uid, about.gid, about.uname, about.gname = epoch, 0, 0, "", ""
        about.mode = 0o755 if about.isdir() else 0o644
        return about
    with tarfile.open(out, "w", format=tarfile.USTAR_FORMAT) as archive:
        for path in sorted(folder.rglob("*")):
            archive.add(path, str(path.relative_to(folder)), recursive=False, filter=plain)
