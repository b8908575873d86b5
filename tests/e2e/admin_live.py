# SPDX-License-Identifier: Apache-2.0
"""The admin API of a running process. It refuses calls without a token, and shows live figures and history. It continues
after a reload, with another token, and while Kafka is away."""
from __future__ import annotations

import os
import signal
import threading
import time

from admin import CLOSED, OPEN, Api, served
from processes import Bridge
from stage import Stage, both_modes, require, will_say

OTHER_TOKEN = "0123456789abcdef-second"


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
    require(shown_now["hold"] == stage.hold, "a key that needs a restart counts for calls after a reload")


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


def admin_live(stage: Stage) -> str:
    """The admin API without a token, its live figures, a reload, another token, and Kafka that is away."""
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


SCENARIOS = both_modes(admin_live)
ON_DEMAND = set(SCENARIOS)
