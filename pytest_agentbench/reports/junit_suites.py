"""The suite-level JUnit file: a test suite for each suite and variant, a case for each task.

pytest's own file has one case for each trial; this one has pass rates. Pure: from the
plan, its records and their rollup to the file's bytes.

A case fails when a trial of its task failed, is an error when one could not be measured
and none failed, and passes when every trial that was not skipped passed. What is left is
skipped: nothing went wrong, and it did not pass. A failure that was expected (``xfail``)
counts in the rates and makes no case fail, as in pytest.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from junit_xml import TestCase, TestSuite  # type: ignore[import-untyped]

from pytest_agentbench.model.outcome import Outcome
from pytest_agentbench.model.plan import Plan
from pytest_agentbench.redaction import printable
from pytest_agentbench.reports.junit import PREFIX
from pytest_agentbench.stats.rollup import counted_record, roll_up

if TYPE_CHECKING:
    from pytest_agentbench.model.plan import PlannedTrial
    from pytest_agentbench.model.record import Record
    from pytest_agentbench.model.rollup import Rate, Rollup, Tally

_ALL = "all"
"""The suite of every task."""

_XFAIL = "xfail"
_LINES = 50
"""Of how many trials that did not pass a case tells."""
_LINE = 300
_VALUE = 500


class _Ending(NamedTuple):
    """How one planned trial ended; without a record it never did."""

    trial: PlannedTrial
    record: Record | None

    @property
    def outcome(self) -> Outcome:
        return Outcome.CANCELLED if self.record is None else self.record.outcome

    @property
    def excused(self) -> bool:
        """Whether it failed as it was expected to."""
        expected = self.record is not None and self.record.expected == _XFAIL
        return expected and self.outcome is Outcome.FAILED


def suites_xml(
    plan: Plan, records: Iterable[Record], rollup: Rollup, *, started_at: str | None = None
) -> bytes:
    """The whole file.

    What was deselected is in no case. The suite ``all`` is left out where the named ones
    hold every trial, for it would say everything twice.
    """
    attempts: dict[str, list[Record]] = {}
    for record in records:
        attempts.setdefault(record.key, []).append(record)
    partial = {_ALL: _partial(rollup)} | {one.name: one.partial for one in rollup.suites}
    root = ET.Element("testsuites", name="agentbench")
    for suite in _suites(plan):
        members = [trial for trial in plan.selected if suite == _ALL or suite in trial.suites]
        for variant, trials in _grouped(members, lambda trial: trial.variant):
            made = _Suite(suite, variant, trials, attempts, partial.get(suite, ()))
            root.append(made.element(started_at))
    for count in ("tests", "failures", "errors"):
        root.set(count, str(sum(int(one.get(count, "0")) for one in root)))
    root.set("time", _seconds(sum(float(one.get("time", "0")) for one in root)))
    ET.indent(root)
    data: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return data + b"\n"


def _suites(plan: Plan) -> list[str]:
    named = all(trial.suites for trial in plan.trials)
    return [*plan.suites] if plan.suites and named else [_ALL, *plan.suites]


def _partial(rollup: Rollup) -> tuple[str, ...]:
    """What keeps the suite of every task from being complete."""
    if rollup.complete:
        return ()
    counts = {"deselected": rollup.deselected, "not run": rollup.suite.cancelled}
    return (*rollup.narrowed, *(f"{count} {what}" for what, count in counts.items() if count))


class _Suite:
    """One suite × variant, as an element."""

    def __init__(
        self,
        suite: str,
        variant: str,
        trials: Sequence[PlannedTrial],
        attempts: Mapping[str, list[Record]],
        partial: Sequence[str],
    ) -> None:
        self._suite = suite
        self._variant = variant
        self._trials = trials
        self._attempts = attempts
        self._partial = partial

    def element(self, started_at: str | None) -> ET.Element:
        """The test suite with its cases."""
        known = [record for trial in self._trials for record in self._attempts.get(trial.key, ())]
        # The same counting as in the summary, of these trials alone.
        rollup = roll_up(Plan.model_construct(trials=list(self._trials)), known)
        tallies = {tally.name: tally for tally in rollup.tasks}
        groups = _grouped(self._trials, lambda trial: trial.subject)
        endings = [(name, [self._ending(trial) for trial in trials]) for name, trials in groups]
        cases = [self._case(name, ends, tallies[name]) for name, ends in endings]
        suite = TestSuite(
            _text(f"{self._suite}/{self._variant}"),
            cases,
            properties=_named(self._properties(rollup.suite)),
            timestamp=started_at,
        )
        made: ET.Element = suite.build_xml_doc()
        # It is no part of the format that Jenkins' schema describes.
        made.attrib.pop("disabled", None)
        made.set("time", _seconds(sum(case.elapsed_sec or 0 for case in cases)))
        for element, (name, ends) in zip(made.iter("testcase"), endings, strict=True):
            _complete(element, ends, _task_properties(ends, tallies[name]))
        return made

    def _ending(self, trial: PlannedTrial) -> _Ending:
        return _Ending(trial, counted_record(self._attempts.get(trial.key, ())))

    def _case(self, name: str, ends: Sequence[_Ending], tally: Tally) -> TestCase:
        path, _, line = (ends[0].trial.position or "").rpartition(":")
        case = TestCase(
            # Unique in the file, since some readers tell cases by name alone.
            _text(f"{name}[{self._suite}/{self._variant}]"),
            # A dot of a name would be read as the end of a package.
            classname=".".join(_text(n).replace(".", "_") for n in (self._suite, self._variant)),
            elapsed_sec=sum(_durations(ends)),
            file=_text(path) or None,
            line=line if line.isdigit() else None,
        )
        message, lines = _message(tally, ends), "\n".join(_lines(ends))
        match _verdict(ends):
            case Outcome.FAILED:
                case.add_failure_info(message, lines, _reasons(ends, Outcome.FAILED))
            case Outcome.ERROR:
                case.add_error_info(message, lines, _reasons(ends, Outcome.ERROR))
            case Outcome.SKIPPED:
                case.add_skipped_info(message, lines)
            case _:
                pass
        return case

    def _properties(self, tally: Tally) -> dict[str, str | None]:
        """What is told of the suite as a whole."""
        first = self._trials[0]
        return {
            "suite": self._suite,
            "variant": self._variant,
            "agent": first.agent,
            "model": first.model,
            **_counts(tally),
            "complete": str(not self._partial).lower(),
            "partial": "; ".join(self._partial) or None,
        }


def _verdict(ends: Sequence[_Ending]) -> Outcome:
    """What the case is: passed, failed, an error, or skipped."""
    told = {end.outcome for end in ends if not end.excused}
    if Outcome.FAILED in told:
        return Outcome.FAILED
    if Outcome.ERROR in told:
        return Outcome.ERROR
    excused = any(end.excused for end in ends)
    passed = Outcome.PASSED in told and Outcome.CANCELLED not in told and not excused
    return Outcome.PASSED if passed else Outcome.SKIPPED


def _message(tally: Tally, ends: Sequence[_Ending]) -> str:
    """``2/3 passed, 1 error``."""
    excused = sum(end.excused for end in ends)
    counts = {
        "failed": tally.failed - excused,
        "failed as expected": excused,
        "error": tally.error,
        "skipped": tally.skipped,
        "cancelled": tally.cancelled,
    }
    told = [f"{count} {what}" for what, count in counts.items() if count]
    return ", ".join([f"{tally.passed}/{tally.planned} passed", *told])


def _lines(ends: Sequence[_Ending]) -> Iterator[str]:
    """One line for each trial that did not pass."""
    wanting = [end for end in ends if end.outcome is not Outcome.PASSED]
    for trial, record in wanting[:_LINES]:
        if record is None:
            yield _text(f"{trial.key}: not run")
            continue
        reason = f" ({record.reason})" if record.reason else ""
        first = (printable(record.message).strip().splitlines() or [""])[0]
        yield _text(f"{trial.key}: {record.outcome}{reason}{': ' if first else ''}{first}", _LINE)
    if len(wanting) > _LINES:
        yield f"and {len(wanting) - _LINES} more"


def _reasons(ends: Sequence[_Ending], outcome: Outcome) -> str:
    """Why trials ended so, as the type of a failure: ``oracle, timeout``."""
    reasons = {
        str(end.record.reason): None
        for end in ends
        if end.record and end.outcome is outcome and end.record.reason and not end.excused
    }
    return ", ".join(reasons) or str(outcome)


def _task_properties(ends: Sequence[_Ending], tally: Tally) -> dict[str, str | None]:
    expected = {
        str(end.record.expected): None for end in ends if end.record and end.record.expected
    }
    trial = ends[0].trial
    return {
        "task": trial.task,
        "test": trial.test,
        "variant": trial.variant,
        **_counts(tally),
        "expected": ", ".join(expected) or None,
    }


def _counts(tally: Tally) -> dict[str, str | None]:
    """Counts and rates; what is unknown is left out."""
    outcomes = {str(one): str(getattr(tally, one)) for one in Outcome}
    return {
        "planned": str(tally.planned),
        **outcomes,
        **_rate("pass_rate", tally.of_scored),
        **_rate("pass_rate_of_planned", tally.of_planned),
    }


def _rate(name: str, rate: Rate) -> dict[str, str | None]:
    values = {"": rate.value, "_low": rate.low, "_high": rate.high}
    return {
        f"{name}{end}": None if value is None else f"{value:.6g}" for end, value in values.items()
    }


def _complete(
    element: ET.Element, ends: Sequence[_Ending], properties: Mapping[str, str | None]
) -> None:
    """Add what the library does not know: the properties of a case, and when time is unknown."""
    durations = _durations(ends)
    spent_nothing = all(end.outcome in (Outcome.SKIPPED, Outcome.CANCELLED) for end in ends)
    if durations or spent_nothing:
        element.set("time", _seconds(sum(durations)))
    holder = ET.Element("properties")
    for name, value in _named(properties).items():
        ET.SubElement(holder, "property", name=name, value=value)
    element.insert(0, holder)


def _named(properties: Mapping[str, str | None]) -> dict[str, str]:
    return {
        f"{PREFIX}{name}": _text(value, _VALUE)
        for name, value in properties.items()
        if value is not None
    }


def _durations(ends: Sequence[_Ending]) -> list[float]:
    spans = [end.record.phases.total_s for end in ends if end.record is not None]
    return [span for span in spans if span is not None]


def _grouped(
    trials: Iterable[PlannedTrial], by: Callable[[PlannedTrial], str]
) -> Iterable[tuple[str, list[PlannedTrial]]]:
    groups: dict[str, list[PlannedTrial]] = {}
    for trial in trials:
        groups.setdefault(by(trial), []).append(trial)
    return groups.items()


def _text(text: str, limit: int | None = None) -> str:
    return printable(text.replace("\n", " "), limit)


def _seconds(value: float) -> str:
    """Three places at most: more is no time to Jenkins."""
    return f"{value:.3f}"
