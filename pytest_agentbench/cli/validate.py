"""``agentbench validate``: what is wrong with tasks and experiments, without running an agent.

With ``--run`` it proves by trials that the tasks measure what they say.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_agentbench.cli.collection import (
    Collection,
    check_experiments,
    chosen_experiment,
    collect,
    session_options,
)
from pytest_agentbench.cli.proving import COLUMNS, Plan, Proof, Prover, Status
from pytest_agentbench.matrix.agentside import without_agent
from pytest_agentbench.model.task import JsonValue, TaskSpec
from pytest_agentbench.taskfiles.assignments import read_assignments

_MARKS = {Status.OK: "ok", Status.WRONG: "WRONG", Status.UNPROVEN: "-"}


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked for; see ``agentbench validate --help``."""

    paths: Sequence[str]
    run: bool = False
    runs: int = 2
    jobs: int = 2
    driver: str | None = None
    experiment: str | None = None
    as_json: bool = False


def validate(request: Request) -> bool:
    """Print what is wrong; whether all is well. Raises ``AgentbenchError``."""
    paths = request.paths or ["."]
    options = session_options(sandbox=request.driver, experiment=request.experiment)
    collection = collect(paths, options)
    if request.experiment is None:
        check_experiments(collection, paths)
    proofs: list[tuple[TaskSpec, list[Proof]]] = []
    skipped = _skipped(collection)
    if request.run:
        tasks = [task for task in collection.tasks if task.id not in skipped]
        proofs = list(zip(tasks, _prove(request, collection, tasks), strict=True))
    if request.as_json:
        print(json.dumps(_as_json(collection, proofs, skipped), indent=2))
    else:
        _print(collection, proofs, skipped, ran=request.run)
    wrong = any(proof.status is Status.WRONG for _, found in proofs for proof in found)
    return not collection.problems and not wrong and bool(collection.tasks)


def _prove(
    request: Request, collection: Collection, tasks: Sequence[TaskSpec]
) -> list[list[Proof]]:
    if not tasks:
        return []
    settings = collection.settings
    with collection.project.known():
        plan = Plan(
            chosen_experiment(settings),
            runs=request.runs,
            ini=without_agent(read_assignments(settings.configured)),
            command_line=without_agent(read_assignments(settings.typed)),
        )
        return Prover(collection.engine(), plan).prove_all(tasks, jobs=request.jobs)


def _skipped(collection: Collection) -> dict[str, str]:
    """Why a task is not tried: it is skipped on this machine."""
    return {
        trial.task.id: trial.exclusion.message
        for trial in collection.trials
        if trial.exclusion is not None
    }


def _print(
    collection: Collection,
    proofs: Sequence[tuple[TaskSpec, list[Proof]]],
    skipped: dict[str, str],
    *,
    ran: bool,
) -> None:
    for problem in collection.problems:
        print(f"{problem}\n")
    if proofs:
        _print_table(proofs)
    if ran:
        for name, why in skipped.items():
            print(f"{name}: skipped: {why}")
    count = len(collection.tasks)
    nouns = "1 task" if count == 1 else f"{count} tasks"
    broken = len(collection.problems)
    if not count and not broken:
        print("no task file was found")
        return
    said = f"{nouns}, {broken} wrong {'file' if broken == 1 else 'files'}"
    if proofs:
        failed = sum(one.status is Status.WRONG for _, found in proofs for one in found)
        said += f", {failed} {'proof' if failed == 1 else 'proofs'} failed"
        unproven = sum(all(one.status is Status.UNPROVEN for one in found) for _, found in proofs)
        if unproven:
            said += f", {unproven} {'task' if unproven == 1 else 'tasks'} not proved"
    print(said)


def _print_table(proofs: Sequence[tuple[TaskSpec, list[Proof]]]) -> None:
    width = max(len("task"), *(len(task.id) for task, _ in proofs))
    widths = [max(len(column), len("WRONG")) for column in COLUMNS]
    header = "  ".join(name.ljust(size) for name, size in zip(COLUMNS, widths, strict=True))
    print(f"{'task'.ljust(width)}  {header}".rstrip())
    for task, found in proofs:
        marks = "  ".join(
            _mark(found, column).ljust(size) for column, size in zip(COLUMNS, widths, strict=True)
        )
        print(f"{task.id.ljust(width)}  {marks}".rstrip())
    print()
    told = [
        f"{task.id}: {proof.what}: {proof.detail}"
        for task, found in proofs
        for proof in found
        if proof.status is Status.WRONG
    ]
    unproven = {
        (proof.what, proof.detail): task
        for task, found in proofs
        for proof in found
        if proof.status is Status.UNPROVEN
    }
    told += [f"- {what}: {why}" for what, why in unproven]
    if told:
        print("\n".join(told), end="\n\n")


def _mark(proofs: Sequence[Proof], column: str) -> str:
    """The worst of a column."""
    statuses = {proof.status for proof in proofs if proof.column == column}
    order = (Status.WRONG, Status.UNPROVEN, Status.OK)
    return next((_MARKS[status] for status in order if status in statuses), "-")


def _as_json(
    collection: Collection,
    proofs: Sequence[tuple[TaskSpec, list[Proof]]],
    skipped: dict[str, str],
) -> dict[str, JsonValue]:
    root = collection.settings.rootdir
    return {
        "problems": list[JsonValue](collection.problems),
        "skipped": dict[str, JsonValue](skipped),
        "tasks": [
            {
                "id": task.id,
                "file": str(task.position.path.relative_to(root))
                if task.position.path.is_relative_to(root)
                else str(task.position.path),
                "proofs": [
                    {"what": proof.what, "status": str(proof.status), "detail": proof.detail}
                    for proof in dict(_by_id(proofs)).get(task.id, [])
                ],
            }
            for task in collection.tasks
        ],
    }


def _by_id(proofs: Sequence[tuple[TaskSpec, list[Proof]]]) -> list[tuple[str, list[Proof]]]:
    return [(task.id, found) for task, found in proofs]
