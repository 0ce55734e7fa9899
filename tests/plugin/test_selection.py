"""Tasks that are not run, that are expected to fail, and that share a resource."""

from __future__ import annotations

import json
from typing import Any

import pytest

from projects import Project, properties

TOUCH = """\
prompt: Make out.txt.
oracles: [{files: {out.txt: {exists: true}}}]
solution: {files: {out.txt: "made\\n"}}
"""
WITNESS = """\
import os, sys

def pytest_sessionfinish():
    started = "pytest_agentbench.wiring" in sys.modules
    with open("witness.txt", "a") as witness:
        witness.write("started\\n" if started else "idle\\n")
"""
GOOD = '[{write: {path: out.txt, text: "made\\n"}}]'
TWO_VARIANTS = f"""\
variants:
  able: {{agent: scripted, options: {{steps: {GOOD}}}}}
  lazy: {{agent: scripted, options: {{steps: [{{print: no}}]}}}}
"""
MISSING = "AGENTBENCH_TEST_NO_SUCH_VARIABLE"


def planned(project: Project) -> dict[str, dict[str, Any]]:
    """The newest run's plan by trial key."""
    plan = json.loads((project.latest / "plan.json").read_text())
    return {line["key"]: line for line in plan["trials"]}


def started(project: Project) -> bool:
    """Whether any process of the session has built an engine."""
    return "started" in (project.pytester.path / "witness.txt").read_text().splitlines()


@pytest.fixture
def empty(pytester: pytest.Pytester) -> Project:
    """A project without tasks."""
    made = Project(pytester)
    made.write("pytest.ini", "[pytest]\nagentbench_sandbox = local\n")
    return made


CONDITIONS = {
    "always": ("skip: broken since May", "skip", "broken since May"),
    "windows": (
        "skip: {unless: {platform: [win32, cygwin]}}",
        "platform",
        "runs on win32 or cygwin, and this is linux",
    ),
    "arch": ("skip: {unless: {arch: vax}}", "platform", "runs on vax, and this is *"),
    "tool": (
        "skip: {reason: needs the tool, unless: {command: [sh, no-such-tool]}}",
        "capability",
        "needs the tool (no command 'no-such-tool' where a sandbox looks for it)",
    ),
    "key": (f"skip: {{unless: {{env: {MISSING}}}}}", "credentials", f"{MISSING} is not set"),
}


def test_skipped_tasks(project: Project, workers: tuple[str, ...]) -> None:
    """Each is planned with its reason, counts as skipped, and leaves the others alone."""
    project.write("conftest.py", WITNESS)
    for name, (line, _, _) in CONDITIONS.items():
        project.write(f"tasks/{name}.yaml", f"{TOUCH}{line}\n")
    result = project.run("--junitxml=junit.xml", "-rs", *workers)
    result.assert_outcomes(passed=2, skipped=len(CONDITIONS))
    assert result.ret == 0
    records, plan, cases = project.records(), planned(project), project.junit()
    for name, (_, reason, message) in CONDITIONS.items():
        key = f"{name}[reference-r1]"
        record = records[key]
        assert (record["outcome"], record["reason"]) == ("skipped", reason)
        skipped = cases[key].find("skipped")
        assert skipped is not None
        for told in (record["message"], skipped.get("message"), plan[key]["excluded"]):
            assert message.removesuffix("*") in str(told)
        assert plan[key]["deselected"] is None
        assert properties(cases[key])["agentbench.outcome"] == "skipped"
    assert plan["add[reference-r1]"]["excluded"] is None
    result.stdout.fnmatch_lines(["*7 planned: 2 passed, 0 failed, 0 error, 5 skipped, 0 cancelled"])
    assert started(project)


def test_nothing_is_started_for_skipped_tasks(empty: Project, workers: tuple[str, ...]) -> None:
    """Where every trial is excluded, no engine is built: no sandbox, no oracle is read."""
    empty.write("conftest.py", WITNESS)
    empty.write("tasks/a.yaml", f"{TOUCH}skip: broken\n")
    empty.write("tasks/b.yaml", f"{TOUCH}skip: {{unless: {{env: {MISSING}}}}}\n")
    result = empty.run(*workers)
    result.assert_outcomes(skipped=2)
    assert not started(empty)
    assert {row["outcome"] for row in empty.records().values()} == {"skipped"}


def test_skipped_tasks_can_be_run_all_the_same(project: Project, workers: tuple[str, ...]) -> None:
    """``--agentbench-include-skipped`` runs what tasks exclude; no plan excludes anything then."""
    for name, (line, _, _) in CONDITIONS.items():
        project.write(f"tasks/{name}.yaml", f"{TOUCH}{line}\n")
    result = project.run("--agentbench-include-skipped", *workers)
    result.assert_outcomes(passed=7)
    assert {line["excluded"] for line in planned(project).values()} == {None}


def test_conditions_that_hold(
    empty: Project, workers: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A task whose conditions all hold runs; the value of a variable is told nowhere."""
    monkeypatch.setenv("AGENTBENCH_TEST_TOKEN", "tell-nobody")
    conditions = "platform: [darwin, linux], command: [sh, python], env: AGENTBENCH_TEST_TOKEN"
    empty.write("tasks/a.yaml", f"{TOUCH}skip: {{unless: {{{conditions}}}}}\n")
    empty.write("tasks/b.yaml", TOUCH)
    result = empty.run("-v", *workers)
    result.assert_outcomes(passed=2)
    monkeypatch.delenv("AGENTBENCH_TEST_TOKEN")
    empty.run("-v", *workers).assert_outcomes(passed=1, skipped=1)
    assert "tell-nobody" not in result.stdout.str()


def test_a_command_that_only_the_user_has(
    empty: Project, monkeypatch: pytest.MonkeyPatch, workers: tuple[str, ...]
) -> None:
    """A command of the user's own PATH is not there: no sandbox looks in such places."""
    tool = empty.write("bin/own-tool", "#!/bin/sh\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tool.parent), prepend=":")
    empty.write("tasks/a.yaml", f"{TOUCH}skip: {{unless: {{command: own-tool}}}}\n")
    empty.write("tasks/b.yaml", f"{TOUCH}skip: {{unless: {{command: {tool}}}}}\n")
    empty.run(*workers).assert_outcomes(passed=1, skipped=1)
    assert empty.records()["a[reference-r1]"]["reason"] == "capability"


def test_conditions_that_are_surely_wrong(empty: Project) -> None:
    """A platform that Python calls otherwise would skip the task everywhere: an error."""
    empty.write("tasks/a.yaml", f"{TOUCH}skip: {{unless: {{platform: macOS}}}}\n")
    result = empty.run()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        ["*: platform 'macOS' is no value of sys.platform; did you mean 'darwin'?"]
    )


def test_expected_to_fail_with_some_variants(empty: Project, workers: tuple[str, ...]) -> None:
    """Only trials of the named variants may fail; what was measured stays in the record."""
    empty.write("agentbench.yaml", TWO_VARIANTS)
    empty.write("tasks/a.yaml", f"{TOUCH}xfail: {{reason: too hard, variants: [la*]}}\n")
    empty.write("tasks/b.yaml", TOUCH)
    result = empty.run("--junitxml=junit.xml", "-rx", *workers)
    result.assert_outcomes(passed=2, xfailed=1, failed=1)
    assert result.ret == 1
    outcomes = {key: row["outcome"] for key, row in empty.records().items()}
    assert outcomes == {
        "a[able-r1]": "passed",
        "a[lazy-r1]": "failed",
        "b[able-r1]": "passed",
        "b[lazy-r1]": "failed",
    }
    result.stdout.fnmatch_lines(["XFAIL tasks/a.yaml::a?lazy-r1? - too hard*"])
    cases = empty.junit()
    expected = cases["a[lazy-r1]"].find("skipped")
    assert expected is not None
    assert expected.get("type") == "pytest.xfail"
    assert cases["b[lazy-r1]"].find("failure") is not None


@pytest.mark.parametrize(
    ("strict", "ini", "outcomes", "status"),
    [
        ("", "", {"xpassed": 1, "xfailed": 1}, 0),
        (", strict: true", "", {"failed": 1, "xfailed": 1}, 1),
        ("", "xfail_strict = true\n", {"failed": 1, "xfailed": 1}, 1),
        (", strict: false", "xfail_strict = true\n", {"xpassed": 1, "xfailed": 1}, 0),
    ],
)
def test_passing_though_expected_to_fail(
    empty: Project,
    workers: tuple[str, ...],
    strict: str,
    ini: str,
    outcomes: dict[str, int],
    status: int,
) -> None:
    """A strict xfail fails when it passes; unsaid, pytest's own setting decides."""
    empty.write("pytest.ini", f"[pytest]\nagentbench_sandbox = local\n{ini}")
    empty.write("agentbench.yaml", TWO_VARIANTS)
    empty.write("tasks/a.yaml", f"{TOUCH}xfail: {{reason: too hard{strict}}}\n")
    result = empty.run(*workers)
    result.assert_outcomes(**outcomes)
    assert result.ret == status
    measured = {key: row["outcome"] for key, row in empty.records().items()}
    assert measured == {"a[able-r1]": "passed", "a[lazy-r1]": "failed"}


def test_trouble_is_no_expected_failure(empty: Project, workers: tuple[str, ...]) -> None:
    """A trial that could not be measured is an error, whatever the task expects of it."""
    empty.write(
        "agentbench.yaml",
        "variants: {ghost: {agent: command, options: {run: [no-such-program]}}}\n",
    )
    empty.write("tasks/a.yaml", f"{TOUCH}xfail: too hard\n")
    empty.write("tasks/b.yaml", TOUCH)
    result = empty.run(*workers)
    result.assert_outcomes(errors=2)
    assert result.ret == 1
    assert {row["outcome"] for row in empty.records().values()} == {"error"}


def test_skipped_and_expected_to_fail(empty: Project) -> None:
    """Skipped comes first: what is not run can neither fail nor pass."""
    empty.write("tasks/a.yaml", f"{TOUCH}skip: broken\nxfail: {{reason: hard, strict: true}}\n")
    empty.write("tasks/b.yaml", TOUCH)
    empty.run().assert_outcomes(passed=1, skipped=1)


def log_of_times(project: Project) -> tuple[str, str]:
    """An experiment whose agent notes when it starts and ends, and a task that it solves."""
    log = project.pytester.path / "log.txt"
    run = f"date +start:%s.%N >>{log}; touch out.txt; sleep 1; date +end:%s.%N >>{log}"
    experiment = f"variants: {{slow: {{agent: command, options: {{run: '{run}'}}}}}}\n"
    return experiment, TOUCH


def moments(project: Project) -> list[tuple[str, float]]:
    """What agents noted, in order."""
    lines = (project.pytester.path / "log.txt").read_text().split()
    return [(what, float(when)) for what, _, when in (line.partition(":") for line in lines)]


def test_a_slot_runs_one_at_a_time(empty: Project) -> None:
    """Two workers, one slot: the second agent starts after the first, and is not slower for it."""
    experiment, task = log_of_times(empty)
    empty.write("agentbench.yaml", experiment)
    for name in ("a", "b"):
        empty.write(f"tasks/{name}.yaml", f"{task}slots: {{agentbench-test-one: 1}}\n")
    empty.run("-n", "2").assert_outcomes(passed=2)
    noted = moments(empty)
    assert [what for what, _ in noted] == ["start", "end", "start", "end"]
    both_s = noted[-1][1] - noted[0][1]
    for row in empty.records().values():
        assert 0.9 < row["phases"]["agent_s"] < both_s, "the wait for the other is not in it"


def test_without_a_slot_they_overlap(empty: Project) -> None:
    """Negative control: the same two, and also with a slot for each, run at the same time."""
    experiment, task = log_of_times(empty)
    empty.write("agentbench.yaml", f"{experiment}slots: {{agentbench-test-two: 2}}\n")
    for name in ("a", "b"):
        empty.write(f"tasks/{name}.yaml", f"{task}slots: {{agentbench-test-two: 1}}\n")
    empty.run("-n", "2").assert_outcomes(passed=2)
    assert [what for what, _ in moments(empty)] == ["start", "start", "end", "end"]


def test_more_slots_than_there_are(empty: Project, workers: tuple[str, ...]) -> None:
    """A task that asks for more than exists is an error that says what to write."""
    empty.write("tasks/a.yaml", f"{TOUCH}slots: {{gpu: 2}}\n")
    empty.write("tasks/b.yaml", TOUCH)
    result = empty.run(*workers)
    result.assert_outcomes(passed=1, errors=1)
    record = empty.records()["a[reference-r1]"]
    assert (record["outcome"], record["reason"]) == ("error", "setup")
    assert record["message"] == (
        "needs 2 of slot 'gpu', there is 1. Try: slots: {gpu: 2} in the experiment file"
    )
