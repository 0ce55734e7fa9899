"""What ids, tags, variants and inline files may be called. Pure.

Each function returns what is wrong, as the end of a sentence, or None.
"""

from __future__ import annotations

import re
from unicodedata import is_normalized, normalize

ID_LIMIT = 100

_BAD_IN_ID = re.compile(r"[\[\]:/@\\]|\s")
_OWN_MEANING = re.compile(r"pytest_|__.*__$")
_UNSAFE = re.compile(r"[\[\]:/@\\\s]+")
_TAG = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")
_RESERVED_TAGS = frozenset(
    {
        "agentbench",
        "filterwarnings",
        "parametrize",
        "skip",
        "skipif",
        "tryfirst",
        "trylast",
        "usefixtures",
        "xfail",
    }
)
_KEYWORDS = frozenset({"and", "or", "not", "True", "False", "None"})
# What nearly every name is made of: asked several times for each task of a session.
_PLAIN_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_PLAIN_FILE = re.compile(rf"{_PLAIN_ID.pattern}(?:/{_PLAIN_ID.pattern})*")
_REPEAT_SUFFIX = re.compile(r"-r\d+$")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_NAME_LIMIT = 255
_VARIABLE_LIMIT = 131_072
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def id_fault(text: str) -> str | None:
    """Why a text is no id of a task, oracle or variant: it becomes a part of node ids and paths."""
    if len(text) <= ID_LIMIT and _PLAIN_ID.fullmatch(text) and not _OWN_MEANING.match(text):
        return None
    bad = _BAD_IN_ID.search(text)
    blank = bad is not None and bad[0].isspace()
    faults = (
        (not text, "is empty"),
        (len(text) > ID_LIMIT, f"is longer than {ID_LIMIT} characters"),
        (text[:1] in {"-", "."}, f"starts with {text[:1]!r}"),
        (_OWN_MEANING.match(text) is not None, "has a meaning of its own in pytest"),
        (blank, "holds a blank"),
        (bad is not None, f"holds {bad[0]!r}" if bad else ""),
        (not text.isprintable(), "holds a character that cannot be printed"),
        (not is_normalized("NFC", text), "is not in Unicode's composed form (NFC)"),
    )
    return next((said for holds, said in faults if holds), None)


def variant_fault(text: str) -> str | None:
    """Why a text is no name of a variant."""
    if _REPEAT_SUFFIX.search(text):
        return "ends like a repeat (-r1)"
    return id_fault(text)


def slug(text: str) -> str:
    """An id made of any text: what an id may not hold becomes ``-``; may still be refused."""
    # Two ways to write one letter would be two tasks that nobody can tell apart.
    safe = _UNSAFE.sub("-", normalize("NFC", text))
    safe = "".join(letter if letter.isprintable() else "-" for letter in safe)
    return safe.lstrip("-.").rstrip("-")


def tag_fault(text: str) -> str | None:
    """Why a text is no tag: it becomes a pytest mark and a word of ``-m``."""
    if text in _RESERVED_TAGS:
        return "has a meaning of its own in pytest"
    if text in _KEYWORDS:
        return "is a word of pytest's -m expressions"
    if not _TAG.fullmatch(text):
        return "is not made of a letter, then letters, digits, '_', '-' and '.'"
    return None


def variable_fault(name: str, value: str) -> str | None:
    """Why a pair is no environment variable."""
    if not _VARIABLE.fullmatch(name):
        return "is not a name for an environment variable"
    if "\0" in value:
        return "holds a NUL character"
    try:
        raw = value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return "holds half a character (a lone surrogate)"
    # The kernel's limit for one of them, its name and an end mark included.
    room = _VARIABLE_LIMIT - len(name) - len("=\0")
    return f"is longer than {room:,} bytes" if len(raw) > room else None


def file_fault(name: str) -> str | None:
    """Why a text is no relative POSIX file name below a directory."""
    if len(name) <= _NAME_LIMIT and _PLAIN_FILE.fullmatch(name):
        return None
    parts = name.split("/")
    faults = {
        "is empty": not name,
        "is absolute": name.startswith("/"),
        "holds a backslash": "\\" in name,
        "holds a control character": _CONTROL.search(name) is not None,
        "leaves the directory": ".." in parts,
        "has an empty or '.' part": "" in parts or "." in parts,
        "is too long": any(len(part.encode("utf-8", "replace")) > _NAME_LIMIT for part in parts),
    }
    return next((words for words, holds in faults.items() if holds), None)
