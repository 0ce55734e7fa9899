"""YAML 1.2 core as plain data, with the place of every key and value.

The C loader composes nodes; what they mean is decided here, because PyYAML
speaks YAML 1.1 (``on`` is true, ``10:30`` is 630, ``1e-6`` is text).
"""

from __future__ import annotations

import re
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import yaml

from pytest_agentbench.taskfiles.scalars import (
    BOOL,
    FLOAT,
    INT,
    MAP,
    NULL,
    SEQ,
    STR,
    core_tag,
    plain_value,
    shown_tag,
)
from pytest_agentbench.taskfiles.spots import HEAD, DataPath, Spots
from pytest_agentbench.taskfiles.yamldocument import LINE_END, Document, place_of

if TYPE_CHECKING:
    from pytest_agentbench.model.task import JsonValue

__all__ = ["DataPath", "Document", "kind_of", "parse", "read", "read_bytes", "value_at"]

NODE_LIMIT = 100_000
"""Nodes of a file after aliases are expanded; more is an alias bomb or should be a dataset."""
ROWS_NODE_LIMIT = 10 * NODE_LIMIT
"""The same of a dataset."""
DEPTH_LIMIT = 100
"""Levels of a file; far below the depth at which Python gives up."""
FILE_LIMIT_BYTES = 64 << 20

_FORBIDDEN = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# Line ends for YAML 1.1 and so for PyYAML, ordinary characters for YAML 1.2.
_OLDLINE_ENDS = "\x85\u2028\u2029"
_ADVICE = {
    "mapping values are not allowed": "put a value that holds ': ' in quotes, or mend"
    " indentation and colons just above",
    "unexpected end of stream": "close the quote",
    "found a tab character": "spaces",
    "invalid Unicode character escape": "write the character itself",
}


_Pairs: TypeAlias = "dict[str, tuple[yaml.Node, yaml.Node]]"


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Composes nodes whose tags follow YAML 1.2."""

    def resolve(self, kind: type[yaml.Node], value: str, implicit: Sequence[bool]) -> str:
        if kind is yaml.ScalarNode:
            return core_tag(value) if implicit[0] else STR
        return SEQ if kind is yaml.SequenceNode else MAP


def read(path: Path, *, what: str) -> Document:
    """Read a YAML file whose top level is a mapping.

    Never raises for what the file holds: look at ``problems``; ``data`` is then
    what could be made of it, or None. ``what`` names the kind of file.
    """
    raw = read_bytes(path)
    return raw if isinstance(raw, Document) else parse(path, raw, what=what)


def read_bytes(path: Path) -> bytes | Document:
    """The bytes of a file; a document without data that says why they cannot be had."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            # A named pipe would be waited for, and /dev/zero has no end.
            return _hopeless(path, "is no regular file")
        if status.st_size > FILE_LIMIT_BYTES:
            return _hopeless(path, f"larger than {FILE_LIMIT_BYTES >> 20} MiB")
        return path.read_bytes()
    except OSError as error:
        return _hopeless(path, f"cannot be read: {error.strerror}")


def parse(path: Path, raw: bytes, *, what: str, rows: bool = False) -> Document:
    """Like ``read``, from the bytes of the file; with ``rows``, of a list of mappings."""
    if raw.startswith((b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")) or raw[:4].count(0) > 1:
        return _hopeless(path, "is UTF-16 or UTF-32; YAML here is UTF-8", "save it as UTF-8")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # With utf-8-sig, offsets count from behind the byte order mark.
        offset = error.start + 3 * raw.startswith(b"\xef\xbb\xbf")
        found = f"byte {offset} (0x{raw[offset]:02x}) is not UTF-8"
        document = Document(path, raw.decode("utf-8-sig", "replace"))
        before = LINE_END.split(raw[:offset].decode("utf-8-sig", "replace"))
        document.report_place(len(before), len(before[-1]) + 1, found, "save it as UTF-8")
        return document
    document = Document(path, text)
    forbidden = _FORBIDDEN.search(text)
    if forbidden is not None:
        place = document.place_of_index(forbidden.start())
        code = f"U+{ord(forbidden[0]):04X}"
        document.report_place(*place, f"the character {code} is not allowed in YAML")
        return document
    _Reading(document, what, rows=rows).run()
    return document


def _hopeless(path: Path, message: str, advice: str = "") -> Document:
    document = Document(path, "")
    document.report_place(0, 0, message, advice)
    return document


class _Reading:
    """Makes data of the nodes of one document."""

    def __init__(self, document: Document, what: str, *, rows: bool) -> None:
        self._document = document
        self._what = what
        self._rows = rows
        self._stand_ins: dict[int, str] = {}
        self._done: dict[int, tuple[JsonValue, int]] = {}
        self._open: set[int] = set()
        self._pairs: dict[int, _Pairs] = {}
        self._seen: set[int] = set()
        self._limit = ROWS_NODE_LIMIT if rows else NODE_LIMIT
        self._room = self._limit

    def run(self) -> None:
        document = self._document
        root = self._compose(self._without_old_line_ends(document.text))
        if document.problems:
            return
        if root is None or (root.tag == NULL and root.value == ""):
            document.report_place(0, 0, f"is empty, and so no {self._what}")
            return
        place = place_of(root)
        document.spots = [*place, HEAD]
        data, weight = self._convert(root)
        if not isinstance(data, list if self._rows else dict):
            kind = "a list of mappings" if self._rows else "a mapping"
            document.report((), f"{self._article()} is {kind}, not {kind_of(data)}")
        elif weight > self._limit or self._room < 0:
            message = f"holds more than {self._limit:,} values once its aliases are expanded"
            document.report((), message)
        else:
            document.data = data
            document.spots = []
            self._note_spots(root, data, document.spots)

    def _article(self) -> str:
        return f"{'an' if self._what[0] in 'aeiou' else 'a'} {self._what}"

    def _without_old_line_ends(self, text: str) -> str:
        """Old line ends replaced by private characters that the text does not use."""
        if text.isascii():
            return text
        used = [letter for letter in _OLDLINE_ENDS if letter in text]
        free = (chr(code) for code in range(0xE000, 0xF8FF) if chr(code) not in text)
        for letter, stand_in in zip(used, free, strict=False):
            self._stand_ins[ord(stand_in)] = letter
            text = text.replace(letter, stand_in)
        return text

    def _compose(self, text: str) -> yaml.Node | None:
        loader = _Loader(text)
        try:
            node: yaml.Node | None = loader.get_single_node()
        except yaml.MarkedYAMLError as error:
            self._syntax(error)
        except (yaml.YAMLError, RecursionError) as error:
            self._document.report_place(0, 0, f"is no YAML: {str(error).splitlines()[0]}")
        else:
            return node
        finally:
            loader.dispose()
        return None

    def _syntax(self, error: yaml.MarkedYAMLError) -> None:
        problem = str(error.problem or error.context or "cannot be read")
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (0, 0)
        advice = next((text for part, text in _ADVICE.items() if part in problem), "")
        if "another document" in problem:
            problem = f"a second document starts here; {self._article()} is one YAML document"
            self._document.report_place(line, column, problem)
            return
        here = self._document.line(line)[column - 1 : column]
        if problem == "second occurrence" and error.context_mark:
            first = error.context_mark.line + 1
            problem = f"this anchor is there twice; the first is on line {first}"
        elif "cannot start any token" in problem:
            problem = f"{here!r} cannot start a value"
            advice = "put the value in quotes"
            if here == "\t":
                problem, advice = "a tab cannot indent YAML", "spaces"
        elif error.context and error.context_mark and error.problem:
            problem = f"{problem} {error.context} of line {error.context_mark.line + 1}"
        if "\ufeff" in self._document.line(line)[:column]:
            advice = "remove the byte order mark (U+FEFF) from the middle of the file"
        self._document.report_place(line, column, f"not valid YAML: {problem}", advice)

    def _fault(self, node: yaml.Node, message: str, advice: str = "") -> None:
        self._document.report_node(node, message, advice)

    def _convert(self, node: yaml.Node) -> tuple[JsonValue, int]:
        """The data of a node, and how many nodes it stands for; aliased nodes are shared."""
        key = id(node)
        done = self._done.get(key)
        if done is not None:
            return done
        if key in self._open:
            self._fault(node, "an alias leads back to a value that holds it")
            return None, 1
        if len(self._open) > DEPTH_LIMIT:
            self._fault(node, f"is nested deeper than {DEPTH_LIMIT} levels")
            return None, 1
        self._open.add(key)
        result: tuple[JsonValue, int]
        if isinstance(node, yaml.ScalarNode):
            result = self._scalar(node), 1
        elif isinstance(node, yaml.SequenceNode):
            result = self._sequence(node)
        else:
            result = self._mapping(node)
        self._open.discard(key)
        self._done[key] = result
        return result

    def _note_spots(self, node: yaml.Node, data: JsonValue, spots: Spots) -> None:
        """Write down where a value and its parts stand; small enough, aliases and all."""
        start = len(spots)
        spots += (*place_of(node), HEAD)
        if not isinstance(data, dict | list):
            return
        if id(data) in self._seen:
            self._document.has_shared_parts = True
        self._seen.add(id(data))
        if isinstance(data, dict):
            for key, (key_node, value_node) in self._pairs[id(node)].items():
                spots += place_of(key_node)
                self._note_spots(value_node, data[key], spots)
        else:
            for part_node, part in zip(node.value, data, strict=True):
                self._note_spots(part_node, part, spots)
        spots[start + 2] = len(spots) - start

    def _sequence(self, node: yaml.SequenceNode) -> tuple[JsonValue, int]:
        self._check_tag(node, SEQ)
        items = [self._convert(item) for item in node.value]
        return [data for data, _ in items], 1 + sum(weight for _, weight in items)

    def _mapping(self, node: yaml.Node) -> tuple[JsonValue, int]:
        self._check_tag(node, MAP)
        self._pairs[id(node)] = {}
        if self._room < 0:
            # Merged keys multiply as aliases do, but they take memory at once.
            return {}, 1
        if _is_placeholder(node):
            self._fault(node, "to YAML, '{{' begins a mapping and no text", "quotes around it")
            return {}, 1
        own: _Pairs = {}
        merged: _Pairs = {}
        merging: yaml.Node | None = None
        for key_node, value_node in node.value:
            if self._is_merge(key_node):
                if merging is not None:
                    self._duplicate(key_node, "<<", merging, "one '<<' with a list of mappings")
                merging = merging or key_node
                for merged_key, pair in self._merged(value_node):
                    merged.setdefault(merged_key, pair)
                continue
            key = self._key(key_node)
            if key is None:
                continue
            if key in own:
                self._duplicate(key_node, key, own[key][0])
                continue
            own[key] = key_node, value_node
        pairs = merged | own
        self._room -= len(pairs)
        self._pairs[id(node)] = pairs
        found = {key: self._convert(value) for key, (_, value) in pairs.items()}
        weight = 1 + sum(part for _, part in found.values())
        return {key: data for key, (data, _) in found.items()}, weight

    def _duplicate(self, node: yaml.Node, key: str, first: yaml.Node, advice: str = "") -> None:
        line = first.start_mark.line + 1
        self._fault(node, f"duplicate key {key!r}; the first is on line {line}", advice)

    def _is_merge(self, node: yaml.Node) -> bool:
        return (
            isinstance(node, yaml.ScalarNode)
            and node.value == "<<"
            and node.tag == STR
            and not node.style
        )

    def _merged(self, node: yaml.Node) -> Iterator[tuple[str, tuple[yaml.Node, yaml.Node]]]:
        """The pairs that ``<<: node`` brings in; of several mappings the first wins."""
        sources = node.value if isinstance(node, yaml.SequenceNode) else [node]
        for source in sources:
            if not isinstance(source, yaml.MappingNode):
                self._fault(source, "'<<' takes a mapping or a list of mappings")
                continue
            self._convert(source)
            yield from self._pairs.get(id(source), {}).items()

    def _key(self, node: yaml.Node) -> str | None:
        before = len(self._document.problems)
        value = self._convert(node)[0]
        if isinstance(value, str):
            return value
        if len(self._document.problems) > before:
            return None
        shown = f" {node.value!r}" if isinstance(node, yaml.ScalarNode) else ""
        self._fault(
            node, f"a key must be text; this one{shown} is {kind_of(value)}", "quotes around it"
        )
        return None

    def _check_tag(self, node: yaml.Node, expected: str) -> None:
        if node.tag != expected:
            self._fault(node, f"unknown tag {shown_tag(node.tag)!r}")

    def _scalar(self, node: yaml.ScalarNode) -> JsonValue:
        text = node.value.translate(self._stand_ins) if self._stand_ins else node.value
        if node.tag == STR:
            if not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text):
                self._fault(node, "holds half of a surrogate pair, which is not text")
            return str(text)
        if node.tag not in (NULL, BOOL, INT, FLOAT):
            self._fault(node, f"unknown tag {shown_tag(node.tag)!r}")
            return str(text)
        value = plain_value(node.tag, text)
        if value is None and node.tag != NULL:
            self._fault(node, f"{text!r} is not a usable number", "quotes around it, if it is text")
        return value


def _is_placeholder(node: yaml.Node) -> bool:
    """Whether a mapping was meant as the text ``{{ … }}``."""
    key = node.value[0][0] if len(node.value) == 1 else None
    return isinstance(key, yaml.MappingNode) and key.start_mark.index == node.start_mark.index + 1


def value_at(data: JsonValue, at: DataPath) -> JsonValue:
    """The value at a place; None where there is none."""
    for step in at:
        if isinstance(data, dict):
            data = data.get(str(step))
        elif isinstance(data, list) and isinstance(step, int) and step < len(data):
            data = data[step]
        else:
            return None
    return data


def kind_of(value: object) -> str:
    """What a value is, for people."""
    match value:
        case None:
            return "nothing"
        case bool():
            return "a truth value"
        case int() | float():
            return "a number"
        case str():
            return "text"
        case list():
            return "a list"
        case _:
            return "a mapping"
