"""What a project's own fixtures do to a trial: its overrides of the chain, and what they give."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from os import PathLike, fspath

import pytest

from pytest_agentbench.errors import SetupError
from pytest_agentbench.model.trial import TrialSpec
from pytest_agentbench.pytest_integration import compat
from pytest_agentbench.pytest_integration.paths import relative_to
from pytest_agentbench.taskfiles.names import variable_fault

FIXTURES = ("agentbench_trial", "agentbench_sandbox", "agentbench_run", "agentbench_verdict")
"""The chain, in its order."""


def misuse_of(metafunc: pytest.Metafunc) -> str | None:
    """Why no test may use a fixture of the chain as the project overrides it.

    A wider scope would give several trials one sandbox, one run or one verdict: the second
    agent would be judged by what the first one left.
    """
    for name in FIXTURES:
        override = compat.override_of(metafunc, name)
        if override is None or override.scope == "function":
            continue
        where = f"{relative_to(override.path, metafunc.config.rootpath)}:{override.line}"
        return (
            f"{where}: the fixture {name!r} is overridden with the scope {override.scope!r}: "
            "several trials would share what each needs for itself. Try: no scope there; put "
            "what is dear to make into a wider fixture of another name, and use that one"
        )
    return None


def changed_trial(asked: TrialSpec, given: object, diagnostics: list[str]) -> TrialSpec:
    """The trial that an override of ``agentbench_trial`` gave, where it is still the same one.

    What it changed is told in ``diagnostics``. Raises ``SetupError``.
    """
    if given is asked or given == asked:
        return asked
    where, name = asked.key, "agentbench_trial"
    if not isinstance(given, TrialSpec):
        what = f"{name} is overridden by a fixture that gives no trial, but {type(given).__name__}"
        raise SetupError(what, where=where, advice="a copy: dataclasses.replace(agentbench_trial)")
    changed = [
        one.name for one in fields(asked) if getattr(given, one.name) != getattr(asked, one.name)
    ]
    wrong = [one for one in changed if one not in _CHANGEABLE]
    if "variant" in changed and given.variant.name != asked.variant.name:
        wrong.append("variant.name")
    if wrong:
        raise SetupError(
            f"{name} is overridden by a fixture that changes {', '.join(wrong)}: the plan has"
            " another trial",
            where=where,
            advice=f"change {', '.join(_CHANGEABLE)} alone",
        )
    diagnostics.append(f"changed by the project's {name}: {', '.join(changed)}")
    return given


_CHANGEABLE = ("variant", "limits", "sandbox", "rendered", "reveal")


def environment_of(fixtures: Mapping[str, str], values: Mapping[str, object]) -> dict[str, str]:
    """The variables that a task's fixtures give to agent and oracles. Raises ``SetupError``.

    A mapping becomes variables; a text or number becomes the variable that the task names
    for it.
    """
    environment: dict[str, str] = {}
    for fixture, variable in fixtures.items():
        value = values[fixture]
        given = _variables(fixture, variable, value)
        for name, text in given.items():
            fault = variable_fault(name, text)
            if fault is None and name in environment:
                fault = "is given by another fixture, too"
            if fault is not None:
                raise SetupError(f"the variable {name!r} {fault}", where=f"fixture {fixture}")
            environment[name] = text
    return environment


def _variables(fixture: str, variable: str, value: object) -> dict[str, str]:
    if variable:
        if isinstance(value, PathLike):
            value = fspath(value)
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            what = f"gives {type(value).__name__}, which is no text for {variable}"
            raise SetupError(what, where=f"fixture {fixture}", advice="return a text or a number")
        return {variable: str(value)}
    if not isinstance(value, Mapping):
        return {}
    for name, text in value.items():
        if not isinstance(name, str) or not isinstance(text, str):
            what = f"gives a mapping in which {name!r} is {type(text).__name__}: variables are text"
            raise SetupError(what, where=f"fixture {fixture}", advice="a mapping of texts to texts")
    return dict(value)
