# SPDX-License-Identifier: Apache-2.0
"""Code that all parts of a release share."""
from __future__ import annotations

import datetime
import hashlib
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CACHE = Path(os.environ.get("DEV_CACHE", ROOT / ".cache"))


class Refused(Exception):
    """The release cannot be built. The message says what to do."""


@dataclass(frozen=True)
class Release:
    """The inputs of all artifacts. Equal inputs give equal bytes."""
    version: str
    commit: str
    epoch: int  # seconds, the time of the commit: SOURCE_DATE_EPOCH

    @property
    def instant(self) -> str:
        return f"{datetime.datetime.fromtimestamp(self.epoch, datetime.timezone.utc):%Y-%m-%dT%H:%M:%SZ}"


def run(*args, **more) -> str:
    """Returns the output of a command. Raises Refused with the end of it if the command fails."""
    done = subprocess.run([str(a) for a in args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", check=False, **more)
    if done.returncode != 0:
        said = "\n".join(done.stdout.splitlines()[-25:])
        raise Refused(f"{' '.join(map(str, args))} ended with {done.returncode}:\n{said}")
    return done.stdout


def git(*args: str) -> str:
    return run("git", "-C", ROOT, *args).strip()


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
