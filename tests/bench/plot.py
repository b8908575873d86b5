# SPDX-License-Identifier: Apache-2.0
"""Small multiples as an SVG: a column for each varied quantity, a row for each unit."""
from __future__ import annotations

from math import ceil, floor, log10
from pathlib import Path

PANEL_W, PANEL_H, GAP, LEFT, TOP, ROW_H = 118, 104, 18, 52, 52, 178
STYLE = """<style>
svg { --paper: #ffffff; --ink: #1f2328; --soft: #59636e; --grid: #e4e7eb; --one: #2563b8; --two: #c2571a }
@media (prefers-color-scheme: dark) {
  svg { --paper: #0d1117; --ink: #e6edf3; --soft: #9198a1; --grid: #262c34; --one: #6cb0ff; --two: #f29a5c }
}
text { font: 11px system-ui, sans-serif; fill: var(--soft) }
.title { font-size: 12px; font-weight: 600; fill: var(--ink) }
.grid { stroke: var(--grid) }
.one { stroke: var(--one); fill: var(--one) } .two { stroke: var(--two); fill: var(--two) }
polyline { fill: none !important; stroke-width: 2; stroke-linejoin: round }
</style>"""
TONES = ("one", "two")
Series = dict[str, dict[str, list[float]]]  # by name, then by varied quantity


class Scale:
    """Maps a value to its height in a panel, from 0 to 1."""

    def __init__(self, values: list[float], powers: bool):
        self.powers = powers
        least, most = min(values), max(values)
        if powers:
            self.marks = [10.0 ** p for p in range(floor(log10(least)), ceil(log10(most)) + 1)]
            return
        power = 10 ** floor(log10(most / 3))
        step = next(power * m for m in (1, 2, 2.5, 5, 10) if power * m * 4 >= most)
        self.marks = [step * n for n in range(ceil(most / step) + 1)]

    def share(self, value: float) -> float:
        if self.powers:
            return log10(value / self.marks[0]) / log10(self.marks[-1] / self.marks[0])
        return value / self.marks[-1]


def text(x: float, y: float, what: str, anchor: str = "middle", kind: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" class="{kind}">{what}</text>'


def legend(y: float, title: str, names: list[str]) -> list[str]:
    out, x = [text(8, y, title, "start", "title")], 8 + 8 * len(title) + 16
    for tone, name in zip(TONES, names):
        out.append(f'<circle cx="{x}" cy="{y - 4}" r="4" class="{tone}"/>' + text(x + 9, y, name, "start"))
        x += 9 + 7 * len(name) + 16
    return out


def panel(x: float, y: float, labels: tuple[str, ...], scale: Scale, lines: list[list[float]]) -> list[str]:
    out = []
    for mark in scale.marks:
        my = y + PANEL_H * (1 - scale.share(mark))
        out.append(f'<line x1="{x}" x2="{x + PANEL_W}" y1="{my:.1f}" y2="{my:.1f}" class="grid"/>')
    columns = [x + 12 + i * (PANEL_W - 24) / (len(labels) - 1) for i in range(len(labels))]
    out += [text(px, y + PANEL_H + 15, label) for px, label in zip(columns, labels)]
    for tone, values in zip(TONES, lines):
        places = [(px, y + PANEL_H * (1 - scale.share(value))) for px, value in zip(columns, values)]
        path = " ".join(f"{px:.1f},{py:.1f}" for px, py in places)
        out.append(f'<polyline points="{path}" class="{tone}"/>')
        out += [f'<circle cx="{px:.1f}" cy="{py:.1f}" r="3" class="{tone}"/>' for px, py in places]
    return out


def write(path: Path, labels: dict[str, tuple[str, ...]], rows: list[tuple[str, bool, Series]]) -> None:
    """Writes the SVG. labels: each varied quantity and its values. rows: title, logarithmic or not, lines. All panels of a
    row share one scale."""
    width, height = LEFT + len(labels) * (PANEL_W + GAP), len(rows) * ROW_H + 8
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">',
           STYLE, f'<rect width="{width}" height="{height}" rx="6" style="fill: var(--paper)"/>']
    for number, (title, powers, series) in enumerate(rows):
        y = number * ROW_H + TOP
        scale = Scale([v for line in series.values() for values in line.values() for v in values], powers)
        out += legend(y - 30, title, list(series))
        out += [text(LEFT - 6, y + PANEL_H * (1 - scale.share(m)) + 4, f"{m:,g}", "end") for m in scale.marks]
        for column, (what, names) in enumerate(labels.items()):
            x = LEFT + column * (PANEL_W + GAP)
            out.append(text(x + PANEL_W / 2, y - 10, what, kind="title"))
            out += panel(x, y, names, scale, [line[what] for line in series.values()])
    path.write_text("\n".join([*out, "</svg>"]) + "\n")
