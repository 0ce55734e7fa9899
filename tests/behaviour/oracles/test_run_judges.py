from __future__ import annotations

import pytest
from behaviour.oracles.bench import Bench

from pytest_agentbench.errors import OracleError
from pytest_agentbench.model.task import FileTree, JsonValue, SandboxSpec
from pytest_agentbench.model.verdict import OracleResult

ANSWER = 'test "$(python3 app.py)" = 42'


def told(result: OracleResult) -> tuple[bool, float, str]:
    return result.passed, result.score, result.reason


def test_exit_code_zero_passes(bench: Bench) -> None:
    """A command that ends with 0 passes, with score 1."""
    result = bench.judge("run", ANSWER, {"app.py": "print(42)"})
    assert told(result) == (True, 1.0, "exited with 0")
    assert (result.name, result.kind, result.details) == ("hidden", "run", {"exit_code": 0})
    assert result.duration_s > 0


def test_another_exit_code_fails_with_the_last_words(bench: Bench) -> None:
    """A wrong answer fails; the last line that the command wrote is part of the reason."""
    result = bench.judge("run", "echo so; echo 'want 42' >&2; exit 3", {"app.py": "print(41)"})
    assert told(result) == (False, 0.0, "exited with 3: want 42")
    assert result.output == "so\n[standard error]\nwant 42"


def test_two_tasks_are_judged_by_their_own_commands(bench: Bench) -> None:
    """One workspace's answer does not answer for another."""
    first, second = {"out": "a"}, {"out": "b"}
    argv: JsonValue = ["grep", "-q", "a", "out"]
    assert bench.judge("run", argv, first).passed
    assert not bench.judge("run", argv, second).passed
    assert bench.judge("run", ["grep", "-q", "b", "out"], second).passed


def test_the_workspace_is_the_working_directory(bench: Bench) -> None:
    """Relative paths start at the workspace, for an argv and for the shell."""
    files = {"sub/data": "x"}
    assert bench.judge("run", ["test", "-f", "sub/data"], files).passed
    assert bench.judge("run", "test -f sub/data", files).passed


ASSETS = FileTree(files={"check.sh": "#!/bin/sh\ngrep -q 42 out\n", "data.txt": "42"})


@pytest.mark.parametrize(
    "command",
    [["{oracle}/check.sh"], ["sh", "{oracle}/check.sh"], 'sh "$ORACLE/check.sh"'],
    ids=["program", "argument", "shell"],
)
def test_assets_are_staged_for_the_command(bench: Bench, command: JsonValue) -> None:
    """``{oracle}`` and ``$ORACLE`` name the directory of the assets."""
    assert bench.judge("run", command, {"out": "42"}, assets=ASSETS).passed
    assert not bench.judge("run", command, {"out": "41"}, assets=ASSETS).passed


def test_without_assets_nothing_is_announced(bench: Bench) -> None:
    """``ORACLE`` and ``REPORT`` are set only where there is something at them."""
    assert bench.judge("run", 'test -z "${ORACLE+x}${REPORT+x}"').passed


def test_a_missing_tool_is_an_error(bench: Bench) -> None:
    """A program of the author's that is not there was never started: nothing was measured."""
    with pytest.raises(OracleError, match="cannot run 'no-such-tool'") as caught:
        bench.judge("run", ["no-such-tool", "--version"])
    assert caught.value.where == "task.yaml:3"
    with pytest.raises(OracleError):
        bench.judge("run", ["/no/such/tool"])
    with pytest.raises(OracleError):
        bench.judge("run", ["{oracle}/missing.sh"], assets=ASSETS)


@pytest.mark.parametrize("left", [{}, {"app": "no program"}], ids=["missing", "not executable"])
@pytest.mark.parametrize("program", ["./app", "bin/../app"])
def test_a_program_of_the_agents_that_does_not_start_has_failed(
    bench: Bench, left: dict[str, str], program: str
) -> None:
    """What lies in the workspace is the agent's: its absence is a wrong answer, not an error."""
    result = bench.judge("run", [program], left, template={"bin/x": ""})
    assert (result.passed, result.score) == (False, 0.0)
    assert result.reason.startswith("cannot be executed: ")


def test_a_program_of_the_agents_that_starts_is_judged(bench: Bench) -> None:
    """Negative control of the row above: there, the same command passes."""
    assert bench.judge("run", ["./app"], {"app": "#!/bin/sh\nexit 0\n"}).passed


def test_an_interpreter_in_the_workspace_is_the_agents(bench: Bench) -> None:
    """A script of the author's whose interpreter the agent removed has failed."""
    assets = FileTree(files={"check.sh": "#!./tool\n"})
    tool = {"tool": "#!/bin/sh\nexit 0\n"}
    result = bench.judge("run", ["{oracle}/check.sh"], assets=assets)
    assert (result.passed, result.reason[:22]) == (False, "cannot be executed: ca")
    # Linux starts no script by way of another script's relative name without it being there.
    assert bench.judge("run", ["{oracle}/check.sh"], tool, assets=assets).passed


def test_a_search_path_through_the_workspace_is_the_agents(bench: Bench) -> None:
    """Where the task sets PATH, a missing tool may be one that the agent removed."""
    spec = SandboxSpec(env={"PATH": "bin:/usr/bin:/bin"})
    result = bench.with_(sandbox_spec=spec).judge("run", ["tool"])
    assert (result.passed, result.reason.startswith("cannot be executed")) == (False, True)


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("no-such-tool", "exited with 127 (a command was not found): "),
        ("./data", "exited with 126 (a command could not be executed): "),
        (["sh", "-c", "exit 127"], "exited with 127 (a command was not found)"),
    ],
)
def test_exit_codes_of_missing_commands_have_failed(
    bench: Bench, command: JsonValue, reason: str
) -> None:
    """From inside a command that runs, 126 and 127 can be the agent's doing."""
    result = bench.judge("run", command, {"data": "x"})
    assert (result.passed, result.reason.startswith(reason)) == (False, True)


def test_a_hang_has_failed(bench: Bench) -> None:
    """Out of time is a wrong answer, also when a good report was written before."""
    options: dict[str, JsonValue] = {"report": {"reward": "reward.txt"}}
    result = bench.judge("run", 'echo 1 > "$REPORT"; sleep 60', options=options, timeout_s=1)
    assert told(result) == (False, 0.0, "ran out of time (1 s)")


def test_a_command_that_was_killed_has_failed(bench: Bench) -> None:
    """Death by a signal is a wrong answer, whatever was reported."""
    options: dict[str, JsonValue] = {"report": {"reward": "reward.txt"}}
    result = bench.judge("run", 'echo 1 > "$REPORT"; kill -9 $$', options=options)
    assert (result.passed, result.score) == (False, 0.0)
    # Inside a PID namespace, what is first to see the death passes it on as an exit code.
    assert result.reason.startswith("was killed by SIGKILL")


JUNIT = "<testsuite><testcase name='a'/><testcase name='b'>{}</testcase></testsuite>"
CTRF = '{{"results": {{"tests": [{{"name": "a", "status": "{}"}}]}}}}'


@pytest.mark.parametrize(
    ("form", "report", "passed", "score", "reason"),
    [
        ("reward", "1.0", True, 1.0, "reward 1"),
        ("reward", "0.5", False, 0.5, "reward 0.5"),
        ("reward", '{"reward": 1}', True, 1.0, "reward 1"),
        ("reward", "0.9999999999", True, 0.9999999999, "reward 1"),
        ("reward", "NaN", False, 0.0, ("report 'r' holds a number that is not finite "
         "(the command exited with 0)")),
        ("junit", JUNIT.format(""), True, 1.0, "2 of 2 tests passed"),
        ("junit", JUNIT.format("<failure/>"), False, 0.5,
         "1 of 2 tests passed; not passed: b"),
        ("junit", "<testsuite/>", False, 0.0,
         "report 'r' holds no test (the command exited with 0)"),
        ("ctrf", CTRF.format("passed"), True, 1.0, "1 of 1 test passed"),
        ("ctrf", CTRF.format("skipped"), False, 0.0, "0 of 1 test passed; not passed: a"),
        ("ctrf", "nonsense", False, 0.0, ("report 'r' cannot be read: Expecting value: line 1 "
         "column 1 (char 0) (the command exited with 0)")),
    ],
)  # fmt: skip
def test_a_report_gives_the_score(
    bench: Bench,
    form: str,
    report: str,
    passed: bool,  # noqa: FBT001
    score: float,
    reason: str,
) -> None:
    """The score is what the report says; 1 passes."""
    options: dict[str, JsonValue] = {"report": {form: "r"}}
    result = bench.judge("run", 'cat answer > "$REPORT"', {"answer": report}, options=options)
    assert told(result) == (passed, score, reason)


@pytest.mark.parametrize(
    ("form", "report", "summary"),
    [
        ("reward", "1", "reward 1"),
        ("reward", "0.9999999999", "reward 1"),
        ("reward", "0.5", "reward 0.5"),
        ("junit", JUNIT.format(""), "2 of 2 tests passed"),
        ("ctrf", CTRF.format("passed"), "1 of 1 test passed"),
    ],
)
def test_a_reward_or_a_full_score_and_a_failure_contradict_each_other(
    bench: Bench, form: str, report: str, summary: str
) -> None:
    """Who says that all is well exits with 0; a report that was left there before may say it."""
    options: dict[str, JsonValue] = {"report": {form: "r"}}
    script = 'cat answer > "$REPORT"; exit 1'
    result = bench.judge("run", script, {"answer": report}, options=options)
    assert told(result) == (
        False,
        0.0,
        f"the report says {summary}, but the command exited with 1",
    )
    assert result.details == {"exit_code": 1}


@pytest.mark.parametrize(
    ("form", "report", "score"),
    [("junit", JUNIT.format("<failure/>"), 0.5), ("ctrf", CTRF.format("failed"), 0.0)],
)
def test_beside_failed_tests_the_exit_code_is_only_noted(
    bench: Bench, form: str, report: str, score: float
) -> None:
    """Test runners exit with 1 when a test failed; the report decides."""
    options: dict[str, JsonValue] = {"report": {form: "r"}}
    script = 'cat answer > "$REPORT"; exit 1'
    result = bench.judge("run", script, {"answer": report}, options=options)
    assert (result.passed, result.score, result.details) == (False, score, {"exit_code": 1})


GRADER = 'if test "$(python3 app.py)" = 42; then echo 1 > "$REPORT"; else echo 0 > "$REPORT"; fi'


def test_a_report_that_cannot_be_written_any_more_passes_nothing(walled: Bench) -> None:
    """Tested code that writes the report first, and leaves the grader no way to, has failed."""
    code = (
        "import os\n"
        "path = os.environ['REPORT']\n"
        "open(path, 'w').write('1')\n"
        "os.chmod(path, 0o444)\n"
        "os.chmod(os.path.dirname(path), 0o555)\n"
    )
    options: dict[str, JsonValue] = {"report": {"reward": "reward.txt"}}
    result = walled.judge("run", GRADER, {"app.py": code}, options=options)
    assert (result.passed, result.score) == (False, 0.0)
    assert result.reason.startswith("the report says reward 1, but the command exited with 2: ")
    honest = walled.judge("run", GRADER, {"app.py": "print(42)"}, options=options)
    assert told(honest) == (True, 1.0, "reward 1")


def test_a_missing_report_has_failed(bench: Bench) -> None:
    """No report, no pass, also after exit code 0."""
    result = bench.judge("run", "true", options={"report": {"junit": "junit.xml"}})
    assert told(result) == (
        False,
        0.0,
        "report 'junit.xml' is missing (the command exited with 0)",
    )


def test_a_report_in_the_workspace_counts_for_nothing(bench: Bench) -> None:
    """A report that was planted under the same name is not the report."""
    left = {"reward.txt": "1"}
    result = bench.judge("run", "true", left, options={"report": {"reward": "reward.txt"}})
    assert (result.passed, result.score) == (False, 0.0)


@pytest.mark.parametrize("trick", ['mkdir "$REPORT"', 'ln -s /etc/hostname "$REPORT"'])
def test_a_report_that_is_no_file_has_failed(bench: Bench, trick: str) -> None:
    """A directory or a symlink where the report should be is no report, and no error."""
    result = bench.judge("run", trick, options={"report": {"reward": "r"}})
    assert result.reason == "report 'r' is missing (the command exited with 0)"


def test_a_huge_report_has_failed(bench: Bench) -> None:
    """A report beyond its limit is not read."""
    result = bench.judge(
        "run", 'head -c 70000 /dev/zero > "$REPORT"', options={"report": {"reward": "r"}}
    )
    assert result.reason == ("report 'r' is larger than 65,536 bytes (the command exited with 0)")


def test_output_is_bounded_and_reasons_are_printable(bench: Bench) -> None:
    """A flood keeps its two ends, and no byte of it reaches a terminal as it is."""
    script = "head -c 3000000 /dev/zero; printf '\\033[31m\\377\\n' >&2; exit 1"
    result = bench.judge("run", script)
    assert len(result.output) < 100_000
    assert result.reason == "exited with 1: \\x1b[31m\ufffd"


def test_what_the_command_leaves_running_is_dead(bench: Bench) -> None:
    """A background process does not keep the oracle waiting."""
    result = bench.judge("run", "sleep 100 & exit 0", timeout_s=30)
    assert result.passed
    assert result.duration_s < 20
