"""Our options and ini keys in pytest's terms, and the settings read back from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

import pytest

from pytest_agentbench.options import (
    DEFAULT_TASK_DIRECTORIES,
    OPTIONS,
    PREFIX,
    Option,
    OptionKind,
)
from pytest_agentbench.taskfiles.claims import EXPERIMENT_NAMES, Claims

if TYPE_CHECKING:
    from pytest_agentbench.settings import Settings

_INI: Mapping[OptionKind, tuple[Literal["string", "args", "linelist", "bool"], object]] = {
    "text": ("string", ""),
    "words": ("args", []),
    "lines": ("linelist", []),
    "flag": ("bool", False),
}
_CHOOSING = ("experiment", "variant", "agent", "model", "repeats", "set")
"""Options that change what an experiment means: typed, it is loaded before anything else."""
_CLAIMS: pytest.StashKey[Claims] = pytest.StashKey()


def add_options(parser: pytest.Parser) -> None:
    """One group of options, and an ini key for each."""
    group = parser.getgroup(PREFIX, "tasks for coding agents (agentbench)")
    for option in OPTIONS:
        if option.kind == "flag":
            group.addoption(option.flag, dest=option.key, action="store_true", help=option.help)
        else:
            action = "store" if option.kind == "text" else "append"
            group.addoption(
                option.flag,
                dest=option.key,
                action=action,
                metavar=option.metavar,
                help=option.help,
            )
        kind, default = _INI[option.kind]
        parser.addini(option.key, f"default of {option.flag}", type=kind, default=default)
    parser.addini(
        f"{PREFIX}_tasks",
        "directories, relative to the root directory, in which every YAML file is a task file "
        f"(default: {' '.join(DEFAULT_TASK_DIRECTORIES)})",
        type="args",
        default=None,
    )


def task_directories(config: pytest.Config) -> tuple[str, ...] | None:
    """The ini key ``agentbench_tasks``; None where the project does not set it."""
    directories = config.getini(f"{PREFIX}_tasks")
    return tuple(directories) if directories else None


def has_experiment(config: pytest.Config) -> bool:
    """Whether this is surely a project of ours, before any file is collected."""
    if any((config.rootpath / name).is_file() for name in EXPERIMENT_NAMES):
        return True
    return task_directories(config) is not None or any(
        _is_asked(config, option) for option in OPTIONS
    )


def task_claims(config: pytest.Config) -> Claims:
    """The rule by which this session claims files."""
    if _CLAIMS not in config.stash:
        directories = task_directories(config)
        config.stash[_CLAIMS] = Claims(
            config.rootpath,
            directories or DEFAULT_TASK_DIRECTORIES,
            configured=directories is not None,
        )
    return config.stash[_CLAIMS]


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
    if not any(_is_asked(config, option) for option in OPTIONS):
        return
    # Only now: most sessions ask for nothing, and pay for no more than the options' names.
    from pytest_agentbench.errors import AgentbenchError

    try:
        settings = session_settings(config)
        _check_name(config, "sandbox", settings.sandbox)
        _check_name(config, "agent", settings.agent)
        if any(config.getoption(f"{PREFIX}_{name}") for name in _CHOOSING):
            from pytest_agentbench.pytest_integration.experiments import choose

            choose(settings, config)
    except AgentbenchError as error:
        raise pytest.UsageError(str(error)) from error


def _is_asked(config: pytest.Config, option: Option) -> bool:
    """Whether the command line or the ini file says anything of an option, if only nonsense."""
    if config.getoption(option.key) not in (None, False):
        return True
    try:
        return bool(config.getini(option.key))
    except ValueError:  # a flag that is neither true nor false
        return True


def _check_name(config: pytest.Config, kind: Literal["agent", "sandbox"], name: str | None) -> None:
    """Refuse a name that stands for nothing. Third parties are asked only where it is not ours."""
    from pytest_agentbench import registry
    from pytest_agentbench.errors import UnknownComponent, UsageError

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
    from pytest_agentbench.settings import read_settings

    return read_settings(
        config.rootpath,
        config.invocation_params.dir,
        chosen={option.name: config.getoption(option.key) for option in OPTIONS},
        ini=config.getini,
        task_directories=task_directories(config),
    )
