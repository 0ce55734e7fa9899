"""When things go wrong around trials: a clear outcome, and nothing is lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from projects import Project
from requirements import require

LISTENING = ("env", "--default-signal=INT")
"""Ctrl-C is ignored by what a shell without a terminal starts in the background, tests included."""

RIGHT_GREET = '[{write: {path: greeting.txt, text: "hello\\n"}}]'


def _alive(marker: str) -> list[str]:
    """Command lines of living processes that hold ``marker``."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
            if marker in line:
                found.append(line)
    return found


def _wait_for(condition: object, what: str, timeout_s: float = 30.0) -> None:
    assert callable(condition)
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


@pytest.mark.parametrize("driver", ["local", "bubblewrap"])
@pytest.mark.parametrize("sent", ["SIGINT to all", "SIGTERM to pytest"])
def test_interrupted_it_leaves_no_process_and_a_readable_record(
    project: Project, workers: tuple[str, ...], driver: str, sent: str, tmp_path: Path
) -> None:
    """Ctrl-C and SIGTERM end agents with all they started, and the records say cancelled."""
    if driver == "bubblewrap":
        require("bubblewrap")
    marker = f"98{os.getpid()}{driver == 'local':d}{len(workers)}{len(sent)}.5"
    steps = f"[{{spawn: [sleep, '{marker}']}}, {{print: up}}, {{sleep: 600}}]"
    project.script(add=steps, greet=steps)
    command = [*LISTENING, sys.executable, "-m", "pytest", "--agentbench-sandbox", driver, *workers]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(
        command,
        cwd=project.pytester.path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        text=True,
    ) as process:
        _wait_for(lambda: _alive(marker), "the agent's child never started")
        if sent == "SIGINT to all":
            os.killpg(process.pid, signal.SIGINT)
        else:
            os.kill(process.pid, signal.SIGTERM)
        try:
            output, _ = process.communicate(timeout=60)
        finally:
            process.kill()  # leaving the block waits for it
    assert process.returncode == 2, output
    _wait_for(lambda: not _alive(marker), f"still alive: {_alive(marker)}", 10)
    outcomes = [row["outcome"] for row in project.records().values()]
    assert outcomes == ["cancelled", "cancelled"], output
    assert "2 planned: 0 passed, 0 failed, 0 error, 0 skipped, 2 cancelled" in output
    assert not list(tmp_path.glob("agentbench-*")), "no sandbox is left"


@pytest.mark.parametrize("driver", ["local", "bubblewrap"])
def test_a_killed_session_leaves_no_agent_behind(
    project: Project, workers: tuple[str, ...], driver: str, tmp_path: Path
) -> None:
    """``kill -9`` of pytest ends the agents too, whichever process had started them."""
    if driver == "bubblewrap":
        require("bubblewrap")
    marker = f"97{os.getpid()}{driver == 'local':d}{len(workers)}.5"
    steps = f"[{{run: [sleep, '{marker}']}}]"
    project.script(add=steps, greet=steps)
    command = [sys.executable, "-m", "pytest", "--agentbench-sandbox", driver, *workers]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(
        command, cwd=project.pytester.path, env=environment, stdout=subprocess.DEVNULL
    ) as process:
        _wait_for(lambda: _alive(marker), "the agent's child never started")
        process.kill()
    _wait_for(lambda: not _alive(marker), f"still alive: {_alive(marker)}", 20)


def test_a_crashed_worker_is_an_error_of_its_trial(project: Project) -> None:
    """An agent that takes the xdist worker with it: that trial is an error, the others go on."""
    project.write(
        "agentbench.yaml",
        "variants:\n  killer:\n    agent: command\n    options:\n"
        "      run: 'test -e calc.py && kill -9 $PPID; printf \"hello\\n\" > greeting.txt'\n",
    )
    result = project.run("-n", "2")
    records = project.records()
    assert records["add[killer-r1]"]["reason"] == "crash"
    assert records["greet[killer-r1]"]["outcome"] == "passed"
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*2 planned: 1 passed, 0 failed, 1 error*"])


def test_unwritable_results_are_refused_before_anything_runs(
    project: Project, workers: tuple[str, ...]
) -> None:
    """A results directory that cannot be written is a usage error, and no agent starts."""
    project.write("occupied", "a file")
    run = f"touch {project.pytester.path}/ran"
    project.write(
        "agentbench.yaml", f"variants: {{v: {{agent: command, options: {{run: '{run}'}}}}}}\n"
    )
    result = project.run("--agentbench-results", "occupied", *workers)
    assert result.ret == 4
    text = result.stdout.str() + result.stderr.str()
    assert "occupied" in text
    assert "--agentbench-results" in text
    assert not (project.pytester.path / "ran").exists()


def test_an_internal_error_ends_with_exit_3_and_keeps_what_was_done(
    project: Project, workers: tuple[str, ...]
) -> None:
    """A bug of ours is an error of its trial with a traceback; finished trials are saved."""
    project.write(
        "conftest.py",
        "from pytest_agentbench.oracles.files import FilesOracle\n\n"
        "async def check(self, staged, sandbox, subject):\n    raise ZeroDivisionError('bug')\n\n"
        "FilesOracle.check = check\n",
    )
    result = project.run(*workers)
    assert result.ret == 3
    records = project.records()
    assert records["add[reference-r1]"]["outcome"] == "passed"
    assert records["greet[reference-r1]"]["reason"] == "internal"
    assert "ZeroDivisionError" in records["greet[reference-r1]"]["message"]
    result.stdout.fnmatch_lines(["*ZeroDivisionError: bug*"])


def test_a_task_deleted_while_the_run_goes_on_still_counts(project: Project) -> None:
    """Oracles are read before the first agent starts: deleting the files changes nothing."""
    tasks = project.pytester.path / "tasks"
    oracle = project.write("tasks/zeta/oracle/test_zeta.py", "def test_it():\n    import zeta\n")
    project.write("tasks/zeta/task.yaml", "prompt: Write zeta.py.\noracles: [{pytest: oracle}]\n")
    project.script(
        add=f"[{{run: 'rm -rf {tasks}/zeta {tasks}/greet.yaml'}}]",
        greet=RIGHT_GREET,
        zeta="[{write: {path: zeta.py, text: ''}}]",
    )
    project.run().assert_outcomes(passed=2, failed=1)
    assert not oracle.exists()
    assert project.records()["zeta[bot-r1]"]["outcome"] == "passed"


def test_a_missing_variable_is_an_error_that_names_it(project: Project) -> None:
    """``${VAR}`` that is not set is an error of the trial, before the agent runs."""
    project.write(
        "agentbench.yaml",
        "variants: {v: {agent: command, options: {run: 'true'}, env: {KEY: '${NO_SUCH_KEY}'}}}\n",
    )
    result = project.run()
    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines(["*not set in the environment: NO_SUCH_KEY*"])


def test_secrets_are_in_no_file_of_the_run(
    project: Project, monkeypatch: pytest.MonkeyPatch, workers: tuple[str, ...]
) -> None:
    """The value of an expanded variable is neither shown nor stored."""
    monkeypatch.setenv("THE_KEY", "sk-verysecret-0815")
    project.write(
        "agentbench.yaml",
        "variants: {v: {agent: command, env: {KEY: '${THE_KEY}'}, "
        "options: {run: 'echo $KEY; echo $KEY > calc.py; echo $KEY >&2'}}}\n",
    )
    result = project.run("--agentbench-keep=all", "--junitxml=junit.xml", *workers)
    result.assert_outcomes(failed=2)
    assert "[redacted]" in result.stdout.str()
    for path in project.pytester.path.rglob("*"):
        if path.is_file():
            assert b"sk-verysecret" not in path.read_bytes(), path


def test_time_runs_out_and_what_was_left_is_scored(
    project: Project, workers: tuple[str, ...]
) -> None:
    """Wall time kills the agent; its work counts all the same."""
    sleepy = '[{write: {path: greeting.txt, text: "hello\\n"}}, {sleep: 60}]'
    project.script(add="[{sleep: 60}]", greet=sleepy)
    with (project.pytester.path / "agentbench.yaml").open("a") as file:
        file.write("defaults: {limits: {time: 2s}}\n")
    result = project.run(*workers)
    result.assert_outcomes(passed=1, failed=1)
    records = project.records()
    assert records["add[bot-r1]"]["reason"] == "oracle", "what failed says more than the limit"
    assert records["greet[bot-r1]"]["agent_run"]["timed_out"] is True


def test_five_megabytes_of_prompt_reach_the_agent(project: Project) -> None:
    """A huge prompt is given on standard input, whole."""
    project.write(
        "tasks/huge.yaml",
        "prompt_file: huge/prompt.md\noracles: [{files: {size: {equals: '5000000'}}}]\n",
    )
    project.write("tasks/huge/prompt.md", "x" * 5_000_000)
    project.write(
        "agentbench.yaml",
        "variants: {v: {agent: command, options: {run: 'printf %s $(wc -c) > size'}}}\n",
    )
    project.run("tasks/huge.yaml").assert_outcomes(passed=1)


def test_file_names_that_are_not_utf8_and_floods_lose_nothing(
    project: Project, workers: tuple[str, ...]
) -> None:
    """Odd names and a flood of output: clear outcomes, and both records are there."""
    shell = (
        "touch \"$(printf 'odd\\377name')\"; head -c 300000000 /dev/zero; "
        'printf "hello\\n" > greeting.txt'
    )
    project.write(
        "agentbench.yaml",
        f"variants:\n  v:\n    agent: command\n    options:\n      run: |\n        {shell}\n",
    )
    result = project.run("--agentbench-keep=all", *workers)
    result.assert_outcomes(passed=1, failed=1)
    record = project.records()["add[v-r1]"]
    assert record["agent_run"]["stdout_bytes"] == 300_000_000
    assert record["churn"]["files_added"] == 2
    result.stdout.fnmatch_lines(["*A odd?xffname*"])


@pytest.fixture
def tiny_disk(project: Project) -> Iterator[Path]:
    """A file system of one megabyte, mounted where results go."""
    require("mount")
    place = project.pytester.path / "tiny"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)]
    subprocess.run(mount, check=True)
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_results_that_fill_up_lose_no_verdict(
    project: Project, workers: tuple[str, ...], tiny_disk: Path
) -> None:
    """A disk that fills up while trials run: the verdicts stand, and the records are elsewhere."""
    fill = f"head -c 2000000 /dev/zero > {tiny_disk}/filler; "
    project.write(
        "agentbench.yaml",
        "variants:\n  v:\n    agent: command\n    options:\n"
        f"      run: '{fill} printf \"hello\\n\" > greeting.txt; touch calc.py'\n",
    )
    result = project.run(f"--agentbench-results={tiny_disk}", *workers)
    result.assert_outcomes(passed=1, failed=1)
    assert result.ret == 1
    text = result.stdout.str()
    assert "No space left on device" in text
    assert "2 planned: 1 passed, 1 failed, 0 error" in text
    (saved,) = (line for line in result.outlines if "saved in" in line)
    rescued = Path(saved.rpartition("saved in ")[2].strip())
    assert len(rescued.read_text().splitlines()) == 2
    assert {json.loads(line)["outcome"] for line in rescued.read_text().splitlines()} == {
        "passed",
        "failed",
    }


def test_ten_thousand_small_files_are_carried_to_scoring(project: Project) -> None:
    """An agent that leaves many files is scored with all of them."""
    project.write(
        "tasks/many.yaml",
        "prompt: Make 10,000 files.\n"
        "oracles: [{run: 'test $(ls many | wc -l) = 10000 && test $(cat many/777) = 777'}]\n",
    )
    make = "mkdir many; i=0; while [ $i -lt 10000 ]; do echo $i > many/$i; i=$((i+1)); done"
    project.write(
        "agentbench.yaml", f"variants: {{v: {{agent: command, options: {{run: '{make}'}}}}}}\n"
    )
    project.run("tasks/many.yaml").assert_outcomes(passed=1)
    assert project.records()["many[v-r1]"]["churn"]["files_added"] == 10_000
