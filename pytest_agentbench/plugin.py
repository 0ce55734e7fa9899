"""The pytest11 entry point: options, and hooks that stay out of the way.

Imported in every pytest run of its environment, so it loads the standard
library and pytest only, and little of ours. The rest is imported when the first
task file is collected. The fixtures are offered by being names of this module.
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_agentbench.candidates import SUFFIXES
from pytest_agentbench.options import MARK, PREFIX
from pytest_agentbench.pytest_integration import compat_entry, hookspecs
from pytest_agentbench.pytest_integration.fixtures import (  # noqa: F401 - names here are offered
    _agentbench_place,
    agentbench_run,
    agentbench_sandbox,
    agentbench_trial,
    agentbench_verdict,
)
from pytest_agentbench.pytest_integration.options import (
    add_options,
    any_asked,
    task_candidates,
    task_claims,
)

if TYPE_CHECKING:
    from pytest_agentbench.pytest_integration.components import Brought
    from pytest_agentbench.taskfiles.ownership import Ownership

_OWNERSHIP: pytest.StashKey[Ownership] = pytest.StashKey()


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Say what our hooks are."""
    pluginmanager.add_hookspecs(hookspecs)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add our one group of options, and an ini key for each."""
    add_options(parser)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Keep conftest files that belong to a task's workspace or oracle from being loaded."""
    compat_entry.guard_conftests(
        early_config.pluginmanager, lambda path: _is_owned(early_config, path)
    )


def pytest_configure(config: pytest.Config) -> None:
    """Say what the mark is; on an xdist controller, listen for what the workers find."""
    config.addinivalue_line(
        "markers",
        f"{MARK}(task): run the test once for each trial of the task file, a path from the root "
        "directory (several tasks: path::id); it asks for agentbench_run or agentbench_verdict",
    )
    if any_asked(config) and not compat_entry.is_worker(config):
        from pytest_agentbench.pytest_integration.sessionsettings import check_settings

        check_settings(config)
    if compat_entry.is_controller(config):
        from pytest_agentbench.pytest_integration.controller import Doorman

        config.pluginmanager.register(Doorman(config), f"{PREFIX}-doorman")


@pytest.hookimpl(tryfirst=True)
def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """What a task owns is no test."""
    return True if _is_owned(config, collection_path) else None


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect task files."""
    named = parent.session.isinitpath(file_path)
    if not task_candidates(parent.config).has(file_path):
        if named and file_path.suffix in SUFFIXES:
            from pytest_agentbench.pytest_integration.unclaimed import remember

            remember(parent.config, file_path)
        return None
    claims = task_claims(parent.config)
    if not (claims.claims_named(file_path) if named else claims.claims(file_path)):
        return None
    from pytest_agentbench.pytest_integration.collect import TaskFile

    return TaskFile.for_path(
        parent, file_path, misplaced=_ownership(parent.config).misplaced(file_path)
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
    if report.passed and compat_entry.is_unittest(collector):
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


def _is_owned(config: pytest.Config, path: Path) -> bool:
    return task_candidates(config).may_own(path) and _ownership(config).owner(path) is not None


def _ownership(config: pytest.Config) -> Ownership:
    if _OWNERSHIP not in config.stash:
        # Only now: most sessions see no file that may be a task file.
        from pytest_agentbench.taskfiles.ownership import Ownership

        config.stash[_OWNERSHIP] = Ownership(task_claims(config))
    return config.stash[_OWNERSHIP]
