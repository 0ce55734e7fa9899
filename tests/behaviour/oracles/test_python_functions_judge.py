"""The ``python`` oracle as a real process in real scoring sandboxes."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from behaviour.oracles.bench import NOTHING, Bench, Files

from pytest_agentbench.errors import OracleError
from pytest_agentbench.model.run import (
    Change,
    ChangeKind,
    Changes,
    Completed,
    Entry,
    EntryKind,
    Transcript,
)
from pytest_agentbench.model.task import FileTree, JsonValue, OracleSpec, Position
from pytest_agentbench.model.verdict import OracleResult
from pytest_agentbench.oracles.python_function import PythonOracle


def told(result: OracleResult) -> tuple[bool, float, str]:
    return result.passed, result.score, result.reason


def judge(
    bench: Bench,
    body: str,
    left: Files = NOTHING,
    *,
    head: str = "",
    files: dict[str, str] | None = None,
    options: dict[str, JsonValue] | None = None,
    timeout_s: float = 60.0,
) -> OracleResult:
    """Let a function with that body judge."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    source = f"{head}\ndef judge(context):\n{lines}"
    return bench.judge(
        "python",
        "checks:judge",
        left,
        options=options,
        assets=FileTree(files={"checks.py": source, **(files or {})}),
        timeout_s=timeout_s,
    )


@pytest.mark.parametrize(
    ("said", "passed", "score", "reason"),
    [
        ("True", True, 1.0, "score 1"),
        ("False", False, 0.0, "score 0"),
        ("1", True, 1.0, "score 1"),
        ("0.25", False, 0.25, "score 0.25"),
        ("0.9999999999", True, 0.9999999999, "score 1"),
        ("(0.5, 'half of it')", False, 0.5, "half of it"),
        ("(True, 'all\\nof it')", True, 1.0, "all of it"),
        ("(0.5, '')", False, 0.5, "score 0.5"),
        ("{'score': 1, 'reason': 'fine'}", True, 1.0, "fine"),
        ("{'score': 0}", False, 0.0, "score 0"),
    ],
)
def test_what_it_returns_is_the_score(
    bench: Bench,
    said: str,
    passed: bool,  # noqa: FBT001
    score: float,
    reason: str,
) -> None:
    """A bool, a number, a score with its reason, or a mapping; 1 passes."""
    assert told(judge(bench, f"return {said}")) == (passed, score, reason)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("None", "NoneType, not a bool, a number from 0 to 1, (score, reason) or a mapping"),
        ("'1'", "str, not a bool, a number from 0 to 1, (score, reason) or a mapping"),
        ("float('nan')", "the score nan, which is not from 0 to 1"),
        ("float('inf')", "the score inf, which is not from 0 to 1"),
        ("1.01", "the score 1.01, which is not from 0 to 1"),
        ("-1", "the score -1, which is not from 0 to 1"),
        ("10 ** 400", "the score 1000"),
        ("(1, 'a', 'b')", "tuple, not a bool, a number from 0 to 1, (score, reason) or a mapping"),
        ("(1, 2)", "a reason that is no str but int"),
        ("{'reason': 'x'}", "a mapping that is not {score, reason?, details?}"),
        ("{'score': 1, 'passed': True}", "a mapping that is not {score, reason?, details?}"),
        ("{'score': 1, 'details': {'a': {1}}}",
         "details that are no JSON: Object of type set is not JSON serializable"),
        ("{'score': 1, 'details': {'a': float('nan')}}", "details that are no JSON: "),
        ("{'score': 1, 'details': [1]}", "details that are no mapping of names"),
        ("{'score': 1, 'details': {'a': 'x' * 20000}}",
         "details of 20,009 characters; up to 16,384 are kept"),
    ],
)  # fmt: skip
def test_what_is_no_score_has_failed(bench: Bench, said: str, why: str) -> None:
    """Once the function was called there is no error any more: agents could make one."""
    result = judge(bench, f"return {said}")
    assert (result.passed, result.score) == (False, 0.0)
    assert result.reason.startswith(f"returned {why}")


def test_details_are_kept(bench: Bench) -> None:
    """The function's details stand beside the exit code."""
    said = "{'score': 0.5, 'details': {'wrong': ['a', 1, None], 'n': 1.5}}"
    result = judge(bench, f"print('looking')\nreturn {said}")
    assert result.details == {"exit_code": 0, "wrong": ["a", 1, None], "n": 1.5}
    assert result.output == "looking"


def test_it_is_told_what_the_agent_did(bench: Bench) -> None:
    """The context holds the workspace, the assets and the run, and not who the agent was."""
    body = (
        "import os\n"
        "assert os.path.samefile(os.getcwd(), context.workspace)\n"
        "assert (context.workspace / 'out.txt').read_text() == 'hello'\n"
        "assert (context.assets / 'data' / 'want.txt').read_text() == 'hello'\n"
        "assert os.environ['ORACLE'] == str(context.assets)\n"
        "fields = sorted(vars(context))\n"
        "return 1, str([context.task, context.prompt, context.final_message, context.changes,\n"
        "               context.exit_code, context.timed_out, context.options, fields])\n"
    )
    files = {"data/want.txt": "hello"}
    result = judge(bench, body, {"out.txt": "hello"}, files=files, options={"options": {"n": 1}})
    assert told(result) == (
        True,
        1.0,
        (
            "['task', 'Do it.', None, (), None, False, {'n': 1}, ['assets', 'changes', "
            "'exit_code', 'final_message', 'options', 'prompt', 'task', 'timed_out', 'workspace']]"
        ),
    )


def test_async_functions_and_helpers(bench: Bench) -> None:
    """A coroutine function is awaited, and modules of the assets import each other."""
    source = "import asyncio, helper\nasync def judge(context):\n    return helper.SCORE\n"
    assets = FileTree(
        files={"pkg/__init__.py": "", "pkg/checks.py": source, "helper.py": "SCORE=1"}
    )
    assert bench.judge("python", "pkg.checks:judge", assets=assets).passed


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("assert 1 == 2, 'not equal'", "raised AssertionError: not equal"),
        ("raise KeyError", "raised KeyError"),
        ("import sys; sys.exit(0)", "raised SystemExit: 0"),
        ("import no_such", "raised ModuleNotFoundError: No module named 'no_such'"),
        ("def f(): f()\nf()", "raised RecursionError: maximum recursion depth exceeded"),
        ("import os; os._exit(0)", "did not say what it found: the process ended"),
        ("import os; os._exit(3)", "did not say what it found: the process exited with 3"),
        ("import os; os.kill(os.getpid(), 9)",
         "did not say what it found: the process was killed by SIGKILL"),
    ],
)  # fmt: skip
def test_a_function_that_does_not_return_has_failed(bench: Bench, body: str, reason: str) -> None:
    """Whatever ends it, by its own or the agent's code, it has not passed."""
    result = judge(bench, body)
    assert (result.passed, result.score) == (False, 0.0)
    assert result.reason.startswith(reason)


def test_a_hang_has_failed(bench: Bench) -> None:
    """Out of time is a wrong answer."""
    result = judge(bench, "import time; time.sleep(60)", timeout_s=2)
    assert told(result) == (
        False,
        0.0,
        "did not say what it found: the process ran out of time (2 s)",
    )


@pytest.mark.parametrize(
    ("head", "why"),
    [
        ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("raise ValueError('broken')", "ValueError: broken"),
        ("import sys; sys.exit(0)", "RuntimeError: importing checks exits: 0"),
        ("import os; os._exit(0)", "exited with 0"),
        ("from math import *\ndel judge", "NameError: name 'judge' is not defined"),
        ("def judge(", "SyntaxError: "),
    ],
)
def test_a_module_that_cannot_be_imported_is_an_error(bench: Bench, head: str, why: str) -> None:
    """What fails before the function is called is the author's, and found before any agent."""
    with pytest.raises(OracleError) as caught:
        judge(bench, "return True", head=head)
    assert caught.value.what.startswith(f"oracle 'hidden' cannot load checks:judge: {why}")
    assert caught.value.where == "task.yaml:3"


def test_a_module_that_stopped_to_work_is_an_error(bench: Bench) -> None:
    """What worked when it was tried, and does not any more, is no fault of the agent's."""
    oracle = PythonOracle()
    assets = FileTree(files={"checks.py": "import gone\ndef judge(context): return True\n"})
    spec = OracleSpec(
        "python", "hidden", Position(Path("task.yaml"), 3), "checks:judge", assets=assets
    )
    tried = replace(oracle.prepare(spec), expected={"checks:judge": "run"})
    with pytest.raises(OracleError, match="cannot load checks:judge: ModuleNotFoundError: "):
        asyncio.run(bench._judged(oracle, tried, {}, {"gone.py": ""}, None))


def test_changes_of_any_name_and_number(bench: Bench) -> None:
    """A path that is no UTF-8 still names its file, and a long list arrives whole."""
    source = (
        "def judge(context):\n"
        "    first, *others = context.changes\n"
        "    names = [each.path for each in others]\n"
        "    told = (len(set(names)), others[0].kind, context.final_message, context.exit_code)\n"
        "    return (context.workspace / first.path).read_text() == 'odd', str(told)\n"
    )
    oracle = PythonOracle()
    spec = OracleSpec(
        "python",
        "hidden",
        Position(Path("task.yaml"), 3),
        "checks:judge",
        assets=FileTree(files={"checks.py": source}),
    )
    paths = [b"\xff", *(b"file-%d" % number for number in range(50_000))]
    changes = tuple(Change(path, ChangeKind.ADDED, Entry(EntryKind.FILE)) for path in paths)
    subject = bench._subject(None)
    run = replace(
        subject.run,
        completed=Completed(3, 1.0),
        transcript=Transcript(final_message="\ud800 bye"),
        changes=Changes(Path("/nowhere"), changes),
    )

    async def judged() -> OracleResult:
        sandbox = await bench._open({})
        try:
            done = await sandbox.run(["sh", "-c", r"printf odd > $(printf '\377')"], timeout_s=30)
            assert done.exit_code == 0
            staged = oracle.prepare(spec)
            return await oracle.check(staged, sandbox, replace(subject, run=run))
        finally:
            await sandbox.close()

    result = asyncio.run(judged())
    assert told(result) == (True, 1.0, "(50000, 'added', '\\ud800 bye', 3)")


def test_what_is_no_function_is_an_error(bench: Bench) -> None:
    """A name that only the import can show to be missing is found before any agent, too."""
    assets = FileTree(files={"checks.py": "from math import *\n"})
    with pytest.raises(OracleError, match="there is no function 'judge' in module 'checks'"):
        bench.judge("python", "checks:judge", assets=assets)


@pytest.mark.parametrize(
    "head", ["import app", "import os, sys; sys.path.insert(0, os.getcwd()); import app"]
)
def test_code_of_the_agents_is_not_imported_before_the_call(bench: Bench, head: str) -> None:
    """A module that imports the workspace's code on its top level is refused, solution or not."""
    source = f"{head}\ndef judge(context): return True\n"
    app = {"app.py": "x = 1\n"}
    with pytest.raises(OracleError) as caught:
        bench.judge(
            "python", "checks:judge", app, template=app, solution=app,
            assets=FileTree(files={"checks.py": source}),
        )  # fmt: skip
    assert "No module named 'app'" in caught.value.what
    assert str(caught.value).endswith(
        "Try: import inside the function what the agent writes, and take all else from the "
        "assets or from the environment of sandbox.python"
    )


def test_an_interpreter_of_the_agents_is_no_error(bench: Bench) -> None:
    """Where the interpreter lies in the workspace, an agent that breaks it has failed."""
    broken = bench.with_(disguise={"python": "{workspace}/python"})
    source = "def judge(context): return True\n"
    good = {"python": '#!/bin/sh\nexec python3 "$@"\n'}
    assets = FileTree(files={"checks.py": source})
    template = {**good, "keep": ""}
    result = broken.judge("python", "checks:judge", template=template, assets=assets)
    assert result.passed, result.reason
    left = {"python": "#!/bin/sh\necho no >&2; exit 0\n"}
    result = broken.judge("python", "checks:judge", left, template=template, assets=assets)
    assert told(result) == (False, 0.0, "cannot load checks:judge: no")


IMPORTS = "import sys\nsys.path.append(str(context.workspace))\nimport app\n"


def test_code_of_the_agents_can_be_imported_in_the_function(bench: Bench) -> None:
    """Positive control: a right module passes, a wrong one does not, and raising fails."""
    body = IMPORTS + "return app.add(2, 3) == 5"
    assert judge(bench, body, {"app.py": "def add(a, b): return a + b\n"}).passed
    assert not judge(bench, body, {"app.py": "def add(a, b): return a - b\n"}).passed
    result = judge(bench, body, {"app.py": "def add(a, b): raise OSError('x')\n"})
    assert told(result) == (False, 0.0, "raised OSError: x")


AGREES = (
    "class Yes:\n"
    "    def __eq__(self, other): return Yes()\n"
    "    def __bool__(self): return True\n"
    "    def __float__(self): return 1.0\n"
    "def add(a, b): return Yes()\n"
)


@pytest.mark.parametrize(
    ("app", "reason"),
    [
        (AGREES, "returned Yes, not a bool, a number from 0 to 1, (score, reason) or a mapping"),
        (("class F(float): pass\nclass Y:\n    def __eq__(self, other): return F(1)\n"
         "def add(a, b): return Y()\n"),
         "returned F, not a bool, a number from 0 to 1, (score, reason) or a mapping"),
        ("import sys\nsys.exit(0)", "raised SystemExit: 0"),
        ("import os\nos._exit(0)", "did not say what it found: the process ended"),
        ("import atexit, os\natexit.register(os._exit, 0)\nraise SystemExit", "raised SystemExit"),
        ("class E(Exception):\n    def __str__(self): raise SystemExit(0)\nraise E", "raised E"),
        ("print('score 1')\ndef add(a, b): return 0", "score 0"),
        (("import threading, time\nthreading.Thread(target=time.sleep, args=(50,)).start()\n"
         "def add(a, b): return 0"), "score 0"),
    ],
)  # fmt: skip
def test_cheap_lies_of_imported_code_fail(bench: Bench, app: str, reason: str) -> None:
    """An object that agrees with everything, an early exit, words on standard output."""
    result = judge(bench, IMPORTS + "return app.add(2, 3) == 5", {"app.py": app}, timeout_s=30)
    assert told(result) == (False, 0.0, reason)


RUNS = (
    "import subprocess, sys\n"
    "done = subprocess.run([sys.executable, 'app.py'], capture_output=True, text=True)\n"
    "return done.stdout == '42\\n', done.stdout + done.stderr\n"
)

# Finds the report, and goes on with it as well as another process can.
FORGER = """
import glob, hmac, json, os, re, signal
here = os.path.dirname(os.environ["TMPDIR"])
path = [*glob.glob("/*/*.jsonl"), *glob.glob(here + "/*/*.jsonl")][0]
parent = os.getppid()
first = open(path, "rb").read().splitlines()[0]
seal, _, body = first.partition(b" ")
found = b"unknown"
texts = [first]
for pid in {parent, 1} if os.getuid() == 1000 else {parent}:
    for each in glob.glob(f"/proc/{pid}/cmdline") + glob.glob(f"/proc/{pid}/environ") + glob.glob(
        f"/proc/{pid}/fd/*"
    ):
        try:
            texts.append(os.read(os.open(each, os.O_RDONLY | os.O_NONBLOCK), 1 << 20))
        except OSError:
            pass
for text in texts:
    for word in re.findall(rb"[0-9a-f]{64}", text):
        if hmac.digest(bytes.fromhex(word.decode()), body, "sha256").hex().encode() == seal:
            found = bytes.fromhex(word.decode())
row = json.dumps({"event": "result", "verdict": '{"score": 1.0, "reason": ""}', "details": "{}"})
seal = hmac.digest(found, seal + row.encode(), "sha256").hex().encode()
"""


def test_an_honest_program_passes(bench: Bench) -> None:
    """Negative control of the forgeries below."""
    assert told(judge(bench, RUNS, {"app.py": "print(42)"})) == (True, 1.0, "42")


@pytest.mark.parametrize(
    "trick",
    [
        "open(path, 'ab').write(seal + b' ' + row.encode() + b'\\n')",
        "open(path, 'ab').write(b'{}')",
        "os.unlink(path)",
        "os.truncate(path, 0)",
        "os.unlink(path); os.mkdir(path)",
    ],
)
@pytest.mark.parametrize("end", ["os.kill(parent, signal.SIGKILL)", "print(42)"])
def test_another_process_cannot_forge_the_report(bench: Bench, trick: str, end: str) -> None:
    """A program that the function runs finds the report, and can do no more than spoil it."""
    result = judge(bench, RUNS, {"app.py": f"{FORGER}\n{trick}\n{end}\n"})
    assert (result.passed, result.score) == (False, 0.0)
    assert result.reason.startswith("did not say what it found: the process ")


def test_the_request_tells_nothing_that_helps(walled: Bench) -> None:
    """What the function's child can read of its parent: neither memory nor standard input."""
    app = (
        "import os\n"
        "for name in ('mem', 'fd/0', 'environ'):\n"
        "    try:\n        os.open(f'/proc/{os.getppid()}/{name}', os.O_RDONLY)\n"
        "        print('open', name)\n"
        "    except OSError:\n        pass\n"
        "print(42)\n"
    )
    assert judge(walled, RUNS, {"app.py": app}).passed


def test_what_imports_print_is_output(bench: Bench) -> None:
    """Words of the module itself, before it is known to be there, do not count as the opening."""
    head = "import os\nprint('agentbench-report-key 00')\nos.write(1, b'raw\\n')\n"
    result = judge(bench, "print('judging')\nreturn True", head=head)
    assert result.passed
    assert result.output == ("judging\n[standard error]\nraw\nagentbench-report-key 00")


def test_a_cache_beside_the_module_is_not_staged(
    bench: Bench, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Bytecode that was planted beside an unchanged module is no part of the oracle."""
    import py_compile  # noqa: PLC0415

    assets = tmp_path_factory.mktemp("assets")
    source = assets / "checks.py"
    source.write_text("def judge(context): return True\n")
    py_compile.compile(
        str(source), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH, quiet=2
    )
    source.write_text("def judge(context): return False\n")
    assert list(assets.glob("__pycache__/*.pyc"))
    assert not bench.judge("python", "checks:judge", assets=FileTree(assets)).passed
