# SPDX-License-Identifier: Apache-2.0
"""Scenarios on a running bridge. Each takes a stage, and returns a line of figures or raises."""
from __future__ import annotations

import random
import time
from pathlib import Path

from chaos import chaos
from client import CODECS, Intruder, Sender, now_ms, plant_fatal_error
from clock import Clock
from contract import Request
from operating import Watch, operated
from outage_log import outage_is_logged
from processes import Bridge, cpu_seconds
from stage import LANES, Stage, both_modes, judge, require, require_harness, require_prompt, until


def mixed(stage: Stage) -> str:
    """Requests and poison of every kind, with each codec: no record is lost, changed, early or duplicated. One mode has
    cancel_on_tombstone, and the other one has not. The first client of the senders has a fatal error."""
    count, poison, max_ms, rate = (50_000, 1000, 180_000, 1000) if stage.full else (5000, 260, 20_000, 500)
    stage.use_levels(max_ms)
    config = stage.ready(cancel_on_tombstone=stage.exactly_once)
    bridge = stage.bridge(config)
    generator = stage.generator(max_ms, tombstones=stage.exactly_once, spreads=True)
    every, poisoned = count // poison, [0]

    def make(n: int, now: int) -> Request:
        if n == count // 10 and codec == CODECS[0]:
            plant_fatal_error(sender.producer)
        if n % every:
            return generator.request(now)
        poisoned[0] += 1
        return generator.poison(now, poisoned[0])

    for codec in CODECS:
        sender = Sender(stage.kafka.bootstrap, stage.schedule, codec=codec)
        sender.send_paced(make, count // len(CODECS), rate)
        stage.sender.join(sender)
    report = stage.verify(timeout=max_ms / 1000 + 90)
    line = judge(report)
    require(stage.sender.replaced == 1, f"{stage.sender.replaced} clients of the sender were replaced")
    require(bridge.running(), "the bridge ended by itself:\n" + bridge.tail())
    code = bridge.stop()
    require(code == 0, f"SIGTERM ended the bridge with {code}:\n{bridge.tail()}")
    warm = late_from(stage, 8000)  # a broker compiles its code in its first seconds
    require_prompt(report.share(warm, .99) < 2000, f"p99 {report.share(warm, .99)} ms late: {line}")
    return line


def late_from(stage: Stage, after_ms: int) -> list[int]:
    """Returns the lateness of requests that were due so long after the first one was sent. The bridge chooses the time of a
    spread."""
    due = {(r.partition, r.offset): r.earliest for r in stage.sender.journal if not r.spread_ms}
    start = min(r.sent_ms for r in stage.sender.journal) + after_ms
    return [s.timestamp_ms - due[source(s)] for s in stage.collector.seen
            if source(s) in due and due[source(s)] >= start and not s.topic.endswith(".dead-letter")]


def kill9(stage: Stage) -> str:
    """Two processes share the lanes, and one of them is killed at random times. Clean restarts follow."""
    kills, rate = (20, 300) if stage.full else (3, 200)
    max_ms = 60_000 if stage.full else 20_000
    stage.use_levels(max_ms)
    stage.broker(proxied=True)
    config = stage.ready()
    trace = stage.trace()
    bridges = [stage.bridge(config, f"bridge-{n}", members=n, named=True) for n in (1, 2)]
    generator, dice = stage.generator(max_ms), random.Random(stage.seed)
    sending = stage.background(lambda n, now: generator.request(now), 100_000, rate)
    time.sleep(4)
    for _ in range(kills):
        time.sleep(dice.uniform(3, 8))
        victim = dice.choice(bridges)
        victim.kill()
        victim.start()
    time.sleep(8)
    sending.finish(stop=True)
    report = stage.verify(timeout=max_ms / 1000 + 90)
    line = judge(report, None) + f" kills={kills}"
    if not stage.exactly_once:
        line += " | " + stage.doubles(trace).line()
    trace.end()
    return line + " | " + clean_restarts(stage, bridges, 6 if stage.full else 3)


def clean_restarts(stage: Stage, bridges: list[Bridge], restarts: int) -> str:
    """Restarts the bridges in turn with SIGTERM under load. No record may be duplicated."""
    sender = stage.sender = Sender(stage.kafka.bootstrap, stage.schedule)
    require(stage.admin.wait_members(stage.group, len(bridges)), "the group does not settle")
    generator = stage.generator(8000)
    sending = stage.background(lambda n, now: generator.request(now), 100_000, 200)
    longest = 0.0
    for n in range(restarts):
        time.sleep(3)
        start = time.monotonic()
        code = bridges[n % len(bridges)].stop()
        longest = max(longest, time.monotonic() - start)
        require(code == 0, f"SIGTERM ended the bridge with {code}:\n{bridges[n % len(bridges)].tail()}")
        bridges[n % len(bridges)].start()
    time.sleep(4)
    sending.finish(stop=True)
    stage.collector.wait_for(sender.journal, stage.schedule, 60)
    mine = {(r.partition, r.offset) for r in sender.journal}
    doubled = [s for s in stage.collector.seen if source(s) in mine]
    require(len(doubled) >= len(mine), f"{len(mine) - len({source(s) for s in doubled})} lost at clean restarts")
    extra = len(doubled) - len(mine)
    require(extra == 0, f"{extra} duplicates after clean restarts")
    return f"clean_restarts={restarts} requests={len(mine)} duplicates=0 longest_stop={longest:.1f}s"


def source(seen) -> tuple[int, int]:
    _, partition, offset = (seen.header("dlb-source") or b"/-1/-1").decode().rsplit("/", 2)
    return int(partition), int(offset)


def rebalance(stage: Stage) -> str:
    """A third process joins, leaves, is killed, and is restarted with a static identity: the lateness is bounded.
    Returns the largest lateness of each."""
    max_ms = 7000
    stage.use_levels(max_ms)
    stage.broker()
    config, watch = stage.ready(), Watch(stage.spare_port)
    generator = stage.generator(max_ms)
    names = ("join", "leave", "join", "kill") * (3 if stage.full else 1)
    stage.bridge(config, "bridge-1", env={"DELAYBRIDGE_LISTEN": f"127.0.0.1:{stage.spare_port}"})
    stage.bridge(config, "bridge-2", members=2)
    sending = stage.background(lambda n, now: generator.request(now), 1_000_000, 200)
    windows: list[tuple[str, float, float]] = []

    def event(name: str, members: int, act) -> None:
        time.sleep(4)
        start = time.time() * 1000
        act()
        require(stage.admin.wait_members(stage.group, members), f"{name}: the group does not settle")
        time.sleep(2)
        windows.append((name, start, time.time() * 1000))

    windows.append(("steady", time.time() * 1000 + 2000, time.time() * 1000 + 4000))
    third = Bridge(stage.binary, config, "bridge-3")
    for name in names:
        act = {"join": third.start, "leave": third.stop, "kill": third.kill}[name]
        before = watch.total("rebalances_total")
        event(name, 3 if name == "join" else 2, act)
        until(f"{name}: the metric counts more rebalances than {before:.0f}",
              lambda before=before: watch.total("rebalances_total") > before)
    sending.finish(stop=True)
    judge(stage.verify(timeout=60), None)  # before a restart, which would hide a stalled lane
    Bridge.end_all()

    # Static members: a killed process gets its lanes back at its next start.
    fixed = [Bridge(stage.binary, config, f"static-{n}", {"DELAYBRIDGE_KAFKA_GROUP_INSTANCE_ID": f"e2e-{n}"})
             for n in (1, 2)]
    for bridge in fixed:
        bridge.start()
    time.sleep(7)  # the session of the killed processes
    require(stage.admin.wait_members(stage.group, 2), "the static members do not settle:\n" + fixed[0].tail())
    sending = stage.background(lambda n, now: generator.request(now), 1_000_000, 200)
    for n in range(6 if stage.full else 2):
        event("static kill", 2, lambda n=n: (fixed[n % 2].kill(), fixed[n % 2].start()))
    sending.finish(stop=True)
    report = stage.verify(timeout=60)
    judge(report, None)
    longest = longest_waits(stage, windows)
    # Goals: 300 ms for a join, 1 s for a static kill, the session timeout of 6 s for a kill. The steady figure
    # shows a busy machine.
    for name, limit in {"join": 1500, "leave": 1500, "kill": 9000, "static kill": 1500}.items():
        limit += 3 * longest["steady"]
        require_prompt(longest[name] <= limit, f"a record waited {longest[name]} ms at a {name}: {longest}")
    text = " ".join(f"{name.replace(' ', '_')}={ms}ms" for name, ms in longest.items())
    return f"longest wait {text} | {report.line()}"


def longest_waits(stage: Stage, windows) -> dict[str, int]:
    """Returns for each kind of window the largest lateness of a first delivery that was due in it."""
    first: dict = {}
    for seen in stage.collector.seen:
        key = source(seen)
        if key not in first or seen.timestamp_ms < first[key].timestamp_ms:
            first[key] = seen
    by_source = {(r.partition, r.offset): r for r in stage.sender.journal}
    longest: dict[str, int] = {}
    for name, start, end in windows:
        late = [s.timestamp_ms - by_source[k].earliest for k, s in first.items()
                if k in by_source and start - 200 <= by_source[k].earliest <= end]
        longest[name] = max(longest.get(name, 0), max(late, default=0))
    return longest


def broker_restart(stage: Stage) -> str:
    """The broker is away for 20 s while requests are sent."""
    return broker_away(stage, 20)


def broker_blink(stage: Stage) -> str:
    """The broker is away for little longer than a session: delayed commits arrive when it returns."""
    return broker_away(stage, 5)


def cpu_while_away(bridge: Bridge, seconds: int) -> float:
    """Returns the part of a core that the bridge uses in the second half of an outage: records have timed out by then."""
    time.sleep(seconds / 2)
    start, began = bridge.cpu_seconds(), time.monotonic()
    time.sleep(seconds / 2)
    return (bridge.cpu_seconds() - start) / (time.monotonic() - began)


def broker_away(stage: Stage, seconds: int) -> str:
    max_ms = 40_000 if stage.full else 30_000
    stage.use_levels(max_ms)
    config = stage.ready()
    bridge = stage.bridge(config)
    generator = stage.generator(max_ms)
    pid, began = bridge.pid, now_ms()

    def make(n: int, now: int) -> Request:
        if seconds < 20 or n % 40 or not 200 <= n < 1200:
            return generator.request(now)
        request = generator.request(now, wait_ms=began + 14_000 - now)
        request.headers = [h for h in request.headers if h[0] != "dlb-expires-at"]
        request.expires_ms = began + 16_500
        request.headers.append(("dlb-expires-at", str(request.expires_ms).encode()))
        request.kind, request.code, request.waited = "expires while the broker is away", "expired", True
        request.timestamp_ms = None
        return request

    sending = stage.background(make, 20_000 if stage.full else 3000, 200)
    time.sleep(10)
    stage.kafka.stop()
    down = time.time() * 1000
    cpu = cpu_while_away(bridge, seconds)
    stage.kafka.call("restart", "1")
    up = time.time() * 1000
    sending.finish()
    report = stage.verify(timeout=120)
    line = judge(report, None)
    require(bridge.running() and bridge.pid == pid, "the bridge ended:\n" + bridge.tail())
    due = {(r.partition, r.offset): r.earliest for r in stage.sender.journal}
    outage_is_logged(bridge, up - down)
    late = [s.timestamp_ms - up for s in stage.collector.seen if down <= due[source(s)] <= up]
    require(late, "no record was due while the broker was away")
    require(report.duplicates <= 60,
            f"{report.duplicates} were delivered twice, more than were in flight")
    require(cpu < 0.3, f"the bridge takes {cpu:.0%} of a core while the broker is away")
    # A session, and the first transactions of a broker that still loads; delayed commits may cost another session.
    limit = 7000 if seconds >= 20 else 9000
    require_prompt(max(late) < limit, f"records due meanwhile came {max(late):.0f} ms after the broker")
    return f"{line} away={(up - down) / 1000:.0f}s due_meanwhile={len(late)} last_after_up={max(late):.0f}ms cpu={cpu:.1%}"


def fenced(stage: Stage) -> str:
    """Another client fences the member of a bridge: the bridge rejoins in the same process."""
    max_ms = 7000
    stage.use_levels(max_ms)
    config = stage.ready()
    bridge, times = stage.bridge(config), 10 if stage.full else 2
    pid, generator = bridge.pid, stage.generator(max_ms)
    sending = stage.background(lambda n, now: generator.request(now), 1_000_000, 200)
    for n in range(times):
        time.sleep(3)
        instance = stage.admin.instance_ids(stage.group)[0]
        intruder = Intruder(stage.kafka.bootstrap, stage.group, stage.schedule, instance)
        require(intruder.fenced(20), "the bridge did not rejoin:\n" + bridge.tail())
        require(stage.admin.wait_members(stage.group, 1), f"{n}: the group does not settle")
    time.sleep(2)
    sending.finish(stop=True)
    report = stage.verify(timeout=60)
    line = judge(report, None)
    require(bridge.running() and bridge.pid == pid, "the bridge ended:\n" + bridge.tail())
    joins = Path(stage.folder / "bridge.log").read_text().count("fenced by the group coordinator, rejoining")
    require(joins == times, f"{times} times fenced, {joins} times rejoined")
    require(report.duplicates <= 60 * times, f"{report.duplicates} were delivered twice: {line}")
    require_prompt(report.late(1) < 3000, f"a record came {report.late(1)} ms late: {line}")
    return line


# A topic without any ACL allows writes. super.users must contain a name.
AUTHORIZER = ("authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer",
              "allow.everyone.if.no.acl.found=true", "super.users=User:nobody")


ATTEMPTS = 3
WARM_MS, MEETING_MS = 4000, 6000  # a broker compiles its code in its first seconds; all bad targets are known after MEETING_MS


def bad_targets(stage: Stage) -> str:
    """Missing targets (which must not be created), forbidden ones, and ones for small records, among good ones."""
    stage.broker(props=AUTHORIZER)
    config = stage.ready(max_attempts=ATTEMPTS, listen=f"127.0.0.1:{stage.spare_port}")
    stage.admin.create("e2e.denied", 3)
    stage.admin.forbid_writing("e2e.denied")
    stage.admin.create("e2e.small", 2, max_message_bytes="2000")
    for name in ("e2e.denied", "e2e.small"):
        stage.collector.add(name)
    bridge = stage.bridge(config)
    generator = stage.generator(4000)
    rate, before, during = 200, 10, (40 if stage.full else 16)

    def make(n: int, now: int) -> Request:
        if n < rate * before or n % 10:
            return generator.request(now)
        target = ("e2e.missing", "e2e.later", "e2e.denied", "e2e.small")[n // 10 % 4]
        large = target == "e2e.small" and n // 40 % 2
        request = generator.request(now, wait_ms=n % 5 * 300, target=target, headers=[],
                                    value=b"v" * 4000 if large else b"small")
        request.kind = target
        if target in ("e2e.missing", "e2e.denied"):
            request.code, request.waited = "target_failed", True
        if large:
            request.code, request.waited = "too_large", True
        return request

    sending = stage.background(make, rate * (before + during), rate)
    time.sleep(before + 4)
    stage.admin.create("e2e.later", 2)
    stage.collector.add("e2e.later")
    sending.finish()
    report = stage.verify(timeout=90)
    line = judge(report)
    require("e2e.missing" not in stage.admin.topics(), "the bridge created the missing target")
    require(bridge.running(), "the bridge ended:\n" + bridge.tail())
    failures_are_counted(stage)
    good = {(r.partition, r.offset): r for r in stage.sender.journal if r.kind == "good"}
    first = min(r.stamped_ms for r in good.values() if r.timestamp_ms is None)
    start = first + before * 1000
    late: dict[str, list[int]] = {"warm": [], "before": [], "meeting": [], "beside": []}
    for seen in stage.collector.seen:
        if (r := good.get(source(seen))) is not None:
            part = ("warm" if r.earliest < first + WARM_MS else "before" if r.earliest < start else
                    "meeting" if r.earliest < start + MEETING_MS else "beside")
            late[part].append(seen.timestamp_ms - r.earliest)
    p99 = {part: sorted(times)[int(len(times) * 0.99)] for part, times in late.items()}
    told = " ".join(f"{part}={ms}" for part, ms in p99.items())
    # With exactly-once, each discovery of a bad target aborts a transaction, which may contain good records.
    calm, more = p99["before"], (1500, 200) if stage.exactly_once else (100, 100)
    require_prompt(p99["meeting"] <= max(2 * calm, calm + more[0]) and p99["beside"] <= max(2 * calm, calm + more[1]),
                   f"good records were delayed: p99 ms {told}")
    return f"{line} good_p99_ms {told}"


def failures_are_counted(stage: Stage) -> None:
    """Checks that the metric has each attempt of the records that failed, by entry of targets and kind of error."""
    for kind, error in (("e2e.missing", "missing"), ("e2e.denied", "refused")):
        least, series = ATTEMPTS * sum(r.kind == kind for r in stage.sender.journal), f'target="e2e.*",error="{error}"'
        until(f"{least} failures are counted as {error}", lambda least=least, series=series:
              Watch(stage.spare_port).metrics()["delaybridge_delivery_failures_total", series] >= least > 0)


def clock_step(stage: Stage) -> str:
    """The bridge's wall clock is stepped by 5 s, back and forth: no record is early by that clock."""
    max_ms = 15_000
    stage.use_levels(max_ms)
    clock = Clock(stage.folder)
    config = stage.ready()
    bridge = stage.bridge(config, env=clock.env)
    generator = stage.generator(max_ms)
    sending = stage.background(lambda n, now: generator.request(now), 1_000_000, 200)
    for ms in (5000, 0, -5000, 0) * (4 if stage.full else 1):
        time.sleep(6)
        clock.step(ms)
    time.sleep(6)
    sending.finish(stop=True)
    report = stage.verify(timeout=90, showed=clock.showed)
    line = judge(report)
    moved = sum(1 for s in stage.collector.seen if s.timestamp_ms - s.received_ms > 3000)
    require(moved > 0, "the clock was not stepped: no record has a stamp ahead of this clock")
    require(bridge.running(), "the bridge ended:\n" + bridge.tail())
    return f"{line} steps={clock.steps} stamped_ahead={moved}"


def idle(stage: Stage) -> str:
    """152 partitions, and each lane has a record that is due in an hour: the cost of waiting."""
    config = stage.ready()
    bridge = stage.bridge(config)
    now, waits = now_ms(), (3_600_000, 7_000_000, 2_000_000, 900_000)
    generator = stage.generator(1000)
    for n in range(LANES * 40):
        stage.sender.send(generator.request(now, key=b"k%d" % n, wait_ms=waits[n % len(waits)] + n))
    stage.sender.flush()
    time.sleep(8)
    seconds, start = (60 if stage.full else 20), bridge.cpu_seconds()
    broker, began = cpu_seconds(stage.kafka.pid()), time.monotonic()
    time.sleep(seconds)
    seconds = time.monotonic() - began
    cpu, rss = (bridge.cpu_seconds() - start) / seconds, bridge.rss_mib()
    broker = (cpu_seconds(stage.kafka.pid()) - broker) / seconds
    require(bridge.running(), "the bridge ended:\n" + bridge.tail())
    require(not stage.collector.seen, f"{len(stage.collector.seen)} records came out an hour early")
    require(cpu < 0.01, f"waiting uses {cpu:.2%} of a core (RSS {rss:.0f} MiB)")
    return f"cpu={cpu:.2%} of a core over {seconds:.0f}s rss={rss:.0f}MiB partitions=152 broker_cpu={broker:.1%}"


def drain(stage: Stage) -> str:
    """6,000 records of one partition are due at one instant."""
    config = stage.ready()
    stage.bridge(config)
    generator, results = stage.generator(1000), []
    for _ in range(5 if stage.full else 1):
        due = now_ms() + 12_000
        first = len(stage.sender.journal)
        for _ in range(6000):
            request = generator.request(now_ms(), key=b"one lane", target="e2e.a", headers=[], wait_ms=0,
                                        value=b"x" * 100)
            request.headers, request.id, request.expires_ms = [("dlb-deliver-at", str(due).encode())], None, None
            request.due_ms, request.timestamp_ms, request.out_key = due, None, b"one lane"
            stage.sender.send(request)
        stage.sender.flush()
        require_harness(now_ms() < due - 2000, "the requests were not all written in time")
        lanes = {r.partition for r in stage.sender.journal[first:]}
        require(len(lanes) == 1, f"records of one key are in lanes {lanes}")
        report = stage.verify(timeout=60)
        judge(report)
        results.append(report.share(report.here_ms, 1))
    require_prompt(max(results) < 1000, f"6,000 records due at once took {results} ms")
    return f"6000 records of one partition: the last came after {max(results)} ms | {report.line()}"


SCENARIOS = {**both_modes(mixed, kill9, broker_restart, broker_blink, fenced, bad_targets, clock_step, chaos),
             **{f.__name__: f for f in (rebalance, idle, drain, operated)}}
