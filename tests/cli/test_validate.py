"""``agentbench validate``: the messages of collection, and proofs by trials."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cli.conftest import Agentbench

from requirements import require

WRONG_TASK = "promt: x\noracles: [{rn: x}]\n"
WRONG_EXPERIMENT = "variants: {a: {agent: nop}}\n"

BREAKS_OFF = """\
import pytest

def pytest_collectstart(collector):
    if collector.name == "greet.yaml":
        raise {}
"""

INTERRUPTIBLE = """\
import signal, sys
from pytest_agentbench.cli import main

# Whoever runs us in the background has it ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.exit(main(sys.argv[1:]))
"""


def proofs(done: subprocess.CompletedProcess[str]) -> dict[str, dict[str, tuple[str, str]]]:
    """Status and detail by task and by what was tried."""
    return {
        task["id"]: {one["what"]: (one["status"], one["detail"]) for one in task["proofs"]}
        for task in json.loads(done.stdout)["tasks"]
    }


def test_all_is_well(agentbench: Agentbench, suite: Path) -> None:
    """Tasks without a fault: exit 0, and how many there are."""
    assert suite.is_dir()
    done = agentbench("validate")
    assert (done.returncode, done.stdout) == (0, "2 tasks, 0 wrong files\n")


def test_same_messages_as_collection(agentbench: Agentbench, suite: Path) -> None:
    """What pytest says of a wrong file, this says too, word for word; the others are counted."""
    (suite / "tasks/bad.yaml").write_text(WRONG_TASK)
    (suite / "tasks/twice.yaml").write_text("id: greet\nprompt: p\noracles: [{run: x}]\n")
    done = agentbench("validate", "tasks")
    assert done.returncode == 1
    collected = subprocess.run(
        [sys.executable, "-m", "pytest", "tasks", "--co", "-q", "-p", "no:cacheprovider"],
        cwd=suite,
        env={k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    ).stdout
    messages = done.stdout.split("\n\n")
    assert len(messages) == 3
    assert "unknown key 'promt'; did you mean 'prompt'?" in messages[0]
    assert "the id 'greet' is taken by tasks/greet.yaml:1" in messages[1]
    assert messages[2] == "2 tasks, 2 wrong files\n"
    for message in messages[:2]:
        assert message in collected


def test_experiments_too(agentbench: Agentbench, suite: Path) -> None:
    """All experiment files of the project are read, not the chosen one alone."""
    (suite / "experiments").mkdir()
    (suite / "experiments/good.yaml").write_text("variants: {a: {agent: noop}}\n")
    (suite / "experiments/bad.yaml").write_text(WRONG_EXPERIMENT)
    done = agentbench("validate")
    assert done.returncode == 1
    assert done.stdout.startswith("experiments/bad.yaml:1:23: unknown agent 'nop'")
    (suite / "experiments/bad.yaml").unlink()
    (suite / "agentbench.yaml").write_text(WRONG_EXPERIMENT)
    done = agentbench("validate")
    assert done.returncode == 1
    assert done.stdout.count("unknown agent 'nop'") == 1


def test_what_an_experiment_makes_of_the_tasks(agentbench: Agentbench, suite: Path) -> None:
    """A suite without a task, in the chosen experiment or another one, is wrong."""
    text = "variants: {a: {agent: noop}}\nsuites: {mine: {select: {ids: [nosuch]}}}\n"
    (suite / "experiments").mkdir()
    for name in ("experiments/other.yaml", "agentbench.yaml"):
        (suite / name).write_text(text)
        done = agentbench("validate")
        assert done.returncode == 1, done.stdout
        assert f"{name}:2:" in done.stdout
        assert "the suite 'mine'" in done.stdout
        (suite / name).unlink()
    assert agentbench("validate").returncode == 0


def test_a_strict_project(agentbench: Agentbench, suite: Path) -> None:
    """A project that turns warnings into errors, and distributes its tests, is no obstacle."""
    (suite / "pytest.ini").write_text(
        "[pytest]\nfilterwarnings = error\nxfail_strict = true\n"
        "addopts = -n 2 --strict-config --strict-markers -v\n"
    )
    assert agentbench("validate").stdout == "2 tasks, 0 wrong files\n"


@pytest.mark.parametrize(
    "options",
    [
        "-n 2 --maxfail=1",
        "-x --sw",
        "--lf --nf",
        "--ff -p no:xdist",
        "-p no:cacheprovider",
        "--junitxml=report.xml -k nothing -m nothing",
    ],
)
def test_options_of_a_project(agentbench: Agentbench, suite: Path, options: str) -> None:
    """Whatever pytest is told for tests: all problems are told, and nothing is written."""
    (suite / "pytest.ini").write_text(f"[pytest]\naddopts = {options}\n")
    for name in ("first", "second"):
        (suite / f"tasks/{name}.yaml").write_text(WRONG_TASK)
    before = sorted(path for path in suite.rglob("*"))
    done = agentbench("validate")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (1, "2 tasks, 2 wrong files")
    assert done.stdout.count("unknown key 'promt'") == 2
    assert sorted(path for path in suite.rglob("*")) == before


@pytest.mark.parametrize(
    ("conftest", "status", "said"),
    [
        ("raise KeyboardInterrupt", 130, "agentbench: interrupted\n"),
        (BREAKS_OFF.format("KeyboardInterrupt"), 130, "agentbench: interrupted\n"),
        (
            BREAKS_OFF.format("pytest.exit.Exception('enough')"),
            2,
            "agentbench: pytest was ended before all was collected: enough\n",
        ),
        (
            "raise SystemExit(3)",
            2,
            "agentbench: a conftest.py or a plugin ended pytest: exit 3\n",
        ),
    ],
)
def test_broken_off(
    agentbench: Agentbench, suite: Path, conftest: str, status: int, said: str
) -> None:
    """What was not collected to its end is not called well: there may be more."""
    (suite / "conftest.py").write_text(conftest)
    done = agentbench("validate")
    assert (done.returncode, done.stdout, done.stderr) == (status, "", said)


def test_a_reader_that_has_enough(suite: Path) -> None:
    """Where nobody reads the output any more, there is no traceback."""
    command = f"{sys.executable} -m pytest_agentbench.cli validate | :"
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command}"],
        cwd=suite,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (done.returncode, done.stdout, done.stderr) == (141, "", "")


def test_names_that_are_no_text(agentbench: Agentbench, suite: Path) -> None:
    """A file whose name is no UTF-8 is told, in JSON too."""
    name = os.fsdecode(b"tasks/b\xff.yaml")
    (suite / name).write_text(WRONG_TASK)
    assert "tasks/b\\xff.yaml:1:1: " in agentbench("validate").stdout
    (problem,) = json.loads(agentbench("validate", "--json").stdout)["problems"]
    assert "unknown key 'promt'" in problem


def test_a_sandbox_that_is_not_known(agentbench: Agentbench, suite: Path) -> None:
    """It is the command that is wrong, and no task."""
    assert suite.is_dir()
    done = agentbench("validate", "--run", "--sandbox=bubblewarp")
    assert (done.returncode, done.stdout) == (2, "")
    assert "unknown sandbox 'bubblewarp'; did you mean 'bubblewrap'?" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted(suite: Path, tmp_path: Path, number: signal.Signals) -> None:
    """Proofs that are interrupted end at once, with all of their processes and directories."""
    (suite / "tasks/slow.yaml").write_text(
        "prompt: p\n"
        f"oracles: [{{run: 'touch {tmp_path}/began; sleep 300'}}]\n"
        "sandbox: {driver: local}\n"
    )
    room = tmp_path / "room"
    room.mkdir()
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTIBLE, "validate", "--run", "tasks/slow.yaml"],
        cwd=suite,
        env={**environment, "TMPDIR": str(room)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not (tmp_path / "began").exists():
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(number)
    assert process.communicate(timeout=30) == ("", "agentbench: interrupted\n")
    assert process.returncode == 130
    assert [one.name for one in room.iterdir() if "slots" not in one.name] == []


def test_python_tests_are_left_alone(agentbench: Agentbench, suite: Path) -> None:
    """Nothing is imported to look at task files."""
    (suite / "test_breaks.py").write_text("raise SystemExit('imported')\n")
    assert agentbench("validate").returncode == 0


def test_some_paths(agentbench: Agentbench, suite: Path) -> None:
    """Paths choose; one that is not there, and a place without tasks, are no success."""
    (suite / "tasks/bad.yaml").write_text(WRONG_TASK)
    assert agentbench("validate", "tasks/greet.yaml").stdout == "1 task, 0 wrong files\n"
    done = agentbench("validate", "nosuch")
    assert (done.returncode, done.stderr) == (
        2,
        "agentbench: file or directory not found: nosuch\n",
    )
    (suite / "empty").mkdir()
    done = agentbench("validate", "empty")
    assert (done.returncode, done.stdout) == (1, "no task file was found\n")


def test_as_json(agentbench: Agentbench, suite: Path) -> None:
    """For machines: the problems, and each task with its file."""
    (suite / "tasks/bad.yaml").write_text(WRONG_TASK)
    said = json.loads(agentbench("validate", "--json").stdout)
    assert len(said["problems"]) == 1
    assert [(task["id"], task["file"]) for task in said["tasks"]] == [
        ("add", "tasks/add.yaml"),
        ("greet", "tasks/greet.yaml"),
    ]


UNSOLVED = """\
prompt: Write 1 to a.txt.
oracles: [{run: grep -q 1 a.txt}]
solution: {files: {a.txt: "2"}}
"""
VACUOUS = """\
prompt: Write 1 to a.txt.
oracles: [{run: 'true', name: vacuous}, {files: {a.txt: {exists: true}}, required: false}]
solution: {files: {a.txt: "1"}}
controls:
  - {name: wrong, files: {a.txt: "2"}, fails: vacuous}
"""
FICKLE = """\
prompt: Write 1 to a.txt.
oracles:
  - {run: grep -q 1 a.txt, name: content}
  - {run: 'test $(( $(date +%N | sed s/^0*//) / 1000 % 2 )) = 0', name: fickle, required: false}
solution: {files: {a.txt: "1"}}
controls:
  - {name: two, files: {a.txt: "2"}, fails: content}
"""


def test_tasks_that_measure_something_else(agentbench: Agentbench, suite: Path) -> None:
    """A solution that fails, an oracle that passes all, a control that is not refused."""
    require("bubblewrap")
    (suite / "tasks/unsolved.yaml").write_text(UNSOLVED)
    (suite / "tasks/vacuous.yaml").write_text(VACUOUS)
    done = agentbench("validate", "--run", "--json")
    assert done.returncode == 1
    found = proofs(done)
    assert found["unsolved"]["reference"][0] == "wrong"
    assert "failed (oracle): run: exited with 1" in found["unsolved"]["reference"][1]
    assert found["unsolved"]["noop"][0] == "ok"
    assert found["vacuous"]["noop"] == ("wrong", "passed without doing anything")
    assert found["vacuous"]["control wrong"] == ("wrong", "passed")
    for good in ("add", "greet"):
        assert {status for status, _ in found[good].values()} == {"ok", "unproven"}, found[good]


def test_refused_by_another_oracle(agentbench: Agentbench, suite: Path) -> None:
    """A control that fails, but not for the oracle that is named, is no proof of it."""
    require("bubblewrap")
    task = suite / "tasks/other.yaml"
    task.write_text(
        "prompt: p\n"
        "oracles: [{run: test -e a, name: first}, {run: test -e b, name: second}]\n"
        "solution: {files: {a: '', b: ''}}\n"
        "controls: [{name: half, files: {a: ''}, fails: first}]\n"
    )
    done = agentbench("validate", "--run", "--json", "tasks/other.yaml")
    assert done.returncode == 1
    assert proofs(done)["other"]["control half"] == (
        "wrong",
        "first lets it pass; refused by second",
    )
    task.write_text(task.read_text().replace("fails: first", "fails: second"))
    assert agentbench("validate", "--run", "tasks/other.yaml").returncode == 0


def test_refused_before_its_oracle_was_run(agentbench: Agentbench, suite: Path) -> None:
    """An oracle that is not run for want of what it needs has refused nothing."""
    require("bubblewrap")
    (suite / "tasks/chain.yaml").write_text(
        "prompt: p\n"
        "oracles: [{run: test -e a, name: first}, {run: 'true', name: second, needs: [first]}]\n"
        "solution: {files: {a: ''}}\n"
        "controls: [{name: none, files: {b: ''}, fails: second}]\n"
    )
    done = agentbench("validate", "--run", "--json", "tasks/chain.yaml")
    assert done.returncode == 1
    assert proofs(done)["chain"]["control none"] == (
        "wrong",
        "second is not run; refused by first",
    )


def test_fickle_oracle(agentbench: Agentbench, suite: Path) -> None:
    """An oracle that does not say the same each time is found, though the verdict is the same."""
    require("bubblewrap")
    (suite / "tasks/fickle.yaml").write_text(FICKLE)
    done = agentbench("validate", "--run", "--runs=12", "--json", "tasks/fickle.yaml")
    found = proofs(done)["fickle"]
    assert done.returncode == 1
    assert found["same each time"][0] == "wrong"
    assert "fickle said of reference: " in found["same each time"][1]
    assert (found["reference"][0], found["noop"][0]) == ("ok", "ok")


LIMITED = """\
prompt: Write 1 to a.txt.
oracles: [{run: grep -q 1 a.txt}]
solution: {files: {a.txt: "1"}}
sandbox: {memory: 200m, pids: 20, network: none}
limits: {workspace: 1m}
"""


def test_limits(agentbench: Agentbench, suite: Path) -> None:
    """Each limit that a task sets is tried, and holds."""
    require("bubblewrap")
    (suite / "tasks/limited.yaml").write_text(LIMITED)
    found = proofs(agentbench("validate", "--run", "--json", "tasks/limited.yaml"))["limited"]
    limits = {what: status for what, (status, _) in found.items() if what.startswith("limit ")}
    assert limits == {
        "limit time": "ok",
        "limit memory": "ok",
        "limit pids": "ok",
        "limit network": "ok",
        "limit workspace": "ok",
    }, found


def test_without_walls(agentbench: Agentbench, suite: Path) -> None:
    """In ``local`` nothing is hidden, and that is said instead of proved."""
    assert suite.is_dir()
    done = agentbench("validate", "--run", "--json", "--sandbox=local")
    found = proofs(done)
    assert found["add"]["hidden from agents"] == (
        "unproven",
        "nothing isolates in this sandbox",
    )
    assert found["add"]["reference"][0] == "ok"


def test_where_nothing_isolates(agentbench: Agentbench, suite: Path, tmp_path: Path) -> None:
    """Without bubblewrap, what needs walls is unproven, and the answers are tried all the same."""
    assert suite.is_dir()
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("git", "sh"):
        (tools / name).symlink_to(shutil.which(name) or "")
    done = agentbench("validate", "--run", "--json", path=str(tools))
    assert done.returncode == 0, done.stdout
    for name in ("add", "greet"):
        found = proofs(done)[name]
        assert found["reference"] == found["noop"] == ("ok", "")
        assert found["hidden from agents"][0] == found["limits"][0] == "unproven"


def test_the_projects_own_settings_count(agentbench: Agentbench, suite: Path) -> None:
    """The driver of the ini file is the one that is tried, as in a session."""
    (suite / "pytest.ini").write_text(
        "[pytest]\nagentbench_tasks = tasks\nagentbench_sandbox = local\n"
    )
    found = proofs(agentbench("validate", "--run", "--json"))
    assert found["add"]["hidden from agents"] == ("unproven", "nothing isolates in this sandbox")
    assert found["add"]["limit time"] == ("ok", "")


def test_another_experiment(agentbench: Agentbench, suite: Path) -> None:
    """The experiment that is named is the one whose defaults hold."""
    (suite / "experiments").mkdir()
    (suite / "experiments/walled.yaml").write_text(
        "variants: {a: {agent: noop}}\ndefaults: {sandbox: {driver: local}}\n"
    )
    done = agentbench("validate", "--run", "--json", "--experiment=walled")
    assert proofs(done)["add"]["hidden from agents"][0] == "unproven"
    done = agentbench("validate", "--experiment=waled")
    assert done.returncode == 2
    assert "unknown experiment 'waled'; did you mean 'walled'?" in done.stderr


def test_an_oracle_in_plain_sight(agentbench: Agentbench, suite: Path, tmp_path: Path) -> None:
    """A copy of the oracle where the sandbox shows it is found."""
    require("bubblewrap")
    shown = tmp_path / "shown"
    shown.mkdir()
    oracle = suite / "tasks/oracle/test_a.py"
    oracle.parent.mkdir()
    oracle.write_text("import a\n\ndef test_it():\n    assert a.answer() == 42  # the answer\n")
    (shown / "copy.py").write_bytes(oracle.read_bytes())
    (suite / "tasks/seen.yaml").write_text(
        "prompt: p\noracles: [{pytest: oracle}]\n"
        "solution: {files: {a.py: 'def answer(): return 42'}}\n"
        f"sandbox: {{read_only: [{shown}]}}\n"
    )
    done = agentbench("validate", "--run", "--json", "tasks/seen.yaml")
    status, detail = proofs(done)["seen"]["hidden from agents"]
    assert status == "wrong"
    assert detail == f"{shown}/copy.py is test_a.py"
    (shown / "copy.py").unlink()
    done = agentbench("validate", "--run", "--json", "tasks/seen.yaml")
    assert proofs(done)["seen"]["hidden from agents"] == ("ok", "")


def test_tasks_with_fixtures_are_left_to_pytest(agentbench: Agentbench, suite: Path) -> None:
    """What only a session of tests can set up is unproven, and that is said; others are tried."""
    task = suite / "tasks/greet.yaml"
    task.write_text(task.read_text() + "fixtures: [database, queue]\n")
    done = agentbench("validate", "--run", "--runs=1", "--sandbox=local")
    assert done.returncode == 0
    found = proofs(agentbench("validate", "--run", "--runs=1", "--sandbox=local", "--json"))
    ((status, why),) = found["greet"].values()
    assert status == "unproven"
    assert why.startswith("needs the pytest fixtures database, queue; try `pytest`, ")
    assert found["add"]["reference"] == ("ok", "")
    assert f"- greet: {why}" in done.stdout
    assert done.stdout.endswith("2 tasks, 0 wrong files, 0 proofs failed, 1 task not proved\n")


def test_skipped_tasks(agentbench: Agentbench, suite: Path) -> None:
    """A task that is skipped here is not tried, and that is said."""
    (suite / "tasks/add.yaml").write_text("prompt: p\noracles: [{run: 'false'}]\nskip: not ready\n")
    done = agentbench("validate", "--run", "--sandbox=local")
    assert "add: skipped: " in done.stdout
    assert "not ready" in done.stdout
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("number", ["0", "-1", "x"])
def test_counts(agentbench: Agentbench, number: str) -> None:
    """How often is a whole number above 0."""
    assert agentbench("validate", f"--runs={number}").returncode == 2
