# SPDX-License-Identifier: Apache-2.0
"""The commands that the chart prints after an install, with the rights that the chart's own KafkaUser has."""
from __future__ import annotations

import re
import shutil
import sys

import yaml

import tools
from chart import the
from parts import CHART, ROOT, World, load, part, require, run

VALUES = """
config: {kafka: {security.protocol: SASL_SSL}, targets: [orders.timeout], replication: 1}
topics: {mode: strimzi, strimzi: {cluster: c, replicas: 1, brokers: 1, user: {create: true, name: bridge}}}
"""
# `helm template` prints no notes, so this object of a copy of the chart has them.
SHOWN = """apiVersion: v1
kind: ConfigMap
metadata: {name: notes}
data: {notes: {{ include "notes" . | toJson }}}
"""


@part("chart.notes")
def notes(world: World) -> str:
    """Each command of the notes works with the rights of the chart's own KafkaUser, on a broker that requires rights."""
    sys.path.insert(0, str(ROOT / "tests" / "e2e"))
    from processes import Bridge  # pylint: disable=import-error,import-outside-toplevel
    from secured import Fortress, Right  # pylint: disable=import-error,import-outside-toplevel
    from stage import Stage  # pylint: disable=import-error,import-outside-toplevel
    chart, values, folder = world.folder / "notes-chart", world.folder / "notes.yaml", world.folder / "notes"
    folder.mkdir()
    shutil.copytree(CHART, chart)
    text = (chart / "templates" / "NOTES.txt").read_text()
    (chart / "templates" / "_notes.tpl").write_text('{{ define "notes" }}' + text + "{{ end }}")
    (chart / "templates" / "notes.yaml").write_text(SHOWN)
    values.write_text(VALUES)
    documents = load(run(tools.helm(), "template", "rel", chart, "-n", "ns", "--kube-version", "1.37", "-f", CHART / "ci" / "least.yaml",
                         "-f", values).stdout)
    said = the(documents, "ConfigMap", "notes")["data"]["notes"]
    commands = re.findall(r"^ +kubectl .* -- delaybridge (.*)$", said, re.M)
    require(len(commands) >= 3, f"the notes have no commands:\n{said}")
    stage = Stage(folder, world.binary, False, 1)
    try:
        fortress = Fortress(stage)
        kinds = {"transactionalId": "transactional_id", "cluster": "broker"}
        rights = [Right(kinds.get(acl["resource"]["type"], acl["resource"]["type"]), acl["resource"].get("name", "kafka-cluster"),
                        re.sub(r"(?<!^)([A-Z])", r"_\1", operation).lower(), acl["resource"].get("patternType") == "prefix")
                  for acl in the(documents, "KafkaUser", "bridge")["spec"]["authorization"]["acls"] for operation in acl["operations"]]
        fortress.allow("bridge", rights)
        stage.admin.create("orders.timeout", 1)
        config = yaml.safe_load(the(documents, "ConfigMap")["data"]["delaybridge.yaml"])
        path = folder / "delaybridge.yaml"
        path.write_text(yaml.safe_dump({**config, "kafka": fortress.sasl()}))
        open_way = folder / "apply.yaml"
        open_way.write_text(yaml.safe_dump({**config, "kafka": {"bootstrap.servers": stage.kafka.bootstrap}}))
        stage.apply(open_way)
        bridge = Bridge(world.binary, path, "bridge", {"DELAYBRIDGE_LISTEN": f"127.0.0.1:{stage.spare_port}"}).start()
        require(stage.admin.wait_members(stage.group, 1), f"no lanes:\n{bridge.tail()}")
        for command in commands:
            done = stage.run(*command.split(), "-c", str(path))
            require(done.returncode == 0, f"{command} ended with {done.returncode}: {done.stdout}{done.stderr}")
            require("not authorized" not in (done.stdout + done.stderr).lower() and "allow " not in done.stderr,
                    f"{command} lacks a right: {done.stdout}{done.stderr}")
        refused = stage.run("send", "--delay", "1s", "--value", "x", "--target", "orders.timeout", "-c", str(path))
        require(refused.returncode != 0, "the chart's user may write requests")
        require(bridge.stop() == 0, f"SIGTERM did not end the bridge cleanly:\n{bridge.tail()}")
    finally:
        stage.close()
    return f"{len(commands)} commands with {len(rights)} rights: {', '.join(commands)}"
