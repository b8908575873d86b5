#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/log_messages.txt lists each log message of the program with its level and fields, so that a review sees a
changed message. The check fails if the list and the sources differ. Each message is constant text, begins in lower case
and has one place in the source. Operators search for it, and log queries group by its fields.

  log_messages.py             check
  log_messages.py --update    write the list"""
from __future__ import annotations

import difflib
import re
import sys
from pathlib import Path
from typing import Iterator, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
LIST = ROOT / "tests" / "log_messages.txt"
HEADER = "# Log messages: level, text, fields with their types. Written by tests/log_messages.py --update\n"
NAMES = ("Kafka ", "SIGHUP ")  # These begin with an upper-case letter everywhere.

COMMENT = re.compile(r"/\*.*?\*/", re.S)
LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')
CALL = re.compile(r"\b(?:log_(debug|info|warn|error)|(LOG_LINE))\(")
FIELD = re.compile(r'\bF_([A-Z]+)\(\s*"(\w+)"')
HINT = re.compile(r'\bF_HINT\([^"]*("(?:[^"\\]|\\.)*")')
# notices.c has tables: the fields, and for each notice its level, fields and message.
NOTICE_FIELD = re.compile(r'\bX\((\w+), (?:F_([A-Z]+)|\w+)\("(\w+)"')
NOTICE = re.compile(r'\{\s*LOG_([A-Z]+),\s*([A-Z_ |\n]+),\s*((?:"(?:[^"\\]|\\.)*"\s*)+)')
NOTICES = ROOT / "bridge" / "service" / "notices.c"
TYPES = {"MS": "ms", "OFFSET": "offset", "NONZERO": "count"}


class Message(NamedTuple):
    level: str
    text: str
    fields: str
    file: str


def arguments(text: str, at: int) -> list[str]:
    """Returns the arguments of the call whose opening parenthesis is before `at`."""
    found, start, depth = [], at, 1
    while depth > 0:
        literal = LITERAL.match(text, at)
        if literal:
            at = literal.end()
            continue
        depth += {"(": 1, "{": 1, ")": -1, "}": -1}.get(text[at], 0)
        if depth == 0 or depth == 1 and text[at] == ",":
            found.append(text[start:at].strip())
            start = at + 1
        at += 1
    return found


def joined(text: str) -> str:
    """Joins adjacent literals."""
    return re.sub(r'"\s*"', "", text)


def texts(argument: str, sources: dict[Path, str]) -> list[str]:
    """Returns the texts of a message argument: a literal, a macro, or a choice between literals."""
    if re.fullmatch(r"[A-Z_]+", argument):
        for text in sources.values():
            macro = re.search(rf"#define {argument}\s+(?:\\\n\s*)?((?:{LITERAL.pattern}\s*)+)", text)
            if macro:
                argument = macro.group(1)
    return [literal for literal in LITERAL.findall(joined(argument)) if literal]


def type_of(name: str) -> str:
    return TYPES.get(name, name.lower())


def calls(file: Path, text: str, sources: dict[Path, str]) -> Iterator[Message]:
    for call in CALL.finditer(text):
        if "#define" in text[text.rfind("\n", 0, call.start()):call.start()]:
            continue
        said = arguments(text, call.end())
        level = call.group(1) or (said.pop(0).removeprefix("LOG_").lower() if said[0].startswith("LOG_") else
                                  said.pop(0) and "any")
        given = " ".join(said[1:])
        fields = " ".join([f"{name}={type_of(kind)}" for kind, name in FIELD.findall(given)] +
                          [f"hint={hint}" for hint in HINT.findall(joined(given))])
        found = texts(said[0], sources)
        for message in found or [f"no constant: {said[0]}"]:
            yield Message(level, message, fields, str(file.relative_to(ROOT)))


def notices(text: str) -> Iterator[Message]:
    table = {flag: f"{name}={type_of(kind or 'TEXT')}" for flag, kind, name in NOTICE_FIELD.findall(text)}
    for level, flags, message in NOTICE.findall(text):
        wanted = {flag.strip() for flag in flags.split("|")}
        fields = [field for flag, field in table.items() if flag in wanted] + ["suppressed=count"]
        yield Message(level.lower(), LITERAL.findall(joined(message))[0], " ".join(fields),
                      str(NOTICES.relative_to(ROOT)))


def messages() -> list[Message]:
    sources = {path: COMMENT.sub("", path.read_text()) for folder in ("levels", "bridge", "consumer")
               for path in sorted((ROOT / folder).rglob("*.[ch]"))}
    found = list(notices(sources[NOTICES]))
    for path, text in sources.items():
        found += calls(path, text, sources)
    return sorted(found, key=lambda m: (("error", "warn", "info", "debug", "any").index(m.level), m.text, m.fields))


def lines(found: list[Message]) -> str:
    return HEADER + "".join(f"{m.level:<6} {m.text}{'  ' if m.fields else ''}{m.fields}\n" for m in found)


def faults_of(found: list[Message]) -> list[str]:
    faults: list[str] = []
    places: dict[str, Message] = {}
    for message in found:
        where = places.setdefault(message.text, message)
        if where is not message:
            faults.append(f"{message.file}: {where.file} has the same message: {message.text}")
        if message.text.startswith("no constant"):
            faults.append(f"{message.file}: a log message must be constant text: {message.text}")
        elif message.text[0].isupper() and not message.text.startswith(NAMES):
            faults.append(f"{message.file}: a log message must begin in lower case: {message.text}")
        if message.text.endswith(".") or "%" in message.text:
            faults.append(f"{message.file}: a log message must have no full stop and no format: {message.text}")
    return faults


# A source, and the faults that must be found in it.
PLANTED: tuple[tuple[str, list[str]], ...] = (
    ('log_info("started", F_INT("lanes", n)); log_warn(a ? "b, c" : "d", F_HINT(f(1, 2) ? "e" : NULL));', []),
    ("log_info(text);", ["constant text"]),
    ('log_info("Started");', ["lower case"]),
    ('log_info("started.");', ["full stop"]),
    ('log_info("%d started");', ["full stop"]),
    ('log_info("started"); log_warn("started");', ["the same message"]),
)


def selftest() -> list[str]:
    """Checks that planted faults are found, and no others."""
    faults = []
    for source, wanted in PLANTED:
        found = faults_of(list(calls(ROOT / "planted.c", source, {})))
        if len(found) != len(wanted) or not all(words in fault for words, fault in zip(wanted, found)):
            faults.append(f"log_messages: planted {wanted}, found {found}: {source}")
    return faults


def main() -> int:
    broken = selftest()
    if broken:
        print("\n".join(broken))
        return 1
    found = messages()
    faults = faults_of(found)
    now, then = lines(found), LIST.read_text() if LIST.exists() else ""
    if "--update" in sys.argv:
        LIST.write_text(now)
    elif now != then:
        faults.append("the sources and tests/log_messages.txt differ: run tests/log_messages.py --update")
        faults += difflib.unified_diff(then.splitlines(), now.splitlines(), "log_messages.txt", "sources", "", "", 0, "")
    print("\n".join(faults) or f"log_messages: {len(found)} messages, all in the list")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
