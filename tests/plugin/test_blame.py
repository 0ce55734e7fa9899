"""Whose fault it is: an agent cannot turn a wrong answer into trouble of ours."""

from __future__ import annotations

import pytest

from projects import Project
from requirements import require


def _command(project: Project, shell: str) -> None:
    """Make ``shell`` the only agent."""
    project.write(
        "agentbench.yaml",
        f"variants:\n  v:\n    agent: command\n    options:\n      run: |\n        {shell}\n",
    )


@pytest.fixture(params=["local", "bubblewrap"])
def walls(request: pytest.FixtureRequest) -> str:
    """Arguments that choose the sandbox."""
    if request.param == "bubblewrap":
        require("bubblewrap")
    return f"--agentbench-sandbox={request.param}"


def test_more_than_can_be_carried_is_a_limit(project: Project, walls: str) -> None:
    """A giant file, holes and all, is the agent's failure and not a full disk of ours."""
    _command(
        project, "truncate -s 3G big; truncate -s 400G bigger; printf 'hello\\n' > greeting.txt"
    )
    result = project.run(walls)
    result.assert_outcomes(failed=2)
    records = project.records()
    assert {row["reason"] for row in records.values()} == {"limit"}
    result.stdout.fnmatch_lines(["*bytes of changes; more than 1,073,741,824 are not scored*"])


def test_a_library_that_breaks_the_oracle_is_the_agents_failure(
    project: Project, walls: str, workers: tuple[str, ...]
) -> None:
    """An oracle that starts on the template, and not on what the agent left, has failed."""
    for name in ("add", "greet"):
        path = project.pytester.path / f"tasks/{name}.yaml"
        path.write_text(path.read_text() + "sandbox: {env: {LD_LIBRARY_PATH: lib}}\n")
    project.write(
        "agentbench.yaml",
        "variants:\n  reference: {agent: reference}\n"
        "  v: {agent: command, options: {run: 'mkdir lib; echo junk > lib/libc.so.6'}}\n",
    )
    project.run(walls, *workers).assert_outcomes(passed=2, failed=2)
    record = project.records()["add[v-r1]"]
    assert (record["outcome"], record["reason"]) == ("failed", "oracle")
    assert "on what the agent left" in record["message"]


def test_an_oracle_that_cannot_start_anywhere_is_an_error(project: Project, walls: str) -> None:
    """Negative control: what fails without the agent's changes too is trouble of ours."""
    project.write(
        "tasks/broken.yaml",
        "prompt: Anything.\noracles: [{run: [/no/such/tool]}]\n",
    )
    _command(project, "touch something")
    project.run(walls, "tasks/broken.yaml").assert_outcomes(errors=1)
    assert project.records()["broken[v-r1]"]["reason"] == "oracle_error"


@pytest.mark.parametrize(
    "shell",
    [
        "rm -rf tests",
        "echo planted > tests/conftest.py",
        "rm -rf tests; mkdir t2; echo planted > t2/conftest.py; ln -s t2 tests",
        "rm -rf tests; echo planted > tests",
        "rm tests/conftest.py; mkdir tests/conftest.py",
    ],
)
def test_test_configuration_is_restored_before_scoring(project: Project, shell: str) -> None:
    """Whatever the agent did to the template's conftest.py, scoring sees the template's."""
    project.write(
        "tasks/kept.yaml",
        "prompt: Anything.\n"
        "workspace: {files: {tests/conftest.py: original, tests/test_a.py: ''}}\n"
        "oracles: [{run: 'test \"$(cat tests/conftest.py)\" = original'}]\n",
    )
    _command(project, shell)
    project.run("tasks/kept.yaml").assert_outcomes(passed=1)
    record = project.records()["kept[v-r1]"]
    assert record["diagnostics"] == ["restored before scoring: tests/conftest.py"]


def test_test_configuration_that_an_agent_adds_stays(project: Project) -> None:
    """Adding tests with a conftest.py of their own is honest work."""
    project.write(
        "tasks/added.yaml",
        "prompt: Anything.\noracles: [{run: 'test -e tests/conftest.py'}]\n",
    )
    _command(project, "mkdir tests; touch tests/conftest.py")
    project.run("tasks/added.yaml").assert_outcomes(passed=1)
    assert project.records()["added[v-r1]"]["diagnostics"] == []


def test_walls_that_one_variant_cannot_have_are_its_own_trouble(project: Project) -> None:
    """A variant with an interpreter that is not there errs, and the next one runs."""
    project.write(
        "agentbench.yaml",
        "variants:\n"
        "  broken: {agent: reference, sandbox: {python: /no/such/python}}\n"
        "  sound: {agent: reference}\n",
    )
    project.run().assert_outcomes(passed=2, errors=2)
    outcomes = {key: row["outcome"] for key, row in project.records().items()}
    assert outcomes == {
        "add[broken-r1]": "error",
        "add[sound-r1]": "passed",
        "greet[broken-r1]": "error",
        "greet[sound-r1]": "passed",
    }
