"""Suites, exclusions and expectations in real sessions: what is planned, counted and told."""

from __future__ import annotations

import json
from typing import Any

import pytest

from projects import GREET, Project, properties

RIGHT_ADD = "[{write: {path: calc.py, text: 'def add(a, b): return a + b'}}]"
WRONG_ADD = "[{write: {path: calc.py, text: 'def add(a, b): return 5'}}]"
RIGHT_GREET = '[{write: {path: greeting.txt, text: "hello\\n"}}]'

SUITES = """\
variants:
  good: {agent: reference}
  idle: {agent: noop}
baseline: good
suites:
  smoke: {select: {marks: smoke}}
  sums:
    select: {paths: ["tasks/a*.yaml"], ids: ["add*"]}
    gate: {min_pass_rate: 0.9}
"""

ROWS = """\
dataset: {path: rows.jsonl, id: n}
id: row-{{ row.n }}
prompt: Write {{ row.n }} to out.txt.
oracles: [{files: {out.txt: {equals: '{{ row.n }}'}}}]
solution: {files: {out.txt: '{{ row.n }}'}}
"""


def _plan(project: Project) -> dict[str, Any]:
    plan: dict[str, Any] = json.loads((project.latest / "plan.json").read_text())
    return plan


def _manifest(project: Project) -> dict[str, Any]:
    manifest: dict[str, Any] = json.loads((project.latest / "manifest.json").read_text())
    return manifest


@pytest.fixture
def suites(project: Project) -> Project:
    """Two tasks and a dataset of two rows; two suites of the experiment, and the dataset's."""
    project.write("agentbench.yaml", SUITES)
    project.write("tasks/rows.yaml", ROWS)
    project.write("tasks/rows.jsonl", '{"n": 1}\n{"n": 2}\n')
    return project


def test_suites_are_planned_counted_and_told(suites: Project, workers: tuple[str, ...]) -> None:
    """Header, plan, table, manifest and report know the same suites, also under xdist."""
    result = suites.run("--agentbench-label=nightly", *workers)
    result.assert_outcomes(passed=4, failed=4)
    result.stdout.fnmatch_lines(
        [
            "agentbench: 8 trials of good, idle (*agentbench.yaml*); sandbox: local (unisolated)",
            "agentbench: label: nightly; baseline: good",
            "agentbench: suites: smoke (2 tasks), sums (1 task), rows (2 tasks)",
            "agentbench: gates have no effect yet: sums",
            "=* agentbench: nightly =*",
            "suite  variant  passed  of scored  95 % interval",
            "smoke  good     2 of 2    100.0 %   34.2-100.0 %",
            "smoke  idle     0 of 2      0.0 %     0.0-65.8 %",
            "sums   good     1 of 1    100.0 %   20.7-100.0 %",
            "sums   idle     0 of 1      0.0 %     0.0-79.3 %",
            "rows   good     2 of 2    100.0 %   34.2-100.0 %",
            "rows   idle     0 of 2      0.0 %     0.0-65.8 %",
        ]
    )
    assert result.stdout.str().count("agentbench: 8 trials of") == 1
    plan = _plan(suites)
    assert (plan["suites"], plan["narrowed"]) == (["smoke", "sums", "rows"], [])
    assert {one["task"]: (one["suites"], one["position"]) for one in plan["trials"]} == {
        "add": (["smoke", "sums"], "tasks/add.yaml:1"),
        "greet": (["smoke"], "tasks/greet.yaml:1"),
        "row-1": (["rows"], "tasks/rows.yaml:1"),
        "row-2": (["rows"], "tasks/rows.yaml:1"),
    }
    manifest = _manifest(suites)
    assert manifest["complete"] is True
    assert manifest["label"] == "nightly"
    assert manifest["suites"] == ["smoke", "sums", "rows"]
    assert (manifest["baseline"], manifest["experiment_files"]) == ("good", ["agentbench.yaml"])
    assert manifest["options"] == {"label": "nightly", "sandbox": "local"}


def test_without_suites_nothing_is_said_of_them(project: Project, workers: tuple[str, ...]) -> None:
    """Negative control: two plain tasks have no line and no table of suites."""
    text = project.run(*workers).stdout.str()
    assert "suites:" not in text
    assert "suite  variant" not in text
    assert "gates" not in text
    assert "agentbench: 2 trials of reference" in text


@pytest.mark.parametrize(
    ("select", "said"),
    [
        ("{marks: nightly}", "the marks 'nightly' fit none (tags: python, smoke)"),
        ("{ids: [fix-*]}", "the ids 'fix-*' fit none (tasks: add, greet)"),
        (
            "{paths: [shop/**]}",
            "the paths 'shop/**' fit none (task files: tasks/add.yaml, tasks/greet.yaml)",
        ),
    ],
)
def test_a_suite_that_selects_nothing_is_a_usage_error(
    project: Project, workers: tuple[str, ...], select: str, said: str
) -> None:
    """Nothing is run, and the message has the place and what there was."""
    marker = project.pytester.path / "ran"
    project.write(
        "agentbench.yaml",
        f"variants: {{v: {{agent: command, options: {{run: touch {marker}}}}}}}\n"
        f"suites:\n  s: {{select: {select}}}\n",
    )
    result = project.run(*workers)
    assert result.ret == 4
    text = result.stdout.str() + result.stderr.str()
    assert f"agentbench.yaml:3: the suite 's' selects no task: {said}. Try: " in text
    assert "Traceback" not in text
    assert not marker.exists()


def test_a_part_of_the_project_may_leave_suites_empty(
    suites: Project, workers: tuple[str, ...]
) -> None:
    """A path selects; that a suite has nothing then is told, and is no error."""
    result = suites.run(*workers, "tasks/greet.yaml")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["suite sums: nothing of it was to run; selected by path: *"])


def test_a_broken_task_file_may_leave_suites_empty(suites: Project) -> None:
    """A suite may be empty because its task is broken: that alone is told."""
    suites.write("tasks/add.yaml", "prompt: [\n")
    result = suites.run("--continue-on-collection-errors")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["suite sums: nothing of it was to run; 1 task file could not *"])


def test_deselected_tasks_still_belong_to_suites(suites: Project, workers: tuple[str, ...]) -> None:
    """With ``-k`` a suite is not empty, but partial; one that is whole stays complete."""
    result = suites.run("-k", "not add", *workers)
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "rows   idle     0 of 2 *yes",
            "suite smoke: 2 of 4 trials deselected",
            "suite sums: nothing of it was to run; 2 of 2 trials deselected",
        ]
    )
    why = {one["task"]: one["deselected"] for one in _plan(suites)["trials"]}
    assert why["add"] == "deselected (-k 'not add')"
    assert why["greet"] is None


def test_a_suite_name_that_is_taken_is_a_usage_error(
    suites: Project, workers: tuple[str, ...]
) -> None:
    """A dataset and a suite of the experiment share a name: exit 4 before anything runs."""
    suites.write("agentbench.yaml", "suites: {rows: {select: {marks: smoke}}}\n")
    result = suites.run(*workers)
    assert result.ret == 4
    text = result.stdout.str() + result.stderr.str()
    assert "tasks/rows.yaml:1: the suite name 'rows' of a dataset is taken by" in text
    assert "Traceback" not in text


@pytest.mark.parametrize(("dataset", "complete"), [(True, False), (False, True)])
def test_a_sample_makes_a_part_where_there_is_a_dataset(
    suites: Project, *, dataset: bool, complete: bool
) -> None:
    """Rows that were left out are in no plan, so the option is named; else it does nothing."""
    if not dataset:
        (suites.pytester.path / "tasks/rows.yaml").unlink()
    suites.run("--agentbench-sample=1")
    assert _manifest(suites)["complete"] is complete
    said = ["datasets sampled by --agentbench-sample=1"]
    assert _plan(suites)["narrowed"] == (said if dataset else [])


def test_an_ad_hoc_variant_is_told(suites: Project, workers: tuple[str, ...]) -> None:
    """An agent of the command line is in the header, and what it replaces in the plan."""
    result = suites.run("--agentbench-agent=noop", *workers)
    result.assert_outcomes(failed=4)
    result.stdout.fnmatch_lines(["agentbench: 4 trials of noop (--agentbench-agent*"])
    assert _plan(suites)["narrowed"] == ["variants replaced by --agentbench-agent=noop"]


def test_skipped_tasks_are_planned_and_counted(project: Project, workers: tuple[str, ...]) -> None:
    """A task's own ``skip`` is in the plan, in the record and in the counts, with its reason."""
    project.write("tasks/greet.yaml", GREET + "skip: {unless: {platform: plan9}}\n")
    project.write("tasks/third.yaml", GREET.replace("id: greet", "id: third") + "skip: not now\n")
    result = project.run(*workers)
    result.assert_outcomes(passed=1, skipped=2)
    result.stdout.fnmatch_lines(
        [
            "agentbench: 2 of 3 trials to be skipped: platform 1, skip 1",
            "3 planned: 1 passed, 0 failed, 0 error, 2 skipped, 0 cancelled",
            "skipped: platform 1; skipped: skip 1",
        ]
    )
    excluded = {one["task"]: one["excluded"] for one in _plan(project)["trials"]}
    assert excluded["add"] is None
    assert str(excluded["greet"]).startswith("platform: ")
    assert excluded["third"] == "skip: not now"
    records = project.records()
    assert records["greet[reference-r1]"]["reason"] == "platform"
    assert records["third[reference-r1]"]["message"] == "not now"
    assert _manifest(project)["complete"] is True


def test_expected_failures_keep_their_measured_outcome(
    project: Project, workers: tuple[str, ...]
) -> None:
    """What failed as expected is yellow in pytest, and failed in records and rates."""
    project.script(add=WRONG_ADD, greet=RIGHT_GREET)
    for name in ("add", "greet"):
        file = project.pytester.path / f"tasks/{name}.yaml"
        file.write_text(file.read_text() + "xfail: {reason: hard, strict: false}\n")
    result = project.run("--junitxml=junit.xml", *workers)
    result.assert_outcomes(xfailed=1, xpassed=1)
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            "2 planned: 1 passed, 1 failed, 0 error, 0 skipped, 0 cancelled",
            "expected not to pass (xfail), counted as measured: 1 did not, 1 passed all the same",
        ]
    )
    records = project.records()
    add, greet = records["add[bot-r1]"], records["greet[bot-r1]"]
    assert (add["outcome"], add["reason"], add["expected"]) == ("failed", "oracle", "xfail")
    assert (greet["outcome"], greet["expected"]) == ("passed", "xpass")
    told = {name: properties(case) for name, case in project.junit().items()}
    assert told["add[bot-r1]"]["agentbench.expected"] == "xfail"
    assert told["greet[bot-r1]"]["agentbench.outcome"] == "passed"
    assert told["greet[bot-r1]"]["agentbench.expected"] == "xpass"


def test_a_strict_xpass_is_a_failure_that_was_measured_as_passed(
    project: Project, workers: tuple[str, ...]
) -> None:
    """It is FAILED in pytest, since the mark is out of date; the agent was right all the same."""
    project.write(
        "tasks/add.yaml", GREET.replace("id: greet", "id: add") + "xfail: {strict: true}\n"
    )
    result = project.run(*workers)
    result.assert_outcomes(passed=1, failed=1)
    record = project.records()["add[reference-r1]"]
    assert (record["outcome"], record["expected"]) == ("passed", "xpass")
    result.stdout.fnmatch_lines(["2 planned: 2 passed, 0 failed*"])


@pytest.mark.parametrize(
    ("mark", "outcome", "reason", "message"),
    [
        ("xfail(run=False, reason='no use')", "skipped", "skip", "xfail: [NOTRUN] no use"),
        ("xfail(raises=OSError)", "error", "setup", "a fixture failed before the trial: *"),
    ],
)
def test_what_is_expected_of_trials_that_never_began(
    project: Project, mark: str, outcome: str, reason: str, message: str
) -> None:
    """Not run is skipped; a fixture that breaks is an error, whoever expected it."""
    project.write(
        "conftest.py",
        "import pytest\n\n@pytest.fixture(autouse=True)\ndef broken(request):\n"
        "    if 'greet' in request.node.name:\n        raise OSError('no database')\n\n"
        "def pytest_itemcollected(item):\n"
        f"    if 'greet' in item.name:\n        item.add_marker(pytest.mark.{mark})\n",
    )
    result = project.run()
    result.assert_outcomes(passed=1, xfailed=1)
    record = project.records()["greet[reference-r1]"]
    assert (record["outcome"], record["reason"], record["expected"]) == (outcome, reason, "xfail")
    assert record["message"].startswith(message.rstrip("*"))


def test_without_an_expectation_nothing_is_expected(project: Project) -> None:
    """Negative control: plain outcomes have no ``expected``."""
    project.script(add=WRONG_ADD, greet=RIGHT_GREET)
    result = project.run()
    assert {row["expected"] for row in project.records().values()} == {None}
    assert "expected not to pass" not in result.stdout.str()


def test_lf_makes_a_part_only_where_it_leaves_something_out(
    project: Project, workers: tuple[str, ...]
) -> None:
    """With ``--lf`` pytest runs everything where nothing failed: that is the whole suite."""
    run = project.pytester.runpytest_subprocess
    run().assert_outcomes(passed=2)
    result = run("--lf", *workers)
    result.assert_outcomes(passed=2)
    assert "partial" not in result.stdout.str()
    assert _manifest(project)["complete"] is True
    project.script(add=WRONG_ADD, greet=RIGHT_GREET)
    run().assert_outcomes(passed=1, failed=1)
    result = run("--lf", *workers)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["partial: 1 task file left out by --lf; this is not *"])
    assert _plan(project)["narrowed"] == ["1 task file left out by --lf"]


def test_lf_within_a_file_makes_a_part(suites: Project, workers: tuple[str, ...]) -> None:
    """Trials of one file that ``--lf`` drops before they are items are counted."""
    run = suites.pytester.runpytest_subprocess
    run("tasks").assert_outcomes(passed=4, failed=4)
    result = run("--lf", *workers)
    result.assert_outcomes(failed=4)
    assert _manifest(suites)["complete"] is False
    result.stdout.fnmatch_lines(["partial: *left out by --lf*"])


def test_roots_that_were_not_collected_make_a_part(
    project: Project, workers: tuple[str, ...]
) -> None:
    """Of two directories of tasks one is named on the command line: that is not everything."""
    project.write(
        "pytest.ini", "[pytest]\nagentbench_sandbox = local\nagentbench_tasks = tasks more\n"
    )
    project.write("more/third.yaml", GREET.replace("id: greet", "id: third"))
    result = project.run(*workers, "tasks")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["partial: more was not collected; *"])
    project.run(*workers).assert_outcomes(passed=3)
    assert _manifest(project)["complete"] is True


def test_ignored_task_files_make_a_part(project: Project, workers: tuple[str, ...]) -> None:
    """What ``--ignore`` leaves out is in no plan, so it is named; other paths do not matter."""
    project.write("docs/text.md", "")
    project.run(*workers, "--ignore=docs")
    assert _manifest(project)["complete"] is True
    result = project.run(*workers, "--ignore=tasks/add.yaml")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["partial: left out by --ignore: *tasks/add.yaml; *"])


def test_running_everything_everywhere_is_refused(project: Project) -> None:
    """``--dist=each`` would pay for each trial once a worker; without tasks it is fine."""
    result = project.run("--dist=each", "--tx=2*popen")
    assert result.ret == 4
    text = result.stdout.str() + result.stderr.str()
    assert "--dist=each: every worker would run, and pay for, every trial. Try: --dist=load" in text
    assert not (project.pytester.path / ".agentbench").joinpath("latest").exists()
    project.write("test_plain.py", "def test_it():\n    pass\n")
    project.run("--dist=each", "--tx=2*popen", "test_plain.py").assert_outcomes(passed=2)


def test_oracles_are_told_in_verbose_sessions(project: Project, workers: tuple[str, ...]) -> None:
    """``-v`` shows which oracle refuses; without it there is no such table."""
    project.script(add=WRONG_ADD, greet=RIGHT_GREET)
    result = project.run("-v", *workers)
    result.stdout.fnmatch_lines(
        ["oracle        variant  passed  refused", "hidden-tests  bot           0        1"]
    )
    assert "refused" not in project.run(*workers).stdout.str()
