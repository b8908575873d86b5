# SPDX-License-Identifier: Apache-2.0
"""Limits of managed Kafka services, on a real broker. A policy refuses topic settings, and a proxy hides the kinds of
request that a service does not serve. docs/managed-kafka.md has the settings that are used here."""
from __future__ import annotations

import os
import re
import shutil
import subprocess

from bad_input import says
from processes import CACHE, ROOT, Bridge
from stage import TARGETS, Skip, Stage, judge, require, will_say

PAGE = ROOT / "docs" / "managed-kafka.md"
# A policy takes the settings that a service allows, and their largest values.
POLICY = """
import java.util.Map;
import org.apache.kafka.common.errors.PolicyViolationException;
import org.apache.kafka.server.policy.AlterConfigPolicy;
import org.apache.kafka.server.policy.CreateTopicPolicy;

public class Service {
    static final Map<String, Long> MOST = Map.of(%s);

    static void judge(String topic, Map<String, String> settings) {
        if (topic.startsWith("__"))  // a broker creates these by itself
            return;
        settings.forEach((name, value) -> {
            if (!MOST.containsKey(name))
                throw new PolicyViolationException(name + " is not configurable on this service");
            if (MOST.get(name) > 0 && Long.parseLong(value) > MOST.get(name))
                throw new PolicyViolationException(name + " is " + MOST.get(name) + " at most on this service");
        });
    }

    public static class Create implements CreateTopicPolicy {
        public void configure(Map<String, ?> settings) {}
        public void close() {}
        public void validate(RequestMetadata asked) { judge(asked.topic(), asked.configs()); }
    }

    public static class Alter implements AlterConfigPolicy {
        public void configure(Map<String, ?> settings) {}
        public void close() {}
        public void validate(RequestMetadata asked) { judge(asked.resource().name(), asked.configs()); }
    }
}
"""
# The topic settings of MSK Serverless, with their largest values; 0: any.
SERVERLESS = {"cleanup.policy": 0, "compression.type": 0, "max.message.bytes": 8388608, "message.timestamp.type": 0,
              "message.timestamp.difference.max.ms": 0, "retention.bytes": 0, "retention.ms": 0}
WEEK_MS = 7 * 24 * 3600 * 1000
TRIM_S = 130  # records are trimmed each minute


def settings_of(heading: str) -> dict[str, str]:
    """Returns topic_settings of the configuration below a heading of the page."""
    section = PAGE.read_text().split(f"## {heading}\n")[1].split("\n## ")[0]
    return dict(pair.split(": ") for pair in re.search(r"^topic_settings: {(.*)}$", section, re.M)[1].split(", "))


def service(stage: Stage, allowed: dict[str, int]) -> None:
    """Starts a broker that allows only these settings of topics."""
    if shutil.which("javac") is None:
        raise Skip("needs javac (openjdk-17-jdk-headless)")
    pairs = ", ".join(f'"{name}", {most}L' for name, most in allowed.items())
    (stage.folder / "Service.java").write_text(POLICY % pairs)
    subprocess.run(["javac", "-cp", f"{CACHE}/kafka-4.1.1/*", "Service.java"], cwd=stage.folder, check=True)
    os.environ["KAFKA_CLASSES"] = str(stage.folder)
    stage.broker(proxied=True, props=("create.topic.policy.class.name=Service$Create",
                                      "alter.config.policy.class.name=Service$Alter"))


def deliveries(stage: Stage, config, name: str) -> tuple[Bridge, str]:
    bridge = stage.bridge(config, name)
    generator = stage.generator(2500)
    stage.background(lambda n, now: generator.request(now), 400, 100).finish()
    return bridge, judge(stage.verify())


def managed_settings(stage: Stage) -> str:
    """A service that allows few topic settings: apply quotes each refusal, and the settings of the page work."""
    service(stage, SERVERLESS)
    said = stage.run("topics", "apply", "-c", str(stage.config()))
    says(stage, "the defaults", said, (78,), "on this service", "topic_settings")
    path = stage.config(topic_settings=settings_of("MSK Serverless"))
    for name, partitions in TARGETS.items():
        stage.admin.create(name, partitions)
    stage.apply(path)
    says(stage, "check", stage.run("check", "-c", str(path)), (0,), "dead-lettered as too_large")
    says(stage, "plan", stage.run("topics", "plan", "-c", str(path)), (0,), "nothing to do")
    stage.connect_clients(list(TARGETS))
    bridge, line = deliveries(stage, path, "bridge")
    require(bridge.stop() == 0, f"SIGTERM did not end the bridge cleanly:\n{bridge.tail()}")
    return f"refused and quoted, then {line}"


def managed_requests(stage: Stage) -> str:
    """A service without DeleteRecords, and one without requests about topics: logged or refused with the reason. A level
    that keeps records for a week only prevents a start."""
    stage.broker(proxied=True)
    path = stage.config()
    stage.proxy.hidden = {"CreateTopics"}
    says(stage, "no CreateTopics", stage.run("topics", "apply", "-c", str(path)), (78,), "creating topics failed",
         "make the changes of 'delaybridge topics plan' there")
    stage.proxy.hidden = set()
    stage.ready()
    stage.admin.set("schedule.1m", retention_ms=str(WEEK_MS))
    stage.proxy.hidden = {"AlterConfigs", "IncrementalAlterConfigs"}
    says(stage, "no AlterConfigs", stage.run("topics", "apply", "-c", str(path)), (78,), "altering topics failed",
         "make the changes of 'delaybridge topics plan' there")
    refused = Bridge(stage.binary, path, "refused").start()
    require(refused.wait(40) == 78 and "retention.ms=604800000" in refused.tail(50), f"a week: {refused.tail()}")
    stage.admin.set("schedule.1m", retention_ms="-1")
    stage.proxy.hidden = {"DeleteRecords"}
    bridge, line = deliveries(stage, path, "bridge")
    will_say(bridge, "disk space is not freed, trying again", TRIM_S)
    require(bridge.running(), f"the bridge ended:\n{bridge.tail()}")
    require(bridge.stop() == 0, f"SIGTERM did not end the bridge cleanly:\n{bridge.tail()}")
    return f"each named; without DeleteRecords {line}"


SCENARIOS = {"managed_settings": managed_settings, "managed_requests": managed_requests}
ON_DEMAND = set(SCENARIOS)
