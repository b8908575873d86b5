# SPDX-License-Identifier: Apache-2.0
"""RocketMQ: its levels, or its timer with a tick of 100 ms instead of a second."""
from __future__ import annotations

from pathlib import Path

from peers.peer import DELAY_MS, JARS, Server, ThroughClient
from place import KAFKA_JVM
from processes import reserve_ports

JVM = (*KAFKA_JVM.split(), "-XX:MaxDirectMemorySize=1g", "--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED",
       "--add-exports=java.base/sun.nio.ch=ALL-UNNAMED", "--add-opens=java.base/java.nio=ALL-UNNAMED",
       "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED")
NAMES = ("-Xms128m", "-Xmx128m", "-XX:+UseSerialGC")
CONFIG = """brokerClusterName=bench
brokerName=bench
brokerId=0
brokerIP1=127.0.0.1
listenPort={port}
haListenPort={ha}
storePathRootDir={home}/store
storePathCommitLog={home}/store/commitlog
mappedFileSizeCommitLog=268435456
timerWheelEnable={timer}
timerPrecisionMs=100
messageDelayLevel={level}s
autoCreateTopicEnable=true
diskMaxUsedSpaceRatio=95
"""


class RocketMQ(ThroughClient):
    warm_s = 15  # of its compiler

    def __init__(self, folder: Path, kind: str):
        super().__init__(folder)
        self.kind, self.ports = kind, (0, 0)
        self.name = "RocketMQ, its levels" if kind == "levels" else "RocketMQ, its timer with a tick of 100 ms"
        if kind == "levels":
            self.lead_ms = 0

    def launch(self) -> str:
        # The broker listens on two more ports: its own less 2, and that for replicas.
        first, home = reserve_ports(), self.folder / self.kind
        home.mkdir()
        names, port = first, first + 3
        (home / "names.properties").write_text(f"listenPort={names}\nkvConfigPath={home}/kv.json\n")
        (home / "broker.properties").write_text(CONFIG.format(port=port, ha=first + 2, home=home,
                                                              timer=str(self.kind == "timer").lower(),
                                                              level=DELAY_MS // 1000))
        run = [f"-Drocketmq.home.dir={home}", f"-Duser.home={home}", "-cp", f"{JARS}/*"]
        self.servers = [
            Server(["java", *NAMES, *run, "org.apache.rocketmq.namesrv.NamesrvStartup", "-c", str(home / "names.properties")],
                   home / "names.log"),
            Server(["java", *JVM, *run, "org.apache.rocketmq.broker.BrokerStartup", "-n", f"127.0.0.1:{names}", "-c",
                    str(home / "broker.properties")], home / "broker.log")]
        self.ports = (names, port)
        self.restart()
        return f"127.0.0.1:{names}"

    def restart(self) -> None:
        for server, port in zip(self.servers, self.ports):
            server.start().await_port(port)  # the broker registers with the name server at its start
