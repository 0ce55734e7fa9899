"""Experiments as they run: two tasks, several variants, in one process and under xdist."""

from __future__ import annotations

import pytest

from projects import Project

ECHO = "variants:\n  echo: {agent: command, options: {run: cat > greeting.txt}%s}\n"


def test_templates_bases_and_defaults_reach_the_agent(
    project: Project, workers: tuple[str, ...]
) -> None:
    """The prompt that an agent gets is what its variant's template makes of the task's."""
    project.write("experiments/base.yaml", ECHO % "" + "defaults: {limits: {time: 30s}}\n")
    project.write("experiments/hello.txt", "{{ 'hello' if task.id == 'greet' else task.prompt }}\n")
    project.write(
        "experiments/near.yaml",
        "extends: base\nvariants:\n  hello: {extends: echo, model: m, prompt: {file: hello.txt}}\n",
    )
    result = project.run("--agentbench-experiment=near", *workers)
    result.assert_outcomes(passed=1, failed=3)
    records = project.records()
    assert {key: row["outcome"] for key, row in records.items()} == {
        "add[echo-r1]": "failed",
        "add[hello-r1]": "failed",
        "greet[echo-r1]": "failed",
        "greet[hello-r1]": "passed",
    }
    row = records["greet[hello-r1]"]
    assert (row["model"], row["lineage"]["model"]) == ("m", "variant")
    assert row["lineage"]["limits.time"] == "experiment"


def test_a_template_that_fails_for_one_task_is_an_error_of_that_trial_alone(
    project: Project, workers: tuple[str, ...]
) -> None:
    """What cannot be told without the task costs the task's trial, and says why."""
    project.write("agentbench.yaml", ECHO % ', prompt: {template: "hello {{ task.tags[1] }}"}')
    result = project.run(*workers)
    result.assert_outcomes(failed=1, errors=1)
    records = project.records()
    assert records["add[echo-r1]"]["outcome"] == "failed"
    fault = records["greet[echo-r1]"]
    assert (fault["outcome"], fault["reason"]) == ("error", "setup")
    assert "variant echo: the prompt template fails for this task: " in fault["message"]


def test_a_wrong_experiment_is_told_once(project: Project, workers: tuple[str, ...]) -> None:
    """Each task file is an error; the whole message stands at the first one only."""
    project.write(
        "agentbench.yaml", "variants:\n  a: {agent: noop, prompt: {template: '{{ x }}'}}\n"
    )
    result = project.run(*workers)
    # pytest repeats whole messages in its short summary where CI is set.
    text = result.stdout.str().partition("= short test summary info =")[0]
    assert result.ret != 0
    assert text.count("agentbench.yaml:2:39: unknown name 'x'; known: task, variant") == 1
    assert "the experiment file is wrong, see the first error above" in text


def test_overlays_are_no_tests(project: Project) -> None:
    """What an experiment lays over workspaces is neither collected nor loaded as a conftest."""
    for name in ("overlays/skill", "experiments/other"):
        project.write(f"{name}/conftest.py", "raise AssertionError('loaded')\n")
        project.write(f"{name}/test_it.py", "raise AssertionError('collected')\n")
    project.write("overlays/test_beside.py", "def test_beside(): pass\n")
    project.write("agentbench.yaml", "variants: {a: {agent: reference, overlay: overlays/skill}}\n")
    project.write("experiments/wide.yml", "variants: {b: {agent: noop, overlay: other}}\n")
    result = project.run("--co", "-q")
    assert result.ret == 0, result.stdout.str()
    assert result.stdout.lines[:3] == [
        "overlays/test_beside.py::test_beside",
        "tasks/add.yaml::add[a-r1]",
        "tasks/greet.yaml::greet[a-r1]",
    ]


@pytest.mark.parametrize("suite", ["smoke and", "(smoke"])
def test_marks_of_suites_are_checked_by_pytest_s_own_rules(project: Project, suite: str) -> None:
    """An expression that ``-m`` would refuse is refused where it is written."""
    project.write(
        "agentbench.yaml",
        f"variants: {{a: {{agent: noop}}}}\nsuites:\n  s: {{select: {{marks: '{suite}'}}}}\n",
    )
    text = project.run("--co").stdout.str()
    assert f"agentbench.yaml:3:23: {suite!r} is no expression of marks: expected" in text
