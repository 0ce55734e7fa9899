"""The main job: collect, run, score, report."""

from __future__ import annotations

import pytest

from projects import GREET, Project, properties

RIGHT_ADD = "[{write: {path: calc.py, text: 'def add(a, b): return a + b'}}]"
WRONG_ADD = "[{write: {path: calc.py, text: 'def add(a, b): return 5'}}, {print: all done}]"
RIGHT_GREET = '[{write: {path: greeting.txt, text: "hello\\n"}}]'
WRONG_GREET = '[{write: {path: greeting.txt, text: "goodbye\\n"}}]'


def test_reference_solutions_pass(project: Project, workers: tuple[str, ...]) -> None:
    """Without an experiment file, every reference solution is applied and passes."""
    result = project.run("-v", *workers)
    result.assert_outcomes(passed=2)
    assert result.ret == 0
    assert {key: row["outcome"] for key, row in project.records().items()} == {
        "add[reference-r1]": "passed",
        "greet[reference-r1]": "passed",
    }
    result.stdout.fnmatch_lines(["*2 planned: 2 passed, 0 failed, 0 error, 0 skipped, 0 cancelled"])


def test_a_wrong_answer_fails_its_own_task_only(project: Project, workers: tuple[str, ...]) -> None:
    """A wrong answer is FAILED and tells its story; its neighbour is not touched by it."""
    project.script(add=WRONG_ADD, greet=RIGHT_GREET)
    result = project.run("--junitxml=junit.xml", *workers)
    result.assert_outcomes(passed=1, failed=1)
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "failed (oracle): hidden-tests: 1 of 2 tests failed: *test_adds_negative_numbers*",
            "*FAILED 0.50 hidden-tests (pytest)*",
            "*the agent's last words:*",
            "  | all done",
            "*changed: 1 modified*",
            "*M calc.py",
            "*artifacts: .agentbench/runs/*/artifacts/add/bot-r1",
            "FAILED tasks/add.yaml::add?bot-r1? - oracle: hidden-tests*",
        ]
    )
    assert "Traceback" not in result.stdout.str()
    assert "scripted-report" not in result.stdout.str(), "what is meant for the parser is not told"
    record = project.records()["add[bot-r1]"]
    assert (record["outcome"], record["reason"], record["score"]) == ("failed", "oracle", 0.5)
    artifacts = project.latest / record["artifacts"]
    assert (artifacts / "stdout.txt").read_text().startswith("all done")


def test_an_agent_that_cannot_start_is_an_error(project: Project, workers: tuple[str, ...]) -> None:
    """A broken harness errors; it is not a wrong answer."""
    project.write(
        "agentbench.yaml",
        "variants: {ghost: {agent: command, options: {run: [no-such-program]}}}\n",
    )
    result = project.run(*workers)
    result.assert_outcomes(errors=2)
    assert {row["reason"] for row in project.records().values()} == {"agent_launch"}
    result.stdout.fnmatch_lines(["*no-such-program*", "*2 error*"])


def test_junit_has_flat_properties_and_the_trials_time(
    project: Project, workers: tuple[str, ...]
) -> None:
    """Each case says which trial it is, how it ended, and how long the trial took."""
    project.script(add="[{sleep: 1.5}]", greet=RIGHT_GREET)
    project.run("--junitxml=junit.xml", *workers)
    cases = project.junit()
    add, greet = cases["add[bot-r1]"], cases["greet[bot-r1]"]
    told = properties(add)
    assert told == {
        "agentbench.task": "add",
        "agentbench.variant": "bot",
        "agentbench.repeat": "1",
        "agentbench.outcome": "failed",
        "agentbench.reason": "oracle",
        "agentbench.score": "0",
        "agentbench.agent": "scripted",
        "agentbench.sandbox": "local",
        "agentbench.isolated": "false",
    }
    assert properties(greet)["agentbench.outcome"] == "passed"
    total = project.records()["add[bot-r1]"]["phases"]["total_s"]
    assert 1.5 <= total <= float(add.get("time", 0)) < total + 1.0, "once, and not twice"
    (failure,) = add.iter("failure")
    assert str(failure.get("message")).startswith("oracle: hidden-tests")
    assert "Traceback" not in str(failure.text)


def test_an_error_keeps_its_time_on_set_up(project: Project) -> None:
    """The one failed report of an error has the trial's time."""
    project.write(
        "agentbench.yaml",
        "variants: {v: {agent: command, options: {run: 'sleep 1; exit 3'}}}\n",
    )
    result = project.run("--durations=2", "--junitxml=junit.xml", "-k", "add")
    result.assert_outcomes(errors=1, deselected=1)
    result.stdout.re_match_lines([r"[1-9]\d*\.\d+s setup +tasks/add.yaml::add\[v-r1\]"])
    assert float(project.junit()["add[v-r1]"].get("time", 0)) >= 1


def test_any_bytes_of_an_agent_are_valid_xml(project: Project, workers: tuple[str, ...]) -> None:
    """Control characters, colours and bytes that are no UTF-8 reach JUnit as valid XML."""
    shell = r"printf '\033[31m\001\377\376\355\240\200 the end'"
    project.write(
        "agentbench.yaml",
        "variants:\n  bot:\n    agent: command\n    options:\n      run: |\n"
        f"        {shell}; touch 'odd name'\n",
    )
    project.run("--junitxml=junit.xml", *workers)
    assert set(project.junit()) == {"add[bot-r1]", "greet[bot-r1]"}
    assert {row["outcome"] for row in project.records().values()} == {"failed"}


def test_repeats_come_before_tasks(project: Project) -> None:
    """Trials are ordered by repeat, then task, then variant."""
    project.write(
        "agentbench.yaml",
        "variants: {b: {agent: reference}, a: {agent: noop}}\ndefaults: {repeats: 2}\n",
    )
    result = project.run("--co", "-q")
    assert [line for line in result.outlines if "::" in line] == [
        "tasks/add.yaml::add[b-r1]",
        "tasks/add.yaml::add[a-r1]",
        "tasks/greet.yaml::greet[b-r1]",
        "tasks/greet.yaml::greet[a-r1]",
        "tasks/add.yaml::add[b-r2]",
        "tasks/add.yaml::add[a-r2]",
        "tasks/greet.yaml::greet[b-r2]",
        "tasks/greet.yaml::greet[a-r2]",
    ]
    assert not (project.pytester.path / ".agentbench").exists(), "--co leaves nothing"


def test_lf_selects_what_failed_and_what_erred(pytester: pytest.Pytester, project: Project) -> None:
    """``--lf`` runs the failed trial again, and only that one."""
    project.script(add=WRONG_ADD, greet=RIGHT_GREET)
    pytester.runpytest_subprocess().assert_outcomes(passed=1, failed=1)
    result = pytester.runpytest_subprocess("--lf", "-v")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*tasks/add.yaml::add?bot-r1? FAILED*"])


def test_tags_are_registered_marks(project: Project, workers: tuple[str, ...]) -> None:
    """Tags select with ``-m`` under strict markers, and what is left out is said."""
    result = project.run("--strict-markers", "-m", "python", *workers)
    result.assert_outcomes(passed=1, deselected=0 if workers else 1)
    assert set(project.records()) == {"add[reference-r1]"}
    result.stdout.fnmatch_lines(["*partial: 1 of 2 trials deselected*"])


def test_a_failing_first_trial_with_x_cancels_the_rest(project: Project) -> None:
    """``-x`` leaves the others cancelled: listed, counted, recorded."""
    project.script(add=WRONG_ADD, greet=RIGHT_GREET)
    result = project.run("-x")
    result.assert_outcomes(failed=1)
    records = project.records()
    assert records["greet[bot-r1]"]["outcome"] == "cancelled"
    assert records["greet[bot-r1]"]["reason"] == "stopped"
    result.stdout.fnmatch_lines(
        ["cancelled:", "  greet[[]bot-r1[]]", "2 planned: 0 passed, 1 failed*1 cancelled"]
    )


def test_an_id_that_is_taken_is_an_error(project: Project, workers: tuple[str, ...]) -> None:
    """Two tasks of one id are a collection error that names both places."""
    project.write("tasks/other.yaml", GREET)
    result = project.run(*workers)
    assert result.ret != 0
    result.stdout.fnmatch_lines(
        ["*tasks/other.yaml:1: the id 'greet' is taken by tasks/greet.yaml:1*"]
    )


def test_a_broken_task_file_is_an_error_and_the_others_run(
    project: Project, workers: tuple[str, ...]
) -> None:
    """A task file with a mistake never vanishes."""
    project.write("tasks/broken.yaml", GREET.replace("prompt:", "promt:"))
    result = project.run("--continue-on-collection-errors", *workers)
    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(["*tasks/broken.yaml:*promt*did you mean 'prompt'*"])


def test_a_broken_experiment_file_is_told_once(project: Project) -> None:
    """Every task file is an error, but only the first tells all of it."""
    project.write("agentbench.yaml", "variants: {a: {agent: nope}}\n")
    result = project.run()
    result.assert_outcomes(errors=2)
    assert str(result.stdout).count("unknown agent 'nope'") == 1


def test_failing_fixture_of_the_user_is_an_error_of_its_trial(project: Project) -> None:
    """What breaks around a trial is counted as an error of it."""
    project.write(
        "conftest.py",
        "import pytest\n\n@pytest.fixture(autouse=True)\ndef broken(request):\n"
        "    if 'greet' in request.node.name:\n        raise OSError('no database')\n",
    )
    result = project.run()
    result.assert_outcomes(passed=1, errors=1)
    record = project.records()["greet[reference-r1]"]
    assert (record["outcome"], record["reason"]) == ("error", "setup")
    assert "no database" in record["message"]


def test_skipped_by_a_fixture_is_skipped(project: Project, workers: tuple[str, ...]) -> None:
    """A skip of the user's is counted as skipped, with its reason."""
    project.write(
        "conftest.py",
        "import pytest\n\n@pytest.fixture(autouse=True)\ndef maybe(request):\n"
        "    if 'greet' in request.node.name:\n        pytest.skip('not today')\n",
    )
    result = project.run(*workers)
    result.assert_outcomes(passed=1, skipped=1)
    record = project.records()["greet[reference-r1]"]
    assert (record["outcome"], record["message"]) == ("skipped", "not today")


def test_no_task_of_a_dataset_is_mixed_up(project: Project, workers: tuple[str, ...]) -> None:
    """Each row of a dataset has its own workspace, oracle and solution."""
    project.write("tasks/rows.jsonl", '{"n": 1}\n{"n": 2}\n{"n": 3}\n')
    project.write(
        "tasks/rows.yaml",
        "dataset: {path: rows.jsonl, id: n}\n"
        "id: row-{{ row.n }}\nprompt: Write {{ row.n }} to out.txt.\n"
        "oracles: [{files: {out.txt: {equals: '{{ row.n }}'}}}]\n"
        "solution: {files: {out.txt: '{{ row.n }}'}}\n",
    )
    project.run(*workers, "tasks/rows.yaml").assert_outcomes(passed=3)
    project.write(
        "agentbench.yaml",
        "variants: {two: {agent: command, options: {run: 'printf 2 > out.txt'}}}\n",
    )
    project.run(*workers, "tasks/rows.yaml").assert_outcomes(passed=1, failed=2)
    passed = [key for key, row in project.records().items() if row["outcome"] == "passed"]
    assert passed == ["row-2[two-r1]"]
