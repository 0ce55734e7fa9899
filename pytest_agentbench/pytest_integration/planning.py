"""What one process plans: each collected trial with its suites, and what was never collected."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING

import pytest

from pytest_agentbench.errors import UsageError
from pytest_agentbench.matrix.suites import (
    Candidate,
    check_members,
    check_names,
    place,
    suite_names,
    suites_of,
)
from pytest_agentbench.model.trial import TrialHead
from pytest_agentbench.pytest_integration import compat
from pytest_agentbench.pytest_integration.collect import head_of
from pytest_agentbench.pytest_integration.discretion import own_redactor
from pytest_agentbench.pytest_integration.narrowing import Narrowing
from pytest_agentbench.pytest_integration.session import BenchSession
from pytest_agentbench.redaction import printable

if TYPE_CHECKING:
    from pytest_agentbench.model.plan import Plan, PlannedTrial

_SELECTORS = {"keyword": "-k", "markexpr": "-m", "deselect": "--deselect"}
_SWITCHES = {"lf": "--lf", "stepwise": "--sw"}


class Planning:
    """Enters items as pytest decides about them, and makes the plan in the end."""

    def __init__(self, bench: BenchSession, narrowing: Narrowing) -> None:
        self._bench = bench
        self._narrowing = narrowing
        # Lists, and nothing planned before all is known, for each object that lives while
        # pytest collects slows it down: the garbage collector looks at all of them.
        self._items: list[pytest.Item] = []
        self._deselected: list[str | None] = []
        self._expressions: dict[str, Callable[[pytest.Item], bool]] = {}
        self._places: dict[str, str] = {}

    def enter(self, item: pytest.Item, *, deselected: str | None = None) -> None:
        """Enter one collected item; what was decided last holds."""
        self._items.append(item)
        self._deselected.append(deselected)

    def enter_removed(self, collected: Sequence[pytest.Item]) -> None:
        """Enter the trials that somebody took away without saying so (plugins that shard do)."""
        entered = set(map(id, self._items))
        lost = [item for item in collected if id(item) not in entered]
        # A file that is named twice is collected twice, under the same node ids.
        names = {item.nodeid for item in self._items} if lost else set()
        for item in lost:
            if item.nodeid not in names:
                self.enter(item, deselected="removed by a plugin")

    def plan(self) -> Plan:
        """All that was collected, in the order in which it is to run."""
        from pytest_agentbench.model.plan import Plan

        bench = self._bench
        planned = self._trials()
        experiment = bench.experiment()
        narrowed = self._narrowed()
        gates = [suite.name for suite in experiment.suites if suite.gate is not None]
        gates += [task.dataset or task.id for task in bench.tasks.values() if task.gated]
        return Plan(
            trials=planned,
            suites=suite_names(bench.tasks.values(), experiment.suites),
            narrowed=list(map(printable, narrowed)),
            gates=list(dict.fromkeys(gates)),
            refusal=self._refusal(
                {name for trial in planned for name in trial.suites}, whole=not narrowed
            ),
        )

    def refusal(self) -> str | None:
        """What the plan's refusal would be, where nobody needs the plan."""
        filled: set[str] = set()
        if self._bench.experiment().suites:
            filled.update(*(self._suites(item, head) for item, head in self._entered()))
        return self._refusal(filled, whole=not self._narrowed())

    def _narrowed(self) -> list[str]:
        return [*self._narrowing.reasons(), *self._bench.narrowed_by_options()]

    def _trials(self) -> list[PlannedTrial]:
        from pytest_agentbench.engine.planned import plan_trial

        planned: dict[str, PlannedTrial] = {}
        for (item, head), deselected in zip(self._entered(), self._deselected, strict=True):
            nodeid = item.nodeid
            planned[nodeid] = plan_trial(
                head,
                printable(nodeid),
                deselected,
                suites=self._suites(item, head),
                position=self._position(item, head),
            )
        return list(planned.values())

    def _entered(self) -> Iterator[tuple[pytest.Item, TrialHead]]:
        for item in self._items:
            head = head_of(item)
            assert head is not None, "only items of trials are entered"
            yield item, head

    def _refusal(self, filled: AbstractSet[str], *, whole: bool) -> str | None:
        """What is wrong with the suites; of a part of the project no suite is called empty.

        ``filled`` are the suites that a trial belongs to.
        """
        bench = self._bench
        suites, rootdir = bench.experiment().suites, bench.settings.rootdir
        if bench.misuse is not None:
            return bench.misuse
        try:
            check_names(bench.tasks.values(), suites, rootdir)
            if whole and any(suite.name not in filled for suite in suites):
                entered = [self._candidate(*one) for one in self._entered()]
                check_members(entered, suites, rootdir)
        except UsageError as error:
            return str(error)
        return None

    def _suites(self, item: pytest.Item, head: TrialHead) -> list[str]:
        suites = self._bench.experiment().suites
        if not suites and head.task.dataset is None:
            return []
        return suites_of(self._candidate(item, head), suites)

    def _candidate(self, item: pytest.Item, head: TrialHead) -> Candidate:
        path = self._position(item, head).rpartition(":")[0]
        return Candidate(head.task, path, lambda text: self._marked(item, text))

    def _position(self, item: pytest.Item, head: TrialHead) -> str:
        """Where what is tried is written: the task, or the Python test."""
        if not head.test:
            return self._place(head)
        path, line, _ = item.location
        return f"{path}:{(line or 0) + 1}"

    def _place(self, head: TrialHead) -> str:
        task = head.task
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
    return own_redactor().text(f"deselected ({', '.join(asked)})") if asked else "deselected"


def _values(config: pytest.Config, name: str) -> list[str]:
    value = config.getoption(name, default=None) or []
    return [value] if isinstance(value, str) else list(map(str, value))
