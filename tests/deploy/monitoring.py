# SPDX-License-Identifier: Apache-2.0
"""Alerts, runbook and dashboard use only existing metrics, and the alerts fire when they should."""
from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import yaml

import tools
from parts import DEPLOY, Skip, World, load, part, require, run

ALERTS = DEPLOY / "prometheus" / "alerts.yaml"
DASHBOARD = DEPLOY / "grafana" / "delaybridge.json"
WANTED = {"HeadOverdue", "LatenessHigh", "CanaryMissing", "TopicSettingsUnsafe", "DeadLetters", "TargetFailing",
          "RebalanceStorm", "Down", "RecordsLost", "TopicFaults", "ConfigsDiffer", "OpenTransaction",
          "PartitionBlocked", "CancelsNearlyFull", "LanesRestoring", "ReadBehind", "EventsBlocked", "PausedLong", "LanesUnserved"}
OURS = re.compile(r"\b(?:delaybridge|process)_[a-z0-9_]+")
SCRAPED = {"namespace", "job", "instance"}  # added by Prometheus: the target of the scrape


def metrics(world: World) -> dict[str, set[str]]:
    """Returns the labels of each metric in a scrape, from the binary's own table."""
    done = subprocess.run([str(world.binary), "help", "--metrics"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Skip(f"{world.binary.name} has no `help --metrics`")
    found: dict[str, set[str]] = {}
    for line in done.stdout.splitlines():
        name, kind, labels, _ = line.split("\t", 3)
        own = set() if labels == "-" else set(labels.split(","))
        if kind == "histogram":
            found[f"{name}_bucket"] = own | {"le"}
            found[f"{name}_sum"] = found[f"{name}_count"] = own
        else:
            found[name] = own
    require(len(found) > 20, f"`help --metrics` names only {len(found)}")
    return found


def alerts() -> list[dict]:
    return load(ALERTS.read_text())[0]["groups"][0]["rules"]


def panels() -> list[dict]:
    return [p for p in json.loads(DASHBOARD.read_text())["panels"] if p["type"] != "row"]


def judge(where: str, expression: str, legend: str, known: dict[str, set[str]]) -> set[str]:
    """Checks the names and labels of one expression. Returns the names."""
    names = set(OURS.findall(expression))
    require(names, f"{where}: no metric of delaybridge in {expression}")
    require(names <= set(known), f"{where}: no such metric: {', '.join(sorted(names - set(known)))}")
    labels = {label.strip() for group in re.findall(r"\bby \(([^)]*)\)", expression) for label in group.split(",")}
    labels |= set(re.findall(r"([a-z_]+)\s*(?:=~|!~|!=|=)\"", expression))
    labels |= set(re.findall(r"{{ *(?:\$labels\.)?([a-z_]+) *}}", legend))
    have = SCRAPED.union(*(known[name] for name in names))
    require(labels <= have, f"{where}: no such label on {', '.join(sorted(names))}: {sorted(labels - have)}")
    return names


@part("alerts.rules", quick=True)
def rules(world: World) -> str:
    """Each alert of the list exists, fires when it should, and not before."""
    del world
    names = [a["alert"].removeprefix("Delaybridge") for a in alerts()]
    require(set(names) == WANTED and len(names) == len(WANTED), f"the alerts are {names}")
    tool = tools.promtool()
    run(tool, "check", "rules", ALERTS)
    run(tool, "test", "rules", ALERTS.with_name("alerts_test.yaml"))
    tests = load(ALERTS.with_name("alerts_test.yaml").read_text())[0]["tests"]
    fired = set()
    for test in tests:
        checks = test["alert_rule_test"]
        fires = {c["alertname"] for c in checks if c["exp_alerts"]}
        silent = {c["alertname"] for c in checks if not c["exp_alerts"]}
        require(fires <= silent, f"{test['name']}: tests no moment before the alert fires")
        fired |= fires
    missing = {a["alert"] for a in alerts()} - fired
    require(not missing, f"no test fires these alerts: {sorted(missing)}")
    return f"{len(names)} alerts in {len(tests)} stories: each fires, and not shortly before"


@part("alerts.runbook", quick=True)
def runbook(world: World) -> str:
    """Each alert has a severity, a summary, and a link to its paragraph in the runbook."""
    del world
    text = (DEPLOY / "prometheus" / "RUNBOOK.md").read_text()
    headings = re.findall(r"^## (\S+)$", text, re.M)
    for alert in alerts():
        name = alert["alert"]
        require(alert["labels"]["severity"] in ("critical", "warning"), f"{name} has no severity")
        require(alert["annotations"]["summary"], f"{name} has no summary")
        require(alert["annotations"]["runbook_url"].endswith(f"RUNBOOK.md#{name.lower()}"), f"{name}: the link is wrong")
        require(name in headings, f"RUNBOOK.md has no paragraph {name}")
        paragraph = text.split(f"## {name}\n")[1].split("\n## ")[0].strip()
        severity = alert["labels"]["severity"].capitalize()
        require(paragraph.startswith(severity), f"RUNBOOK.md: {name} does not begin with {severity}")
        require(len(paragraph) > 200, f"RUNBOOK.md: the paragraph {name} is too short")
    require(len(headings) == len(alerts()), f"RUNBOOK.md has paragraphs without an alert: {headings}")
    return f"{len(headings)} paragraphs"


@part("alerts.names", quick=True)
def alert_names(world: World) -> str:
    """The alerts and their tests use only existing metrics and labels."""
    known, used = metrics(world), set()
    for alert in alerts():
        used |= judge(alert["alert"], alert["expr"], alert["annotations"]["summary"].replace("{{ $value", ""), known)
    for test in load(ALERTS.with_name("alerts_test.yaml").read_text())[0]["tests"]:
        for series in test["input_series"]:
            if series["series"].startswith("delaybridge_"):
                judge(test["name"], series["series"], "", known)
    return f"{len(used)} metrics"


@part("dashboard", quick=True)
def dashboard(world: World) -> str:
    """The dashboard is JSON, and its expressions are valid PromQL."""
    expressions = [t["expr"] for p in panels() for t in p["targets"]]
    plain = [e.replace("$__rate_interval", "1m").replace("$job", ".*") for e in expressions]
    file: Path = world.folder / "dashboard-rules.yaml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "d", "rules": [
        {"record": f"panel:{n}", "expr": e} for n, e in enumerate(plain)]}]}))
    run(tools.promtool(), "check", "rules", file)
    ids = [p["id"] for p in panels()]
    require(len(ids) == len(set(ids)), "two panels have one id")
    return f"{len(ids)} panels, {len(expressions)} expressions"


@part("dashboard.names", quick=True)
def dashboard_names(world: World) -> str:
    """The dashboard uses only existing metrics and labels, and each metric of the bridge."""
    known, used = metrics(world), set()
    for panel in panels():
        for target in panel["targets"]:
            used |= judge(panel["title"], target["expr"], target["legendFormat"], known)
    families = {re.sub(r"_(bucket|sum|count)$", "", n) for n in known if n.startswith("delaybridge_")}
    shown = {re.sub(r"_(bucket|sum|count)$", "", n) for n in used}
    require(families <= shown, f"metrics without a panel: {', '.join(sorted(families - shown))}")
    return f"{len(used)} metrics on {len(panels())} panels"
