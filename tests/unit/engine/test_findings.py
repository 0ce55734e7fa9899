from __future__ import annotations

from pathlib import Path

import pytest

from pytest_agentbench.engine.findings import Finding, never_worked, unscorable, unseen
from pytest_agentbench.engine.judge import CARRIED_BYTES
from pytest_agentbench.model.contracts import Template
from pytest_agentbench.model.outcome import Reason
from pytest_agentbench.model.run import (
    AgentRun,
    Change,
    ChangeKind,
    Changes,
    Completed,
    Entry,
    EntryKind,
    Evidence,
    Output,
)
from pytest_agentbench.model.task import Limits
from pytest_agentbench.model.variant import Expectation

NOWHERE = Path("unused")
IDLE = Changes(NOWHERE)


def file(size: int = 0) -> Entry:
    return Entry(EntryKind.FILE, size=size)


def left(*changes: Change) -> Changes:
    return Changes(NOWHERE, changes)


def template(overlay: tuple[bytes, ...] = (), **sizes: int) -> Template:
    manifest = {name.encode(): file(size) for name, size in sizes.items()}
    manifest |= dict.fromkeys(overlay, file())
    return Template(NOWHERE, manifest, "d", overlay=frozenset(overlay))


def fault(
    completed: Completed, changes: Changes = IDLE, *, words_count: bool = False
) -> str | None:
    run = AgentRun(completed, changes=changes)
    found = never_worked(run, agent="command", trial="fix[v-r1]", words_count=words_count)
    return None if found is None else f"{found.reason}: {found}"


def test_an_agent_that_never_worked() -> None:
    """Not started, not executable, crashed without a change, surviving: four errors."""
    said = Output(b"a\nlast words\n", total=13)
    missing = Completed(None, 0.0, launch_error="no such file")
    advice = (
        ". Try: its absolute path, and sandbox.read_only to show a program that is not below"
        " /usr: no sandbox has your PATH"
    )
    assert fault(missing) == f"agent_launch: agent command: no such file{advice}"
    assert fault(Completed(127, 0.0, stderr=said)) == (
        f"agent_launch: agent command: could not be executed (exit 127): last words{advice}"
    )
    assert fault(Completed(1, 0.0)) == (
        "agent_crash: agent command: exited with 1 and changed nothing: no output"
    )
    assert fault(Completed(None, 0.0, signal=9, out_of_memory=True)) == (
        "agent_crash: agent command: ran out of memory and changed nothing: no output"
    )
    assert fault(Completed(0, 0.0, survivors=2)) == (
        "cleanup: fix[v-r1]: 2 processes of the agent could not be killed"
    )


def test_an_agent_that_worked() -> None:
    """A change, an exit with 0, or time that ran out is work to be judged."""
    changed = left(Change(b"a", ChangeKind.ADDED, file()))
    assert fault(Completed(1, 0.0), changed) is None
    assert fault(Completed(126, 0.0), changed) is None
    assert fault(Completed(0, 0.0)) is None
    assert fault(Completed(None, 0.0, timed_out=True)) is None
    assert never_worked(AgentRun(changes=IDLE), agent="noop", trial="t", words_count=False) is None


def test_words_are_work_where_they_are_judged() -> None:
    """With an oracle on the agent's words a crash is judged; a program that is not there is not."""
    assert fault(Completed(1, 0.0), words_count=True) is None
    assert str(fault(Completed(127, 0.0), words_count=True)).startswith("agent_launch")


def test_the_whole_workspace_counts_against_its_limit() -> None:
    """What was left alone, plus what was changed or added, less what was deleted or replaced."""
    changes = left(
        Change(b"gone", ChangeKind.DELETED, None),
        Change(b"new", ChangeKind.ADDED, file(7)),
        Change(b"swapped", ChangeKind.MODIFIED, file(20)),
    )
    start = template(gone=1000, kept=100, swapped=500)
    assert unscorable(changes, start, Limits(workspace_bytes=127)) == []
    assert unscorable(changes, start, Limits(workspace_bytes=126)) == [
        Finding(Reason.LIMIT, "the agent left a workspace of 127 bytes; limits.workspace is 126")
    ]
    assert unscorable(changes, start, Limits()) == []


def test_more_than_can_be_carried_is_a_limit_of_its_own() -> None:
    """Without a limit in the task, or below it, what cannot be carried is not scored."""
    huge = left(Change(b"big", ChangeKind.ADDED, file(CARRIED_BYTES + 1)))
    for limits in (Limits(), Limits(workspace_bytes=1 << 40)):
        (found,) = unscorable(huge, template(), limits)
        assert found.message == (
            "the agent left 1,073,741,825 bytes of changes; more than 1,073,741,824 are not scored"
        )


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ([Change(b"skills/a", ChangeKind.MODIFIED, file(1))], "skills/a"),
        ([Change(b"skills/a", ChangeKind.DELETED, None)], "skills/a"),
        ([Change(b"skills", ChangeKind.MODIFIED, file())], "skills, skills/a, skills/b"),
    ],
)
def test_a_touched_overlay_is_tampered_with(changes: list[Change], named: str) -> None:
    """Changed, removed, or replaced together with its directory."""
    start = template((b"skills", b"skills/a", b"skills/b"), other=1)
    (found,) = unscorable(left(*changes), start, Limits())
    assert found == Finding(
        Reason.TAMPERED, f"the agent changed files of the variant's overlay: {named}"
    )


def test_beside_an_overlay_all_is_allowed() -> None:
    """Files that are added beside an overlay's, and changes to others, are the agent's work."""
    start = template((b"skills", b"skills/a"), other=1)
    changes = left(
        Change(b"other", ChangeKind.MODIFIED, file()),
        Change(b"skills/mine", ChangeKind.ADDED, file()),
    )
    assert unscorable(changes, start, Limits()) == []


def test_of_many_touched_files_the_first_five_are_named() -> None:
    """And how many more there are; tampering comes before a limit."""
    overlay = tuple(b"s/%d" % number for number in range(7))
    changes = left(*(Change(path, ChangeKind.MODIFIED, file(9)) for path in overlay))
    tampered, limit = unscorable(changes, template(overlay), Limits(workspace_bytes=1))
    assert tampered.message.endswith(": s/0, s/1, s/2, s/3, s/4 and 2 more")
    assert limit.reason is Reason.LIMIT


def test_missing_evidence_is_named_with_what_was_seen() -> None:
    """Every expected skill and tool has to be seen; a transcript that shows nothing shows none."""
    expected = Expectation(skills=("review", "plan"), tools=("shell",))
    everything = Evidence(frozenset({"review", "plan"}), frozenset({"shell", "edit"}))
    assert unseen(expected, everything) is None
    assert unseen(Expectation(), None) is None
    assert unseen(expected, Evidence(frozenset({"plan"}), frozenset({"edit"}))) == Finding(
        Reason.EVIDENCE,
        "the agent was not seen to use skill 'review', tool 'shell'; "
        "seen: skill 'plan', tool 'edit'",
    )
    nothing = unseen(expected, None)
    assert nothing is not None
    assert nothing.message.endswith("; seen: nothing")
