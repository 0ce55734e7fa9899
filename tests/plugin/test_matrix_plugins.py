"""Other plugins treat tasks as they treat Python tests of the same names and outcomes."""

from __future__ import annotations

import json
import re
from collections import Counter

import pytest

from requirements import require
from twins import KINDS, OUTCOMES, Pair, Session, check_alike, measured


def check_recorded(pair: Pair, twin: Session, workers: tuple[str, ...]) -> None:
    """One record for each attempt that the twin made."""
    del workers
    assert pair.records() == measured(twin)


@pytest.mark.parametrize(
    "options",
    [("--reruns=1",), ("--reruns=2", "--rerun-except=wrong")],
    ids=["all", "some"],
)
def test_rerunfailures(pair: Pair, workers: tuple[str, ...], options: tuple[str, ...]) -> None:
    """A rerun is a fresh attempt with a record of its own, and what fails in the end fails."""
    require("pytest-rerunfailures")
    tasks, twin = pair.run(*options, *workers)
    assert tasks.status == twin.status
    assert Counter(tasks.ran) == Counter(twin.ran)
    assert tasks.failed_last == twin.failed_last
    assert twin.counts["rerun"] == (3 if "--reruns=1" in options else twin.counts["rerun"])
    last = {nodeid: outcome for nodeid, outcome in twin.ran if outcome != "rerun"}
    cases = {f"{classname}.{name}": end for classname, name, end in tasks.cases}
    assert len(tasks.cases) == len(cases) == len(last), "no case twice"


def test_timeout_in_time(pair: Pair, workers: tuple[str, ...]) -> None:
    """A time-out that is not reached changes nothing."""
    require("pytest-timeout")
    tasks, twin = pair.run("--timeout=300", *workers)
    check_alike(tasks, twin, in_order=False)
    check_recorded(pair, twin, workers)


def test_timeout_too_late(pair: Pair, workers: tuple[str, ...]) -> None:
    """The trial that another plugin aborts is an error: aborted; the others go on."""
    require("pytest-timeout")
    path = pair.root / "tasks/agentbench.yaml"
    path.write_text(path.read_text().replace("printf wrong", "sleep 300; printf wrong", 1))
    tasks, _ = pair.run("--timeout=5", "--timeout-method=signal", "-k", "alpha", *workers)
    assert tasks.status == 1
    assert Counter(tasks.ran) == Counter(
        {
            ("tasks/one.py::alpha[able-r1]", "passed"): 1,
            ("tasks/one.py::alpha[lazy-r1]", "error"): 1,
        }
    )
    assert tasks.failed_last == ["tasks/one.py::alpha[lazy-r1]"]
    assert "aborted" in tasks.output


def test_randomly(pair: Pair, workers: tuple[str, ...]) -> None:
    """Shuffled, all trials run, also in an order that is not ours; the seed repeats it."""
    require("pytest-randomly")
    orders = []
    for seed in ("1",) if workers else ("1", "2", "2"):
        tasks, twin = pair.run("-p", "randomly", f"--randomly-seed={seed}", *workers)
        check_alike(tasks, twin, in_order=False)
        check_recorded(pair, twin, workers)
        orders.append([nodeid for nodeid, _ in tasks.ran])
    if not workers:
        assert orders[0] != orders[1] == orders[2]


def test_randomly_is_not_there_unasked(pair: Pair) -> None:
    """Negative control: our own sessions run in order, though it is installed."""
    require("pytest-randomly")
    tasks, _ = pair.run("--co", "-q")
    assert [one.partition("::")[2] for one in tasks.collected] == [
        f"{task}[{variant}-r1]" for task in OUTCOMES for variant in ("able", "lazy")
    ]
    assert "--randomly-seed" not in tasks.output


def test_split(pair: Pair, workers: tuple[str, ...]) -> None:
    """Two shards are the whole, of the same trials as of Python tests."""
    require("pytest-split")
    ran: Counter[tuple[str, str]] = Counter()
    for group in ("1", "2"):
        tasks, twin = pair.run("-p", "pytest-split", "--splits=2", f"--group={group}", *workers)
        check_alike(tasks, twin, in_order=False)
        ran += Counter(tasks.ran)
    assert len(ran) == 12


def test_split_knows_the_trials_time(pair: Pair) -> None:
    """Its stored durations hold each trial's time, once."""
    require("pytest-split")
    pair.run("-p", "pytest-split", "--store-durations")
    ours, theirs = (
        json.loads((pair.root / kind / ".test_durations").read_text()) for kind in KINDS
    )
    assert {name.replace(".yaml", ".py") for name in ours} == set(theirs)
    assert ours["tasks/one.yaml::alpha[able-r1]"] > theirs["tasks/one.py::alpha[able-r1]"]
    assert all(seconds < 600 for seconds in ours.values())


@pytest.mark.filterwarnings("ignore::pytest.PytestWarning")
def test_cov(pair: Pair, workers: tuple[str, ...]) -> None:
    """Measuring coverage changes no outcome, and no agent is measured."""
    require("pytest-cov")
    tasks, twin = pair.run("-p", "pytest_cov", "--cov=.", "--cov-report=", *workers)
    check_alike(tasks, twin, in_order=False)
    check_recorded(pair, twin, workers)
    assert (pair.root / "tasks/.coverage").exists()


def test_html(pair: Pair, workers: tuple[str, ...]) -> None:
    """The report has a row for each trial, with its story, and no record that it should not see."""
    require("pytest-html")
    plugins = ("-p", "metadata", "-p", "html_fixtures", "-p", "html")
    tasks, twin = pair.run(*plugins, "--html=report.html", "--self-contained-html", *workers)
    check_alike(tasks, twin, in_order=False)
    check_recorded(pair, twin, workers)
    pages = [(pair.root / kind / "report.html").read_text() for kind in KINDS]
    rows = [len(set(re.findall(r"\w+\[(?:able|lazy)-r1\]", page))) for page in pages]
    assert rows == [12, 12]
    assert "line 1 is" in pages[0]
    assert "schema_version" not in pages[0]


def test_asyncio(pair: Pair, workers: tuple[str, ...]) -> None:
    """Where it is merely installed, nothing of a task is taken for a coroutine."""
    require("pytest-asyncio")
    quiet = "-o", "asyncio_default_fixture_loop_scope=function"
    tasks, twin = pair.run("-p", "asyncio", *quiet, *workers)
    check_alike(tasks, twin, in_order=False)
    check_recorded(pair, twin, workers)
