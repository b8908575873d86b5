# SPDX-License-Identifier: Apache-2.0
"""A broker that requires rights: SASL over TLS, mutual TLS, and the smallest set of ACLs.

RUN, EXACTLY, APPLY, REDRIVE and COMMANDS contain the rights that docs/security.md lists. The bridge's user has no other rights in these
scenarios. Each right is removed once, and the message of the bridge is checked."""
from __future__ import annotations

import os
import re
import secrets
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from confluent_kafka.admin import (AclBinding, AclBindingFilter, AclOperation, AclPermissionType,
                                   ResourcePatternType, ResourceType, ScramCredentialInfo, ScramMechanism,
                                   UserScramCredentialUpsertion)

from processes import Bridge, Kafka, newer_client
from stage import LANES, Stage, both_modes, judge, require, until, will_say

LITERAL, PREFIXED = ResourcePatternType.LITERAL, ResourcePatternType.PREFIXED


@dataclass(frozen=True)
class Right:
    kind: str        # topic, group, transactional_id, broker (the cluster)
    name: str
    operation: str
    prefixed: bool = False
    fatal: bool = False        # without it, the process ends with 78
    says: str = ""             # without it, the log or output contains this
    slow: bool = False         # the bridge notices only after a minute

    def binding(self, user: str) -> AclBinding:
        return AclBinding(ResourceType[self.kind.upper()], self.name, PREFIXED if self.prefixed else LITERAL,
                          f"User:{user}", "*", AclOperation[self.operation.upper()], AclPermissionType.ALLOW)

    def alike(self, user: str) -> AclBindingFilter:
        have = self.binding(user)
        return AclBindingFilter(have.restype, have.name, have.resource_pattern_type, have.principal, have.host,
                                have.operation, have.permission_type)

    def __str__(self) -> str:
        return f"{self.operation} on {self.kind} {self.name}{'*' if self.prefixed else ''}"


# Read, Write and Delete include Describe. No right includes DescribeConfigs.
RUN = [
    Right("topic", "schedule", "read", fatal=True, says="allow Describe on schedule"),
    Right("topic", "schedule", "describe_configs", says="allow DescribeConfigs"),
    Right("topic", "schedule.", "read", True, says=r"cannot read the paused and limited targets.*allow Read on the topic"),
    Right("topic", "schedule.", "write", True, says=r"cannot write to a topic of the bridge.*allow Write on the topic"),
    Right("topic", "schedule.", "describe_configs", True, says="allow DescribeConfigs"),
    Right("topic", "schedule.", "delete", True, says="allow Delete on the level topics", slow=True),
    Right("topic", "e2e.", "write", True, says=r"target unavailable.*e2e\.a.*may not see it"),
    Right("topic", "e2e.", "describe_configs", True, says="settings of targets could not be read"),
    Right("group", "delaybridge.schedule", "read", says="allow Read on the group"),
    Right("broker", "kafka-cluster", "describe_configs", says="cannot read socket.request.max.bytes"),
]
EXACTLY = [Right("transactional_id", "delaybridge.schedule", "write", True, fatal=True,
                 says="transactional producer cannot start.*allow Write on its transactional id")]
# The commands that read dead letters and send them again. Write on the schedule topic also shows it.
REDRIVE = [
    Right("topic", "schedule.dead-letter", "read", says="schedule.dead-letter appears to be missing.*allow Read on it"),
    Right("group", "delaybridge.schedule.redrive.", "read", True, says="allow Read on the group"),
    Right("topic", "schedule", "write", says="allow Write on the schedule topic"),
    Right("topic", "schedule", "read", says="cannot read schedule: allow Read on it"),
    Right("topic", "schedule.events", "write", says="topic schedule.events appears to be missing.*allow Write on it"),
]
# The commands that cancel and search, and that only read.
COMMANDS = [
    Right("topic", "schedule", "write"),
    Right("topic", "schedule", "read"),
    Right("topic", "schedule.", "read", True),
    Right("group", "delaybridge.schedule", "read"),
    Right("topic", "schedule.control", "write"),
]
CANCEL, REPLACE = ("cancel", "--key", "k"), ("replace", "--key", "k", "--delay", "1h", "--target", "e2e.a", "--value", "v")
WAIT = ("--wait", "1ms", "--timeout", "2s")
HIDDEN = "no level topic appears to exist.*allow Read on the topics that begin with schedule\\."
# A command that needs one of these rights, and its message and exit code without it.
NEEDS = [
    (COMMANDS[0], CANCEL, 78, "allow Write on the schedule topic"),
    (COMMANDS[0], REPLACE, 78, "allow Write on the schedule topic"),
    (COMMANDS[1], ("find", "--key", "k"), 78, "cannot read schedule: allow Read on it"),
    (COMMANDS[1], ("check", "--sample"), 78, "cannot read a sample of schedule: .*allow Read on it"),
    (COMMANDS[2], (*CANCEL, *WAIT), 78, "cannot read schedule.cancelled: .*allow Read on it"),
    (COMMANDS[2], ("find", "--key", "k"), 78, HIDDEN),
    (COMMANDS[2], ("forecast",), 78, HIDDEN),
    (COMMANDS[2], ("levels",), 78, HIDDEN),
    (COMMANDS[2], ("peek", "1h"), 78, HIDDEN),
    (COMMANDS[2], ("dead-letters",), 78, "schedule.dead-letter appears to be missing.*allow Read on it"),
    (COMMANDS[2], ("check",), 78, "fault: paused targets get records after a start.*cannot read schedule.control: allow Read on it"),
    (COMMANDS[2], ("check",), 78, "cannot look for blocked partitions: no level topic appears to exist"),
    (COMMANDS[3], (*CANCEL, *WAIT), 78, "cannot read the progress of the group delaybridge.schedule: .*allow Read on it"),
    (COMMANDS[3], ("find", "--key", "k"), 78, "cannot read the offsets of group delaybridge.schedule: allow Read on the group"),
    (COMMANDS[3], ("forecast",), 78, "allow Read on the group"),
    (COMMANDS[2], ("pause", "e2e.z"), 78, "cannot read schedule.control: allow Read on it"),
    (COMMANDS[4], ("pause", "e2e.z"), 78, "cannot write to schedule.control: .*allow Write on it"),
]
# Alter allows more partitions. AlterConfigs includes DescribeConfigs.
APPLY = [Right("topic", name, operation, prefixed) for name, prefixed in (("schedule", False), ("schedule.", True))
         for operation in ("create", "alter", "alter_configs")]


class Fortress:
    """The broker, its certificates and its users. The test sets them up over a separate listener."""

    def __init__(self, stage: Stage):
        self.stage, self.folder = stage, stage.folder
        self.secrets = {user: secrets.token_hex(12) for user in ("bridge", "operator", "redriver", "clerk")}
        for user, password in self.secrets.items():
            (self.folder / f"{user}.password").write_text(password + "\n")
        self.certificates()
        stage.kafka = Kafka(stage.folder)
        self.port = stage.kafka.port
        stage.kafka.props = self.props()
        stage.broker_started(stage.kafka.start())
        self.scram_users()

    def openssl(self, *args: str) -> None:
        done = subprocess.run(["openssl", *args], cwd=self.folder, capture_output=True, text=True, check=False)
        require(done.returncode == 0, f"openssl {args[0]}: {done.stderr[-400:]}")

    def certificates(self) -> None:
        self.openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "ca.key", "-out", "ca.crt",
                     "-days", "3", "-subj", "/CN=test-ca")
        (self.folder / "names").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
        for name, subject in (("server", "/CN=localhost"), ("client", "/CN=bridge"), ("stranger", "/CN=stranger")):
            self.openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{name}.key", "-out", f"{name}.csr",
                         "-subj", subject)
            self.openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial",
                         "-days", "3", "-out", f"{name}.crt", "-extfile", "names")
        pem = "".join((self.folder / name).read_text() for name in ("server.key", "server.crt", "ca.crt"))
        (self.folder / "server.pem").write_text(pem)

    def props(self) -> tuple[str, ...]:
        port, module = self.port, "org.apache.kafka.common.security"
        listeners = f"PLAINTEXT://127.0.0.1:{port},SASL://127.0.0.1:{port + 1},TLS://127.0.0.1:{port + 2}"
        users = " ".join(f'user_{user}="{password}"' for user, password in self.secrets.items())
        return (f"listeners={listeners},CONTROLLER://127.0.0.1:{port + 100}", f"advertised.listeners={listeners}",
                "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL:SASL_SSL,TLS:SSL",
                "inter.broker.listener.name=PLAINTEXT", "sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
                f"listener.name.sasl.plain.sasl.jaas.config={module}.plain.PlainLoginModule required {users};",
                f"listener.name.sasl.scram-sha-256.sasl.jaas.config={module}.scram.ScramLoginModule required;",
                f"listener.name.sasl.scram-sha-512.sasl.jaas.config={module}.scram.ScramLoginModule required;",
                "ssl.keystore.type=PEM", f"ssl.keystore.location={self.folder}/server.pem",
                "ssl.truststore.type=PEM", f"ssl.truststore.location={self.folder}/ca.crt",
                "listener.name.tls.ssl.client.auth=required",
                "ssl.principal.mapping.rules=RULE:^CN=([^,]*).*$/$1/,DEFAULT",
                "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer",
                "allow.everyone.if.no.acl.found=false", "super.users=User:ANONYMOUS")

    def scram_users(self) -> None:
        for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
            wanted = UserScramCredentialUpsertion("bridge", ScramCredentialInfo(mechanism, 4096),
                                                  self.secrets["bridge"].encode())
            self.upsert(wanted)

    def upsert(self, wanted: UserScramCredentialUpsertion) -> None:
        """Creates credentials. Repeats the request, which a new broker once did not answer."""
        for last in (False, True):
            try:
                for future in self.stage.admin.client.alter_user_scram_credentials([wanted]).values():
                    future.result(20)
                return
            except TimeoutError:
                if last:
                    raise

    # Rights.

    def allow(self, user: str, rights: list[Right]) -> None:
        for future in self.stage.admin.client.create_acls([right.binding(user) for right in rights]).values():
            future.result(30)
        for right in rights:
            self.stage.admin.wait(f"{right} allowed", lambda right=right: self.is_allowed(user, right))

    def forbid(self, user: str, right: Right) -> None:
        for future in self.stage.admin.client.delete_acls([right.alike(user)]).values():
            require(len(future.result(30)) == 1, f"{right} was not allowed")
        self.stage.admin.wait(f"{right} forbidden", lambda: not self.is_allowed(user, right))

    def is_allowed(self, user: str, right: Right) -> bool:
        return bool(self.stage.admin.client.describe_acls(right.alike(user)).result(30))

    # Logins.

    def sasl(self, user: str = "bridge", mechanism: str = "PLAIN", password: str | None = None) -> dict:
        return {"bootstrap.servers": f"127.0.0.1:{self.port + 1}", "security.protocol": "SASL_SSL",
                "sasl.mechanisms": mechanism, "sasl.username": user, "ssl.ca.location": f"{self.folder}/ca.crt",
                "sasl.password": password or {"file": str(self.folder / f"{user}.password")}}

    def mutual(self, name: str = "client") -> dict:
        return {"bootstrap.servers": f"127.0.0.1:{self.port + 2}", "security.protocol": "SSL",
                "ssl.ca.location": f"{self.folder}/ca.crt", "ssl.certificate.location": f"{self.folder}/{name}.crt",
                "ssl.key.location": f"{self.folder}/{name}.key"}

    def keeps_secrets(self, what: str, *texts: str, process: Bridge | None = None) -> None:
        said = "".join(texts)
        if process:
            proc = Path(f"/proc/{process.pid}")
            said += process.log.read_text() + (proc / "cmdline").read_text() + (proc / "environ").read_text()
        for user, password in self.secrets.items():
            require(password not in said, f"{what}: {user}'s password is printed")


Kind = TypeVar("Kind", bound=Fortress)


def setting(stage: Stage, kind: type[Kind]) -> Kind:
    """Creates users and, with the rights for it, the bridge's topics. Starts a sender and a reader."""
    fortress = kind(stage)
    for name, partitions in (("e2e.a", 3), ("e2e.b", 3), ("e2e.c", 1)):
        stage.admin.create(name, partitions)
    fortress.allow("operator", APPLY)
    stage.apply(stage.config("operator.yaml", kafka=fortress.sasl("operator")))
    stage.connect_clients(["e2e.a", "e2e.b", "e2e.c"])
    return fortress


def delivers(stage: Stage, fortress: Fortress, config: Path, name: str, count: int = 150) -> Bridge:
    """Checks that a bridge with this configuration has no findings, delivers, and prints no secret."""
    checked = stage.run("check", "-c", str(config))
    require(checked.returncode == 0 and "skipped" not in checked.stdout,
            f"{name}: check ended with {checked.returncode}:\n{checked.stdout}{checked.stderr}")
    bridge = stage.bridge(config, name, args=("--log-level", "debug"))
    generator = stage.generator(2500)
    stage.sender.send_paced(lambda n, now: generator.poison(now, n) if n % 10 == 0 else generator.request(now),
                            count, 150)
    judge(stage.verify(timeout=40))
    fortress.keeps_secrets(name, checked.stdout, checked.stderr, process=bridge)
    require(bridge.running(), f"{name} ended:\n{bridge.tail()}")
    return bridge


def end(bridge: Bridge) -> None:
    require(bridge.stop() == 0, f"SIGTERM did not end {bridge.name} cleanly:\n{bridge.tail()}")


def secured(stage: Stage) -> str:
    """SASL PLAIN and mutual TLS with the smallest ACLs: each right is needed, and no secret is printed."""
    stage.use_levels()  # the rights on level topics are needed
    fortress = setting(stage, Fortress)
    config = stage.config(kafka=fortress.sasl())
    refused_logins(stage, fortress)
    fortress.allow("bridge", RUN + (EXACTLY if stage.exactly_once else []))
    end(delivers(stage, fortress, config, "plain"))
    find_reads_targets(stage, fortress, config)
    end(delivers(stage, fortress, stage.config("mutual.yaml", kafka=fortress.mutual()), "mutual"))
    missed = EXACTLY if stage.exactly_once and not stage.full else RUN + (EXACTLY if stage.exactly_once else [])
    missed = [right for right in missed if stage.full or not right.slow]
    for n, right in enumerate(missed):
        without(stage, fortress, right, config, f"without-{n}")
    require(len(stage.sender.journal) > 0, "nothing was sent")
    if not stage.exactly_once:
        hidden_control(stage, config)
    end(delivers(stage, fortress, config, "again"))
    line = judge(stage.verify())
    redrive_needs(stage, fortress)  # it adds dead letters that the verifier would call foreign
    if not stage.exactly_once:
        commands_need(stage, fortress)  # it adds cancels and requests
    rights = len(RUN) + len(EXACTLY) * stage.exactly_once + len(REDRIVE) + len(COMMANDS) * (not stage.exactly_once)
    return f"{line} rights={rights} each_missed={rights - len(RUN) - len(EXACTLY) * stage.exactly_once + len(missed)}"


def find_reads_targets(stage: Stage, fortress: Fortress, config: Path) -> None:
    """The bridge cannot read its targets, so find cannot either. It says so, and with the right it finds the delivery."""
    request = next(r for r in stage.sender.journal if r.code is None and r.target == "e2e.a")
    command = ("find", "--source", f"schedule/{request.partition}/{request.offset}", "-c", str(config))
    read = Right("topic", "e2e.a", "read")
    denied = stage.run(*command, "-o", "json")
    require(denied.returncode == 78 and '"not_waiting"' in denied.stdout and "cannot read e2e.a: allow Read" in denied.stderr,
            f"find without Read on a target ended with {denied.returncode}: {denied.stdout}{denied.stderr}")
    fortress.allow("bridge", [read])
    allowed = stage.run(*command)
    require(allowed.returncode == 0 and allowed.stdout.startswith("delivered to e2e.a"),
            f"find with Read on a target ended with {allowed.returncode}: {allowed.stdout}{allowed.stderr}")
    fortress.forbid("bridge", read)
    bad = next(r for r in stage.sender.journal if r.code is not None)
    dead = stage.run("find", "--source", f"schedule/{bad.partition}/{bad.offset}", "-c", str(config))
    require(dead.returncode == 0 and dead.stdout.startswith("dead-lettered in"),
            f"find of a dead letter without Read on targets ended with {dead.returncode}: {dead.stdout}{dead.stderr}")


def without(stage: Stage, fortress: Fortress, right: Right, config: Path, name: str) -> None:
    """Removes one right. The bridge must refuse to start or name the right, which is then restored."""
    fortress.forbid("bridge", right)
    bridge = Bridge(stage.binary, config, name).start()
    generator, deadline = stage.generator(1500), time.monotonic() + (90 if right.slow else 25)
    said = re.compile(right.says)
    while not said.search(bridge.tail(400)):
        require(time.monotonic() < deadline, f"without {right}, the bridge does not print {right.says!r}:\n{bridge.tail(20)}")
        stage.sender.send(generator.request(int(time.time() * 1000), target="e2e.a"))
        time.sleep(0.2)
    stage.sender.flush()
    if right.fatal:
        require(bridge.wait(15) == 78, f"without {right}, the bridge ended with {bridge.process.poll()}:\n{bridge.tail()}")
    fortress.keeps_secrets(name, bridge.tail(10_000))
    fortress.allow("bridge", [right])
    bridge.stop()


def hidden_control(stage: Stage, config: Path) -> None:
    """Without Describe on the topic of control, the bridge cannot know whether targets are paused. So the lanes stay closed
    for half a minute, and an error names the right."""
    denial = AclBinding(ResourceType.TOPIC, "schedule.control", LITERAL, "User:bridge", "*", AclOperation.ALL,
                        AclPermissionType.DENY)
    alike = AclBindingFilter(denial.restype, denial.name, LITERAL, denial.principal, "*", denial.operation,
                             denial.permission_type)
    stage.admin.client.create_acls([denial])[denial].result(30)
    stage.admin.wait("the denial", lambda: bool(stage.admin.client.describe_acls(alike).result(30)))
    checked = stage.run("check", "-c", str(config))
    says = "warn: topic schedule.control does not exist, or this login may not see it.*allow Read on it"
    require(checked.returncode == 0 and re.search(says, checked.stdout),
            f"without Describe on the topic of control, check ended with {checked.returncode}:\n{checked.stdout}{checked.stderr}")
    before = len(stage.collector.of("e2e.a"))
    bridge = Bridge(stage.binary, config, "hidden").start()
    stage.sender.send(stage.generator(1500).request(int(time.time() * 1000), target="e2e.a"))
    stage.sender.flush()
    will_say(bridge, "keeping the last known ones: allow Read on the topic")
    time.sleep(15)
    require(len(stage.collector.of("e2e.a")) == before, "the bridge delivers, and may not see which targets are paused")
    will_say(bridge, "lanes open without them: allow Read on the topic of control", 40)
    until("the delivery", lambda: len(stage.collector.of("e2e.a")) > before, 20)
    stage.admin.client.delete_acls([alike])[alike].result(30)
    end(bridge)


def redrive_needs(stage: Stage, fortress: Fortress) -> None:
    """Removes each right of the user that sends dead letters again. The command names it and ends with 78."""
    config = stage.config("redriver.yaml", kafka=fortress.sasl("redriver"), events=["redriven"])
    stage.admin.create("schedule.events", LANES)
    request = next(r for r in stage.sender.journal if r.code is None and r.expires_ms is None and r.expires_delay is None)
    verdict = [("dlb-reason", b"r"), ("dlb-failed-at", b"4102444800000")]  # 2100: no other dead letter is selected
    for headers in ([("dlb-deliver-at", str(int(time.time() * 1000) + 864_000_000).encode()), ("dlb-target", b"e2e.a"),
                     ("dlb-error", b"target_denied"), ("dlb-source", b"schedule/0/0")],
                    [("dlb-error", b"too_large"), ("dlb-source", f"schedule/{request.partition}/{request.offset}".encode()),
                     ("dlb-truncated", b"all")]):
        stage.sender.producer.produce("schedule.dead-letter", b"v", b"k", headers=headers + verdict, partition=0)
    stage.sender.producer.flush(10)
    fortress.allow("redriver", REDRIVE)
    for right in REDRIVE:
        fortress.forbid("redriver", right)
        code, dry = ("too_large", ["--dry-run", "--restart-delay"]) if right == REDRIVE[3] else ("target_denied", [])
        done = redrive(stage, config, code, dry)
        said = done.stdout + done.stderr
        require(done.returncode == 78 and re.search(right.says, said),
                f"without {right}, redrive ended with {done.returncode} and does not print {right.says!r}:\n{said}")
        fortress.keeps_secrets(f"redrive without {right}", said)
        fortress.allow("redriver", [right])
    for code, dry in (("too_large", ["--dry-run", "--restart-delay"]), ("target_denied", [])):
        done = redrive(stage, config, code, dry)
        require(done.returncode == 0 and '"sent":1,' in done.stdout,
                f"with all rights, redrive of {code} ended with {done.returncode}:\n{done.stdout}{done.stderr}")


def commands_need(stage: Stage, fortress: Fortress) -> None:
    """Removes each right of a user who cancels and searches. Each command names it, and succeeds with all rights."""
    config = stage.config("clerk.yaml", kafka=fortress.sasl("clerk"))
    fortress.allow("clerk", COMMANDS)
    for command, code in ((CANCEL, 0), ((*REPLACE, *WAIT), 75), (("find", "--key", "k"), 0), (("forecast",), 0),
                          (("dead-letters",), 0)):  # 75: no bridge runs
        done = stage.run(*command, "-c", str(config))
        require(done.returncode == code, f"{command} with all rights ended with {done.returncode}: {done.stdout}{done.stderr}")
    for right in COMMANDS:
        fortress.forbid("clerk", right)
        for _, command, code, says in (need for need in NEEDS if need[0] == right):
            done = stage.run(*command, "-c", str(config))
            said = done.stdout + done.stderr
            require(done.returncode == code and re.search(says, said),
                    f"without {right}, {command} ended with {done.returncode} and does not print {says!r}:\n{said}")
            fortress.keeps_secrets(f"{command} without {right}", said)
        fortress.allow("clerk", [right])


def redrive(stage: Stage, config: Path, code: str, more: list[str]) -> subprocess.CompletedProcess:
    return stage.run("redrive", "--code", code, "--since", "2100-01-01T00:00:00Z", *more, "-c", str(config), "-o", "json")


def refused_logins(stage: Stage, fortress: Fortress) -> None:
    """Wrong password, wrong or no certificate: exit code 78 and a sentence. Impossible SCRAM names the reason."""
    cases = [("a wrong password", fortress.sasl(password="not-the-password"), "the login was refused (bridge by PLAIN)"),
             ("no certificate", {**fortress.sasl(), "bootstrap.servers": f"127.0.0.1:{fortress.port + 2}",
                                 "security.protocol": "SSL"}, "the TLS handshake was refused"),
             ("another authority", {**fortress.sasl(), "ssl.ca.location": f"{fortress.folder}/stranger.crt"},
              "the TLS handshake was refused")]
    if not scram_works(stage):
        cases.append(("SCRAM with an old client", fortress.sasl(mechanism="SCRAM-SHA-256"), "librdkafka 2.6.1"))
    for n, (what, login, sentence) in enumerate(cases):
        path = stage.config(f"refused-{n}.yaml", kafka=login)
        for command in ("check", "run"):
            done = stage.run(command, "-c", str(path), timeout=40)
            said = done.stdout + done.stderr
            require(done.returncode == 78 and sentence in said,
                    f"{what}: {command} ended with {done.returncode}:\n{said[-800:]}")
            require("not-the-password" not in said, f"{what}: {command} prints the password")
            fortress.keeps_secrets(f"{what}: {command}", said)
    # A user without rights can log in, and sees no topic.
    path = stage.config("stranger.yaml", kafka=fortress.mutual("stranger"))
    done = stage.run("check", "-c", str(path))
    require(done.returncode == 78 and "allow Describe" in done.stdout, f"a user without rights: {done.stdout}{done.stderr}")


def scram_works(stage: Stage) -> bool:
    version = stage.run("version").stdout.rsplit("librdkafka ", 1)[1].strip()
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3]) >= (2, 6, 1)


def secured_scram(stage: Stage) -> str:
    """SCRAM-SHA-256 and SCRAM-SHA-512 over TLS, with a librdkafka that supports them."""
    if not scram_works(stage):
        os.environ["LD_LIBRARY_PATH"] = newer_client()
    fortress = setting(stage, Fortress)
    fortress.allow("bridge", RUN)
    for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
        config = stage.config(f"{mechanism}.yaml", kafka=fortress.sasl(mechanism=mechanism))
        end(delivers(stage, fortress, config, mechanism.lower()))
    wrong = stage.config("wrong.yaml", kafka=fortress.sasl(mechanism="SCRAM-SHA-256", password="not-the-password"))
    done = stage.run("check", "-c", str(wrong), timeout=40)
    require(done.returncode == 78 and "the login was refused (bridge by SCRAM-SHA-256)" in done.stderr,
            f"a wrong password: {done.returncode}: {done.stderr}")
    version = stage.run("version").stdout.rsplit("librdkafka ", 1)[1].strip()
    return f"{judge(stage.verify())} with librdkafka {version}"


SCENARIOS = {**both_modes(secured), "secured_scram": secured_scram}
