# SPDX-License-Identifier: Apache-2.0
"""What a newer librdkafka changes."""
from __future__ import annotations

import os
from dataclasses import replace

from paths import paths
from place import Place
from processes import NEWER, newer_client
from table import Row


def newer(place: Place, count: int = 200_000) -> list[Row]:
    """Bridge and bare loop on the system's librdkafka, then both on Debian 13's version."""
    rows = [replace(row, what=row.what + " (the system's)") for row in paths(place, count)]
    os.environ["LD_LIBRARY_PATH"] = newer_client()
    try:
        rows += [replace(row, what=row.what + f" ({NEWER})") for row in paths(place, count)]
    finally:
        del os.environ["LD_LIBRARY_PATH"]
    return sorted(rows, key=lambda row: row.what)
