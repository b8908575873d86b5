# SPDX-License-Identifier: Apache-2.0
"""The version in all files that contain it. CMakeLists.txt decides, and the other files follow it.

  version.py             print the version, and fail if a file has another one
  version.py set X.Y.Z   write it to all files, and date the section of the changelog
"""
from __future__ import annotations

import datetime
import re
import sys
from pathlib import Path

from common import ROOT, Refused

NUMBER = r"\d+\.\d+\.\d+"
SOURCE = "CMakeLists.txt"
CHANGELOG = "CHANGELOG.md"
DEBIAN = "deploy/deb/changelog"
# The text before each version. Each place has at least one.
PLACES = {
    SOURCE: r"project\(delaybridge VERSION ",
    "deploy/Dockerfile": r"^ARG VERSION=",
    "deploy/compose.yaml": r"image: delaybridge:",
    "deploy/helm/delaybridge/Chart.yaml": r"^(?:version|appVersion): ",
    "deploy/helm/delaybridge/tests/workload_test.yaml": r"value: \"delaybridge:",
    "deploy/helm/delaybridge/tests/around_test.yaml": r"https://docs\.example/",
}
UNRELEASED = "## [Unreleased]\n"
HEADING = re.compile(rf"^## \[({NUMBER})\] - (\S+)$", re.M)


def read(name: str) -> str:
    return (ROOT / name).read_text()


def found(name: str) -> list[str]:
    return re.findall(f"{PLACES[name]}({NUMBER})", read(name), re.M)


def current() -> str:
    return found(SOURCE)[0]


def newest_of_debian() -> str:
    return re.findall(rf"^delaybridge \(({NUMBER})\)", read(DEBIAN), re.M)[0]


def disagreements() -> list[str]:
    """Returns a sentence for each file with another version than CMakeLists.txt."""
    wanted = current()
    places = {**{name: found(name) for name in PLACES}, DEBIAN: [newest_of_debian()]}
    return [f"{name} has {' and '.join(sorted(set(versions))) or 'no version'}, {SOURCE} has {wanted}"
            for name, versions in places.items() if set(versions) != {wanted}]


def faults_of_changelog(version: str) -> list[str]:
    """Returns a sentence for each reason why the changelog does not describe a release of this version today."""
    text = read(CHANGELOG)
    sections = HEADING.findall(text)
    if not sections or sections[0][0] != version:
        return [f"the newest section of {CHANGELOG} is not [{version}]"]
    faults = []
    try:
        datetime.date.fromisoformat(sections[0][1])
    except ValueError:
        faults.append(f"the section [{version}] of {CHANGELOG} has no date")
    if UNRELEASED in text and text.split(UNRELEASED)[1].split("\n## ")[0].strip():
        faults.append(f"{CHANGELOG} has changes under [Unreleased]")
    return faults


def notes(changelog: str, version: str) -> str:
    """Returns the text of the section of a version, or of the unreleased changes if it has none."""
    sections = re.split(r"^## ", changelog, flags=re.M)
    for name in (f"[{version}]", "[Unreleased]"):
        for section in sections:
            if section.startswith(name):
                return section.split("\n", 1)[1].strip() + "\n"
    raise Refused(f"{CHANGELOG} has neither a section [Unreleased] nor [{version}]")


def set_all(version: str, now: datetime.datetime) -> list[Path]:
    """Writes the version to all places. Returns the files."""
    if not re.fullmatch(NUMBER, version):
        raise Refused(f"a version is three numbers such as 0.2.0, not \"{version}\"")
    if UNRELEASED not in read(CHANGELOG) and f"## [{version}]" not in read(CHANGELOG):
        raise Refused(f"{CHANGELOG} has neither a section [Unreleased] nor [{version}]")
    for name, before in PLACES.items():
        write(name, re.sub(f"({before}){NUMBER}", rf"\g<1>{version}", read(name), flags=re.M))
    entry = (f"delaybridge ({version}) unstable; urgency=medium\n\n  * The changes are in CHANGELOG.md.\n\n"
             f" -- @MAINTAINER@  {now:%a, %d %b %Y %H:%M:%S} +0000\n")
    older = read(DEBIAN)
    if newest_of_debian() == version:
        older = "\n".join(older.split("\n -- ", 1)[1].split("\n")[1:]).lstrip("\n")
    write(DEBIAN, entry + ("\n" + older if older else ""))
    text, dated = read(CHANGELOG), f"## [{version}] - {now:%Y-%m-%d}\n"
    if UNRELEASED in text and f"## [{version}]" not in text:
        text = text.replace(UNRELEASED, dated, 1)
    else:
        text = re.sub(rf"^## \[{re.escape(version)}\].*\n", dated, text, count=1, flags=re.M)
    write(CHANGELOG, text)
    return [ROOT / name for name in (*PLACES, DEBIAN, CHANGELOG)]


def write(name: str, text: str) -> None:
    (ROOT / name).write_text(text)


def main() -> int:
    if sys.argv[1:2] == ["set"] and len(sys.argv) == 3:
        set_all(sys.argv[2], datetime.datetime.now(datetime.timezone.utc))
    faults = disagreements()
    for fault in faults:
        print(f"version: {fault}", file=sys.stderr)
    print(f"version: {current()} in {len(PLACES) + 1} files, {len(faults)} disagree")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
