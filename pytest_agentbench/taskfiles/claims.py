"""Which YAML files are task files. Standard library only: asked in every pytest session."""

# pathlib takes ten times as long, and this is asked for every collected path:
# ruff: noqa: PTH113, PTH118, PTH120, PTH122

from __future__ import annotations

import os
import re
from pathlib import Path

TOP_LEVEL_KEYS = ("prompt", "prompt_file", "oracles", "workspace", "dataset")
"""A YAML file below an unset ``agentbench_tasks`` is ours when it has one of these."""

SUFFIXES = (".yaml", ".yml")
EXPERIMENT_NAMES = ("agentbench.yaml", "agentbench.yml")
"""The default experiment file, at the root directory."""
EXPERIMENT_DIRECTORY = "experiments"
"""Where the others are, at the root directory."""

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


def is_task_name(name: str) -> bool:
    """Whether a file of that name is a task file wherever it lies."""
    stem, suffix = os.path.splitext(name)
    return suffix in SUFFIXES and (stem == "task" or (stem.endswith(".task") and stem != ".task"))


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

    ``directories`` are those of ``agentbench_tasks``, relative to ``rootdir``;
    ``configured`` says whether the project sets that key itself.
    """

    def __init__(self, rootdir: Path, directories: tuple[str, ...], configured: bool) -> None:  # noqa: FBT001
        self.rootdir = rootdir
        self._configured = configured
        self._prefixes = tuple(
            os.path.join(os.path.normpath(rootdir / directory), "") for directory in directories
        )
        self._experiments = os.path.join(rootdir, EXPERIMENT_DIRECTORY)
        self._by_content: dict[str, bool] = {}

    def claims(self, path: Path) -> bool:
        """Whether ``path``, an absolute path of a file, is a task file."""
        name = path.name
        if not name.endswith(SUFFIXES):
            return False
        if is_task_name(name):
            return True
        text = os.path.normpath(path)
        if not text.startswith(self._prefixes) or self._is_experiment(text, name):
            return False
        return self._configured or self.reads_like_task(path)

    def claims_named(self, path: Path) -> bool:
        """The same for a file that the user names: below ``tasks`` it is taken at its word."""
        text = os.path.normpath(path)
        if text.endswith(SUFFIXES) and text.startswith(self._prefixes):
            self._by_content[os.fspath(path)] = True
        return self.claims(path)

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
                known = not os.path.isfile(key) or has_task_keys(path.read_bytes())
            except OSError:
                # An error that is shown beats a task that vanishes.
                known = True
            self._by_content[key] = known
        return known

    def _is_experiment(self, text: str, name: str) -> bool:
        """``agentbench_tasks = .`` must not turn experiment files into broken tasks."""
        directory = os.path.dirname(text)
        if directory == self._experiments:
            return True
        return directory == os.fspath(self.rootdir) and name in EXPERIMENT_NAMES
