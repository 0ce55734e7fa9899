"""How problems are shown."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_agentbench.errors import Problem
from pytest_agentbench.taskfiles.locate import definition_error, render, shown_path

ROOT = Path("/home/ann/project")
FILE = ROOT / "tasks" / "a.yaml"


def test_whole_message() -> None:
    """Place, message and advice stand in one line; source line and caret below it."""
    problem = Problem(FILE, 12, 3, "no good", "  x: 1", "better")
    assert render([problem], rootdir=ROOT) == (
        "tasks/a.yaml:12:3: no good. Try: better\n  12 |   x: 1\n     |   ^"
    )


def test_caret_below_tabs_and_wide_letters() -> None:
    """Tabs stay tabs before the caret, wide letters take two columns, accents none."""
    line = "\t漢😀e\u0301x"
    shown = render([Problem(FILE, 1, 6, "m", line)], rootdir=ROOT).splitlines()
    assert shown[2] == "    | \t     ^"


def test_caret_behind_the_line() -> None:
    """A place behind the end of the line has its caret there."""
    shown = render([Problem(FILE, 1, 4, "m", "a:")], rootdir=ROOT).splitlines()
    assert shown[2] == "    |    ^"


def test_unprintable_source() -> None:
    """What cannot be printed is replaced, so that no message moves the cursor."""
    shown = render([Problem(FILE, 1, 3, "m", "a\x1b[1m\x00b")], rootdir=ROOT).splitlines()
    assert shown[1] == "  1 | a\ufffd[1m\ufffdb"


def test_order() -> None:
    """Problems are sorted by place, the file itself before others, each told once."""
    other = Problem(ROOT / "a.jsonl", 1, 1, "o")
    late, early = Problem(FILE, 9, 1, "late"), Problem(FILE, 2, 5, "early")
    error = definition_error([other, late, early, late], rootdir=ROOT, main=FILE)
    assert [problem.message for problem in error.problems] == ["early", "late", "o"]
    assert str(error) == "tasks/a.yaml:2:5: early\ntasks/a.yaml:9:1: late\na.jsonl:1:1: o"


def test_paths() -> None:
    """Paths outside the root are shown whole; undecodable bytes are escaped."""
    assert shown_path(Path("/else/x.yaml"), ROOT) == "/else/x.yaml"
    assert shown_path(ROOT / "b\udcff.yaml", ROOT) == "b\\xff.yaml"


@settings(deadline=None, max_examples=60)
@given(st.text(max_size=300), st.integers(1, 310))
def test_any_line(line: str, column: int) -> None:
    """Any source line and column render, in lines that can be encoded."""
    text = render([Problem(FILE, 1, column, "m", line)], rootdir=ROOT)
    text.encode("utf-8")
