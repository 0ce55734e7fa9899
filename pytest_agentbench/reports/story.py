"""The story of one trial that did not pass: what a person reads instead of a traceback.

Pure. Short: which oracle failed and why, the agent's last words, what changed,
where the rest is. What an oracle printed is not told, only its reasons.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_agentbench.model.outcome import Outcome
from pytest_agentbench.model.run import ChangeKind, Changes
from pytest_agentbench.redaction import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_agentbench.model.record import OracleRow, Record

_LINE = 200
_MESSAGE_LINE = 1_000
"""The message alone may be long: its end says what to do."""

_MESSAGE_LINES = 12
_ORACLES = 8
_LAST_WORDS = 5
_CHANGES = 20
_DIAGNOSTICS = 4

_LETTERS = {ChangeKind.ADDED: "A", ChangeKind.MODIFIED: "M", ChangeKind.DELETED: "D"}


def story(
    record: Record, *, results_path: str, changes: Sequence[str] = (), last_words: str = ""
) -> str:
    """The story of one trial, safe to show anywhere.

    ``results_path`` is the run directory as the user would type it. ``changes``
    has one line a path (``describe_changes``). ``last_words`` is the agent's final
    message, or the end of its output.
    """
    blocks = [
        list(_headline(record)),
        list(_oracles(record)),
        list(_last_words(last_words)),
        list(_changes(record, changes)),
        list(_diagnostics(record)),
        list(_whereabouts(record, results_path)),
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block)


def describe_changes(changes: Changes) -> list[str]:
    """One line a path: ``M shop/pages.py``, and those that were not carried to scoring."""
    lines = [f"{_LETTERS[change.kind]} {change.name}" for change in changes.changes]
    return lines + [f"! {name} (dropped: {why})" for name, why in changes.dropped.items()]


def _headline(record: Record) -> Iterator[str]:
    """What it is, in a first line that also serves alone: pytest's short summary shows no more."""
    reason = f" ({record.reason})" if record.reason else ""
    first, *rest = [*_bounded(record.message, _MESSAGE_LINES)] or [""]
    yield f"{record.outcome}{reason}: {first}" if first else f"{record.outcome}{reason}"
    yield from rest
    ending = _ending(record)
    if ending:
        yield f"the agent {ending}"


def _ending(record: Record) -> str:
    """How the agent's process ended, where that is out of the ordinary."""
    agent, seconds = record.agent_run, record.phases.agent_s
    after = "" if seconds is None else f" after {seconds:.1f} s"
    if agent.timed_out:
        return f"was stopped{after}: out of time"
    if agent.out_of_memory:
        return f"was killed{after}: out of memory"
    if agent.signal is not None:
        return f"was killed by signal {agent.signal}{after}"
    if agent.exit_code:
        return f"exited with {agent.exit_code}{after}"
    return ""


def _oracles(record: Record) -> Iterator[str]:
    """Every oracle with its mark; where there are too many, those that passed give way."""
    rows = record.oracles
    if not rows:
        return
    score = "" if record.score is None else f", score {record.score:.2f}"
    yield f"oracles: {sum(row.passed for row in rows)} of {len(rows)} passed{score}"
    by_need = sorted(range(len(rows)), key=lambda place: rows[place].passed)
    shown = sorted(by_need[:_ORACLES])
    yield from (_oracle(rows[place]) for place in shown)
    if len(rows) > len(shown):
        yield f"  and {len(rows) - len(shown)} more"


def _oracle(row: OracleRow) -> str:
    mark = "passed" if row.passed else "FAILED"
    partly = f" {row.score:.2f}" if 0 < row.score < 1 else ""
    optional = "" if row.required else ", not required"
    return _line(f"  {mark}{partly} {row.name} ({row.kind}{optional}): {row.reason}")


def _last_words(text: str) -> Iterator[str]:
    lines = [line for line in printable(text).splitlines() if line.strip()]
    if lines:
        yield "the agent's last words:"
        yield from (f"  | {_line(line)}" for line in lines[-_LAST_WORDS:])


def _changes(record: Record, changes: Sequence[str]) -> Iterator[str]:
    churn = record.churn
    if churn is None:
        return
    counts = {
        "added": churn.files_added,
        "modified": churn.files_modified,
        "deleted": churn.files_deleted,
        "dropped": len(churn.dropped),
    }
    said = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
    if not said:
        yield "changed: nothing"
        return
    lines = ""
    if churn.lines_added is not None and churn.lines_removed is not None:
        lines = f" (+{churn.lines_added} -{churn.lines_removed} lines)"
    yield f"changed: {said}{lines}"
    yield from (_line(f"  {change}") for change in changes[:_CHANGES])
    if len(changes) > _CHANGES:
        yield f"  and {len(changes) - _CHANGES} more"


def _diagnostics(record: Record) -> Iterator[str]:
    if record.diagnostics:
        yield "also:"
        yield from (_line(f"  {text}") for text in record.diagnostics[:_DIAGNOSTICS])
        if len(record.diagnostics) > _DIAGNOSTICS:
            yield f"  and {len(record.diagnostics) - _DIAGNOSTICS} more"


def _whereabouts(record: Record, results_path: str) -> Iterator[str]:
    sandbox = record.sandbox
    if sandbox is not None and not sandbox.isolated and record.outcome is not Outcome.SKIPPED:
        yield _line(f"unisolated: ran without walls ({sandbox.driver})")
    if record.artifacts is not None:
        yield printable(f"artifacts: {results_path}/{record.artifacts}")


def _bounded(text: str, most: int) -> Iterator[str]:
    """Some lines of ``text``: of a long one (a traceback) its start, and more of its end."""
    lines = [
        printable(line, _MESSAGE_LINE) for line in printable(text).splitlines() if line.strip()
    ]
    if len(lines) > most:
        start = most // 3
        end = most - start - 1
        lines = [*lines[:start], f"[... {len(lines) - start - end} lines ...]", *lines[-end:]]
    yield from lines


def _line(text: str) -> str:
    return printable(text.replace("\n", " "), _LINE)
