"""How problems of a file are told to people: place, message, source line, caret. Pure."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterable
from pathlib import Path

from pytest_agentbench.errors import DefinitionError, Problem

_WINDOW = 100
"""Characters of a long source line that are shown."""
_PROBLEMS_SHOWN = 100
"""Of a file that is wrong throughout."""
_MESSAGE_HEAD, _MESSAGE_TAIL = 600, 200
"""Characters of a long message that are shown: it may quote what the file holds."""


def definition_error(problems: Iterable[Problem], *, rootdir: Path, main: Path) -> DefinitionError:
    """The error that holds all problems, each once: those of ``main`` first, in file order."""
    ordered = tuple(
        sorted(
            dict.fromkeys(problems),
            key=lambda problem: (
                problem.path != main,
                problem.path,
                problem.line,
                problem.column,
            ),
        )
    )
    return DefinitionError(ordered, render(ordered, rootdir=rootdir))


def render(problems: Iterable[Problem], *, rootdir: Path) -> str:
    """All problems as one text; paths below ``rootdir`` are shown relative to it."""
    told = list(problems)
    lines = [_render_one(problem, rootdir) for problem in told[:_PROBLEMS_SHOWN]]
    if len(told) > _PROBLEMS_SHOWN:
        rest = len(told) - _PROBLEMS_SHOWN
        lines.append(f"and {rest:,} more problem{'s' * (rest != 1)}")
    return "\n".join(lines)


def shown_path(path: Path, rootdir: Path) -> str:
    """A path for people: relative where that is shorter than ``../..``."""
    text = os.fspath(path)
    if path.is_relative_to(rootdir):
        text = path.relative_to(rootdir).as_posix()
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _render_one(problem: Problem, rootdir: Path) -> str:
    place = shown_path(problem.path, rootdir)
    if problem.line:
        place += f":{problem.line}:{problem.column}"
    text = f"{place}: {_shortened(problem.message)}"
    if problem.advice:
        text += f". Try: {problem.advice}"
    if not problem.line or not problem.excerpt.strip():
        return text
    excerpt, column = _window(problem.excerpt, problem.column)
    gutter = " " * len(str(problem.line))
    source = _printable(excerpt)
    return f"{text}\n  {problem.line} | {source}\n  {gutter} | {_padding(source, column)}^"


def _shortened(message: str) -> str:
    if len(message) <= _MESSAGE_HEAD + _MESSAGE_TAIL:
        return message
    return f"{message[:_MESSAGE_HEAD]}…{message[-_MESSAGE_TAIL:]}"


def _window(line: str, column: int) -> tuple[str, int]:
    """The part of a long line around the column, and the column within it."""
    if len(line) <= _WINDOW:
        return line, column
    start = max(0, min(column - 1 - _WINDOW // 2, len(line) - _WINDOW))
    shown = line[start : start + _WINDOW]
    if start:
        shown, column = "…" + shown, column + 1
    if start + _WINDOW < len(line):
        shown += "…"
    return shown, column - start


def _printable(text: str) -> str:
    return "".join(
        letter if letter == "\t" or letter.isprintable() else "\ufffd" for letter in text
    )


def _padding(line: str, column: int) -> str:
    """Blanks as wide as what stands before the column; tabs stay tabs, wide letters count two."""
    beyond = max(0, column - 1 - len(line))
    return "".join(_blank(letter) for letter in line[: column - 1]) + " " * beyond


def _blank(letter: str) -> str:
    if letter == "\t":
        return "\t"
    if unicodedata.category(letter) in ("Mn", "Me"):
        return ""
    return "  " if unicodedata.east_asian_width(letter) in "WF" else " "
