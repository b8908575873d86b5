# SPDX-License-Identifier: Apache-2.0
"""The examples of docs/retrying.md as whole programs. Each gets a payment that fails twice and then succeeds, and then its
records again. The payment must be made once."""
from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Callable

from confluent_kafka import Consumer, Producer, TopicPartition

from languages import FRANZ_GO, java_classes, run
from processes import ROOT
from stage import require, will_say

sys.path.insert(0, str(ROOT / "tests"))
from blocks import Block, blocks  # noqa: E402  pylint: disable=wrong-import-position

PAGE = "docs/retrying.md"
GO_SQLITE = "github.com/mattn/go-sqlite3@v1.14.24"
TABLES = ("create table handled (origin text, attempt text, primary key (origin, attempt))",
          "create table payments (id text)")
WAITS = "[1s, 2s]"  # in place of the delays of the page
FAILURES, WAIT_S = 2, 60

JAVA = """import java.sql.*;
import java.time.Duration;
import java.util.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;

public class Program {
    static final Map<String, Integer> CALLS = new HashMap<>();

    static void pay(Connection db, ConsumerRecord<String, String> message) throws Exception {
        var insert = db.prepareStatement("insert into payments values (?)");
        insert.setString(1, message.key());
        insert.executeUpdate();
        if (CALLS.merge(message.key(), 1, Integer::sum) <= 2 && message.key().equals("order-17"))
            throw new IllegalStateException("declined");
    }

%(functions)s
    public static void main(String[] arguments) throws Exception {
        var db = DriverManager.getConnection("jdbc:sqlite:shop.db?busy_timeout=10000");
        db.setAutoCommit(false);
        var config = new Properties();
        config.putAll(Map.of("bootstrap.servers", "localhost:9092", "group.id", "payments", "auto.offset.reset", "earliest",
                             "enable.auto.commit", "false", "isolation.level", "read_committed", "acks", "all"));
        for (var part : List.of("key", "value")) {
            config.put(part + ".deserializer", "org.apache.kafka.common.serialization.StringDeserializer");
            config.put(part + ".serializer", "org.apache.kafka.common.serialization.StringSerializer");
        }
        var producer = new KafkaProducer<String, String>(config);
        var consumer = new KafkaConsumer<String, String>(config);
        consumer.subscribe(List.of("payments"));
%(block)s    }
}
"""
SPRING = """package shop;

import java.util.*;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.annotation.Bean;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.core.KafkaOperations;
import org.springframework.kafka.listener.DefaultErrorHandler;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.util.backoff.FixedBackOff;

@SpringBootApplication
public class Program {
    final Map<String, Integer> calls = new HashMap<>();
    final JdbcTemplate db;

    Program(JdbcTemplate db) {
        this.db = db;
    }

    void pay(ConsumerRecord<String, String> message) {
        db.update("insert into payments values (?)", message.key());
        if (calls.merge(message.key(), 1, Integer::sum) <= 2 && message.key().equals("order-17"))
            throw new IllegalStateException("declined");
    }

%(functions)s
%(block)s
    public static void main(String[] arguments) {
        SpringApplication.run(Program.class, arguments);
    }
}
"""
SPRING_PROPERTIES = """spring.kafka.bootstrap-servers=localhost:9092
spring.kafka.consumer.group-id=payments
spring.kafka.consumer.auto-offset-reset=earliest
spring.kafka.consumer.isolation-level=read_committed
spring.datasource.url=jdbc:sqlite:shop.db?busy_timeout=10000
spring.datasource.driver-class-name=org.sqlite.JDBC
spring.datasource.hikari.maximum-pool-size=1
"""
SPRING_POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <parent>
    <groupId>org.springframework.boot</groupId>
    <artifactId>spring-boot-starter-parent</artifactId>
    <version>4.0.7</version>
    <relativePath/>
  </parent>
  <groupId>shop</groupId>
  <artifactId>program</artifactId>
  <version>1</version>
  <properties><java.version>17</java.version></properties>
  <dependencies>
    <dependency><groupId>org.springframework.boot</groupId><artifactId>spring-boot-starter-jdbc</artifactId></dependency>
    <dependency><groupId>org.springframework.boot</groupId><artifactId>spring-boot-starter-kafka</artifactId></dependency>
    <dependency><groupId>org.xerial</groupId><artifactId>sqlite-jdbc</artifactId><version>3.46.1.3</version></dependency>
  </dependencies>
  <build><plugins><plugin>
    <groupId>org.springframework.boot</groupId>
    <artifactId>spring-boot-maven-plugin</artifactId>
  </plugin></plugins></build>
</project>
"""
PYTHON = """import sqlite3
from confluent_kafka import Consumer, KafkaException, Producer

db = sqlite3.connect("shop.db", timeout=10)
producer = Producer({"bootstrap.servers": "localhost:9092", "acks": "all", "partitioner": "murmur2_random"})
consumer = Consumer({"bootstrap.servers": "localhost:9092", "group.id": "payments", "auto.offset.reset": "earliest",
                     "enable.auto.commit": False, "isolation.level": "read_committed"})
consumer.subscribe(["payments"])
calls = {}

def pay(db, message):
    db.execute("insert into payments values (?)", (message.key().decode(),))
    calls[message.key()] = calls.get(message.key(), 0) + 1
    if message.key() == b"order-17" and calls[message.key()] <= 2:
        raise RuntimeError("declined")

%(block)s"""
GO = """package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"slices"

	_ "github.com/mattn/go-sqlite3"
	"github.com/twmb/franz-go/pkg/kgo"
)

var calls = map[string]int{}

func pay(tx *sql.Tx, record *kgo.Record) error {
	if _, err := tx.Exec("insert into payments values (?)", string(record.Key)); err != nil {
		return err
	}
	if calls[string(record.Key)]++; calls[string(record.Key)] <= 2 && string(record.Key) == "order-17" {
		return errors.New("declined")
	}
	return nil
}

%(block)s
func main() {
	ctx := context.Background()
	db, err := sql.Open("sqlite3", "shop.db?_busy_timeout=10000")
	if err != nil {
		log.Fatal(err)
	}
	client, err := kgo.NewClient(kgo.SeedBrokers("localhost:9092"), kgo.ConsumerGroup("payments"), kgo.ConsumeTopics("payments"),
		kgo.DisableAutoCommit(), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		log.Fatal(err)
	}
	for {
		for _, record := range client.PollFetches(ctx).Records() {
			if err := handle(ctx, client, db, record); err != nil {
				log.Fatal(err)
			}
			if err := client.CommitRecords(ctx, record); err != nil {
				log.Fatal(err)
			}
		}
	}
}
"""


def prepare_java(folder: Path, text: str) -> list[str]:
    (folder / "Program.java").write_text(text)
    run(folder, "javac", "-Xlint:all", "-cp", java_classes(folder), "-d", ".", "Program.java")
    return ["java", "-cp", f"{java_classes(folder)}:.", "Program"]


def prepare_spring(folder: Path, text: str) -> list[str]:
    for path, content in (("pom.xml", SPRING_POM), ("src/main/java/shop/Program.java", text)):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(content)
    run(folder, "mvn", "-q", "-B", "package")
    return ["java", "-jar", "target/program-1.jar"]


def prepare_python(folder: Path, text: str) -> list[str]:
    (folder / "program.py").write_text(text)
    return [sys.executable, "program.py"]


def prepare_go(folder: Path, text: str) -> list[str]:
    (folder / "program.go").write_text(text)
    run(folder, "go", "mod", "init", "program")
    run(folder, "go", "get", FRANZ_GO, GO_SQLITE)
    run(folder, "go", "vet", ".")
    run(folder, "go", "build", "-o", "program", ".")
    return ["./program"]


# By the heading of the example.
EXAMPLES: dict[str, tuple[str, str, Callable[[Path, str], list[str]]]] = {
    "Python": ("python", PYTHON, prepare_python), "Java": ("java", JAVA, prepare_java),
    "Go": ("go", GO, prepare_go), "Spring Kafka": ("java", SPRING, prepare_spring)}


def programs() -> dict[str, str]:
    """Returns the text of each program. The example of Spring Kafka needs the last functions of the one in Java."""
    page = blocks(PAGE)
    shared = next(block.text for block in page if "static String origin" in block.text)
    texts = {}
    for heading, (language, program, _) in EXAMPLES.items():
        found = [block.text for block in page if block.section == heading and block.language == language]
        require(found, f"{PAGE}: no example {heading}")
        functions = shared if heading == "Spring Kafka" else "\n".join(found[1:])
        texts[heading] = program % {"block": found[0], "functions": functions}
    return texts


class Shop:
    """A program with its topic and database."""

    def __init__(self, reader, heading: str):
        self.reader, self.heading = reader, heading
        self.folder = reader.folder / f"retry-{heading.split()[0].lower()}"
        self.topic = f"orders.{self.folder.name}"
        self.bootstrap = reader.stage.kafka.bootstrap

    def prepare(self, text: str) -> list[str]:
        self.folder.mkdir()
        self.db = sqlite3.connect(self.folder / "shop.db", isolation_level=None, timeout=10)
        for table in TABLES:
            self.db.execute(table)
        self.reader.stage.admin.create(self.topic, 1)

        def local(content: str) -> str:
            return self.reader.local(content).replace('"payments"', f'"{self.topic}"')
        resources = self.folder / "src/main/resources"
        resources.mkdir(parents=True)
        (resources / "application.properties").write_text(local(SPRING_PROPERTIES))
        return EXAMPLES[self.heading][2](self.folder, local(text))

    def send(self, key: str, headers: list) -> None:
        client = Producer({"bootstrap.servers": self.bootstrap})
        client.produce(self.topic, partition=0, key=key, value="{}", headers=headers)
        client.flush(10)

    def paid(self, order: str) -> int:
        return self.db.execute("select count(*) from payments where id = ?", (order,)).fetchone()[0]

    def await_paid(self, order: str) -> None:
        deadline = time.monotonic() + WAIT_S
        while not self.paid(order):
            require(time.monotonic() < deadline, f"{self.heading}: {order} is not paid:\n{(self.folder / 'log').read_text()[-3000:]}")
            time.sleep(0.1)

    def records(self) -> list[list]:
        """Returns the headers of all records of order-17."""
        consumer = Consumer({"bootstrap.servers": self.bootstrap, "group.id": "look", "enable.partition.eof": True})
        consumer.assign([TopicPartition(self.topic, 0, 0)])
        found = []
        while (message := consumer.poll(10)) is not None and not message.error():
            if message.key() == b"order-17":
                found.append(message.headers())
        consumer.close()
        return found

    def play(self) -> None:
        """The payment of order-17 fails twice. Its records then come again, as after a crash, and one of another series, as if
        the consumer had sent it back twice."""
        self.send("order-17", [("trace", b"\xff"), ("trace", b"2")])
        self.await_paid("order-17")
        records = self.records()
        counts = [(dict(headers).get("dlb-attempt"), dict(headers).get("dlb-origin")) for headers in records]
        place = f"{self.topic}/0/0".encode()
        require(counts == [(None, None), *((b"%d" % n, place) for n in range(1, FAILURES + 1))], f"{self.heading}: {counts}")
        require(all(headers[:2] == records[0] for headers in records), f"{self.heading}: lost headers: {records}")
        of_another_series = [(name, b"9" if name == "dlb-attempt" else value) for name, value in records[-1]]
        for headers in [*records[1:], of_another_series]:
            self.send("order-17", headers)
        self.send("order-18", [])  # it comes last
        self.await_paid("order-18")
        require(self.paid("order-17") == 1, f"{self.heading}: a duplicate was paid")
        require(self.paid("order-18") == 1, f"{self.heading}: order-18 was paid {self.paid('order-18')} times")

    def run(self, command: list[str]) -> None:
        with open(self.folder / "log", "w", encoding="utf-8") as log:
            process = subprocess.Popen(command, cwd=self.folder, stdout=log, stderr=log)
        try:
            self.play()
        finally:
            process.kill()
            process.wait(10)
            self.db.close()


def policies(page: list[Block]) -> Block:
    return next(block for block in page if block.language == "yaml" and block.text.startswith("retry:"))


def play_retries(reader) -> int:
    """Gives the bridge the policies of the page, with shorter waits, and runs the examples."""
    block = policies(blocks(PAGE))
    opening, delays, rest = block.text.partition("delays: [")
    require(delays, f"{PAGE}: no delays")
    reader.configure(Block(block.page, block.line, block.section, block.language,
                           opening + "delays: " + WAITS + rest.partition("]")[2], block.mark))
    reader.bridge.process.send_signal(signal.SIGHUP)
    will_say(reader.bridge, '"key":"retry"')
    for heading, text in programs().items():
        shop = Shop(reader, heading)
        shop.run(shop.prepare(text))
    return len(EXAMPLES)
