"""Lets one oracle judge one workspace in a real scoring sandbox, as the engine would."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from pytest_agentbench.model.contracts import (
    ExpectedTests,
    Oracle,
    Sandbox,
    SandboxDriver,
    SandboxRequest,
    StagedOracle,
    Subject,
)
from pytest_agentbench.model.run import AgentRun, Changes, Transcript
from pytest_agentbench.model.task import (
    Blob,
    FileTree,
    JsonValue,
    Limits,
    OracleSpec,
    Position,
    SandboxSpec,
    TaskSpec,
)
from pytest_agentbench.model.trial import TrialSpec
from pytest_agentbench.model.variant import Variant
from pytest_agentbench.model.verdict import OracleResult
from pytest_agentbench.registry import oracle_class
from pytest_agentbench.sandboxes.area import WorkArea
from pytest_agentbench.sandboxes.workspace import build_template

Files = Mapping[str, str | bytes]
NOTHING: Files = {}


@dataclass(slots=True)
class Bench:
    """One driver, and the place where its sandboxes lie.

    ``before`` is a shell script that runs in the scoring sandbox ahead of the
    oracle: it makes what files alone cannot, such as symlinks. ``disguise`` makes
    the sandbox name another interpreter or another place of pytest.
    """

    driver: SandboxDriver
    area: WorkArea
    sandbox_spec: SandboxSpec = field(default_factory=SandboxSpec)
    before: str = ""
    disguise: Mapping[str, str] = field(default_factory=dict)

    def judge(
        self,
        kind: str,
        expectation: JsonValue | FileTree,
        left: Files = NOTHING,
        *,
        template: Files = NOTHING,
        solution: Files | None = None,
        options: Mapping[str, JsonValue] | None = None,
        assets: FileTree | None = None,
        timeout_s: float = 60.0,
        said: str | None = None,
    ) -> OracleResult:
        """Rehearse on template and solution, then judge the template with what an agent left.

        ``said`` is the agent's final message.
        """
        spec = OracleSpec(
            kind,
            "hidden",
            Position(Path("task.yaml"), 3),
            expectation,
            options=options or {},
            assets=assets or FileTree(),
            timeout_s=timeout_s,
        )
        oracle: Oracle = oracle_class(kind)()
        assert oracle.validate(spec) == []
        staged = oracle.prepare(spec)
        staged = asyncio.run(self._rehearsed(oracle, staged, template, solution))
        return asyncio.run(self._judged(oracle, staged, template, left, said))

    def changes(self, template: Files, script: str) -> Changes:
        """What a shell script changes in a workspace, as found when its sandbox is torn down."""
        return asyncio.run(self._changes(template, script))

    async def _changes(self, template: Files, script: str) -> Changes:
        sandbox = await self._open(template)
        try:
            done = await sandbox.run(["sh", "-ec", script], timeout_s=30)
            assert done.exit_code == 0, done.stderr.text()
            return await sandbox.settle()
        finally:
            await sandbox.close()

    def expected(
        self, tests: Files, *, template: Files = NOTHING, solution: Files | None = None
    ) -> ExpectedTests | None:
        """What a rehearsal of hidden tests lists."""
        spec = OracleSpec("pytest", "hidden", Position(Path("task.yaml"), 3), tree(tests))
        oracle: Oracle = oracle_class("pytest")()
        staged = asyncio.run(self._rehearsed(oracle, oracle.prepare(spec), template, solution))
        return staged.expected

    async def _rehearsed(
        self, oracle: Oracle, staged: StagedOracle, template: Files, solution: Files | None
    ) -> StagedOracle:
        sandbox = await self._open(template)
        try:
            await sandbox.write(blobs(solution or {}))
            return await oracle.rehearse(staged, sandbox, solved=solution is not None)
        finally:
            await sandbox.close()

    async def _judged(
        self,
        oracle: Oracle,
        staged: StagedOracle,
        template: Files,
        left: Files,
        said: str | None,
    ) -> OracleResult:
        sandbox = await self._open(template)
        try:
            await sandbox.write(blobs(left))
            if self.before:
                done = await sandbox.run(["sh", "-ec", self.before], timeout_s=30)
                assert done.exit_code == 0, done.stderr.text()
            return await oracle.check(staged, sandbox, self._subject(said))
        finally:
            await sandbox.close()

    async def _open(self, template: Files) -> Sandbox:
        made = build_template(blobs(template), self.area.fresh("template"), where="task")
        sandbox = await self.driver.open(made, SandboxRequest(self.sandbox_spec, label="task"))
        for name, value in self.disguise.items():
            setattr(sandbox, name, value.replace("{workspace}", sandbox.workspace))
        return sandbox

    def _subject(self, said: str | None) -> Subject:
        task = TaskSpec("task", Position(Path("task.yaml"), 1), "Do it.", (), digest="d")
        trial = TrialSpec(task, Variant("mine", "noop"), 1, Limits(), self.sandbox_spec)
        return Subject(trial, AgentRun(transcript=Transcript(final_message=said)))

    def with_(self, **changes: object) -> Bench:
        """The same bench with other fields."""
        return replace(self, **changes)  # type: ignore[arg-type]


def blobs(files: Files) -> dict[str, Blob]:
    """File contents; a text that starts with ``#!`` is a program."""
    made = {}
    for name, content in files.items():
        data = content.encode() if isinstance(content, str) else content
        made[name] = Blob(data, executable=data.startswith(b"#!"))
    return made


def tree(files: Files) -> FileTree:
    """An inline tree of texts."""
    return FileTree(files={name: str(text) for name, text in files.items()})
