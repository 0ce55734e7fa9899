"""What one process plans: each collected trial with its suites, and what was never collected."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pytest_agentbench.engine.planned import plan_trial
from pytest_agentbench.errors import UsageError
from pytest_agentbench.matrix.suites import (
    Candidate,
    check_members,
    check_names,
    place,
    suite_names,
    suites_of,
)
from pytest_agentbench.model.plan import Plan, PlannedTrial
from pytest_agentbench.model.trial import TrialSpec
from pytest_agentbench.pytest_integration import compat
from pytest_agentbench.pytest_integration.narrowing import Narrowing
from pytest_agentbench.pytest_integration.session import BenchSession
from pytest_agentbench.redaction import printable

_SELECTORS = {"keyword": "-k", "markexpr": "-m", "deselect": "--deselect"}
_SWITCHES = {"lf": "--lf", "stepwise": "--sw"}


class Planning:
    """Enters items as pytest decides about them, and makes the plan in the end."""

    def __init__(self, bench: BenchSession, narrowing: Narrowing) -> None:
        self._bench = bench
        self._narrowing = narrowing
        self._planned: dict[str, PlannedTrial] = {}
        # Two lists, for each object that lives to the end of collection slows it down:
        # a pair for each of 10,000 trials is a tenth of what the collector looks through.
        self._items: list[pytest.Item] = []
        self._specs: list[TrialSpec] = []
        self._expressions: dict[str, Callable[[pytest.Item], bool]] = {}
        self._places: dict[str, str] = {}

    def enter(self, item: pytest.Item, spec: TrialSpec, *, deselected: str | None = None) -> None:
        """Enter one collected item; what was decided last holds."""
        self._planned[item.nodeid] = plan_trial(
            spec,
            printable(item.nodeid),
            deselected,
            suites=self._suites(item, spec),
            position=self._place(spec),
        )
        self._items.append(item)
        self._specs.append(spec)

    def enter_removed(self, item: pytest.Item, spec: TrialSpec) -> None:
        """Enter a trial that somebody took away without saying so (plugins that shard do)."""
        if item.nodeid not in self._planned:
            self.enter(item, spec, deselected="removed by a plugin")

    def plan(self) -> Plan:
        """All that was collected, in the order in which it is to run."""
        bench = self._bench
        experiment = bench.experiment()
        narrowed = [*self._narrowing.reasons(), *bench.narrowed_by_options()]
        gates = [suite.name for suite in experiment.suites if suite.gate is not None]
        gates += [task.dataset or task.id for task in bench.tasks.values() if task.gated]
        return Plan(
            trials=list(self._planned.values()),
            suites=suite_names(bench.tasks.values(), experiment.suites),
            narrowed=list(map(printable, narrowed)),
            gates=list(dict.fromkeys(gates)),
            refusal=self._refusal(whole=not narrowed),
        )

    def _refusal(self, *, whole: bool) -> str | None:
        """What is wrong with the suites; of a part of the project no suite is called empty."""
        bench = self._bench
        suites, rootdir = bench.experiment().suites, bench.settings.rootdir
        try:
            check_names(bench.tasks.values(), suites, rootdir)
            filled = {name for trial in self._planned.values() for name in trial.suites}
            if whole and any(suite.name not in filled for suite in suites):
                entered = zip(self._items, self._specs, strict=True)
                check_members([self._candidate(*one) for one in entered], suites, rootdir)
        except UsageError as error:
            return str(error)
        return None

    def _suites(self, item: pytest.Item, spec: TrialSpec) -> list[str]:
        suites = self._bench.experiment().suites
        if not suites and spec.task.dataset is None:
            return []
        return suites_of(self._candidate(item, spec), suites)

    def _candidate(self, item: pytest.Item, spec: TrialSpec) -> Candidate:
        path = self._place(spec).rpartition(":")[0]
        return Candidate(spec.task, path, lambda text: self._marked(item, text))

    def _place(self, spec: TrialSpec) -> str:
        task = spec.task
        if task.id not in self._places:
            self._places[task.id] = place(task.position, self._bench.settings.rootdir)
        return self._places[task.id]

    def _marked(self, item: pytest.Item, text: str) -> bool:
        if text not in self._expressions:
            self._expressions[text] = compat.mark_expression(text)
        return self._expressions[text](item)


def deselection(config: pytest.Config) -> str:
    """Why items are deselected, as far as it can be known: pytest does not say by whom."""
    asked = [
        f"{flag} {value!r}" for name, flag in _SELECTORS.items() for value in _values(config, name)
    ]
    asked += [flag for name, flag in _SWITCHES.items() if config.getoption(name, default=False)]
    return f"deselected ({', '.join(asked)})" if asked else "deselected"


def _values(config: pytest.Config, name: str) -> list[str]:
    value = config.getoption(name, default=None) or []
    return [value] if isinstance(value, str) else list(map(str, value))
