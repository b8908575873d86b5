# SPDX-License-Identifier: Apache-2.0
"""Each path of a record once more, under conditions that are not the usual ones."""
from __future__ import annotations

from dataclasses import replace

import forwarding
import lateness
from place import Place
from table import Row


def paths(place: Place, count: int) -> list[Row]:
    """Hop, intake, delivery, and how late; figures that are stated, without goals."""
    rows = []
    for part in (lambda: forwarding.hop(place, 2 * count), lambda: forwarding.intake(place, count),
                 lambda: forwarding.delivery(place, count), lambda: lateness.late_1000(place)):
        rows += [replace(row, goal="stated", reached=True) for row in part()]
        place.clear()
    return rows
