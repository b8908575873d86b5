#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes bridge/admin/openapi.json, the OpenAPI file of the admin API, which the binary contains. The routes are described
here, and the results of commands in docs/schemas/.

  openapi.py [--update]    without it, fails if the file is not the written one"""
from __future__ import annotations

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "bridge" / "admin" / "openapi.json"
COMMANDS = ("levels", "forecast", "find", "events", "dead-letters", "redrive", "send", "cancel", "replace",
            "pause", "limit", "resume")

INTEGER = {"type": "integer"}
COUNT = {"type": "integer", "minimum": 0}
TEXT = {"type": "string"}
FLAG = {"type": "boolean"}
INSTANT = {"type": "string", "format": "date-time"}
RATE = {"type": ["number", "null"], "minimum": 0}
# Texts of options: no control characters, which no option takes.
WORD = {"type": "string", "minLength": 1, "maxLength": 1000}
BYTES = {"description": "text, null, or {\"base64\": \"…\"} for bytes that are not UTF-8",
         "anyOf": [{"type": ["string", "null"]},
                   {"type": "object", "properties": {"base64": {"type": "string", "contentEncoding": "base64"}},
                    "required": ["base64"], "additionalProperties": False}]}


def nullable(schema: dict) -> dict:
    return {**schema, "type": [schema["type"], "null"]}


def record(description: str = "", optional: tuple[str, ...] = (), **properties: dict) -> dict:
    """Returns the schema of an object, all of whose members are always there except the optional ones."""
    return {"type": "object", **({"description": description} if description else {}), "properties": properties,
            "required": [name for name in properties if name not in optional], "additionalProperties": False}


def listed(items: dict, **more) -> dict:
    return {"type": "array", "items": items, **more}


def ref(name: str) -> dict:
    return {"$ref": f"#/components/schemas/{name}"}


def component(name: str) -> dict:
    """Returns the schema of a command, whose references begin at the root of this file."""
    text = (ROOT / "docs" / "schemas" / f"{name}.json").read_text()
    schema = json.loads(text.replace('"#/$defs/', f'"#/components/schemas/{name}/$defs/'))
    schema.pop("$schema")
    return schema


RECENT = record("rates and lateness of the last ten seconds; null: no such second, or no delivery", span_ms=COUNT,
                requests_per_s=RATE, hops_per_s=RATE, deliveries_per_s=RATE, cancelled_per_s=RATE, dead_letters_per_s=RATE,
                late_p50_ms=nullable(COUNT), late_p99_ms=nullable(COUNT), late_max_ms=nullable(COUNT))
NOW = record("gauges of the lanes of this process", lanes=COUNT, owned_lanes=COUNT, restoring_lanes=COUNT, unserved_lanes=COUNT, waiting=COUNT,
             backlog=COUNT, blocked_partitions=COUNT, buffered_records=COUNT, buffered_bytes=COUNT,
             events_blocked_lanes=COUNT, cancels_in_force=COUNT, cancels_limit=COUNT, read_behind_ms=COUNT)
TOTAL = record("counters since the start of the process", requests=COUNT, refused=COUNT, hops=COUNT, deliveries=COUNT,
               cancelled=COUNT, dead_letters=COUNT, redeliveries=COUNT, deferrals=COUNT, late_max_ms=COUNT)
STATUS = record("this process", at=INSTANT, started=INSTANT, version=TEXT, commit=TEXT, librdkafka=TEXT, group=TEXT,
                schedule=TEXT, delivery={"enum": ["at-least-once", "exactly-once"]}, ready=FLAG,
                why={"type": ["string", "null"], "description": "why it is not ready"}, alive=FLAG,
                token={"type": "boolean", "description": "admin_token is set"}, refusals=nullable(COUNT), faults=nullable(COUNT),
                open_transaction_records=nullable(COUNT), config_hash=COUNT, recent=RECENT, now=NOW, total=TOTAL)
TARGET = record(
    "an entry of targets. Counters begin at the start of the process", entry=TEXT,
    state={"enum": ["open", "limited", "partly_paused", "slow", "failing", "paused"],
           "description": "the worst state of its topics that applies to the entry"},
    limit_per_s={**RATE, "description": "the lowest limit in force, of the group; null: none"},
    topics={**COUNT, "description": "that a worker of the process knows"},
    failing_topics={**COUNT, "description": "those whose last delivery failed"},
    slow_topics={**COUNT, "description": "with exactly-once: those that acknowledge slowly and delay the others"},
    deliveries_per_s={**RATE, "description": "of the last ten seconds"},
    late_p50_ms={**nullable(COUNT), "description": "of the last ten seconds, rounded up to a bound of lateness_bounds_ms"},
    late_p99_ms=nullable(COUNT), deliveries=COUNT,
    deferrals={**COUNT, "description": "records that went back to a level without an attempt, since the target is down"},
    withheld=record("records that went back to a level because of operators", paused=COUNT, limited=COUNT),
    failures={"type": "object", "additionalProperties": COUNT, "description": "failed attempts by their error"},
    dead_letters={"type": "object", "additionalProperties": COUNT, "description": "by code"})
TARGETS = record("deliveries of this process by entry of targets", at=INSTANT, targets=listed(TARGET))
COLUMNS = ("span_ms", "requests", "hops", "deliveries", "cancelled", "dead_letters", "redeliveries", "deferrals", "waiting",
           "backlog", "p50_ms", "p99_ms", "max_ms")
HISTORY = record("the seconds of the last hour of this process, the oldest first. Each list has one entry for each second",
                 at=listed(INSTANT), **{name: listed(COUNT) for name in COLUMNS},
                 lateness_bounds_ms=listed({"type": "number"}),
                 lateness=listed(listed(COUNT), description="deliveries of each second by lateness: at most the bound of "
                                 "this place, and in the last place above all bounds"))
CONFIG = record("values in the form of the file; secrets are (hidden)", file=nullable(TEXT),
                keys=listed(record(key=TEXT, value=TEXT, live={"type": "boolean", "description": "SIGHUP changes it"})))
PROBLEM = record("RFC 9457", optional=("key",), type=TEXT, title=TEXT, status=INTEGER,
                 detail={"type": "string", "description": "a sentence"},
                 code={"type": "string", "description": "a word for programs"},
                 key={"type": "string", "description": "the key of the configuration to set"})
MAYBE_PROBLEM = {"anyOf": [ref("problem"), {"type": "null"}]}
JOB = {"id": {"type": "string", "pattern": "^[0-9a-f]{16}$"},
       "kind": {"enum": ["find", "events", "dead-letters", "redrive"]},
       "state": {"enum": ["running", "stopping", "done", "failed", "stopped"]}, "options": {"type": "object"},
       "started": INSTANT, "ended": nullable(INSTANT),
       "progress": {"type": ["number", "null"], "minimum": 0, "maximum": 1,
                    "description": "of the running search; a job may have several. 1 when the job is done"},
       "records_read": COUNT, "problem": MAYBE_PROBLEM}
RESULTS = {"results": listed({"type": "object"}, description="lines of the command; of more than 1,000 or 8 MiB, the first "
                             "ones and the last one. Empty until the job ends"),
           "warnings": listed(TEXT), "results_cut": FLAG}


def written(command: str) -> dict:
    return record(results=listed(ref(command)), warnings=listed(TEXT),
                  problem={**MAYBE_PROBLEM, "description": "why the command ended early, although it has results"})


NAMED = {"key": BYTES, "id": BYTES}
SENT = record("a line of delaybridge send", value=BYTES, delay=WORD, at={"type": ["string", "integer"]}, target=WORD,
              **NAMED, **{"expires-at": WORD, "spread": WORD, "retry-policy": WORD},
              headers={"anyOf": [{"type": "object", "additionalProperties": BYTES},
                                 listed({"type": "array", "prefixItems": [TEXT, BYTES], "minItems": 2, "maxItems": 2})]})
SENT["required"] = ["value"]
CANCELLED = record("a line of delaybridge cancel", **NAMED)
CANCELLED["required"] = ["key"]
WAIT = {"type": "string", "description": "wait this long until a process has applied it, such as 2s; at most 10s"}


def requests(items: dict, **more: dict) -> dict:
    return record(optional=tuple(more), requests=listed(items, minItems=1, maxItems=1000), **more)


def options(**members: dict) -> dict:
    return record(optional=tuple(members), **members)


ONE_WORD = nullable(WORD)
WORDS = {"anyOf": [WORD, listed(WORD), {"type": "null"}]}
SWITCH = {"type": ["boolean", "null"]}
SELECTION = {"code": WORDS, "target": WORDS, "since": ONE_WORD, "until": ONE_WORD}
FIND = options(id=ONE_WORD, key=ONE_WORD, source=ONE_WORD, due=ONE_WORD, sent=ONE_WORD, until=ONE_WORD,
               limit={"type": ["integer", "null"], "minimum": 1, "maximum": 1000})
EVENTS = options(id=ONE_WORD, key=ONE_WORD, source=ONE_WORD)
DEAD_LETTERS = options(**SELECTION, show={"type": ["integer", "null"], "minimum": 0, "maximum": 2147483647})
SWITCHES = dict.fromkeys(("keep-due", "restart-delay", "drop-expiry", "with-cancels", "dry-run"), SWITCH)
REDRIVE = options(**SELECTION, **SWITCHES,
                  limit={"type": ["integer", "null"], "minimum": 1}, rate={"type": ["string", "integer", "null"]})


CLOCK = record("the clock of delaybridge dev", at={**INSTANT, "description": "the time of the bridge"},
               real={**INSTANT, "description": "the time of the machine"}, ahead_ms=COUNT)
FORWARD = record(forward={"type": "string", "description": "a duration, such as 15m"})
PATTERN = {"type": "string", "description": "a topic, or a pattern with *", "minLength": 1, "maxLength": 249,
           "pattern": "^[A-Za-z0-9._*-]+$"}
FOR = {"type": ["string", "null"], "description": "end after this time, such as 2h", "minLength": 1}
PAUSED = record(optional=("for",), targets=PATTERN, **{"for": FOR})
LIMITED = record(optional=("for",), targets=PATTERN, rate={
    "type": "string", "description": "100/s, 6000/m, or none", "pattern": "^([0-9]+/[sm]|none)$"}, **{"for": FOR})


def answer(description: str, schema: dict, **more) -> dict:
    return {"description": description, "content": {"application/json": {"schema": schema}}, **more}


def problems(*statuses: int) -> dict:
    return {str(status): {"$ref": "#/components/responses/problem"} for status in statuses}


def route(summary: str, answers: dict, opened: bool, body: dict | None = None, parameters: tuple = ()) -> dict:
    refused = (400, 401, 421, 429, 500, 503) + (() if opened else (403,)) + ((413, 415) if body else ())
    return {"summary": summary, "security": [{}, {"token": []}] if opened else [{"token": []}],
            **({"parameters": list(parameters)} if parameters else {}),
            **({"requestBody": {"required": True, "content": {"application/json": {"schema": body}}}} if body else {}),
            "responses": {**answers, **problems(*refused)}}


def shows(summary: str, schema: dict, opened: bool = False, parameters: tuple = ()) -> dict:
    return {"get": route(summary, {"200": answer(summary, schema)}, opened, None, parameters)}


WAIT_MS = {"name": "wait_ms", "in": "query", "description": "how long the answer waits for the end of the job",
           "schema": {"type": "integer", "minimum": 0, "maximum": 5000}}
JOB_ID = {"name": "id", "in": "path", "required": True, "schema": {"type": "string", "pattern": "^[0-9a-f]{16}$"}}
LOCATION = {"headers": {"Location": {"schema": TEXT, "description": "the path of the job"}}}


def starts(summary: str, body: dict) -> dict:
    return {"post": {**route(summary, {"200": answer("the job has ended", ref("job"), **LOCATION),
                                       "202": answer("the job runs", ref("job"), **LOCATION), **problems(409)},
                             False, body, (WAIT_MS,))}}


def writes(command: str, summary: str, body: dict) -> dict:
    return {"post": route(summary, {"200": answer("stored", written(command))}, False, body)}


def job_route(method: str, summary: str) -> dict:
    return {method: route(summary, {"200": answer("the job", ref("job")), **problems(404)}, False, None, (JOB_ID,))}


def clock(method: str, summary: str, body: dict | None = None) -> dict:
    """Returns a route that only delaybridge dev has."""
    return {method: route(f"{summary} (only delaybridge dev has this path)",
                          {"200": answer("the clock", ref("clock")), **problems(404)}, True, body)}


def build() -> dict:
    paths = {
        "/openapi.json": {"get": {"summary": "this file", "security": [{}],
                                  "responses": {"200": answer("this file", {"type": "object"}), **problems(421, 429)}}},
        "/api/v1/status": shows("state, rates and lateness of this process", ref("status"), opened=True),
        "/api/v1/levels": shows("what waits in each level, in all lanes of the group", ref("levels"), opened=True),
        "/api/v1/lanes": shows("the same, for each lane of each level", ref("levels"), opened=True),
        "/api/v1/forecast": shows("how many records leave each level soon", ref("forecast"), opened=True),
        "/api/v1/forecast/deliveries": shows("the same, with deliveries by minute from a sample", ref("forecast")),
        "/api/v1/processes": shows("the processes of the group, and the settings in which they differ", ref("processes")),
        "/api/v1/targets": shows("deliveries and failures by entry of targets", ref("targets"), opened=True),
        "/api/v1/history": shows("figures of each second of the last hour", ref("history"), parameters=(
            {"name": "since", "in": "query", "description": "only later seconds", "schema": INSTANT},)),
        "/api/v1/config": shows("the configuration", ref("config")),
        "/api/v1/jobs": shows("the last jobs, the newest first", record(jobs=listed(ref("job-summary")))),
        "/api/v1/jobs/{id}": job_route("get", "one job, with its results"),
        "/api/v1/jobs/{id}/stop": job_route("post", "stop a job, which ends soon"),
        "/api/v1/find": starts("find out where a request is (delaybridge find)", FIND),
        "/api/v1/events": starts("the events of a request (delaybridge events)", EVENTS),
        "/api/v1/dead-letters": starts("count and show dead letters (delaybridge dead-letters)", DEAD_LETTERS),
        "/api/v1/redrive": starts("send dead-lettered requests again (delaybridge redrive)", REDRIVE),
        "/api/v1/send": writes("send", "send requests. All are checked before the first is sent", requests(SENT)),
        "/api/v1/cancel": writes("cancel", "cancel requests", requests(CANCELLED, wait=WAIT, **{"all-lanes": FLAG})),
        "/api/v1/replace": writes("replace", "cancel requests and send others of the same names",
                                  requests(SENT, wait=WAIT)),
        "/api/v1/pause": writes("pause", "stop deliveries to targets for a while", PAUSED),
        "/api/v1/limit": writes("limit", "limit the rate of deliveries to targets", LIMITED),
        "/api/dev/clock": {**clock("get", "the clock"), **clock("post", "move the clock forward", FORWARD)},
        "/api/v1/resume": writes("resume", "end a pause or a limit", record(targets=PATTERN)),
    }
    schemas = {name: component(name) for name in COMMANDS}
    top = component("top")["properties"]
    schemas |= {"processes": record(processes=top["processes"], differences=top["differences"]), "status": STATUS,
                "targets": TARGETS, "clock": CLOCK, "history": HISTORY, "config": CONFIG, "problem": PROBLEM,
                "job-summary": record(**JOB), "job": record(**JOB, **RESULTS)}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Delaybridge admin API", "version": "1", "license": {"name": "Apache-2.0", "identifier":
                                                                               "Apache-2.0"},
                 "description": "Results of commands are their JSON lines (docs/json.md). Errors are problem details "
                                "(RFC 9457). Without admin_token only the routes without security answer."},
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "responses": {"problem": {"description": "a problem", "content": {
                "application/problem+json": {"schema": ref("problem")}}}},
            "schemas": schemas}}


def main() -> int:
    text = json.dumps(build(), indent=1, ensure_ascii=False) + "\n"
    if "--update" in sys.argv:
        FILE.write_text(text)
    if FILE.read_text() != text:
        print(f"{FILE.relative_to(ROOT)} is not the written one: run tests/openapi.py --update")
        return 1
    print(f"openapi: {len(build()['paths'])} paths")
    return 0


if __name__ == "__main__":
    sys.exit(main())
