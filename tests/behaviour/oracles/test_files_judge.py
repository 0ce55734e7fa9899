from __future__ import annotations

import json
from typing import Any

import pytest
from behaviour.oracles.bench import Bench

from pytest_agentbench.model.task import JsonValue
from pytest_agentbench.model.verdict import OracleResult

approx: Any = pytest.approx  # its type does not fit into a tuple that is compared


def told(result: OracleResult) -> tuple[bool, float, str]:
    return result.passed, result.score, result.reason


TABLE: JsonValue = {
    "out.json": {
        "json_schema": {"type": "object", "required": ["total"]},
        "json": {"total": 42, "rows.0.name": "a"},
    },
    "README.md": {"contains": ["Usage", "Install"], "matches": r"^# \w+$"},
    "VERSION": {"equals": "1.2\n"},
    "notes": {"absent": True},
    "docs": {"exists": True},
}
RIGHT = {
    "out.json": json.dumps({"total": 42, "rows": [{"name": "a"}]}),
    "README.md": "Intro\r\n# Shop\r\n## Usage\r\n## Install\r\n",
    "VERSION": "1.2\r\n",
    "docs/index.md": "",
}


def test_everything_expected_passes(bench: Bench) -> None:
    """A workspace that meets every kind of expectation."""
    result = bench.judge("files", TABLE, RIGHT)
    assert told(result) == (True, 1.0, "7 expectations met")
    assert result.details == {"expectations": 7, "met": 7}
    assert result.duration_s > 0


def test_misses_are_named_and_the_score_is_the_share_that_is_met(bench: Bench) -> None:
    """Each miss says which file and what; a missing file is said once."""
    left = {"README.md": "# Shop\nUsage\n", "VERSION": "1.3\n", "notes": "x", "docs/x": ""}
    assert told(bench.judge("files", TABLE, left)) == (
        False,
        approx(2 / 7),
        (
            "out.json: missing; README.md: does not contain 'Install'; "
            "VERSION: line 1 is '1.3' instead of '1.2'; notes: exists, but must not"
        ),
    )


def test_another_task_is_judged_by_its_own_table(bench: Bench) -> None:
    """What is right for one task is wrong for another."""
    other: JsonValue = {"VERSION": {"equals": "2.0\n"}}
    assert not bench.judge("files", other, RIGHT).passed
    assert bench.judge("files", other, {"VERSION": "2.0\n"}).passed


def test_an_empty_workspace_meets_what_must_be_absent_only(bench: Bench) -> None:
    """Doing nothing fails."""
    result = bench.judge("files", TABLE)
    assert (result.passed, result.score) == (False, approx(1 / 7))


@pytest.mark.parametrize(
    ("before", "name", "why"),
    [
        ("ln -s real link", "link", "link: is a symlink"),
        ("ln -s sub inner", "inner/file", "inner/file: lies behind the symlink inner"),
        ("ln -s /etc/passwd link", "link", "link: is a symlink"),
        ("ln -s /nowhere link", "link", "link: is a symlink"),
        ("mkdir d", "d", "d: is a directory"),
        ("mkfifo f", "f", "f: is no regular file, or cannot be read"),
    ],
)
def test_what_is_no_regular_file_has_no_contents(
    bench: Bench, before: str, name: str, why: str
) -> None:
    """Symlinks, also in the middle of a path, directories and pipes never meet a text."""
    bench.before = before
    left = {"real": "x", "sub/file": "x"}
    result = bench.judge("files", {name: {"contains": "x"}}, left)
    assert told(result) == (False, 0.0, why)


def test_the_file_itself_meets_what_its_symlink_does_not(bench: Bench) -> None:
    """Negative control: the same contents pass where no symlink leads to them."""
    bench.before = "ln -s sub inner"
    assert bench.judge("files", {"sub/file": {"contains": "x"}}, {"sub/file": "x"}).passed


@pytest.mark.parametrize(
    ("before", "name", "exists"),
    [
        ("true", "a", True),
        ("mkdir d", "d", True),
        ("ln -s a link", "link", False),
        ("ln -s /nowhere link", "link", False),
        ("mkdir d && ln -s d e", "e/none", False),
        ("mkfifo f", "f", False),
        ("true", "none", False),
        ("true", "a/below-a-file", False),
        ("touch -- -d", "-d", True),
        ("touch 'a b\n c'", "a b\n c", True),
    ],
)
def test_what_counts_as_existing(bench: Bench, before: str, name: str, exists: bool) -> None:  # noqa: FBT001
    """Files and directories exist; symlinks and special files do not count as such."""
    bench.before = before
    result = bench.judge("files", {name: {"exists": True}}, {"a": "x"})
    assert result.passed is exists


@pytest.mark.parametrize("before", ["ln -s /nowhere a", "mkdir a", "mkfifo a", "touch a"])
def test_absent_means_that_nothing_stands_there(bench: Bench, before: str) -> None:
    """Neither a dangling symlink nor a directory nor a pipe is nothing."""
    bench.before = before
    result = bench.judge("files", {"a": {"exists": False}})
    assert told(result) == (False, 0.0, "a: exists, but must not")


def test_nothing_behind_a_symlink_is_absent(bench: Bench) -> None:
    """Where a part of the path is a symlink, absence cannot be had by moving things."""
    bench.before = "mkdir d && ln -s d e"
    assert not bench.judge("files", {"e/none": {"absent": True}}).passed


def test_bytes_that_are_no_text(bench: Bench) -> None:
    """A file that is not UTF-8 exists and meets no text."""
    table: JsonValue = {"a": {"exists": True, "contains": "x"}}
    result = bench.judge("files", table, {"a": b"x\xff"})
    assert told(result) == (False, 0.5, "a: is not UTF-8 text (byte 1)")


def test_a_huge_file_exists_and_is_not_judged(bench: Bench) -> None:
    """Contents beyond 16 MB are not looked at."""
    bench.before = "head -c 17000000 /dev/zero > big"
    table: JsonValue = {"big": {"exists": True, "equals": ""}}
    result = bench.judge("files", table)
    assert told(result) == (False, 0.5, "big: is larger than 16,777,216 bytes")


def test_a_pattern_that_never_ends_has_failed(bench: Bench) -> None:
    """A text that sends a pattern into endless backtracking is a miss, and others count."""
    table: JsonValue = {
        "a": {"matches": "^y+$", "contains": "x"},
        "b": {"matches": r"^(x+x+)+$"},
        "c": {"json": {"k": 1}},
    }
    left = {"a": "yy\nx", "b": "x" * 64 + "!", "c": '{"k": 1}'}
    result = bench.judge("files", table, left, timeout_s=2)
    assert told(result) == (False, 0.75, "b: could not be judged within 2 s")


def test_json_that_is_nested_too_deep(bench: Bench) -> None:
    """Hostile JSON is a miss, in this process as in the judging one."""
    table: JsonValue = {
        "small": {"json": {"a": 1}},
        "large": {"json": {"a": 1}, "json_schema": {"type": "array"}},
    }
    result = bench.judge("files", table, {"small": "[" * 90_000, "large": "[" * 200_000})
    assert told(result) == (
        False,
        0.0,
        "small: is JSON that is nested too deep; large: is JSON that is nested too deep",
    )


def test_reasons_are_bounded_and_printable(bench: Bench) -> None:
    """A file's contents cannot flood or colour a reason."""
    left = {"a": "\x1b[31m" + "z" * 100_000}
    reason = bench.judge("files", {"a": {"equals": "b"}}, left).reason
    assert len(reason) < 300
    assert reason.isprintable()
