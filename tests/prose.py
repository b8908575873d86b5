#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The prose of the repository is plain English: no forbidden turns of phrase and no sentence that must be read twice.

It reads the comments of C, Python, shell, CMake and YAML files, the sentences in the program (log messages, errors,
help), the names of tests, and the documents. tests/prose_baseline.txt holds the number of faults that each file had
when the check was introduced. A file may have fewer than that, never more.

  prose.py              check all files against the baseline
  prose.py PATH...      show all faults of these files and folders, without the baseline
  prose.py --update     write the smaller numbers into the baseline; the sum never grows"""
from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Callable, Iterator, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
BASELINE = ROOT / "tests" / "prose_baseline.txt"
WORDS_MAX = 25
# A fragment of a field comment such as "0: none; -1: unknown" is a list, not a sentence.
FRAGMENT_MAX = 12

VERBS = (r"(?:is|are|was|were|has|have|had|does|did|do|can|cannot|could|may|must|will|would|waits?|waited|comes?|came|"
         r"goes|went|stands?|lies|lay|remains?|there|it|they|its|follows?|begins?|ends|fits?|makes?|keeps?|belongs?)")
# A noun follows in "of its own folder", and none in "a folder of its own".
SMALL = r"(?:and|as|at|by|for|from|if|in|is|on|or|so|that|to|when|which|with)"
# The turn of phrase, and a better word for it.
TURNS = (
    (r"anew", "again"),
    (r"for ever", "indefinitely"),
    (r"all the same", "nevertheless"),
    (r"be it", "even if"),
    (r"whoever", "a noun"),
    (rf"what {VERBS}", "a noun"),
    (r"(?:for|by|of|to|from|with) who", "a noun"),
    (r"(?:no|some|every)body", "a noun"),
    (r"(?:told|tells)", "reports, distinguishes"),
    (r"(?:asked|asks)", "requests, queries"),
    (r"looks? at|looked at|looks? into|looked into", "reads, checks"),
    (r"beside", "next to, outside"),
    (r"the like", "name them"),
    (r"(?:stands?|stood|standing) still", "stalls"),
    (r"(?:mend|mends|mended|mending)", "fix"),
    (r"lets? go|letting go", "releases"),
    (r"(?:come|comes|came) round", "runs, returns"),
    (r"(?:takes?|took|taken) nothing", "is unavailable, accepts none"),
    (r"(?:go|goes|went|going) on", "continues"),
    (r"(?:get|gets|got|getting) on", "progresses"),
    (rf"of (?:its|their) own(?! (?!{SMALL}\b)[a-z])", "its own, separate"),
    (r"(?<!dead )(?<!dead-)a letter", "a dead-lettered record"),
    (r"(?:gives?|gave|given) back", "revoked, returned"),
    (r"(?:takes?|took|taken) in", "ingested"),
    (r"all that (?:it|they) (?:had|have|has)", "a noun"),
    (r"again and again", "repeatedly"),
)
TURN = re.compile("|".join(rf"(?<![\w-])(?:{turn})(?![\w-])" for turn, _ in TURNS), re.I)
QUESTION = re.compile(r"^what ", re.I)

SENTENCE_END = re.compile(r"(?<=[.!?])[\"')\]]*\s+")
ABBREVIATION = re.compile(r"(?:\b(?:e\.g|i\.e|etc|vs|cf|ca|no)\.|\.\.\.)$", re.I)
CODE = re.compile(r"``[^`]+``|`[^`]+`|https?://\S+|\]\([^)]*\)|\{\{.*?\}\}")
WORD = re.compile(r"\S*\w\S*")
ALIGNED = re.compile(r"[^.!?\s]  +\S")
BULLET = re.compile(r"\s*(?:[-*+] |\d+[.)] |#+ |> )")

C_TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'', re.S)
PYTHON_TOKEN = re.compile(r'#[^\n]*|[rbfRBF]{0,2}"""(?:[^\\]|\\.)*?"""|[rbfRBF]{0,2}"(?:[^"\\\n]|\\.)*"'
                          r"|[rbfRBF]{0,2}'(?:[^'\\\n]|\\.)*'", re.S)
HASH_COMMENT = re.compile(r"(?:^|(?<=\s))#(?!!)(?: |$)(.*)$")
PREFORMATTED = re.compile(r"SPDX-|NOLINT|clang-format|shellcheck|pylint|noqa|type: ignore|@schema")
TEST_NAME = re.compile(r"^Test\(\w+,\s*(\w+)|^static void (\w+_\w+_\w+)\(|^\s*def (\w+_\w+_\w+)\(", re.M)
SAID = re.compile(r"^\s*(?:summary|description|message): *(.+)$")


class Line(NamedTuple):
    number: int
    text: str


class Fault(NamedTuple):
    line: int
    text: str


class Block(NamedTuple):
    """Lines that form one run of sentences. `judged` is false for tables and pictures: only words count there."""
    lines: list[Line]
    judged: bool = True


def files() -> list[str]:
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
                            capture_output=True, text=True, check=False)
    names = listed.stdout.split("\n") if listed.returncode == 0 else \
        [str(path.relative_to(ROOT)) for path in ROOT.rglob("*") if not path.relative_to(ROOT).parts[0] == "build"]
    return sorted(name for name in set(names) if name and reader_of(name) and is_plain(ROOT / name))


def is_plain(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def reader_of(name: str) -> Callable[[str, str], Iterator[Block]] | None:
    """The function that finds the prose of a file, or None."""
    path = Path(name)
    if name.startswith("tests/fuzz/corpus/") or path.name in ("LICENSE", "prose.py") or path.parts[0] == ".cache":
        return None
    if path.suffix in (".c", ".h"):
        return c_blocks
    if path.suffix == ".py":
        return python_blocks
    if path.suffix == ".md":
        return markdown_blocks
    if path.name == "NOTES.txt":
        return markdown_blocks
    if path.suffix in (".sh", ".yaml", ".yml", ".tpl", ".cmake", ".service") or \
            path.name in ("CMakeLists.txt", "Dockerfile", "dev", "run", "kafka", "postinst", "prerm", "postrm"):
        return hash_blocks
    return None


def paragraphs(lines: list[Line], indent: int = 0) -> Iterator[Block]:
    """Cut at empty lines and list items. A line that is indented further than its list item is a picture."""
    block: list[Line] = []
    depth, wide = indent, False
    for line in lines + [Line(0, "")]:
        text = line.text.rstrip()
        margin = len(text) - len(text.lstrip())
        item = BULLET.match(text)
        is_wide = bool(text) and not item and (margin >= depth + 2 or bool(ALIGNED.search(text)))
        if not text or item or is_wide != wide or margin < depth and block and not wide:
            if block:
                yield Block(block, not wide)
            block, wide = [], is_wide
            if not is_wide:
                depth = item.end() if item else margin if text else indent
        if text and not PREFORMATTED.search(text):
            block.append(Line(line.number, text[item.end():] if item else text.strip()))


def comment_lines(text: str, number: int) -> list[Line]:
    """The lines of one C comment, from a common margin."""
    body = text[2:-2] if text.startswith("/*") else text[2:]
    lines = body.expandtabs().split("\n")
    margin = min((len(line) - len(line.lstrip()) for line in lines[1:] if line.strip()), default=0)
    return [Line(number + i, line.strip() if i == 0 else re.sub(r"^\* ?", "", line[margin:]))
            for i, line in enumerate(lines)]


def c_blocks(name: str, text: str) -> Iterator[Block]:
    in_program = name.split("/")[0] in ("levels", "bridge", "consumer")
    said, end = "", 0
    at, number = 0, 1
    said_line = 0
    for token in C_TOKEN.finditer(text):
        number += text.count("\n", at, token.start())
        at = token.start()
        word = token.group()
        if word[0] == '"' and in_program:
            between = text[end:token.start()]
            if said and not re.fullmatch(r"\s*(?:PRI\w+)?\s*", between):
                yield from string_blocks(said, said_line)
                said = ""
            if not said:
                said_line = number
            said += ("0" if "PRI" in between else "") + word[1:-1]
            end = token.end()
        elif word[0] == "/":
            lines = comment_lines(word, number)
            yield from paragraphs(lines)
    if said:
        yield from string_blocks(said, said_line)


def string_blocks(text: str, number: int) -> Iterator[Block]:
    if len(re.findall(r"[A-Za-z]{2,}", text)) < 3 or " " not in text:
        return
    plain = text.replace("\\n", "\n").replace('\\"', '"').replace("\\t", "    ")
    yield from paragraphs([Line(number, line) for line in plain.split("\n")])


def python_blocks(_: str, text: str) -> Iterator[Block]:
    comments: list[Line] = []
    at, number, last = 0, 1, 0
    for token in PYTHON_TOKEN.finditer(text):
        number += text.count("\n", at, token.start())
        at = token.start()
        word = token.group()
        if word[0] == "#":
            if comments and number != last + 1:
                yield from paragraphs(comments)
                comments = []
            if word.startswith("# "):
                comments.append(Line(number, word[2:]))
            last = number
        elif '"""' in word[:5] and not text[text.rfind("\n", 0, at) + 1:at].strip():
            lines = word.strip('rbfRBF"').expandtabs().split("\n")
            margin = min((len(line) - len(line.lstrip()) for line in lines[1:] if line.strip()), default=0)
            margin = min(margin, at - text.rfind("\n", 0, at) - 1)
            yield from paragraphs([Line(number + i, line if i == 0 else line[margin:]) for i, line in enumerate(lines)])
    yield from paragraphs(comments)


def hash_blocks(name: str, text: str) -> Iterator[Block]:
    comments: list[Line] = []
    for number, line in enumerate(text.split("\n"), 1):
        found = HASH_COMMENT.search(line)
        own_line = found is not None and not line[:found.start()].strip()
        if comments and not (own_line and comments[-1].number == number - 1):
            yield from paragraphs(comments)
            comments = []
        if found:
            comments.append(Line(number, found.group(1)))
            if not own_line:
                yield from paragraphs(comments)
                comments = []
        said = SAID.match(line) if name.endswith(".yaml") else None
        if said:
            yield Block([Line(number, said.group(1))])
    yield from paragraphs(comments)


def markdown_blocks(_: str, text: str) -> Iterator[Block]:
    lines, fenced = [], False
    for number, line in enumerate(text.split("\n"), 1):
        if re.match(r"\s*```", line):
            fenced = not fenced
            line = ""
        if fenced:
            line = ""
        if re.match(r"\s*\|", line):
            yield Block([Line(number, line)], False)
            line = ""
        lines.append(Line(number, re.sub(r"^> ?", "", line)))
    yield from paragraphs(lines)


def sentences(text: str) -> list[str]:
    found: list[str] = []
    for part in SENTENCE_END.split(text):
        if found and ABBREVIATION.search(found[-1]):
            found[-1] += " " + part
        else:
            found.append(part)
    return [sentence for sentence in found if sentence]


def faults_of_sentence(sentence: str) -> Iterator[str]:
    words = len(WORD.findall(sentence))
    semicolons = len(re.findall(r";(?=\s|$)", sentence))
    colons = len(re.findall(r":(?=\s|$)", sentence))
    if words > WORDS_MAX:
        yield f"{words} words in a sentence, {WORDS_MAX} at most"
    if semicolons > 1 and words > FRAGMENT_MAX:
        yield "two semicolons in a sentence"
    elif semicolons and colons and words > FRAGMENT_MAX:
        yield "a colon and a semicolon in a sentence"


def hint(turn: str) -> str:
    return next(better for pattern, better in TURNS if re.fullmatch(pattern, turn, re.I))


def faults_of_block(block: Block) -> Iterator[Fault]:
    text, starts = "", []
    for line in block.lines:
        starts.append((len(text), line.number))
        text += CODE.sub("CODE", line.text) + " "

    def line_at(position: int) -> int:
        return [number for start, number in starts if start <= position][-1]

    position = 0
    for sentence in sentences(text):
        position = max(text.find(sentence[:40], position), position)
        for turn in TURN.finditer(sentence):
            if QUESTION.match(turn.group()) and sentence.rstrip(" *\"'").endswith("?"):
                continue
            yield Fault(line_at(position + turn.start()), f'"{turn.group()}": write {hint(turn.group())}')
        if block.judged:
            for fault in faults_of_sentence(sentence):
                yield Fault(line_at(position), f"{fault}: {' '.join(sentence.split())[:90]}")


def faults_of_names(name: str, text: str) -> Iterator[Fault]:
    """Names of tests and stories are sentences with underscores."""
    if not name.startswith("tests/"):
        return
    for found in TEST_NAME.finditer(text):
        sentence = next(group for group in found.groups() if group).replace("_", " ")
        for turn in TURN.finditer(sentence):
            line = text.count("\n", 0, found.start()) + 1
            yield Fault(line, f'"{turn.group()}" in a name: write {hint(turn.group())}')


def faults_of(name: str) -> list[Fault]:
    return faults_of_text(name, (ROOT / name).read_text(errors="replace"))


def faults_of_text(name: str, text: str) -> list[Fault]:
    reader = reader_of(name)
    blocks = reader(name, text) if reader else iter(())
    found = [fault for block in blocks if block.lines for fault in faults_of_block(block)]
    return sorted(found + list(faults_of_names(name, text)))


# A file for each reader, and the line of each fault that must be found in it.
PLANTED = (
    ("a.c", "/* Joins anew. */\nint a; // none; one; or more of them are in it, as far as is known by then\n", [1, 2]),
    ("levels/a.c", 'x("the lane goes on: %s", "a");\nx("a" PRId64 " records\\n"\n  "wait for ever");\n', [1, 2]),
    ("a.h", "/* Offsets of a batch:\n     0  what is there\n   The end. */\n", [2]),
    ("a.h", "/* " + "word " * 25 + "e.g. this. */\n/* " + "word " * 25 + ". */\n", [1]),
    ("a.h", "/* 0: none; -1: unknown */ char a[] = \"/* nobody */\"; /* dead letter: a letter */\n", [1]),
    ("tests/a.c", "Test(a, who_waits)\nTest(a, nobody_waits)\n", [2]),
    ("a.py", '"""Says what\nis new."""\nx = "# nobody"  # somebody\n', [1, 3]),
    ("a.sh", "#!/bin/sh\n# One thing\n# stands still.\necho ${#nobody}\n", [3]),
    ("a.yaml", "a: b # It is mended.\ndescription: It took nothing.\n", [1, 2]),
    ("a.md", "What is it?\n\n| a | goes on |\n|---|---|\n```\nnobody\n```\n`nobody` waits.\n- Whoever.\n", [3, 9]),
)


def selftest() -> list[str]:
    """The check finds what is planted, and nothing else."""
    faults = []
    for name, text, wanted in PLANTED:
        found = [fault.line for fault in faults_of_text(name, text)]
        if found != wanted:
            faults.append(f"prose: planted faults in lines {wanted}, found in {found}: {text!r}")
    return faults


def baseline() -> dict[str, int]:
    if not BASELINE.exists():
        return {}
    rows = [line.split(maxsplit=1) for line in BASELINE.read_text().splitlines() if line and line[0] != "#"]
    return {path: int(number) for number, path in rows}


def update(counts: dict[str, int]) -> int:
    before, after = sum(baseline().values()), sum(counts.values())
    if BASELINE.exists() and after > before:
        print(f"prose: the baseline may only shrink: {before} faults in it, {after} now. Run tests/prose.py")
        return 1
    BASELINE.write_text("# Faults that tests/prose.py allows, by file. Lower it with: tests/prose.py --update\n" +
                        "".join(f"{count} {name}\n" for name, count in counts.items() if count))
    print(f"prose: the baseline holds {after} faults, {before} before")
    return 0


def show(names: list[str]) -> int:
    total = 0
    for name in names:
        for fault in faults_of(name):
            print(f"{name}:{fault.line}: {fault.text}")
            total += 1
    print(f"prose: {total} faults in {len(names)} files")
    return 1 if total else 0


def main() -> int:
    paths = [str(Path(path).resolve().relative_to(ROOT)) for path in sys.argv[1:] if path != "--update"]
    if paths:
        return show([name for name in files() if any(name == p or name.startswith(p + "/") or p == "." for p in paths)])
    broken = selftest()
    if broken:
        print("\n".join(broken))
        return 1
    found = {name: faults_of(name) for name in files()}
    counts = {name: len(faults) for name, faults in found.items()}
    if "--update" in sys.argv:
        return update(counts)
    allowed, total, failed = baseline(), sum(counts.values()), False
    for name, faults in found.items():
        if len(faults) <= allowed.get(name, 0):
            continue
        failed = True
        print(f"{name}: {len(faults)} faults, {allowed.get(name, 0)} allowed")
        print("".join(f"{name}:{fault.line}: {fault.text}\n" for fault in faults), end="")
    spare = sum(allowed.values()) - total
    verdict = "more than the baseline allows" if failed else \
        f"{spare} fewer than the baseline: run tests/prose.py --update" if spare else "as many as the baseline allows"
    print(f"prose: {len(found)} files, {total} faults, {verdict}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
