#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The files of the operators' page are those that the binary contains. They import only existing names, in no circle.
They contain no code that turns text into markup or script, and no address of another site. The sections that alerts of the
page and of `delaybridge top` name exist."""
from __future__ import annotations

import gzip
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "bridge" / "admin" / "page"
EMBEDDED = ROOT / "bridge" / "admin" / "embedded.c"
RUNBOOK = "troubleshooting.md"
ALERTS = (PAGE / "alerts.js", ROOT / "bridge" / "commands" / "top_status.c")
BYTES_MAX = 100_000  # that a browser receives
LINES_MAX = 300
FORBIDDEN = {
    r"\b(innerHTML|outerHTML|insertAdjacentHTML|createContextualFragment|DOMParser)\b": "makes markup of text",
    r"\bdocument\.write\b|\beval\(|\bnew Function\b|\bimport\(": "makes script of text",
    r"\bcookie\b(?!s? (and|or|,|so|is))": "uses cookies",
    r"(?<!xmlns=\")https?://(?!www\.w3\.org/2000/svg|\$\{admin\})": "names another site",
    r"<script(?![^>]*\bsrc=)|<style\b|\sstyle=|\son[a-z]+=": "is inline, which the content security policy forbids",
    r"url\(": "loads another file",
}
IMPORT = re.compile(r"import \{(.*?)\} from \"\./(.*?)\";", re.S)
EXPORT = re.compile(r"export (?:async )?(?:function\*?|const|let|class) (\w+)")


def code_of(text: str) -> str:
    """Returns the text without comments."""
    return re.sub(r"^\s*//.*$|/\*.*?\*/|<!--.*?-->", "", text, flags=re.M | re.S)


def imports_of(text: str) -> list[tuple[str, str]]:
    return [(name.strip(), source) for names, source in IMPORT.findall(text) for name in names.split(",") if name.strip()]


def faults_of_module(name: str, text: str, exports: dict[str, set[str]]) -> list[str]:
    rest = IMPORT.sub("", text)
    found = []
    for imported, source in imports_of(text):
        if imported not in exports.get(source, set()):
            found.append(f"{name}: imports {imported}, which {source} does not export")
        elif not re.search(rf"\b{imported}\b", rest):
            found.append(f"{name}: does not use {imported}")
    return found


def circle(arrows: dict[str, set[str]]) -> list[str]:
    done: set[str] = set()

    def walk(node: str, path: list[str]) -> list[str]:
        if node in path:
            return path[path.index(node):] + [node]
        if node in done:
            return []
        for after in sorted(arrows.get(node, ())):
            if found := walk(after, [*path, node]):
                return found
        done.add(node)
        return []

    return next((found for node in sorted(arrows) if (found := walk(node, []))), [])


def faults_of_sections() -> list[str]:
    headings = re.findall(r"^#+ (.*)$", (ROOT / "docs" / RUNBOOK).read_text(), re.M)
    known = {re.sub(r"[^a-z0-9-]", "", heading.lower().replace(" ", "-")) for heading in headings}
    named = {(path, section) for path in ALERTS for section in re.findall(r'"([a-z]+(?:-[a-z]+)+)"', path.read_text())}
    found = [f"{path.name}: {RUNBOOK} has no section {section}" for path, section in sorted(named) if section not in known]
    return found if named else ["no alert names a section"]


def faults() -> list[str]:
    files = {path.name: path.read_text() for path in sorted(PAGE.iterdir()) if path.name != "README.md"}
    embedded = set(re.findall(r'FILE\(\w+, "([^"]+)"', EMBEDDED.read_text()))
    found = faults_of_sections()
    found += [f"embedded.c does not contain {name}" for name in files.keys() - embedded]
    found += [f"embedded.c contains {name}, which the folder does not have" for name in embedded - files.keys() - {RUNBOOK}]
    modules = {name: text for name, text in files.items() if name.endswith(".js")}
    exports = {name: set(EXPORT.findall(text)) for name, text in modules.items()}
    for name, text in files.items():
        if name != "icon.svg" and "SPDX-License-Identifier" not in "".join(text.splitlines()[:2]):
            found.append(f"{name}: has no license")
        found += [f"{name}: {match.group()!r} {why}" for pattern, why in FORBIDDEN.items()
                  for match in re.finditer(pattern, code_of(text))]
    for name, text in modules.items():
        found += faults_of_module(name, text, exports)
        used = {imported for other in modules.values() for imported, source in imports_of(other) if source == name}
        found += [f"{name}: no module uses {one}" for one in exports[name] - used]
        if len(text.splitlines()) > LINES_MAX:
            found.append(f"{name}: has more than {LINES_MAX} lines")
    if ring := circle({name: {source for _, source in imports_of(text)} for name, text in modules.items()}):
        found.append(f"modules import each other in a circle: {' -> '.join(ring)}")
    size = sum(len(gzip.compress(text.encode())) for text in files.values())
    if size > BYTES_MAX:
        found.append(f"the page has {size:,} bytes, compressed")
    return found


def main() -> int:
    found = faults()
    files = [path for path in PAGE.iterdir() if path.name != "README.md"]
    size = sum(len(gzip.compress(path.read_bytes())) for path in files)
    print("\n".join(found) or f"page: {len(files)} files, {size:,} bytes compressed")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
