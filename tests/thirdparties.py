"""Somebody else's agent, sandbox and oracle, for tests that register them in every way."""

from __future__ import annotations

from projects import Project

AGENT = """\
from pytest_agentbench import AgentBase, AgentCommand, AgentOptions


class WriterOptions(AgentOptions):
    to: str = "out.txt"


class Writer(AgentBase):
    name = "writer"
    Options = WriterOptions

    def command(self, trial, context):
        script = f"cat > {self.options.to}"
        return AgentCommand(("sh", "-c", script), stdin=trial.prompt.encode())
"""

SANDBOX = """\
from pytest_agentbench import DriverWrapper, SandboxWrapper


class MarkedSandbox(SandboxWrapper):
    async def run(self, argv, *, env=None, **settings):
        return await self.inner.run(argv, env={**(env or {}), "IN_BOX": "1"}, **settings)


class Box(DriverWrapper):
    name = "box"

    def wrap(self, sandbox):
        return MarkedSandbox(sandbox, driver=self.name)
"""

ORACLE = '''\
from pytest_agentbench import OracleBase


class Size(OracleBase):
    """How many bytes a file has."""

    kind = "size"
    options = ("at_least",)

    def validate(self, spec):
        problems = super().validate(spec)
        if not isinstance(spec.expectation, str):
            problems.append((("size",), "must be the name of a file"))
        return problems

    async def check(self, staged, sandbox, subject):
        spec = staged.spec
        data = await sandbox.read(spec.expectation, limit=1000)
        size = len(data or b"")
        passed = size >= spec.options.get("at_least", 1)
        return self.result(staged, passed=passed, reason=f"{spec.expectation} has {size} bytes")
'''

GIVING = """\
from mine import Box, Size, Writer


def pytest_agentbench_agents():
    return {"writer": Writer}


def pytest_agentbench_sandboxes():
    return {"box": Box}


def pytest_agentbench_oracles():
    return {"size": Size}
"""

FIRST = """\
prompt: Hello.
sandbox: {driver: box}
oracles: [{size: out.txt, at_least: 6}]
solution: {files: {out.txt: "Hello."}}
"""
SECOND = """\
prompt: Hi
oracles: [{size: out.txt, at_least: 6}]
solution: {files: {out.txt: "Good day."}}
"""

EXPERIMENT = """\
variants:
  reference: {agent: reference}
  writer: {agent: writer}
"""

OUTCOMES = {
    "first[reference-r1]": "passed",
    "first[writer-r1]": "passed",
    "second[reference-r1]": "passed",
    "second[writer-r1]": "failed",
}
"""What two tasks and two variants come to."""


def write_third_parties(project: Project, conftest: str = GIVING) -> None:
    """A project with two tasks, whose components lie in ``lib/mine.py``."""
    project.write("pytest.ini", "[pytest]\npythonpath = lib\nagentbench_sandbox =\n")
    project.write("lib/mine.py", f"{AGENT}\n\n{SANDBOX}\n\n{ORACLE}")
    if conftest:
        project.write("conftest.py", conftest)
    project.write("tasks/first.yaml", FIRST)
    project.write(
        "tasks/second.yaml", SECOND.replace("oracles", "sandbox: {driver: local}\noracles")
    )
    project.write("agentbench.yaml", EXPERIMENT)


def distribution(project: Project, name: str, points: str) -> None:
    """An installed distribution with entry points, as ``pip`` leaves it."""
    place = f"lib/{name}-1.0.dist-info"
    project.write(f"{place}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    project.write(f"{place}/entry_points.txt", points)


POINTS = """\
[pytest_agentbench.agents]
writer = mine:Writer

[pytest_agentbench.sandboxes]
box = mine:Box

[pytest_agentbench.oracles]
size = mine:Size
"""
