"""What one process needs to run trials, put together by ``wiring``."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from pytest_agentbench.engine.loop import EngineLoop
from pytest_agentbench.engine.preparation import Preparations
from pytest_agentbench.engine.slots import Slots
from pytest_agentbench.engine.trial import Trial
from pytest_agentbench.model.contracts import SandboxDriver
from pytest_agentbench.model.task import TaskSpec
from pytest_agentbench.model.trial import TrialSpec
from pytest_agentbench.sandboxes.hidden import HiddenGroup
from pytest_agentbench.sandboxes.process import strike_all


@dataclass(slots=True)
class Engine:
    """Starts trials on a loop of its own.

    ``hidden`` tells what of a task no agent may see. ``release``
    removes what the process had on disk, and returns what could not be removed.
    """

    drivers: dict[str, SandboxDriver]
    preparations: Preparations
    hidden: Callable[[TaskSpec], Iterable[HiddenGroup]]
    release: Callable[[], tuple[Path, ...]]
    slots: Slots
    loop: EngineLoop = field(default_factory=EngineLoop)

    def start(self, tasks: Iterable[TaskSpec], collected: Iterable[TaskSpec] = ()) -> None:
        """Read and digest all tasks' oracles, then be ready for trials.

        Of ``collected`` tasks too, which are not run, no template may show anything.
        """
        tasks = tuple(tasks)
        everyone = {task.id: task for task in (*collected, *tasks)}.values()
        groups = (group for task in everyone for group in self.hidden(task))
        self.preparations.snapshot(tasks, groups)
        self.loop.start()

    def trial(self, spec: TrialSpec) -> Trial:
        """A fresh attempt at a trial."""
        return Trial(spec, self.drivers, self.preparations, self.slots)

    def hurry(self) -> None:
        """Kill all that runs, and wait for nothing any more."""
        self.loop.hurry()
        strike_all()

    def stop(self) -> tuple[Path, ...]:
        """Cancel what still runs and remove every sandbox; return what cannot be removed."""
        if not self.loop.stop():
            strike_all()
        return self.release()
