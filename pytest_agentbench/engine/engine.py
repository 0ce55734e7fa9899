"""What one process needs to run trials, put together by ``wiring``."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from pytest_agentbench.engine.loop import EngineLoop
from pytest_agentbench.engine.preparation import Preparations
from pytest_agentbench.engine.trial import Trial
from pytest_agentbench.model.contracts import SandboxDriver
from pytest_agentbench.model.task import TaskSpec
from pytest_agentbench.model.trial import TrialSpec


@dataclass(slots=True)
class Engine:
    """Starts trials on a loop of its own.

    ``hidden_paths`` tells which paths of a task no agent may see. ``release``
    removes what the process had on disk, and returns what could not be removed.
    """

    drivers: dict[str, SandboxDriver]
    preparations: Preparations
    hidden_paths: Callable[[TaskSpec], Iterable[Path]]
    release: Callable[[], tuple[Path, ...]]
    loop: EngineLoop = field(default_factory=EngineLoop)

    def start(self, tasks: Iterable[TaskSpec]) -> None:
        """Read and digest all tasks' oracles, then be ready for trials."""
        self.preparations.snapshot(tasks, self.hidden_paths)
        self.loop.start()

    def trial(self, spec: TrialSpec) -> Trial:
        """A fresh attempt at a trial."""
        return Trial(spec, self.drivers, self.preparations)

    def stop(self) -> tuple[Path, ...]:
        """Cancel what still runs and remove every sandbox; return what cannot be removed."""
        self.loop.stop()
        return self.release()
