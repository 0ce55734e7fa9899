"""The ``python`` agent: its options, the files that it stages, and the report that it reads."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from pytest_agentbench.agents.python import PythonAgent, PythonOptions
from pytest_agentbench.agents.python_code import LIMIT_BYTES
from pytest_agentbench.errors import SetupError
from pytest_agentbench.model.contracts import AgentCommand, AgentContext
from pytest_agentbench.model.run import Completed, Evidence, Output, Transcript, Usage
from pytest_agentbench.model.task import JsonValue, Limits, Position, SandboxSpec, TaskSpec
from pytest_agentbench.model.trial import TrialSpec
from pytest_agentbench.model.variant import ToolPolicy, Variant

TOKEN = b"0011"
OPENING = b"\x1eagentbench-python-run 0011\n"


def report(said: object, token: bytes = TOKEN) -> bytes:
    return b"\n\x1eagentbench-python-report " + token + b" " + json.dumps(said).encode() + b"\n"


def read(*, head: bytes, tail: bytes = b"", lost: int = 0) -> Transcript:
    output = Output(head, tail, len(head) + len(tail) + lost)
    return PythonAgent(PythonOptions(call="a:b")).parse(Completed(0, 1.0, stdout=output))


def trial(home: Path | None, **task: object) -> TrialSpec:
    spec = TaskSpec("fix", Position(Path("/t/task.yaml"), 1), "Fix it.\n", oracles=(), digest="d")
    position = None if home is None else Position(home / "agentbench.yaml", 2)
    variant = Variant("mine", "python", model="m-1", position=position)
    spec = replace(spec, **task)  # type: ignore[arg-type]
    return TrialSpec(spec, variant, 3, Limits(), SandboxSpec(), rendered="Go: fix it.")


def command(
    spec: TrialSpec, *, tools: ToolPolicy | None = None, **options: JsonValue
) -> AgentCommand:
    agent = PythonAgent(PythonOptions.model_validate({"call": "mine:solve", **options}))
    return agent.command(spec, AgentContext(env={"KEY": "v"}, tools=tools or ToolPolicy()))


def fault(spec: TrialSpec, **options: JsonValue) -> str:
    with pytest.raises(SetupError) as caught:
        command(spec, tools=None, **options)
    return str(caught.value)


def write(home: Path, *names: str, text: str = "def solve(context): pass\n") -> None:
    for name in names:
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_what_is_run_and_staged(tmp_path: Path) -> None:
    """The runner with the function's file beside it, and what the function is told."""
    write(tmp_path, "mine.py", "unrelated.py")
    made = command(
        trial(tmp_path), tools=ToolPolicy(allow=("a",), deny=("b",)), options={"effort": 1}
    )
    assert made.argv == ("{python}", "-B", "{stage}/run.py")
    assert made.env == {"KEY": "v"}
    assert sorted(made.stage) == ["code/mine.py", "context.json", "run.py"]
    assert json.loads(made.stage["context.json"].data) == {
        "call": ["mine", "solve"],
        "prompt": "Go: fix it.",
        "task": "fix",
        "variant": "mine",
        "repeat": 3,
        "model": "m-1",
        "options": {"effort": 1},
        "tools": {"allow": ["a"], "deny": ["b"]},
    }


def test_the_files_of_a_package(tmp_path: Path) -> None:
    """Data and programs come along; caches and what begins with a dot stay behind."""
    write(tmp_path, "pkg/__init__.py", "pkg/mine.py", "pkg/data/words.txt", "pkg/.env")
    write(tmp_path, "pkg/.venv/bin/x", "pkg/__pycache__/mine.cpython-311.pyc", "pkg.py")
    (tmp_path / "pkg/.venv/python").symlink_to("/usr/bin/python3")
    write(tmp_path, "tool.sh", text="#!/bin/sh\n")
    (tmp_path / "tool.sh").chmod(0o755)
    made = command(trial(tmp_path), call="pkg.mine:solve", paths=["./tool.sh"])
    assert sorted(name for name in made.stage if name.startswith("code/")) == [
        "code/pkg/__init__.py",
        "code/pkg/data/words.txt",
        "code/pkg/mine.py",
        "code/tool.sh",
    ]
    assert made.stage["code/tool.sh"].executable


def test_a_directory_of_modules(tmp_path: Path) -> None:
    """A directory without ``__init__.py`` will do, unless there is a module of that name."""
    write(tmp_path, "agents/mine.py")
    assert "code/agents/mine.py" in command(trial(tmp_path), call="agents.mine:solve").stage
    write(tmp_path, "agents.py")
    assert fault(trial(tmp_path), call="agents.other:solve") == (
        "variant mine: there is no module 'agents.other'; did you mean 'agents'?"
    )


def test_an_experiment_below_experiments(tmp_path: Path) -> None:
    """Its code lies beside it, or above the directory ``experiments``: the nearer one counts."""
    home = tmp_path / "experiments"
    write(tmp_path, "mine.py", "far.py", text="def solve(context): 'far'\n")
    write(home, "mine.py", text="def solve(context): 'near'\n")
    assert b"near" in command(trial(home)).stage["code/mine.py"].data
    assert "code/far.py" in command(trial(home), call="far:solve").stage
    assert fault(trial(home), call="none:solve") == (
        f"variant mine: there is no none.py, and no package none, in {home} and {tmp_path}. "
        "Try: options.call names a module beside the experiment file"
    )
    # Negative control: above another directory nothing is looked for.
    write(tmp_path, "other/x")
    assert fault(trial(tmp_path / "other"), call="far:solve").startswith(
        f"variant mine: there is no far.py, and no package far, in {tmp_path}/other. "
    )


def test_a_variant_of_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It looks in the current directory."""
    write(tmp_path, "mine.py")
    monkeypatch.chdir(tmp_path)
    assert "code/mine.py" in command(trial(None)).stage


def test_what_is_missing_is_told(tmp_path: Path) -> None:
    """A module, a function, or a further path that is not there."""
    write(tmp_path, "pkg/mine.py", text="def slove(context): pass\n")
    spec = trial(tmp_path)
    assert fault(spec, call="pkg.mien:solve") == (
        "variant mine: there is no module 'pkg.mien'; did you mean 'pkg.mine'?"
    )
    assert fault(spec, call="pkg.mine:solve") == (
        "variant mine: there is no function 'solve'; did you mean 'slove'? "
        f"(in {tmp_path}/pkg/mine.py)"
    )
    assert fault(spec, call="pkg.mine:slove", paths=["no.txt"]) == (
        f"variant mine: {tmp_path}/no.txt cannot be read: No such file or directory"
    )


def test_too_much_is_refused(tmp_path: Path) -> None:
    """What each trial would have to copy is bounded, one by one and in all."""
    write(tmp_path, "mine.py", "big/x")
    with (tmp_path / "big/x").open("wb") as file:
        file.truncate(LIMIT_BYTES + 1)
    assert "more than 67,108,864 bytes in" in fault(trial(tmp_path), paths=["big"])
    (tmp_path / "big/x").rename(tmp_path / "single")
    assert fault(trial(tmp_path), paths=["single"]) == (
        "variant mine: the code of mine:solve has 67,108,890 bytes; more than 67,108,864 are "
        "not staged. Try: show large data with sandbox.read_only"
    )


@pytest.mark.parametrize("hidden", ["pkg/tasks/fix.yaml", "pkg", "pkg/mine.py", "link/fix.yaml"])
def test_answers_are_not_staged(tmp_path: Path, hidden: str) -> None:
    """Code that has files of the task below it, or lies in one, is refused."""
    write(tmp_path, "pkg/mine.py", "pkg/tasks/fix.yaml")
    (tmp_path / "link").symlink_to("pkg/tasks")
    spec = trial(tmp_path, owned=(tmp_path / hidden,))
    assert fault(spec, call="pkg.mine:solve") == (
        f"variant mine: staging {tmp_path}/pkg would show the agent what belongs to the task: "
        f"{(tmp_path / hidden).resolve()}. Try: keep the agent's code apart from the tasks"
    )
    apart = trial(tmp_path, owned=(tmp_path / "pkg2",))
    assert "code/pkg/mine.py" in command(apart, call="pkg.mine:solve").stage


@pytest.mark.parametrize(
    ("options", "at", "message"),
    [
        ({}, ("call",), "Field required"),
        ({"call": "mine"}, ("call",), ("Value error, wants module:function, such as "
         "agents.mine:solve, not 'mine'")),
        ({"call": 3}, ("call",), "Input should be a valid string"),
        ({"call": "a:b", "paths": ["../x"]}, ("paths",), ("Value error, '../x' is no path below "
         "the experiment file's directory")),
        ({"call": "a:b", "paths": ["/x"]}, ("paths",), ("Value error, '/x' is no path below "
         "the experiment file's directory")),
        ({"call": "a:b", "paths": ["."]}, ("paths",), ("Value error, '.' is no path below "
         "the experiment file's directory")),
        ({"call": "a:b", "effort": 1}, ("effort",), "Extra inputs are not permitted"),
    ],
)  # fmt: skip
def test_wrong_options_say_what_is_wrong(
    options: dict[str, JsonValue], at: tuple[str, ...], message: str
) -> None:
    """Each names its place."""
    with pytest.raises(ValidationError) as caught:
        PythonOptions.model_validate(options)
    (error,) = caught.value.errors()
    assert (error["loc"], error["msg"]) == (at, message)


FULL = {
    "final": "done",
    "usage": {"turns": 2, "cost_usd": 0.5},
    "skills": ["review"],
    "tools": ["bash", "web"],
}
SILENT = Transcript(evidence=Evidence())


def test_the_report_is_read() -> None:
    """Final message, usage and evidence; what nobody reported is unknown."""
    assert read(head=OPENING + b"words" + report(FULL) + b"late words") == Transcript(
        final_message="done",
        usage=Usage(turns=2, cost_usd=0.5, source="agent"),
        evidence=Evidence(frozenset({"review"}), frozenset({"bash", "web"})),
    )
    assert read(head=OPENING + report({})) == SILENT


def test_the_last_report_counts() -> None:
    """One that was cut short says less than the one before it."""
    first, last = report({"final": "first"}), report({"final": "last"})
    assert read(head=OPENING + first + last).final_message == "last"
    assert read(head=OPENING + first + last[:-1]).final_message == "first"
    assert read(head=OPENING + first + last.replace(b"}", b"noise}")).final_message == "first"
    assert read(head=OPENING + first, tail=last, lost=9).final_message == "last"
    assert read(head=OPENING + first, tail=b"x", lost=9).final_message == "first"
    # The end of one that the gap swallowed is not glued to what follows.
    assert read(head=OPENING + last[:-3], tail=b'"}\n', lost=9) == SILENT


@pytest.mark.parametrize(
    "output",
    [
        b"",
        OPENING,
        report(FULL),
        b"x" + OPENING + report(FULL),
        OPENING + report(FULL, b"0012"),
        OPENING + report({"usage": {"turns": -1}}),
        OPENING + report({"usage": {"cost_usd": 1e999}}),
        OPENING + report([1]),
        OPENING + report({"final": "x", "more": 1}),
        OPENING[:-1] + report(FULL)[1:],
    ],
)
def test_what_is_no_report_says_nothing(output: bytes) -> None:
    """Without the token of the first line, or in another shape, it counts for nothing."""
    assert read(head=output) == SILENT


@given(st.binary(), st.binary(), st.sampled_from([b"", OPENING, OPENING + report(FULL)[:40]]))
def test_any_bytes_are_read(head: bytes, tail: bytes, start: bytes) -> None:
    """No output raises, and unknown is never zero."""
    transcript = read(head=start + head, tail=tail, lost=1)
    assert transcript.usage == Usage()
