"""Patterns of paths: one language for all that a task or a suite names by pattern. Pure.

``*`` stands for any text without a slash, ``?`` for one character, ``[abc]``, ``[a-z]``
and ``[!abc]`` for one of a set; ``**`` between slashes stands for any number of
directories, also none, and at the end for everything below. A pattern is held against
the whole path, upper and lower case differ, and a leading dot is a character like others.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import translate
from functools import lru_cache

_DEEP = "**"
_ALTERNATIVES = re.compile(r"\{[^{}]*,[^{}]*\}")


def matches(pattern: str, path: bytes) -> bool:
    """Whether a pattern without fault matches a relative POSIX path of raw bytes.

    Takes time that is bounded by the length of the pattern times that of the path:
    the path may be an agent's.
    """
    names = path.decode("utf-8", "surrogateescape").split("/")
    steps = _steps(pattern)
    if steps[-1] is None:
        # ``shop/**`` is what is below ``shop``, not ``shop`` itself.
        return _fit((*steps[:-1], _ANY, None), names)
    return _fit(steps, names)


def pattern_fault(pattern: str) -> str | None:
    """Why a text is no pattern, as the end of a sentence about it; None when it is one."""
    faults = (
        (not pattern, "must not be empty"),
        ("\0" in pattern, "must not hold a NUL character"),
        (pattern.startswith("/"), "must not begin with '/': it is relative"),
        (
            pattern.startswith("!"),
            "must not begin with '!': a pattern does not take back another one",
        ),
        (
            pattern.endswith("/"),
            f"must not end with '/'; what is below a directory is {pattern + _DEEP!r}",
        ),
        (
            "\\" in pattern,
            "must not hold a backslash; a special character stands for itself in '[…]'",
        ),
        (
            _ALTERNATIVES.search(pattern) is not None,
            "must not hold alternatives in braces; write a pattern for each",
        ),
    )
    for is_fault, words in faults:
        if is_fault:
            return words
    return next(filter(None, map(_name_fault, pattern.split("/"))), None)


def _name_fault(name: str) -> str | None:
    if name in {"", ".", ".."}:
        return f"must not have {name!r} between slashes"
    if _DEEP in name and name != _DEEP:
        return "must have '**' only by itself between slashes, such as '**/*.py'"
    return _set_fault(name)


def _set_fault(name: str) -> str | None:
    start = name.find("[")
    while start >= 0:
        # A bracket that comes first in a set is a member of it.
        first = start + 2 if name[start + 1 : start + 2] == "!" else start + 1
        end = name.find("]", first + 1)
        if end < 0:
            return "must close each '['; the bracket itself is '[[]'"
        members = name[first:end]
        if members.startswith("^") and len(members) > 1:
            return "must negate a set by '!', as in '[!abc]'"
        reversed_ = next((m[0] for m in re.finditer("(.)-(.)", members) if m[1] > m[2]), None)
        if reversed_:
            return f"must not have the range {reversed_!r}, which is empty"
        start = name.find("[", end)
    return None


_ANY = re.compile(".*", re.DOTALL)


@lru_cache(maxsize=1024)
def _steps(pattern: str) -> tuple[re.Pattern[str] | None, ...]:
    """What each part between slashes must match; None stands for any number of them."""
    parts = pattern.split("/")
    return tuple(None if part == _DEEP else re.compile(translate(part)) for part in parts)


def _fit(steps: Sequence[re.Pattern[str] | None], names: Sequence[str]) -> bool:
    """Whether the steps match the names: only the last ``**`` ever needs to take one more."""
    at = seen = 0
    retry: tuple[int, int] | None = None
    while seen < len(names):
        step = steps[at] if at < len(steps) else _NOTHING
        if step is None:
            retry = (at, seen)
            at += 1
        elif step.match(names[seen]):
            at += 1
            seen += 1
        elif retry is None:
            return False
        else:
            retry = (retry[0], retry[1] + 1)
            at, seen = retry[0] + 1, retry[1]
    return all(step is None for step in steps[at:])


_NOTHING = re.compile("(?!)")
