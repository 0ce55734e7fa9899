"""A part and the whole are told apart for every way of asking for a part."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from projects import Project
from requirements import require

# Nothing of them runs: what is planned, and what not, is decided before.
TASK = "prompt: x\nskip: not here\noracles: [{files: {out.txt: {exists: true}}}]\n"
FILES = {"a": "tasks/a.yaml", "b": "tasks/b.yaml", "c": "tasks/sub/c.yaml"}
TRIALS = [
    f"{path}::{name}[{variant}-r{repeat}]"
    for name, path in FILES.items()
    for repeat in (1, 2)
    for variant in ("idle", "lazy")
]
EXPERIMENT = """\
variants: {idle: {agent: noop}, lazy: {agent: noop}}
defaults: {repeats: 2}
"""


class Way(NamedTuple):
    """A way to call pytest: what it is said to leave out (None: nothing), and how many are left.

    ``failed`` are node ids that an earlier session is said to have seen fail.
    """

    arguments: str
    reason: str | None
    planned: int = 12
    failed: list[str] | None = None


GONE = "1 of 12 trials deselected"
WAYS = {
    "everything": Way("", None),
    "root": Way(".", None),
    "tasks": Way("tasks", None),
    "tasks-and-tests": Way("tasks test_plain.py", None),
    "tasks-and-one-test": Way("tasks test_plain.py::test_plain", "selected by path: test_plain.py"),
    "file": Way("tasks/a.yaml", "selected by path: tasks/a.yaml", 4),
    "two-files": Way("tasks/a.yaml tasks/b.yaml", "selected by path: tasks/a.yaml, tasks/b.ya", 8),
    "directory": Way("tasks/sub", "selected by path: tasks/sub", 4),
    "node-id": Way("tasks/a.yaml::a", "selected by path: tasks/a.yaml::a", 4),
    "trial": Way("tasks/a.yaml::a[lazy-r2]", "selected by path: tasks/a.yaml::a[lazy-r2]", 1),
    "keyword": Way("-k lazy-r2", "9 of 12 trials deselected", 3),
    "keyword-of-all": Way("-k lazy-or-idle", None),
    "mark": Way("-m smoke", "8 of 12 trials deselected", 4),
    "mark-of-all": Way("-m no_such_mark-or-not-smoke-or-smoke", None),
    "deselect": Way(f"--deselect {TRIALS[0]}", GONE, 11),
    "deselect-nothing": Way("--deselect tasks/none.yaml", None),
    "lf": Way("--lf", "3 files and 3 trials left out by --lf", 1, TRIALS[:1]),
    "lf-whole-files": Way("--lf", "3 files left out by --lf", 4, TRIALS[:4]),
    "lf-all": Way("--lf", None, 12, [*TRIALS, "test_plain.py::test_plain"]),
    "lf-all-tasks": Way("--lf", "1 file left out by --lf", 12, TRIALS),
    "lf-none": Way("--lf", None, 12, []),
    "lf-of-what-is-gone": Way("--lf", None, 12, ["test_gone.py::test_gone"]),
    "ff": Way("--ff", None, 12, TRIALS[:1]),
    "nf": Way("--nf", None, 12, TRIALS[:1]),
    "sw": Way("--sw", None),
    "ignore": Way("--ignore=tasks/sub", "left out by --ignore: tasks/sub", 8),
    "ignore-else": Way("--ignore=test_plain.py", None),
    "ignore-glob": Way("--ignore-glob=*/a.yaml", "left out by --ignore-glob: */a.yaml", 8),
    "ignore-glob-directory": Way("--ignore-glob=*sub*", "left out by --ignore-glob: *sub*", 8),
    "ignore-glob-else": Way("--ignore-glob=*.txt", None),
    "variant": Way("--agentbench-variant=idle", "variants chosen by --agentbench-variant=idle", 6),
    "agent": Way("--agentbench-agent=noop", "variants replaced by --agentbench-agent=noop", 6),
    "fewer": Way("--agentbench-repeats=1", "repeats lowered by --agentbench-repeats=1", 6),
    "more": Way("--agentbench-repeats=3", None, 18),
    "no-cache": Way("-p no:cacheprovider", None),
    "no-terminal": Way("-p no:terminal", None),
    "maxfail": Way("--maxfail=1", None),
}
UNDER_XDIST = ("everything", "trial", "keyword", "lf", "lf-all", "ignore-glob", "variant")


def build(project: Project, failed: list[str] | None = None) -> None:
    """Three tasks of two variants and two repeats, none of which is run."""
    project.write("pytest.ini", "[pytest]\nagentbench_sandbox = local\nmarkers = smoke\n")
    project.write("agentbench.yaml", EXPERIMENT)
    for name, path in FILES.items():
        project.write(path, f"{TASK}tags: [smoke]\n" if name == "a" else TASK)
    project.write("test_plain.py", "def test_plain():\n    pass\n")
    if failed is not None:
        for kind in ("lastfailed", "nodeids"):
            seen = dict.fromkeys(failed, True) if kind == "lastfailed" else failed
            project.write(f".pytest_cache/v/cache/{kind}", json.dumps(seen))


def told(project: Project) -> dict[str, Any]:
    """The newest run's manifest; its numbers add up, and each trial of the plan has a record."""
    manifest: dict[str, Any] = json.loads((project.latest / "manifest.json").read_text())
    counts = dict(manifest["counts"])
    planned = counts.pop("planned")
    assert sum(counts.values()) == planned
    assert set(project.records()) == {one["key"] for one in plan(project) if not one["deselected"]}
    return manifest


def plan(project: Project) -> list[dict[str, Any]]:
    """The trials of the newest run's plan."""
    lines: list[dict[str, Any]] = json.loads((project.latest / "plan.json").read_text())["trials"]
    return lines


@pytest.fixture
def bare(pytester: pytest.Pytester) -> Project:
    """An empty project."""
    return Project(pytester)


def _arguments(way: Way) -> list[str]:
    if way.arguments.startswith(("-k ", "-m ")):
        flag, expression = way.arguments.split()
        spoken = expression.replace("-or-", " or ").replace("not-", "not ")
        return [flag, spoken]
    return way.arguments.split()


CASES = [pytest.param(way, (), id=name) for name, way in WAYS.items()] + [
    pytest.param(WAYS[name], ("-n", "2"), id=f"{name}-xdist") for name in UNDER_XDIST
]


@pytest.mark.parametrize(("way", "workers"), CASES)
def test_a_part_is_told_from_the_whole(bare: Project, way: Way, workers: tuple[str, ...]) -> None:
    """Complete or partial, with the reason, in manifest and terminal; all that is left is told."""
    build(bare, way.failed)
    result = bare.pytester.runpytest_subprocess(*_arguments(way), *workers)
    assert result.ret == 0
    manifest, text = told(bare), result.stdout.str()
    assert manifest["counts"]["planned"] == way.planned
    assert manifest["complete"] is (way.reason is None)
    if way.reason is None:
        assert "partial:" not in text
    else:
        assert f"partial: {way.reason}" in text
    assert manifest["trouble"] == []


@pytest.mark.parametrize("arguments", ["tasks tasks/a.yaml", "tasks/a.yaml tasks/a.yaml"])
def test_what_is_named_twice(bare: Project, arguments: str) -> None:
    """Old versions of pytest collect it twice, or it alone: never the whole, and no record lost."""
    build(bare)
    assert bare.run(*arguments.split()).ret == 0
    manifest = json.loads((bare.latest / "manifest.json").read_text())
    assert manifest["complete"] is False
    assert manifest["narrowed"] == [
        f"selected by path: {', '.join(arguments.removeprefix('tasks ').split())}"
    ]
    lines = [json.loads(one) for one in (bare.latest / "records.jsonl").read_text().splitlines()]
    assert {one["key"] for one in lines} == {one["key"] for one in plan(bare)}


def test_sharding_makes_parts(bare: Project, workers: tuple[str, ...]) -> None:
    """What pytest-split leaves to another machine is deselected, and the plan has all of it."""
    require("pytest-split")
    build(bare)
    shards = []
    for group in (1, 2):
        bare.run("-p", "pytest-split", "--splits=2", f"--group={group}", "tasks", *workers)
        assert told(bare)["complete"] is False
        assert len(plan(bare)) == 12
        shards.append(set(bare.records()))
    assert len(shards[0] | shards[1]) == 12
    assert not shards[0] & shards[1]
    bare.run("-p", "pytest-split", "--splits=1", "--group=1", "tasks", *workers)
    assert told(bare)["complete"] is True


def test_shuffling_is_no_selection(bare: Project, workers: tuple[str, ...]) -> None:
    """All workers of a shuffled session plan the same, and the whole is complete."""
    require("pytest-randomly")
    build(bare)
    orders = []
    for seed in (1, 2) if workers else (1, 2, 3, 4):
        result = bare.run("-p", "randomly", f"--randomly-seed={seed}", "tasks", *workers)
        assert result.ret == 0
        assert told(bare)["complete"] is True
        orders.append([one["key"] for one in plan(bare)])
        result.stdout.fnmatch_lines(["agentbench: 12 trials of idle, lazy *"])
    assert all(sorted(order) == sorted(orders[0]) for order in orders)
    assert workers or len(set(map(tuple, orders))) > 1


STOPPING = """\
prompt: x
oracles: [{files: {out.txt: {exists: true}}}]
"""


@pytest.mark.parametrize("option", ["-x", "--maxfail=2", "--sw"])
def test_what_a_stop_leaves_out_is_cancelled(
    bare: Project, option: str, workers: tuple[str, ...]
) -> None:
    """A session that stops early has a record for each trial, and is not complete.

    Workers may have run all that they were dealt before they are stopped (xdist 3.5 with
    ``--sw`` does): then nothing is left out, and nothing may be said to be.
    """
    build(bare)
    for path in FILES.values():
        bare.write(path, STOPPING)
    result = bare.pytester.runpytest_subprocess(option, "tasks", *workers)
    assert result.ret in (1, 2)
    manifest, counts = told(bare), told(bare)["counts"]
    assert workers or counts["cancelled"] > 0
    assert manifest["complete"] is (counts["cancelled"] == 0)
    assert counts["planned"] == counts["failed"] + counts["cancelled"] == 12
    result.stdout.fnmatch_lines(["12 planned: 0 passed, * failed, 0 error, 0 skipped, * cancelled"])


def test_the_projects_own_word_is_the_whole(bare: Project) -> None:
    """What conftest files and the ini file leave out in every session is not missed."""
    for name, text in {
        "collect_ignore": "collect_ignore = ['tasks/sub']\n",
        "glob": "collect_ignore_glob = ['tasks/a*']\n",
    }.items():
        build(bare)
        bare.write("conftest.py", text)
        assert bare.run("tasks").ret == 0, name
        assert told(bare)["complete"] is True
        assert told(bare)["counts"]["planned"] == 8
    (bare.pytester.path / "conftest.py").unlink()


def test_workers_that_plan_differently_are_told(bare: Project) -> None:
    """Under ``-n`` the plans are compared: a difference is trouble, and no success."""
    build(bare)
    bare.write(
        "conftest.py",
        "import os\n"
        "def pytest_collection_modifyitems(items):\n"
        "    if os.environ.get('PYTEST_XDIST_WORKER') == 'gw1':\n"
        "        items[0], items[1] = items[1], items[0]\n",
    )
    result = bare.run("-n", "2", "tasks")
    assert result.ret != 0
    (trouble, *_) = json.loads((bare.latest / "manifest.json").read_text())["trouble"]
    assert "in gw0" in trouble
    assert "in gw1" in trouble
    assert {path.name for path in Path(bare.latest / "plans").iterdir()} == {"gw0.json", "gw1.json"}


DEATHS = {
    "while-it-configures": "def pytest_configure(config):\n    die(config)\n",
    "while-it-collects": "def pytest_collection(session):\n    die(session.config)\n",
    "before-it-plans": (
        "import pytest\n@pytest.hookimpl(tryfirst=True)\n"
        "def pytest_collection_modifyitems(config):\n    die(config)\n"
    ),
    "before-a-trial": (
        "def pytest_runtest_setup(item):\n"
        "    if item.name == 'a[idle-r1]':\n        die(item.config)\n"
    ),
    "after-a-trial": (
        "def pytest_runtest_teardown(item):\n"
        "    if item.name == 'a[idle-r1]':\n        die(item.config)\n"
    ),
}
DIE = """\
import os, signal
def die(config):
    if not hasattr(config, "workerinput"):
        return
    try:
        os.mkdir(os.path.join(str(config.rootpath), "dead"))
    except FileExistsError:
        return
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("moment", DEATHS)
def test_a_worker_that_dies_loses_nothing(bare: Project, moment: str) -> None:
    """One of two workers is killed: every trial that was planned is counted, whatever became of it.

    Where it dies before it has planned, the others' plan holds.
    """
    build(bare)
    for path in FILES.values():
        bare.write(path, STOPPING)
    bare.write("conftest.py", DIE + DEATHS[moment])
    result = bare.run("-n", "2", "tasks")
    assert (bare.pytester.path / "dead").exists()
    assert result.ret != 0
    manifest = told(bare)
    assert manifest["counts"]["planned"] == 12
    crashed = [one for one in bare.records().values() if one["reason"] == "crash"]
    # What was measured before the worker died stays measured.
    assert len(crashed) == (1 if moment == "before-a-trial" else 0)


def test_a_collection_error_and_lost_items_add_up(bare: Project, workers: tuple[str, ...]) -> None:
    """A broken file is named, what a plugin took away is in the plan, the rest is counted."""
    build(bare)
    bare.write("tasks/broken.yaml", "prompt: [\n")
    bare.write("conftest.py", "def pytest_collection_modifyitems(items):\n    del items[2:5]\n")
    result = bare.run("--continue-on-collection-errors", "tasks", *workers)
    result.assert_outcomes(skipped=9, errors=1)
    manifest = told(bare)
    assert manifest["counts"]["planned"] == 9
    assert [one["deselected"] for one in plan(bare)].count("removed by a plugin") == 3
    assert manifest["narrowed"] == ["1 task file could not be collected"]
    result.stdout.fnmatch_lines(
        ["partial: 1 task file could not be collected, 3 of 12 trials deselected; *"]
    )


@pytest.mark.parametrize("option", ["--setup-plan", "--setup-only", "--co"])
def test_showing_begins_no_run(bare: Project, option: str, workers: tuple[str, ...]) -> None:
    """What only shows something leaves no run behind, under xdist neither."""
    build(bare)
    result = bare.run(option, "tasks", *workers)
    assert result.ret == 0
    assert not (bare.pytester.path / ".agentbench").exists()
