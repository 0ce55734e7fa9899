"""A project's own agents, sandboxes and oracles, as pytest knows them, for commands."""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol, cast

import pytest

from pytest_agentbench import registry
from pytest_agentbench.errors import UsageError
from pytest_agentbench.options import PREFIX

if TYPE_CHECKING:
    from pytest_agentbench.model.contracts import SandboxDriver


class _Brought(Protocol):
    """What the plugin knows of a session's conftest files and plugins."""

    components: registry.Components

    def require(self) -> None: ...

    def make_sandbox(self, name: str, standard: Callable[[], SandboxDriver]) -> SandboxDriver: ...


class Project:
    """What one project brings along, for as long as a command needs it."""

    def __init__(self, brought: _Brought) -> None:
        self._brought = brought
        # pytest takes its own additions away when its session ends.
        self._path = list(sys.path)

    @contextlib.contextmanager
    def known(self) -> Iterator[None]:
        """Let its names be known, and its modules be imported, after pytest's session too."""
        before = list(sys.path)
        sys.path[:] = self._path
        registry.enter(self._brought.components)
        try:
            yield
        finally:
            registry.leave(self._brought.components)
            sys.path[:] = before

    def make_sandbox(self, name: str, standard: Callable[[], SandboxDriver]) -> SandboxDriver:
        """The driver of that name, as the project's hook makes it. Raises ``UsageError``."""
        return self._brought.make_sandbox(name, standard)


def project_of(config: pytest.Config) -> Project:
    """The project of a pytest session."""
    return Project(_brought_of(config))


def read_project(options: Sequence[str] = ()) -> Project:
    """The project of the working directory; nothing is collected.

    Raises ``UsageError``, with pytest's words where it cannot begin.
    """
    reader = _Reader()
    complaints = io.StringIO()
    with contextlib.redirect_stderr(complaints), contextlib.redirect_stdout(complaints):
        pytest.main(["-W", "ignore::pytest.PytestAssertRewriteWarning", *options], [reader])
    if reader.fault is not None:
        raise reader.fault
    if reader.project is None:
        said = complaints.getvalue().strip().removeprefix("ERROR: ")
        raise UsageError(said or "pytest could not begin")
    return reader.project


class _Reader:
    """A plugin that has pytest read its configuration, and stop."""

    def __init__(self) -> None:
        self.project: Project | None = None
        self.fault: UsageError | None = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_cmdline_main(self, config: pytest.Config) -> pytest.ExitCode:
        """Take what there is; a result keeps pytest from beginning a session."""
        try:
            brought = _brought_of(config)
            brought.require()
        except UsageError as error:
            self.fault = error
        else:
            self.project = Project(brought)
        return pytest.ExitCode.OK


def _brought_of(config: pytest.Config) -> _Brought:
    # By way of pytest: commands stand beside the plugin, and not above it.
    plugin = config.pluginmanager.get_plugin(PREFIX)
    if plugin is None:
        raise UsageError(f"pytest runs without its plugin {PREFIX} (-p no:{PREFIX}?)")
    return cast("_Brought", plugin.components_of(config))
