"""``agentbench report``: the summary of a stored run, from its plan and its records."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from pytest_agentbench.cli.places import find_results
from pytest_agentbench.errors import Problem, StoreError
from pytest_agentbench.model.plan import Plan
from pytest_agentbench.redaction import printable
from pytest_agentbench.reports.terminal import summary_lines
from pytest_agentbench.reports.view import build_view
from pytest_agentbench.results.manifest import RunManifest, read_manifest
from pytest_agentbench.results.plans import agree, merge, read_plan, read_process_plans
from pytest_agentbench.results.rundir import RunDirectory
from pytest_agentbench.results.store import read_records
from pytest_agentbench.stats.rollup import roll_up

PIPE_WIDTH = 100
"""Columns where the output goes to no terminal."""


def report(run: str, *, results: Path | None = None) -> None:
    """Print the summary of ``run``: an id, a directory, or ``latest``. Raises ``StoreError``.

    Without ``results``, they are looked for where the project around the working
    directory keeps them.
    """
    directory = _find(run, results or find_results(Path.cwd()))
    manifest = read_manifest(directory.manifest)
    plan, trouble = _plan(directory)
    records, problems = read_records(directory.records)
    view = build_view(
        roll_up(plan, records, narrowed=manifest.narrowed),
        results=_as_typed(directory.path),
        every_task=True,
        trouble=[*manifest.trouble, *trouble, *map(_told, problems)],
    )
    print(_title(manifest))
    for line in summary_lines(view, width=_width()):
        print(line.text)


def _find(run: str, results: Path) -> RunDirectory:
    if (results / "runs" / run).is_dir():
        return RunDirectory.open(results / "runs" / run)
    if run == "latest":
        latest = results / "latest"
        if not latest.exists():
            raise StoreError(
                "there is no run yet",
                where=_as_typed(results),
                advice="run pytest on some tasks first, or name another directory with --results",
            )
        return RunDirectory.open(latest)
    return RunDirectory.open(Path(run))


def _plan(directory: RunDirectory) -> tuple[Plan, list[str]]:
    """The run's plan; of a run that was killed, what its processes had planned until then."""
    if directory.plan.exists():
        return read_plan(directory.plan), []
    plans = read_process_plans(directory)
    return merge(plans), agree(plans)


def _title(manifest: RunManifest) -> str:
    run = f"run {manifest.run_id}"
    if manifest.label is not None:
        run += f" ({printable(manifest.label)})"
    if manifest.finished_at is None:
        return f"{run}, which is not finished or was killed"
    return f"{run}, exit status {manifest.exit_status}"


def _told(problem: Problem) -> str:
    return f"{_as_typed(problem.path)}:{problem.line}: {problem.message}"


def _as_typed(path: Path) -> str:
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


def _width() -> int:
    if not sys.stdout.isatty():
        return PIPE_WIDTH
    return shutil.get_terminal_size((PIPE_WIDTH, 24)).columns
