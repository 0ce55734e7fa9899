"""What is done to pytest's reports: the record goes along, time is moved, a story is told."""

from __future__ import annotations

from typing import cast

import pytest

from pytest_agentbench.engine.planned import bare_record, plan_trial
from pytest_agentbench.model.outcome import Outcome, Reason
from pytest_agentbench.model.record import Record
from pytest_agentbench.model.trial import TrialSpec
from pytest_agentbench.redaction import printable

_ATTRIBUTE = "agentbench"

_STRICT_XPASS = "[XPASS(strict)]"
"""How the text of pytest's report begins where a test passed that must not: it says it nowhere
else."""


def attach(report: pytest.TestReport, record: Record) -> None:
    """Let the record travel with the report, also from an xdist worker: JSON only.

    One lone surrogate in a string would end the whole xdist session.
    """
    text = record.model_dump_json()
    setattr(report, _ATTRIBUTE, text.encode("utf-8", "replace").decode())


def attached(report: pytest.TestReport) -> Record | None:
    """The record that came with a report."""
    text = getattr(report, _ATTRIBUTE, None)
    return None if text is None else Record.model_validate_json(text)


def detached(report: pytest.TestReport) -> Record | None:
    """The record that came with a report, taken off it.

    It has everything of the oracles, whatever ``reveal`` says: plugins that store whole
    reports are not to find it there.
    """
    record = attached(report)
    if record is not None:
        delattr(report, _ATTRIBUTE)
    return record


def move_time(report: pytest.TestReport, seconds: float) -> None:
    """Add to a phase the time that was spent for it in another one."""
    report.duration = max(report.duration + seconds, 0.0)
    if seconds > 0:
        report.start -= seconds
    else:
        report.stop = report.start + report.duration


def headline(
    call: pytest.CallInfo[None], story: str, record: Record, location: tuple[str, int | None, str]
) -> str:
    """The story as the report's text, with one line of it for the short summary.

    pytest's own representation of an exception is used for that, since it is what
    the terminal, JUnit and xdist know how to show, send and shorten.
    """
    if call.excinfo is None:
        return story
    told = call.excinfo.getrepr(style="value")
    for element in getattr(told, "chain", []):
        for entry in element[0].reprentries:
            entry.lines = story.splitlines()
    crash = told.reprcrash
    if crash is not None:
        crash.path, crash.lineno = location[0], (location[1] or 0) + 1
        first = record.message.strip().splitlines() or [record.outcome.value]
        crash.message = f"{record.reason or record.outcome}: {first[0]}"
    return cast("str", told)


def expecting(record: Record, report: pytest.TestReport) -> Record:
    """The record with what was expected of its task; the outcome stays as it was measured."""
    expected = None
    if getattr(report, "wasxfail", None) is not None:
        expected = "xpass" if report.passed else "xfail"
    elif report.failed and str(report.longrepr).startswith(_STRICT_XPASS):
        expected = "xpass"
    if expected is None or (report.when != "call" and expected == "xpass"):
        return record
    return record.model_copy(update={"expected": expected})


def unstarted(report: pytest.TestReport, call: pytest.CallInfo[None], spec: TrialSpec) -> Record:
    """The record of a trial that never began: skipped, or a fixture of the user's broke."""
    planned = plan_trial(spec, printable(report.nodeid), None)
    not_run = call.excinfo is not None and call.excinfo.errisinstance(
        (pytest.skip.Exception, pytest.xfail.Exception)
    )
    if report.skipped and not_run:
        reason, message = _why_skipped(report, spec)
        return bare_record(
            planned, outcome=Outcome.SKIPPED, reason=reason, message=printable(message, 1_000)
        )
    crash = getattr(report.longrepr, "reprcrash", None)
    why = crash.message if crash is not None else str(report.longrepr)
    return bare_record(
        planned,
        outcome=Outcome.ERROR,
        reason=Reason.SETUP,
        message=printable(f"a fixture failed before the trial: {why}", 1_000),
    )


def _why_skipped(report: pytest.TestReport, spec: TrialSpec) -> tuple[Reason, str]:
    expected = getattr(report, "wasxfail", None)
    if expected is not None:
        # pytest before 8.4 puts a word before it.
        return Reason.SKIP, f"xfail: {expected.removeprefix('reason: ')}"
    why = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    message = why.removeprefix("Skipped: ")
    exclusion = spec.exclusion
    # A mark or a fixture of the user's may have been quicker than the task's own words.
    if exclusion is not None and message == exclusion.message:
        return exclusion.reason, message
    return Reason.SKIP, message
