"""The pytest11 entry point: options, and hooks that stay out of the way.

Imported in every pytest run of its environment, so it loads the standard
library and pytest only. The rest is imported when the first task file is
collected.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_agentbench.options import PREFIX
from pytest_agentbench.pytest_integration import compat, fixtures
from pytest_agentbench.pytest_integration.options import add_options, check_settings, task_claims
from pytest_agentbench.taskfiles.ownership import Ownership

_OWNERSHIP: pytest.StashKey[Ownership] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add our one group of options, and an ini key for each."""
    add_options(parser)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Keep conftest files that belong to a task's workspace or oracle from being loaded."""
    compat.guard_conftests(
        early_config.pluginmanager, lambda path: _ownership(early_config).owner(path) is not None
    )


def pytest_configure(config: pytest.Config) -> None:
    """Offer the fixtures; on an xdist controller, listen for what the workers find."""
    config.pluginmanager.register(fixtures, f"{PREFIX}-fixtures")
    if not compat.is_worker(config):
        check_settings(config)
    if compat.is_controller(config):
        from pytest_agentbench.pytest_integration.controller import Doorman

        config.pluginmanager.register(Doorman(config), f"{PREFIX}-doorman")


@pytest.hookimpl(tryfirst=True)
def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """What a task owns is no test."""
    return True if _ownership(config).owner(collection_path) is not None else None


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect task files."""
    claims = task_claims(parent.config)
    named = parent.session.isinitpath(file_path)
    if not (claims.claims_named(file_path) if named else claims.claims(file_path)):
        return None
    from pytest_agentbench.pytest_integration.collect import TaskFile

    return TaskFile.for_path(
        parent, file_path, misplaced=_ownership(parent.config).misplaced(file_path)
    )


def _ownership(config: pytest.Config) -> Ownership:
    if _OWNERSHIP not in config.stash:
        config.stash[_OWNERSHIP] = Ownership(task_claims(config))
    return config.stash[_OWNERSHIP]
