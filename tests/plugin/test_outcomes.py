"""The table of outcomes: every way in which a trial can end, through the real pytest.

A row is a task and an agent that bring it about. Each is run by itself, for its exit
status, and all of them together on two workers.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Mapping
from dataclasses import dataclass
from textwrap import indent

import pytest

from projects import Project, properties

PASSED, FAILED, ERROR, SKIPPED = "passed", "failed", "error", "skipped"
STATUS = {PASSED: 0, FAILED: 1, ERROR: 1, SKIPPED: 0}
"""Exit status of a session with one such trial alone; its pytest outcome has the same name."""

FINE = "{run: test -e done}"


@dataclass(frozen=True)
class Row:
    """A task (without its prompt), an agent, and what must become of the two.

    ``agent``: what a variant says. ``message`` is part of the record's; ``also`` is a part
    of each diagnostic, in their order. ``score``: as in the record.
    """

    task: str
    agent: str
    outcome: str
    reason: str | None = None
    message: str = ""
    also: tuple[str, ...] = ()
    score: float | None = None


def plays(*steps: str) -> str:
    """A scripted agent."""
    return f"{{agent: scripted, options: {{steps: [{', '.join(steps)}]}}}}"


def runs(shell: str) -> str:
    """An agent that is a shell command."""
    return f"{{agent: command, options: {{run: {shell!r}}}}}"


DONE = "{write: {path: done, text: ''}}"
WORKS = plays(DONE)
IDLE = "{agent: noop}"
HANGS_TOO_LONG = plays(DONE, "{sleep: 60}")

TABLE: Mapping[str, Row] = {
    # -- passed
    "right": Row(f"oracles: [{FINE}]", WORKS, PASSED, score=1),
    "right-and-checked": Row(f"checks: [{FINE}]\noracles: [{FINE}]", WORKS, PASSED, score=1),
    "exit-code-with-work": Row(f"oracles: [{FINE}]", plays(DONE, "{exit: 3}"), PASSED, score=1),
    "right-words-without-work": Row(
        "oracles: [{answer: {equals: '42'}}]",
        plays("{final: '42'}", "{exit: 3}"),
        PASSED,
        score=1,
    ),
    "late-and-right": Row(
        f"limits: {{time: 2s}}\noracles: [{FINE}]",
        HANGS_TOO_LONG,
        PASSED,
        also=("the agent ran out of time; what it left passed",),
        score=1,
    ),
    "advisory-failed": Row(
        f"oracles: [{FINE}, {{run: exit 1, name: look, advisory: true}}]", WORKS, PASSED, score=1
    ),
    "advisory-cannot-start": Row(
        f"oracles: [{{run: [/no/such/tool], name: look, advisory: true}}, {FINE}]",
        WORKS,
        PASSED,
        also=("look could not be judged: ",),
        score=1,
    ),
    "passes-at": Row(
        "oracles: [{run: 'echo 0.75 > $REPORT', report: {reward: r}, pass_at: 0.7}]",
        WORKS,
        PASSED,
        score=0.75,
    ),
    "need-met": Row(
        f"oracles: [{{run: test -e done, name: first}}, {{{FINE[1:-1]}, needs: [first]}}]",
        WORKS,
        PASSED,
        score=1,
    ),
    # -- failed: oracle
    "wrong": Row(
        f"oracles: [{{run: exit 7, name: seven}}, {FINE}]",
        WORKS,
        FAILED,
        "oracle",
        "seven: exited with 7",
        score=0.5,
    ),
    "idle": Row(f"oracles: [{FINE}]", IDLE, FAILED, "oracle", "run: exited with 1", score=0),
    "below-the-threshold": Row(
        f"threshold: 0.8\noracles: [{FINE}, {{run: exit 1}}]",
        WORKS,
        FAILED,
        "oracle",
        "score 0.5 is below the threshold 0.8",
        score=0.5,
    ),
    "oracle-killed": Row(
        "oracles: [{run: 'kill -9 $$'}]", WORKS, FAILED, "oracle", "was killed by SIGKILL", score=0
    ),
    "oracle-hangs": Row(
        "oracles: [{run: sleep 60, timeout: 1s}]",
        WORKS,
        FAILED,
        "oracle",
        "ran out of time (1 s)",
        score=0,
    ),
    "oracle-without-report": Row(
        "oracles: [{run: 'true', report: {reward: r}, pass_at: 0.1}]",
        WORKS,
        FAILED,
        "oracle",
        "report 'r' is missing",
        score=0,
    ),
    "tests-die-half-way": Row(
        "workspace: {files: {app.py: ''}}\n"
        "oracles:\n  - pytest: {files: {test_a.py: "
        '"import app, os\\ndef test_a(): pass\\ndef test_b(): app.f()\\n"}}\n'
        "    pass_at: 0.5\n",
        plays('{write: {path: app.py, text: "import os\\ndef f(): os._exit(0)\\n"}}'),
        FAILED,
        "oracle",
        "did not report",
        score=0.5,
    ),
    "need-unmet": Row(
        "oracles: [{run: exit 1, name: a, required: false}, "
        f"{{{FINE[1:-1]}, name: b, needs: [a], required: false}}, "
        f"{{{FINE[1:-1]}, name: c, needs: [b]}}]",
        WORKS,
        FAILED,
        "oracle",
        "c: not run: needs b, which was not run",
        score=0,
    ),
    "late-and-wrong": Row(
        "limits: {time: 2s}\noracles: [{run: exit 7}]",
        HANGS_TOO_LONG,
        FAILED,
        "oracle",
        "run: exited with 7",
        also=("the agent ran out of time (2 s)",),
        score=0,
    ),
    "wrong-before-trouble": Row(
        "oracles: [{run: exit 7, name: seven}, {run: [/no/such/tool], name: tool}]",
        WORKS,
        FAILED,
        "oracle",
        "seven: exited with 7 (and 1 more)",
        also=("tool could not be judged: ",),
    ),
    "breaks-the-oracle": Row(
        f"sandbox: {{env: {{LD_LIBRARY_PATH: lib}}}}\noracles: [{FINE}]",
        runs("mkdir lib; echo junk > lib/libc.so.6; touch done"),
        FAILED,
        "oracle",
        "",
        score=0,
    ),
    "words-without-work": Row(
        "oracles: [{answer: {equals: '42'}}]",
        plays("{final: '43'}", "{exit: 3}"),
        FAILED,
        "oracle",
        "answer: ",
        score=0,
    ),
    # -- failed: check
    "check-failed": Row(
        f"checks: [{{run: exit 4, name: tests}}]\noracles: [{FINE}]",
        WORKS,
        FAILED,
        "check",
        "tests: exited with 4",
        score=1,
    ),
    "check-before-oracle": Row(
        "checks: [{run: exit 4, name: tests}]\noracles: [{run: exit 7}]",
        WORKS,
        FAILED,
        "check",
        "tests: exited with 4 (and 1 more)",
        score=0,
    ),
    "check-beside-a-threshold": Row(
        f"threshold: 0.5\nchecks: [{{run: exit 4, name: tests}}]\noracles: [{FINE}]",
        WORKS,
        FAILED,
        "check",
        "tests: exited with 4",
        score=1,
    ),
    # -- failed: limit, timeout, tampered, evidence
    "workspace-too-large": Row(
        f"workspace: {{files: {{old: '{'x' * 600}'}}}}\nlimits: {{workspace: 1kB}}\n"
        f"oracles: [{FINE}]",
        plays(DONE, "{write: {path: new, text: '" + "y" * 600 + "'}}"),
        FAILED,
        "limit",
        "the agent left a workspace of 1,200 bytes; limits.workspace is 1,",
        score=0,
    ),
    "late-and-below-the-threshold": Row(
        f"threshold: 0.8\nlimits: {{time: 2s}}\noracles: [{FINE}, {{run: exit 1}}]",
        HANGS_TOO_LONG,
        FAILED,
        "timeout",
        "score 0.5 is below the threshold 0.8",
        also=("the agent ran out of time (2 s)",),
        score=0.5,
    ),
    "tampered": Row(
        f"oracles: [{FINE}]",
        f"{{overlay: overlay, {plays(DONE, '{delete: skill/SKILL.md}')[1:]}",
        FAILED,
        "tampered",
        "the agent changed files of the variant's overlay: skill/SKILL.md",
        score=0,
    ),
    "without-evidence": Row(
        f"oracles: [{FINE}]",
        "{expect: {skills: [review], tools: [shell]}, "
        + plays(DONE, "{use: {tool: shell}}").removeprefix("{"),
        FAILED,
        "evidence",
        "the agent was not seen to use skill 'review'; seen: tool 'shell'",
        score=1,
    ),
    "without-evidence-and-wrong": Row(
        "oracles: [{run: exit 7, name: seven}]",
        f"{{expect: {{skills: [review]}}, {WORKS[1:]}",
        FAILED,
        "evidence",
        "the agent was not seen to use skill 'review'; seen: nothing",
        also=("seven: exited with 7",),
        score=0,
    ),
    "without-evidence-and-trouble": Row(
        "oracles: [{run: [/no/such/tool], name: tool}]",
        f"{{expect: {{skills: [review]}}, {WORKS[1:]}",
        FAILED,
        "evidence",
        "the agent was not seen to use skill 'review'; seen: nothing",
        also=("tool could not be judged: ", "tool: could not be judged: "),
    ),
    "with-evidence": Row(
        f"oracles: [{FINE}]",
        f"{{expect: {{skills: [review]}}, {plays(DONE, '{use: {skill: review}}')[1:]}",
        PASSED,
        score=1,
    ),
    # -- error
    "no-solution": Row(
        f"oracles: [{FINE}]", "{agent: reference}", ERROR, "setup", "has no solution"
    ),
    "missing-variable": Row(
        f"oracles: [{FINE}]",
        f"{{env: {{A: '${{NO_SUCH_VARIABLE}}'}}, {WORKS[1:]}",
        ERROR,
        "setup",
        "not set in the environment: NO_SUCH_VARIABLE",
    ),
    "no-evidence-to-be-had": Row(
        f"oracles: [{FINE}]",
        f"{{expect: {{skills: [review]}}, {runs('touch done')[1:]}",
        ERROR,
        "setup",
        "agent 'command' does not show which skills and tools it used. Try: leave out `expect`",
    ),
    "tools-cannot-be-limited": Row(
        f"oracles: [{FINE}]",
        f"{{tools: {{deny: [web]}}, {WORKS[1:]}",
        ERROR,
        "setup",
        "agent 'scripted' cannot be kept to a list of tools. Try: leave out `tools`",
    ),
    "no-such-walls": Row(
        f"sandbox: {{driver: local, network: none}}\noracles: [{FINE}]",
        WORKS,
        ERROR,
        "sandbox",
        "sandbox local: ",
    ),
    "agent-not-found": Row(
        f"oracles: [{FINE}]",
        "{agent: command, options: {run: [/no/such/agent]}}",
        ERROR,
        "agent_launch",
        "agent command: ",
    ),
    "agent-not-found-by-its-shell": Row(
        f"oracles: [{FINE}]", runs("no-such-agent"), ERROR, "agent_launch", "(exit 127)"
    ),
    "agent-not-executable": Row(
        f"workspace: {{files: {{agent: text}}}}\noracles: [{FINE}]",
        runs("./agent"),
        ERROR,
        "agent_launch",
        "(exit 126)",
    ),
    "agent-crashed": Row(
        f"oracles: [{FINE}]",
        runs("echo no model >&2; exit 3"),
        ERROR,
        "agent_crash",
        "agent command: exited with 3 and changed nothing: no model",
    ),
    "oracle-cannot-start": Row(
        f"oracles: [{{run: [/no/such/tool]}}, {FINE}]",
        WORKS,
        ERROR,
        "oracle_error",
        "cannot run '/no/such/tool'",
    ),
    "trouble-before-wrong": Row(
        "oracles: [{run: [/no/such/tool]}, {run: exit 7}]",
        WORKS,
        ERROR,
        "oracle_error",
        "cannot run '/no/such/tool'",
    ),
    "late-and-trouble": Row(
        "limits: {time: 2s}\noracles: [{run: [/no/such/tool]}]",
        HANGS_TOO_LONG,
        ERROR,
        "oracle_error",
        "cannot run '/no/such/tool'",
        also=("the agent ran out of time (2 s)",),
    ),
    # -- skipped
    "skipped": Row(f"skip: not today\noracles: [{FINE}]", WORKS, SKIPPED, "skip", "not today"),
    "other-platform": Row(
        f"skip: {{unless: {{platform: plan9}}}}\noracles: [{FINE}]", WORKS, SKIPPED, "platform"
    ),
    "no-such-command": Row(
        f"skip: {{unless: {{command: no-such-command}}}}\noracles: [{FINE}]",
        WORKS,
        SKIPPED,
        "capability",
    ),
    "no-credentials": Row(
        f"skip: {{unless: {{env: NO_SUCH_VARIABLE}}}}\noracles: [{FINE}]",
        WORKS,
        SKIPPED,
        "credentials",
    ),
}


def write(project: Project, rows: Mapping[str, Row]) -> list[str]:
    """The rows' tasks and variants as a project; the node ids of the pairs."""
    for name in ("add", "greet"):
        (project.pytester.path / f"tasks/{name}.yaml").unlink()
    project.write("overlay/skill/SKILL.md", "how to review")
    for name, row in rows.items():
        project.write(f"tasks/{name}.yaml", f"prompt: Make a file named done.\n{row.task}\n")
    variants = "".join(f"{name}: {row.agent}\n" for name, row in rows.items())
    project.write("agentbench.yaml", f"variants:\n{indent(variants, '  ')}")
    return [f"tasks/{name}.yaml::{name}[{name}-r1]" for name in rows]


def in_junit(case: ET.Element) -> str:
    """What a test case's child says of its outcome."""
    names = {"failure": FAILED, "error": ERROR, "skipped": SKIPPED}
    found = [names[child.tag] for child in case if child.tag in names]
    assert len(found) <= 1, "one outcome a case"
    return found[0] if found else PASSED


def compare(project: Project, rows: Mapping[str, Row], report: Mapping[str, str]) -> None:
    """Hold records, pytest's own report and JUnit against the rows."""
    records, cases = project.records(), project.junit()
    got, wanted = {}, {}
    for name, row in rows.items():
        key = f"{name}[{name}-r1]"
        record, case = records[key], cases[key]
        told = properties(case)
        got[name] = {
            "record": (record["outcome"], record["reason"], record["score"]),
            "pytest": report[key],
            "junit": in_junit(case),
            "properties": (told["agentbench.outcome"], told.get("agentbench.reason")),
            "message": row.message if row.message in record["message"] else record["message"],
            "also": tuple(
                part if text.startswith(part) else text
                for part, text in zip(row.also, record["diagnostics"], strict=False)
            ),
            "diagnostics": len(record["diagnostics"]),
        }
        wanted[name] = {
            "record": (row.outcome, row.reason, row.score),
            "pytest": row.outcome,
            "junit": row.outcome,
            "properties": (row.outcome, row.reason),
            "message": row.message,
            "also": row.also,
            "diagnostics": len(row.also),
        }
    assert got == wanted


def outcomes(result: pytest.RunResult) -> dict[str, str]:
    """What pytest's short summary says of each trial."""
    words = {"PASSED": PASSED, "FAILED": FAILED, "ERROR": ERROR, "SKIPPED": SKIPPED}
    found = {}
    for line in result.outlines:
        word, _, rest = line.partition(" ")
        if word in words and ".yaml::" in rest:
            found[rest.partition("::")[2].partition(" - ")[0].strip()] = words[word]
        elif word == "SKIPPED":
            # The only lines of the summary that tell a place and no test.
            name = rest.partition("tasks/")[2].partition(".yaml")[0]
            found[f"{name}[{name}-r1]"] = SKIPPED
    return found


ARGUMENTS = ("-rA", "--no-fold-skipped", "--junitxml=junit.xml")


@pytest.mark.parametrize("name", TABLE)
def test_each_outcome_by_itself(project: Project, name: str) -> None:
    """Exit status, report, record and JUnit case of one trial that ends in this way."""
    rows = {name: TABLE[name]}
    result = project.run(*ARGUMENTS, *write(project, rows))
    assert result.ret == STATUS[TABLE[name].outcome]
    compare(project, rows, outcomes(result))


def test_all_outcomes_together(project: Project) -> None:
    """All of the table on two workers: no trial changes another one's, and every one counts."""
    result = project.run(*ARGUMENTS, "-n", "2", *write(project, TABLE))
    assert result.ret == 1
    compare(project, TABLE, outcomes(result))
    counts = {kind: sum(row.outcome == kind for row in TABLE.values()) for kind in STATUS}
    said = ", ".join(f"{count} {kind}" for kind, count in counts.items())
    result.stdout.fnmatch_lines([f"{len(TABLE)} planned: {said}, 0 cancelled"])


# -- what ends more than a trial


def two(project: Project, agent: str, **tasks: str) -> None:
    """Two tasks with one agent; ``tasks`` are added to what they say."""
    rows = {name: Row(f"oracles: [{FINE}]\n{tasks.get(name, '')}", agent, "") for name in "ab"}
    write(project, rows)
    project.write("agentbench.yaml", f"variants:\n  v: {agent}\n")


def ends(project: Project) -> dict[str, tuple[str, str | None]]:
    """Outcome and reason of each trial."""
    return {key: (row["outcome"], row["reason"]) for key, row in project.records().items()}


def test_survivors_are_an_error(project: Project, workers: tuple[str, ...]) -> None:
    """An agent whose processes cannot be killed leaves nothing that could be judged."""
    # The kernel's own unkillable processes cannot be made at will: one is pretended.
    project.write(
        "conftest.py",
        "from dataclasses import replace\n"
        "import pytest_agentbench.engine.trial as trial\n\n"
        "run_agent = trial.run_agent\n\n"
        "async def surviving(*args):\n"
        "    run = await run_agent(*args)\n"
        "    left = 1 if args[1].task.id == 'a' else 0\n"
        "    return replace(run, completed=replace(run.completed, survivors=left))\n\n"
        "trial.run_agent = surviving\n",
    )
    two(project, WORKS)
    result = project.run("-rA", "--junitxml=junit.xml", *workers)
    result.assert_outcomes(passed=1, errors=1)
    assert result.ret == 1
    assert ends(project) == {"a[v-r1]": (ERROR, "cleanup"), "b[v-r1]": (PASSED, None)}
    assert "1 processes of the agent could not be killed" in project.records()["a[v-r1]"]["message"]
    assert in_junit(project.junit()["a[v-r1]"]) == ERROR


def test_a_dead_worker_is_an_error(project: Project) -> None:
    """The trial that a worker died of is an error, and the other one is run by a new worker."""
    two(project, runs('touch done; case "$AGENTBENCH_TASK" in a) kill -9 $PPID;; esac'))
    result = project.run("-n", "2", "--junitxml=junit.xml")
    assert result.ret == 1
    assert ends(project) == {"a[v-r1]": (ERROR, "crash"), "b[v-r1]": (PASSED, None)}


def test_another_plugins_time_out_is_an_error(project: Project, workers: tuple[str, ...]) -> None:
    """``--timeout`` ends the wait for a trial: nothing was measured, and nothing goes on."""
    two(project, runs('touch done; case "$AGENTBENCH_TASK" in a) sleep 60;; esac'))
    result = project.run("--timeout=4", "--junitxml=junit.xml", *workers)
    assert result.ret == 1
    assert ends(project) == {"a[v-r1]": (ERROR, "aborted"), "b[v-r1]": (PASSED, None)}
    assert in_junit(project.junit()["a[v-r1]"]) == ERROR


def test_a_bug_of_ours_is_an_error_and_exit_3(project: Project, workers: tuple[str, ...]) -> None:
    """What should never happen is told with its traceback."""
    project.write(
        "conftest.py",
        "from pytest_agentbench.oracles.run import RunOracle\n\n"
        "check = RunOracle.check\n\n"
        "async def broken(self, staged, sandbox, subject):\n"
        "    if subject.trial.task.id == 'a':\n"
        "        raise ZeroDivisionError('bug')\n"
        "    return await check(self, staged, sandbox, subject)\n\n"
        "RunOracle.check = broken\n",
    )
    two(project, WORKS)
    result = project.run("--junitxml=junit.xml", *workers)
    assert result.ret == 3
    assert ends(project) == {"a[v-r1]": (ERROR, "internal"), "b[v-r1]": (PASSED, None)}
    assert in_junit(project.junit()["a[v-r1]"]) == ERROR
    assert "ZeroDivisionError: bug" in project.records()["a[v-r1]"]["message"]


def test_an_interruption_cancels(project: Project) -> None:
    """SIGTERM while the first trial runs: it is interrupted, and so is the rest; exit status 2."""
    two(project, runs("touch done; kill -TERM $PPID; sleep 60"))
    result = project.run()
    assert result.ret == 2
    interrupted = ("cancelled", "interrupted")
    assert ends(project) == {"a[v-r1]": interrupted, "b[v-r1]": interrupted}


def test_stopping_cancels_what_has_not_run(project: Project) -> None:
    """After ``-x``, what has not begun is cancelled; what has keeps its outcome."""
    two(project, IDLE)
    result = project.run("-x")
    assert result.ret == 1
    assert ends(project) == {"a[v-r1]": (FAILED, "oracle"), "b[v-r1]": ("cancelled", "stopped")}


def test_all_passed_is_exit_status_0(project: Project, workers: tuple[str, ...]) -> None:
    """Negative control for all of the above."""
    two(project, WORKS)
    result = project.run(*workers)
    assert result.ret == 0
    assert ends(project) == {"a[v-r1]": (PASSED, None), "b[v-r1]": (PASSED, None)}
