# SPDX-License-Identifier: Apache-2.0
"""The Helm chart: checked by helm lint, its unit tests, the schemas of three Kubernetes versions, and the bridge."""
from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

from confluent_kafka.admin import NewTopic

import tools
from broker import Broker
from parts import CHART, DEPLOY, Failed, World, load, part, require, run

KUBERNETES = ("1.27", "1.32", "1.37")  # the oldest version that Chart.yaml allows, one between, and the newest
VALUES = sorted((CHART / "ci").glob("*.yaml"))
NOT_KUBERNETES = ("monitoring.coreos.com/", "kafka.strimzi.io/")  # kinds of operators, which Kubernetes has no schema for


def rendered(values: Path, *more: str, kubernetes: str = KUBERNETES[-1]) -> list[dict]:
    said = run(tools.helm(), "template", "rel", CHART, "-n", "ns", "--kube-version", kubernetes,
               "-f", values, *more).stdout
    return load(said)


def the(documents: list[dict], kind: str, name: str = "rel-delaybridge") -> dict:
    return next(d for d in documents if d["kind"] == kind and d["metadata"]["name"] == name)


@part("chart.lint", quick=True)
def lint(world: World) -> str:
    """helm lint --strict finds nothing, with the minimal values and with all."""
    del world
    tool = tools.helm()
    for values in VALUES:
        said = run(tool, "lint", "--strict", CHART, "-f", values).stdout
        require("WARNING" not in said, said)
    return f"{len(VALUES)} sets of values"


@part("chart.unit", quick=True)
def unit(world: World) -> str:
    """The chart's own tests pass."""
    del world
    said = run(tools.helm_unittest(), CHART).stdout
    count = re.search(r"Tests: +(\d+) passed, (\d+) total", said)
    require(count and count[1] == count[2] and int(count[1]) > 30, said[-1500:])
    return f"{count[1]} tests"


@part("chart.schemas", quick=True)
def schemas(world: World) -> str:
    """Rendered objects are valid in three Kubernetes versions: the oldest that the chart allows, one between, the newest."""
    del world
    import kubernetes_validate  # pylint: disable=import-outside-toplevel
    oldest = load((CHART / "Chart.yaml").read_text())[0]["kubeVersion"]
    require(oldest == f">={KUBERNETES[0]}.0-0", f"Chart.yaml allows {oldest}, but the test uses {KUBERNETES[0]}")
    count = 0
    for values in VALUES:
        for kind in ("Deployment", "StatefulSet"):
            for version in KUBERNETES:
                for document in rendered(values, "--set", f"kind={kind}", kubernetes=version):
                    if document["apiVersion"].startswith(NOT_KUBERNETES):
                        continue
                    count += 1
                    try:
                        kubernetes_validate.validate(document, version, strict=True)
                    except kubernetes_validate.ValidationError as wrong:
                        place = ".".join(map(str, wrong.path))
                        raise Failed(f"{document['kind']} in {version}: {place}: {wrong.message}") from wrong
    return f"{count} objects, in Kubernetes {', '.join(KUBERNETES)}"


@part("chart.restart", quick=True)
def restart(world: World) -> str:
    """A change of the configuration changes the pods, and no other change does."""
    del world
    def checksum(*more: str) -> str:
        pod = the(rendered(CHART / "ci" / "least.yaml", *more), "Deployment")["spec"]["template"]
        return pod["metadata"]["annotations"]["checksum/config"]
    require(checksum() != checksum("--set", "config.max_delay=7d"), "max_delay changed, the pods did not")
    require(checksum() == checksum("--set", "replicas=5"), "another replica changed the pods")
    return "max_delay changes pods, replicas does not"


# OpenShift's restricted-v2 chooses these fields itself, or forbids them. Its volumes are these kinds.
CHOSEN = {"runAsUser", "runAsGroup", "fsGroup", "supplementalGroups", "seLinuxOptions", "sysctls"}
HOST = {"hostNetwork", "hostPID", "hostIPC", "hostUsers"}
VOLUMES = {"configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret"}


def against_restricted(pod: dict) -> list[str]:
    """Returns the faults of a pod by OpenShift's SCC restricted-v2."""
    faults = [f"pod: {field}" for field in (CHOSEN & set(pod["securityContext"])) | (HOST & set(pod))]
    for each in pod["containers"] + pod.get("initContainers", []):
        has = each["securityContext"]
        faults += [f"{each['name']}: {field}" for field in CHOSEN & set(has)]
        if has.get("allowPrivilegeEscalation") is not False or has["capabilities"] != {"drop": ["ALL"]} or has.get("privileged"):
            faults.append(f"{each['name']}: {has}")
        faults += [f"{each['name']}: host port" for port in each.get("ports", ()) if "hostPort" in port]
    faults += [f"volume {v['name']}" for v in pod.get("volumes", ()) if not VOLUMES & set(v)]
    return faults


@part("chart.openshift", quick=True)
def openshift(world: World) -> str:
    """OpenShift's restricted SCC accepts each pod: with openshift true, and with auto on its API."""
    del world
    count = 0
    for values in VALUES:
        for more in (("--set", "openshift=true"), ("--set", "openshift=auto", "--api-versions", "security.openshift.io/v1")):
            for document in rendered(values, *more):
                pod = document.get("spec", {}).get("template", {}).get("spec") if document["kind"] != "Pod" else document["spec"]
                if pod and "containers" in pod:
                    count += 1
                    require(not (wrong := against_restricted(pod)), f"{document['kind']} with {values.name}, {more[1]}: {wrong}")
    plain = the(rendered(CHART / "ci" / "least.yaml"), "Deployment")["spec"]["template"]["spec"]
    require(sorted(against_restricted(plain)) == ["pod: fsGroup", "pod: runAsGroup", "pod: runAsUser"],
            f"elsewhere: {against_restricted(plain)}")
    return f"{count} pods"


@part("chart.alerts", quick=True)
def same_alerts(world: World) -> str:
    """PrometheusRule and dashboard of the chart are those of deploy/prometheus and deploy/grafana."""
    del world
    documents = rendered(CHART / "ci" / "least.yaml", "--set", "prometheusRule.enabled=true",
                         "--set", "prometheusRule.runbookUrl=file:///usr/share/doc/delaybridge/RUNBOOK.md",
                         "--set", "grafanaDashboard.enabled=true")
    spec = the(documents, "PrometheusRule")["spec"]
    require(spec == load((DEPLOY / "prometheus" / "alerts.yaml").read_text())[0], "the alerts differ")
    shown = the(documents, "ConfigMap", "rel-delaybridge-dashboard")["data"]["delaybridge.json"]
    require(json.loads(shown) == json.loads((DEPLOY / "grafana" / "delaybridge.json").read_text()),
            "the dashboards differ")
    return f"{len(spec['groups'][0]['rules'])} alerts, one dashboard"


@part("chart.keys", quick=True)
def keys(world: World) -> str:
    """values.schema.json has exactly the keys of `delaybridge help --yaml`."""
    table = run(world.binary, "help", "--yaml").stdout
    # A key in a comment has no default, but is a key too.
    known = set(re.findall(r"^(?:# )?([a-z_]+):(?: |$)", table, re.M)) - {"listen", "admin", "admin_token"}  # other values of the chart
    schema = set(json.loads((CHART / "values.schema.json").read_text())["properties"]["config"]["properties"])
    require(schema == known, f"only in the schema: {sorted(schema - known)}; only in the table: {sorted(known - schema)}")
    return f"{len(known)} keys"


@part("chart.config", quick=True)
def config(world: World) -> str:
    """The bridge accepts the configuration that the chart renders, and refuses it with a misspelled key."""
    for values in VALUES:
        file: Path = world.folder / f"chart-{values.name}"
        text = the(rendered(values), "ConfigMap")["data"]["delaybridge.yaml"]
        secrets = world.folder / "secrets"
        for named in re.findall(r"/run/secrets/(\S+)", text):
            (secrets / named).parent.mkdir(parents=True, exist_ok=True)
            (secrets / named).write_text("x")
        file.write_text(text.replace("/run/secrets", str(secrets)))
        run(world.binary, "explain", "1m", "-c", file)
        file.write_text(file.read_text().replace("targets:", "tragets:"))
        done = subprocess.run([world.binary, "explain", "1m", "-c", file], capture_output=True, text=True, check=False)
        require(done.returncode == 78, f"a misspelled key is accepted: {done.returncode}")
    return f"{len(VALUES)} configurations"


@part("chart.share", quick=True)
def share_groups(world: World) -> str:
    """With share-dlq in compat, the KafkaTopic of the schedule topic is a dead-letter queue of share groups, and no other."""
    values = world.folder / "share.yaml"
    def allowed(compat: str) -> list[str]:
        values.write_text("topics: {mode: strimzi, strimzi: {cluster: c}}\n"
                          f"config: {{schedule: dlq.retry, compat: [{compat}], retry: {{default: {{delays: [1s]}}}}}}\n")
        topics = [d["spec"] for d in rendered(CHART / "ci" / "least.yaml", "-f", str(values)) if d["kind"] == "KafkaTopic"]
        return [t["topicName"] for t in topics if t["config"].get("errors.deadletterqueue.group.enable") is True]
    require(allowed("spring") == [], f"allowed without share-dlq: {allowed('spring')}")
    for compat in ("share-dlq", "spring, share-dlq=default"):
        require(allowed(compat) == ["dlq.retry"], f"{compat}: allowed on {allowed(compat)}")
    return "only the schedule topic, and only with share-dlq"


@part("chart.strimzi")
def strimzi(world: World) -> str:
    """The KafkaTopics of the chart equal the topics of `delaybridge topics apply`: a plan has no changes."""
    values = world.folder / "strimzi.yaml"
    values.write_text("topics: {mode: strimzi, strimzi: {cluster: c, replicas: 1, brokers: 1}}\n"
                      "config: {retired_levels: [45s], canary: 10s}\n")
    documents = rendered(CHART / "ci" / "least.yaml", "-f", str(values))
    with Broker(world.folder / "kafka-strimzi") as broker:
        file = world.folder / "strimzi-bridge.yaml"
        text = the(documents, "ConfigMap")["data"]["delaybridge.yaml"]
        file.write_text(text.replace("kafka:9092", broker.bootstrap) + "\nreplication: 1\n")
        before = run(world.binary, "topics", "plan", "-c", file, fails=True).stdout
        require("schedule.canary" in before, f"the plan lacks a missing topic: {before}")
        topics = [d["spec"] for d in documents if d["kind"] == "KafkaTopic"]
        broker.create(*(NewTopic(t["topicName"], t["partitions"], t["replicas"],
                                 config={k: str(v) for k, v in t["config"].items()}) for t in topics),
                      NewTopic("orders.timeout", 1, 1))  # check has a fault for a missing target
        run(world.binary, "topics", "plan", "-c", file)
        said = run(world.binary, "check", "-c", file).stdout
        warnings = [line for line in said.splitlines() if line.startswith("warn") and "single replica" not in line]
        require("topics: ok" in said and not warnings, said)
    return f"{len(topics)} topics, and the plan is empty"
