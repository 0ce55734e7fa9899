from __future__ import annotations

from pathlib import Path
from textwrap import dedent

from hypothesis import given
from hypothesis import strategies as st

from pytest_agentbench.model.outcome import Outcome, Reason
from pytest_agentbench.model.record import Record
from pytest_agentbench.model.run import Change, ChangeKind, Changes, Entry, EntryKind
from pytest_agentbench.redaction import printable
from pytest_agentbench.reports.story import describe_changes, story
from rows import recorded, records

RESULTS = ".agentbench/runs/20261129-131500-a1b2c3"


def oracle(
    name: str, *, passed: bool = True, score: float | None = None, required: bool = True
) -> dict[str, object]:
    return {
        "name": name,
        "kind": "run",
        "passed": passed,
        "score": float(passed) if score is None else score,
        "weight": 1.0,
        "required": required,
        "reason": "exit code 0" if passed else "exit code 1, 0 expected",
        "duration_s": 0.1,
    }


def test_a_wrong_answer_is_told_with_oracles_words_and_changes() -> None:
    """Which oracle failed and why, the agent's last words, what changed, where the rest is."""
    record = recorded(
        None,
        Reason.ORACLE,
        message="hidden-tests: 2 of 7 tests did not pass: test_last_page, test_empty",
        score=0.5,
        oracles=[
            oracle("hidden-tests", passed=False, score=0.7142),
            oracle("readme", required=False),
        ],
        churn={
            "files_added": 1,
            "files_modified": 2,
            "files_deleted": 0,
            "lines_added": 12,
            "lines_removed": 3,
            "dropped": {"core": "a socket"},
        },
        phases={"agent_s": 1.04},
        agent_run={"exit_code": 3},
        sandbox={"driver": "local", "isolated": False, "network": "full"},
        diagnostics=["stdout.txt cannot be kept: No space left on device"],
        artifacts="artifacts/fix/codex-r1",
    )
    told = story(
        record,
        results_path=RESULTS,
        changes=["M shop/pages.py", "M shop/cart.py", "A notes.txt"],
        last_words="\nI fixed the slice.\n\n\x1b[32mAll tests pass now.\x1b[0m\n",
    )
    assert told == dedent(
        """\
        failed (oracle): hidden-tests: 2 of 7 tests did not pass: test_last_page, test_empty
        the agent exited with 3 after 1.0 s

        oracles: 1 of 2 passed, score 0.50
          FAILED 0.71 hidden-tests (run): exit code 1, 0 expected
          passed readme (run, not required): exit code 0

        the agent's last words:
          | I fixed the slice.
          | All tests pass now.

        changed: 1 added, 2 modified, 1 dropped (+12 -3 lines)
          M shop/pages.py
          M shop/cart.py
          A notes.txt

        also:
          stdout.txt cannot be kept: No space left on device

        unisolated: ran without walls (local)
        artifacts: .agentbench/runs/20261129-131500-a1b2c3/artifacts/fix/codex-r1"""
    )


def test_checks_and_advisory_oracles_are_marked() -> None:
    """Checks are counted by themselves; what was not run says what it lacked."""
    rows = [
        {**oracle("tests", passed=False), "visible": True},
        {**oracle("hidden"), "kind": "pytest"},
        {
            **oracle("speed", passed=False),
            "ran": False,
            "reason": "not run: needs tests, which failed",
        },
        {**oracle("look", passed=False, required=False), "advisory": True},
    ]
    record = recorded(None, Reason.CHECK, message="tests: exit code 1", score=0.5, oracles=rows)
    assert story(record, results_path=RESULTS) == dedent(
        """\
        failed (check): tests: exit code 1

        checks: 0 of 1 passed, oracles: 1 of 3 passed, score 0.50
          FAILED tests (check, run): exit code 1, 0 expected
          passed hidden (pytest): exit code 0
          not run speed (run): needs tests, which failed
          FAILED look (run, advisory): exit code 1, 0 expected"""
    )


def test_no_more_of_an_oracle_is_told_than_it_reveals() -> None:
    """Verdict: name, passed and score. Reasons: one line. Full: the end of its output too."""
    rows = [
        {**oracle(name, passed=False, score=0.25), "reveal": name, "reason": f"because {name}"}
        for name in ("verdict", "reasons", "full")
    ]
    rows.append({**oracle("fine"), "reveal": "full"})
    outputs = {
        name: f"\n\x1b[31mprinted by {name}\x1b[0m\n\n" + "line\n" * 9
        for name in ("verdict", "reasons", "full", "fine")
    }
    told = story(recorded(None, Reason.ORACLE, oracles=rows), results_path=RESULTS, outputs=outputs)
    assert told == dedent(
        """\
        failed (oracle)

        oracles: 1 of 4 passed
          FAILED 0.25 verdict (run)
          FAILED 0.25 reasons (run): because reasons
          FAILED 0.25 full (run): because full
          passed fine (run): exit code 0

        the end of what full printed:
          | printed by full
        """
    ) + "\n".join(["  | line"] * 9)


def test_of_what_oracles_printed_the_end_is_told() -> None:
    """Ten lines of three oracles at the most."""
    rows = [{**oracle(f"o{number}", passed=False), "reveal": "full"} for number in range(5)]
    outputs = {f"o{number}": "x\n" * 400 + "y" * 9_000 for number in range(5)}
    told = story(recorded(None, Reason.ORACLE, oracles=rows), results_path=RESULTS, outputs=outputs)
    quoted = [line for line in told.splitlines() if line.startswith("  | ")]
    assert len(quoted) == 30
    assert max(map(len, quoted)) <= 210
    assert "the end of what o3" not in told


def test_an_error_is_told_with_its_advice() -> None:
    """Where nothing was measured: what, and what to do; no empty headings."""
    record = recorded(
        None,
        Reason.SANDBOX,
        message="sandbox bubblewrap: bwrap is not installed. Try: apt install bubblewrap",
    )
    assert story(record, results_path=RESULTS) == (
        "error (sandbox): sandbox bubblewrap: bwrap is not installed. Try: apt install bubblewrap"
    )


def test_an_agent_that_did_nothing_is_told_so() -> None:
    """An unchanged workspace is worth a line."""
    churn = {
        "files_added": 0,
        "files_modified": 0,
        "files_deleted": 0,
        "lines_added": None,
        "lines_removed": None,
    }
    record = recorded(None, Reason.TIMEOUT, churn=churn, agent_run={"timed_out": True})
    assert story(record, results_path=RESULTS) == (
        "failed (timeout)\nthe agent was stopped: out of time\n\nchanged: nothing"
    )


def test_how_the_agent_ended() -> None:
    """Signals and lack of memory are named; an ordinary exit is not worth a line."""

    def second_line(**agent: object) -> str:
        record = recorded(None, Reason.ORACLE, agent_run=agent, phases={"agent_s": 2.0})
        return story(record, results_path=RESULTS).partition("\n")[2]

    assert second_line(signal=11) == "the agent was killed by signal 11 after 2.0 s"
    assert second_line(out_of_memory=True, signal=9) == (
        "the agent was killed after 2.0 s: out of memory"
    )
    assert second_line(exit_code=0) == second_line() == ""


def test_oracles_that_failed_are_told_before_those_that_passed() -> None:
    """Where there are too many oracles, those that passed give way; the order stays."""
    rows = [oracle(f"o{number}", passed=number not in (3, 17)) for number in range(20)]
    lines = story(recorded(None, Reason.ORACLE, oracles=rows), results_path=RESULTS).splitlines()
    assert lines[2] == "oracles: 18 of 20 passed"
    assert [line.split()[1] for line in lines[3:-1]] == [
        "o0",
        "o1",
        "o2",
        "o3",
        "o4",
        "o5",
        "o6",
        "o17",
    ]
    assert lines[-1] == "  and 12 more"


def test_of_many_words_the_last_are_told() -> None:
    """A long final message is told by its end."""
    words = "\n".join(f"word {number}" for number in range(9))
    told = story(recorded(None, Reason.ORACLE), results_path=RESULTS, last_words=words)
    assert told.splitlines()[3:] == [f"  | word {number}" for number in (4, 5, 6, 7, 8)]


def test_a_long_traceback_keeps_both_ends() -> None:
    """An internal error's message is cut in its middle."""
    message = "\n".join(f"frame {number}" for number in range(100))
    told = story(recorded(None, Reason.INTERNAL, message=message), results_path=RESULTS)
    assert told.splitlines() == [
        "error (internal): frame 0",
        *(f"frame {number}" for number in (1, 2, 3)),
        "[... 89 lines ...]",
        *(f"frame {number}" for number in range(93, 100)),
    ]


@given(
    records,
    st.lists(st.text(st.characters(codec=None)), max_size=40),
    st.text(st.characters(codec=None)),
    st.text(st.characters(codec=None), max_size=30),
)
def test_any_story_is_short_and_printable(
    record: Record, changes: list[str], words: str, path: str
) -> None:
    """Whatever an agent or an oracle wrote, a story fits a screen and every reader."""
    told = story(record, results_path=path, changes=changes, last_words=words * 50)
    assert printable(told) == told
    assert len(told.splitlines()) <= 75
    assert all(len(line) <= 220 for line in told.splitlines() if not line.startswith("artifacts"))


def test_the_longest_story_fits_two_screens() -> None:
    """All parts at their longest: about seventy lines, however much there was."""
    record = recorded(
        None,
        Reason.ORACLE,
        message="x\n" * 500,
        oracles=[oracle(f"o{number}", passed=False) for number in range(50)],
        churn={
            "files_added": 900,
            "files_modified": 0,
            "files_deleted": 0,
            "lines_added": None,
            "lines_removed": None,
        },
        diagnostics=["d"] * 100,
        artifacts="artifacts/a",
    )
    told = story(record, results_path=RESULTS, changes=["A x"] * 900, last_words="w\n" * 99)
    assert len(told.splitlines()) <= 70
    assert "\n  and 880 more\n" in told


def test_changes_are_one_line_a_path() -> None:
    """Kinds of changes by letter, undecodable names spelled out, dropped paths with their why."""
    entry = Entry(EntryKind.FILE)
    changes = Changes(
        root=Path("unused"),
        changes=(
            Change(b"a.py", ChangeKind.ADDED, entry),
            Change(b"b\xff.py", ChangeKind.MODIFIED, entry),
            Change(b"c.py", ChangeKind.DELETED, None),
        ),
        dropped={"link": "a symlink that leaves the workspace"},
    )
    assert describe_changes(changes) == [
        "A a.py",
        "M b\\xff.py",
        "D c.py",
        "! link (dropped: a symlink that leaves the workspace)",
    ]


def test_a_passed_trial_has_a_story_too() -> None:
    """Nothing in a story is for failures alone."""
    assert story(recorded(None, Outcome.PASSED), results_path=RESULTS) == "passed"
