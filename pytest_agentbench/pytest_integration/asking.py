"""Hooks asked one plugin at a time, so that whoever gives a wrong thing can be named."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pluggy
import pytest

from pytest_agentbench.errors import UsageError
from pytest_agentbench.pytest_integration.paths import relative_to
from pytest_agentbench.registry import last_line

RAISED = (Exception, SystemExit, pytest.fail.Exception, pytest.skip.Exception)
"""Whatever a hook of somebody else's raises, but for Ctrl-C: ``sys.exit`` would end the session
with its own status, and leave trials without a record."""


class Answering(NamedTuple):
    """One plugin that implements a hook: its name for people, and the hook of it alone."""

    giver: str
    hook: pluggy.HookCaller

    def ask(self, **values: object) -> list[object]:
        """What it answers. Raises ``UsageError`` that names it, and where it raised."""
        try:
            answers = self.hook(**values)
        except RAISED as error:
            raise UsageError(self.complaint(error), where=self.giver) from error
        return answers if isinstance(answers, list) else [answers]

    def complaint(self, error: BaseException) -> str:
        """That it raised, what, and where."""
        return f"{self.hook.name} raised {last_line(error)}{_origin(error)}"


def answering(config: pytest.Config, hook: str) -> Iterator[Answering]:
    """Each plugin that implements a hook, in the order in which pytest asks."""
    manager = config.pluginmanager
    caller: pluggy.HookCaller = getattr(config.hook, hook)
    found = [one for one in caller.get_hookimpls() if not _wraps(one)]
    plugins = list({id(one.plugin): one.plugin for one in reversed(found)}.values())
    for plugin in plugins:
        others = [other for other in plugins if other is not plugin]
        yield Answering(giver_of(config, plugin), manager.subset_hook_caller(hook, others))


def giver_of(config: pytest.Config, plugin: object) -> str:
    """A plugin as people know it: a conftest's path, or the name that it is registered by."""
    path = getattr(plugin, "__file__", None)
    if path is not None and Path(path).name == "conftest.py":
        return relative_to(Path(path), config.rootpath)
    name = config.pluginmanager.get_name(plugin)
    if name is None or name.isdigit():  # an object without a name is registered by its id
        name = getattr(plugin, "__name__", type(plugin).__name__)
    return f"the plugin {name}"


def _wraps(impl: pluggy.HookImpl) -> bool:
    return impl.hookwrapper or impl.wrapper


def _origin(error: BaseException) -> str:
    """Where an error was raised: the file and line of the last frame."""
    frames = traceback.extract_tb(error.__traceback__)
    return f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
