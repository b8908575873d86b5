# SPDX-License-Identifier: Apache-2.0
"""The programs around the examples of the documents: each completes an example, compiles it, and names its command. The
helpers of deploy/clients are within reach, as in the project of a user who copied them."""
from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Callable

from processes import ROOT
from stage import require

sys.path.insert(0, str(ROOT / "tests"))
from blocks import Block  # noqa: E402  pylint: disable=wrong-import-position

CLIENTS = ROOT / "deploy" / "clients"
CACHE = Path(os.environ.get("DEV_CACHE", ROOT / ".cache"))
FRANZ_GO = "github.com/twmb/franz-go/pkg/kgo@v1.18.1"
KAFKAJS = "kafkajs@2.2.4"
SQLITE = "org.xerial:sqlite-jdbc:3.46.1.3"

C = """#include <librdkafka/rdkafka.h>
#include <stdlib.h>

static void stored(rd_kafka_t *rk, const rd_kafka_message_t *message, void *opaque)
{
    (void)rk;
    (void)opaque;
    if (message->err)
        exit(1);
}

int main(void)
{
%s    return 0;
}
"""
GO = """package main

import (
	"context"
	"log"
%s
	"github.com/twmb/franz-go/pkg/kgo"
)

func send(ctx context.Context) error {
%s}

func main() {
	if err := send(context.Background()); err != nil {
		log.Fatal(err)
	}
}
"""
GO_HELPER = """	"time"

	"program/delaybridge"
"""
JAVA = """import java.time.Duration;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;

public class Program {
    public static void main(String[] arguments) throws Exception {
        var db = java.sql.DriverManager.getConnection("jdbc:sqlite:shop.db?busy_timeout=10000");
        db.createStatement().execute("create table if not exists done (source text primary key)");
%s    }
}
"""


def run(folder: Path, *command: str) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600, check=False)
    require(done.returncode == 0, f"{' '.join(command)}:\n{done.stdout}{done.stderr}")


def prepare_c(folder: Path, text: str) -> list[str]:
    (folder / "program.c").write_text(C % text)
    run(folder, "cc", "-Wall", "-Wextra", "-Werror", "program.c", "-o", "program", "-lrdkafka")
    return ["./program"]


def prepare_go(folder: Path, text: str) -> list[str]:
    helped = "delaybridge." in text
    (folder / "program.go").write_text(GO % (GO_HELPER if helped else "", text))
    if helped:
        (folder / "delaybridge").mkdir()
        shutil.copy(CLIENTS / "delaybridge.go", folder / "delaybridge")
    run(folder, "go", "mod", "init", "program")
    run(folder, "go", "get", FRANZ_GO)
    run(folder, "go", "vet", ".")
    run(folder, "go", "build", "-o", "program", ".")
    return ["./program"]


def prepare_node(folder: Path, text: str) -> list[str]:
    (folder / "program.js").write_text(text)
    shutil.copy(CLIENTS / "delaybridge.js", folder)
    run(folder, "npm", "install", "--no-audit", "--no-fund", "--silent", KAFKAJS)
    return ["node", "program.js"]


def java_classes(folder: Path) -> str:
    """Returns the class path of Kafka's client and of SQLite."""
    jars = CACHE / "jars-of-guides"
    if not list(jars.glob("*.jar")):
        run(folder, "mvn", "-q", "-B", "dependency:copy", f"-Dartifact={SQLITE}", f"-DoutputDirectory={jars}")
    return f"{CACHE / 'kafka-4.1.1'}/*:{jars}/*"


def prepare_java(folder: Path, text: str) -> list[str]:
    (folder / "Program.java").write_text(JAVA % text)
    classes = java_classes(folder)
    run(folder, "javac", "-Xlint:all", "-cp", classes, "-sourcepath", str(CLIENTS), "-d", ".", "Program.java")
    return ["java", "-cp", f"{classes}:.", "Program"]


@dataclass(frozen=True)
class Host:
    tool: str  # its compiler or interpreter
    prepare: Callable[[Path, str], list[str]]

    def prepared(self, block: Block, folder: Path, local: Callable[[str], str]) -> tuple[list[str], Path]:
        """Returns the command of the program, and its folder."""
        folder.mkdir()
        return self.prepare(folder, local(block.text).replace('"order-timeouts"', f'"{folder.name}"')), folder


# In the examples of docs/producing.md: the statement that the examples of deploy/clients replace, and the end of the program.
SENDING = {"java": ("    var request", "}\n"), "go": ("return client.ProduceSync", ""),
           "javascript": ("  await producer.send(", "  await producer.disconnect()\n}\n\nmain()\n")}


def with_client(example: Block, helped: Block) -> Block:
    """Returns an example of deploy/clients with the client of the example of docs/producing.md."""
    statement, end = SENDING[helped.language]
    opening, found, _ = example.text.partition(statement)
    require(found, f"{example.page}: no \"{statement}\" in the example of {helped.language}")
    return replace(helped, text=opening + helped.text + end)


HOSTS = {"c": Host("cc", prepare_c), "java": Host("javac", prepare_java), "go": Host("go", prepare_go),
         "javascript": Host("npm", prepare_node)}
