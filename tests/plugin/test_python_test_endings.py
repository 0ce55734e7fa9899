"""However a Python test ends, nothing is lost that was paid for, and everybody says the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from projects import ADD, Project, properties
from requirements import require

MARK = '@pytest.mark.agentbench(task="tasks/add.yaml")\n'
NODE = "tests/test_it.py"
BROKEN = "variants:\n  bad: {agent: command, options: {run: [/nonexistent/agent]}}\n"


def only(project: Project) -> dict[str, Any]:
    """The one record of the newest run."""
    (record,) = project.records().values()
    return record


@pytest.mark.parametrize(
    "end",
    [
        "def test_it(agentbench_verdict):\n    raise KeyboardInterrupt\n",
        "def test_it(agentbench_verdict):\n    pytest.exit('enough')\n",
        "def test_it(agentbench_verdict, late):\n    pass\n",
    ],
    ids=["ctrl-c", "exit", "ctrl-c-in-a-fixture"],
)
def test_interrupted_test_keeps_the_run(project: Project, end: str) -> None:
    """A test that is broken off after its agent has run is cancelled, with what was paid for."""
    late = "@pytest.fixture\ndef late(agentbench_run):\n    raise KeyboardInterrupt\n"
    project.write(NODE, f"import pytest\n{late}{MARK}{end}")
    result = project.run("tests")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    record = only(project)
    assert (record["outcome"], record["reason"]) == ("cancelled", "interrupted")
    assert record["message"] == "interrupted after the agent had run"
    assert record["phases"]["agent_s"] is not None
    assert record["churn"]["files_modified"] == 1
    assert record["diagnostics"] == ["the oracles said: passed"]


def test_mark_on_unittest_is_refused(project: Project, workers: tuple[str, ...]) -> None:
    """On ``unittest.TestCase`` the mark would do nothing: that is an error, not silence."""
    project.write(
        NODE,
        "import unittest\nimport pytest\n"
        "class TestOld(unittest.TestCase):\n"
        "    def test_plain(self):\n        pass\n"
        f"    {MARK}    def test_marked(self):\n        pass\n"
        "class TestOther(unittest.TestCase):\n    def test_fine(self):\n        pass\n",
    )
    result = project.run("tests", *workers)
    assert result.ret != 0
    what = "the mark 'agentbench' has no effect on unittest.TestCase, which pytest does not"
    result.stdout.fnmatch_lines([f"{NODE}::TestOld::test_marked: {what} parametrize. Try: *"])
    assert "TestOther" not in result.stdout.str()


def test_run_in_no_plan_is_refused(project: Project, workers: tuple[str, ...]) -> None:
    """An agent that only ``getfixturevalue`` asks for would be paid for and never counted."""
    project.write(
        NODE,
        "import pytest\n"
        "@pytest.fixture\n"
        "def verdict(request):\n    return request.getfixturevalue('agentbench_verdict')\n"
        f"{MARK}def test_in_body(agentbench_trial, request):\n"
        "    request.getfixturevalue('agentbench_run')\n"
        f"{MARK}def test_in_fixture(agentbench_sandbox, verdict):\n    pass\n"
        f"{MARK}def test_planned(agentbench_run, verdict):\n    assert verdict.passed\n",
    )
    result = project.run("tests", *workers)
    result.assert_outcomes(failed=1, errors=1, passed=1)
    refusal = "asks for an agent's run by request.getfixturevalue alone, so it is in no plan"
    for name in ("test_in_body", "test_in_fixture"):
        result.stdout.fnmatch_lines([f"*TrialError: {NODE}::{name}?reference-r1?: {refusal}. Try*"])
    assert set(project.records()) == {f"{NODE}::test_planned[reference-r1]"}


def test_time_of_a_step_in_the_body_counts_once(project: Project) -> None:
    """A verdict that the body asks for is a part of the call's time: it is not added again."""
    project.write("tasks/add.yaml", ADD.replace("oracles:\n", "oracles:\n  - run: sleep 1\n"))
    project.write(
        "conftest.py",
        "def pytest_runtest_logreport(report):\n"
        "    if report.when == 'call':\n"
        "        print('TOOK', report.duration, *dict(report.user_properties)['body'])\n",
    )
    project.write(
        NODE,
        "import time\nimport pytest\n"
        f"{MARK}def test_it(agentbench_run, request):\n"
        "    began = time.perf_counter()\n"
        "    assert request.getfixturevalue('agentbench_verdict').passed\n"
        "    took = time.perf_counter() - began\n"
        "    request.node.user_properties.append(('body', (took,)))\n",
    )
    result = project.run("tests", "-s")
    result.assert_outcomes(passed=1)
    (line,) = [one for one in result.outlines if "TOOK" in one]
    reported, body = map(float, line.partition("TOOK")[2].split()[:2])
    scoring = only(project)["phases"]["scoring_s"]
    assert scoring >= 1
    assert 0 <= reported - body < scoring


SWALLOWING = """\
import pytest
from pytest_agentbench import TrialError, Verdict

@pytest.fixture
def agentbench_verdict(request):
    try:
        return request.getfixturevalue("agentbench_verdict")
    except TrialError:
        return Verdict(passed=True, score=1.0, reason="", results=())
"""


def test_error_that_was_caught_stays_one(project: Project, workers: tuple[str, ...]) -> None:
    """An override that swallows a trial's error has nothing to judge: pytest and records agree."""
    project.write("conftest.py", SWALLOWING)
    project.write("agentbench.yaml", BROKEN)
    result = project.run("tasks", "--junitxml=junit.xml", *workers)
    assert result.ret == 1
    result.assert_outcomes(errors=2)
    for name, record in project.records().items():
        assert (record["outcome"], record["reason"]) == ("error", "agent_launch")
        case = project.junit()[name]
        assert case.find("error") is not None
        assert properties(case)["agentbench.outcome"] == "error"


def test_error_that_the_body_caught_stays_one(project: Project) -> None:
    """A body that goes on after an error of its trial does not pass: nothing was measured."""
    broken = "oracles:\n  - run: [/nonexistent/judge]\n"
    project.write("tasks/add.yaml", ADD.replace("oracles:\n", broken))
    project.write(
        NODE,
        "import pytest\nfrom pytest_agentbench import TrialError\n"
        f"{MARK}def test_it(agentbench_run, request):\n"
        "    with pytest.raises(TrialError):\n"
        "        request.getfixturevalue('agentbench_verdict')\n",
    )
    result = project.run("tests")
    result.assert_outcomes(failed=1)
    assert (only(project)["outcome"], only(project)["reason"]) == ("error", "oracle_error")


def test_files_that_cannot_be_collected_are_told(
    project: Project, workers: tuple[str, ...]
) -> None:
    """A module that cannot be imported may have held trials: the run is called partial."""
    project.write("tests/test_0.py", "import nowhere_to_be_found\n")
    project.write(NODE, f"import pytest\n{MARK}def test_it(agentbench_run):\n    pass\n")
    result = project.run("--continue-on-collection-errors", *workers)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["partial: 1 file could not be collected; *"])
    assert len(project.records()) == 3


def test_python_files_that_lf_passes_over_are_told(
    project: Project, workers: tuple[str, ...]
) -> None:
    """``--lf`` does not look into files without failures: those of Python tests count as well."""
    body = f"import pytest\n{MARK}def test_it(agentbench_run):\n    assert "
    project.write("elsewhere/add.yaml", ADD)
    project.write("tests/test_0.py", body.replace("tasks/", "elsewhere/") + "True\n")
    project.write(NODE, body.replace("tasks/", "elsewhere/") + "False\n")
    for path in (project.pytester.path / "tasks").iterdir():
        path.unlink()
    result = project.pytester.runpytest_subprocess("--lf", *workers)
    result.assert_outcomes(passed=1, failed=1)
    assert "partial:" not in result.stdout.str()
    result = project.pytester.runpytest_subprocess("--lf", *workers)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["partial: 1 file left out by --lf; *"])


def test_time_out_of_a_body_is_no_failure(project: Project, workers: tuple[str, ...]) -> None:
    """pytest-timeout ends a body that hangs: nobody knows whether the agent was wrong."""
    require("pytest-timeout")
    project.write(
        NODE,
        "import time\nimport pytest\n"
        f"{MARK}def test_it(agentbench_run):\n    time.sleep(60)\n"
        f"{MARK}def test_says(agentbench_run):\n    pytest.fail('no Timeout >1.0s here')\n",
    )
    result = project.run("tests", "--timeout=4", "--timeout-method=signal", *workers)
    result.assert_outcomes(failed=2)
    found = project.records()
    late = found[f"{NODE}::test_it[reference-r1]"]
    assert (late["outcome"], late["reason"]) == ("error", "aborted")
    assert late["phases"]["agent_s"] is not None
    assert found[f"{NODE}::test_says[reference-r1]"]["reason"] == "assertion"


def test_async_body_that_nobody_runs_is_no_failure(project: Project) -> None:
    """Without a plugin for it pytest runs no async test: the agent was not judged."""
    project.write(NODE, f"import pytest\n{MARK}async def test_it(agentbench_run):\n    pass\n")
    result = project.run("tests", "-p", "no:anyio", "-p", "no:asyncio")
    record = only(project)
    # Before 8.4 pytest skipped such tests.
    skips = int(pytest.__version__.split(".")[0]) == 8 and "skipped" in result.parseoutcomes()
    expected = ("skipped", "skip") if skips else ("error", "setup")
    assert (record["outcome"], record["reason"]) == expected
    assert record["phases"]["agent_s"] is not None


GROUPS = """\
import asyncio
import pytest

pytestmark = [pytest.mark.asyncio, pytest.mark.agentbench(task="tasks/add.yaml")]

async def wrong():
    assert False, "wrong"

async def test_closed(agentbench_sandbox, agentbench_run):
    async with asyncio.TaskGroup() as group:
        group.create_task(agentbench_sandbox.arun(["ls"]))
        group.create_task(agentbench_sandbox.arun(["ls"]))

async def test_mixed(agentbench_sandbox, agentbench_run):
    async with asyncio.TaskGroup() as group:
        group.create_task(agentbench_sandbox.arun(["ls"]))
        group.create_task(wrong())
"""


def test_error_in_a_group_is_the_same_error(project: Project) -> None:
    """What tasks of an async test raise is judged like what a body raises by itself."""
    require("pytest-asyncio")
    project.write(NODE, GROUPS)
    loop = "asyncio_default_fixture_loop_scope=function"
    project.run("tests", "-p", "asyncio", "-o", loop).assert_outcomes(failed=2)
    found = project.records()
    closed = found[f"{NODE}::test_closed[reference-r1]"]
    assert (closed["outcome"], closed["reason"]) == ("error", "setup")
    assert closed["message"] == "the agent has run, and its sandbox is gone"
    mixed = found[f"{NODE}::test_mixed[reference-r1]"]
    assert (mixed["outcome"], mixed["reason"]) == ("failed", "assertion")


DATABASE = """\
import pytest

@pytest.fixture(scope="session", params=["postgres", "sqlite"])
def database(request):
    return {"DATABASE": request.param}
"""
NEEDS_DATABASE = """\
import pytest

pytestmark = pytest.mark.agentbench(task="tasks/add.yaml")

def test_runs(agentbench_run):
    pass

def test_looks(agentbench_sandbox):
    assert agentbench_sandbox.run(["sh", "-c", "echo $DATABASE"]).stdout.text().strip()

def test_reads(agentbench_trial):
    pass

@pytest.mark.parametrize("database", ["mysql"], indirect=True)
def test_one(agentbench_run, database):
    assert database == {"DATABASE": "mysql"}
"""


def test_parameters_of_a_fixture_multiply_python_tests(
    project: Project, workers: tuple[str, ...]
) -> None:
    """A task's fixture with ``params`` multiplies Python tests of the task like its own test."""
    project.write("tasks/add.yaml", ADD + "fixtures: [database]\n")
    project.write("conftest.py", DATABASE)
    project.write(NODE, NEEDS_DATABASE)
    project.run(*workers).assert_outcomes(passed=9)
    assert set(project.records()) == {
        "add[reference-r1-postgres]",
        "add[reference-r1-sqlite]",
        "greet[reference-r1]",
        f"{NODE}::test_runs[reference-r1-postgres]",
        f"{NODE}::test_runs[reference-r1-sqlite]",
        f"{NODE}::test_one[reference-r1-mysql]",
    }


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ('"x" * 200_000', "'PLACE' is longer than 131,065 bytes"),
        (r'"\ud800"', "'PLACE' holds half a character (a lone surrogate)"),
    ],
    ids=["huge", "half"],
)
def test_value_that_no_process_takes_is_told(project: Project, value: str, fault: str) -> None:
    """A fixture's value that no environment can hold is the fixture's error, not the agent's."""
    project.write("tasks/add.yaml", ADD + "fixtures: {place: PLACE}\n")
    project.write(
        "conftest.py", f"import pytest\n@pytest.fixture\ndef place():\n    return {value}\n"
    )
    project.run("tasks").assert_outcomes(errors=1, passed=1)
    record = project.records()["add[reference-r1]"]
    assert (record["outcome"], record["reason"]) == ("error", "setup")
    assert record["message"] == f"fixture place: the variable {fault}"


SECRET = "correct-horse-battery"
SHOWS = """\
import pytest

@pytest.mark.agentbench(task="tasks/add.yaml")
def test_shows(agentbench_run, place):
    print("printed", place)
    assert place == "other", f"said {place}"

@pytest.mark.agentbench(task="tasks/add.yaml")
def test_looks(agentbench_sandbox):
    told = agentbench_sandbox.run(["sh", "-c", "echo $PLACE"])
    assert told.stdout.text() == "other"
"""


def test_secrets_stay_out_of_tracebacks(project: Project, workers: tuple[str, ...]) -> None:
    """A failing Python test shows its own traceback without the secrets of its trial."""
    project.write("tasks/add.yaml", ADD + "fixtures: {place: PLACE}\n")
    project.write(
        "conftest.py",
        "import pytest\n@pytest.fixture\n"
        f"def place():\n    return {SECRET[:10]!r} + {SECRET[10:]!r}\n",
    )
    project.write(NODE, SHOWS)
    result = project.run("tests", "-l", "-vv", "-rA", "--junitxml=junit.xml", *workers)
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["E  *AssertionError: said ?redacted?", "printed ?redacted?"])
    written: Path = project.pytester.path / "junit.xml"
    assert SECRET not in result.stdout.str()
    assert SECRET not in written.read_text()
    assert written.read_text().count("[redacted]") > 2
