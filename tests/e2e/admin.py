# SPDX-License-Identifier: Apache-2.0
"""The admin API on a real Kafka: each route, each refusal, and that a search delays no delivery. Answers are compared with
the OpenAPI file that the server serves."""
from __future__ import annotations

import http.client
import json
import os
import re
import signal
import threading
import time
from dataclasses import dataclass

from client import now_ms
from contract import rfc3339
from found import Crowd, settle
from processes import Bridge
from schemas import faults
from stage import Stage, both_modes, require, will_say

TOKEN, OTHER_TOKEN = "0123456789abcdef-first", "0123456789abcdef-second"
OPEN = ("status", "levels", "lanes", "forecast", "targets")
CLOSED = (("GET", "history"), ("GET", "processes"), ("GET", "config"), ("GET", "jobs"), ("GET", "jobs/0123456789abcdef"),
          ("POST", "jobs/0123456789abcdef/stop"), ("GET", "forecast/deliveries"), ("POST", "find"), ("POST", "events"),
          ("POST", "dead-letters"), ("POST", "redrive"), ("POST", "send"), ("POST", "cancel"), ("POST", "replace"),
          ("POST", "pause"), ("POST", "limit"), ("POST", "resume"))
WAITING, MINUTE = 3000, 60_000


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: dict


class Api:
    """A client of the admin API. It checks each answer against the OpenAPI file."""

    def __init__(self, port: int, token: str | None = None):
        self.port, self.token, self.file, self.calls = port, token, {}, 0

    def raw(self, method: str, path: str, body: object = None, **headers: str) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        sent = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        if body is not None:
            sent["Content-Type"] = "application/json"
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        data = body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode()
        connection.request(method, path, data, {name: value for name, value in sent.items() if value != ""})
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        self.calls += 1
        return Answer(answer.status, {k.lower(): v for k, v in answer.getheaders()}, json.loads(text) if text else {})

    def call(self, method: str, route: str, body: object = None, status: int = 200, query: str = "",
             **headers: str) -> Answer:
        answer = self.raw(method, f"/api/v1/{route}{query}", body, **headers)
        require(answer.status == status, f"{method} {route} {body} answered {answer.status}: {answer.body}")
        self.check(method, route, answer)
        return answer

    def check(self, method: str, route: str, answer: Answer) -> None:
        """Compares the answer with the OpenAPI file."""
        if not self.file:
            self.file = self.raw("GET", "/openapi.json").body
        path = re.sub(r"^jobs/[^/]*", "jobs/{id}", route)
        answers = self.file["paths"][f"/api/v1/{path}"][method.lower()]["responses"]
        require(str(answer.status) in answers, f"{method} {route} answered {answer.status}, which the file does not have")
        problem = answer.status >= 400
        kind = "application/problem+json" if problem else "application/json"
        require(answer.headers["content-type"] == kind, f"{method} {route}: {answer.headers}")
        schema = self.file["components"]["schemas"]["problem"] if problem else \
            answers[str(answer.status)]["content"][kind]["schema"]
        require(not (found := faults(answer.body, self.resolved(schema))), f"{method} {route}: {found}: {answer.body}")

    def resolved(self, schema):
        """Replaces references, which the validator of docs/schemas does not know."""
        if isinstance(schema, list):
            return [self.resolved(one) for one in schema]
        if not isinstance(schema, dict):
            return schema
        if "$ref" in schema:
            at = self.file
            for part in schema["$ref"].removeprefix("#/").split("/"):
                at = at[part]
            return self.resolved({**at, **{k: v for k, v in schema.items() if k != "$ref"}})
        known = {"type", "properties", "required", "additionalProperties", "items", "anyOf", "enum", "format", "minimum"}
        return {name: {k: self.resolved(v) for k, v in value.items()} if name == "properties" else self.resolved(value)
                for name, value in schema.items() if name in known}

    def job(self, kind: str, body: dict, seconds: float = 30) -> dict:
        """Starts a job and waits for its end."""
        answer = self.raw("POST", f"/api/v1/{kind}?wait_ms=500", body)
        require(answer.status in (200, 202), f"{kind} {body} answered {answer.status}: {answer.body}")
        self.check("POST", kind, answer)
        require(answer.headers["location"] == f"/api/v1/jobs/{answer.body['id']}", f"{answer.headers}")
        deadline = time.monotonic() + seconds
        while (job := self.call("GET", f"jobs/{answer.body['id']}").body)["state"] in ("running", "stopping"):
            require(time.monotonic() < deadline, f"{kind} {body} does not end: {job}")
            time.sleep(0.1)
        return job

    def found(self, state: str, **asked) -> dict:
        job = self.job("find", asked)
        require(job["state"] == "done" and [r["state"] for r in job["results"]] == [state], f"find {asked}: {job}")
        return job["results"][0]


def refusals_without_token(api: Api) -> None:
    """Status, levels, lanes, forecast and targets are open. All other routes name the key to set."""
    for name in OPEN:
        api.call("GET", name)
    for method, route in CLOSED:
        answer = api.call(method, route, None if method == "GET" or route.endswith("stop") else {}, status=403)
        require(answer.body["key"] == "admin_token", f"{method} {route}: {answer.body}")
    for host in ("evil.example", "127.0.0.1.evil.example:9405", ""):
        answer = api.raw("GET", "/api/v1/status", Host=host or " ")
        require(answer.status == 421, f"Host {host!r} answered {answer.status}")
    link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    require(api.raw("GET", "/openapi.json", **link).status == 200, "a link of another site is refused")
    for headers in ({"Origin": "http://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "same-site"}, link):
        answer = api.raw("GET", "/api/v1/status", **headers)
        require(answer.status == 403 and answer.body["code"] == "wrong_origin", f"{headers} answered {answer.status}")
        require("access-control-allow-origin" not in answer.headers, f"{answer.headers}")
    require(api.raw("OPTIONS", "/api/v1/status").status == 405, "OPTIONS is answered")


def refusals_with_token(api: Api, port: int) -> None:
    for token in (None, "", OTHER_TOKEN, TOKEN[:-1], TOKEN + "x"):
        for method, route in (*(("GET", name) for name in OPEN), *CLOSED):
            answer = Api(port, token).raw(method, f"/api/v1/{route}", None if method == "GET" or route.endswith("stop") else {})
            require(answer.status == 401 and answer.headers["www-authenticate"] == "Bearer",
                    f"{method} {route} with {token!r} answered {answer.status}")
        time.sleep(0.5)  # below the limit of calls
    require(Api(port).raw("GET", "/openapi.json").status == 200, "the file needs a token")
    for path in ("/", "/api/v1", "/api/v1/status/", "/api/v2/status", "/api/v1/../status", "/%2e%2e/etc/passwd"):
        require(api.raw("GET", path).status == 404, f"{path} is answered")
    require(api.raw("PUT", "/api/v1/jobs/1").headers["allow"] == "GET, HEAD", "the methods of a job")
    for query in ("?x=1", "?wait_ms=1&wait_ms=2", "?wait_ms", "?wait_ms=5001", "?wait_ms=-1", "?wait_ms=1x"):
        api.call("POST", "find", {"id": "x"}, status=400, query=query)
    for body in (b"", b"[]", b"{", b'{"id":"a","id":"b"}', b"\xff", {"nonsense": 1}, {"limit": "many"}, {"id": ["a", "b"]},
                 {"id": {"a": 1}}, {"due": "soon"}, {"id": ""}, {"id": "x" * 1001}, {"id": "x", "limit": False}, {"id": 7}, {},
                 {"-c": "/etc/passwd"}, {"config": "/etc/passwd"}):
        answer = api.raw("POST", "/api/v1/find?wait_ms=2000", body)
        failed = answer.status == 200 and answer.body["state"] == "failed"
        require(answer.status == 400 or (failed and answer.body["problem"]["status"] == 400),
                f"find {body!r} answered {answer.status}: {answer.body}")
    api.call("POST", "find", {"id": "x"}, status=415, Content_Type="text/plain")
    api.call("POST", "send", b'{"requests": [{"value": "' + b"x" * (4 << 20) + b'"}]}', status=413)
    api.call("GET", "jobs/0123456789abcdef", status=404)
    api.call("POST", "jobs/0123456789abcdef/stop", status=404)


def shown(api: Api, binary_lanes: int) -> None:
    """The routes that show something agree with the commands."""
    status = api.call("GET", "status").body
    require(status["ready"] and status["alive"] and status["token"] and status["now"]["owned_lanes"] == binary_lanes,
            f"{status}")
    levels = api.call("GET", "levels").body
    require(sum(level["waiting"] for level in levels["levels"]) >= WAITING, f"{levels}")
    lanes = api.call("GET", "lanes").body
    require({row["lane"] for row in lanes["levels"]} == set(range(binary_lanes)), f"{lanes}")
    forecast = api.call("GET", "forecast/deliveries").body
    require(sum(minute["deliveries"] for minute in forecast["deliveries"]["minutes"]) > WAITING / 2, f"{forecast}")
    processes = api.call("GET", "processes").body
    require(len(processes["processes"]) == 1 and not processes["differences"], f"{processes}")
    config = {row["key"]: row["value"] for row in api.call("GET", "config").body["keys"]}
    require(config["targets"] == "[e2e.*]" and config["admin_token"] == "(hidden)", f"{config}")
    require("s3cret" not in json.dumps(config), "a secret is shown")


def written(stage: Stage, api: Api) -> None:
    """send, cancel and replace do what the commands do. An invalid request among others sends none."""
    due = rfc3339(now_ms() + 30 * MINUTE)
    sent = api.call("POST", "send", {"requests": [
        {"key": "k1", "id": "admin-1", "at": due, "target": "e2e.a", "value": "one", "headers": {"a": "b"}},
        {"key": "k2", "id": "admin-2", "delay": "30m", "target": "e2e.b", "value": {"base64": "/w=="}},
        {"key": "k3", "id": "admin-3", "delay": "1s", "target": "e2e.a", "value": "@/etc/passwd"}]}).body
    require(len(sent["results"]) == 3 and sent["problem"] is None, f"{sent}")
    for id_, key in (("admin-1", "k1"), ("admin-2", "k2")):
        found = api.found("waiting", id=id_, key=key)
        require(found["record"]["id"] == id_, f"{found}")
    require(api.found("waiting", id="admin-1")["record"]["headers"] == [["a", "b"]], "the header of a sent request")
    keyed(stage, api)
    before = api.call("GET", "levels").body
    bad = api.call("POST", "send", {"requests": [{"delay": "1s", "target": "e2e.a", "value": "x", "key": "k9", "id": "admin-9"},
                                                 {"delay": "1s", "target": "other", "value": "x"}]}, status=400).body
    require("target_denied" in bad["detail"] and "request 2" in bad["detail"], f"{bad}")
    for body in ({}, {"requests": []}, {"requests": {}}, {"requests": [1]}, {"requests": [{"delay": "1s"}]},
                 {"requests": [{"delay": "1s", "value": "x", "what": "y"}]}, {"requests": [{"value": "x"}], "wait": "1s"}):
        api.call("POST", "send", body, status=400)
    cancelled = api.call("POST", "cancel", {"requests": [{"key": "k1", "id": "admin-1"}], "wait": "8s"}).body
    require([r["state"] for r in cancelled["results"]] == ["in_force"], f"{cancelled}")
    api.found("cancelled", id="admin-1", key="k1")
    api.call("POST", "cancel", {"requests": [{"key": "k"}], "wait": "11s"}, status=400)
    replaced = api.call("POST", "replace", {"wait": "8s", "requests": [
        {"key": "k2", "id": "admin-2", "delay": "1s", "target": "e2e.b", "value": "two"}]}).body
    require([r["state"] for r in replaced["results"]] == ["in_force"], f"{replaced}")
    deadline = time.monotonic() + 20
    while not (values := {r.value for r in stage.collector.seen if r.topic.startswith("e2e.")}) >= {b"two", b"@/etc/passwd"}:
        require(time.monotonic() < deadline, f"delivered: {values}")
        time.sleep(0.1)
    require(b"x" not in values, "a call that was refused has sent a request")
    require(before["dead_letters"] == api.call("GET", "levels").body["dead_letters"], "a refused call wrote a dead letter")
    api.found("not_found", id="admin-9")


def keyed(stage: Stage, api: Api) -> None:
    """The answer of find has the key that a cancel needs, also if the delivery has another one."""
    stage.sender.producer.produce(stage.schedule, b"x", b"record-key", headers=[
        ("dlb-delay", b"30m"), ("dlb-target", b"e2e.a"), ("dlb-key", b"other-key"), ("dlb-id", b"keyed")])
    stage.sender.producer.flush(30)
    deadline = time.monotonic() + 20
    while (job := api.job("find", {"id": "keyed"}))["results"][0]["record"] is None:
        require(time.monotonic() < deadline, f"{job}")
    record = job["results"][0]["record"]
    require(record["key"] == "other-key" and record["record_key"] == "record-key", f"{record}")
    answer = api.call("POST", "cancel", {"requests": [{"key": record["record_key"], "id": record["id"]}], "wait": "8s"}).body
    require([r["state"] for r in answer["results"]] == ["in_force"], f"{answer}")
    api.found("cancelled", id="keyed", key="record-key")


def target_row(api: Api, entry: str) -> dict:
    rows = {row["entry"]: row for row in api.call("GET", "targets").body["targets"]}
    require(entry in rows, f"{sorted(rows)}")
    return rows[entry]


def target_becomes(api: Api, **wanted) -> dict:
    """Waits until the row of the entry e2e.* has these values."""
    deadline = time.monotonic() + 20
    while not wanted.items() <= (row := target_row(api, "e2e.*")).items():
        require(time.monotonic() < deadline, f"{row} never has {wanted}")
        time.sleep(0.2)
    return row


def targets_live(api: Api) -> None:
    """The row of an entry follows its pauses, limits and failures, and has rate and lateness of the last seconds."""
    row = target_becomes(api, state="open", limit_per_s=None, deliveries=2)
    require(row["topics"] >= 2 and row["failing_topics"] == 0 and row["deliveries"] > 0, f"{row}")
    request = {"delay": "1ms", "target": "e2e.a", "value": "for the row"}
    api.call("POST", "send", {"requests": [request] * 10})
    deadline = time.monotonic() + 9
    while (row := target_row(api, "e2e.*"))["late_p99_ms"] is None or not row["deliveries_per_s"]:
        require(time.monotonic() < deadline, f"no recent deliveries: {row}")
        time.sleep(0.2)
    api.call("POST", "pause", {"targets": "e2e.never"})
    target_becomes(api, state="partly_paused")
    api.call("POST", "limit", {"targets": "e2e.never", "rate": "120/m"})
    target_becomes(api, state="limited", limit_per_s=2)
    api.call("POST", "pause", {"targets": "e2e.*"})
    target_becomes(api, state="paused")
    api.call("POST", "send", {"requests": [request]})
    row = target_becomes(api, state="paused", withheld={"paused": 1, "limited": 0})
    for targets in ("e2e.never", "e2e.*"):
        api.call("POST", "resume", {"targets": targets})
    api.call("POST", "send", {"requests": [{**request, "target": "e2e.missing"}]})
    row = target_becomes(api, state="failing", failing_topics=1)
    require(sum(row["failures"].values()) >= 1, f"{row}")


def redriven(stage: Stage, api: Api) -> None:
    """A dry run shows what redrive would send, and a second redrive is refused while one runs."""
    for n in range(20):
        stage.sender.producer.produce(stage.schedule, b"late", b"dead-%d" % n,
                                      headers=[("dlb-deliver-at", b"%d" % (now_ms() - 2000)),
                                               ("dlb-expires-at", b"%d" % (now_ms() - 1000)),
                                               ("dlb-target", b"e2e.a")])
    stage.sender.producer.flush(30)
    deadline = time.monotonic() + 20
    while (job := api.job("dead-letters", {"show": 3}))["results"][-1]["records"] < 20:
        require(time.monotonic() < deadline, f"{job}")
    require(len(job["results"]) == 4 and job["progress"] == 1, f"{job}")
    dry = api.job("redrive", {"dry-run": True, "drop-expiry": True})["results"][-1]
    require(dry["dry_run"] and dry["sent"] == 20, f"{dry}")
    slow = api.raw("POST", "/api/v1/redrive", {"drop-expiry": True, "rate": "1"})
    require(slow.status == 202 and slow.body["state"] == "running", f"{slow}")
    api.call("POST", "redrive", {"drop-expiry": True}, status=409)
    stopped = api.call("POST", f"jobs/{slow.body['id']}/stop").body
    require(stopped["state"] in ("stopping", "stopped"), f"{stopped}")
    deadline = time.monotonic() + 20
    while (job := api.call("GET", f"jobs/{slow.body['id']}").body)["state"] == "stopping":
        require(time.monotonic() < deadline, f"{job}")
        time.sleep(0.1)
    require(job["state"] == "stopped" and job["results"][-1]["sent"] < 20 and not job["results"][-1]["complete"], f"{job}")
    rest = api.job("redrive", {"drop-expiry": True})["results"][-1]
    require(rest["complete"] and rest["sent"] + job["results"][-1]["sent"] == 20, f"{rest} after {job['results'][-1]}")
    require(len(api.call("GET", "jobs").body["jobs"]) <= 32, "too many jobs are kept")


def events_of(stage: Stage, api: Api) -> None:
    """The events of a request are a job. A foreign record without a time on their topic ends neither it nor the bridge."""
    for value in (b'{"data": {"id": "admin-2"}}', b'{"time": 7, "data": {"id": "admin-2"}}', b'{"data": 7}', b"[]", b"\xff"):
        stage.sender.producer.produce(f"{stage.schedule}.events", value, partition=0)
    stage.sender.producer.flush(30)
    deadline = time.monotonic() + 20
    while not (job := api.job("events", {"id": "admin-2"}))["results"]:
        require(job["state"] == "done" and time.monotonic() < deadline, f"{job}")
    require({"accepted", "delivered"} <= {event["data"]["event"] for event in job["results"]}, f"{job}")


def controlled(api: Api) -> None:
    """pause, limit and resume write entries that levels shows, with the address of the client."""
    paused = api.call("POST", "pause", {"targets": "e2e.never", "for": "1h"}).body["results"][0]["entry"]
    require(paused["op"] == "pause" and paused["by"].startswith("admin API, 127.0.0.1"), f"{paused}")
    limited = api.call("POST", "limit", {"targets": "e2e.none.*", "rate": "100/s"}).body["results"][0]["entry"]
    require(limited["rate"] == "100/s", f"{limited}")
    deadline = time.monotonic() + 5  # an answer serves all calls of a second
    while len(shown_now := api.call("GET", "levels").body["control"]) < 2:
        require(time.monotonic() < deadline, f"levels shows {shown_now}")
        time.sleep(0.2)
    for targets in ("e2e.never", "e2e.none.*"):
        require(api.call("POST", "resume", {"targets": targets}).body["results"][0]["removed"], targets)
    require(not api.call("POST", "resume", {"targets": "e2e.x"}).body["results"][0]["removed"], "nothing is removed")
    for route, body in (("pause", {}), ("pause", {"targets": "a b"}), ("pause", {"targets": "a", "for": "1ms"}),
                        ("pause", {"targets": "a", "rate": "1/s"}), ("limit", {"targets": "a"}),
                        ("limit", {"targets": "a", "rate": "fast"}), ("resume", {"targets": "a", "for": "1h"})):
        api.call("POST", route, body, status=400)


def history(api: Api) -> None:
    """Each second has one entry in each column."""
    seconds = api.call("GET", "history").body
    require(len(seconds["at"]) >= 5 and sum(seconds["deliveries"]) > 0, f"{seconds['at']}, {seconds['deliveries']}")
    require(all(len(column) == len(seconds["at"]) for name, column in seconds.items() if name != "lateness_bounds_ms"),
            "columns of different lengths")
    late = sum(map(sum, seconds["lateness"]))  # a second may end between the two counters of one delivery
    require(late == sum(seconds["deliveries"]), f"the lateness of {late} of {sum(seconds['deliveries'])} deliveries")
    later = api.call("GET", "history", query=f"?since={seconds['at'][-2]}").body
    require(later["at"][0] == seconds["at"][-1], f"{later['at']} after {seconds['at'][-2]}")
    api.call("GET", "history", status=400, query="?since=yesterday")


def reloaded(stage: Stage, api: Api, bridge: Bridge, name: str, **settings) -> None:
    """After SIGHUP, a call is judged by the new configuration."""
    request = {"requests": [{"delay": "1h", "target": "new.topic", "value": "x"}]}
    api.call("POST", "send", request, status=400)
    stage.config(name, targets=["e2e.*", "new.*"], hold="2s", **settings)
    os.kill(bridge.pid, signal.SIGHUP)
    will_say(bridge, "configuration reloaded")
    deadline = time.monotonic() + 10
    while api.raw("POST", "/api/v1/send", request).status != 200:
        require(time.monotonic() < deadline, "the new target is refused after a reload")
        time.sleep(0.5)
    shown_now = {row["key"]: row["value"] for row in api.call("GET", "config").body["keys"]}
    require(shown_now["hold"] == "1s", "a key that needs a restart counts for calls after a reload")


def while_kafka_is_away(stage: Stage, api: Api, bridge: Bridge) -> float:
    """Without brokers status answers at once, reads and writes answer 503, and SIGTERM ends the process soon."""
    stage.kafka.stop()
    clients = [threading.Thread(target=lambda: [api.raw("GET", f"/api/v1/{route}") for route in ("levels", "forecast")],
                                daemon=True) for _ in range(8)]
    for client in clients:
        client.start()
    time.sleep(3)
    start = time.monotonic()
    api.call("GET", "status")
    took = time.monotonic() - start
    require(took < 1, f"status took {took:.1f} s while reads wait for Kafka")
    for method, route, body in (("GET", "levels", None), ("GET", "processes", None),
                                ("POST", "send", {"requests": [{"delay": "1s", "target": "e2e.a", "value": "x"}]})):
        answer = api.raw(method, f"/api/v1/{route}", body)
        require(answer.status in (500, 503) or (route != "send" and answer.status == 200),
                f"{route} answered {answer.status} without brokers: {answer.body}")
    start = time.monotonic()
    bridge.stop(timeout=40)
    return time.monotonic() - start


def refuses_to_start(stage: Stage, words: str, **changes) -> None:
    path = stage.config("refused.yaml", **changes)
    done = stage.run("run", "-c", str(path), timeout=20)
    require(done.returncode == 78 and words in done.stderr, f"{changes} ended with {done.returncode}: {done.stderr}")


def served(stage: Stage, port: int, token_file, **settings) -> tuple[Bridge, Api]:
    token_file.write_text(TOKEN + "\n")
    config = stage.config("token.yaml", admin=f"127.0.0.1:{port}", admin_token={"file": str(token_file)}, **settings)
    return stage.bridge(config, "bridge-2"), Api(port, TOKEN)


def admin(stage: Stage) -> str:
    """The admin API with a token: each route, each refusal, jobs that are stopped, and the log of writes."""
    stage.broker()
    port = stage.spare_port
    stage.ready(events=["all"])
    bridge, api = served(stage, port, stage.folder / "token", events=["all"])
    crowd = Crowd(stage)
    for n in range(WAITING):
        crowd.send(f"crowd-{n}", now_ms() + 40 * MINUTE)
    crowd.flush()
    settle(stage, stage.folder / "token.yaml", WAITING)
    refusals_with_token(api, port)
    shown(api, 8)
    written(stage, api)
    redriven(stage, api)
    events_of(stage, api)
    will_say(bridge, '"path":"/api/v1/cancel"')
    will_say(bridge, "admin API write answered")
    log = (stage.folder / "bridge-2.log").read_text() if (stage.folder / "bridge-2.log").exists() else bridge.tail(10000)
    require("127.0.0.1:" in log and TOKEN not in log, "the log has no address, or the token")
    require("admin API call with a wrong token refused" in log, "a wrong token is not logged")
    require(bridge.stop() == 0, f"the bridge ended with an error:\n{bridge.tail()}")
    return f"{api.calls} calls with a token"


def admin_live(stage: Stage) -> str:
    """The admin API without a token, then what a running process shows: targets, history, a reload, another token, and
    Kafka that is away."""
    stage.broker()
    port = stage.spare_port
    token = stage.folder / "token"
    at = f"127.0.0.1:{port}"
    stage.ready(events=["all"])
    refuses_to_start(stage, "refused.yaml:", admin=f"0.0.0.0:{port}")
    refuses_to_start(stage, "admin_token: cannot read /no/such/file", admin=at, admin_token={"file": "/no/such/file"})
    bridge = stage.bridge(stage.config("open.yaml", admin=at))
    refusals_without_token(Api(port))
    require(bridge.stop() == 0, f"the bridge ended with an error:\n{bridge.tail()}")

    bridge, api = served(stage, port, token)
    request = {"delay": "1ms", "target": "e2e.a", "value": "x"}
    api.call("POST", "send", {"requests": [request, {**request, "target": "e2e.b"}]})
    controlled(api)
    targets_live(api)
    history(api)
    reloaded(stage, api, bridge, "token.yaml", admin=at, admin_token={"file": str(token)})
    token.write_text(OTHER_TOKEN)
    require(api.raw("GET", "/api/v1/status").status == 401, "the old token still counts")
    api.token = OTHER_TOKEN
    api.call("GET", "status")
    ended_s = while_kafka_is_away(stage, api, bridge)
    require(ended_s < 20, f"SIGTERM took {ended_s:.0f} s without brokers")
    return f"{api.calls} calls with a token, {ended_s:.1f} s to end without brokers"


SCENARIOS = both_modes(admin, admin_live)
ON_DEMAND = {"admin_exactly", "admin_live", "admin_live_exactly"}
