"""The hooks that conftest files and plugins may implement; all of them are optional.

Those that register components or add variants are asked once a session, with its first
task file: in a ``conftest.py`` of the root directory, or one that pytest loads at the
start, or in a plugin. Loaded in every session, so it imports pytest only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_agentbench.model.contracts import SandboxDriver
    from pytest_agentbench.model.record import Record
    from pytest_agentbench.model.variant import Experiment, Variant


@pytest.hookspec
def pytest_agentbench_agents() -> Mapping[str, type] | None:
    """Give kinds of agents: name to class.

    The name is what a variant's ``agent`` says, and the ``name`` of the class. A name that
    is built in, or that somebody else gives, is a usage error.
    """


@pytest.hookspec
def pytest_agentbench_sandboxes() -> Mapping[str, type] | None:
    """Give kinds of sandboxes: name to class of the driver.

    The name is what ``sandbox.driver`` says, and the ``name`` of the class, of which
    ``build(host)`` makes the one instance of a process.
    """


@pytest.hookspec
def pytest_agentbench_oracles() -> Mapping[str, type] | None:
    """Give kinds of oracles: name to class.

    The name is the key of an oracle's entry in task files, and the ``kind`` of the class.
    """


@pytest.hookspec
def pytest_agentbench_variants(
    config: pytest.Config, experiment: Experiment
) -> Iterable[Variant] | None:
    """Give further variants of this session.

    ``experiment`` is that of the experiment file, with all of its variants. Where no file
    names any, what is given here takes the place of the ``reference`` variant. Each
    process asks, and must be given the same. ``--agentbench-variant`` chooses among all of
    them. A name that is taken is a usage error.
    """


@pytest.hookspec(firstresult=True)
def pytest_agentbench_make_sandbox(config: pytest.Config, name: str) -> SandboxDriver | None:
    """Make the driver of that name for this process, or None to leave it to others.

    Called before the first trial for every built-in driver, and for each other one that a
    trial names; not for ``auto``. With ``wrapper=True``, what ``yield`` gives is the driver
    that would be used, to put something around it.
    """


@pytest.hookspec
def pytest_agentbench_record(config: pytest.Config, record: Record) -> None:
    """Take notice of a record that has just been stored.

    Called once a record, in the process that stores them: pytest's own, or the xdist
    controller. It is as it is stored: secrets are redacted. A hook that raises loses
    nothing: the summary tells of it, and the exit status is not 0.
    """
