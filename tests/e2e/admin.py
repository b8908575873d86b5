# SPDX-License-Identifier: Apache-2.0
"""The admin API on a real Kafka: each route and each refusal with a token, jobs and writes. Answers are compared with
the OpenAPI file that the server serves."""
from __future__ import annotations

import http.client
import json
import re
import time
from dataclasses import dataclass

from client import now_ms
from contract import partition_of, rfc3339
from found import Crowd, settle
from processes import Bridge
from schemas import faults
from stage import LANES, Stage, both_modes, require, will_say

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
        require(job["progress"] == 1 or job["state"] != "done", f"{kind} {body} is done with a part of its progress: {job}")
        return job

    def found(self, state: str, **asked) -> dict:
        job = self.job("find", asked)
        require(job["state"] == "done" and [r["state"] for r in job["results"]] == [state], f"find {asked}: {job}")
        return job["results"][0]


def refusals_with_token(api: Api, port: int) -> None:
    for token in (None, "", OTHER_TOKEN, TOKEN[:-1], TOKEN + "x"):
        for method, route in (*(("GET", name) for name in OPEN), *CLOSED):
            answer = Api(port, token).raw(method, f"/api/v1/{route}", None if method == "GET" or route.endswith("stop") else {})
            require(answer.status == 401 and answer.headers["www-authenticate"] == "Bearer",
                    f"{method} {route} with {token!r} answered {answer.status}")
        time.sleep(0.5)  # below the limit of calls
    require(Api(port).raw("GET", "/openapi.json").status == 200, "the file needs a token")
    for path in ("/page/", "/page/none.js", "/page/../page/main.js", "/api/v1", "/api/v1/status/",
                 "/api/v2/status", "/api/v1/../status", "/%2e%2e/etc/passwd"):
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
    time.sleep(1.2)
    require(api.call("GET", "levels").body["at"] > levels["at"], "levels are those of another second")
    require(api.call("GET", "forecast/deliveries").body == forecast, "a second sample within ten seconds")
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
    in_another_lane(stage, api)
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


def in_another_lane(stage: Stage, api: Api) -> None:
    """find and events look for a key in the lane of murmur2 first, then in the others, and say so. An event of a cancel that
    misses the request is no event of it."""
    right = partition_of(b"astray", LANES)
    stage.sender.producer.produce(stage.schedule, b"x", b"astray", partition=(right + 1) % LANES, headers=[
        ("dlb-delay", b"30m"), ("dlb-target", b"e2e.a")])
    stage.sender.producer.flush(30)
    api.call("POST", "cancel", {"requests": [{"key": "astray"}], "wait": "8s"})
    found = api.found("waiting", key="astray")
    require(found["source"]["partition"] == (right + 1) % LANES and "check --sample" in found["notes"][-1], f"{found}")
    deadline = time.monotonic() + 20
    while not (job := api.job("events", {"key": "astray"}))["warnings"]:
        require(job["state"] == "done" and time.monotonic() < deadline, f"{job}")
    require({"accepted", "cancel_accepted"} <= {event["data"]["event"] for event in job["results"]}, f"{job}")
    require(len(job["warnings"]) == 1 and f"not in lane {right}" in job["warnings"][0], f"{job}")


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
    require(len(job["results"]) == 4, f"{job}")
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
    require(job["progress"] is not None and job["progress"] < 1, f"a stopped job: {job}")
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


SCENARIOS = both_modes(admin)
ON_DEMAND = {"admin_exactly"}
