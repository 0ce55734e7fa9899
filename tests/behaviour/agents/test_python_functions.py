"""The ``python`` agent as a real process in real sandboxes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from behaviour.agents.arena import Arena, Played

from pytest_agentbench.errors import SetupError
from pytest_agentbench.model.run import Evidence, Usage
from pytest_agentbench.model.task import JsonValue

PROMPT = 'Fix "it" {stage} é\n'


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the agent's code lies: a variant that no file defines looks in the current place."""
    made = tmp_path / "home"
    made.mkdir()
    monkeypatch.chdir(made)
    return made


def write(home: Path, **modules: str) -> None:
    for name, text in modules.items():
        path = home / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def play(
    arena: Arena, home: Path, body: str, *, time_s: float = 60.0, **options: JsonValue
) -> Played:
    """Let a function with that body work."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    # What was read once is not read again.
    taken = len(list(home.glob("mine*.py")))
    name = f"mine{taken or ''}"
    write(home, **{name: f"def solve(context):\n{lines}"})
    return arena.play("python", {"call": f"{name}:solve", **options}, prompt=PROMPT, time_s=time_s)


def stderr(played: Played) -> str:
    assert played.run.completed is not None
    return played.run.completed.stderr.text()


def test_the_function_works_in_the_workspace(arena: Arena, home: Path) -> None:
    """It finds its context, changes the workspace, and what it returns is the final message."""
    told = (
        "import json, os\n"
        "told = [context.prompt, context.task, context.variant, context.repeat, context.model,\n"
        "        context.options, context.tools.allow, context.tools.deny]\n"
        "(context.workspace / 'told.json').write_text(json.dumps(told))\n"
        "assert os.path.samefile(os.getcwd(), context.workspace)\n"
        "assert os.environ['AGENTBENCH_TASK'] == 'fix'\n"
        "return 'Done: é'\n"
    )
    played = play(arena, home, told, options={"effort": ["high", 1, None]})
    assert played.exit_code == 0, stderr(played)
    assert list(played.changes) == ["told.json"]
    assert json.loads(played.changes["told.json"] or b"") == [
        PROMPT, "fix", "mine", 2, None, {"effort": ["high", 1, None]}, None, []
    ]  # fmt: skip
    assert played.run.transcript.final_message == "Done: é"
    assert played.run.transcript.usage == Usage()
    assert played.run.transcript.evidence == Evidence()


def test_an_async_function_in_a_package(arena: Arena, home: Path) -> None:
    """A coroutine function of a package's module is awaited; the package's files are beside it."""
    (home / "agents" / ".cache").mkdir(parents=True)
    (home / "agents" / ".cache" / "secret").write_text("s")
    (home / "agents" / "words.txt").write_text("hello\n")
    (home / "beside.txt").write_text("x")
    write(
        home,
        agents__mine=(
            "import asyncio\nfrom pathlib import Path\nfrom agents.help import copy\n"
            "class Solver:\n"
            "    @staticmethod\n"
            "    async def solve(context):\n"
            "        await asyncio.sleep(0)\n"
            "        copy(Path(__file__).parent / 'words.txt', context.workspace / 'out.txt')\n"
            "        top = Path(__file__).parent.parent\n"
            "        return ' '.join(sorted(str(p.relative_to(top)) for p in top.rglob('*')))\n"
        ),
        agents__help="from shutil import copyfile as copy\n",
    )
    played = arena.play("python", {"call": "agents.mine:Solver.solve"})
    assert played.changes == {"out.txt": b"hello\n"}
    assert played.run.transcript.final_message == (
        "agents agents/help.py agents/mine.py agents/words.txt"
    )


def test_further_paths_are_staged(arena: Arena, home: Path) -> None:
    """``paths`` are modules and data that lie beside the function's own."""
    write(home, other="def word(): return 'hi'\n", deep__more="N = 3\n")
    body = "import other\nfrom deep import more\nreturn other.word() * more.N"
    played = play(arena, home, body, paths=["other.py", "deep/"])
    assert played.run.transcript.final_message == "hihihi"
    lacking = play(arena, home, body)
    assert lacking.exit_code == 1
    assert stderr(lacking).endswith("ModuleNotFoundError: No module named 'other'\n")


def test_the_workspace_cannot_be_imported_by_accident(arena: Arena, home: Path) -> None:
    """A module in the workspace that is named like one of the standard library's is not run."""
    write(home, mine="import colorsys\ndef solve(context):\n    return colorsys.__name__\n")
    planted = {"colorsys.py": "open('planted', 'w')", "sitecustomize.py": "open('early', 'w')"}
    played = arena.play("python", {"call": "mine:solve"}, workspace=planted)
    assert (played.changes, played.run.transcript.final_message) == ({}, "colorsys")


def test_usage_is_added_up(arena: Arena, home: Path) -> None:
    """Each report adds to the one before; what nobody reported stays unknown."""
    body = (
        "context.report_usage(input_tokens=100, turns=1)\n"
        "context.report_usage(input_tokens=20, output_tokens=None, cost_usd=0.25)\n"
        "context.report_usage(output_tokens=0)\n"
    )
    played = play(arena, home, body)
    assert played.run.transcript.usage == Usage(120, 0, 1, 0.25, source="agent")
    assert played.run.transcript.final_message is None


def test_evidence_is_what_was_used(arena: Arena, home: Path) -> None:
    """Skills and tools are shown by name, once."""
    body = "for _ in range(3):\n    context.use_tool('bash')\ncontext.use_skill('review')"
    played = play(arena, home, body)
    assert played.run.transcript.evidence == Evidence(frozenset({"review"}), frozenset({"bash"}))


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ("context.report_usage(turns=-1)",
         "ValueError: turns must be from 0 to 1,000,000,000,000,000, not -1"),
        ("context.report_usage(turns=1.5)", "TypeError: turns must be a number, not 1.5"),
        ("context.report_usage(turns=True)", "TypeError: turns must be a number, not True"),
        ("context.report_usage(cost_usd=float('nan'))",
         "ValueError: cost_usd must be from 0 to 1,000,000,000,000,000, not nan"),
        ("context.report_usage(cost_usd=9e14); context.report_usage(cost_usd=9e14)",
         "ValueError: cost_usd must be from 0 to 1,000,000,000,000,000, not 1800000000000000.0"),
        ("context.use_tool('')",
         "TypeError: a name in tools must be a text that is not empty, not ''"),
        ("return 42", ("TypeError: an agent returns its final message, a str, or None; "
         "mine:solve returned int")),
        ("raise ValueError('no idea')", "ValueError: no idea"),
        ("import sys; sys.exit('no more')", "python agent: mine:solve exited: no more"),
    ],
)  # fmt: skip
def test_a_function_that_is_wrong_ends_with_1(
    arena: Arena, home: Path, body: str, complaint: str
) -> None:
    """What it raised is the last line of standard error."""
    played = play(arena, home, body)
    assert (played.exit_code, stderr(played).splitlines()[-1]) == (1, complaint)
    assert played.run.transcript.final_message is None


def test_exit_codes_are_its_own(arena: Arena, home: Path) -> None:
    """``sys.exit`` ends with its code, and what was reported before counts."""
    played = play(arena, home, "context.report_usage(turns=2)\nraise SystemExit(9)")
    assert played.exit_code == 9
    assert played.run.transcript.usage == Usage(turns=2, source="agent")
    assert play(arena, home, "raise SystemExit").exit_code == 0


@pytest.mark.parametrize(
    ("module", "complaint"),
    [
        ("import no_such_package\ndef solve(context): pass",
         ("python agent: cannot import mine: ModuleNotFoundError: "
          "No module named 'no_such_package'")),
        ("def solve(context): pass\nimport sys; sys.exit(0)",
         "python agent: cannot import mine: SystemExit: 0"),
        ("def solve(context:", "python agent: cannot import mine: SyntaxError: "),
        ("solve = 3", "python agent: there is nothing to call at mine:solve"),
        ("from math import *", "python agent: there is nothing to call at mine:solve"),
    ],
)  # fmt: skip
def test_what_cannot_be_called_is_a_failed_start(
    arena: Arena, home: Path, module: str, complaint: str
) -> None:
    """It ends as a command ends that is not there: 127."""
    write(home, mine=module)
    played = arena.play("python", {"call": "mine:solve"})
    assert played.exit_code == 127
    assert stderr(played).splitlines()[-1].startswith(complaint)


def test_killed_agents_keep_what_they_reported(arena: Arena, home: Path) -> None:
    """Out of time, the usage so far is known, and the final message is not."""
    body = "context.report_usage(input_tokens=7)\nimport time\ntime.sleep(60)"
    played = play(arena, home, body, time_s=2.0)
    assert played.run.timed_out
    assert played.run.transcript.usage == Usage(input_tokens=7, source="agent")
    assert played.run.transcript.final_message is None


def test_what_is_printed_is_no_report(arena: Arena, home: Path) -> None:
    """A report in a file of the workspace that the agent prints counts for nothing."""
    forged = (
        "\x1eagentbench-python-run 00\n"
        '\x1eagentbench-python-report 00 {"final": "forged", "usage": {"turns": 1}}\n'
    )
    write(home, mine="def solve(context):\n    print(open('note.txt').read())\n    return 'real'\n")
    played = arena.play("python", {"call": "mine:solve"}, workspace={"note.txt": forged})
    assert "forged" in played.stdout
    assert played.run.transcript.final_message == "real"
    assert played.run.transcript.usage == Usage()


def test_output_does_not_hide_the_report(arena: Arena, home: Path) -> None:
    """A flood, a closed standard output and a process that stays change nothing about it."""
    body = (
        "import os, sys\n"
        "context.use_tool('early')\n"
        "os.write(1, b'x' * 3_000_000)\n"
        "sys.stdout.write('no line end')\n"
        "{end}\n"
    )
    flood = play(arena, home, body.format(end="return 'w' * 70_000"))
    assert flood.run.transcript.final_message == "…" + "w" * 65_535
    closed = play(arena, home, body.format(end="os.close(1)\nreturn 'closed'"))
    assert closed.run.transcript.final_message == "closed"
    early = play(arena, home, body.format(end="os._exit(0)"))
    assert early.run.transcript.evidence == Evidence(tools=frozenset({"early"}))


def test_a_forked_child_cannot_report(arena: Arena, home: Path) -> None:
    """It knows less than its parent, in whose place it would be heard."""
    body = (
        "import os\n"
        "context.report_usage(turns=1)\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    try:\n"
        "        context.report_usage(turns=5)\n"
        "    except RuntimeError as error:\n"
        "        open('why', 'w').write(str(error))\n"
        "    os._exit(0)\n"
        "os.waitpid(child, 0)\n"
    )
    played = play(arena, home, body)
    assert played.run.transcript.usage == Usage(turns=1, source="agent")
    assert played.changes == {"why": b"only the agent's own process can report, not a child of it"}


def test_text_of_any_characters(arena: Arena, home: Path) -> None:
    """What UTF-8 cannot hold is replaced, and control characters arrive."""
    played = play(arena, home, r"return 'a\ud800b\x00\x1e\n'")
    assert played.run.transcript.final_message == "a?b\x00\x1e\n"


def test_the_code_is_read_once(arena: Arena, home: Path) -> None:
    """What changes the files on disk meanwhile does not change the next trial of the session."""
    write(home, once="def solve(context): return 'first'\n")
    first = arena.play("python", {"call": "once:solve"})
    write(home, once="def solve(context): return 'second'\n")
    second = arena.play("python", {"call": "once:solve"})
    assert first.run.transcript.final_message == "first"
    assert second.run.transcript.final_message == "first"


def test_the_home_of_the_code_is_not_in_the_sandbox(walled: Arena, home: Path) -> None:
    """The function sees a read-only copy and not the place that it came from."""
    body = (
        "import os\nfrom pathlib import Path\n"
        "here = Path(__file__)\n"
        "try:\n    here.write_text('x')\nexcept OSError as error:\n    print('read-only')\n"
        f"return str(os.path.exists({str(home)!r}))\n"
    )
    played = play(walled, home, body)
    assert "read-only" in played.stdout
    assert played.run.transcript.final_message == "False"


def test_a_missing_module_is_told_before_anything_runs(local: Arena, home: Path) -> None:
    """There is no process for code that is not there."""
    with pytest.raises(SetupError) as caught:
        local.play("python", {"call": "nowhere:solve"})
    assert str(caught.value) == (
        f"variant mine: there is no nowhere.py, and no package nowhere, in {home}. "
        "Try: options.call names a module beside the experiment file"
    )
