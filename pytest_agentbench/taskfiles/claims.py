"""Which YAML files are task files.

Standard library only: a directory ``tasks`` with YAML of somebody else's is common.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from pytest_agentbench.candidates import Candidates, is_task_name

TOP_LEVEL_KEYS = ("prompt", "prompt_file", "oracles", "workspace", "dataset")
"""A YAML file below an unset ``agentbench_tasks`` is ours when it has one of these."""

_BYTE_ORDER_MARKS = (
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe\x00\x00", "utf-32-le"),
    (b"\x00\x00\xfe\xff", "utf-32-be"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)
_NAMES = "|".join(TOP_LEVEL_KEYS)
_PROPERTIES = r"(?:[&!][^\s,\[\]{}]*[ \t]+)*"
# Texts, compiled by re at their first use: few sessions ever look into a YAML file.
_BLOCK_KEY = (
    rf"(?m)^(?:---[ \t]+)?(?P<indent>[ \t]*)(?:\?[ \t]+)?{_PROPERTIES}"
    rf"(?:(?:{_NAMES})|'(?:{_NAMES})'|\"(?:{_NAMES})\")[ \t]*(?::(?=\s|$)|$)"
)
_FIRST_CONTENT = (
    rf"(?m)^(?!%|[ \t]*(?:#|$))(?:---(?:[ \t]+(?!#)|[ \t]*(?:#.*)?$\s*))?(?P<indent>[ \t]*)"
    rf"{_PROPERTIES}(?P<character>\S)"
)
_FLOW_TOKEN = r"'(?:[^']|'')*'|\"(?:[^\"\\]|\\.)*\"|#[^\n]*|[{}\[\],:]|[^{}\[\],:'\"#]+"  # noqa: S105 - YAML words


def has_task_keys(data: bytes) -> bool:
    """Whether the text of a YAML file has one of our top-level keys; broken files included."""
    text = _decode(data).replace("\r\n", "\n").replace("\r", "\n")
    first = re.search(_FIRST_CONTENT, text)
    if first is None:
        return False
    if first["character"] == "{":
        return _flow_has_key(text[first.start("character") :])
    return any(
        not found["indent"] or found["indent"] == first["indent"]
        for found in re.finditer(_BLOCK_KEY, text)
    )


def _decode(data: bytes) -> str:
    """The text, good enough to look for ASCII keys in; never raises."""
    for mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace")
    if data[1:2] == b"\x00":
        return data.decode("utf-16-le", "replace")
    if data[:1] == b"\x00":
        return data.decode("utf-16-be", "replace")
    return data.decode("latin-1")


def _flow_has_key(text: str) -> bool:
    """Whether a flow mapping that ``text`` starts with has one of our keys at its first level."""
    depth = 0
    expects_key = False
    for token in re.findall(_FLOW_TOKEN, text):
        word = token.strip()
        if not word or word.startswith("#"):
            continue
        if word in "{[":
            depth += 1
            expects_key = depth == 1
        elif word in "}]":
            depth -= 1
            if depth == 0:
                return False
        elif depth == 1 and word == ",":
            expects_key = True
        elif depth == 1 and expects_key:
            if word.split()[-1].strip("'\"") in TOP_LEVEL_KEYS:
                return True
            expects_key = False
    return False


class Claims:
    """The rule by which a file is claimed; a claimed file that is wrong is an error.

    ``configured`` says whether the project sets ``agentbench_tasks`` itself.
    """

    def __init__(self, candidates: Candidates, *, configured: bool) -> None:
        self.candidates = candidates
        self._configured = configured
        self._by_content: dict[str, bool] = {}

    def claims(self, path: Path) -> bool:
        """Whether ``path``, an absolute path of a file, is a task file."""
        if not self.candidates.has(path):
            return False
        return is_task_name(path.name) or self._configured or self.reads_like_task(path)

    def claims_named(self, path: Path) -> bool:
        """The same for a file that the user names: below ``tasks`` it is taken at its word."""
        if not self.candidates.has(path):
            return False
        self._by_content[os.fspath(path)] = True
        return True

    def passed_over(self) -> list[Path]:
        """YAML files below ``tasks`` that were taken for somebody else's so far."""
        return [Path(name) for name, ours in self._by_content.items() if not ours]

    def reads_like_task(self, path: Path) -> bool:
        """Whether the file has one of our top-level keys, or cannot be read (remembered)."""
        key = os.fspath(path)
        known = self._by_content.get(key)
        if known is None:
            try:
                # A named pipe would be waited for.
                known = not path.is_file() or has_task_keys(path.read_bytes())
            except OSError:
                # An error that is shown beats a task that vanishes.
                known = True
            self._by_content[key] = known
        return known
