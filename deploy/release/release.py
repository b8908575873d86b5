#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the files of a release from the current commit, into build/release-X.Y.Z.

Each file is built twice, in different folders, and the release fails if the two differ. docs/internals/releasing.md
describes a release from the first step to the last one."""
from __future__ import annotations

import argparse
import datetime
import shutil
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Callable

import deb
import oci
import source
import version
from common import CACHE, ROOT, Refused, Release, git, sha256
from debian import FIRST, SECOND

# Each writes its files to a folder, from the source archive of the release, with these variables in the environment.
PARTS: dict[str, Callable[[Release, Path, Path, dict[str, str]], None]] = {
    "source": source.archive,
    "chart": source.chart,
    "bookworm": partial(deb.package, "bookworm", "amd64"),
    "trixie": partial(deb.package, "trixie", "amd64"),
    "bookworm-arm64": partial(deb.package, "bookworm", "arm64"),
    "trixie-arm64": partial(deb.package, "trixie", "arm64"),
    "image": partial(oci.image, "amd64"),
    "image-arm64": partial(oci.image, "arm64"),
}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="dev release", description=__doc__.splitlines()[0])
    parser.add_argument("version", metavar="X.Y.Z")
    parser.add_argument("--prepare", action="store_true", help="write the version to all files, date the changelog, and commit")
    parser.add_argument("--tag", action="store_true", help="tag the commit when all files are built")
    parser.add_argument("--draft", action="store_true", help="skip the checks of the changelog and of uncommitted changes")
    parser.add_argument("--once", action="store_true", help="do not build a second time")
    parser.add_argument("--only", metavar="PART", nargs="+", choices=PARTS, help=f"build only some of {', '.join(PARTS)}")
    parser.add_argument("--out", type=Path, help="the folder of the files")
    return parser.parse_args()


def prepare(wanted: str) -> int:
    require_clean()
    files = version.set_all(wanted, datetime.datetime.now(datetime.timezone.utc))
    faults = version.disagreements() + version.faults_of_changelog(wanted)
    if faults:
        raise Refused("\n".join(faults))
    git("commit", "-q", "-m", f"release: {wanted}", "--", *map(str, files))
    print(f"release: committed {wanted}. Next: ./dev release {wanted}")
    return 0


def require_clean() -> None:
    changed = git("status", "--porcelain")
    if changed:
        raise Refused(f"there are changes that are not committed:\n{changed}")


def checked(options: argparse.Namespace) -> Release:
    faults = version.disagreements()
    if version.current() != options.version:
        faults.append(f"the version is {version.current()}, not {options.version}")
    if not options.draft:
        require_clean()
        faults += version.faults_of_changelog(options.version)
        if git("tag", "--list", f"v{options.version}"):
            raise Refused(f"the tag v{options.version} exists")
    if faults:
        raise Refused("\n".join([*faults, f"run: ./dev release {options.version} --prepare"]))
    return Release(options.version, git("rev-parse", "HEAD"), int(git("log", "-1", "--format=%ct")))


def build(release: Release, names: list[str], out: Path, folder: Path) -> None:
    """Builds the parts from a source archive in folder. The second build has another environment."""
    settings = FIRST if folder.name == "one" else SECOND
    folder.mkdir(parents=True)
    out.mkdir(parents=True)
    given = source.pack(release, folder)
    for name in names:
        print(f"release: {name}", file=sys.stderr, flush=True)
        PARTS[name](release, given, out, settings)


def table(first: Path, second: Path | None) -> int:
    """Prints the files, and writes SHA256SUMS. Returns the number of files that the second build made differently."""
    different, lines = 0, []
    for path in sorted(first.iterdir()):
        digest, same = sha256(path), ""
        if second:
            equal = (second / path.name).exists() and sha256(second / path.name) == digest
            same = "the same twice" if equal else "DIFFERENT"
            different += not equal
        lines.append(f"{digest}  {path.name}\n")
        print(f"{path.name:44} {path.stat().st_size:11,} {digest[:16]}  {same}")
    (first / "SHA256SUMS").write_text("".join(lines))
    return different


def main() -> int:
    options = arguments()
    if options.prepare:
        return prepare(options.version)
    release = checked(options)
    out = (options.out or ROOT / "build" / f"release-{release.version}").resolve()
    shutil.rmtree(out, ignore_errors=True)
    names = options.only or list(PARTS)
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="release.", dir=CACHE) as scratch:
        build(release, names, out, Path(scratch) / "one")
        again = None if options.once else Path(scratch) / "again"
        if again:
            build(release, names, again, Path(scratch) / "a-second-folder")
        different = table(out, again)
    if different:
        raise Refused(f"files that differ between the two builds: {different}")
    tag = ("tag", "-a", f"v{release.version}", "-m", f"Delaybridge {release.version}", release.commit)
    if options.tag:
        git(*tag)
    print(f"release: {out}\nrelease: " + (f"tagged v{release.version}" if options.tag else
                                          f"to tag it: git tag -a v{release.version} -m 'Delaybridge {release.version}' {release.commit[:10]}"))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Refused as refused:
        print(f"release: {refused}", file=sys.stderr)
        sys.exit(1)
