#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The folder of a file determines which files it may include. One table lists the allowed includes of each room. The
test also fails on a circle of modules or rooms, and on a room without a README.

  rooms.py [--graph]    --graph prints the arrows between the rooms"""
from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KAFKA = ("librdkafka/",)
SYSTEM = ("pthread.h", "sys/", "unistd.h", "fcntl.h", "poll.h", "netdb.h", "arpa/", "netinet/", "signal.h", "time.h")
# room: other rooms and headers that it may include, and system headers that it may not include.
ROOMS = {
    "levels": ((), KAFKA + SYSTEM + ("yaml.h", "jansson.h", "microhttpd.h")),
    "bridge/core": (("levels",), KAFKA + SYSTEM + ("yaml.h", "jansson.h", "microhttpd.h")),
    "bridge/base": (("levels",), KAFKA),
    "bridge/config": (("levels", "bridge/base"), ()),
    "consumer": (("levels", "bridge/base", "bridge/config", "bridge/core/port.h"), ()),
    "bridge/service": (("levels", "bridge/base", "bridge/config", "bridge/core", "consumer"), ()),
    "bridge/admin": (("levels", "bridge/base", "bridge/config", "bridge/service"), KAFKA),
    "bridge/commands": (("levels", "bridge/base", "bridge/config", "bridge/core", "consumer", "bridge/service",
                         "bridge/admin"), ()),
    "tests/sim": (("levels", "bridge/core"), KAFKA + ("pthread.h", "sys/", "fcntl.h", "poll.h")),
}
# The folders of consumer/, lowest first. Each may include those before it.
CONSUMER = ("consumer/client", "consumer", "consumer/admin")
# The only files of the configuration that may use librdkafka.
KAFKA_IN_CONFIG = ("bridge/config/property.c", "bridge/config/property_names.c")
# levels/ and the core must not read a clock: they receive the time as an argument.
CLOCK = re.compile(r"\b(clock_gettime|gettimeofday|time|nanosleep|usleep|sleep)\(")
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)', re.M)


def room_of(path: str) -> str:
    return next((room for room in sorted(ROOMS, key=len, reverse=True) if path.startswith(room + "/")), "")


def sources() -> list[str]:
    return sorted(str(p.relative_to(ROOT)) for folder in ("levels", "bridge", "consumer", "tests/sim")
                  for p in (ROOT / folder).rglob("*.[ch]"))


def may_include(path: str, included: str) -> bool:
    room = room_of(path)
    if room == room_of(included):
        return room != "consumer" or rank(included) <= rank(path)
    return any(included == allowed or included.startswith(allowed + "/") for allowed in ROOMS[room][0])


def rank(path: str) -> int:
    return CONSUMER.index(str(Path(path).parent))


def faults_of(path: str, text: str) -> list[str]:
    found, room = [], room_of(path)
    if not room:
        return [] if path == "bridge/main.c" else [f"{path}: this folder is in no row of the table"]
    for own, system in INCLUDE.findall(text):
        if own and not (ROOT / own).is_file():
            found.append(f'{path}: "{own}" is not a path from the root of the repository')
        elif own and not may_include(path, own):
            found.append(f"{path}: {room}/ may not include {own}")
        elif system and system.startswith(ROOMS[room][1]) and ROOMS[room][1]:
            found.append(f"{path}: {room}/ may not include <{system}>")
        elif room == "bridge/config" and system.startswith(KAFKA) and path not in KAFKA_IN_CONFIG:
            found.append(f"{path}: in the configuration, only {KAFKA_IN_CONFIG} may include <{system}>")
    if room in ("levels", "bridge/core") and CLOCK.search(text):
        found.append(f"{path}: {room}/ must not read a clock: it receives the time as an argument")
    return found


def module_of(path: str) -> str:
    """A pair of .c and .h is a module; X_parts.h is the private header of X. In the simulator each file is
    a module, since the world and its parts include each other."""
    return path if room_of(path) == "tests/sim" else path[:-2].removesuffix("_parts")


def modules(texts: dict[str, str]) -> dict[str, set[str]]:
    """Returns for each module the modules that its files include."""
    arrows: dict[str, set[str]] = {}
    for path, text in texts.items():
        module = module_of(path)
        included = {module_of(own) for own, _ in INCLUDE.findall(text) if own}
        arrows.setdefault(module, set()).update(included - {module})
    return arrows


def circle(arrows: dict[str, set[str]]) -> list[str]:
    """Returns one circle, or an empty list."""
    done: set[str] = set()

    def walk(node: str, path: list[str]) -> list[str]:
        if node in path:
            return path[path.index(node):] + [node]
        if node in done:
            return []
        for after in sorted(arrows.get(node, ())):
            found = walk(after, path + [node])
            if found:
                return found
        done.add(node)
        return []

    return next((found for node in sorted(arrows) if (found := walk(node, []))), [])


def rooms(arrows: dict[str, set[str]]) -> dict[str, set[str]]:
    between: dict[str, set[str]] = {}
    for module, afters in arrows.items():
        folder = str(Path(module).parent)
        between.setdefault(folder, set()).update(str(Path(after).parent) for after in afters
                                                 if str(Path(after).parent) != folder)
    return between


def main() -> int:
    texts = {path: (ROOT / path).read_text() for path in sources()}
    arrows = modules(texts)
    between = rooms(arrows)
    if "--graph" in sys.argv:
        for room, afters in sorted(between.items()):
            print(room, "->", ", ".join(sorted(afters)) or "nothing")
        return 0
    faults = [fault for path, text in texts.items() for fault in faults_of(path, text)]
    for name, graph in (("modules", arrows), ("rooms", between)):
        found = circle(graph)
        if found:
            faults.append(f"{name} include each other in a circle: {' -> '.join(found)}")
    faults += [f"{room}/: no README.md" for room in between if not (ROOT / room / "README.md").is_file()]
    print("\n".join(faults) or f"rooms: {len(texts)} files in {len(between)} rooms, no circle")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
