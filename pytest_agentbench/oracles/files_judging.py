"""What one expectation of the ``files`` oracle says to one text.

The text is the agent's, the pattern or schema the author's; together they may run
for ever (``(a+)+$``), so this file is also a program: it reads expectations from
standard input, and whoever started it can kill it. It imports nothing of its own
package, and runs under ``python -I``.
"""

from __future__ import annotations

import json
import re
import resource
import sys
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"

_MEMORY_BYTES = 2 << 30
_SHOWN = 60

ANSWER_LIMIT = 500
"""Characters of one answer."""


def miss(key: str, wanted: JsonValue, text: str) -> str | None:
    """Why ``text`` does not meet the expectation; None when it does.

    Ends of line are LF on both sides: CRLF and CR count as LF.
    """
    text = with_lf(text)
    if key == "equals":
        return _equals(with_lf(str(wanted)), text)
    if key == "contains":
        wanted = wanted if isinstance(wanted, list) else [wanted]
        lacking = [part for part in wanted if with_lf(str(part)) not in text]
        return f"does not contain {_shown(lacking[0])}" if lacking else None
    if key == "matches":
        found = re.search(str(wanted), text, re.MULTILINE)
        return None if found else f"does not match {_shown(wanted)}"
    try:
        value = _parsed(text)
        return _schema(wanted, value) if key == "json_schema" else _values(wanted, value)
    except RecursionError:
        return "is JSON that is nested too deep"
    except ValueError as error:
        return f"is not JSON: {error}"


def with_lf(text: str) -> str:
    """The text with LF as the only end of line."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _equals(wanted: str, text: str) -> str | None:
    if wanted == text:
        return None
    theirs, ours = text.split("\n"), wanted.split("\n")
    for number, (their, our) in enumerate(zip(theirs, ours, strict=False), start=1):
        if their != our:
            return f"line {number} is {_shown(their)} instead of {_shown(our)}"
    if len(theirs) > len(ours):
        return f"goes on after line {len(ours)}, where it should end"
    return f"ends after line {len(theirs)} instead of line {len(ours)}"


def _parsed(text: str) -> JsonValue:
    value: JsonValue = json.loads(text, parse_constant=_refuse_constant)
    return value


def _refuse_constant(name: str) -> JsonValue:
    raise ValueError(f"{name} is no JSON number")


def _schema(schema: JsonValue, value: JsonValue) -> str | None:
    from referencing.exceptions import Unresolvable  # noqa: PLC0415 - as in validator()

    try:
        error = next(validator(schema).iter_errors(value), None)
    except Unresolvable as fault:
        return f"cannot be held against the schema: {fault}"
    return None if error is None else f"{error.json_path}: {error.message[:200]}"


def validator(schema: JsonValue) -> Validator:
    """A checker of a schema, Draft 2020-12, that never reaches for the network."""
    # Imported here: 0.1 s, and most tasks have no schema.
    from jsonschema import Draft202012Validator  # noqa: PLC0415
    from referencing.jsonschema import EMPTY_REGISTRY  # noqa: PLC0415

    assert isinstance(schema, dict)
    return Draft202012Validator(schema, registry=EMPTY_REGISTRY)


def _values(wanted: JsonValue, document: JsonValue) -> str | None:
    assert isinstance(wanted, dict)
    for path, value in wanted.items():
        found, there = _at(document, path.split("."))
        if not there:
            return f"has no {path}"
        if not same_json(found, value):
            return f"{path} is {_shown(found)} instead of {_shown(value)}"
    return None


def _at(document: JsonValue, keys: list[str]) -> tuple[JsonValue, bool]:
    for key in keys:
        if isinstance(document, dict) and key in document:
            document = document[key]
        elif isinstance(document, list) and _is_index(key, document):
            document = document[int(key)]
        else:
            return None, False
    return document, True


def _is_index(key: str, items: list[JsonValue]) -> bool:
    return re.fullmatch("[0-9]{1,9}", key) is not None and int(key) < len(items)


def same_json(one: JsonValue, other: JsonValue) -> bool:
    """Whether two JSON values are equal; ``1`` is ``1.0``, and ``true`` is no number."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same_json, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same_json(one[key], other[key]) for key in one)
    return one == other


def _shown(value: JsonValue) -> str:
    text = repr(value) if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def main() -> int:
    """Answer each ``[key, wanted, text]`` of standard input with one line of JSON."""
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    request = json.loads(sys.stdin.buffer.read())
    sys.path[:] = request["path"]
    for key, wanted, text in request["jobs"]:
        try:
            answer = miss(key, wanted, text)
        except MemoryError:
            answer = "takes too much memory to judge"
        # Bounded, or a few answers would not fit what the other side keeps.
        answer = answer and answer[:ANSWER_LIMIT]
        sys.stdout.write(json.dumps(answer) + "\n")
        # Line by line: those that were judged count when a later one never ends.
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
