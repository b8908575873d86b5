# SPDX-License-Identifier: Apache-2.0
"""The machinery of the tests: ports for brokers and servers, and the error that blames this machinery."""
from __future__ import annotations

import os
import socket
from pathlib import Path

LOWEST, BLOCK = 10_000, 120
RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")  # of the ports that the kernel gives to connections
reserved: list[int] = []  # file descriptors of sockets on the last port of each block, open until this process ends


class HarnessError(RuntimeError):
    """The machinery failed, not the product: a port, a download, a broker's start, or a client of the tests."""


def blocks(low: int, high: int) -> list[int]:
    """Returns the first port of each block, those outside the range of connections first."""
    firsts = range(LOWEST, 65_536 - BLOCK, BLOCK)
    start = os.getpid() % len(firsts)
    return sorted([*firsts[start:], *firsts[:start]], key=lambda first: first <= high and first + BLOCK > low)


def reserve_ports() -> int:
    """Returns the first of BLOCK - 1 free ports. No other caller on this machine gets them before this process ends, even
    while their server is stopped. Most kernels then give none of them to a connection either."""
    for first in blocks(*map(int, RANGE.read_text().split())):
        guard = socket.socket()
        try:
            guard.bind(("127.0.0.1", first + BLOCK - 1))
            for port in range(first, first + BLOCK - 1):
                with socket.socket() as probe:
                    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                    probe.bind(("127.0.0.1", port))
            reserved.append(guard.detach())
            return first
        except OSError:
            guard.close()
    raise HarnessError("no free ports")
