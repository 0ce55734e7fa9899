"""What pytest and xdist do not promise, and every session asks. The rest is in ``compat``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest


def guard_conftests(
    pluginmanager: pytest.PytestPluginManager, is_owned: Callable[[Path], bool]
) -> None:
    """Do not load ``conftest.py`` from directories that a task owns.

    ``pytest_ignore_collect`` cannot stop ``pytest tasks/fix`` from loading
    ``tasks/fix/tests/conftest.py`` as an initial conftest: pytest looks into
    ``test*`` below every argument before any hook is asked. The one question it
    asks for each directory is whether it lies inside of confcutdir.
    """
    asked = getattr(pluginmanager, "_is_in_confcutdir", None)
    if asked is None:
        return

    def is_in_confcutdir(path: Path) -> bool:
        return bool(asked(path)) and not is_owned(path)

    pluginmanager._is_in_confcutdir = is_in_confcutdir  # type: ignore[method-assign]  # noqa: SLF001


def is_unittest(collector: pytest.Collector) -> bool:
    """Whether a collector is that of a ``unittest.TestCase``."""
    unittest = sys.modules.get("_pytest.unittest")
    return unittest is not None and isinstance(collector, unittest.UnitTestCase)


def is_worker(config: pytest.Config) -> bool:
    """Whether this process is an xdist worker."""
    return hasattr(config, "workerinput")


def is_controller(config: pytest.Config) -> bool:
    """Whether this process hands all items to xdist workers."""
    if is_worker(config) or not config.pluginmanager.hasplugin("xdist"):
        return False
    return bool(config.getoption("tx", None)) and config.getoption("dist", "no") != "no"
