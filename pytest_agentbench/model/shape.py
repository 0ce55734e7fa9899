"""Whether a value is what an annotation says, to its last part.

Types are not looked at when a third party's code gives something: a score of 2 or a command
of bytes would be found much later, by code of ours, or by nobody.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints


def misfit(value: object, wanted: object) -> str | None:
    """What is wrong with a value, after "gave" or "is"; None where nothing is."""
    return next(_misfits(value, wanted, ""), None)


def a_kind(value: object) -> str:
    """What a value is, in words: ``a list``."""
    return _named(type(value))


def _misfits(value: object, wanted: object, at: str) -> Iterator[str]:
    origin = get_origin(wanted)
    if origin in (Union, UnionType):
        if not any(misfit(value, one) is None for one in get_args(wanted)):
            # The union's own dataclass knows better which part of it is wrong.
            named = [one for one in get_args(wanted) if one is type(value)]
            yield from _misfits(value, named[0], at) if named else [_told(value, wanted, at)]
    elif origin is not None:
        yield from _part_misfits(value, wanted, at)
    elif not isinstance(wanted, type):
        return  # a name of a type that refers to itself: whoever needs it looks at it
    elif not _is(value, wanted):
        yield _told(value, wanted, at)
    elif is_dataclass(wanted):
        for name, hint in _hints(wanted).items():
            yield from _misfits(getattr(value, name), hint, f"{at}.{name}" if at else name)


def _part_misfits(value: object, wanted: object, at: str) -> Iterator[str]:
    origin, parts = get_origin(wanted), get_args(wanted)
    if origin is tuple:
        # A list does as well: nothing here is ever changed.
        if not isinstance(value, tuple | list):
            yield _told(value, wanted, at)
            return
        for index, one in enumerate(value):
            yield from _misfits(one, parts[0], f"{at}[{index}]")
    elif isinstance(origin, type) and issubclass(origin, Mapping):
        if not isinstance(value, Mapping):
            yield _told(value, wanted, at)
            return
        for key, one in value.items():
            yield from _misfits(key, parts[0], f"a key of {at}")
            yield from _misfits(one, parts[1], f"{at}[{key!r}]")
    elif isinstance(origin, type) and not isinstance(value, origin):
        yield _told(value, wanted, at)


def _is(value: object, wanted: type) -> bool:
    if wanted is float:
        return type(value) in (int, float) and math.isfinite(value)  # type: ignore[arg-type]
    if wanted is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, wanted)


def _told(value: object, wanted: object, at: str) -> str:
    shown = repr(value) if isinstance(value, float) else a_kind(value)
    return f"{at} as {shown}, not {_spelt(wanted)}" if at else f"{shown}, not {_spelt(wanted)}"


def _spelt(wanted: object) -> str:
    parts = get_args(wanted)
    origin = get_origin(wanted)
    if origin in (Union, UnionType):
        return " or ".join(map(_spelt, parts))
    if wanted is float:
        return "a number"
    if origin is tuple:
        return f"a tuple of {_plain(parts[0])}"
    if isinstance(origin, type):
        return f"a {origin.__name__}"
    return _named(wanted) if isinstance(wanted, type) else "what is asked for"


def _plain(wanted: object) -> str:
    return wanted.__name__ if isinstance(wanted, type) else "something else"


def _named(kind: type) -> str:
    if kind is type(None):
        return "None"
    name = kind.__name__
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


@cache
def _hints(kind: type) -> Mapping[str, Any]:
    hints = get_type_hints(kind)
    return {one.name: hints[one.name] for one in fields(kind)}
