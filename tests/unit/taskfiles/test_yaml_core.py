"""YAML 1.2 core: what plain scalars are, merges, line ends, positions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_agentbench.taskfiles import yamlnodes
from pytest_agentbench.taskfiles.yamlnodes import parse

FILE = Path("f.yaml")


def data_of(text: str | bytes) -> object:
    """The data of a text without problems."""
    document = parse(FILE, text if isinstance(text, bytes) else text.encode(), what="file")
    assert document.problems == []
    return document.data


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("on", "on"),
        ("yes", "yes"),
        ("No", "No"),
        ("012", "012"),
        ("10:30", "10:30"),
        ("2024-01-02", "2024-01-02"),
        ("1_000", "1_000"),
        ("0b1", "0b1"),
        ("1e-6", 1e-6),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("-2.", -2.0),
        ("0o17", 15),
        ("0x1F", 31),
        ("+7", 7),
        ("true", True),
        ("FALSE", False),
        ("~", None),
        ("", None),
        ("null", None),
        ("'1'", "1"),
        ('"true"', "true"),
        ("!!str 12", "12"),
        ("!!int '12'", 12),
        ("!!float 1", 1.0),
        ("=", "="),
    ],
)
def test_scalars(written: str, meant: object) -> None:
    """A plain scalar is what YAML 1.2 says, but numbers like 012 stay text."""
    value = data_of(f"a: {written}\n")["a"]  # type: ignore[index]
    assert value == meant
    assert type(value) is type(meant)


@pytest.mark.parametrize("written", [".inf", "-.INF", ".nan", "1e999", "9" * 5000, "!!int x"])
def test_unusable_numbers(written: str) -> None:
    """Infinite, absurd and untrue numbers are problems."""
    document = parse(FILE, f"a: {written}\n".encode(), what="file")
    assert ["is not a usable number" in problem.message for problem in document.problems] == [True]


def test_merge() -> None:
    """Merged keys yield to a mapping's own ones, and of several mappings the first wins."""
    text = "x: &x {a: 1, b: 1}\ny: &y {b: 2, c: 2}\nz:\n  <<: [*x, *y]\n  a: 0\n"
    assert data_of(text)["z"] == {"a": 0, "b": 1, "c": 2}  # type: ignore[index]


def test_merged_keys_keep_their_place() -> None:
    """The place of a merged key is where it is written."""
    document = parse(FILE, b"x: &x\n  a: 1\nz:\n  <<: *x\n", what="file")
    assert document.place(("z", "a"), key=True) == (2, 3)


def test_quoted_merge_key_is_a_key() -> None:
    """A quoted '<<' merges nothing."""
    assert data_of("'<<': {a: 1}\n") == {"<<": {"a": 1}}


def test_line_ends_become_lf() -> None:
    """CRLF and CR in block scalars become LF."""
    assert data_of(b"a: |\r\n  x\r\n  y\r\n") == {"a": "x\ny\n"}


@pytest.mark.parametrize("letter", ["\x85", "\u2028", "\u2029"])
def test_old_line_ends_are_letters(letter: str) -> None:
    """What ended lines in YAML 1.1 is an ordinary character, in values, keys and positions."""
    document = parse(FILE, f"a: x{letter}y\n'b{letter}': 1\nc: 2\n".encode(), what="file")
    assert document.problems == []
    assert document.data == {"a": f"x{letter}y", f"b{letter}": 1, "c": 2}
    assert document.place(("c",)) == (3, 4)


def test_place_behind_bom_and_astral_characters() -> None:
    """Columns count characters, and a byte order mark is none."""
    text = "\ufeff😀: {x: 😀, y: 1}\r\nz: 1\r\n"
    document = parse(FILE, text.encode(), what="file")
    assert document.place(("😀", "y"), key=True) == (1, 11)
    assert document.place(("z",)) == (2, 4)
    assert document.line(1) == "😀: {x: 😀, y: 1}"


def test_place_of_what_is_not_there() -> None:
    """A place that does not exist is that of the nearest thing around it."""
    document = parse(FILE, b"a:\n  b: [1]\n", what="file")
    assert document.place(("a", "b", 7)) == document.place(("a", "b")) == (2, 6)


# YAML has no escaped surrogate pairs, and no keys above 1024 characters.
words = st.text(st.characters(max_codepoint=0xFFFF, exclude_categories=["Cs"]), max_size=20)
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | words,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=4),
    max_leaves=20,
)


@settings(deadline=None, max_examples=60)
@given(st.dictionaries(words, json_values))
def test_json_is_yaml(value: dict[str, object]) -> None:
    """JSON reads back as itself."""
    assert data_of(json.dumps(value)) == value


@settings(deadline=None, max_examples=60)
@given(st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc"])))
def test_single_quoted_text_round_trips(text: str) -> None:
    """Any printable text in single quotes reads back as itself."""
    quoted = text.replace("'", "''")
    assert data_of(f"a: '{quoted}'\n") == {"a": text}


@settings(deadline=None, max_examples=60)
@given(st.binary(max_size=200))
def test_any_bytes(raw: bytes) -> None:
    """Any bytes make a mapping or a problem, never an exception."""
    document = parse(FILE, raw, what="file")
    assert document.problems or isinstance(document.data, dict)


def test_the_c_loader_is_used() -> None:
    """Where PyYAML has its C loader, that composes: the other one is ten times slower."""
    assert issubclass(yamlnodes._Loader, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
