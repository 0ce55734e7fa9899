"""Tamper evidence as users see it: what is rewritten under a judge, and what on disk of ours."""

from __future__ import annotations

import pytest

from projects import Project, properties
from requirements import require

JUDGED = """\
prompt: Do it.
workspace: {{files: {{{name}.sh: "exit 1"}}}}
oracles:
  - run: sh {name}.sh
    assets: {{files: {{answers.txt: "42"}}}}
"""
REWRITE = 'chmod u+w "$ORACLE" "$ORACLE/answers.txt"; echo 43 > "$ORACLE/answers.txt"'
ON_DISK = """\
prompt: Do it.
oracles:
  - run: sh "$ORACLE/judge.sh"
    assets: {name}-oracle
    reveal: full
"""


def _agent(project: Project, *lines: str) -> None:
    """Make a shell script the only agent, without walls."""
    script = "".join(f"        {line}\n" for line in lines)
    project.write(
        "agentbench.yaml",
        f"variants:\n  v:\n    agent: command\n    options:\n      run: |\n{script}",
    )


def _judged(project: Project) -> None:
    """Two tasks whose oracles run what the agent leaves."""
    for name in ("one", "two"):
        project.write(f"tasks/{name}.yaml", JUDGED.format(name=name))


def test_code_that_rewrites_its_oracle_has_failed(
    project: Project, workers: tuple[str, ...]
) -> None:
    """It exits with 0 and is ``failed: tampered``, with the names; the other task has passed."""
    _judged(project)
    _agent(project, f"[ -e two.sh ] && echo exit 0 > two.sh || echo '{REWRITE}' > one.sh")
    result = project.run("tasks/one.yaml", "tasks/two.yaml", "--junitxml=junit.xml", *workers)
    result.assert_outcomes(passed=1, failed=1)
    records = project.records()
    record = records["one[v-r1]"]
    assert records["two[v-r1]"]["outcome"] == "passed"
    assert (record["outcome"], record["reason"]) == ("failed", "tampered")
    assert record["message"] == (
        "code that the agent left rewrote its own file answers.txt while oracle run ran"
    )
    assert record["oracles"][0]["details"] == {"rewritten": ["answers.txt"]}
    assert (record["score"], record["oracles"][0]["passed"]) == (0.0, False)
    assert properties(project.junit()["one[v-r1]"])["agentbench.reason"] == "tampered"
    result.stdout.fnmatch_lines(["FAILED tasks/one.yaml::one?v-r1? - tampered: code that*"])


def test_the_same_behind_walls_comes_to_nothing(project: Project) -> None:
    """In bubblewrap the file cannot be written to, so the oracle's own answer is the outcome."""
    require("bubblewrap")
    _judged(project)
    _agent(project, f"echo '{REWRITE}; grep -q 42 \"$ORACLE/answers.txt\"' > one.sh",
           "echo exit 0 > two.sh")  # fmt: skip
    arguments = ("tasks/one.yaml", "tasks/two.yaml", "--agentbench-sandbox=bubblewrap")
    project.run(*arguments).assert_outcomes(passed=2)
    assert {row["reason"] for row in project.records().values()} == {None}


def test_a_template_that_is_written_to_is_our_error(
    project: Project, workers: tuple[str, ...]
) -> None:
    """An agent without walls that finds the template spoils no verdict: the trial is an error."""
    _judged(project)
    _agent(
        project,
        "echo exit 0 > one.sh; echo exit 0 > two.sh",
        "for t in ../../*/one.sh; do [ ! -w $t ] || echo exit 0 > $t; done",
    )
    project.run("tasks/one.yaml", "tasks/two.yaml", *workers)
    record = project.records()["one[v-r1]"]
    assert (record["outcome"], record["reason"]) == ("error", "setup"), record
    assert (
        "the template of the workspace was changed while the session ran: one.sh"
        in (record["message"])
    )
    assert (record["score"], record["oracles"]) == (None, [])
    assert project.records()["two[v-r1]"]["outcome"] == "passed"


def test_an_oracle_on_disk_that_is_overwritten_judges_as_it_was(
    project: Project, workers: tuple[str, ...]
) -> None:
    """The bytes in memory decide, and each trial of the task tells of it from then on."""
    for name in ("one", "two"):
        project.write(f"tasks/{name}.yaml", ON_DISK.format(name=name))
        project.write(f"tasks/{name}-oracle/judge.sh", "echo hidden; exit 1")
    victim = project.pytester.path / "tasks/one-oracle/judge.sh"
    _agent(project, f"echo exit 0 > {victim}; echo x > new")
    options = ("--agentbench-set=repeats=2", "tasks/one.yaml", "tasks/two.yaml")
    project.run(*options, *(("-n", "1") if workers else ()))
    rows = {key: (row["outcome"], row["reason"]) for key, row in project.records().items()}
    assert rows == {
        "one[v-r1]": ("failed", "oracle"),
        "one[v-r2]": ("failed", "oracle"),
        "two[v-r1]": ("failed", "oracle"),
        "two[v-r2]": ("failed", "oracle"),
    }
    said = "changed on disk since the session read them: run: judge.sh; judged by what was read"
    for repeat in (1, 2):
        assert project.records()[f"one[v-r{repeat}]"]["diagnostics"] == [said]
        assert project.records()[f"two[v-r{repeat}]"]["diagnostics"] == []


@pytest.mark.parametrize("driver", ["local", "bubblewrap"])
def test_honest_work_has_no_evidence_against_it(project: Project, driver: str) -> None:
    """Reference solutions pass with nothing told, with and without walls."""
    if driver == "bubblewrap":
        require("bubblewrap")
    project.run(f"--agentbench-sandbox={driver}").assert_outcomes(passed=2)
    assert [row["diagnostics"] for row in project.records().values()] == [[], []]
