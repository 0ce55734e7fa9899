"""The pytest11 entry point: options, and hooks that stay out of the way.

Imported in every pytest run of its environment, so it loads the standard
library and pytest only. The rest is imported when the first task file is
collected.
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_agentbench.options import MARK, PREFIX
from pytest_agentbench.pytest_integration import compat, fixtures, hookspecs
from pytest_agentbench.pytest_integration.options import add_options, check_settings, task_claims
from pytest_agentbench.taskfiles.claims import SUFFIXES
from pytest_agentbench.taskfiles.ownership import Ownership

if TYPE_CHECKING:
    from pytest_agentbench.pytest_integration.components import Brought

_OWNERSHIP: pytest.StashKey[Ownership] = pytest.StashKey()
_UNCLAIMED: pytest.StashKey[list[Path]] = pytest.StashKey()
"""YAML files that were named on the command line, and that are no task files."""


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Say what our hooks are."""
    pluginmanager.add_hookspecs(hookspecs)


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
    config.addinivalue_line(
        "markers",
        f"{MARK}(task): run the test once for each trial of the task file, a path from the root "
        "directory (several tasks: path::id); it asks for agentbench_run or agentbench_verdict",
    )
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
        if named and file_path.suffix in SUFFIXES:
            parent.config.stash.setdefault(_UNCLAIMED, []).append(file_path)
        return None
    from pytest_agentbench.pytest_integration.collect import TaskFile

    return TaskFile.for_path(
        parent, file_path, misplaced=_ownership(parent.config).misplaced(file_path)
    )


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, exitstatus: int, config: pytest.Config
) -> None:
    """Where pytest refuses a YAML file that was named, say what would make a task file of it."""
    unclaimed = config.stash.get(_UNCLAIMED, [])
    if exitstatus == pytest.ExitCode.USAGE_ERROR:
        for path in unclaimed:
            terminalreporter.write_line(
                f"agentbench: {path.name} is no task file. Try: call it NAME.task.yaml, or name "
                f"its directory in the ini key {PREFIX}_tasks"
            )


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give a Python test that is marked the trials of its task."""
    marker = metafunc.definition.get_closest_marker(MARK)
    if marker is None:
        return
    from pytest_agentbench.pytest_integration.pythontests import parametrize_test

    parametrize_test(metafunc, marker)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Refuse the mark where pytest parametrizes nothing: it would be without effect."""
    report = yield
    if report.passed and compat.is_unittest(collector):
        marked = next((one for one in report.result if one.get_closest_marker(MARK)), None)
        if marked is not None:
            report.outcome = "failed"
            report.longrepr = (
                f"{marked.nodeid}: the mark {MARK!r} has no effect on unittest.TestCase, which "
                "pytest does not parametrize. Try: a class that derives from nothing, or a function"
            )
            report.result = []
    return report


def components_of(config: pytest.Config) -> Brought:
    """What this session's conftest files and plugins bring, for commands that ask pytest."""
    from pytest_agentbench.pytest_integration.components import brought

    return brought(config)


def _ownership(config: pytest.Config) -> Ownership:
    if _OWNERSHIP not in config.stash:
        config.stash[_OWNERSHIP] = Ownership(task_claims(config))
    return config.stash[_OWNERSHIP]
