# SPDX-License-Identifier: Apache-2.0
"""A validator for docs/schemas/. It knows only the keywords of JSON Schema that these files use. 3.0 is no integer."""
from __future__ import annotations

import json
import re
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "schemas"
INSTANT = re.compile(r"\d{4,}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
KEYWORDS = {"$schema", "$defs", "title", "description", "type", "properties", "required", "additionalProperties", "items",
            "minItems", "maxItems", "enum", "minimum", "format", "anyOf", "$ref"}
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}


def load(name: str) -> dict:
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


def is_type(value, name: str) -> bool:
    if name in ("integer", "number"):
        return isinstance(value, int if name == "integer" else (int, float)) and not isinstance(value, bool)
    return isinstance(value, TYPES[name])


def faults(value, schema: dict, root: dict | None = None, at: str = "$") -> list[str]:
    """Returns a sentence for each violation of the schema."""
    root = root or schema
    unknown = set(schema) - KEYWORDS
    if unknown:
        return [f"{at}: the schema has keywords that this validator does not know: {sorted(unknown)}"]
    if "$ref" in schema:
        return faults(value, root["$defs"][schema["$ref"].removeprefix("#/$defs/")], root, at)
    if "anyOf" in schema:
        tries = [faults(value, one, root, at) for one in schema["anyOf"]]
        return [] if [] in tries else [f"{at}: none of {len(tries)} shapes: {tries}"]
    kinds = schema.get("type", list(TYPES))
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if not any(is_type(value, kind) for kind in kinds):
        return [f"{at}: {value!r} is not {' or '.join(kinds)}"]
    if isinstance(value, dict):
        return faults_of_object(value, schema, root, at)
    if isinstance(value, list):
        return faults_of_list(value, schema, root, at)
    return faults_of_scalar(value, schema, at)


def faults_of_object(value: dict, schema: dict, root: dict, at: str) -> list[str]:
    known, more = schema.get("properties", {}), schema.get("additionalProperties", True)
    found = [f"{at}: no {key}" for key in schema.get("required", []) if key not in value]
    for key, item in value.items():
        if key in known or isinstance(more, dict):
            found += faults(item, known.get(key, more), root, f"{at}.{key}")
        elif not more:
            found.append(f"{at}: {key} is not in the schema")
    return found


def faults_of_list(value: list, schema: dict, root: dict, at: str) -> list[str]:
    found = [fault for i, item in enumerate(value) for fault in faults(item, schema.get("items", {}), root, f"{at}[{i}]")]
    if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
        found.append(f"{at}: {len(value)} items")
    return found


def faults_of_scalar(value, schema: dict, at: str) -> list[str]:
    found = []
    if value is None:
        return found
    if "enum" in schema and value not in schema["enum"]:
        found.append(f"{at}: {value!r} is not one of {schema['enum']}")
    if schema.get("format") == "date-time" and not INSTANT.fullmatch(value):
        found.append(f"{at}: {value!r} is no instant with milliseconds in UTC")
    if "minimum" in schema and value < schema["minimum"]:
        found.append(f"{at}: {value} is below {schema['minimum']}")
    return found


def faults_of_command(args: tuple[str, ...], stdout: str, stderr: str) -> list[str]:
    """Returns the faults in the output of a command that was run with "-o", "json"."""
    if "json" not in args:
        return []
    name = "-".join(args[:2]) if args[0] == "topics" else args[0]
    return faults_of_lines(stdout, name) + faults_of_lines(stderr, "error")


def faults_of_lines(text: str, name: str) -> list[str]:
    """Returns the faults of each line of an output."""
    found = []
    for line in text.splitlines():
        try:
            found += faults(json.loads(line), load(name))
        except ValueError:
            found.append(f"not JSON: {line[:200]}")
    return [f"{name}: {fault}" for fault in found]
