"""The ``scripted`` agent as a real process in real sandboxes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from behaviour.agents.arena import Arena, Played

from pytest_agentbench.agents import scripted_player
from pytest_agentbench.model.run import Evidence, Usage
from pytest_agentbench.model.task import JsonValue


def play(arena: Arena, *steps: JsonValue, time_s: float = 60.0, **workspace: str) -> Played:
    files = {name.replace("__", "."): text for name, text in workspace.items()}
    return arena.play("scripted", {"steps": list(steps)}, workspace=files, time_s=time_s)


def test_files_are_written(arena: Arena) -> None:
    """Write, append, replace and delete do what they say, in new directories, with any bytes."""
    played = play(
        arena,
        {"write": {"path": "a/b/new", "text": "é"}},
        {"append": {"path": "a/b/new", "text": "!\r\n"}},
        {"append": {"path": "made/by/append", "base64": "/wA="}},
        {"replace": {"path": "old", "old": "two", "new": "2"}},
        {"delete": "gone"},
        {"delete": "a/b/../b/nothing"},
        old="one two\r\nthree",
        gone="x",
    )
    assert played.exit_code == 70, "the last delete has nothing to delete"
    assert played.changes == {
        "a/b/new": "é!\r\n".encode(),
        "made/by/append": b"\xff\x00",
        "old": b"one 2\r\nthree",
        "gone": None,
    }


def test_directories_are_deleted_and_symlinks_only_unlinked(arena: Arena) -> None:
    """Deleting takes a directory whole, and of a symlink the link alone."""
    played = play(
        arena,
        {"run": "mkdir -p d/e; echo x > d/e/f; echo y > target; ln -s target link"},
        {"delete": "d"},
        {"delete": "link"},
    )
    assert (played.exit_code, played.changes) == (0, {"target": b"y\n"})


def test_report_comes_back(arena: Arena) -> None:
    """Final message and usage come back as written; what was null or absent is unknown."""
    played = play(
        arena,
        {"usage": {"input_tokens": 7}},
        {"final": "Done: é."},
        {"usage": {"output_tokens": 0, "turns": None, "cost_usd": 0.25}},
    )
    assert played.run.transcript.final_message == "Done: é."
    assert played.run.transcript.usage == Usage(output_tokens=0, cost_usd=0.25, source="scripted")


def test_use_comes_back_as_evidence(arena: Arena) -> None:
    """Skills and tools that the script reached are seen, and none behind its end."""
    played = play(
        arena,
        {"use": {"skill": "review"}},
        {"use": {"tool": "web_search"}},
        {"use": {"tool": "shell"}},
        {"exit": 0},
        {"use": {"skill": "never"}},
    )
    assert played.run.transcript.evidence == Evidence(
        skills=frozenset({"review"}), tools=frozenset({"web_search", "shell"})
    )


def test_silent_script_reports_nothing(arena: Arena) -> None:
    """Without a final message and usage, both are unknown, never empty or zero."""
    played = play(arena, {"print": "hello"})
    assert played.run.transcript.final_message is None
    assert played.run.transcript.usage == Usage()


def test_exit_ends_the_script(arena: Arena) -> None:
    """After ``exit`` nothing is played, and only what was reached is reported."""
    played = play(
        arena,
        {"final": "first"},
        {"exit": 3},
        {"final": "second"},
        {"write": {"path": "a", "text": ""}},
    )
    assert (played.exit_code, played.changes) == (3, {})
    assert played.run.transcript.final_message == "first"


@pytest.mark.parametrize(
    ("step", "words"),
    [
        ({"replace": {"path": "f", "old": "zzz", "new": ""}}, "not at all, not once: 'zzz'"),
        ({"replace": {"path": "f", "old": "a", "new": ""}}, "2 times, not once: 'a'"),
        ({"delete": "nothing"}, "step 2 (delete) failed: [Errno 2]"),
        ({"run": ["sh", "-c", "exit 4"]}, "['sh', '-c', 'exit 4'] ended with 4"),
        ({"run": ["no-such-tool"]}, "step 2 (run) failed: [Errno 2]"),
        ({"spawn": ["no-such-tool"]}, "'no-such-tool' is no program on PATH"),
        ({"write": {"path": "f/x", "text": ""}}, "step 2 (write) failed: [Errno"),
    ],
)
def test_step_that_fails_ends_the_script(arena: Arena, step: JsonValue, words: str) -> None:
    """A step that cannot be played ends the script with 70 and its number, after the report."""
    played = play(arena, {"final": "so far"}, step, {"final": "never"}, f="a b a")
    assert played.run.completed is not None
    assert words in played.run.completed.stderr.text()
    assert (played.exit_code, played.changes) == (70, {})
    assert played.run.transcript.final_message == "so far"


def test_commands_run(arena: Arena) -> None:
    """Commands run in the workspace, with the harness's names, one after the other."""
    played = play(
        arena,
        {"print": "before"},
        {"run": 'echo "$AGENTBENCH_TASK $AGENTBENCH_REPEAT"'},
        {"run": ["{python}", "-c", "open('a', 'w').write('x')"]},
        {"run": "{python} -c 'print(1)'"},
        {"run": {"command": "false", "may_fail": True}},
        {"print": "after"},
    )
    assert played.stdout.startswith("before\nfix 2\n1\nafter\n")
    assert (played.exit_code, played.changes) == (0, {"a": b"x"})


def test_flood_does_not_drown_the_report(arena: Arena) -> None:
    """Behind 50 MB of output that is no UTF-8, the report is still found; stderr floods apart."""
    played = play(
        arena,
        {"print": {"base64": "//79", "repeat": 17_000_000}},
        {"print": {"text": "x" * 1000, "repeat": 3_001, "to": "stderr"}},
        {"final": "still here"},
    )
    assert played.run.completed is not None
    assert played.run.completed.stdout.total > 51_000_000
    assert played.run.completed.stderr.total == 3_001_000
    assert played.run.transcript.final_message == "still here"


@pytest.mark.parametrize("keep_output", [False, True])
def test_spawned_process_dies_with_the_sandbox(arena: Arena, *, keep_output: bool) -> None:
    """A background process starts, holds nobody up, and is dead before changes are looked at."""
    loop = "echo up > up; while sleep 0.05; do echo x >> grows; echo y; done"
    played = play(
        arena,
        {"spawn": {"command": loop, "keep_output": keep_output}},
        {"run": "while ! test -e grows; do sleep 0.02; done"},
        {"final": "left one behind"},
    )
    assert played.run.completed is not None
    assert not played.run.timed_out
    assert played.run.completed.survivors == 0
    assert played.changes["up"] == b"up\n"
    assert ("y\n" in played.stdout) is keep_output
    assert played.run.transcript.final_message == "left one behind"


def test_spawned_process_is_in_a_session_of_its_own(arena: Arena) -> None:
    """A spawned process left the script's session, out of reach of its process group."""
    session = "cut -d ' ' -f 6 /proc/self/stat"
    played = play(
        arena,
        {"run": f"{session} > script"},
        {"spawn": f"{session} > draft; mv draft spawned"},
        {"run": "while ! test -e spawned; do sleep 0.02; done"},
    )
    assert played.changes["spawned"] != played.changes["script"]


def test_sleep_is_cut_by_the_time_limit(arena: Arena) -> None:
    """A script that sleeps too long is killed; what it did before stays, its report is unknown."""
    played = play(
        arena,
        {"write": {"path": "a", "text": "x"}},
        {"final": "reached"},
        {"sleep": 60},
        time_s=1.5,
    )
    assert played.run.timed_out
    assert played.changes == {"a": b"x"}
    assert played.run.transcript.final_message is None


def test_same_script_same_result(arena: Arena) -> None:
    """Played twice, a script leaves the same files and prints the same bytes."""
    steps: list[JsonValue] = [
        {"write": {"path": "a", "text": "x"}},
        {"print": {"text": "y", "repeat": 3}},
        {"usage": {"turns": 1}},
    ]
    first, second = play(arena, *steps), play(arena, *steps)
    assert (first.stdout, first.changes) == (second.stdout, second.changes)


def test_player_stands_alone(tmp_path: Path) -> None:
    """The player runs where this package cannot be imported, also without any packages."""
    steps = tmp_path / "steps.json"
    steps.write_text('[{"final": "alone"}]')
    player = Path(scripted_player.__file__).read_bytes()
    (tmp_path / "play.py").write_bytes(player)
    done = subprocess.run(
        [sys.executable, "-I", "-S", tmp_path / "play.py", steps],
        capture_output=True,
        check=False,
        cwd=tmp_path,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.endswith(b'{"final": "alone"}\n')


def test_player_is_python_3_9() -> None:
    """The player's syntax is that of Python 3.9: a task may bring an old interpreter."""
    import ast  # noqa: PLC0415

    ast.parse(Path(scripted_player.__file__).read_text(), feature_version=(3, 9))
