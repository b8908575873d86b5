# SPDX-License-Identifier: Apache-2.0
"""The topic commands with several brokers, with brokers that show topics late, and with brokers that refuse settings."""
from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

from bad_input import says
from client import Admin
from operating import Watch
from processes import CACHE, ROOT, Bridge
from secured import APPLY, Fortress, Right
from stage import LANES, TARGETS, Skip, Stage, both_modes, exactly_once, judge, level_topics, require, until, will_say

INTEGRATION = ROOT / "build" / "dev" / "integration_tests"
MOST_LINES = 12  # of a process in its first minute
ROUNDS, OWN_TOPICS = 5, 23  # schedule, 18 levels, dead letters, cancels, control, pulse
SUITES = ("topics", "offsets", "broker_limits", "insync")  # suites whose tests need a broker


def integration(stage: Stage) -> str:
    """Runs the integration tests that are skipped without a broker."""
    if not INTEGRATION.exists():
        raise Skip(f"{INTEGRATION} does not exist: cmake --preset dev && cmake --build --preset dev")
    broker = stage.broker().bootstrap
    passed = 0
    for suite in SUITES:
        done = subprocess.run([str(INTEGRATION), f"--filter={suite}/*", "--timeout", "60"], capture_output=True,
                              text=True, env={**os.environ, "KAFKA": broker}, check=False, timeout=200)
        counted = re.search(r"Tested: (\d+) \| Passing: (\d+)", done.stdout + done.stderr)
        require(done.returncode == 0 and counted and counted[1] == counted[2] != "0",
                f"{suite} ended with {done.returncode}:\n{done.stderr[-2000:]}")
        passed += int(counted[2])
    return f"{passed} tests of {len(SUITES)} suites"


def apply_three(stage: Stage) -> str:
    """Three brokers: each shows the new topics when 'topics apply' ends, and with fewer alive it refuses."""
    stage.broker(brokers=3)
    for n in range(ROUNDS):
        path = stage.config(schedule=f"s{n}", replication=3)
        said = stage.apply(path)
        require("created" in said and "nothing to do" not in said, f"apply, which creates topics, says:\n{said}")
        for port in range(3):
            broker = f"127.0.0.1:{stage.kafka.port + port}"
            made = Admin(broker).described(f"s{n}")
            require(len(made) == OWN_TOPICS and all(copies == 3 for copies in made.values()), f"{broker} shows {made}")
        for command in ("plan", "apply"):
            done = stage.run("topics", command, "-c", str(path))
            require(done.returncode == 0 and done.stdout == "nothing to do\n",
                    f"after apply, {command} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    stage.kafka.call("kill", "3")
    stage.admin.wait("two brokers", lambda: len(stage.admin.client.list_topics(timeout=20).brokers) == 2)
    path = stage.config(schedule="late", replication=3)
    says(stage, "two of three alive", stage.run("topics", "apply", "-c", str(path)), (78,),
         "replication is 3 and 2 brokers are alive", "--fewer-replicas")
    require(not stage.admin.described("late"), "topics were created although apply refused")
    says(stage, "told to", stage.run("topics", "apply", "--fewer-replicas", "-c", str(path)), (0,), "replicas=2")
    require(set(stage.admin.described("late").values()) == {2}, "a number of replicas other than two")
    return f"{ROUNDS} times visible on all three brokers at the end of apply; refused with two alive"


def learns_late(stage: Stage) -> str:
    """A broker learns of topics seconds late: 'topics apply' waits, corrects all of them, and names the broker in the end."""
    stage.broker(proxied=True)
    for topic in (stage.schedule, *level_topics(stage.schedule)):
        stage.admin.create(topic, LANES)  # without the settings of a level
    path = stage.config()
    stage.proxy.unlearned = {"schedule.3m", "schedule.1h"}
    with ThreadPoolExecutor(1) as pool:
        applying = pool.submit(stage.apply, path)
        until("three looks at settings", lambda: stage.proxy.passed["DescribeConfigs", 1] >= 3)
        stage.proxy.unlearned = set()
        applying.result()
    planned = stage.run("topics", "plan", "-c", str(path))
    require(planned.returncode == 0 and planned.stdout == "nothing to do\n",
            f"after apply, plan ended with {planned.returncode}:\n{planned.stdout}{planned.stderr}")
    path, stage.proxy.unlearned = stage.config(retired_levels=["42s"]), {"schedule.42s"}
    says(stage, "never learned", stage.run("topics", "apply", "--timeout", "2s", "-c", str(path)), (69,),
         "waiting until every broker shows the changes (broker 1: schedule.42s: ",
         "12 s later not every broker shows them (broker 1: schedule.42s: ")
    says(stage, "unknown at the start", stage.run("topics", "apply", "--timeout", "1s", "-c", str(path)), (69,),
         "nothing is changed", "broker 1", "schedule.42s")
    return "all corrected; gave up with the name of broker and topic"


POLICY = """
import java.util.Map;
import org.apache.kafka.common.errors.PolicyViolationException;
import org.apache.kafka.server.policy.CreateTopicPolicy;

public class Limits implements CreateTopicPolicy {
    public void configure(Map<String, ?> settings) {}
    public void close() {}
    public void validate(RequestMetadata asked) {
        if (asked.topic().startsWith("__"))  // a broker creates these by itself, with a segment.bytes
            return;
        if (Long.parseLong(asked.configs().getOrDefault("max.message.bytes", "0")) > 8388608)
            throw new PolicyViolationException("max.message.bytes is 8388608 at most here");
        if (asked.configs().containsKey("segment.bytes"))
            throw new PolicyViolationException("segment.bytes is ours to choose");
    }
}
"""


def policy(stage: Stage) -> str:
    """Brokers whose policy refuses settings: 'topics apply' quotes it, and topic_settings replaces the settings."""
    stage.broker(props=compile_policy(stage, "Limits", POLICY))
    quoted = stage.run("topics", "apply", "-c", str(stage.config()))
    says(stage, "a policy", quoted, (78,), "is 8388608 at most here", "topic_settings", "max.message.bytes")
    limits = {"max.message.bytes": 8388608}
    path = stage.config(topic_settings=limits)
    says(stage, "its other limit", stage.run("topics", "apply", "-c", str(path)), (78,), "segment.bytes is ours to choose",
         "topic_settings")
    path = stage.config(topic_settings={**limits, "segment.bytes": "default"})
    says(stage, "within its limits", stage.run("topics", "apply", "-c", str(path)), (0,), "dead-lettered as too_large")
    stage.admin.create("e2e.a", 1)
    says(stage, "check", stage.run("check", "-c", str(path)), (0,), "dead-lettered as too_large")
    return "refused and quoted twice, then created within the limits"


GROUP_POLICY = """
import java.io.File;
import java.util.Map;
import org.apache.kafka.common.errors.PolicyViolationException;
import org.apache.kafka.server.policy.CreateTopicPolicy;

public class Internal implements CreateTopicPolicy {
    public void configure(Map<String, ?> settings) {}
    public void close() {}
    public void validate(RequestMetadata asked) {
        if (asked.topic().startsWith("__") && !new File("%s").exists())
            throw new PolicyViolationException("topics of this name are not allowed here");
    }
}
"""


def compile_policy(stage: Stage, name: str, source: str) -> tuple[str]:
    """Compiles a policy for new topics. Returns the property that makes the brokers use it."""
    if shutil.which("javac") is None:
        raise Skip("needs javac (openjdk-17-jdk-headless)")
    (stage.folder / f"{name}.java").write_text(source)
    subprocess.run(["javac", "-cp", f"{CACHE}/kafka-4.1.1/*", f"{name}.java"], cwd=stage.folder, check=True)
    os.environ["KAFKA_CLASSES"] = str(stage.folder)
    return (f"create.topic.policy.class.name={name}",)


def group_refused(stage: Stage) -> str:
    """Brokers whose policy refuses __consumer_offsets: the log and check name it. Lanes follow after it is allowed."""
    allowed = stage.folder / "allowed"
    stage.broker(props=compile_policy(stage, "Internal", GROUP_POLICY % allowed))
    for name, partitions in TARGETS.items():
        stage.admin.create(name, partitions)
    path = stage.config(listen=f"127.0.0.1:{stage.spare_port}")
    stage.apply(path)
    bridge = Bridge(stage.binary, path, "bridge").start()
    will_say(bridge, "the group has no coordinator", 40)
    says(stage, "check", stage.run("check", "-c", str(path)), (78,), "the group has no coordinator",
         "topic __consumer_offsets does not exist", "If a policy for new topics refuses it, allow it there")
    will_say(bridge, "no coordinator admits this process to its group", 60)
    lines = [line for line in bridge.tail(1000).splitlines() if '"msg":"heartbeat"' not in line]
    require(len(lines) <= MOST_LINES, f"{len(lines)} lines about one reason:\n{bridge.tail(1000)}")
    allowed.touch()
    will_say(bridge, "lanes assigned", 40)
    if stage.exactly_once:
        will_say(bridge, "brokers answered, transactional producer continues", 40)
    says(stage, "check", stage.run("check", "-c", str(path)), (0,), "topics: ok")
    stage.connect_clients(list(TARGETS))
    generator = stage.generator(2000)
    stage.background(lambda n, now: generator.request(now), 100, 50).finish()
    line = judge(stage.verify())
    require(bridge.stop() == 0, f"SIGTERM did not end the bridge cleanly:\n{bridge.tail()}")
    return f"named by log and check; lanes after the policy allowed the topic; {line}"


def may_not_alter(stage: Stage) -> str:
    """A login without Alter: 'topics apply' names the topic and the missing right."""
    fortress = Fortress(stage)
    allowed = [right for right in APPLY if right.operation == "create"]
    allowed += [Right("topic", right.name, operation, right.prefixed) for right in list(allowed)
                for operation in ("describe", "describe_configs")]
    fortress.allow("operator", allowed)
    path = stage.config(kafka=fortress.sasl("operator"))
    stage.apply(path)
    stage.admin.set("schedule.1m", retention_ms="3600000")
    says(stage, "no AlterConfigs", stage.run("topics", "apply", "-c", str(path)), (78,), "altering schedule.1m",
         "allow AlterConfigs")
    fortress.allow("operator", [right for right in APPLY if right.operation == "alter_configs"])
    stage.apply(path)
    stage.admin.grow("schedule", LANES + 1)
    says(stage, "no Alter", stage.run("topics", "apply", "-c", str(path)), (78,), "growing schedule.", "allow Alter on")
    fortress.allow("operator", [right for right in APPLY if right.operation == "alter"])
    stage.apply(path)
    return "each right named"


def topics_awaited(stage: Stage) -> str:
    """'run --wait-for-topics' waits while topics are missing, starts after they exist, and exits 78 at the end of its wait."""
    stage.broker()
    for name, partitions in TARGETS.items():
        stage.admin.create(name, partitions)
    path = stage.config(listen=f"127.0.0.1:{stage.spare_port}")
    early = Bridge(stage.binary, path, "early", args=("--wait-for-topics", "1s")).start()
    code = early.wait(30)
    require(code == 78 and "cannot start" in early.tail(50), f"without topics, run ended with {code}:\n{early.tail()}")
    waiting = Bridge(stage.binary, path, "waiting", args=("--wait-for-topics", "2m")).start()
    will_say(waiting, "waiting for the topics")
    missing = [line for line in waiting.tail(50).splitlines() if '"error"' in line and "not exist" in line]
    require(len(missing) == 1 and f'"topics":{OWN_TOPICS - 1},"names":"schedule schedule.1s ' in missing[0],
            f"not one line for all missing topics:\n{waiting.tail(50)}")
    live, ready = (Watch(stage.spare_port).get(page) for page in ("/livez", "/readyz"))
    require(live[0] == 200 and ready[0] == 503 and "about the topics" in ready[1], f"while it waits: {live}, {ready}")
    stage.admin.create(stage.schedule, LANES)  # a part of the topics is not enough
    time.sleep(10)
    require(waiting.running() and "lanes assigned" not in waiting.tail(1000), f"started early:\n{waiting.tail()}")
    stage.apply(path)
    will_say(waiting, "lanes assigned", 40)
    stage.connect_clients(list(TARGETS))
    generator = stage.generator(2000)
    stage.background(lambda n, now: generator.request(now, key=b"k%d" % n), 100, 50).finish()
    line = judge(stage.verify())
    require(waiting.stop() == 0, f"SIGTERM did not end the bridge cleanly:\n{waiting.tail()}")
    return f"exit 78 after a second without topics; waited, then started; {line}"


def first_start(stage: Stage) -> str:
    """The bridge is the first member of any group on a new cluster. No other client may query a coordinator before."""
    stage.broker()
    for name, partitions in TARGETS.items():
        stage.admin.create(name, partitions)
    path = stage.config()
    stage.apply(path)
    began = time.monotonic()
    bridge = stage.bridge(path, members=0)
    will_say(bridge, "lanes assigned")
    took = time.monotonic() - began
    stage.connect_clients(list(TARGETS))
    generator = stage.generator(2000)
    stage.background(lambda n, now: generator.request(now, key=b"k%d" % n), 100, 50).finish()
    return f"lanes after {took:.1f} s; {judge(stage.verify())}"


SCENARIOS = {play.__name__: play for play in (integration, apply_three, learns_late, policy, may_not_alter,
                                                    topics_awaited)} | both_modes(group_refused) | \
    {"first_start_exactly": exactly_once(first_start)}
