# SPDX-License-Identifier: Apache-2.0
"""The files of a release: built by the command for maintainers, and then used as a user would."""
from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

import tools
from parts import CACHE, CHART, DEPLOY, ROOT, World, need_root, part, require, run

TOOL = DEPLOY / "release" / "release.py"


def version() -> str:
    return re.search(r"project\(delaybridge VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())[1]


def built(world: World, *parts: str, twice: bool = False) -> Path:
    out = world.folder / f"release-{parts[0]}"
    run(sys.executable, TOOL, version(), "--draft", "--out", out, *([] if twice else ["--once"]), "--only", *parts)
    run("sha256sum", "--quiet", "-c", "SHA256SUMS", cwd=out)
    for path in out.glob("*.cdx.json"):
        materials(path)
    return out


def materials(path: Path) -> None:
    """Checks a bill of materials: by the schema of CycloneDX, and for the libraries that must be in it."""
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator
    faults = JsonStrictValidator(SchemaVersion.V1_5).validate_str(path.read_text())
    require(faults is None, f"{path.name}: {faults}")
    names = {component["name"] for component in json.loads(path.read_text())["components"]}
    require({"librdkafka1", "libc6", "libyaml-0-2", "libjansson4", "libjemalloc2"} <= names, f"{path.name} has only {names}")
    licenses = path.with_name(path.name.removesuffix(".cdx.json") + ".licenses.txt").read_text()
    missing = [name for name in names if f"\n{name} " not in licenses]
    require(not missing, f"the licenses of {path.name} lack {missing}")


@part("release.source", quick=True)
def source(world: World) -> str:
    """Source archive and chart are the same twice. Helm installs the chart as it does the folder of the sources."""
    out = built(world, "source", "chart", twice=True)
    name = f"delaybridge-{version()}"
    run("tar", "-C", out, "-xzf", out / f"{name}.tar.gz")
    arguments = ("template", "bridge", "--kube-version", "1.34.0", "-f", CHART / "ci" / "least.yaml")
    packed = run(tools.helm(), *arguments, out / f"{name}.tgz").stdout
    plain = run(tools.helm(), *arguments, out / name / "deploy" / "helm" / "delaybridge").stdout
    require(packed == plain and packed.count("\nkind: ") > 3, f"the chart's package differs: {packed[:600]}")
    notes = (out / f"{name}.notes.md").read_text()
    require(notes in (ROOT / "CHANGELOG.md").read_text() and "### Added" in notes and "\n## [" not in notes, f"the notes: {notes[:600]}")
    return f"{name}.tar.gz, {name}.tgz"


@part("release.packages")
def packages(world: World) -> str:
    """The packages of both Debians are the same twice, and install and run in their Debian."""
    need_root("chroot")
    out = built(world, "bookworm", "trixie", twice=True)
    commit = run("git", "-C", ROOT, "rev-parse", "--short=10", "HEAD").stdout.strip()
    seen = []
    for package in sorted(out.glob("*.deb")):
        if shutil.which("lintian"):
            said = run("lintian", "--allow-root", "--fail-on", "error,warning", package).stdout
            require(not said.strip(), said)
        suite = "bookworm" if "~deb12" in package.name else "trixie"
        seen.append(installed(world, package, suite, commit))
    require(len(seen) >= 2, f"{seen}")
    return "; ".join(seen)


def installed(world: World, package: Path, suite: str, commit: str) -> str:
    root = world.folder / suite
    root.mkdir()
    run("tar", "-C", root, "-xf", CACHE / "deploy-base" / f"{suite}-slim.tar")
    shutil.copy("/etc/resolv.conf", root / "etc" / "resolv.conf")
    shutil.copy(package, root / "delaybridge.deb")
    run("chroot", root, "apt-get", "update", "-qq")
    run("chroot", root, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "-qq", "-y", "--no-install-recommends",
        "/delaybridge.deb")
    said = run("chroot", root, "delaybridge", "version").stdout
    require(commit in said, f"{package.name} does not print the commit: {said}")
    shutil.rmtree(root)
    return f"{package.name} in {suite}: {' '.join(said.split())}"


@part("release.images")
def images(world: World) -> str:
    """The images of both architectures are the same twice, and their programs run, that of arm64 in an emulator."""
    need_root("buildah")
    out = built(world, "image", "image-arm64", twice=True)
    commit = run("git", "-C", ROOT, "rev-parse", "--short=10", "HEAD").stdout.strip()
    seen = []
    for archive in sorted(out.glob("*.tar")):
        root = unpacked(archive, world.folder / archive.stem)
        emulator = emulated(root) if "arm64" in archive.name else ["chroot", "--userspec=65532:65532", root, "/usr/bin/delaybridge"]
        said = run(*emulator, "version").stdout
        require(commit in said, f"{archive.name} does not print the commit: {said}")
        seen.append(f"{archive.name}, {archive.stat().st_size / 2**20:.0f} MiB: {' '.join(said.split())}")
    require(len(seen) == 2, f"{seen}")
    return "; ".join(seen)


@part("release.arm64")
def arm64(world: World) -> str:
    """The packages for arm64 depend on the libraries of their Debian. Their programs run in an emulator, with those of the image."""
    need_root("buildah")
    out = built(world, "bookworm-arm64", "trixie-arm64", "image-arm64")
    [archive] = out.glob("*.tar")
    root = unpacked(archive, world.folder / "arm64")
    commit, seen = run("git", "-C", ROOT, "rev-parse", "--short=10", "HEAD").stdout.strip(), []
    for package in sorted(out.glob("*.deb")):
        fields = run("dpkg-deb", "-f", package, "Architecture", "Depends").stdout
        renamed = "t64" if "~deb13" in package.name else ""
        require("Architecture: arm64" in fields and f"libmicrohttpd12{renamed} " in fields, f"{package.name}: {fields}")
        run("dpkg-deb", "-x", package, root / "package")
        shutil.move(root / "package/usr/bin/delaybridge", root / "usr/bin/delaybridge")
        said = run(*emulated(root), "version").stdout
        require(commit in said, f"{package.name} does not print the commit: {said}")
        seen.append(f"{package.name}: {' '.join(said.split())}")
    require(len(seen) == 2, f"{seen}")
    return "; ".join(seen)


def emulated(root: Path) -> list:
    qemu = shutil.which("qemu-aarch64-static") or shutil.which("qemu-aarch64")
    require(qemu, "no qemu-aarch64-static (qemu-user-static)")
    return [qemu, "-L", root, root / "usr/bin/delaybridge"]


def unpacked(archive: Path, folder: Path) -> Path:
    """Unpacks the layers of an OCI archive. Returns the file system of the image."""
    root = folder / "root"
    root.mkdir(parents=True)
    run("tar", "-C", folder, "-xf", archive)

    def blob(digest: str) -> Path:
        return folder / "blobs" / digest.replace(":", "/")
    index = json.loads((folder / "index.json").read_text())
    for layer in json.loads(blob(index["manifests"][0]["digest"]).read_text())["layers"]:
        run("tar", "-C", root, "-xzf", blob(layer["digest"]))
    return root
