"""Agents, sandboxes and oracles of third parties that do not keep to their contracts.

Whatever they raise or give, the trial is an error that names them: neither failed nor passed
nor skipped, no bug of ours, and no session that hangs.
"""

from __future__ import annotations

import pytest

from projects import Project

AGENTS = '''\
import asyncio
import sys
import time

import pytest
from pytest_agentbench import AgentBase, AgentCommand, AgentRun, Completed, Transcript

WRITES = ("sh", "-c", "echo hello > out.txt")


class Odd(AgentBase):
    def command(self, trial, context):
        return AgentCommand(WRITES)


class Honest(Odd):
    """Negative control."""


class GivesNone(Odd):
    def command(self, trial, context):
        return None


class GivesBytes(Odd):
    def command(self, trial, context):
        return AgentCommand((b"sh", b"-c", b"echo hello > out.txt"))


class Leaves(Odd):
    def command(self, trial, context):
        sys.exit(0)


class CannotParse(Odd):
    def parse(self, completed):
        raise KeyError("usage")


class ParsesNonsense(Odd):
    def parse(self, completed):
        return Transcript(final_message=7)


class NotBuilt(Odd):
    def __init__(self, options):
        raise OSError("no key")


class OddRoots(Odd):
    roots = "/usr"


class Driven(AgentBase):
    async def run(self, trial, sandbox, context):
        return await self.drive(sandbox)


class Raises(Driven):
    async def drive(self, sandbox):
        raise RuntimeError("the line is dead")


class Exits(Driven):
    async def drive(self, sandbox):
        sys.exit(0)


class Skips(Driven):
    async def drive(self, sandbox):
        pytest.skip("not today")


class Cancels(Driven):
    async def drive(self, sandbox):
        raise asyncio.CancelledError


class TimesOutItself(Driven):
    async def drive(self, sandbox):
        raise TimeoutError("of the line")


class Stubborn(Driven):
    async def drive(self, sandbox):
        while True:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                pass


class LeavesATask(Driven):
    async def drive(self, sandbox):
        async def exits():
            sys.exit(0)

        asyncio.get_running_loop().create_task(exits())
        await asyncio.sleep(0.1)
        return AgentRun(await sandbox.run(WRITES, timeout_s=10))


ALL = {}
for kind in [*Odd.__subclasses__(), *Driven.__subclasses__()]:
    kind.name = kind.__name__.lower()
    ALL[kind.name] = kind
'''

AGENTS_END = {
    "honest": "",
    "leavesatask": "",
    "givesnone": "agent_launch: (odd.GivesNone): command() gave None, not an AgentCommand",
    "givesbytes": "agent_launch: (odd.GivesBytes): command() gave argv[0] as a bytes, not a str",
    "leaves": "agent_launch: (odd.Leaves): command() raised SystemExit: 0 (odd.py:",
    "notbuilt": "agent_launch: (odd.NotBuilt): its constructor raised OSError: no key (odd.py:",
    "oddroots": "agent_launch: (odd.OddRoots): its 'roots' is a str, not a tuple of Path",
    "cannotparse": "agent_crash: (odd.CannotParse): parse() raised KeyError: 'usage' (odd.py:",
    "parsesnonsense": "agent_crash: (odd.ParsesNonsense): parse() gave final_message as an int",
    "raises": "agent_crash: (odd.Raises): run() raised RuntimeError: the line is dead (odd.py:",
    "exits": "agent_crash: (odd.Exits): run() raised SystemExit: 0 (odd.py:",
    "skips": "agent_crash: (odd.Skips): run() raised Skipped: not today",
    "cancels": "agent_crash: (odd.Cancels): run() raised asyncio.exceptions.CancelledError",
    "timesoutitself": "agent_crash: (odd.TimesOutItself): run() raised TimeoutError: of the line",
    "stubborn": "agent_crash: (odd.Stubborn): run() does not end when its time is over",
}

ORACLES = '''\
import sys
from dataclasses import replace

import pytest
from pytest_agentbench import OracleBase


class Odd(OracleBase):
    async def check(self, staged, sandbox, subject):
        return self.judge(self.result(staged, passed=True, reason="fine"))


class Honest(Odd):
    """Negative control."""

    def judge(self, result):
        return result


class Two(Odd):
    def judge(self, result):
        return replace(result, score=2)


class Unknown(Odd):
    def judge(self, result):
        return replace(result, score=float("nan"))


class Nothing(Odd):
    def judge(self, result):
        return None


class Text(Odd):
    def judge(self, result):
        return replace(result, passed="no")


class Details(Odd):
    def judge(self, result):
        return replace(result, details={"what": [object()]})


class Raises(Odd):
    def judge(self, result):
        raise ZeroDivisionError("division")


class Exits(Odd):
    def judge(self, result):
        sys.exit(0)


class Skips(Odd):
    def judge(self, result):
        pytest.skip("not today")


class CannotPrepare(Honest):
    def prepare(self, spec):
        raise KeyError("assets")


class PreparesNothing(Honest):
    def prepare(self, spec):
        return None


class Rehearses(Honest):
    rehearses = True

    async def rehearse(self, staged, sandbox, *, solved):
        return None


class Hangs(OracleBase):
    async def check(self, staged, sandbox, subject):
        import asyncio

        await asyncio.sleep(600)


ALL = {}
for kind in [*Odd.__subclasses__(), *Honest.__subclasses__(), Hangs]:
    kind.kind = kind.__name__.lower()
    ALL[kind.kind] = kind
'''

ORACLES_END = {
    "honest": "",
    "two": "check() gave a score of 2, which is not from 0 to 1",
    "unknown": "check() gave score as nan, not a number",
    "nothing": "check() gave None, not an OracleResult",
    "text": "check() gave passed as a str, not a bool",
    "details": "check() gave details that are no JSON",
    "raises": "check() raised ZeroDivisionError: division (odd.py:",
    "exits": "check() raised SystemExit: 0 (odd.py:",
    "skips": "check() raised Skipped: not today",
    "cannotprepare": "prepare() raised KeyError: 'assets' (odd.py:",
    "preparesnothing": "prepare() gave None, no StagedOracle",
    "rehearses": "rehearse() gave None, no StagedOracle",
    "hangs": "check() did not end in its time (1 s)",
}

SANDBOXES = '''\
import sys

from pytest_agentbench import DriverWrapper, SandboxWrapper


class Honest(DriverWrapper):
    """Negative control."""


class CannotOpen(DriverWrapper):
    async def open(self, template, request):
        raise ConnectionError("no daemon")


class OpensNothing(DriverWrapper):
    async def open(self, template, request):
        return None


class Exits(DriverWrapper):
    async def open(self, template, request):
        sys.exit(0)


class CannotProbe(DriverWrapper):
    def probe(self):
        raise OSError("no such device")


class Walls(SandboxWrapper):
    def __init__(self, sandbox, driver, *, broken):
        super().__init__(sandbox, driver=driver)
        self.broken = broken

    async def run(self, argv, **settings):
        return None if self.broken == "run" else await self.inner.run(argv, **settings)

    async def settle(self):
        if self.broken == "settle":
            raise RuntimeError("lost")
        return await self.inner.settle()


class RunsNothing(DriverWrapper):
    def wrap(self, sandbox):
        return Walls(sandbox, self.name, broken="run")


class CannotSettle(DriverWrapper):
    def wrap(self, sandbox):
        return Walls(sandbox, self.name, broken="settle")


ALL = {}
for kind in DriverWrapper.__subclasses__():
    kind.name = kind.__name__.lower()
    ALL[kind.name] = kind
'''

SANDBOXES_END = {
    "honest": "",
    "cannotopen": "open() raised ConnectionError: no daemon (odd.py:",
    "opensnothing": "open() gave None, which has no 'run'",
    "exits": "open() raised SystemExit: 0 (odd.py:",
    "cannotprobe": "probe() raised OSError: no such device (odd.py:",
    "runsnothing": "run() gave None, not a Completed",
    "cannotsettle": "settle() raised RuntimeError: lost (odd.py:",
}

TASK = """\
prompt: Hello.
limits: {time: 1s}
oracles: [{run: test -s out.txt}]
solution: {files: {out.txt: hello}}
"""


@pytest.fixture
def odd(pytester: pytest.Pytester) -> Project:
    """A project without tasks, whose components lie in ``lib/odd.py``."""
    project = Project(pytester)
    project.write("pytest.ini", "[pytest]\npythonpath = lib\nagentbench_sandbox =\n")
    return project


def bring(project: Project, kind: str, code: str) -> None:
    project.write("lib/odd.py", code)
    given = f"import odd\n\n\ndef pytest_agentbench_{kind}():\n    return odd.ALL\n"
    project.write("conftest.py", given)


def check(project: Project, expected: dict[str, str], result: pytest.RunResult) -> None:
    """Each ended as it should, by what names it in its key; the session as a whole, too."""
    records = list(project.records().values())
    found = dict.fromkeys(expected, "")
    for record in records:
        (name,) = {record["variant"], record["task"]} & set(expected)
        outcome, reason = record["outcome"], record["reason"]
        found[name] = "" if outcome == "passed" else f"{outcome} {reason}: {record['message']}"
    for name, said in expected.items():
        if not said:
            assert found[name] == ""
            continue
        reason, _, message = said.partition(": (")
        assert found[name].startswith(f"error {reason if message else ''}"), found[name]
        assert (f"({message}" if message else said) in found[name]
        assert "odd." in found[name]
    assert len(records) == len(expected)
    assert result.ret == 1, result.stdout.str()


def test_odd_agents(odd: Project, workers: tuple[str, ...]) -> None:
    """An agent that raises, leaves, skips, hangs or gives nonsense measures nothing."""
    bring(odd, "agents", AGENTS)
    odd.write("tasks/first.yaml", TASK.replace("limits", "sandbox: {driver: local}\nlimits"))
    variants = "".join(f"  {name}: {{agent: {name}}}\n" for name in AGENTS_END)
    odd.write("agentbench.yaml", f"variants:\n{variants}")
    check(odd, AGENTS_END, odd.run("tasks", *workers))


def test_odd_oracles(odd: Project, workers: tuple[str, ...]) -> None:
    """An oracle that raises, leaves, skips, hangs or gives nonsense has judged nothing."""
    bring(odd, "oracles", ORACLES)
    for kind in ORACLES_END:
        entry = f"{kind}: x, timeout: 1s" if kind == "hangs" else f"{kind}: x"
        odd.write(f"tasks/{kind}.yaml", TASK.replace("run: test -s out.txt", entry))
    result = odd.run("tasks", "--agentbench-sandbox=local", "--agentbench-agent=noop", *workers)
    check(odd, ORACLES_END, result)
    assert {r["reason"] for r in odd.records().values()} == {None, "oracle_error"}


def test_odd_sandboxes(odd: Project, workers: tuple[str, ...]) -> None:
    """A sandbox that raises, leaves or gives nonsense measures nothing."""
    bring(odd, "sandboxes", SANDBOXES)
    for name in SANDBOXES_END:
        walls = f"sandbox: {{driver: {name}}}\nlimits"
        odd.write(f"tasks/{name}.yaml", TASK.replace("limits", walls))
    result = odd.run("tasks", "--agentbench-agent=reference", *workers)
    check(odd, SANDBOXES_END, result)
    assert {r["reason"] for r in odd.records().values()} == {None, "sandbox"}


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("raise ZeroDivisionError('zero')", "Odd.validate() raised ZeroDivisionError: zero"),
        ("raise SystemExit(0)", "Odd.validate() raised SystemExit: 0"),
        ("import pytest; pytest.skip('no')", "Odd.validate() raised Skipped: no"),
        ("return None", "Odd.validate() gave no list of places and messages"),
        ("return ['wrong']", "Odd.validate() gave no list of places and messages"),
    ],
)
def test_an_odd_validation(odd: Project, body: str, said: str) -> None:
    """What an oracle does with its entry is told with the task's line, and ends no session."""
    base = (
        "from pytest_agentbench import OracleBase\n\n\nclass Odd(OracleBase):\n    kind = 'odd'\n"
    )
    check = "    async def check(self, staged, sandbox, subject):\n        return None\n\n\n"
    validate = f"    def validate(self, spec):\n        {body}\n\n\n"
    bring(odd, "oracles", f"{base}{validate}{check}ALL = {{'odd': Odd}}\n")
    odd.write("tasks/first.yaml", TASK.replace("run: test -s out.txt", "odd: x"))
    result = odd.run("tasks")
    assert result.ret == 2, result.stdout.str()
    assert f"tasks/first.yaml:3:11: {said}" in result.stdout.str()


def test_odd_options(odd: Project) -> None:
    """A validator of an agent's options that raises is a usage error, and no bug of ours."""
    code = (
        "from pydantic import model_validator\n"
        "from pytest_agentbench import AgentBase, AgentCommand, AgentOptions\n\n\n"
        "class OddOptions(AgentOptions):\n"
        "    @model_validator(mode='before')\n    @classmethod\n"
        "    def look(cls, given):\n        raise KeyError('given')\n\n\n"
        "class Odd(AgentBase):\n    name = 'odd'\n    Options = OddOptions\n"
        "    def command(self, trial, context):\n        return AgentCommand(('true',))\n\n\n"
        "ALL = {'odd': Odd}\n"
    )
    bring(odd, "agents", code)
    odd.write("tasks/first.yaml", TASK)
    result = odd.run("tasks", "--agentbench-agent=odd")
    assert result.ret == 4, result.stdout.str()
    assert "OddOptions raised KeyError: 'given'" in result.stderr.str()


@pytest.mark.parametrize("body", ["raise SystemExit(0)", "raise ValueError('a\\nb' * 9000)"])
def test_an_odd_listener(odd: Project, workers: tuple[str, ...], body: str) -> None:
    """One that leaves, or says pages, takes neither records nor the exit status with it."""
    odd.write("conftest.py", f"def pytest_agentbench_record(config, record):\n    {body}\n")
    for name in ("first", "second"):
        odd.write(f"tasks/{name}.yaml", TASK)
    result = odd.run("tasks", "--agentbench-sandbox=local", *workers)
    assert result.ret == 1, result.stdout.str()
    assert {r["outcome"] for r in odd.records().values()} == {"passed"}
    assert len(odd.records()) == 2
    (line,) = (line for line in result.outlines if "pytest_agentbench_record raised" in line)
    assert len(line) < 800
