"""Every use of what pytest and xdist do not promise, in one place."""

from __future__ import annotations

import re
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


def mark_expression(text: str) -> Callable[[pytest.Item], bool]:
    """What ``-m text`` would select. Raises ``ValueError`` where ``text`` is no expression."""
    from _pytest.mark import MarkMatcher, expression

    # Until pytest 9 it was an exception of pytest's own.
    broken = getattr(expression, "ParseError", SyntaxError)
    try:
        compiled = expression.Expression.compile(text)
    except (SyntaxError, broken) as error:
        said = error.msg if isinstance(error, SyntaxError) else str(error)
        raise ValueError(said) from error
    return lambda item: compiled.evaluate(MarkMatcher.from_markers(item.iter_markers()))


def marks_fault(text: str) -> str | None:
    """What is wrong with an expression as of ``-m``; None where nothing is."""
    try:
        mark_expression(text)
    except ValueError as error:
        # Until pytest 9 the words began with the column.
        return re.sub(r"^at column \d+: ", "", str(error))
    return None


def is_worker(config: pytest.Config) -> bool:
    """Whether this process is an xdist worker."""
    return hasattr(config, "workerinput")


def is_controller(config: pytest.Config) -> bool:
    """Whether this process hands all items to xdist workers."""
    if is_worker(config) or not config.pluginmanager.hasplugin("xdist"):
        return False
    return bool(config.getoption("tx", None)) and config.getoption("dist", "no") != "no"


def runs_everywhere(config: pytest.Config) -> bool:
    """Whether every xdist worker is to run every item."""
    return bool(config.getoption("dist", "no") == "each")


def worker_input(config: pytest.Config, key: str) -> str | None:
    """What the controller told this worker; None outside of workers."""
    value = getattr(config, "workerinput", {}).get(key)
    return None if value is None else str(value)


def worker_name(config: pytest.Config) -> str:
    """``gw0`` in that xdist worker, ``main`` elsewhere."""
    return worker_input(config, "workerid") or "main"


def worker_pid(node: object) -> int | None:
    """The process of an xdist worker on this machine; None for one elsewhere."""
    gateway = getattr(node, "gateway", None)
    process = getattr(getattr(gateway, "_io", None), "popen", None)
    pid = getattr(process, "pid", None)
    return pid if isinstance(pid, int) else None
