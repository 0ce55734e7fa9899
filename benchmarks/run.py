"""What the project promises about speed, and whether it holds, in one table.

    python benchmarks/run.py                   # every case, several minutes
    python benchmarks/run.py --quick           # small numbers, to see that it works
    python benchmarks/run.py collection diff   # some cases
    python benchmarks/run.py --json out.json   # the rows also as JSON

Whatever is compared runs in turns within one run, and medians are shown (of ``idle``, the
mean of the cheapest runs): on a machine with other work, trust the ratios and not the
seconds. CPU time is that of all processes.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

import cases

PROMISED_ELSEWHERE = {
    "docker": "overhead of a trial in docker: the driver is not built",
    "jobs": "200 agents that sleep, and memory with 1,000 trials in flight: overlap is not built",
}


COLLECTION_RATIO = 1.5
IDLE_S = 0.005
START_S = 0.4
OVERHEAD_S = {"local": 0.005, "bubblewrap": 0.010}


@dataclass(frozen=True)
class Row:
    """One line of the table; ``met`` is None where nothing was promised."""

    case: str
    what: str
    promise: str
    measured: str
    met: bool | None


def collection(sizes: cases.Sizes, work: Path) -> list[Row]:
    """Collecting task files against as many parametrized Python tests in as many files."""
    rows = []
    told = {"warm": "warm", "planned": "warm, and the plan", "cold": "nothing kept"}
    for kind in cases.KINDS:
        for workers in (0, 4):
            found = cases.collection(work, sizes, kind, workers)
            where = f"-n {workers}" if workers else "one process"
            what = f"collecting {sizes.files} {kind.name} files × {sizes.repeats}, {where}"
            for state, words in told.items():
                if state in found:
                    limit = COLLECTION_RATIO if state == "warm" else None
                    rows.append(_ratio("collection", f"{what}, {words}", found[state], limit))
    return rows


def idle(sizes: cases.Sizes, work: Path) -> list[Row]:
    """What the plugin costs where it has nothing to do, and what one task file adds."""
    found = cases.idle(work, sizes)
    told = {
        "bare": "a session without task files, in a project without YAML",
        "ordinary": "the same beside .pre-commit-config.yaml and mkdocs.yml",
    }
    start = found["start"]
    return [
        *(
            Row("idle", what, "< 5 ms CPU", cases.ms(found[key]), found[key] < IDLE_S)
            for key, what in told.items()
        ),
        Row("idle", "--co of one task file", "≤ 400 ms CPU", cases.ms(start), start <= START_S),
    ]


def trials(sizes: cases.Sizes, work: Path) -> list[Row]:
    """The harness's own part of a trial, above the bare processes."""
    rows = []
    for driver, limit_s in OVERHEAD_S.items():
        if driver == "bubblewrap" and shutil.which("bwrap") is None:
            rows.append(Row("trials", "overhead in bubblewrap", "≤ 10 ms CPU", "no bwrap", None))
            continue
        cost_s = cases.trial_overhead(work, driver, sizes)
        promise = f"≤ {limit_s * 1000:.0f} ms CPU"
        rows.append(
            Row("trials", f"overhead in {driver}", promise, cases.ms(cost_s), cost_s <= limit_s)
        )
    return rows


def diff(sizes: cases.Sizes, work: Path) -> list[Row]:
    """Finding what changed in a workspace, against git on the same tree."""
    rows = []
    for count in sizes.trees:
        if shutil.which("git") is None:
            return [Row("diff", "changes of a workspace", "none", "no git", None)]
        ours_s, git_s = cases.diff(work, count, sizes)
        measured = f"{cases.ms(ours_s)}, git status {cases.ms(git_s)}: {ours_s / git_s:.2f} ×"
        rows.append(Row("diff", f"one of {count:,} files changed", "none", measured, None))
    return rows


def templates(sizes: cases.Sizes, work: Path) -> list[Row]:
    """A set-up of one second, for one trial and for many: paid once a template."""
    one_s, many_s = cases.templates(work, sizes)
    measured = f"{many_s - one_s:.2f} s more than 1 trial"
    what = f"{sizes.setups} trials of a task whose set-up takes 1 s"
    return [Row("templates", what, "set up once", measured, many_s - one_s < sizes.setups - 1)]


CASES: dict[str, Callable[[cases.Sizes, Path], list[Row]]] = {
    "trials": trials,
    "collection": collection,
    "idle": idle,
    "diff": diff,
    "templates": templates,
}


def _ratio(case: str, what: str, costs: tuple[float, float], limit: float | None) -> Row:
    ours, theirs = costs
    measured = f"{ours / theirs:.2f} × ({ours:.2f} s / {theirs:.2f} s CPU)"
    promise = "none" if limit is None else f"≤ {limit} ×"
    return Row(case, what, promise, measured, None if limit is None else ours / theirs <= limit)


def show(rows: list[Row]) -> None:
    """Print the table."""
    said = {True: "met", False: "MISSED", None: ""}
    heads = ("what", "promise", "measured", "")
    lines = [(row.what, row.promise, row.measured, said[row.met]) for row in rows]
    widths = [max(len(line[place]) for line in [heads, *lines]) for place in range(4)]
    for line in [heads, tuple("-" * width for width in widths), *lines]:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)))


def main() -> None:
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"any of {', '.join(CASES)}")
    parser.add_argument("--quick", action="store_true", help="small numbers, one round")
    parser.add_argument("--rounds", type=int, help="how often each is measured")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows there, too")
    options = parser.parse_args()
    for name in options.cases:
        if name in PROMISED_ELSEWHERE:
            parser.error(f"{name}: not yet ({PROMISED_ELSEWHERE[name]})")
        if name not in CASES:
            parser.error(f"unknown case {name!r}; known: {', '.join(CASES)}")
    sizes = cases.QUICK if options.quick else cases.FULL
    if options.rounds:
        sizes = cases.Sizes(**{**asdict(sizes), "rounds": options.rounds})
    packages = ("pytest-agentbench", "pytest", "pytest-xdist", "pydantic", "PyYAML")
    names = ", ".join(f"{name} {version(name)}" for name in packages)
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, {names}")
    print(f"medians of {sizes.rounds}, load {os.getloadavg()[0]:.1f}\n")
    rows: list[Row] = []
    for name in options.cases or CASES:
        with tempfile.TemporaryDirectory(prefix="bench-") as directory:
            print(f"... {name}", file=sys.stderr, flush=True)
            rows += CASES[name](sizes, Path(directory))
    show(rows)
    if not options.cases:
        print("\nnot yet: " + "; ".join(PROMISED_ELSEWHERE.values()))
    if options.json:
        text = json.dumps([asdict(row) for row in rows], indent=1, ensure_ascii=False)
        options.json.write_text(text + "\n")


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as error:
        sys.exit(f"{error.cmd} ended with {error.returncode}:\n{error.stderr}")
