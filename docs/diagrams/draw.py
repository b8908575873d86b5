#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the pictures of the documents: NAME.txt becomes NAME-light.svg and NAME-dark.svg. README.md describes the sources.

  draw.py           draw all pictures
  draw.py --check   fail if a picture is not the one that its source gives"""
from __future__ import annotations

import math
import sys
from html import escape
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
# Style: fill and line, first in light, then in dark.
STYLES = {
    "you": (("#f6f8fa", "#8c959f"), ("#21262d", "#8b949e")),
    "kafka": (("#ddf4ff", "#0969da"), ("#0c2d4d", "#58a6ff")),
    "bridge": (("#dafbe1", "#1a7f37"), ("#0f2f1c", "#3fb950")),
    "memory": (("#fff1c9", "#bf8700"), ("#37290a", "#d29922")),
    "fault": (("#ffebe9", "#cf222e"), ("#3c1618", "#f85149")),
    "frame": (("none", "#8c959f"), ("none", "#6e7681")),
    "one": (("#ddf4ff", "#0969da"), ("#0c2d4d", "#58a6ff")),
    "two": (("#dafbe1", "#1a7f37"), ("#0f2f1c", "#3fb950")),
    "three": (("#fbefff", "#8250df"), ("#2b1b4d", "#bc8cff")),
}
INK = (("#1f2328", "#59636e"), ("#e6edf3", "#9198a1"))  # text and small text
FONT = "font-family=\"-apple-system,'Segoe UI','Noto Sans','DejaVu Sans',Helvetica,Arial,sans-serif\""


class Picture:
    def __init__(self, dark: bool):
        self.dark = dark
        self.parts: list[str] = []
        self.boxes: dict[str, tuple[float, ...]] = {}
        self.ink, self.small = INK[dark]
        self.width = self.height = 0.0

    def colors(self, style: str) -> tuple[str, str]:
        return STYLES[style][self.dark]

    def text(self, x: float, y: float, words: str, size: float = 14, anchor: str = "middle", small: bool = False,
             bold: bool = False) -> None:
        weight = ' font-weight="600"' if bold else ""
        self.parts.append(f'<text x="{x:g}" y="{y:g}" font-size="{size:g}" text-anchor="{anchor}"{weight} '
                          f'fill="{self.small if small else self.ink}">{escape(words)}</text>')

    def box(self, name: str, place: list[float], style: str, lines: list[str]) -> None:
        x, y, w, h = place
        fill, line = self.colors(style)
        dashed = ' stroke-dasharray="5 4"' if style == "frame" else ""
        self.parts.append(f'<rect x="{x:g}" y="{y:g}" width="{w:g}" height="{h:g}" rx="8" fill="{fill}" stroke="{line}" '
                          f'stroke-width="1.5"{dashed}/>')
        self.boxes[name] = (x, y, w, h)
        if style == "frame":
            if lines:
                self.text(x + 12, y + 20, lines[0], 13, "start", small=True, bold=True)
            return
        top = y + h / 2 - 9 * (len(lines) - 1)
        for n, words in enumerate(lines):
            self.text(x + w / 2, top + 18 * n + 5, words, 14 if n == 0 else 12, small=n > 0, bold=n == 0)

    def port(self, end: str) -> tuple[float, float]:
        """The point NAME.SIDE, or NAME.SIDE+N for N pixels along that side from its middle."""
        name, side = end.split(".")
        shift = 0.0
        for sign in "+-":
            if sign in side:
                side, number = side.split(sign)
                shift = float(number) * (1 if sign == "+" else -1)
        x, y, w, h = self.boxes[name]
        return {"left": (x, y + h / 2 + shift), "right": (x + w, y + h / 2 + shift),
                "top": (x + w / 2 + shift, y), "bottom": (x + w / 2 + shift, y + h)}[side]

    def arrow(self, ends: list[str], words: str) -> None:
        points = [self.port(end) if "." in end and "," not in end else tuple(map(float, end.split(","))) for end in ends]
        path = "M" + " L".join(f"{x:g} {y:g}" for x, y in points)
        self.parts.append(f'<path d="{path}" fill="none" stroke="{self.small}" stroke-width="1.6" '
                          f'stroke-linejoin="round" marker-end="url(#head)"/>')
        if words:
            (x1, y1), (x2, y2) = max(zip(points, points[1:]), key=lambda pair: math.dist(*pair))
            upright = abs(x2 - x1) < abs(y2 - y1)
            self.text((x1 + x2) / 2 + (8 if upright else 0), (y1 + y2) / 2 + (4 if upright else -7), words, 12,
                      "start" if upright else "middle", small=True)

    def ring(self, place: list[float], slots: int, style: str) -> None:
        """A ring around x, y between two radii, cut into slots."""
        x, y, inner, outer = place
        fill, line = self.colors(style)
        middle = (inner + outer) / 2
        self.parts.append(f'<circle cx="{x:g}" cy="{y:g}" r="{middle:g}" fill="none" stroke="{fill}" '
                          f'stroke-width="{outer - inner:g}"/>')
        for radius in (inner, outer):
            self.parts.append(f'<circle cx="{x:g}" cy="{y:g}" r="{radius:g}" fill="none" stroke="{line}" '
                              f'stroke-width="1.2"/>')
        for n in range(slots):
            angle = 2 * math.pi * n / slots
            a, b = (inner, outer)
            self.parts.append(f'<path d="M{x + a * math.sin(angle):.1f} {y - a * math.cos(angle):.1f} '
                              f'L{x + b * math.sin(angle):.1f} {y - b * math.cos(angle):.1f}" stroke="{line}" '
                              f'stroke-width="0.7"/>')

    def svg(self, title: str) -> str:
        return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width:g} {self.height:g}" '
                f'width="{self.width:g}" height="{self.height:g}" role="img" {FONT}>\n<title>{escape(title)}</title>\n'
                f'<defs><marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" '
                f'orient="auto-start-reverse"><path d="M0 0 L10 5 L0 10 z" fill="{self.small}"/></marker></defs>\n'
                + "\n".join(self.parts) + "\n</svg>\n")


def draw(source: str, dark: bool) -> str:
    picture, title = Picture(dark), ""
    for line in source.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        left, *words = [part.strip() for part in line.split("|")]
        kind, *rest = left.split()
        if kind == "picture":
            picture.width, picture.height, title = float(rest[0]), float(rest[1]), words[0]
        elif kind == "box":
            picture.box(rest[0], [float(n) for n in rest[1:5]], rest[5], words)
        elif kind == "arrow":
            picture.arrow(rest, words[0] if words else "")
        elif kind == "ring":
            picture.ring([float(n) for n in rest[:4]], int(rest[4]), rest[5])
        elif kind in ("text", "label", "note"):
            picture.text(float(rest[0]), float(rest[1]), words[0], {"text": 14, "label": 13, "note": 12}[kind],
                         rest[2] if len(rest) > 2 else "middle", small=kind == "note", bold=kind == "label")
        else:
            raise SystemExit(f"draw: no such thing: {line}")
    return picture.svg(title)


def main() -> int:
    stale = []
    for source in sorted(FOLDER.glob("*.txt")):
        for dark in (False, True):
            picture = source.with_name(f"{source.stem}-{'dark' if dark else 'light'}.svg")
            wanted = draw(source.read_text(), dark)
            if "--check" not in sys.argv:
                picture.write_text(wanted)
            elif not picture.exists() or picture.read_text() != wanted:
                stale.append(picture.name)
    if stale:
        print(f"diagrams: {', '.join(stale)}: not the picture of its source, fixed by docs/diagrams/draw.py")
        return 1
    print("diagrams: all pictures are those of their sources")
    return 0


if __name__ == "__main__":
    sys.exit(main())
