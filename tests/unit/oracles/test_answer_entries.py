from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from pytest_agentbench.model.task import JsonValue, OracleSpec, Position
from pytest_agentbench.oracles.answer import AnswerOracle
from pytest_agentbench.oracles.answer_spec import answer_spec


def spec(table: JsonValue, options: dict[str, JsonValue] | None = None) -> OracleSpec:
    return OracleSpec("answer", "a", Position(Path("t.yaml"), 1), table, options=options or {})


@pytest.mark.parametrize(
    "table",
    [
        {"equals": "Paris"},
        {"equals": "Paris", "ignore_case": True, "strip": False, "file": "out/answer.txt"},
        {"one_of": ["Paris", "paris"], "after": "Answer:"},
        {"one_of": '["Paris", "Rome"]'},
        {"regex": r"^\d+$"},
        {"number": 42},
        {"number": -0.5, "tolerance": 1e-6, "relative_tolerance": 0.01},
        {"number": "1,000"},
        {"number": "He has 2 and 3.\n#### 5"},
        {"choice": "b"},
    ],
)
def test_good_entries(table: JsonValue) -> None:
    """One kind of answer, and where it stands."""
    assert AnswerOracle().validate(spec(table)) == []


KINDS = "equals, one_of, regex, number, choice"


@pytest.mark.parametrize(
    ("table", "at", "message"),
    [
        ("Paris", (), f"must be a mapping with one of {KINDS}"),
        ({}, (), f"needs one of: {KINDS}"),
        ({"file": "x"}, (), f"needs one of: {KINDS}"),
        (
            {"equals": "a", "number": 1},
            ("number",),
            f"takes one of {KINDS}, not 'equals' and 'number'",
        ),
        ({"equal": "a"}, ("equal",), "unknown key 'equal'; did you mean 'equals'?"),
        ({"equals": 42}, ("equals",), "must be a text; put quotes around it"),
        ({"equals": " "}, ("equals",), "must not be blank"),
        ({"one_of": []}, ("one_of",), "must be a list of texts"),
        ({"one_of": "Paris"}, ("one_of",), "must be a list of texts"),
        ({"one_of": ["a", 1]}, ("one_of", 1), "must be a text; put quotes around it"),
        ({"one_of": '["a", 1]'}, ("one_of",), "item 2 must be a text; put quotes around it"),
        ({"regex": ""}, ("regex",), "must be a regular expression"),
        (
            {"regex": "("},
            ("regex",),
            "is no regular expression: missing ), unterminated subpattern at position 0",
        ),
        (
            {"number": "many"},
            ("number",),
            "must be a number, or a text that is one or ends in '#### NUMBER'",
        ),
        (
            {"number": True},
            ("number",),
            "must be a number, or a text that is one or ends in '#### NUMBER'",
        ),
        (
            {"number": float("nan")},
            ("number",),
            "must be a number, or a text that is one or ends in '#### NUMBER'",
        ),
        ({"number": 1, "tolerance": -1}, ("tolerance",), "must be a number, 0 or more"),
        ({"number": 1, "tolerance": float("inf")}, ("tolerance",), "must be a number, 0 or more"),
        (
            {"equals": "a", "tolerance": 1},
            ("tolerance",),
            "'tolerance' goes with 'number', not with 'equals'",
        ),
        (
            {"regex": "a", "ignore_case": True},
            ("ignore_case",),
            "'ignore_case' goes with 'equals' or 'one_of', not with 'regex'",
        ),
        ({"equals": "a", "strip": "no"}, ("strip",), "must be true or false"),
        ({"choice": "AB"}, ("choice",), "must be one letter"),
        ({"choice": 1}, ("choice",), "must be one letter"),
        ({"choice": "A", "file": "../x"}, ("file",), "'../x' must not hold '..'"),
        (
            {"choice": "A", "file": "/x"},
            ("file",),
            "'/x' is absolute; it is relative to the workspace",
        ),
        (
            {"choice": "A", "after": " "},
            ("after",),
            "must be a text on one line that is not blank",
        ),
        (
            {"choice": "A", "after": "a\nb"},
            ("after",),
            "must be a text on one line that is not blank",
        ),
    ],
)
def test_bad_entries(table: JsonValue, at: tuple[str | int, ...], message: str) -> None:
    """Each fault is told with its place."""
    assert AnswerOracle().validate(spec(table)) == [(("answer", *at), message)]


def test_options_stand_in_the_mapping() -> None:
    """Beside 'answer' there is nothing of its own."""
    found = AnswerOracle().validate(spec({"number": 1}, {"tolerance": 1}))
    assert found == [(("tolerance",), "unknown key 'tolerance'")]


def test_numbers_are_what_is_written() -> None:
    """A tenth is a tenth, and a long number keeps its digits."""
    assert answer_spec({"number": 0.1}).number == Fraction(1, 10)
    assert answer_spec({"number": 10**30 + 1}).number == 10**30 + 1
    assert answer_spec({"number": "2 + 3 = 5\n#### 1,005"}).number == 1005


def test_digests_tell_answers_apart() -> None:
    """A digest covers the whole mapping."""
    oracle = AnswerOracle()
    tables: list[JsonValue] = [{"number": 1}, {"number": 2}, {"number": 1, "tolerance": 1}]
    assert len({oracle.prepare(spec(table)).digest for table in tables}) == 3
