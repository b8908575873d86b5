# SPDX-License-Identifier: Apache-2.0
"""The Debian package: built, checked by lintian, installed in a separate Debian, run and removed."""
from __future__ import annotations

import contextlib
import re
import shutil
import subprocess
from pathlib import Path

from confluent_kafka.admin import NewTopic

from broker import Broker, journey, reserve_ports
from image import await_ready, base_tar
from parts import ROOT, Skip, World, need_root, part, require, run

CONFIG = "/etc/delaybridge/delaybridge.yaml"
WANTED = ("/usr/bin/delaybridge", CONFIG, "/lib/systemd/system/delaybridge.service",
          "/usr/share/doc/delaybridge/copyright", "/usr/share/doc/delaybridge/changelog.gz",
          "/usr/share/doc/delaybridge/RUNBOOK.md", "/usr/share/doc/delaybridge/CHANGELOG.md", "/usr/share/man/man1/delaybridge.1.gz",
          "/usr/share/bash-completion/completions/delaybridge", "/usr/share/zsh/vendor-completions/_delaybridge")


def built(world: World) -> Path:
    """Builds the package, once a run."""
    if "deb" not in world.notes:
        recipe = world.binary.parent / "CPackConfig.cmake"
        require(recipe.exists(), f"{recipe} is not there: ./dev build")
        if shutil.which("dpkg-shlibdeps") is None:
            raise Skip("dpkg-shlibdeps is not installed (dpkg-dev)")
        run("cpack", "--config", recipe, "-B", world.folder / "deb")
        world.notes["deb"] = next((world.folder / "deb").glob("*.deb"))
    return world.notes["deb"]


@part("package.lintian")
def lintian(world: World) -> str:
    """lintian has no findings about the package, and all files are in it."""
    package = built(world)
    if shutil.which("lintian") is None:
        raise Skip("no lintian here")
    said = run("lintian", "--allow-root", "--fail-on", "error,warning", package).stdout
    require(not said.strip(), said)
    listed = run("dpkg-deb", "-c", package).stdout
    for path in WANTED:
        require(f" .{path}\n" in listed, f"{path} is not in the package")
    depends = run("dpkg-deb", "-f", package, "Depends").stdout.strip()
    require("librdkafka1 (>= 2.0.2)" in depends and "libyaml-0-2" in depends, f"Depends: {depends}")
    return f"{package.name}, {package.stat().st_size / 1024:.0f} KiB, no tag; depends on {depends}"


@part("package.names")
def names(world: World) -> str:
    """A build with another maintainer and another place of the runbook has both in the package, by default the usual ones."""
    usual = contents(built(world), world.folder / "usual")
    require("file:///usr/share/doc/delaybridge/RUNBOOK.md#delaybridgedown" in usual["alerts"], usual["alerts"][:600])
    require("Delaybridge maintainers <" in usual["contact"] and usual["contact"] in usual["changelog"], f"{usual}")
    build = world.folder / "names"
    contact, place = "Ops & Co's <ops@example.org>", "https://docs.example.org/{version}/RUNBOOK.md?a=1&b=2"
    run("cmake", "-S", ROOT, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DBUILD_TESTING=OFF",
        f"-DPACKAGE_MAINTAINER={contact}", f"-DRUNBOOK_URL={place}")
    run("cmake", "--build", build)
    run("cpack", "--config", build / "CPackConfig.cmake", "-B", build / "deb")
    ours = contents(next((build / "deb").glob("*.deb")), world.folder / "ours")
    version = run("dpkg-deb", "-f", next((build / "deb").glob("*.deb")), "Version").stdout.strip()
    require(ours["contact"] == contact and f" -- {contact}  " in ours["changelog"], f"{ours['contact']}: {ours['changelog']}")
    link = place.replace("{version}", version)
    require(f"{link}#delaybridgedown" in ours["alerts"] and "file:///" not in ours["alerts"], ours["alerts"][:600])
    return f"{contact}, {link}"


def contents(package: Path, folder: Path) -> dict[str, str]:
    run("dpkg-deb", "-x", package, folder)
    documents = folder / "usr" / "share" / "doc" / "delaybridge"
    return {"contact": run("dpkg-deb", "-f", package, "Maintainer").stdout.strip(),
            "changelog": run("gzip", "-dc", documents / "changelog.gz").stdout,
            "alerts": (documents / "examples" / "alerts.yaml").read_text()}


@part("package.install")
def install(world: World) -> str:
    """Installing starts no service. The edited configuration delivers. Removing keeps the configuration, purging deletes it."""
    need_root("chroot")
    package = built(world)
    suite = re.search(r"VERSION_CODENAME=(\S+)", Path("/etc/os-release").read_text())[1]
    base = base_tar(suite)
    if shutil.which("kcat") is None:
        raise Skip("no kcat here")
    root = world.folder / "root"
    root.mkdir()
    run("tar", "-C", root, "-xf", base)
    shutil.copy("/etc/resolv.conf", root / "etc" / "resolv.conf")
    shutil.copy(package, root / "delaybridge.deb")
    (root / "usr/sbin/policy-rc.d").write_text("#!/bin/sh\nexit 101\n")
    (root / "usr/sbin/policy-rc.d").chmod(0o755)
    run("mount", "-t", "proc", "proc", root / "proc")
    try:
        return lifetime(world, root)
    finally:
        run("umount", root / "proc")


def inside(root: Path, *args, **more) -> subprocess.CompletedProcess:
    return run("chroot", root, "env", "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C.UTF-8", *args, **more)


def lifetime(world: World, root: Path) -> str:
    inside(root, "apt-get", "update", "-qq")
    inside(root, "apt-get", "install", "-qq", "-y", "--no-install-recommends", "/delaybridge.deb")
    require(not list((root / "etc/systemd/system").rglob("delaybridge*")), "the service was enabled")
    version = inside(root, "delaybridge", "version").stdout.splitlines()[0]
    said = inside(root, "delaybridge", "run", fails=True).stdout
    require("targets" in said, f"the unedited configuration gives no error about targets: {said}")
    with Broker(world.folder / "kafka-deb") as broker:
        broker.create(NewTopic("orders.timeout", 2, 1))
        config = root / CONFIG[1:]
        text = config.read_text().replace("localhost:9092", broker.bootstrap)
        text = re.sub(r"^# targets: .*$", "targets: [orders.timeout]", text, flags=re.M)
        config.write_text(text.replace("replication: 3", "replication: 1").replace("hold: 30s", "hold: 1s"))
        inside(root, "delaybridge", "topics", "apply")
        port = reserve_ports()
        log = world.folder / "deb.log"
        with open(log, "wb") as out:
            bridge = subprocess.Popen(["chroot", "--userspec=65534:65534", root, "delaybridge", "run", "--listen",
                                       f"127.0.0.1:{port}"], stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        try:
            await_ready(port, bridge, log)
            seen = journey(broker, lambda *args: inside(root, "delaybridge", *args))
            bridge.terminate()
            require(bridge.wait(30) == 0, f"the bridge ended with {bridge.returncode}")
        finally:
            with contextlib.suppress(ProcessLookupError):
                bridge.kill()
    inside(root, "apt-get", "remove", "-qq", "-y", "delaybridge")
    require(config.exists() and not (root / "usr/bin/delaybridge").exists(), "remove deleted the configuration")
    inside(root, "dpkg", "--purge", "delaybridge")
    require(not config.parent.exists(), "purge left files in /etc")
    return f"{version}: {seen}; removed and purged"
