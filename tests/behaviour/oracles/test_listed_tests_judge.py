from __future__ import annotations

import json
from pathlib import Path

import pytest
from behaviour.oracles.bench import NOTHING, Bench, Files, tree

from pytest_agentbench.errors import OracleError
from pytest_agentbench.model.task import JsonValue, OracleSpec, Position
from pytest_agentbench.model.verdict import OracleResult
from pytest_agentbench.oracles.pytest_tests import PytestOracle

TESTS = {
    "unit/test_calc.py": """\
import os
import pytest
import calc

def test_adds():
    assert calc.add(2, 3) == 5

@pytest.mark.parametrize("x", [0, 1, 2])
def test_identity(x):
    assert calc.add(x, 0) == x

def test_broken_before_and_after():
    assert False

@pytest.mark.xfail
def test_commutes():
    assert calc.add(1, 2) == calc.add(2, 1)

def test_dies():
    os._exit(0)
""",
    "unit/test_other.py": "import module_that_nobody_has\ndef test_never(): ...\n",
}
RIGHT = {"calc.py": "def add(a, b):\n    return a + b\n"}
WRONG = {"calc.py": "def add(a, b):\n    return a - b\n"}

CALC = "unit/test_calc.py::"
ONE = [f"{CALC}test_adds"]
REST = [f"{CALC}test_identity[{x}]" for x in range(3)]


def judge(
    bench: Bench, options: dict[str, JsonValue], left: Files = NOTHING, *, solved: bool = True
) -> OracleResult:
    return bench.judge(
        "pytest",
        tree(TESTS),
        left,
        template=WRONG,
        solution=RIGHT if solved else None,
        options=options,
    )


def told(result: OracleResult) -> tuple[bool, float, str]:
    return result.passed, result.score, result.reason


@pytest.mark.parametrize("solved", [True, False], ids=["solved", "source"])
def test_listed_tests_decide_alone(bench: Bench, solved: bool) -> None:  # noqa: FBT001
    """A test that fails, dies or cannot be imported has no effect unless it is listed."""
    options: dict[str, JsonValue] = {"fail_to_pass": [*ONE], "pass_to_pass": [*REST]}
    right = judge(bench, options, RIGHT, solved=solved)
    assert told(right) == (True, 1.0, "4 of 4 tests passed")
    assert right.details["fail_to_pass"] == {"expected": 1, "passed": 1}
    assert right.details["pass_to_pass"] == {"expected": 3, "passed": 3}
    assert "3 deselected" in right.output
    wrong = judge(bench, options, solved=solved)
    assert told(wrong) == (
        False,
        0.75,
        "1 of 4 tests failed: unit/test_calc.py::test_adds (assert -1 == 5)",
    )
    assert wrong.details["fail_to_pass"] == {"expected": 1, "passed": 0}
    assert wrong.details["pass_to_pass"] == {"expected": 3, "passed": 3}


def test_what_goes_on_passing_must_go_on(local: Bench) -> None:
    """A change that fixes the one and breaks the other has not solved it."""
    left = {"calc.py": "def add(a, b):\n    return 5\n"}
    result = judge(local, {"fail_to_pass": [*ONE], "pass_to_pass": [*REST]}, left)
    assert (result.passed, result.score) == (False, 0.25)


def test_lists_as_a_row_has_them(local: Bench) -> None:
    """A JSON list in a text is a list."""
    options: dict[str, JsonValue] = {"fail_to_pass": json.dumps(ONE), "pass_to_pass": "[]"}
    assert told(judge(local, options, RIGHT)) == (True, 1.0, "1 of 1 test passed")
    assert not judge(local, options).passed


def test_a_function_stands_for_all_of_its_parameters(local: Bench) -> None:
    """Listed without parameters, each of them must pass."""
    options: dict[str, JsonValue] = {"pass_to_pass": [f"{CALC}test_identity"]}
    assert told(judge(local, options, RIGHT)) == (True, 1.0, "3 of 3 tests passed")
    left = {"calc.py": "def add(a, b):\n    return a % 2\n"}
    assert judge(local, options, left).score == pytest.approx(2 / 3)


def test_a_listed_test_that_skips_has_not_passed(local: Bench) -> None:
    """Product code that raises a skip passes nothing."""
    left = {"calc.py": "import pytest\ndef add(a, b):\n    pytest.skip('not now')\n"}
    result = judge(local, {"fail_to_pass": [*ONE]}, left)
    assert told(result) == (
        False,
        0.0,
        "1 of 1 test skipped while running: unit/test_calc.py::test_adds (not now)",
    )


def test_a_listed_test_that_is_marked_to_fail_must_pass(local: Bench) -> None:
    """Its mark keeps it from failing, and so from counting as passed."""
    options: dict[str, JsonValue] = {"fail_to_pass": [f"{CALC}test_commutes"]}
    assert judge(local, options, RIGHT).passed
    assert told(judge(local, options))[:2] == (False, 0.0)


def test_weights_of_tests(local: Bench) -> None:
    """The score is the share of weight."""
    options: dict[str, JsonValue] = {
        "fail_to_pass": [*ONE],
        "pass_to_pass": [*REST],
        "weights": {f"{CALC}test_adds": 7, "*::test_identity*": 1},
    }
    assert judge(local, options).score == pytest.approx(0.3)
    assert told(judge(local, options, RIGHT)) == (True, 1.0, "4 of 4 tests passed")


def test_weights_without_lists(local: Bench) -> None:
    """All tests are expected then, as without weights."""
    tests = {"test_a.py": "def test_a(): ...\ndef test_b(): assert open('x')\n"}
    result = local.judge("pytest", tree(tests), options={"weights": {"test_a.py::test_b": 3}})
    assert (result.passed, result.score) == (False, 0.25)


@pytest.mark.parametrize(
    ("options", "solved", "message"),
    [
        (
            {"fail_to_pass": [f"{CALC}test_ads"]},
            True,
            (
                "lists 1 test that is not there: 'unit/test_calc.py::test_ads' (did you mean "
                "'unit/test_calc.py::test_adds'?). Try: ids as pytest prints them, relative to the "
                "directory of the hidden tests"
            ),
        ),
        (
            {"pass_to_pass": [f"{CALC}test_identity[3]"]},
            True,
            (
                "lists 1 test that is not there: 'unit/test_calc.py::test_identity[3]' (did you "
                "mean 'unit/test_calc.py::test_identity[2]'?). Try: ids as pytest prints them, "
                "relative to the directory of the hidden tests"
            ),
        ),
        (
            {"fail_to_pass": [f"{CALC}test_ads"]},
            False,
            (
                "lists 1 test that is not there: 'unit/test_calc.py::test_ads' (did you mean "
                "'unit/test_calc.py::test_adds'?) (as far as the source shows). Try: the ids that "
                "pytest prints, or give the task a solution to collect them with"
            ),
        ),
        (
            {"fail_to_pass": ["unit/test_other.py::test_never"]},
            True,
            (
                "lists 1 test that is not there: 'unit/test_other.py::test_never'; what cannot be "
                "collected even with the solution applied: unit/test_other.py: "
                "ModuleNotFoundError: No module named 'module_that_nobody_has'. Try: ids as "
                "pytest prints them, relative to the directory of the hidden tests"
            ),
        ),
        (
            {"fail_to_pass": [*ONE], "weights": {"*::test_ident*": 2}},
            True,
            (
                "gives a weight to what is not there: '*::test_ident*'. Try: ids as pytest prints "
                "them, relative to the directory of the hidden tests"
            ),
        ),
    ],
)
def test_lists_of_what_is_not_there(
    local: Bench,
    options: dict[str, JsonValue],
    solved: bool,  # noqa: FBT001
    message: str,
) -> None:
    """The oracle is wrong, and is said to be before any agent works."""
    with pytest.raises(OracleError) as caught:
        judge(local, options, RIGHT, solved=solved)
    assert str(caught.value) == f"task.yaml:3: oracle 'hidden' {message}"


def test_files_that_are_not_there_are_found_first() -> None:
    """No sandbox is needed to see that an id's file is missing."""
    options: dict[str, JsonValue] = {"fail_to_pass": ["test_calc.py::test_adds"]}
    spec = OracleSpec(
        "pytest", "hidden", Position(Path("task.yaml"), 3), tree(TESTS), options=options
    )
    with pytest.raises(OracleError) as caught:
        PytestOracle().prepare(spec)
    assert str(caught.value) == (
        "task.yaml:3: oracle 'hidden' lists 1 file that is not there: 'test_calc.py' (did you "
        "mean 'unit/test_calc.py'?). Try: ids as pytest prints them, relative to the directory of "
        "the hidden tests"
    )


def test_lists_are_part_of_the_digest() -> None:
    """What an earlier rehearsal found for other lists does not count."""

    def digest(options: dict[str, JsonValue]) -> str:
        spec = OracleSpec("pytest", "p", Position(Path("t"), 1), tree(TESTS), options=options)
        return PytestOracle().prepare(spec).digest

    digests = {
        digest({}),
        digest({"fail_to_pass": [*ONE]}),
        digest({"pass_to_pass": [*ONE]}),
        digest({"weights": {"*": 2}}),
    }
    assert len(digests) == 4
