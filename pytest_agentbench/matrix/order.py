"""The order of a session's trials: repeat, then task, then variant. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_agentbench.model.trial import TrialHead, TrialSpec


class SessionOrder:
    """Ranks trials; tasks and variants keep the order in which they were first seen.

    So an interrupted session has tried every task once before it tries one twice.
    """

    def __init__(self, trials: Iterable[TrialSpec | TrialHead] = ()) -> None:
        self._tasks: dict[str, int] = {}
        self._variants: dict[str, int] = {}
        for trial in trials:
            self.key(trial)

    def key(self, trial: TrialSpec | TrialHead) -> tuple[int, int, int]:
        """What to sort by. Task and variant count as seen from now on."""
        return (
            trial.repeat,
            self._tasks.setdefault(trial.task.id, len(self._tasks)),
            self._variants.setdefault(trial.variant.name, len(self._variants)),
        )


def in_order(trials: Iterable[TrialSpec]) -> tuple[TrialSpec, ...]:
    """The trials in the order in which a session runs them."""
    return tuple(sorted(trials, key=SessionOrder().key))
