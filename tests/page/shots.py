#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Takes the pictures of docs/page.md from a running process:

  ./dev e2e --list >/dev/null                     # once: the cache
  $DEV_CACHE/venv/bin/python tests/page/shots.py http://127.0.0.1:9405/ TOKEN_FILE ID [FOLDER]

ID is that of a request that waits. The process needs traffic for as many minutes as RANGE, as that of gallery.py. A
picture has 160 colors, so that it is small."""
from __future__ import annotations

import sys
from pathlib import Path
from urllib.parse import urlencode

from PIL import Image
from playwright.sync_api import Page, sync_playwright

IMAGES = Path(__file__).resolve().parent.parent.parent / "docs" / "images"
COLORS = 160
BYTES_MAX = 150_000
WIDTHS = (360, 900, 1600)
THEMES = ("light", "dark")
RANGE = "15 min"


def small(path: Path) -> None:
    with Image.open(path) as picture:
        picture.convert("RGB").quantize(COLORS, dither=Image.Dither.NONE).save(path, optimize=True)
    if path.stat().st_size > BYTES_MAX:
        sys.exit(f"{path} has {path.stat().st_size:,} bytes")


def take(page: Page, name: str, folder: Path) -> None:
    path = folder / f"{name}.png"
    page.evaluate("scrollTo(0, 0)")
    page.screenshot(path=path, full_page=True)
    small(path)
    print(f"{path}: {path.stat().st_size:,} bytes")


def take_all(url: str, token: str, request: str, folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        for theme in THEMES:
            for width in WIDTHS:
                page = chromium.new_page(viewport={"width": width, "height": 800}, color_scheme=theme)
                page.goto(f"{url}#token={token}")
                page.wait_for_selector('[aria-label*="in the next hour"]')
                page.get_by_role("button", name=RANGE, exact=True).click()
                page.wait_for_timeout(4000)  # until all figures and rates are there
                take(page, f"page-{width}-{theme}", folder)
                page.close()
            page = chromium.new_page(viewport={"width": 1100, "height": 700}, color_scheme=theme)
            page.goto(f"{url}#token={token}")
            page.wait_for_selector("#pill:not(.idle)")
            page.evaluate("query => { location.hash = '#/find?' + query; }", urlencode({"by": "id", "text": request}))
            page.wait_for_selector(".life .now")
            page.get_by_text("Accepted").first.wait_for()
            take(page, f"page-find-{theme}", folder)
            page.close()
        chromium.close()


def main() -> None:
    folder = Path(sys.argv[4]) if len(sys.argv) > 4 else IMAGES
    take_all(sys.argv[1], Path(sys.argv[2]).read_text().strip(), sys.argv[3], folder)


if __name__ == "__main__":
    main()
