"""Our options and ini keys in pytest's terms, and the settings read back from them."""

from __future__ import annotations

import pytest

from pytest_agentbench.errors import AgentbenchError, UsageError
from pytest_agentbench.registry import sandbox_names
from pytest_agentbench.settings import (
    DEFAULT_TASK_DIRECTORIES,
    OPTIONS,
    PREFIX,
    Settings,
    read_settings,
)
from pytest_agentbench.taskfiles.claims import Claims

_CLAIMS: pytest.StashKey[Claims] = pytest.StashKey()


def add_options(parser: pytest.Parser) -> None:
    """One group of options, and an ini key for each."""
    group = parser.getgroup(PREFIX, "tasks for coding agents (agentbench)")
    for option in OPTIONS:
        group.addoption(option.flag, dest=option.key, metavar=option.metavar, help=option.help)
        parser.addini(option.key, f"default of {option.flag}", default="")
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
    """Refuse wrong values before anything is collected. Raises pytest's ``UsageError``."""
    try:
        settings = session_settings(config)
        known = ("auto", *sandbox_names())
        if settings.sandbox is not None and settings.sandbox not in known:
            raise UsageError(
                f"unknown sandbox {settings.sandbox!r}; known: {', '.join(known)}",
                where=f"--{PREFIX}-sandbox",
            )
        if config.getoption(f"{PREFIX}_experiment"):
            from pytest_agentbench.taskfiles.experiment import load_experiment

            load_experiment(settings.rootdir, settings.experiment)
    except AgentbenchError as error:
        raise pytest.UsageError(str(error)) from error


def session_settings(config: pytest.Config) -> Settings:
    """This session's settings. Raises ``UsageError``."""
    return read_settings(
        config.rootpath,
        config.invocation_params.dir,
        chosen={option.name: config.getoption(option.key) for option in OPTIONS},
        ini=lambda key: str(config.getini(key)),
        task_directories=task_directories(config),
    )
