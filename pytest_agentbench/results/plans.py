"""Plans on disk: each process writes its own, the controlling one sees whether they agree."""

from __future__ import annotations

from dataclasses import fields
from itertools import zip_longest
from typing import TYPE_CHECKING

from pydantic import ValidationError

from pytest_agentbench.errors import StoreError
from pytest_agentbench.model.digest import digest_bytes
from pytest_agentbench.model.plan import Plan, PlannedTrial
from pytest_agentbench.results.atomic import replace_file
from pytest_agentbench.results.rundir import file_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from pytest_agentbench.results.rundir import RunDirectory

_MOST_DIFFERENCES = 5


def write_plan(path: Path, plan: Plan) -> None:
    """Write a plan in one step. Raises ``StoreError``."""
    replace_file(path, plan.model_dump_json(indent=1).encode() + b"\n")


def write_process_plan(run: RunDirectory, process: str, plan: Plan) -> None:
    """Write what ``process`` (``main``, ``gw0``) planned. Raises ``StoreError``."""
    write_plan(run.plans / f"{file_name(process)}.json", plan)


def read_plan(path: Path) -> Plan:
    """The plan at ``path``. Raises ``StoreError``."""
    return _parsed(path, _bytes_of(path))


class ProcessPlans:
    """The plans that the processes of a run have written, as they come.

    Equal bytes are parsed once and make one plan: of ten thousand trials a plan has
    megabytes, and those of all processes are equal unless something is wrong.
    """

    def __init__(self, run: RunDirectory) -> None:
        self._directory = run.plans
        self._plans: dict[str, Plan] = {}
        self._by_digest: dict[str, Plan] = {}

    def read(self) -> dict[str, Plan]:
        """Every process's plan, by the process's name, sorted. Raises ``StoreError``.

        Each is read once, and kept where its file is deleted.
        """
        try:
            paths = sorted(self._directory.glob("*.json"))
        except OSError as error:
            where = str(self._directory)
            raise StoreError(f"cannot be read: {error.strerror}", where=where) from error
        for path in paths:
            if not path.name.startswith(".") and path.stem not in self._plans:
                self._plans[path.stem] = self._plan(path)
        return dict(sorted(self._plans.items()))

    def _plan(self, path: Path) -> Plan:
        data = _bytes_of(path)
        digest = digest_bytes(data)
        plan = self._by_digest.get(digest)
        if plan is None:
            plan = self._by_digest[digest] = _parsed(path, data)
        return plan


def read_process_plans(run: RunDirectory) -> dict[str, Plan]:
    """Every process's plan, by the process's name, sorted. Raises ``StoreError``."""
    return ProcessPlans(run).read()


def _bytes_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise StoreError(f"cannot be read: {error.strerror}", where=str(path)) from error


def _parsed(path: Path, data: bytes) -> Plan:
    try:
        return Plan.model_validate_json(data)
    except ValidationError as error:
        raise StoreError(f"not a plan: {error}", where=str(path)) from error


def agree(plans: Mapping[str, Plan]) -> list[str]:
    """How plans differ from the first one, in words; empty when all are equal. Pure."""
    names = list(plans)
    differences: list[str] = []
    for name in names[1:]:
        if plans[name] is plans[names[0]]:
            continue
        found = _differences(names[0], plans[names[0]], name, plans[name])
        differences += found[:_MOST_DIFFERENCES]
        if len(found) > _MOST_DIFFERENCES:
            differences.append(f"{name}: {len(found) - _MOST_DIFFERENCES} more differences")
    return differences


def merge(plans: Mapping[str, Plan]) -> Plan:
    """One plan with all that is in any: in the first one's order, then what it lacks. Pure."""
    trials: dict[str, PlannedTrial] = {}
    different = list({id(plan): plan for plan in plans.values()}.values())
    if len(different) == 1 and different[0].refusal is None:
        return different[0]
    for plan in different:
        for trial in plan.trials:
            trials.setdefault(trial.key, trial)
    return Plan(
        trials=list(trials.values()),
        suites=_union(plan.suites for plan in different),
        narrowed=_union(plan.narrowed for plan in different),
        gates=_union(plan.gates for plan in different),
    )


def _union(lists: Iterable[list[str]]) -> list[str]:
    return list(dict.fromkeys(text for one in lists for text in one))


def _differences(name_a: str, a: Plan, name_b: str, b: Plan) -> list[str]:
    trials_a = {trial.key: trial for trial in a.trials}
    trials_b = {trial.key: trial for trial in b.trials}
    found = [f"{key}: in {name_a}, not in {name_b}" for key in trials_a if key not in trials_b]
    found += [f"{key}: in {name_b}, not in {name_a}" for key in trials_b if key not in trials_a]
    if found:
        return found
    for key, trial in trials_a.items():
        for name, value_a, value_b in _unequal_fields(trial, trials_b[key]):
            found.append(f"{key}: {name} is {value_a!r} in {name_a}, {value_b!r} in {name_b}")
    for field in ("suites", "narrowed", "gates"):
        value_a, value_b = getattr(a, field), getattr(b, field)
        if value_a != value_b:
            found.append(f"{field}: {value_a!r} in {name_a}, {value_b!r} in {name_b}")
    if not found:
        order = zip_longest((one.key for one in a.trials), (one.key for one in b.trials))
        for place, (key_a, key_b) in enumerate(order, start=1):
            if key_a != key_b:
                return [f"place {place}: {key_a} in {name_a}, {key_b} in {name_b}"]
    return found


def _unequal_fields(a: PlannedTrial, b: PlannedTrial) -> Iterator[tuple[str, object, object]]:
    for name in (field.name for field in fields(a)):
        value_a, value_b = getattr(a, name), getattr(b, name)
        if value_a != value_b:
            yield name, value_a, value_b
