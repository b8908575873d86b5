# SPDX-License-Identifier: Apache-2.0
"""The Helm chart in a real API server of Kubernetes, with the definitions of Strimzi and of the Prometheus operator. No
controller runs, so objects are checked and stored, and no pod starts."""
from __future__ import annotations

import json
import secrets
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

import yaml

import tools
from broker import reserve_ports
from chart import VALUES, rendered, the
from parts import CHART, Failed, World, load, part, require, run

START_S = 120
NAMESPACES = ("ns", "kafka")
RESTRICTED = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "warn")}


class Server:
    """etcd and kube-apiserver on loopback, for a with statement."""

    def __init__(self, folder: Path):
        self.folder, self.token = folder, secrets.token_hex(16)
        self.port = reserve_ports()  # the next two are etcd's
        self.started: list[subprocess.Popen] = []
        self.plurals: dict[tuple[str, str], tuple[str, bool]] = {}  # by version and kind: the path's name, namespaced

    def __enter__(self) -> "Server":
        try:
            self.begin(*tools.kubernetes())
        except BaseException:
            self.__exit__()
            raise
        return self

    def begin(self, api: Path, etcd: Path, definitions: Path) -> None:
        self.folder.mkdir()
        store, peers = (f"http://127.0.0.1:{self.port + n}" for n in (1, 2))
        self.start(etcd, "--data-dir", self.folder / "etcd", "--unsafe-no-fsync", "--listen-client-urls", store,
                   "--advertise-client-urls", store, "--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers,
                   "--initial-cluster", f"default={peers}")
        run("openssl", "genrsa", "-out", self.folder / "accounts.key", "2048")
        run("openssl", "rsa", "-in", self.folder / "accounts.key", "-pubout", "-out", self.folder / "accounts.pub")
        (self.folder / "tokens.csv").write_text(f'{self.token},admin,1,"system:masters"\n')
        self.start(api, "--etcd-servers", store, "--bind-address", "127.0.0.1", "--secure-port", self.port,
                   "--cert-dir", self.folder, "--service-account-key-file", self.folder / "accounts.pub",
                   "--service-account-signing-key-file", self.folder / "accounts.key",
                   "--service-account-issuer", "https://kubernetes.default.svc",
                   "--token-auth-file", self.folder / "tokens.csv", "--authorization-mode", "RBAC",
                   "--service-cluster-ip-range", "10.0.0.0/24", "--advertise-address", "192.0.2.1",
                   "--endpoint-reconciler-type", "none",
                   "--disable-admission-plugins", "ServiceAccount")  # a controller would create the accounts
        self.wait("the API server", lambda: self.call("GET", "/readyz")[0] == 200 and
                  self.plural("apiextensions.k8s.io/v1", "CustomResourceDefinition"))
        self.kubeconfig()
        for definition in load(definitions.read_text()):
            self.stored(definition)
        self.wait("the definitions", lambda: all(self.plural(*kind) for kind in (
            ("kafka.strimzi.io/v1", "KafkaUser"), ("monitoring.coreos.com/v1", "ServiceMonitor"),
            ("kafka.strimzi.io/v1", "KafkaTopic"), ("monitoring.coreos.com/v1", "PrometheusRule"))))
        for name in NAMESPACES:
            self.stored({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": RESTRICTED}})

    def __exit__(self, *_) -> None:
        for process in reversed(self.started):
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:  # the API server waits for an etcd that has ended
                process.kill()
                process.wait()

    def start(self, program: Path, *args) -> None:
        with open(self.folder / f"{program.name}.log", "wb") as log:
            self.started.append(subprocess.Popen([str(program), *map(str, args)], stdout=log, stderr=log))

    def wait(self, what: str, holds) -> None:
        deadline = time.monotonic() + START_S
        while not holds():
            require(time.monotonic() < deadline, f"{what}: not after {START_S} s, see {self.folder}")
            require(all(p.poll() is None for p in self.started), f"{what}: a server has ended, see {self.folder}")
            time.sleep(0.5)

    def kubeconfig(self) -> None:
        cluster = {"server": f"https://127.0.0.1:{self.port}", "certificate-authority": str(self.folder / "apiserver.crt")}
        self.config.write_text(yaml.safe_dump({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "c", "cluster": cluster}], "users": [{"name": "c", "user": {"token": self.token}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}]}))

    @property
    def config(self) -> Path:
        return self.folder / "kubeconfig"

    def call(self, method: str, path: str, body: object = None) -> tuple[int, str, list[str]]:
        """Returns status, text and warnings. A body is applied."""
        request = urllib.request.Request(f"https://127.0.0.1:{self.port}{path}", method=method,
                                         data=None if body is None else json.dumps(body).encode(),
                                         headers={"Authorization": f"Bearer {self.token}"})
        if body is not None:
            request.add_header("Content-Type", "application/apply-patch+yaml")
        try:
            context = ssl.create_default_context(cafile=str(self.folder / "apiserver.crt"))
            with urllib.request.urlopen(request, timeout=30, context=context) as answer:
                return answer.status, answer.read().decode(), answer.headers.get_all("Warning") or []
        except urllib.error.HTTPError as refusal:
            return refusal.code, refusal.read().decode(), []
        except OSError as away:
            return 0, str(away), []

    def plural(self, version: str, kind: str) -> tuple[str, bool] | None:
        if (version, kind) not in self.plurals:
            status, text, _ = self.call("GET", f"/{'apis' if '/' in version else 'api'}/{version}")
            for resource in json.loads(text)["resources"] if status == 200 else ():
                if "/" not in resource["name"]:
                    self.plurals[version, resource["kind"]] = resource["name"], resource["namespaced"]
        return self.plurals.get((version, kind))

    def path(self, version: str, kind: str, namespace: str, name: str = "") -> str:
        found = self.plural(version, kind)
        if found is None:
            raise Failed(f"the API server has no {kind} in {version}")
        start = f"/{'apis' if '/' in version else 'api'}/{version}"
        return f"{start}/namespaces/{namespace}/{found[0]}/{name}" if found[1] else f"{start}/{found[0]}/{name}"

    def stored(self, document: dict, options: str = "") -> None:
        """Applies an object. Raises Failed if the server refuses it or warns."""
        where = document["metadata"]
        path = self.path(document["apiVersion"], document["kind"], where.get("namespace", "ns"), where["name"])
        status, text, warnings = self.call("PATCH", f"{path}?fieldManager=test&force=true&fieldValidation=Strict{options}",
                                           document)
        what = f"{document['kind']} {where['name']}"
        require(status in (200, 201), f"{what}: {status} {json.loads(text).get('message', text) if text else ''}")
        require(not warnings, f"{what}: {warnings}")

    def names(self, version: str, kind: str, namespace: str) -> set[str]:
        text = self.call("GET", self.path(version, kind, namespace))[1]
        return {item["metadata"]["name"] for item in json.loads(text)["items"]}


def pods(document: dict) -> list[dict]:
    """Returns the pod that a workload would start, since the server checks its security only then."""
    template = document.get("spec", {}).get("template")
    if document["kind"] not in ("Deployment", "StatefulSet", "Job") or template is None:
        return []
    named = {**template, "apiVersion": "v1", "kind": "Pod", "metadata": {**template["metadata"], "name": "pod"}}
    return [named]


@part("chart.server")
def server(world: World) -> str:
    """A real API server accepts all objects without a warning, and their pods in a restricted namespace. Then a release is
    installed, upgraded and uninstalled."""
    count = 0
    with Server(world.folder / "kubernetes") as kubernetes:
        for values in VALUES:
            for kind in ("Deployment", "StatefulSet"):
                for document in rendered(values, "--set", f"kind={kind}"):
                    for each in (document, *pods(document)):
                        kubernetes.stored(each, "&dryRun=All")
                        count += 1
        pod = pods(the(rendered(VALUES[0]), "StatefulSet"))[0]
        for wrong in ({"apiVersion": "kafka.strimzi.io/v1", "kind": "KafkaTopic", "metadata": {"name": "x"},
                       "spec": {"partitoins": 1}}, {**pod, "spec": {**pod["spec"], "securityContext": {}}}):
            require(refused(kubernetes, wrong), f"the server accepts {wrong}")
        return f"{count} objects; {lives(kubernetes)}"


def refused(kubernetes: Server, document: dict) -> bool:
    try:
        kubernetes.stored(document, "&dryRun=All")
    except Failed:
        return True
    return False


def lives(kubernetes: Server) -> str:
    def helm(*args) -> str:
        return run(tools.helm(), "--kubeconfig", kubernetes.config, "-n", "ns", *args).stdout
    values = ("-f", CHART / "ci" / "strimzi.yaml")
    noted = helm("install", "rel", CHART, *values)
    require("delaybridge levels" in noted, f"no notes: {noted}")
    topics = kubernetes.names("kafka.strimzi.io/v1", "KafkaTopic", "ns")
    require(len(topics) == 23, f"topics after the install: {sorted(topics)}")
    workload = json.loads(kubernetes.call("GET", kubernetes.path("apps/v1", "Deployment", "ns", "rel-delaybridge"))[1])
    require(workload["spec"]["replicas"] == 1, "an autoscaler's workload does not begin with one pod")
    kubernetes.stored({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "rel-delaybridge"},
                       "spec": {"replicas": 5}})  # as an autoscaler does
    helm("upgrade", "rel", CHART, *values, "--set", "config.max_delay=7d")
    workload = json.loads(kubernetes.call("GET", kubernetes.path("apps/v1", "Deployment", "ns", "rel-delaybridge"))[1])
    require(workload["spec"]["replicas"] == 5, f"the upgrade has set {workload['spec']['replicas']} pods")
    helm("upgrade", "rel", CHART, *values, "--set", "kind=StatefulSet", "--set", "replicas=2")
    require(kubernetes.names("apps/v1", "Deployment", "ns") == set(), "the Deployment is left")
    helm("uninstall", "rel")
    require(kubernetes.names("kafka.strimzi.io/v1", "KafkaTopic", "ns") == topics, "topics were deleted")
    left = {kind: kubernetes.names(version, kind, "ns") for version, kind in (
        ("apps/v1", "StatefulSet"), ("v1", "Service"), ("v1", "ConfigMap"), ("kafka.strimzi.io/v1", "KafkaUser"))}
    require(not any(names - {"kube-root-ca.crt"} for names in left.values()), f"left by uninstall: {left}")
    return f"{len(topics)} topics are left by uninstall, an upgrade keeps the number of pods of an autoscaler"
