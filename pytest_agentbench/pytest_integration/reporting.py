"""What is done to pytest's reports: the record goes along, time is moved, a story is told."""

from __future__ import annotations

from typing import cast

import pytest

from pytest_agentbench.engine.recording import bare_record, plan_trial
from pytest_agentbench.model.outcome import Outcome, Reason
from pytest_agentbench.model.record import Record
from pytest_agentbench.model.trial import TrialSpec
from pytest_agentbench.redaction import printable

_ATTRIBUTE = "agentbench"


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


def unstarted(report: pytest.TestReport, spec: TrialSpec) -> Record:
    """The record of a trial that never began: skipped, or a fixture of the user's broke."""
    planned = plan_trial(spec, printable(report.nodeid), None)
    if report.skipped:
        expected = getattr(report, "wasxfail", None)
        if expected is not None:
            why = f"xfail: {expected}"
        elif isinstance(report.longrepr, tuple):
            why = report.longrepr[2]
        else:
            why = str(report.longrepr)
        return bare_record(
            planned,
            outcome=Outcome.SKIPPED,
            reason=Reason.SKIP,
            message=printable(why.removeprefix("Skipped: "), 1_000),
        )
    crash = getattr(report.longrepr, "reprcrash", None)
    why = crash.message if crash is not None else str(report.longrepr)
    return bare_record(
        planned,
        outcome=Outcome.ERROR,
        reason=Reason.SETUP,
        message=printable(f"a fixture failed before the trial: {why}", 1_000),
    )
