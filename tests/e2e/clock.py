# SPDX-License-Identifier: Apache-2.0
"""A wall clock that a scenario can step, for bridges that are started with its environment."""
from __future__ import annotations

import shutil
import struct
import subprocess
import time
from pathlib import Path

from stage import Skip
from steps import Steps

SHIM = Path(__file__).resolve().parent / "clockshim.c"


class Clock(Steps):
    def __init__(self, folder: Path):
        super().__init__()
        compiler = shutil.which("gcc") or shutil.which("cc")
        if not compiler:
            raise Skip("no C compiler to build the clock shim")
        library, self.file = folder / "clockshim.so", folder / "clock"
        subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", str(library), str(SHIM)], check=True)
        self.env = {"LD_PRELOAD": str(library), "DELAYBRIDGE_TEST_CLOCK": str(self.file)}
        self.step(0)

    @property
    def steps(self) -> int:
        return len(self.history) - 1

    def step(self, ms: int) -> None:
        """Sets the clock ahead by ms from now on."""
        self.add(time.time() * 1000, ms)
        with open(self.file, "r+b" if self.file.exists() else "wb") as file:
            file.write(struct.pack("<q", ms))
