"""The ``command`` agent: its options, its command lines, its last words."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from pytest_agentbench.agents.base import FINAL_MESSAGE_LIMIT
from pytest_agentbench.agents.command import CommandLineAgent, CommandOptions
from pytest_agentbench.model.contracts import AgentCommand, AgentContext
from pytest_agentbench.model.run import Completed, Output, Transcript, Usage
from pytest_agentbench.model.task import JsonValue, Limits, Position, SandboxSpec, TaskSpec
from pytest_agentbench.model.trial import TrialSpec
from pytest_agentbench.model.variant import Variant


def trial(prompt: str = "Fix it.\n") -> TrialSpec:
    task = TaskSpec("fix", Position(Path("/t/task.yaml"), 1), prompt, oracles=(), digest="d")
    return TrialSpec(task, Variant("mine", "command"), 1, Limits(), SandboxSpec())


def command(options: dict[str, JsonValue], env: dict[str, str] | None = None) -> AgentCommand:
    agent = CommandLineAgent(CommandOptions.model_validate(options))
    return agent.command(trial(), AgentContext(env=env or {}))


def complaint(options: dict[str, JsonValue]) -> tuple[tuple[int | str, ...], str]:
    with pytest.raises(ValidationError) as caught:
        CommandOptions.model_validate(options)
    (error,) = caught.value.errors()
    return error["loc"], error["msg"]


def said(stdout: Output) -> Transcript:
    agent = CommandLineAgent(CommandOptions(run="true"))
    return agent.parse(Completed(0, 1.0, stdout=stdout))


def test_prompt_goes_to_stdin_by_default() -> None:
    """An argv is run as it is, with the prompt's bytes on stdin."""
    assert command({"run": ["tool", "{python}"]}) == AgentCommand(
        ("tool", "{python}"), stdin=b"Fix it.\n"
    )


def test_shell_string_goes_to_sh() -> None:
    """A string is run by sh, unchanged."""
    assert command({"run": "a | b"}).argv == ("sh", "-c", "a | b")


def test_prompt_file_is_last_argument() -> None:
    """With ``prompt: file`` the path of the prompt's file ends the argv, and stdin is empty."""
    made = command({"run": ["tool", "-f"], "prompt": "file"})
    assert (made.argv, made.stdin) == (("tool", "-f", "{prompt_file}"), b"")


def test_prompt_file_stands_where_it_is_named() -> None:
    """A command that names the prompt's file gets no second one at its end."""
    named = command({"run": ["tool", "--in={prompt_file}", "-v"], "prompt": "file"})
    shell = command({"run": 'tool < "$AGENTBENCH_PROMPT_FILE"', "prompt": "file"})
    assert named.argv == ("tool", "--in={prompt_file}", "-v")
    assert shell.argv == ("sh", "-c", 'tool < "$AGENTBENCH_PROMPT_FILE"')


def test_prompt_file_reaches_a_shell_string() -> None:
    """A shell string that does not name the prompt's file gets its path as last argument."""
    made = command({"run": "tool -f\n", "prompt": "file"})
    assert made.argv == ("sh", "-c", 'tool -f "$1"', "sh", "{prompt_file}")


def test_prompt_argument_stays_out_of_our_argv() -> None:
    """A prompt that is an argument is read from its file, so that braces in it stay as they are."""
    made = command({"run": ["tool", "-p"], "prompt": "arg"})
    assert made.argv[:2] == ("sh", "-c")
    assert made.argv[3:] == ("{prompt_file}", "tool", "-p")
    assert "Fix it." not in " ".join(made.argv)


def test_prompt_argument_in_a_shell_string() -> None:
    """A shell string gets the prompt at its end, or where it says $1 or $@ itself."""
    plain = command({"run": "tool -p", "prompt": "arg"})
    placed = command({"run": 'tool "$1" | tee log', "prompt": "arg"})
    assert plain.argv[4:] == ("sh", "-c", 'tool -p "$1"', "sh")
    assert placed.argv[4:] == ("sh", "-c", 'tool "$1" | tee log', "sh")


def test_variant_environment_is_handed_on() -> None:
    """The variant's environment is the command's."""
    assert command({"run": "true"}, {"KEY": "v"}).env == {"KEY": "v"}


@pytest.mark.parametrize(
    ("options", "where", "message"),
    [
        ({}, ("run",), "Field required"),
        ({"run": " "}, ("run",), "Value error, the command is empty"),
        (
            {"run": []},
            ("run",),
            "Value error, wants a list of words ([tool, --flag]) or a shell string",
        ),
        (
            {"run": ["tool", 3]},
            ("run",),
            "Value error, word 2 is 3, not a string; put it in quotes",
        ),
        ({"run": ["", "x"]}, ("run",), "Value error, the first word, the program, is empty"),
        ({"run": "a\0b"}, ("run",), "Value error, a command cannot hold a NUL character"),
        ({"run": ["a", "\0"]}, ("run",), "Value error, word 2 holds a NUL character"),
        ({"run": "x", "prompt": "tty"}, ("prompt",), "Input should be 'stdin', 'arg' or 'file'"),
        ({"run": "x", "model": "m"}, ("model",), "Extra inputs are not permitted"),
    ],
)
def test_wrong_options_say_what_is_wrong(
    options: dict[str, JsonValue], where: tuple[str, ...], message: str
) -> None:
    """Each wrong option gives one message, at its own place."""
    assert complaint(options) == (where, message)


def test_last_words_are_the_final_message() -> None:
    """What was printed is the final message; usage stays unknown."""
    assert said(Output(head=b"\n working\ndone \n", total=16)) == Transcript(
        final_message="working\ndone", usage=Usage()
    )


@pytest.mark.parametrize("silence", [b"", b" \n\t\n"])
def test_silence_is_no_message(silence: bytes) -> None:
    """An agent that printed nothing has no final message."""
    assert said(Output(head=silence, total=len(silence))).final_message is None


def test_long_output_keeps_its_end() -> None:
    """Of long output, the end is kept, and the cut is marked."""
    message = said(Output(head=b"a" * 500, tail=b"z" * 9_000, total=10**9)).final_message
    assert message == "…" + "z" * (FINAL_MESSAGE_LIMIT - 1)


def test_any_bytes_are_read() -> None:
    """Bytes that are no UTF-8 are replaced, never an error."""
    assert said(Output(head=b"\xff\xfe ok", total=5)).final_message == "\ufffd\ufffd ok"
