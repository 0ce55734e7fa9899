"""Our options and ini keys in pytest's terms: what every session adds and asks.

What they mean is read and checked in ``sessionsettings``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

import pytest

from pytest_agentbench.candidates import Candidates
from pytest_agentbench.options import (
    DEFAULT_TASK_DIRECTORIES,
    OPTIONS,
    PREFIX,
    OptionKind,
)

if TYPE_CHECKING:
    from pytest_agentbench.taskfiles.claims import Claims

_INI: Mapping[OptionKind, tuple[Literal["string", "args", "linelist", "bool"], object]] = {
    "text": ("string", ""),
    "words": ("args", []),
    "lines": ("linelist", []),
    "flag": ("bool", False),
}
_CANDIDATES: pytest.StashKey[Candidates] = pytest.StashKey()
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


def task_candidates(config: pytest.Config) -> Candidates:
    """The files that this session may claim."""
    if _CANDIDATES not in config.stash:
        config.stash[_CANDIDATES] = Candidates(
            config.rootpath, task_directories(config) or DEFAULT_TASK_DIRECTORIES
        )
    return config.stash[_CANDIDATES]


def task_claims(config: pytest.Config) -> Claims:
    """The rule by which this session claims files; to be asked about candidates only."""
    if _CLAIMS not in config.stash:
        # Only now: most sessions see no candidate.
        from pytest_agentbench.taskfiles.claims import Claims

        config.stash[_CLAIMS] = Claims(
            task_candidates(config), configured=task_directories(config) is not None
        )
    return config.stash[_CLAIMS]


def any_asked(config: pytest.Config) -> bool:
    """Whether the command line or the ini file says anything of our options, if only nonsense."""
    for option in OPTIONS:
        if config.getoption(option.key) not in (None, False):
            return True
        try:
            if config.getini(option.key):
                return True
        except ValueError:  # a flag that is neither true nor false
            return True
    return False
