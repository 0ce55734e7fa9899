"""The ``scripted`` agent: its steps, its command, its report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pydantic import ValidationError

from pytest_agentbench.agents import scripted_player
from pytest_agentbench.agents.scripted import REPORT_MARK, ScriptedAgent
from pytest_agentbench.agents.scripted_steps import ScriptedOptions, Step
from pytest_agentbench.errors import SetupError
from pytest_agentbench.model.contracts import AgentContext
from pytest_agentbench.model.run import Completed, Evidence, Output, Transcript, Usage
from pytest_agentbench.model.task import JsonValue, Limits, Position, SandboxSpec, TaskSpec
from pytest_agentbench.model.trial import TrialSpec
from pytest_agentbench.model.variant import Variant


def agent(**options: JsonValue) -> ScriptedAgent:
    return ScriptedAgent(ScriptedOptions.model_validate(options))


def trial(task_id: str = "fix") -> TrialSpec:
    task = TaskSpec(task_id, Position(Path("/t/task.yaml"), 1), "Go.", oracles=(), digest="d")
    return TrialSpec(task, Variant("mine", "scripted"), 1, Limits(), SandboxSpec())


def played(made: ScriptedAgent, task_id: str = "fix") -> JsonValue:
    command = made.command(trial(task_id), AgentContext())
    steps: JsonValue = json.loads(command.stage["steps.json"].data)
    return steps


def complaint(**options: JsonValue) -> tuple[tuple[int | str, ...], str]:
    with pytest.raises(ValidationError) as caught:
        ScriptedOptions.model_validate(options)
    (error,) = caught.value.errors()
    return error["loc"], error["msg"].removeprefix("Value error, ")


def said(*parts: bytes, tail: bytes = b"", dropped: int = 0) -> Transcript:
    head = b"".join(parts)
    output = Output(head=head, tail=tail, total=len(head) + len(tail) + dropped)
    return agent(steps=[]).parse(Completed(0, 1.0, stdout=output))


def report(**content: JsonValue) -> bytes:
    return REPORT_MARK + json.dumps(content).encode() + b"\n"


def test_command_runs_the_staged_player() -> None:
    """The command is the sandbox's interpreter on the staged player, isolated from everything."""
    command = agent(steps=[]).command(trial(), AgentContext(env={"A": "b"}))
    assert command.argv == ("{python}", "-I", "{stage}/play.py", "{stage}/steps.json")
    assert command.env == {"A": "b"}
    assert command.stdin == b""
    assert command.stage["play.py"].data == Path(scripted_player.__file__).read_bytes()


def test_player_and_parser_mean_the_same_mark() -> None:
    """The player is staged alone, so it has a copy of the mark; the two must agree."""
    assert scripted_player.REPORT_MARK == REPORT_MARK


def test_all_steps_are_handed_to_the_player() -> None:
    """Every kind of step reaches the player as it was written, short forms made long."""
    steps: list[JsonValue] = [
        {"write": {"path": "a/b", "text": "é\n"}},
        {"append": {"path": "a/b", "base64": "/w=="}},
        {"replace": {"path": "a/b", "old": "x", "new": ""}},
        {"delete": "a"},
        {"run": ["make", "all"]},
        {"run": {"command": "false", "may_fail": True}},
        {"spawn": "sleep 9"},
        {"spawn": {"command": ["sleep", "9"], "keep_output": True}},
        {"sleep": 0.5},
        {"print": "hello"},
        {"print": {"text": "x", "repeat": 1000, "to": "stderr"}},
        {"usage": {"input_tokens": 5, "turns": None}},
        {"final": "Done."},
        {"exit": 3},
    ]
    expected = [
        *steps[:4],
        {"run": {"command": ["make", "all"]}},
        steps[5],
        {"spawn": {"command": "sleep 9"}},
        *steps[7:9],
        {"print": {"text": "hello\n"}},
        *steps[10:],
    ]
    assert played(agent(steps=steps)) == expected


def test_player_knows_every_kind_of_step() -> None:
    """No kind of step can be written that the player cannot play."""
    missing = [
        kind for kind in Step.model_fields if not hasattr(scripted_player.Player, f"_{kind}")
    ]
    assert missing == []


def test_steps_by_task() -> None:
    """Each task gets its own steps, and one that is not listed the default ones."""
    made = agent(tasks={"fix": [{"exit": 1}]}, default=[{"exit": 2}])
    assert played(made, "fix") == [{"exit": 1}]
    assert played(made, "other") == [{"exit": 2}]


def test_task_without_steps_is_an_error() -> None:
    """Without a default, a task that is not listed is refused, with what is known: a typo shows."""
    with pytest.raises(SetupError) as caught:
        played(agent(tasks={"fix-pages": [], "other": []}), "fix-page")
    assert str(caught.value) == (
        "fix-page: the script has no steps for this task; did you mean 'fix-pages'? "
        "it has some for: fix-pages, other. "
        "Try: add the task to options.tasks, or give options.default for all others"
    )
    assert caught.value.reason == "setup"


KINDS = "append, delete, exit, final, print, replace, run, sleep, spawn, usage, use, write"


@pytest.mark.parametrize(
    ("step", "where", "message"),
    [
        ({"wirte": {}}, (), f"unknown step 'wirte'; did you mean 'write'? known: {KINDS}"),
        ({"zzz": 1}, (), f"unknown step 'zzz'; known: {KINDS}"),
        ("exit", (), f"a step is a mapping with one key, one of {KINDS}"),
        ({}, (), f"a step is a mapping with one key, one of {KINDS}"),
        (
            {"exit": 0, "final": "x"},
            (),
            "a step has one key, this one has 'exit' and 'final'; make them steps of their own",
        ),
        ({"usage": None}, (), "step 'usage' says nothing"),
        ({"write": {"path": "a"}}, ("write",), "give either `text` or `base64`"),
        (
            {"write": {"path": "a", "text": "", "base64": ""}},
            ("write",),
            "give either `text` or `base64`",
        ),
        ({"write": {"text": "a"}}, ("write", "path"), "Field required"),
        ({"write": {"path": "a", "txt": "b"}}, ("write", "txt"), "Extra inputs are not permitted"),
        (
            {"print": {"base64": "?"}},
            ("print", "base64"),
            "not base64: Only base64 data is allowed",
        ),
        (
            {"run": ["sleep", 5]},
            ("run", "command"),
            "word 2 is 5, not a string; put it in quotes",
        ),
        (
            {"spawn": []},
            ("spawn", "command"),
            "wants a list of words ([tool, --flag]) or a shell string",
        ),
        ({"run": "a\0"}, ("run", "command"), "word 1 holds a NUL character"),
        ({"sleep": -1}, ("sleep",), "Input should be greater than or equal to 0"),
        ({"sleep": float("inf")}, ("sleep",), "Input should be a finite number"),
        ({"exit": 256}, ("exit",), "Input should be less than or equal to 255"),
        ({"exit": True}, ("exit",), "Input should be a valid integer"),
        (
            {"usage": {"turns": -1}},
            ("usage", "turns"),
            "Input should be greater than or equal to 0",
        ),
        ({"use": {}}, ("use",), "give either `skill` or `tool`"),
        ({"use": {"skill": "a", "tool": "b"}}, ("use",), "give either `skill` or `tool`"),
    ],
)
def test_wrong_steps_say_what_is_wrong(
    step: JsonValue, where: tuple[str, ...], message: str
) -> None:
    """Each wrong step gives one message, at its own place in the options."""
    assert complaint(steps=[{"sleep": 0}, step]) == (("steps", 1, *where), message)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "needs either `steps` (for every task) or `tasks` (steps by task id)"),
        (
            {"steps": [], "tasks": {}},
            "needs either `steps` (for every task) or `tasks` (steps by task id)",
        ),
        (
            {"steps": [], "default": []},
            "`default` goes with `tasks`; with `steps` there is nothing left for it",
        ),
    ],
)
def test_one_form_of_script(options: dict[str, JsonValue], message: str) -> None:
    """A script is either one for all tasks, or one a task."""
    assert complaint(**options) == ((), message)


def test_report_is_read_from_the_end_of_a_flood() -> None:
    """The report is found behind any amount of output, of any bytes."""
    transcript = said(
        b"\xff" * 10, tail=b"\xfe\xfd\n" + report(final="Done."), dropped=5_000_000_000
    )
    assert transcript == Transcript(final_message="Done.", usage=Usage(), evidence=Evidence())


def test_reported_usage_keeps_what_is_unknown() -> None:
    """What the script left out or gave as null is None, never zero; zero stays zero."""
    transcript = said(report(usage={"input_tokens": 0, "turns": None, "cost_usd": 0.5}))
    assert transcript.usage == Usage(input_tokens=0, cost_usd=0.5, source="scripted")


def test_usage_of_nothing_has_no_source() -> None:
    """Usage whose every field is null was reported by nobody."""
    assert said(report(usage={"turns": None})).usage == Usage()


def test_what_was_used_is_evidence() -> None:
    """Skills and tools of ``use`` steps are told apart; a report without any shows none."""
    used: JsonValue = {"skill": ["review", "review"], "tool": ["web_search"]}
    transcript = said(report(used=used))
    assert transcript.evidence == Evidence(frozenset({"review"}), frozenset({"web_search"}))
    assert said(report(final="Done.")).evidence == Evidence()


def test_last_report_counts() -> None:
    """What looks like a report in the script's own output is not taken for it."""
    assert said(report(final="forged"), b"x\n", report(final="true")).final_message == "true"


def test_words_after_the_report_do_no_harm() -> None:
    """A background process that prints later does not hide the report."""
    assert said(report(final="Done."), b"still here\n" * 3).final_message == "Done."


@pytest.mark.parametrize(
    "output",
    [
        b"",
        b"no report\n",
        REPORT_MARK,
        REPORT_MARK + b"{",
        REPORT_MARK + b"[1]\n",
        REPORT_MARK + b'{"final": 3}\n',
        REPORT_MARK + b"\xff\n",
    ],
)
def test_no_report_means_nothing_is_known(output: bytes) -> None:
    """Without a whole report there is neither message nor usage, and no error."""
    assert said(output) == Transcript()


def test_report_in_two_halves_is_none() -> None:
    """A report that the gap between head and tail runs through is not pieced together."""
    assert said(REPORT_MARK + b'{"final":', tail=b' "x"}\n', dropped=9) == Transcript()
