# SPDX-License-Identifier: Apache-2.0
"""The examples of docs/testing-your-application.md: those of pytest and JUnit run on the release binary. That of
Testcontainers is compiled, since it needs Docker."""
from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from languages import CACHE, java_classes, run
from processes import ROOT
from stage import Skip, Stage, require

sys.path.insert(0, str(ROOT / "tests"))
from blocks import blocks  # noqa: E402  pylint: disable=wrong-import-position

PAGE = "docs/testing-your-application.md"
PYTEST = "pytest==8.3.4"
JUNIT = "org.junit.platform:junit-platform-console-standalone:1.11.4"
TESTCONTAINERS = "org.testcontainers:testcontainers:1.20.4"
JAVA_TEST, JAVA_CONTAINER = "OrderTimeoutTest", "DelaybridgeContainer"
POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion><groupId>x</groupId><artifactId>x</artifactId><version>1</version>
  <dependencies><dependency><groupId>%s</groupId><artifactId>%s</artifactId><version>%s</version></dependency></dependencies>
</project>
"""


def example(section: str) -> str:
    [text] = [block.text for block in blocks(PAGE) if block.section == section and block.language in ("python", "java")]
    return text


def with_binary(stage: Stage, *command: str) -> str:
    """Runs a test that starts the release binary, and returns its output."""
    path = f"{stage.binary.parent}:{os.environ['PATH']}"
    done = subprocess.run(command, cwd=stage.folder, capture_output=True, text=True, timeout=120, check=False,
                          env={**os.environ, "PATH": path, "PYTHONPATH": str(python_packages())})
    require(done.returncode == 0, f"{command[0]}:\n{done.stdout[-4000:]}{done.stderr[-2000:]}")
    return done.stdout


def python_packages() -> Path:
    folder = CACHE / PYTEST.replace("==", "-")
    if not (folder / "ready").exists():
        subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--target", str(folder),
                        PYTEST], check=True)
        (folder / "ready").touch()
    return folder


def jar(folder: Path, artifact: str) -> str:
    """Returns a class path with this artifact and those that it needs."""
    jars = CACHE / "-".join(artifact.split(":")[1:])
    if not list(jars.glob("*.jar")):
        work = folder / jars.name
        work.mkdir()
        (work / "pom.xml").write_text(POM % tuple(artifact.split(":")))
        run(work, "mvn", "-q", "-B", "dependency:copy-dependencies", f"-DoutputDirectory={jars}")
    return f"{jars}/*"


def compiled(stage: Stage, name: str, section: str, classes: str) -> None:
    (stage.folder / f"{name}.java").write_text(example(section))
    run(stage.folder, "javac", "-Xlint:all,-processing", "-cp", classes, "-d", "classes", f"{name}.java")


def dev_examples(stage: Stage) -> str:
    """The examples of docs/testing-your-application.md run, and the one of Testcontainers compiles."""
    (stage.folder / "test_orders.py").write_text(example("pytest"))
    with_binary(stage, sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_orders.py")
    if not shutil.which("mvn"):
        raise Skip("pytest ran, but there is no mvn for the examples in Java")
    junit = jar(stage.folder, JUNIT)
    classes = f"{java_classes(stage.folder)}:{junit}"
    compiled(stage, JAVA_TEST, "JUnit", classes)
    said = with_binary(stage, "java", "-cp", f"{classes}:classes", "org.junit.platform.console.ConsoleLauncher", "execute",
                       "--select-class", JAVA_TEST)
    require("1 tests successful" in said, said)
    compiled(stage, JAVA_CONTAINER, "Testcontainers", jar(stage.folder, TESTCONTAINERS))
    return "pytest and JUnit ran, Testcontainers compiled"


SCENARIOS = {"dev_examples": dev_examples}
ON_DEMAND = set(SCENARIOS)
