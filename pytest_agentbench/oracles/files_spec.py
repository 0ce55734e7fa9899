"""What may be written in the table of the ``files`` oracle."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pytest_agentbench.model.task import JsonValue
from pytest_agentbench.oracles.base import Problem, name_problem, one_line, unknown_keys

_KEYS = ("exists", "absent", "equals", "contains", "matches", "json_schema", "json")
_NEVER = "the file must not exist, so nothing else can be expected of it"


def entry_problems(name: str, wanted: JsonValue, at: tuple[str | int, ...]) -> list[Problem]:
    """What is wrong with one row of the table."""
    problems: list[Problem] = []
    trouble = name_problem(name)
    if trouble:
        problems.append((at, f"{name!r} {trouble}"))
    if not isinstance(wanted, dict):
        return [*problems, (at, f"must be a mapping of {', '.join(_KEYS)}")]
    if not wanted:
        problems.append((at, f"expects nothing of the file; known: {', '.join(_KEYS)}"))
    problems += unknown_keys(wanted, _KEYS, at, "expectation")
    for key, value in wanted.items():
        if key in _KEYS:
            problems += _value_problems(key, value, (*at, key))
    forbidden = [key for key, value in wanted.items() if is_forbidden(key, value)]
    if forbidden and len(wanted) > 1:
        problems.append(((*at, forbidden[0]), _NEVER))
    return problems


def is_forbidden(key: str, value: JsonValue) -> bool:
    """Whether the expectation says that nothing may stand at the path."""
    return (key == "exists" and value is False) or (key == "absent" and value is True)


def _value_problems(key: str, value: JsonValue, at: tuple[str | int, ...]) -> list[Problem]:
    if key in {"exists", "absent"}:
        return [] if isinstance(value, bool) else [(at, "must be true or false")]
    if key == "equals":
        return [] if isinstance(value, str) else [(at, "must be a text")]
    if key == "contains":
        return _contains_problems(value, at)
    if key == "matches":
        return _pattern_problems(value, at)
    if key == "json":
        return _path_problems(value, at)
    return _schema_problems(value, at)


def _contains_problems(value: JsonValue, at: tuple[str | int, ...]) -> list[Problem]:
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, list) or not value:
        return [(at, "must be a text, or a list of texts")]
    wrong = [index for index, part in enumerate(value) if not isinstance(part, str) or not part]
    return [((*at, index), "must be a text that is not empty") for index in wrong]


def _pattern_problems(value: JsonValue, at: tuple[str | int, ...]) -> list[Problem]:
    if not isinstance(value, str) or not value:
        return [(at, "must be a regular expression")]
    try:
        re.compile(value, re.MULTILINE)
    except (re.error, RecursionError, OverflowError) as error:
        return [(at, f"is no regular expression: {error}")]
    return []


def _path_problems(value: JsonValue, at: tuple[str | int, ...]) -> list[Problem]:
    if not isinstance(value, dict) or not value:
        return [(at, "must be a mapping of dotted paths to values")]
    return [
        ((*at, path), f"{path!r} has an empty part") for path in value if not all(path.split("."))
    ]


def _schema_problems(schema: JsonValue, at: tuple[str | int, ...]) -> list[Problem]:
    if not isinstance(schema, dict):
        return [(at, "must be a JSON Schema (a mapping)")]
    from jsonschema import Draft202012Validator  # noqa: PLC0415 - 0.1 s, and rarely needed
    from jsonschema.exceptions import SchemaError  # noqa: PLC0415

    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        return [
            ((*at, *error.absolute_path), f"is no valid schema: {one_line(error.message, 200)}")
        ]
    return _reference_problems(schema, at)


def _reference_problems(schema: dict[str, JsonValue], at: tuple[str | int, ...]) -> list[Problem]:
    """References that lead nowhere: found now, or an agent's file would be blamed later."""
    from referencing.exceptions import Unresolvable  # noqa: PLC0415
    from referencing.jsonschema import DRAFT202012, EMPTY_REGISTRY  # noqa: PLC0415

    resolver = EMPTY_REGISTRY.resolver_with_root(DRAFT202012.create_resource(schema))
    problems: list[Problem] = []
    for path, reference in _references(schema, ()):
        try:
            resolver.lookup(reference)
        except Unresolvable:
            problems.append(
                ((*at, *path), f"reference {reference!r} leads nowhere; nothing is downloaded")
            )
    return problems


def _references(
    value: JsonValue, path: tuple[str | int, ...]
) -> Iterator[tuple[tuple[str | int, ...], str]]:
    if isinstance(value, dict):
        if path and "$id" in value:
            return  # What its references are relative to changes here.
        for key, inner in value.items():
            if key in {"$ref", "$dynamicRef"} and isinstance(inner, str):
                yield (*path, key), inner
            elif key not in {"const", "enum", "default", "examples"}:
                yield from _references(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _references(inner, (*path, index))
