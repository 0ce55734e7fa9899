"""What tests and fixtures get of a trial's sandbox. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from pytest_agentbench.model.run import Completed


class SandboxHandle(Protocol):
    """A trial's sandbox for tests and fixtures; closed once the agent has been torn down.

    Everything raises ``SandboxClosed`` after the agent's end, and ``SandboxError`` where the
    walls themselves are in trouble.
    """

    @property
    def workspace(self) -> str:
        """The absolute path of the workspace, as it is inside."""
        ...

    def run(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        stdin: bytes = b"",
        timeout_s: float = 60.0,
    ) -> Completed:
        """Run a command, with the workspace as its working directory.

        ``env`` is laid over the sandbox's own. When the command ends, or has run for
        ``timeout_s`` seconds, everything that it started is dead. One that cannot be
        executed sets ``launch_error`` and does not raise.
        """
        ...

    async def arun(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        stdin: bytes = b"",
        timeout_s: float = 60.0,
    ) -> Completed:
        """The same for async tests and fixtures: awaited in their loop, run in the engine's."""
        ...
