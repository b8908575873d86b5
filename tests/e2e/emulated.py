# SPDX-License-Identifier: Apache-2.0
"""The program for arm64 in an emulator, with the libraries of the image that a release has for it."""
from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

from processes import ROOT

EMULATORS = ("qemu-aarch64-static", "qemu-aarch64")


def unpacked(archive: Path, folder: Path) -> Path:
    """Unpacks the layers of an OCI archive. Returns the file system of the image."""
    root = folder / "root"
    shutil.rmtree(folder, ignore_errors=True)
    root.mkdir(parents=True)
    with tarfile.open(archive) as files:
        files.extractall(folder)

    def blob(digest: str) -> Path:
        return folder / "blobs" / digest.replace(":", "/")
    index = json.loads((folder / "index.json").read_text())
    for layer in json.loads(blob(index["manifests"][0]["digest"]).read_text())["layers"]:
        with tarfile.open(blob(layer["digest"])) as files:
            files.extractall(root)
    return root


def arm64_binary() -> Path:
    """Builds the image for arm64 from the commit. Returns a script that runs its program as a process of this machine."""
    emulator = next(filter(None, map(shutil.which, EMULATORS)), None)
    if emulator is None:
        raise RuntimeError(f"no {EMULATORS[0]}: install qemu-user-static")
    version = re.search(r"project\(delaybridge VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())[1]
    folder = ROOT / "build" / "arm64"
    subprocess.run([sys.executable, ROOT / "deploy" / "release" / "release.py", version, "--draft", "--once",
                    "--only", "image-arm64", "--out", folder / "release"], check=True, stdout=subprocess.DEVNULL)
    [archive] = (folder / "release").glob("*.tar")
    root = unpacked(archive, folder / "image")
    script = folder / "delaybridge"
    # exec: the signals of a test reach the emulator, which is the process.
    script.write_text(f'#!/bin/sh\nexec {emulator} -L {root} {root}/usr/bin/delaybridge "$@"\n')
    script.chmod(0o755)
    return script
