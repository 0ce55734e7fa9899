from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_agentbench.model.run import Completed, Output
from pytest_agentbench.model.task import OracleSpec, Position
from pytest_agentbench.oracles.base import (
    death,
    is_below,
    judged,
    last_words,
    name_problem,
    one_line,
    oracle_fault,
    output_text,
    unknown_keys,
)

SPEC = OracleSpec("run", "answer", Position(Path("tasks/task.yaml"), 7), ["true"], weight=2.0)


def output(text: str) -> Output:
    return Output(head=text.encode(), total=len(text.encode()))


@given(st.text() | st.text(st.characters(categories=["Cc", "Cf", "Cs", "Zl"])), st.integers(10, 80))
def test_any_text_becomes_one_printable_line(text: str, limit: int) -> None:
    """One line, printable, encodable and bounded, whatever went in."""
    line = one_line(text, limit)
    assert line.isprintable()
    assert len(line) <= limit
    assert line.encode("utf-8").decode() == line


def test_control_characters_are_escaped() -> None:
    """A terminal's escape sequence is shown, not played; blanks are joined."""
    assert one_line("red:\x1b[31m\n  done\u202e") == "red:\\x1b[31m done\\u202e"


def test_a_long_line_ends_in_a_mark() -> None:
    """What was cut is marked."""
    assert one_line("word " * 1000, 20) == "word word word wor …"


@pytest.mark.parametrize(
    ("completed", "words"),
    [
        (Completed(0, 1.0), None),
        (Completed(3, 1.0), None),
        (Completed(None, 1.0, timed_out=True, signal=9), "ran out of time (2.5 s)"),
        (Completed(None, 1.0, out_of_memory=True, signal=9), "ran out of memory"),
        (Completed(None, 1.0, signal=11), "was killed by SIGSEGV"),
        (Completed(None, 1.0, signal=199), "was killed by signal 199"),
        (Completed(None, 1.0), "was killed"),
        (Completed(137, 1.0), "was killed by SIGKILL (exit code 137)"),
        (Completed(128, 1.0), None),
        (Completed(255, 1.0), None),
    ],
)
def test_a_death_in_words(completed: Completed, words: str | None) -> None:
    """How a command was kept from ending by itself, or None when it was not."""
    assert death(completed, 2.5) == words


def test_last_words_prefer_standard_error() -> None:
    """The last line of standard error, or of standard output when there is none."""
    assert last_words(Completed(1, 0.0, output("a\nb\n"), output("x\ny \n\n"))) == "y"
    assert last_words(Completed(1, 0.0, output("a\nb\n"))) == "b"
    assert last_words(Completed(1, 0.0)) == ""


def test_both_streams_are_one_text() -> None:
    """Standard error is marked, and left out where it is empty."""
    assert output_text(Completed(1, 0.0, output("a\n"), output("b\n"))) == (
        "a\n[standard error]\nb"
    )
    assert output_text(Completed(1, 0.0, output("a\n"))) == "a"


def test_a_fault_names_oracle_and_place() -> None:
    """An oracle's error reads ``where: what. Try: advice``."""
    fault = oracle_fault(SPEC, "cannot start", advice="install it")
    assert str(fault) == "tasks/task.yaml:7: oracle 'answer' cannot start. Try: install it"
    assert fault.reason == "oracle_error"


def test_a_result_carries_its_entry() -> None:
    """Name, kind, weight and ``required`` come from the spec; the reason is made one line."""
    found = judged(SPEC, passed=False, score=0.0, reason="a\nb")
    assert (found.name, found.kind, found.weight, found.required) == ("answer", "run", 2.0, True)
    assert found.reason == "a b"


def test_unknown_keys_get_a_suggestion() -> None:
    """The nearest known key is offered, else all are listed."""
    problems = unknown_keys(["reports", "zzz", "report"], ["report", "needs"], ("x",), "key")
    assert problems == [
        (("x", "reports"), "unknown key 'reports'; did you mean 'report'?"),
        (("x", "zzz"), "unknown key 'zzz'; known: needs, report"),
    ]


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("a", None),
        ("a/b.txt", None),
        ("./a", None),
        ("..a/b..", None),
        ("", "is no file name"),
        (".", "is no file name"),
        ("a/", "is no file name"),
        ("a\0b", "is no file name"),
        ("/etc/passwd", "is absolute; it is relative to the workspace"),
        ("a/../../b", "must not hold '..'"),
        ("..", "must not hold '..'"),
    ],
)
def test_names_of_files(name: str, problem: str | None) -> None:
    """A name stays below its directory, or it is told why it does not."""
    assert name_problem(name) == problem


@pytest.mark.parametrize(
    ("path", "directory", "answer"),
    [
        ("/w/a", "/w", True),
        ("/w", "/w", True),
        ("/w", "/w/", False),
        ("/wa", "/w", False),
        ("/w/a", "/w/", True),
        ("/a", "/", True),
    ],
)
def test_below(path: str, directory: str, answer: bool) -> None:  # noqa: FBT001
    """A path lies in a directory by whole parts of its name."""
    assert is_below(path, directory) is answer
