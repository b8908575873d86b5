# SPDX-License-Identifier: Apache-2.0
"""Each path of a record under unusual conditions."""
from __future__ import annotations

from dataclasses import replace

import forwarding
from place import Place
from table import STATED, Row


def rates(place: Place, count: int) -> list[Row]:
    """Measures hop, intake and delivery, without goals."""
    return [stated(row) for rows in (forwarding.hop(place, 2 * count), forwarding.intake(place, count),
                                     forwarding.delivery(place, count)) for row in rows]


def stated(row: Row) -> Row:
    return replace(row, goal=STATED, reached=row.sound)
