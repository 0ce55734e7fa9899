"""What a task file says of when and with what it is run: skip, xfail, slots and fixtures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pytest_agentbench.model.task import SkipRule, Xfail
from pytest_agentbench.taskfiles.complaints import was_pruned
from pytest_agentbench.taskfiles.names import id_fault, variable_fault
from pytest_agentbench.taskfiles.yamlnodes import value_at

if TYPE_CHECKING:
    from pytest_agentbench.model.task import JsonValue
    from pytest_agentbench.taskfiles.experimentshape import ExperimentShape
    from pytest_agentbench.taskfiles.rowscope import Reporter
    from pytest_agentbench.taskfiles.taskshape import (
        SkipShape,
        TaskShape,
        UnlessShape,
        XfailShape,
    )

NO_FIXTURES: Mapping[str, str] = {}
"""One for all tasks without."""

_PLATFORMS = {
    "cygwin32": "cygwin",
    "linux2": "linux",
    "mac": "darwin",
    "macos": "darwin",
    "macosx": "darwin",
    "osx": "darwin",
    "win": "win32",
    "win64": "win32",
    "windows": "win32",
}
"""Names that are surely wrong, and what Python calls the platform."""

_TRUTH_VALUES = frozenset({"false", "n", "no", "off", "on", "true", "y", "yes"})
"""Words that are meant as truth values, and are text: ``skip: no`` would skip a task for ever."""


def skip_of(shape: SkipShape, raw: JsonValue, reporter: Reporter) -> SkipRule:
    """When the task is not run. ``raw`` is the shape as it is written."""
    unless = shape.unless
    rule = SkipRule(
        reason=shape.reason,
        platforms=tuple(unless.platform),
        architectures=tuple(unless.arch),
        commands=tuple(unless.command),
        variables=tuple(unless.env),
    )
    if was_pruned(shape, raw) or was_pruned(unless, value_at(raw, ("unless",))):
        pass
    elif shape.has("unless") and not rule.conditional:
        reporter.report(("skip", "unless"), "'unless' names no condition", key=True)
    elif not rule.conditional and not shape.reason.strip():
        reporter.report(("skip",), "a skip needs a reason, or conditions below 'unless'")
    elif not rule.conditional:
        _refuse_truth_value("skip", shape.reason, reporter)
    _check_conditions(unless, reporter)
    return rule


def _refuse_truth_value(key: str, reason: str, reporter: Reporter) -> None:
    if reason.strip().lower() in _TRUTH_VALUES:
        reporter.report(
            (key,),
            f"{reason!r} is the text of a reason here, and no truth value",
            advice=f"a reason that says why, or no {key!r} at all",
        )


def _check_conditions(unless: UnlessShape, reporter: Reporter) -> None:
    """Refuse what would skip a task on every machine."""
    checks = {
        "platform": (unless.platform, _platform_fault),
        "arch": (unless.arch, _word_fault),
        "command": (unless.command, _command_fault),
        "env": (unless.env, lambda name: variable_fault(name, "")),
    }
    for key, (texts, fault_of) in checks.items():
        for index, text in enumerate(texts):
            fault = fault_of(text)
            if fault is not None:
                reporter.report(("skip", "unless", key, index), f"{key} {text!r} {fault}")


def _platform_fault(name: str) -> str | None:
    right = _PLATFORMS.get(name.lower(), name.lower())
    if name != right:
        return f"is no value of sys.platform; did you mean {right!r}?"
    return _word_fault(name)


def _command_fault(name: str) -> str | None:
    if "/" in name and not name.startswith("/"):
        return "is neither the name of a command nor an absolute path"
    return _word_fault(name)


def _word_fault(text: str) -> str | None:
    if not text:
        return "is empty"
    return None if text.isprintable() and not any(map(str.isspace, text)) else "holds a blank"


def xfail_of(shape: XfailShape, reporter: Reporter) -> Xfail:
    """For which variants the task is expected not to pass."""
    if shape.has("variants") and not shape.variants:
        reporter.report(("xfail", "variants"), "'variants' names no variant", key=True)
    for index, pattern in enumerate(shape.variants):
        if not pattern.strip():
            reporter.report(("xfail", "variants", index), "a pattern of variants is empty")
    _refuse_truth_value("xfail", shape.reason, reporter)
    return Xfail(
        reason=shape.reason,
        variants=tuple(shape.variants),
        strict=shape.strict if shape.has("strict") else None,
    )


def slots_of(shape: TaskShape | ExperimentShape, reporter: Reporter) -> Mapping[str, int]:
    """How many of each named resource one trial holds."""
    for name in shape.slots:
        fault = id_fault(name)
        if fault is not None:
            reporter.report(("slots", name), f"the slot name {name!r} {fault}", key=True)
    return dict(shape.slots)


def fixtures_of(shape: TaskShape, reporter: Reporter) -> Mapping[str, str]:
    """The pytest fixtures that a trial needs, each with the variable that its value becomes."""
    variables = [variable for variable in shape.fixtures.values() if variable is not None]
    for name, variable in shape.fixtures.items():
        fault = _fixture_fault(name)
        if fault is not None:
            reporter.report(("fixtures",), f"the fixture {name!r} {fault}")
        if variable is None:
            continue
        fault = variable_fault(variable, "")
        if fault is None and variables.count(variable) > 1:
            fault = "is given by two fixtures"
        if fault is not None:
            reporter.report(("fixtures", name), f"{variable!r} {fault}")
    return {name: variable or "" for name, variable in shape.fixtures.items()}


def _fixture_fault(name: str) -> str | None:
    if not name.isidentifier():
        return "has no name that a fixture can have"
    if name == "request" or name.startswith("agentbench_"):
        return "is a part of every trial already"
    return None
