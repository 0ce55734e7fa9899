"""The measurements behind ``run.py``: each gives seconds, and no judgement.

How collection is measured. In one process: ``--co``. With workers, pytest collects
nothing under ``--co``, so both sides run for real, with all but one test deselected by
``-k``: every worker collects everything. That one test is the same plain Python test on
both sides. Were it a trial, an engine would be started and agents and oracles run, which
is no collection; nothing of ours is to run, so no plan is written either: what that
costs, with one trial that is skipped, is measured apart. Warm means that an earlier
session has been there: its bytecode for Python tests, its parse cache for task files.
With nothing kept, both are removed before each session. Python tests beside ordinary
tasks carry the two marks that the tasks' tags are.
"""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median

import overhead
from overhead import Cost, measure, ms, pytest_command, write

from pytest_agentbench.sandboxes.manifest import compare, scan

__all__ = ["Sizes", "ms"]

SHORT_TASK = """\
prompt: Do nothing, for the %dth time.
repeats: %d
oracles:
  - run: ["true"]
"""
ORDINARY_TASK = '''\
description: paginate() in shop/pages.py drops page %d when it is not full.
tags: [smoke, python]
prompt: |
  `paginate()` in shop/pages.py drops the last page when the number of items is
  no multiple of the page size. Fix it, without changing how it is called.

  - An empty list has one empty page.
  - Run the tests with `python -m pytest -q`.
repeats: %d
workspace:
  files:
    shop/pages.py: |
      def paginate(items, size):
          """Split items into pages of a size."""
          pages = []
          for start in range(0, len(items) - size + 1, size):
              pages.append(items[start : start + size])
          return pages
    tests/test_pages.py: |
      from shop.pages import paginate

      def test_full_pages():
          assert paginate([1, 2, 3, 4], 2) == [[1, 2], [3, 4]]
limits: {time: 10m}
sandbox: {env: {LANG: C.UTF-8, TZ: UTC}}
threshold: 0.8
oracles:
  - files: {shop/pages.py: {contains: [def paginate]}}
    name: still-there
  - run: ["true"]
    name: runs
    weight: 2
solution:
  files:
    shop/pages.py: |
      def paginate(items, size):
          """Split items into pages of a size."""
          return [items[n : n + size] for n in range(0, max(len(items), 1), size)]
'''
SLOW_SETUP = """\
prompt: Do nothing, for the %dth time.
repeats: %d
workspace: {setup: ["sleep 1"]}
oracles:
  - run: ["true"]
"""
ORDINARY_YAML = {
    ".pre-commit-config.yaml": "repos:\n  - repo: local\n    hooks: []\n",
    "mkdocs.yml": "site_name: Shop\nnav:\n  - index.md\n",
}
LONELY_TEST = "def test_lonely():\n    pass\n"
SKIPPED_TASK = "prompt: Do nothing.\nskip: not here\noracles: [{run: 'true'}]\n"
SKIPPED_TEST = "import pytest\n\n@pytest.mark.skip\ndef test_skipped():\n    pass\n"
MARKED_TEST = overhead.PYTHON_TEST.replace(
    "@pytest", "@pytest.mark.smoke\n@pytest.mark.python\n@pytest", 1
)
_INI = "[pytest]\nagentbench_sandbox = local\nmarkers =\n  smoke\n  python\n"


@dataclass(frozen=True)
class Kind:
    """A kind of task file, and the Python test that is like it."""

    name: str
    task: str
    test: str


KINDS = (
    Kind("short", SHORT_TASK, overhead.PYTHON_TEST),
    Kind("ordinary", ORDINARY_TASK, MARKED_TEST),
)


@dataclass(frozen=True)
class Sizes:
    """How much of everything."""

    files: int
    repeats: int
    trials: int
    trees: tuple[int, ...]
    setups: int
    rounds: int


FULL = Sizes(files=1000, repeats=10, trials=200, trees=(1_000, 10_000, 50_000), setups=5, rounds=5)
QUICK = Sizes(files=20, repeats=2, trials=10, trees=(100,), setups=3, rounds=1)


def collection(
    work: Path, sizes: Sizes, kind: Kind, workers: int
) -> dict[str, tuple[float, float]]:
    """CPU seconds of task files and of Python tests, warm and with nothing kept.

    With workers also ``planned``: warm, with a plan to write.
    """
    numbers = range(sizes.files)
    # No two are the same: equal files would be parsed once and kept as one.
    tasks = {f"tasks/task-{n:04}.yaml": kind.task % (n, sizes.repeats) for n in numbers}
    tests = {f"tests/test_{n:04}.py": kind.test % sizes.repeats for n in numbers}
    common = {
        "pytest.ini": _INI,
        "agentbench.yaml": overhead.EXPERIMENT,
        "test_lonely.py": LONELY_TEST,
    }
    tasks["tasks/skipped.yaml"], tests["tests/test_skipped.py"] = SKIPPED_TASK, SKIPPED_TEST
    ours = write(work / f"{kind.name}-tasks-{workers}", {**common, **tasks})
    theirs = write(work / f"{kind.name}-python-{workers}", {**common, **tests})

    def collect(root: Path, *, cold: bool = False, chosen: str = "lonely") -> Cost:
        arguments = ("-n", str(workers), "-k", chosen) if workers else ("--co",)
        if cold:
            bytecode = (root / "__pycache__", root / "tests" / "__pycache__")
            for kept in (*bytecode, root / "cache" / "pytest-agentbench"):
                shutil.rmtree(kept, ignore_errors=True)
        shutil.rmtree(root / ".agentbench", ignore_errors=True)
        return measure(pytest_command(*arguments), root, XDG_CACHE_HOME=str(root / "cache"))

    turns = {
        "ours, cold": lambda: collect(ours, cold=True),
        "theirs, cold": lambda: collect(theirs, cold=True),
        "ours, warm": lambda: collect(ours),
        "theirs, warm": lambda: collect(theirs),
    }
    if workers:
        turns["ours, planned"] = lambda: collect(ours, chosen="lonely or skipped")
        turns["theirs, planned"] = lambda: collect(theirs, chosen="lonely or skipped")
    costs = overhead.in_turns(sizes.rounds, turns)
    states = [name.removeprefix("ours, ") for name in turns if name.startswith("ours")]
    return {
        state: (costs[f"ours, {state}"].cpu_s, costs[f"theirs, {state}"].cpu_s) for state in states
    }


def idle(work: Path, sizes: Sizes) -> dict[str, float]:
    """CPU seconds that the plugin adds to a session without task files, and with one.

    ``bare`` is a project without any YAML, ``ordinary`` one with that of everybody's tools.
    """
    test = {"pytest.ini": "[pytest]\n", "tests/test_one.py": "def test(): pass\n"}
    bare = write(work / "bare", test)
    ordinary = write(work / "ordinary", {**test, **ORDINARY_YAML})
    single = write(work / "single", {"pytest.ini": _INI, "tasks/one.yaml": SHORT_TASK % (1, 1)})
    off = ("-p", "no:agentbench")
    least = _least(
        8 * sizes.rounds,
        {
            "bare without": lambda: measure(pytest_command(*off), bare),
            "bare with": lambda: measure(pytest_command(), bare),
            "ordinary without": lambda: measure(pytest_command(*off), ordinary),
            "ordinary with": lambda: measure(pytest_command(), ordinary),
        },
    )
    costs = overhead.in_turns(
        sizes.rounds,
        {
            "plain --co": lambda: measure(pytest_command("--co", *off), bare),
            "one --co": lambda: measure(pytest_command("--co"), single),
        },
    )
    return {
        "bare": least["bare with"] - least["bare without"],
        "ordinary": least["ordinary with"] - least["ordinary without"],
        "start": costs["one --co"].minus(costs["plain --co"]).cpu_s,
    }


def _least(rounds: int, ways: dict[str, Callable[[], Cost]]) -> dict[str, float]:
    """CPU seconds of each way where nothing disturbs it: the mean of its cheapest quarter.

    The ways run in turns, after a round that warms up. Here a few milliseconds are looked
    for in sessions of two hundred, and other work only ever adds to CPU time (caches, clock),
    by more than that: medians told of 5.3 to 7.8 ms for the same code. The one cheapest run
    of each is a matter of luck again.
    """
    costs: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(rounds + 1):
        for name, way in ways.items():
            cost_s = way().cpu_s
            if number > 0:
                costs[name].append(cost_s)
    return {name: fmean(sorted(found)[: -(-rounds // 4)]) for name, found in costs.items()}


def trial_overhead(work: Path, driver: str, sizes: Sizes) -> float:
    """CPU seconds of a trial above its bare processes."""
    return overhead.trial_overhead(work, driver, sizes.trials, sizes.rounds)[2].cpu_s


def diff(work: Path, count: int, sizes: Sizes) -> tuple[float, float]:
    """Wall seconds to find one change among files: our scan and comparison, and git's status."""
    tree = work / f"tree-{count}"
    for number in range(count):
        path = tree / f"d{number // 100:03}" / f"f{number:05}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{number}\n" * 20)
    git = ["git", "-C", str(tree), "-c", "user.name=b", "-c", "user.email=b@example.invalid"]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "base"]):
        subprocess.run([*git, *command], check=True, capture_output=True, text=True)
    repository = tree / ".git"
    aside = work / f"git-{count}"
    with _without(repository, aside):
        base = scan(tree).entries
    (tree / "d000" / "f00000.txt").write_text("changed\n")

    def ours() -> None:
        found = compare(base, tree).changes
        assert len(found) == 1, found

    def theirs() -> None:
        done = subprocess.run(
            [*git, "status", "--porcelain"], check=True, capture_output=True, text=True
        )
        assert done.stdout.count("\n") == 1, done.stdout

    times: dict[str, list[float]] = {"ours": [], "git": []}
    for _ in range(sizes.rounds):
        with _without(repository, aside):
            times["ours"].append(_timed(ours))
        times["git"].append(_timed(theirs))
    return median(times["ours"]), median(times["git"])


def templates(work: Path, sizes: Sizes) -> tuple[float, float]:
    """Wall seconds of one trial of a task with a slow set-up, and of many."""

    def run(repeats: int) -> Cost:
        files = {"pytest.ini": _INI, "tasks/slow.yaml": SLOW_SETUP % (1, repeats)}
        root = write(work / f"setup-{repeats}", {**files, "agentbench.yaml": overhead.EXPERIMENT})
        return measure(pytest_command("tasks"), root)

    costs = overhead.in_turns(
        sizes.rounds, {"one": lambda: run(1), "many": lambda: run(sizes.setups)}
    )
    return costs["one"].wall_s, costs["many"].wall_s


def _timed(what: Callable[[], None]) -> float:
    began = time.perf_counter()
    what()
    return time.perf_counter() - began


@contextmanager
def _without(repository: Path, aside: Path) -> Iterator[None]:
    """Take git's own files out of the tree for a while."""
    repository.rename(aside)
    try:
        yield
    finally:
        aside.rename(repository)
