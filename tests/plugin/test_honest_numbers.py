"""Nothing drops out of the numbers, and a part is not shown as the whole."""

from __future__ import annotations

import json
import shutil

import pytest

from projects import ADD, GREET, Project


def _complete(project: Project) -> bool:
    told = json.loads((project.latest / "manifest.json").read_text())
    complete: bool = told["complete"]
    return complete


def test_the_whole_suite_is_complete(project: Project, workers: tuple[str, ...]) -> None:
    """Negative control: without a selection nothing is said to be partial."""
    result = project.run(*workers, "tasks")
    assert "partial" not in result.stdout.str()
    assert _complete(project)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["tasks/add.yaml"], "selected by path: tasks/add.yaml"),
        (["tasks/add.yaml::add[reference-r1]"], "selected by path: tasks/add.yaml::add"),
        (["-k", "add"], "1 of 2 trials deselected"),
        (["tasks/sub"], "selected by path: tasks/sub"),
    ],
)
def test_a_selected_part_is_told(
    project: Project, workers: tuple[str, ...], arguments: list[str], said: str
) -> None:
    """A path, a node id or an expression makes a part, and the rollup says so."""
    project.write("tasks/sub/third.yaml", GREET.replace("id: greet", "id: third"))
    if arguments == ["-k", "add"]:
        shutil.rmtree(project.pytester.path / "tasks/sub")
    result = project.run(*workers, *arguments)
    assert f"partial: {said}" in result.stdout.str()
    assert not _complete(project)


def test_trials_that_a_plugin_takes_away_stay_in_the_plan(
    project: Project, workers: tuple[str, ...]
) -> None:
    """What is removed without ``pytest_deselected`` is in the plan all the same."""
    project.write("conftest.py", "def pytest_collection_modifyitems(items):\n    del items[0]\n")
    result = project.run(*workers)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*partial: 1 of 2 trials deselected*"])
    plan = json.loads((project.latest / "plan.json").read_text())
    assert {one["task"]: one["deselected"] for one in plan["trials"]} == {
        "add": "removed by a plugin",
        "greet": None,
    }


def test_task_files_that_cannot_be_collected_make_a_run_partial(
    project: Project, workers: tuple[str, ...]
) -> None:
    """The trials of a broken task file are in no plan, so the numbers are not the suite's."""
    project.write("tasks/broken.yaml", "prompt: [\n")
    result = project.run("--continue-on-collection-errors", *workers)
    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(["*partial: 1 task file could not be collected*"])
    assert not _complete(project)


@pytest.mark.parametrize("option", ["--co", "--setup-plan", "--setup-only", "--fixtures", None])
def test_what_runs_nothing_begins_no_run(project: Project, option: str | None) -> None:
    """What only shows something, or stops at a collection error, leaves ``latest`` alone."""
    if option is None:
        project.write("tasks/broken.yaml", "prompt: [\n")
    result = project.run(*([option] if option else []))
    assert result.ret == (0 if option else 2)
    assert not (project.pytester.path / ".agentbench").exists()


def test_a_misspelt_task_is_told(project: Project) -> None:
    """A YAML file below tasks/ that has no key of ours is named, and an error when asked for."""
    project.write("tasks/typo.yaml", "promt: x\noracle: []\n")
    result = project.run()
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["agentbench: no task files*: tasks/typo.yaml"])
    result = project.run("tasks/typo.yaml")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*unknown key 'promt'; did you mean 'prompt'?*"])


def test_results_deleted_while_the_run_goes_on_lose_nothing(
    project: Project, workers: tuple[str, ...]
) -> None:
    """Every trial is counted, all records are written anew, and the session is not green."""
    runs = project.pytester.path / ".agentbench/runs"
    wait = f"until grep -q greet {runs}/*/records.jsonl; do sleep 0.1; done"
    right = "def add(a, b): return a + b"
    project.script(
        greet='[{write: {path: greeting.txt, text: "hello\\n"}}]',
        zz=f"[{{run: '{wait}; rm -rf {runs}'}}, {{write: {{path: calc.py, text: '{right}'}}}}]",
    )
    project.write("tasks/zz.yaml", ADD)
    (project.pytester.path / "tasks/add.yaml").unlink()
    result = project.run(*workers)
    result.assert_outcomes(passed=2)
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["2 planned: 2 passed*", "results: records.jsonl was deleted meanwhile, and written anew"]
    )
    assert [row["outcome"] for row in project.records().values()] == ["passed", "passed"]


@pytest.mark.parametrize("option", ["--agentbench-keep=some", "--agentbench-sandbox=lokal"])
def test_a_wrong_option_is_a_usage_error(
    project: Project, workers: tuple[str, ...], option: str
) -> None:
    """One sentence and exit 4, before anything is collected."""
    result = project.run(option, *workers)
    assert result.ret == 4
    assert "Traceback" not in result.stderr.str()
    result.stderr.fnmatch_lines([f"ERROR: {option.partition('=')[0]}: *"])


def test_an_unknown_experiment_is_a_usage_error(project: Project) -> None:
    """The known ones are listed."""
    project.write("experiments/nightly.yaml", "variants: {a: {agent: noop}}\n")
    result = project.run("--agentbench-experiment=nigthly")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: *nigthly*nightly*"])


def test_a_rerun_shows_its_own_properties(project: Project) -> None:
    """With ``--reruns``, each test case has one set of properties, and the first scored counts."""
    project.script(add="[]", greet="[]")
    project.run("--reruns", "1", "--junitxml=junit.xml", "tasks/add.yaml")
    text = (project.pytester.path / "junit.xml").read_text()
    assert text.count('name="agentbench.outcome"') == text.count("<testcase")


def test_ids_with_a_meaning_in_pytest_are_refused(project: Project) -> None:
    """A task must not become a hook or an attribute of a module."""
    for name in ("__class__", "pytest_generate_tests"):
        project.write(f"tasks/{name}.yaml", GREET.replace("id: greet", f"id: {name}"))
    result = project.run("--continue-on-collection-errors")
    result.assert_outcomes(passed=2, errors=2)
    assert "Traceback" not in result.stdout.str()
    assert result.stdout.str().count("has a meaning of its own in pytest") >= 2
