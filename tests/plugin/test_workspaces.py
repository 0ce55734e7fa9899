"""Workspaces from a commit, a patch, set-up commands and overlays, through pytest."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from projects import Project
from requirements import require

SNOOP = """\
git log --all --format=%H > found.txt
git reflog >> found.txt
git stash list >> found.txt
git remote -v >> found.txt
git fsck --unreachable --full >> found.txt 2>/dev/null
git tag >> found.txt
grep -r somewhere-else . >> found.txt
git cat-file --batch-all-objects --batch | grep -a answer >> found.txt
git log --oneline | wc -l
cp built.txt seen.txt
git -c user.email=a@b -c user.name=a commit -q --allow-empty -m mine && git checkout -q -b side
test "$(wc -l < found.txt)" = 1
"""

GIT_TASK = """\
id: {name}
prompt: Look around.
workspace:
  git: {{url: ../{url}, ref: start}}
  files: {{notes.txt: "{name}\\n"}}
  patch: break.patch
  setup: ["cat notes.txt app.py > built.txt; echo once >> $COUNT"]
sandbox: {{driver: {driver}}}
oracles:
  - run: test "$(wc -l < found.txt)" = 1
    name: one-line
  - run: grep -q {name} seen.txt && grep -q broken seen.txt
    name: built
solution: {{files: {{found.txt: "x\\n", seen.txt: "{name} broken\\n"}}}}
"""

PATCH = "--- a/app.py\n+++ b/app.py\n@@ -1 +1 @@\n-whole\n+broken\n"


def git(where: Path, *arguments: str) -> None:
    subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@example.invalid", *arguments],
        cwd=where,
        env={"PATH": os.environ["PATH"], "HOME": str(where)},
        check=True,
        capture_output=True,
    )


@pytest.fixture
def history(pytester: pytest.Pytester) -> Project:
    """Two tasks that start from one repository, which knows the answer in a later commit."""
    project = Project(pytester)
    source = pytester.path / "somewhere-else"
    source.mkdir()
    git(source, "init", "-q")
    (source / "app.py").write_text("whole\n")
    git(source, "add", "-A")
    git(source, "commit", "-q", "-m", "one")
    git(source, "branch", "start")
    (source / "app.py").write_text("the answer\n")
    git(source, "commit", "-q", "-a", "-m", "answer")
    git(source, "tag", "fixed")
    project.write("pytest.ini", "[pytest]\n")
    project.write("tasks/break.patch", PATCH)
    return project


@pytest.mark.parametrize("driver", ["local", "bubblewrap"])
def test_an_agent_finds_no_history(history: Project, workers: tuple[str, ...], driver: str) -> None:
    """Log, reflog, stash, remotes, tags and objects give one commit; its own do no harm."""
    if driver == "bubblewrap":
        require("bubblewrap")
    for name in ("first", "second"):
        text = GIT_TASK.format(name=name, driver=driver, url="somewhere-else")
        history.write(f"tasks/{name}.yaml", text.replace("; echo once >> $COUNT", ""))
    steps = "".join(f"        {line}\n" for line in SNOOP.splitlines())
    history.write(
        "agentbench.yaml",
        f"variants:\n  snoop:\n    agent: command\n    options:\n      run: |\n{steps}"
        "  reference: {agent: reference}\n",
    )
    result = history.run(*workers)
    assert result.ret == 0, result.stdout.str()
    records = history.records()
    assert {key: row["outcome"] for key, row in records.items()} == dict.fromkeys(
        [f"{task}[{who}-r1]" for task in ("first", "second") for who in ("snoop", "reference")],
        "passed",
    )
    churn = records["first[snoop-r1]"]["churn"]
    assert (churn["files_added"], churn["files_modified"]) == (2, 0), "nothing of .git"
    assert churn["lines_added"] == 3, "nothing of .git"
    assert "somewhere-else start" in (history.latest / "commits.json").read_text()


def test_set_up_runs_once_for_variants_repeats_and_overlays(
    history: Project, pytester: pytest.Pytester
) -> None:
    """Two variants, one with an overlay, and two repeats: one run of each task's set-up."""
    count = pytester.path / "count.txt"
    for name in ("first", "second"):
        text = GIT_TASK.format(name=name, driver="local", url="somewhere-else")
        text = text.replace("$COUNT", str(count))
        history.write(f"tasks/{name}.yaml", text)
    history.write("overlays/skill/SKILL.md", "be good\n")
    history.write(
        "agentbench.yaml",
        """\
variants:
  plain: {agent: reference}
  skilled: {agent: reference, overlay: overlays/skill}
defaults: {repeats: 2}
""",
    )
    result = history.run()
    assert result.ret == 0, result.stdout.str()
    assert len(history.records()) == 8
    assert count.read_text() == "once\n" * 2


def test_a_set_up_that_fails_is_an_error_of_its_own_task_alone(project: Project) -> None:
    """It is tried once, each of its trials says why, and the other task goes on."""
    project.write(
        "tasks/broken.yaml",
        'prompt: x\nworkspace: {setup: ["echo tried >> ../../tried; echo why not; exit 4"]}\n'
        "oracles: [{run: 'true'}]\nrepeats: 2\nsolution: {files: {a: b}}\n",
    )
    result = project.run()
    records = project.records()
    for number in (1, 2):
        row = records[f"broken[reference-r{number}]"]
        assert (row["outcome"], row["reason"]) == ("error", "setup")
        assert row["message"] == (
            "broken: the set-up command ended with exit code 4: echo tried >> ../../tried;"
            " echo why not; exit 4\n    why not"
        )
    assert records["greet[reference-r1]"]["outcome"] == "passed"
    assert result.ret == 1


def test_oracles_of_tasks_that_are_not_run_are_hidden_too(project: Project) -> None:
    """A workspace with another task's oracle is an error, with that task deselected too."""
    answer = "".join(f"line {number} of the answer\n" for number in range(9))
    body = "".join(f"          {line}\n" for line in answer.splitlines())
    project.write(
        "tasks/other.yaml",
        "prompt: x\noracles:\n  - run: 'true'\n    assets:\n      files:\n"
        f"        answer.txt: |\n{body}",
    )
    project.write(
        "tasks/leaky.yaml",
        "prompt: x\noracles: [{run: 'true'}]\nsolution: {files: {a: b}}\n"
        f"workspace:\n  files:\n    doc.txt: |\n{body}",
    )
    project.run("-k", "leaky or greet")
    row = project.records()["leaky[reference-r1]"]
    assert (row["outcome"], row["reason"]) == ("error", "setup")
    assert row["message"] == (
        "leaky: doc.txt shows the agent what it must not see: tasks/other.yaml: oracle run:"
        " answer.txt. Try: keep oracles, answers and task files out of what agents get"
    )
    assert project.records()["greet[reference-r1]"]["outcome"] == "passed"


def test_a_repository_that_holds_the_tasks_is_an_error(history: Project) -> None:
    """The project's own repository as a workspace would show the task file itself."""
    text = (
        "prompt: x\nworkspace: {git: ..}\n"
        "oracles:\n  - run: 'true'\n    name: a-name-long-enough-to-be-more-than-sixty-four-bytes\n"
    )
    history.write("tasks/self.yaml", text)
    git(history.pytester.path, "init", "-q")
    git(history.pytester.path, "add", "pytest.ini", "tasks")
    git(history.pytester.path, "commit", "-q", "-m", "tasks")
    history.run("--agentbench-sandbox", "local")
    row = history.records()["self[reference-r1]"]
    assert (row["outcome"], row["reason"]) == ("error", "setup")
    assert row["message"].startswith(
        "self: tasks/self.yaml shows the agent what it must not see: tasks/self.yaml."
    )


def test_a_workspace_over_its_limit_from_the_start_is_an_error(project: Project) -> None:
    """Every agent would be failed for what it did not do."""
    project.write(
        "tasks/big.yaml",
        "prompt: x\nworkspace: {files: {a: 'xxxxxxxxxxx'}}\nlimits: {workspace: 10}\n"
        "oracles: [{run: 'true'}]\nsolution: {files: {b: c}}\n",
    )
    project.run()
    row = project.records()["big[reference-r1]"]
    assert (row["outcome"], row["reason"]) == ("error", "setup")
    assert row["message"] == (
        "big: the workspace has 11 bytes before any agent starts; limits.workspace is 10."
        " Try: a higher limits.workspace, or a smaller workspace"
    )


STEP = """\
prompt: Write the lines.
workspace: {{files: {{{start}}}}}
oracles: [{{run: grep -q {word} lines.txt}}]
solution: {{files: {{lines.txt: "{solved}"}}}}
controls: [{{files: {{{start}}}, fails: run}}]
"""


def test_a_chain_of_steps(project: Project) -> None:
    """A task may start from what solves another one; doing nothing may be a known wrong answer."""
    one, two = "one " * 20, "two " * 20
    project.write("tasks/first.yaml", STEP.format(start='a.txt: "x"', word="one", solved=one))
    project.write(
        "tasks/second.yaml",
        STEP.format(start=f'lines.txt: "{one}"', word="two", solved=one + two),
    )
    project.run("tasks/first.yaml", "tasks/second.yaml").assert_outcomes(passed=2)
    project.write(
        "tasks/solved.yaml", STEP.format(start=f'lines.txt: "{two}"', word="two", solved=two)
    )
    result = project.run("tasks/solved.yaml")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*lines.txt shows the agent what it must not see: *: solution*"])
