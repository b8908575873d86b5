# SPDX-License-Identifier: Apache-2.0
"""The container image: built from the unchanged Dockerfile, and run as an orchestrator would run it."""
from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from confluent_kafka.admin import NewTopic

from broker import Broker, journey, reserve_ports
from parts import DEPLOY, ROOT, Failed, Skip, World, need_root, part, require, run

NAME = "localhost/delaybridge:check"
BASE = "docker.io/library/debian:trixie-slim"
# podman without systemd and without the right to raise limits. crun does not support a cgroup2 next to
# cgroup1, so podman runs in a mount namespace that hides the former.
PODMAN = ["unshare", "-m", "bash", "-c", 'umount /sys/fs/cgroup/unified 2>/dev/null; exec podman "$@"', "podman"]
RUN = ["run", "--rm", "--pull", "never", "--network", "host", "--cgroups=disabled", "--ulimit", "nofile=1024:1024",
       "--ulimit", "nproc=1024:1024", "--read-only", "--read-only-tmpfs=false", "--cap-drop", "ALL",
       "--security-opt", "no-new-privileges"]


def base_tar(suite: str) -> Path:
    """Returns a tar of a Debian, as the release has it."""
    need_root("debootstrap")
    if shutil.which("debootstrap") is None:
        raise Skip("no debootstrap here")
    sys.path.insert(0, str(DEPLOY / "release"))
    import debian
    return debian.base_tar(suite)


class Store:
    """Images and containers of this run, in a separate folder, because podman needs a short path."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="dlb.")
        self.where = ["--root", f"{self.folder.name}/all", "--runroot", f"{self.folder.name}/run",
                      "--storage-driver", "overlay"]

    def buildah(self, *args) -> str:
        return run("buildah", *self.where, *args).stdout.strip()

    def podman(self, *args) -> list[str]:
        return [*PODMAN, *self.where, "--runtime", "crun", "--cgroup-manager", "cgroupfs", "--events-backend", "file",
                *map(str, args)]

    def close(self) -> None:
        subprocess.run(self.podman("rm", "-fa"), check=False, capture_output=True)
        subprocess.run(["buildah", *self.where, "rm", "-a"], check=False, capture_output=True)
        subprocess.run(["buildah", *self.where, "rmi", "-fa"], check=False, capture_output=True)
        self.folder.cleanup()


@part("image.context", quick=True)
def context(world: World) -> str:
    """The files that the image is built from include each file that the build of the bridge reads."""
    listed = run("ninja", "-C", world.binary.parent, "-t", "inputs", "delaybridge").stdout.splitlines()
    read = {Path(line).relative_to(ROOT) for line in listed if line.startswith(f"{ROOT}/") and f"{world.binary.parent}/" not in line}
    sent = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    missing = [str(path) for path in sorted(read) if not any(str(path).startswith(start) for start in sent)]
    require(len(read) > 100, f"ninja lists only {len(read)} files")
    require(not missing, f".dockerignore leaves out {', '.join(missing)}")
    return f"{len(read)} files"


@part("image")
def image(world: World) -> str:
    """The unchanged Dockerfile builds an image that runs read-only as 65532, delivers, and drains on SIGTERM."""
    need_root("buildah")
    for tool in ("buildah", "podman", "crun", "kcat"):
        if shutil.which(tool) is None:
            raise Skip(f"no {tool} here")
    base = base_tar("trixie")
    store = Store()
    try:
        first = store.buildah("from", "scratch")
        store.buildah("add", "-q", first, base, "/")
        store.buildah("config", "--cmd", "bash", "--env",
                      "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", first)
        store.buildah("commit", "-q", "--rm", first, BASE)
        start = time.monotonic()
        store.buildah("build", "--isolation", "chroot", "--network", "host", "--pull-never", "--format", "docker",
                      "--build-arg", "REVISION=0123456789", "-t", NAME, "-f", DEPLOY / "Dockerfile", ROOT)
        took = time.monotonic() - start
        look(store)
        sizes = {i["names"][0]: i["size"] for i in json.loads(store.buildah("images", "--json")) if i.get("names")}
        seen = deliver(world, store)
    finally:
        store.close()
    return (f"built in {took:.0f} s, {sizes[NAME]} (its base {sizes[BASE]}); uid 65532, read-only root, no "
            f"capability; {seen}")


def look(store: Store) -> None:
    """Checks the metadata of the image that an orchestrator reads."""
    config = json.loads(store.buildah("inspect", "--type", "image", NAME))["Docker"]["config"]
    require(config["User"] == "65532:65532", f"user {config['User']}")
    require(config["Entrypoint"] == ["delaybridge"] and config["Cmd"] == ["run"],
            f"runs {config['Entrypoint']} {config['Cmd']}")
    require("DELAYBRIDGE_LISTEN=0.0.0.0:9404" in config["Env"], f"environment {config['Env']}")
    require(config.get("Healthcheck", {}).get("Test", ["NONE"]) == ["NONE"], "the image has a health check")
    labels = config["Labels"]
    for label in ("title", "description", "version", "revision", "licenses"):
        require(labels.get(f"org.opencontainers.image.{label}"), f"no label {label}")
    require(labels["org.opencontainers.image.revision"] == "0123456789", "the label revision differs from the build argument")
    version = run(*store.podman(*RUN, NAME, "version")).stdout
    require("0123456789" in version, f"`version` does not print the revision: {version}")
    root = Path(store.buildah("mount", store.buildah("from", "--pull-never", NAME)))
    require([path.name for path in (root / "usr/bin").iterdir()] == ["delaybridge"], f"programs: {list((root / 'usr/bin').iterdir())}")
    for wanted in ("etc/ssl/certs/ca-certificates.crt", "var/lib/dpkg/status.d/librdkafka1", "usr/share/doc/librdkafka1/copyright"):
        require((root / wanted).is_file(), f"no {wanted}")


def deliver(world: World, store: Store) -> str:
    with Broker(world.folder / "kafka-image") as broker:
        port = reserve_ports()
        broker.create(NewTopic("orders.timeout", 2, 1))
        settings = world.folder / "image-config"
        settings.mkdir()
        (settings / "delaybridge.yaml").write_text("targets: [orders.timeout]\nreplication: 1\npartitions: 4\nhold: 1s\n")
        settings.chmod(0o755)
        # Without its capabilities, only this user can read it.
        (settings / "delaybridge.yaml").chmod(0o400)
        os.chown(settings / "delaybridge.yaml", 65532, 65532)
        given = ["-v", f"{settings}:/etc/delaybridge:ro", "-e",
                 f"DELAYBRIDGE_KAFKA_BOOTSTRAP_SERVERS={broker.bootstrap}", "-e", f"DELAYBRIDGE_LISTEN=0.0.0.0:{port}"]
        run(*store.podman(*RUN, *given, NAME, "topics", "apply"))
        log = world.folder / "image.log"
        with open(log, "wb") as out:
            # podman passes SIGTERM to the process, which is number 1 in its namespace.
            bridge = subprocess.Popen(store.podman(*RUN, *given, NAME), stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        try:
            await_ready(port, bridge, log)
            seen = journey(broker, lambda *args: run(*store.podman(*RUN, *given, NAME, *args)))
            before = time.monotonic()
            bridge.terminate()
            code = bridge.wait(30)
            took = time.monotonic() - before
        finally:
            with contextlib.suppress(ProcessLookupError):
                bridge.kill()
        require(code == 0, f"the bridge ended with {code} after SIGTERM: {log.read_text()[-1500:]}")
        require("stopped" in log.read_text(), "the log does not report the stop")
    return f"{seen}; SIGTERM: exit 0 after {took:.1f} s"


def await_ready(port: int, bridge: subprocess.Popen, log: Path) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        require(bridge.poll() is None, f"the bridge ended with {bridge.returncode}: {log.read_text()[-1500:]}")
        with contextlib.suppress(OSError):
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=2) as answer:
                if answer.status == 200:
                    return
        time.sleep(0.1)
    raise Failed(f"/readyz does not answer 200: {log.read_text()[-1500:]}")
