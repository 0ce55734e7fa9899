"""The story of one trial that did not pass: what a person reads instead of a traceback.

Pure. Short: which oracle failed and why, the agent's last words, what changed,
where the rest is. Of an oracle no more is told than its ``reveal`` allows: that it did
not pass and its score, its reason besides, or the end of what it printed as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_agentbench.model.outcome import Outcome
from pytest_agentbench.model.run import ChangeKind, Changes
from pytest_agentbench.redaction import printable
from pytest_agentbench.sandboxes.gitfresh import of_repository

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pytest_agentbench.model.record import OracleRow, Record

_LINE = 200
_MESSAGE_LINE = 1_000
"""The message alone may be long: its end says what to do."""

_MESSAGE_LINES = 12
_ORACLES = 8
_LAST_WORDS = 5
_OUTPUTS = 3
_OUTPUT_LINES = 10
_CHANGES = 20
_DIAGNOSTICS = 4

_LETTERS = {ChangeKind.ADDED: "A", ChangeKind.MODIFIED: "M", ChangeKind.DELETED: "D"}


def story(
    record: Record,
    *,
    results_path: str,
    changes: Sequence[str] = (),
    last_words: str = "",
    outputs: Mapping[str, str] | None = None,
) -> str:
    """The story of one trial, safe to show anywhere.

    ``results_path`` is the run directory as the user would type it. ``changes``
    has one line a path (``describe_changes``). ``last_words`` is the agent's final
    message, or the end of its output. ``outputs`` has the end of what oracles printed,
    by name; only that of oracles with ``reveal: full`` is told.
    """
    blocks = [
        list(_headline(record)),
        list(_oracles(record)),
        *_outputs(record, outputs or {}),
        list(_last_words(last_words)),
        list(_changes(record, changes)),
        list(_diagnostics(record)),
        list(_whereabouts(record, results_path)),
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block)


def describe_changes(changes: Changes) -> list[str]:
    """One line a path: ``M shop/pages.py``, and those that were not carried to scoring."""
    shown = [change for change in changes.changes if not of_repository(change.path)]
    lines = [f"{_LETTERS[change.kind]} {change.name}" for change in shown]
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
    """Every check and oracle with its mark; where too many, those that passed give way."""
    rows = record.oracles
    if not rows:
        return
    score = "" if record.score is None else f", score {record.score:.2f}"
    yield f"{_tally(rows)}{score}"
    by_need = sorted(range(len(rows)), key=lambda place: rows[place].passed)
    shown = sorted(by_need[:_ORACLES])
    yield from (_oracle(rows[place]) for place in shown)
    if len(rows) > len(shown):
        yield f"  and {len(rows) - len(shown)} more"


def _tally(rows: Sequence[OracleRow]) -> str:
    parts = []
    for noun, visible in (("checks", True), ("oracles", False)):
        these = [row for row in rows if row.visible is visible]
        if these:
            parts.append(f"{noun}: {sum(row.passed for row in these)} of {len(these)} passed")
    return ", ".join(parts)


def _oracle(row: OracleRow) -> str:
    mark = "passed" if row.passed else "FAILED" if row.ran else "not run"
    partly = f" {row.score:.2f}" if 0 < row.score < 1 else ""
    kind = f"check, {row.kind}" if row.visible else row.kind
    optional = ", advisory" if row.advisory else "" if row.required else ", not required"
    told = "" if row.reveal == "verdict" else f": {row.reason.removeprefix('not run: ')}"
    return _line(f"  {mark}{partly} {row.name} ({kind}{optional}){told}")


def _outputs(record: Record, outputs: Mapping[str, str]) -> Iterator[list[str]]:
    """The end of what an oracle printed, for those that failed and may be quoted."""
    quoted = [
        row
        for row in record.oracles
        if row.reveal == "full" and not row.passed and outputs.get(row.name, "").strip()
    ]
    for row in quoted[:_OUTPUTS]:
        lines = [line for line in printable(outputs[row.name]).splitlines() if line.strip()]
        ends = [f"  | {_line(line)}" for line in lines[-_OUTPUT_LINES:]]
        yield [_line(f"the end of what {row.name} printed:"), *ends]


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
