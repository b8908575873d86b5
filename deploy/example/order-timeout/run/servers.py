# SPDX-License-Identifier: Apache-2.0
"""A real Kafka and a real PostgreSQL, each in a separate folder and on a free port. Both are ended by their pid."""
from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import psycopg

ROOT = Path(__file__).resolve().parents[4]
sys.path.append(str(ROOT / "tests"))

from harness import reserve_ports  # noqa: E402  pylint: disable=wrong-import-position

KAFKA = ROOT / "tests" / "kafka" / "kafka"


class Kafka:
    def __init__(self, folder: Path):
        self.folder = folder
        port = reserve_ports()
        self.bootstrap = f"127.0.0.1:{port}"
        try:
            self.call("start", "--port", str(port))
        except BaseException:  # also the end of this program
            self.drop()
            raise

    def call(self, *args: str) -> None:
        done = subprocess.run([str(KAFKA), *args, "--dir", str(self.folder)], capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"kafka {args[0]}: {done.stderr.strip()}")

    def drop(self) -> None:
        self.call("drop")


class Postgres:
    """A server of Debian's package. PostgreSQL refuses to run as root, so then the user postgres runs it."""

    def __init__(self, settings: tuple[str, ...] = ()):
        self.folder = Path(tempfile.mkdtemp(prefix="shop-postgres."))
        self.user: dict[str, Any] = {}
        if os.getuid() == 0:
            postgres = pwd.getpwnam("postgres")
            os.chown(self.folder, postgres.pw_uid, postgres.pw_gid)
            self.user = {"user": postgres.pw_uid, "group": postgres.pw_gid, "extra_groups": []}
        self.port = reserve_ports()
        self.run("initdb", "-D", "data", "-U", "shop", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-instructions")
        options = [f"port={self.port}", "listen_addresses=127.0.0.1", f"unix_socket_directories={self.folder}",
                   "max_connections=60", "wal_level=logical", *settings]
        with open(self.folder / "log", "ab") as log:
            # The kernel ends it if this program is killed.
            self.process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "QUIT", program("postgres"), "-D", "data",
                 *(part for option in options for part in ("-c", option))],
                cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log, **self.user)
        self.wait()

    def run(self, name: str, *args: str) -> None:
        done = subprocess.run([program(name), *args], cwd=self.folder, capture_output=True, text=True, check=False,
                              **self.user)
        if done.returncode:
            raise RuntimeError(f"{name}: {done.stderr.strip()}")

    def wait(self) -> None:
        for _ in range(300):
            try:
                self.connect(self.url("postgres")).close()
                return
            except psycopg.OperationalError:
                if self.process.poll() is not None:
                    break
                time.sleep(0.1)
        raise RuntimeError(f"PostgreSQL did not start: {(self.folder / 'log').read_text()[-600:]}")

    def url(self, database: str, user: str = "shop") -> str:
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}"

    def connect(self, url: str) -> psycopg.Connection:
        return psycopg.connect(url, autocommit=True)

    def create(self, database: str, schema: Path) -> str:
        """Makes a database with these tables. Returns its address."""
        with self.connect(self.url("postgres")) as server:
            server.execute(f"create database {database}")
        with self.connect(self.url(database)) as new:
            new.execute(schema.read_text())
        return self.url(database)

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(10)
        shutil.rmtree(self.folder, ignore_errors=True)


def program(name: str) -> str:
    """Returns the path of a program of PostgreSQL. Debian has them in a folder for each version."""
    found = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), key=lambda path: int(path.parts[4]))
    if not found:
        raise RuntimeError(f"no {name}: install the package postgresql")
    return str(found[-1])
