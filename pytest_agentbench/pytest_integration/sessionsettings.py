"""What a session's options and ini keys say, read and checked.

Not loaded where they say nothing, and no task file is found.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import pytest

from pytest_agentbench.candidates import EXPERIMENT_NAMES
from pytest_agentbench.errors import AgentbenchError, UnknownComponent, UsageError
from pytest_agentbench.options import DEFAULT_TASK_DIRECTORIES, OPTIONS, PREFIX
from pytest_agentbench.pytest_integration.options import any_asked, task_directories
from pytest_agentbench.settings import Settings, read_settings

_CHOOSING = ("experiment", "variant", "agent", "model", "repeats", "set")
"""Options that change what an experiment means: typed, it is loaded before anything else."""


def has_experiment(config: pytest.Config) -> bool:
    """Whether this is surely a project of ours, before any file is collected."""
    if any((config.rootpath / name).is_file() for name in EXPERIMENT_NAMES):
        return True
    return task_directories(config) is not None or any_asked(config)


def chosen_parts(config: pytest.Config) -> list[str]:
    """Arguments that name less than a whole suite: files, node ids, directories below tasks."""
    roots = task_directories(config) or DEFAULT_TASK_DIRECTORIES
    wholes = [config.rootpath / root for root in roots]
    found = []
    for argument in config.args:
        name = argument.partition("::")[0]
        path = (config.invocation_params.dir / name).absolute()
        below = any(path != whole and path.is_relative_to(whole) for whole in wholes)
        if "::" in argument or path.is_file() or below:
            found.append(argument)
    return found


def check_settings(config: pytest.Config) -> None:
    """Refuse wrong values before anything is collected. Raises pytest's ``UsageError``.

    What only an experiment can tell is checked here where the command line asks for it,
    and with the first task file else: a session without any must not load one.
    """
    try:
        settings = session_settings(config)
        _check_name(config, "sandbox", settings.sandbox)
        _check_name(config, "agent", settings.agent)
        if any(config.getoption(f"{PREFIX}_{name}") for name in _CHOOSING):
            from pytest_agentbench.pytest_integration.experiments import choose

            choose(settings, config)
    except AgentbenchError as error:
        raise pytest.UsageError(str(error)) from error


def _check_name(config: pytest.Config, kind: Literal["agent", "sandbox"], name: str | None) -> None:
    """Refuse a name that stands for nothing. Third parties are asked only where it is not ours."""
    from pytest_agentbench import registry

    others = ("auto",) if kind == "sandbox" else ()
    if name is None or name in others or name in registry.built_in_names(kind):
        return
    from pytest_agentbench.pytest_integration.components import brought

    brought(config).require()
    where = f"--{PREFIX}-{kind}"
    try:
        registry.check_name(kind, name)
    except UnknownComponent as error:
        names = registry.sandbox_names() if kind == "sandbox" else registry.agent_names()
        raise UsageError(_unknown(kind, name, (*others, *names)), where=where) from error
    except UsageError as error:
        raise UsageError(error.what, where=where, advice=error.advice) from error


def _unknown(kind: str, name: str, known: Sequence[str]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name, known, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ";"
    return f"unknown {kind} {name!r}{hint} known: {', '.join(known)}"


def session_settings(config: pytest.Config) -> Settings:
    """This session's settings. Raises ``UsageError``."""
    return read_settings(
        config.rootpath,
        config.invocation_params.dir,
        chosen={option.name: config.getoption(option.key) for option in OPTIONS},
        ini=config.getini,
        task_directories=task_directories(config),
    )
