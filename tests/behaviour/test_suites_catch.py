"""Negative controls of the behaviour suites: each deliberate fault of a class is found."""

from __future__ import annotations

import pytest

SANDBOX = """\
from pytest_agentbench import Capabilities, Completed, DriverWrapper, SandboxWrapper
from pytest_agentbench.testing import SandboxSuite


class Box(SandboxWrapper):
{body}


class Driver(DriverWrapper):
    name = "broken"
{driver}
    def wrap(self, sandbox):
        return Box(sandbox, driver=self.name)


class TestBox(SandboxSuite):
    driver_class = Driver
"""

AGENT = """\
import os
from pytest_agentbench import AgentBase, AgentCommand, AgentOptions, AgentRun, Transcript, Usage
from pytest_agentbench.testing import AgentSuite


class Broken(AgentBase):
    name = "broken"
    def command(self, trial, context):
        return AgentCommand(("sh", "-c", "cat"), stdin=trial.prompt.encode("utf-8", "replace"))
{body}


class TestBroken(AgentSuite):
    agent_class = Broken
"""

ORACLE = """\
from pytest_agentbench import OracleBase, SandboxError
from pytest_agentbench.testing import OracleSuite


class Broken(OracleBase):
    kind = "broken"
    async def check(self, staged, sandbox, subject):
        done = await sandbox.run(["sh", "app.sh"], timeout_s=staged.spec.timeout_s)
        passed = done.exit_code == 0
        return self.result(staged, passed=passed, reason="ran", sound=not done.timed_out)
{body}


class TestBroken(OracleSuite):
    oracle_class = Broken
    right = {{"app.sh": "exit 0\\n"}}
    wrong = {{"app.sh": "exit 1\\n"}}
    hang = {{"app.sh": "sleep 600\\n"}}
"""


def failures(pytester: pytest.Pytester, text: str, chosen: str) -> tuple[int, int]:
    pytester.makepyfile(test_it=text)
    result = pytester.runpytest_subprocess("-q", "-p", "no:cacheprovider", "-k", chosen)
    counts = result.parseoutcomes()
    return counts.get("failed", 0) + counts.get("errors", 0), counts.get("passed", 0)


@pytest.mark.parametrize(
    ("body", "driver", "chosen"),
    [
        ("    pass", "", "nothing_is_wrong"),
        (
            (
                "    async def run(self, argv, **s):\n"
                "        done = await self.inner.run(argv, **s)\n"
                "        return Completed(0, done.duration_s, done.stdout, done.stderr)"
            ),
            "",
            "exit_code",
        ),
        (
            (
                "    async def run(self, argv, *, env=None, **s):\n        import os\n"
                "        return await self.inner.run(argv, env={**os.environ, **(env or {})}, **s)"
            ),
            "",
            "harness_environment",
        ),
        (
            (
                "    async def run(self, argv, **s):\n"
                "        import subprocess\n"
                "        out = subprocess.run(argv, capture_output=True, cwd=self.workspace)\n"
                "        from pytest_agentbench import Output\n"
                "        text = Output(out.stdout, total=len(out.stdout))\n"
                "        return Completed(out.returncode, 1.0, text)"
            ),
            "",
            "daemon",
        ),
        (
            (
                "    async def put(self, files):\n"
                "        await self.inner.write(files)\n        return self.workspace"
            ),
            "",
            "fresh_random_place",
        ),
        (
            (
                "    async def read(self, path, *, limit):\n        from pathlib import Path\n"
                "        found = Path(self.workspace, path)\n"
                "        return found.read_bytes()[:limit] if found.is_file() else None"
            ),
            "",
            "regular_files",
        ),
        ("    async def close(self):\n        pass", "", "closed_sandbox"),
        (
            "    pass",
            (
                "    def probe(self):\n"
                "        return Capabilities(isolates_processes=True, hides_host=True)\n"
            ),
            "host_are_not_seen",
        ),
    ],
)
def test_a_broken_sandbox_is_caught(
    pytester: pytest.Pytester, body: str, driver: str, chosen: str
) -> None:
    """The check that is for that fault fails; without a fault, none does."""
    text = SANDBOX.replace("{body}", body).replace("{driver}", driver)
    if chosen == "nothing_is_wrong":
        failed, passed = failures(pytester, text, "exit_code or closed_sandbox or daemon")
        assert (failed, passed) == (0, 3)
    else:
        assert failures(pytester, text, chosen)[0] >= 1


@pytest.mark.parametrize(
    ("body", "chosen", "caught"),
    [
        ("", "pure or parser or usage or option or environment or time_out", False),
        ("    Options = type('O', (__import__('pydantic').BaseModel,), {})", "option", True),
        (
            (
                "    def parse(self, completed):\n"
                "        return Transcript(completed.stdout.head.decode())"
            ),
            "parser",
            True,
        ),
        (
            (
                "    def parse(self, completed):\n"
                "        return Transcript(usage=Usage(input_tokens=0, output_tokens=0))"
            ),
            "unknown_usage",
            True,
        ),
        (
            (
                "    def command(self, trial, context):\n"
                "        return AgentCommand(('sh', '-c', os.getcwd()))"
            ),
            "pure",
            True,
        ),
        (
            "    async def run(self, trial, sandbox, context):\n        return None",
            "to_its_end",
            True,
        ),
    ],
)
def test_a_broken_agent_is_caught(
    pytester: pytest.Pytester, body: str, chosen: str, *, caught: bool
) -> None:
    """The check that is for that fault fails; without a fault, none does."""
    failed, _ = failures(pytester, AGENT.replace("{body}", body), chosen)
    assert (failed > 0) is caught


@pytest.mark.parametrize(
    ("body", "chosen", "caught"),
    [
        ("", "answer or hang or digest or key or memory or read", False),
        (
            (
                "    async def check(self, staged, sandbox, subject):\n"
                "        return self.result(staged, passed=True, reason='fine')"
            ),
            "wrong_answer or doing_nothing",
            True,
        ),
        (
            (
                "    async def check(self, staged, sandbox, subject):\n"
                "        return self.result(staged, passed=False, reason='no')"
            ),
            "right_answer",
            True,
        ),
        (
            (
                "    async def check(self, staged, sandbox, subject):\n"
                "        try:\n            return await super().check(staged, sandbox, subject)\n"
                "        except Exception:\n"
                "            return self.result(staged, passed=False, reason='no')"
            ),
            "broken_sandbox",
            True,
        ),
        (
            (
                "    async def check(self, staged, sandbox, subject):\n"
                "        limit = staged.spec.timeout_s\n"
                "        done = await sandbox.run(['sh', 'app.sh'], timeout_s=limit)\n"
                "        if done.timed_out:\n            raise SandboxError('too slow')\n"
                "        return self.result(staged, passed=not done.exit_code, reason='ran')"
            ),
            "hang",
            True,
        ),
        ("    def validate(self, spec):\n        return []", "key", True),
        (
            (
                "    def prepare(self, spec):\n        from dataclasses import replace\n"
                "        return replace(super().prepare(spec), files={}, digest='same')"
            ),
            "digest or memory",
            True,
        ),
    ],
)
def test_a_broken_oracle_is_caught(
    pytester: pytest.Pytester, body: str, chosen: str, *, caught: bool
) -> None:
    """The check that is for that fault fails; without a fault, none does."""
    text = ORACLE.replace("{body}", body).replace("{{", "{").replace("}}", "}")
    failed, _ = failures(pytester, text, chosen)
    assert (failed > 0) is caught
