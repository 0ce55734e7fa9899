"""Plans on disk: each process writes its own, the controlling one sees whether they agree."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING

from pydantic import ValidationError

from pytest_agentbench.errors import StoreError
from pytest_agentbench.model.plan import Plan, PlannedTrial
from pytest_agentbench.results.atomic import replace_file
from pytest_agentbench.results.rundir import file_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
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
    try:
        return Plan.model_validate_json(path.read_bytes())
    except OSError as error:
        raise StoreError(f"cannot be read: {error.strerror}", where=str(path)) from error
    except ValidationError as error:
        raise StoreError(f"not a plan: {error}", where=str(path)) from error


def read_process_plans(run: RunDirectory) -> dict[str, Plan]:
    """Every process's plan, by the process's name, sorted. Raises ``StoreError``."""
    try:
        paths = sorted(run.plans.glob("*.json"))
    except OSError as error:
        raise StoreError(f"cannot be read: {error.strerror}", where=str(run.plans)) from error
    return {path.stem: read_plan(path) for path in paths if not path.name.startswith(".")}


def agree(plans: Mapping[str, Plan]) -> list[str]:
    """How plans differ from the first one, in words; empty when all are equal. Pure."""
    names = list(plans)
    differences: list[str] = []
    for name in names[1:]:
        found = _differences(names[0], plans[names[0]], name, plans[name])
        differences += found[:_MOST_DIFFERENCES]
        if len(found) > _MOST_DIFFERENCES:
            differences.append(f"{name}: {len(found) - _MOST_DIFFERENCES} more differences")
    return differences


def merge(plans: Mapping[str, Plan]) -> Plan:
    """One plan with all that is in any: in the first one's order, then what it lacks. Pure."""
    trials: dict[str, PlannedTrial] = {}
    for plan in plans.values():
        for trial in plan.trials:
            trials.setdefault(trial.key, trial)
    return Plan(
        trials=list(trials.values()),
        suites=_union(plan.suites for plan in plans.values()),
        narrowed=_union(plan.narrowed for plan in plans.values()),
        gates=_union(plan.gates for plan in plans.values()),
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
        for field in PlannedTrial.model_fields:
            value_a, value_b = getattr(trial, field), getattr(trials_b[key], field)
            if value_a != value_b:
                found.append(f"{key}: {field} is {value_a!r} in {name_a}, {value_b!r} in {name_b}")
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
