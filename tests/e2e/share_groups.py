# SPDX-License-Identifier: Apache-2.0
"""The schedule topic as the dead-letter queue of share groups (KIP-1191), with brokers that have them. A member rejects each
record once. The bridge returns it, and the member then accepts it."""
from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path

from client import now_ms
from contract import Request, Seen
from processes import CACHE
from stage import Skip, Stage, require

VERSION = "4.4.0"
SHARE = ("share.coordinator.state.topic.replication.factor=1", "share.coordinator.state.topic.min.isr=1",
         "share.coordinator.state.topic.num.partitions=2")
PERMISSION = "errors.deadletterqueue.group.enable"
TOPICS = {"e2e.a": 6, "e2e.b": 3}
COUNT, WAIT_MS, WAIT_S = 20, 1000, 60

# Arguments: bootstrap.servers, group, topic, dead-letter queue, whether brokers copy records to it.
MEMBER = """import java.time.Duration;
import java.util.*;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.common.config.ConfigResource;

public class Member {
    public static void main(String[] a) throws Exception {
        var config = new Properties();
        config.put("bootstrap.servers", a[0]);
        config.put("group.id", a[1]);
        config.put("share.acknowledgement.mode", "explicit");
        config.put("key.deserializer", "org.apache.kafka.common.serialization.StringDeserializer");
        config.put("value.deserializer", "org.apache.kafka.common.serialization.StringDeserializer");
        try (var admin = Admin.create(config)) {
            var of_group = new ArrayList<AlterConfigOp>();
            Map.of("errors.deadletterqueue.topic.name", a[3], "errors.deadletterqueue.copy.record.enable", a[4],
                   "share.auto.offset.reset", "earliest").forEach((name, value) ->
                of_group.add(new AlterConfigOp(new ConfigEntry(name, value), AlterConfigOp.OpType.SET)));
            admin.incrementalAlterConfigs(Map.of(new ConfigResource(ConfigResource.Type.GROUP, a[1]), of_group)).all().get();
        }
        try (var consumer = new KafkaShareConsumer<String, String>(config)) {
            consumer.subscribe(List.of(a[2]));
            while (true) {
                for (var record : consumer.poll(Duration.ofMillis(500))) {
                    var attempt = record.headers().lastHeader("dlb-attempt");
                    consumer.acknowledge(record, attempt == null ? AcknowledgeType.REJECT : AcknowledgeType.ACCEPT);
                    if (attempt != null)
                        System.out.println(record.key() + " " + new String(attempt.value()));
                }
                consumer.commitSync();
            }
        }
    }
}
"""


class Member:
    """A process that is the only member of a share group."""

    def __init__(self, stage: Stage, group: str, topic: str, copies: bool):
        self.log = stage.folder / f"{group}.log"
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                ["java", "-Xmx128m", "-cp", f"{CACHE / f'kafka-{VERSION}'}/*:{stage.folder}", "Member", stage.kafka.bootstrap,
                 group, topic, stage.schedule, str(copies).lower()], stdout=log, stderr=subprocess.STDOUT)

    def accepted(self) -> list[str]:
        return sorted(line for line in self.log.read_text().splitlines() if line.startswith("order-"))

    def end(self) -> None:
        self.process.kill()
        self.process.wait(10)


def compile_member(folder: Path) -> None:
    (folder / "Member.java").write_text(MEMBER)
    done = subprocess.run(["javac", "-cp", f"{CACHE / f'kafka-{VERSION}'}/*", "-d", ".", "Member.java"], cwd=folder,
                          capture_output=True, text=True, check=False)
    require(done.returncode == 0, done.stderr)


def permitted(stage: Stage, config: Path) -> None:
    """apply has set the permission of the topic. check reports a topic without it, and apply sets it again."""
    path = str(config)
    require(stage.run("check", "-c", path).returncode == 0, "check fails after apply")
    stage.admin.set(stage.schedule, **{PERMISSION.replace(".", "_"): "false"})
    done = stage.run("check", "-c", path)
    require(done.returncode != 0 and f"topic {stage.schedule} has {PERMISSION}=false" in done.stdout + done.stderr,
            f"check: {done.stdout}{done.stderr}")
    stage.apply(config)
    require(stage.run("topics", "plan", "-c", path).returncode == 0, "apply has not set the permission again")


def sent(stage: Stage, topic: str, count: int) -> list[Request]:
    made = [Request(b"order-%02d" % n, b"value", [("own", b"1")], "shared") for n in range(count)]
    for request in made:
        stage.sender.send(request, topic)
    stage.sender.flush()
    return made


def returned(stage: Stage, requests: list[Request], began: int) -> list[Seen]:
    """Checks that each record came back to its topic after its wait, with its place as the origin."""
    deliveries = [seen for seen in stage.collector.of("e2e.a") if seen.header("dlb-source")]
    places = {f"e2e.a/{r.partition}/{r.offset}".encode(): r for r in requests}
    require({seen.header("dlb-origin") for seen in deliveries} == set(places), f"origins: {deliveries}")
    for seen in deliveries:
        request = places[seen.header("dlb-origin")]
        require((seen.key, seen.value, seen.header("dlb-attempt")) == (request.key, request.value, b"1"), f"{seen}")
        require(int(seen.header("dlb-due")) >= began + WAIT_MS, f"due before its wait: {seen}")
        require(seen.header("__dlq.errors.group") == b"billing", f"not by the broker: {seen}")
    return deliveries


def not_copied(stage: Stage) -> None:
    """The bridge refuses records that brokers do not copy."""
    sent(stage, "e2e.b", 1)
    member, deadline = Member(stage, "pointers", "e2e.b", copies=False), time.monotonic() + WAIT_S
    try:
        while not (dead := stage.collector.of(f"{stage.schedule}.dead-letter")):
            require(time.monotonic() < deadline, f"no dead letter: {member.log.read_text()}")
            time.sleep(0.1)
    finally:
        member.end()
    require(dead[0].header("dlb-error") == b"bad_header" and b"did not copy" in dead[0].header("dlb-reason"), f"{dead}")


def share_groups(stage: Stage) -> str:
    """A share group rejects records, and gets them again after the wait of a policy."""
    if not shutil.which("javac"):
        raise Skip("no javac: install openjdk-17-jdk-headless")
    stage.schedule = "dlq.retry"
    stage.broker(version=VERSION, props=SHARE)
    compile_member(stage.folder)
    config = stage.ready(TOPICS, compat=["share-dlq"], retry={"default": {"delays": [f"{WAIT_MS}ms"]}})
    permitted(stage, config)
    stage.bridge(config)
    began, requests = now_ms(), sent(stage, "e2e.a", COUNT)
    member, deadline = Member(stage, "billing", "e2e.a", copies=True), time.monotonic() + WAIT_S
    wanted = [f"{request.key.decode()} 1" for request in requests]
    try:
        while member.accepted() != wanted:
            require(time.monotonic() < deadline, f"the member accepted {member.accepted()}:\n{member.log.read_text()}")
            time.sleep(0.1)
    finally:
        member.end()
    deliveries = returned(stage, requests, began)
    not_copied(stage)
    copied = sum(seen.header("own") is not None for seen in deliveries)
    return f"Kafka {VERSION}: {len(deliveries)} rejected records came again, {copied} of them with their headers"


SCENARIOS = {"share_groups": share_groups}
ON_DEMAND = {"share_groups"}
