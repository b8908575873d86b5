# SPDX-License-Identifier: Apache-2.0
"""The parts of the checks, and the code that they share."""
from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable

import yaml

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
CHART = DEPLOY / "helm" / "delaybridge"
CACHE = Path(os.environ.get("DEV_CACHE", ROOT / ".cache"))


class Failed(Exception):
    """The checked property does not hold."""


class Skip(Exception):
    """The part cannot run on this machine. The message is the reason."""


@dataclass
class World:
    """The arguments of all parts."""
    folder: Path  # temporary folder of this run
    binary: Path  # the bridge of the current build
    notes: dict = field(default_factory=dict)


@dataclass
class Part:
    name: str
    quick: bool
    run: Callable[[World], str]

    @property
    def rule(self) -> str:
        return self.run.__doc__.splitlines()[0]


PARTS: dict[str, Part] = {}


def part(name: str, quick: bool = False):
    """Declares a part. Its function returns one line with the result, and its docstring is the tested rule."""
    def declare(function):
        PARTS[name] = Part(name, quick, function)
        return function
    return declare


def require(condition: object, sentence: str) -> None:
    if not condition:
        raise Failed(sentence)


def run(*args, fails: bool = False, **more) -> subprocess.CompletedProcess:
    """Runs a command. Raises Failed with the end of its output unless it ends with 0, or with fails unless it does not."""
    done = subprocess.run([str(a) for a in args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", check=False, **more)
    if (done.returncode != 0) != fails:
        said = "\n".join(done.stdout.splitlines()[-25:])
        raise Failed(f"{' '.join(map(str, args))} ended with {done.returncode}:\n{said}")
    return done


def load(text: str) -> list:
    """Returns all documents of a YAML text."""
    return [d for d in yaml.load_all(text, yaml.CSafeLoader) if d]


def need_root(what: str) -> None:
    if os.geteuid() != 0:
        raise Skip(f"{what} needs root")
