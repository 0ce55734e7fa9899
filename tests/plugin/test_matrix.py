"""Tasks behave in pytest as Python tests of the same names, marks and outcomes do."""

from __future__ import annotations

import shlex
from collections import Counter

import pytest

from requirements import require
from twins import KINDS, Pair, Session, check_alike, measured

BY_NAME = "tasks/one.yaml::alpha[lazy-r1]"
SELECTING = [
    "",
    "-k alpha",
    "-k lazy -v",
    "-k 'not smoke and not lazy'",
    "-k 'a[able'",
    "-k nothing_of_that_name",
    "-k (",
    "-m 'smoke and not python' --strict-markers",
    "-m 'not slow' --strict-markers",
    "-m (",
    "--deselect tasks/one.yaml::alpha --deselect tasks/sub",
    f"--deselect {BY_NAME} -v",
    BY_NAME,
    "tasks/one.yaml::alpha tasks/rows.yaml::b -v",
    "tasks/sub/two.yaml tasks/one.yaml -v",
    f"{BY_NAME} {BY_NAME}",
    "tasks/one.yaml::nope",
    "tasks/one.yaml::alpha[nope]",
    "tasks/nope.yaml",
    "tasks/sub",
    "--ignore=tasks/sub --ignore-glob=*one*",
    "-x",
    "--maxfail=2 -v",
]
TELLING = [
    "--co",
    "--co -q",
    "--co -q -k alpha",
    "-v",
    "-q",
    "-qq",
    "-vv -s",
    "-rA",
    "--tb=short",
    "--tb=line",
    "--tb=no",
    "--tb=native",
    "--tb=long",
    "--runxfail",
    "--durations=0 --durations-min=600",
    "-p no:cacheprovider",
    "-W error",
    "-o console_output_style=count -v",
    "--color=yes",
]


@pytest.mark.parametrize("line", [*SELECTING, *TELLING])
def test_as_python_tests(pair: Pair, line: str) -> None:
    """Whatever is selected and shown: in order, with the same words, and one record each."""
    tasks, twin = pair.run(*shlex.split(line))
    if "not found:" in twin.output or "ERROR:" in twin.output:
        assert tasks.status == twin.status == pytest.ExitCode.USAGE_ERROR
        return
    check_alike(tasks, twin)
    if twin.ran:
        assert pair.records() - measured(twin) == Counter() or "-x" in line or "maxfail" in line
        assert measured(twin) - pair.records() == Counter()


def test_a_file_named_twice(pair: Pair) -> None:
    """Before pytest 8.4 its tests run twice; ours stay in the order of trials then."""
    tasks, twin = pair.run("tasks/one.yaml", "tasks/one.yaml")
    assert tasks.status == twin.status
    assert Counter(tasks.ran) == Counter(twin.ran)


CACHED = [
    ("-q", "--lf -v"),
    ("-q", "--lf -x"),
    ("-q", "--ff -v"),
    ("-q", "--nf -v"),
    ("-k able", "--lf --lfnf=none"),
    ("-k gamma", "--lf --lfnf=none"),
    ("-q", "--cache-clear"),
    ("--sw", "--sw"),
    ("--sw", "--sw --sw-skip -v"),
    ("-q -k alpha", "--nf -v"),
]


@pytest.mark.parametrize(("first", "second"), CACHED)
def test_what_runs_next(pair: Pair, first: str, second: str) -> None:
    """What an earlier session has seen decides what the next one runs, and in which order."""
    before, after = pair.run(*shlex.split(first)), pair.run(*shlex.split(second))
    assert before[0].failed_last == before[1].failed_last
    check_alike(*after)


DISTS = ["load", "loadscope", "loadfile", "loadgroup", "worksteal", "no"]


@pytest.mark.parametrize("dist", DISTS)
def test_under_xdist(pair: Pair, dist: str) -> None:
    """However the trials are dealt out: all of them, each once, and the same to be repeated."""
    tasks, twin = pair.run("-n", "2", f"--dist={dist}")
    check_alike(tasks, twin, in_order=False)
    assert pair.records() == measured(twin)


def test_each_worker_for_itself_is_refused(pair: Pair) -> None:
    """``--dist=each`` would pay for every trial once a worker: a usage error."""
    tasks, _ = pair.run("-n", "2", "--dist=each")
    assert tasks.status == pytest.ExitCode.USAGE_ERROR
    assert "--dist=each: every worker would run, and pay for, every trial" in tasks.output
    assert not tasks.ran


@pytest.mark.parametrize("line", ["--lf", "--ff", "-k alpha", BY_NAME, "-k nothing", "--co -q"])
def test_selection_under_xdist(pair: Pair, line: str) -> None:
    """Selection is each worker's own, and they agree."""
    pair.run("-q")
    check_alike(*pair.run("-n", "2", *shlex.split(line)), in_order=False)


@pytest.mark.parametrize("option", ["--setup-only", "--setup-plan"])
def test_showing_fixtures_runs_no_agent(pair: Pair, option: str, workers: tuple[str, ...]) -> None:
    """The chain is set up and taken down in its order, and nothing is started."""
    tasks, twin = pair.run(option, *workers)
    assert (tasks.status, sorted(tasks.ran)) == (twin.status, sorted(twin.ran))
    assert not (pair.root / "tasks/.agentbench").exists()
    if not workers:
        assert _setups(tasks) == _setups(twin)


def test_showing_fixtures_while_running(pair: Pair) -> None:
    """``--setup-show`` tells of the chain around each test."""
    tasks, twin = pair.run("--setup-show")
    assert (tasks.status, tasks.ran) == (twin.status, twin.ran)
    assert _setups(tasks) == _setups(twin)


def _setups(session: Session) -> list[str]:
    """The fixtures of the chain, as they come and go."""
    names = ("agentbench_trial", "agentbench_sandbox", "agentbench_run", "agentbench_verdict")
    words = [line.split() for line in session.output.splitlines()]
    return [
        f"{word[0]} {name}"
        for word in words
        if word and word[0] in ("SETUP", "TEARDOWN")
        for name in [word[2].partition("[")[0]]
        if name in names
    ]


def test_fixtures_per_test(pair: Pair) -> None:
    """``--fixtures-per-test`` names the chain, with what each fixture is for."""
    tasks, twin = pair.run("--fixtures-per-test")
    told = [
        [line for line in session.output.splitlines() if line.startswith("    ")]
        for session in (tasks, twin)
    ]
    assert tasks.status == twin.status == 0
    assert told[1]
    assert [line for line in told[0] if line in told[1]] == told[1]


def test_durations_show_the_trials_time(pair: Pair) -> None:
    """A trial's time stands in its call; where none was scored, in its set-up."""
    tasks, _ = pair.run("--durations=0", "-vv")
    spent = {
        (line.split()[1], line.split()[2]): float(line.split()[0].removesuffix("s"))
        for line in tasks.output.splitlines()
        if line.split()[1:2] in (["call"], ["setup"])
    }
    alpha, beta = "tasks/one.yaml::alpha[able-r1]", "tasks/sub/two.yaml::beta[able-r1]"
    assert spent["call", alpha] > spent.get(("setup", alpha), 0.0)
    assert spent["setup", beta] > 0
    assert ("call", beta) not in spent


def test_a_broken_file(pair: Pair, workers: tuple[str, ...]) -> None:
    """One file that cannot be collected stops the session, unless it is told to go on."""
    for kind, name in zip(KINDS, ("broken.yaml", "two.py"), strict=True):
        path = pair.root / kind / "tasks" / name
        path.write_text("prompt: [\n")
    for option in ("-q", "--continue-on-collection-errors", "--co"):
        tasks, twin = pair.run(option, *workers)
        assert tasks.status == twin.status
        assert Counter(tasks.ran) == Counter(twin.ran)
        assert len(tasks.broken) == len(twin.broken) == 1


def test_without_a_terminal(pair: Pair) -> None:
    """``-p no:terminal`` takes the words away, and nothing else."""
    tasks, twin = pair.run("-p", "no:terminal")
    assert (tasks.status, tasks.ran, tasks.cases) == (twin.status, twin.ran, twin.cases)
    assert pair.records() == measured(twin)


def test_the_yardstick_can_tell(pair: Pair) -> None:
    """Negative control: one other outcome, and the two are no longer alike."""
    for name in ("tasks/agentbench.yaml",):
        path = pair.root / name
        path.write_text(path.read_text().replace("printf wrong", "printf right"))
    tasks, twin = pair.run()
    assert tasks.ran != twin.ran
    with pytest.raises(AssertionError):
        check_alike(tasks, twin)
    assert "failed" in twin.counts


def test_plugins_are_required_where_they_were_promised(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plugin that the gate names must be there: its tests fail, they are not skipped."""
    monkeypatch.setenv("AGENTBENCH_REQUIRE", "pytest-split")
    monkeypatch.setitem(require.__globals__["_PROBES"], "pytest-split", lambda: "it is gone")
    with pytest.raises(pytest.fail.Exception, match="AGENTBENCH_REQUIRE names pytest-split"):
        require("pytest-split")
