"""What scalars mean by the YAML 1.2 core schema. Pure."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_agentbench.model.task import JsonValue

_TAG = "tag:yaml.org,2002:"
STR, NULL, BOOL, INT, FLOAT, SEQ, MAP = (
    _TAG + name for name in ("str", "null", "bool", "int", "float", "seq", "map")
)
_CORE = (
    (NULL, re.compile(r"~|null|Null|NULL|")),
    (BOOL, re.compile(r"true|True|TRUE|false|False|FALSE")),
    (INT, re.compile(r"[-+]?(?:0|[1-9][0-9]*)|0o[0-7]+|0x[0-9a-fA-F]+")),
    (
        FLOAT,
        re.compile(
            r"[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
            r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
        ),
    ),
)
_MAYBE_SPECIAL = frozenset("~nNtTfF.+-0123456789")


def core_tag(text: str) -> str:
    """The tag of a plain scalar by the YAML 1.2 core schema; numbers like 012 stay text."""
    if text and text[0] not in _MAYBE_SPECIAL:
        return STR
    for tag, pattern in _CORE:
        if pattern.fullmatch(text):
            return tag
    return STR


def plain_value(tag: str, text: str) -> JsonValue:
    """The value of a scalar by its tag; None for numbers that cannot be used."""
    if tag == NULL:
        return None
    if tag == BOOL:
        return {"true": True, "false": False}.get(text.lower())
    try:
        if tag == INT:
            return int(text, 0) if text[:2] in ("0o", "0x") else int(text)
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def shown_tag(tag: str) -> str:
    """A tag as people write it."""
    return "!!" + tag.removeprefix(_TAG) if tag.startswith(_TAG) else tag
