"""Lets one agent work in one real sandbox, by the engine's own launch."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pytest_agentbench.engine.launch import build_agent, run_agent
from pytest_agentbench.model.contracts import Sandbox, SandboxDriver, SandboxRequest
from pytest_agentbench.model.run import AgentRun, Changes
from pytest_agentbench.model.task import (
    Blob,
    JsonValue,
    Limits,
    Position,
    SandboxSpec,
    Solution,
    TaskSpec,
)
from pytest_agentbench.model.trial import TrialSpec
from pytest_agentbench.model.variant import Variant
from pytest_agentbench.sandboxes.area import WorkArea
from pytest_agentbench.sandboxes.workspace import build_template

READ_LIMIT = 10_000_000


@dataclass(frozen=True, slots=True)
class Played:
    """What came of it: the run, and what changed; contents of deleted paths are None."""

    run: AgentRun
    changes: dict[str, bytes | None]
    executable: set[str]

    @property
    def stdout(self) -> str:
        """What the agent printed, as text."""
        assert self.run.completed is not None
        return self.run.completed.stdout.text()

    @property
    def exit_code(self) -> int | None:
        """How the agent's process ended."""
        assert self.run.completed is not None
        return self.run.completed.exit_code


@dataclass(slots=True)
class Arena:
    """One driver, and the place where its sandboxes lie."""

    driver: SandboxDriver
    area: WorkArea
    sandbox_spec: SandboxSpec = field(default_factory=SandboxSpec)
    survivors: int = 0

    def play(
        self,
        agent: str,
        options: Mapping[str, JsonValue] | None = None,
        *,
        workspace: Mapping[str, bytes | str] | None = None,
        solution: Solution | None = None,
        prompt: str = "Do it.",
        time_s: float = 60.0,
        env: Mapping[str, str] | None = None,
    ) -> Played:
        """Open a sandbox on the workspace, let the agent work in it, and look at what it left."""
        task = TaskSpec(
            "fix", Position(Path("/t/task.yaml"), 1), prompt, (), digest="d", solution=solution
        )
        variant = Variant("mine", agent, options=dict(options or {}))
        trial = TrialSpec(task, variant, 2, Limits(time_s), self.sandbox_spec)
        blobs = {name: _blob(content) for name, content in (workspace or {}).items()}
        template = build_template(blobs, self.area.fresh("template"), where="fix")

        async def work() -> Played:
            request = SandboxRequest(self.sandbox_spec, label="fix")
            sandbox = await self.driver.open(template, request)
            try:
                run = await run_agent(build_agent(variant), trial, sandbox, env or {})
                return await _seen(run, sandbox)
            finally:
                await sandbox.close()

        return asyncio.run(work())


async def _seen(run: AgentRun, sandbox: Sandbox) -> Played:
    found: Changes = await sandbox.settle()
    contents: dict[str, bytes | None] = {}
    executable = set()
    for change in found.changes:
        path = found.root / change.name
        contents[change.name] = path.read_bytes() if path.is_file() else None
        if change.entry is not None and change.entry.executable:
            executable.add(change.name)
    files = {
        name: content
        for name, content in contents.items()
        if content is not None or not (found.root / name).is_dir()
    }
    return Played(run, files, executable)


def _blob(content: bytes | str) -> Blob:
    data = content if isinstance(content, bytes) else content.encode()
    return Blob(data, executable=data.startswith(b"#!"))
