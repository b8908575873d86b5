# SPDX-License-Identifier: Apache-2.0
"""The programs of the shop as processes. The kernel ends them with the thread that started them, so that none
outlives a run that is killed."""
from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path


class Program:
    def __init__(self, name: str, command: list[str], folder: Path, env: dict[str, str]):
        self.name, self.command, self.env = name, command, {**os.environ, **env}
        self.log = folder / f"{name}.log"
        self.process: subprocess.Popen | None = None

    def start(self) -> "Program":
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", *self.command], env=self.env,
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        return self

    def kill(self) -> None:
        """kill -9."""
        assert self.process is not None
        self.process.kill()
        self.process.wait(10)

    def alive(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def stop(self) -> None:
        if self.process is None or self.process.poll() is not None:
            return
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(15)
        except subprocess.TimeoutExpired:
            self.kill()

    def tail(self, lines: int = 15) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])
