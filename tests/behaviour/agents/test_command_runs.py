"""The ``command`` agent as a real process in real sandboxes."""

from __future__ import annotations

import pytest
from behaviour.agents.arena import Arena

PROMPT = "Fix 'it': \"{python}\" $HOME `x` \\n {stage} é\n\n"


@pytest.mark.parametrize(
    "options",
    [
        {"run": ["cp", "/dev/stdin", "got"]},
        {"run": "cat > got"},
        {"run": ["sh", "-c", 'printf %s "$1" > got', "sh"], "prompt": "arg"},
        {"run": 'printf %s "$1" > got', "prompt": "arg"},
        {"run": "exec env printf '%s' > got", "prompt": "arg"},
        {"run": ["cp", "{prompt_file}", "got"], "prompt": "file"},
        {"run": "cat > got <", "prompt": "file"},
        {"run": 'cat "$AGENTBENCH_PROMPT_FILE" > got', "prompt": "file"},
    ],
)
def test_prompt_arrives_as_it_is(arena: Arena, options: dict[str, object]) -> None:
    """On every way the prompt arrives character by character: quotes, braces, ends of line."""
    played = arena.play("command", options, prompt=PROMPT)  # type: ignore[arg-type]
    assert (played.exit_code, played.changes) == (0, {"got": PROMPT.encode()})


@pytest.mark.parametrize("way", ["stdin", "file"])
def test_huge_prompt(arena: Arena, way: str) -> None:
    """A prompt of 5 MB arrives on stdin and as a file."""
    prompt = "0123456789abcde\n" * 330_000
    run = "wc -c > got" if way == "stdin" else "wc -c > got <"
    played = arena.play("command", {"run": run, "prompt": way}, prompt=prompt)
    assert played.changes == {"got": b"5280000\n"}


def test_huge_prompt_as_argument_does_not_start(arena: Arena) -> None:
    """A prompt that is longer than an argument may be is a failed start, which says so."""
    played = arena.play("command", {"run": ["true"], "prompt": "arg"}, prompt="x" * 3_000_000)
    assert played.exit_code == 126
    assert played.run.completed is not None
    assert "rgument list too long" in played.run.completed.stderr.text()


def test_harness_is_announced(arena: Arena) -> None:
    """The agent finds task, variant, repeat, prompt and its variant's environment."""
    run = (
        'echo "$AGENTBENCH_TASK $AGENTBENCH_VARIANT $AGENTBENCH_REPEAT $KEY";'
        ' cat "$AGENTBENCH_PROMPT_FILE"'
    )
    played = arena.play("command", {"run": run}, prompt="Go on.", env={"KEY": "v"})
    assert played.stdout == "fix mine 2 v\nGo on."
    assert played.run.transcript.final_message == "fix mine 2 v\nGo on."


def test_python_is_the_sandboxes(arena: Arena) -> None:
    """``{python}`` in an argv is the interpreter of the sandbox."""
    run: list[object] = ["{python}", "-c", "print(6 * 7)"]
    played = arena.play("command", {"run": run})  # type: ignore[dict-item]
    assert played.stdout == "42\n"


def test_exit_code_and_work_are_kept(arena: Arena) -> None:
    """What a failing agent did and said is there, with its exit code."""
    played = arena.play("command", {"run": "echo half > a; echo stuck >&2; exit 9"})
    assert (played.exit_code, played.changes) == (9, {"a": b"half\n"})
    assert played.run.transcript.final_message is None


def test_missing_program(arena: Arena) -> None:
    """A program that is not there is a failed start, not an exception."""
    played = arena.play("command", {"run": ["no-such-agent"]})
    assert played.run.completed is not None
    assert played.run.completed.launch_error or played.exit_code == 127


def test_time_limit_ends_it(arena: Arena) -> None:
    """An agent that goes on is ended by the wall time, and what it wrote is there."""
    played = arena.play("command", {"run": "echo x > a; sleep 60"}, time_s=1.0)
    assert played.run.timed_out
    assert played.changes == {"a": b"x\n"}


def test_output_of_any_bytes(arena: Arena) -> None:
    """Output that is no UTF-8 is a message with replacements."""
    played = arena.play("command", {"run": r"printf '\377\376 ok'"})
    assert played.run.transcript.final_message == "\ufffd\ufffd ok"
