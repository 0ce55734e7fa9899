"""Every use of what pytest and xdist do not promise, in one place.

The few that every session needs are in ``compat_entry``.
"""

from __future__ import annotations

import inspect
import logging
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest


class Override:
    """A fixture that hides one of ours, and where it is written (line from 1)."""

    # A named tuple takes half a millisecond to make, in every session.
    __slots__ = ("line", "path", "scope")

    def __init__(self, scope: str, path: Path, line: int) -> None:
        self.scope = scope
        self.path = path
        self.line = line


def override_of(metafunc: pytest.Metafunc, name: str) -> Override | None:
    """The nearest definition of a fixture, where it is not the plugin's own."""
    found = metafunc._arg2fixturedefs.get(name, ())  # noqa: SLF001
    if len(found) < 2:  # noqa: PLR2004 - ours, and another one
        return None
    function = inspect.unwrap(found[-1].func)
    code = getattr(function, "__code__", None)
    if code is None:
        return Override(found[-1].scope, Path(found[-1].baseid or "."), 0)
    return Override(found[-1].scope, Path(code.co_filename), code.co_firstlineno)


def ask_for(metafunc: pytest.Metafunc, names: Sequence[str]) -> None:
    """Let a test need fixtures that it does not name, parametrized ones among them.

    Asked for when the test runs, a fixture with parameters has none. To be called before
    pytest's own ``pytest_generate_tests``.
    """
    from _pytest.scope import Scope

    info = metafunc.definition._fixtureinfo  # noqa: SLF001
    more = tuple(name for name in names if name not in info.names_closure)
    if not more:
        return
    manager = metafunc.definition.session._fixturemanager  # noqa: SLF001
    closure, found = manager.getfixtureclosure(metafunc.definition, more, frozenset())
    # Of these pytest makes the closure anew, without what direct parameters replace.
    object.__setattr__(info, "initialnames", (*info.initialnames, *more))
    known = info.name2fixturedefs
    for name, definitions in found.items():
        known.setdefault(name, definitions)
    info.names_closure.extend([name for name in closure if name not in info.names_closure])
    info.names_closure.sort(
        key=lambda name: known[name][-1]._scope if name in known else Scope.Function,  # noqa: SLF001
        reverse=True,
    )


def ask_for_hidden(metafunc: pytest.Metafunc, names: Sequence[str]) -> None:
    """Let a test need what the fixtures need that its overrides use under their own name.

    Until pytest 9 a test's fixtures were those that the nearest definition of each asks for.
    """
    info = metafunc.definition._fixtureinfo  # noqa: SLF001
    asked: dict[str, None] = {}
    for name in names:
        if name not in info.names_closure:
            continue
        for definition in reversed(info.name2fixturedefs.get(name, ())):
            asked.update(dict.fromkeys(definition.argnames))
            if name not in definition.argnames:
                break
    more = [name for name in asked if name not in info.names_closure]
    if more:
        ask_for(metafunc, more)
        ask_for_hidden(metafunc, names)


def log_writers(config: pytest.Config) -> list[logging.Handler]:
    """What writes log records to a file and to the terminal; pytest has no public name for them."""
    plugin = config.pluginmanager.get_plugin("logging-plugin")
    found = (getattr(plugin, name, None) for name in ("log_file_handler", "log_cli_handler"))
    return [handler for handler in found if handler is not None]


def change_texts(report: pytest.TestReport, change: Callable[[str], str]) -> None:
    """Change all that a report shows: traceback, values, captured output, properties."""
    report.longrepr = _changed(report.longrepr, change)
    report.sections = [(name, change(text)) for name, text in report.sections]
    report.user_properties = [(name, _changed(one, change)) for name, one in report.user_properties]


def _changed(value: Any, change: Callable[[str], str]) -> Any:  # noqa: ANN401 - pytest's own
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list | tuple):
        return type(value)(_changed(one, change) for one in value)
    if type(value).__module__.startswith("_pytest._code"):
        for name, one in vars(value).items():
            setattr(value, name, _changed(one, change))
    return value


def uncollected(config: pytest.Config) -> int:
    """How many files or parts of them could not be collected; to be asked before tests run."""
    session = config.pluginmanager.get_plugin("session")
    return 0 if session is None else int(session.testsfailed)


def passed_over(config: pytest.Config) -> int:
    """How many files ``--lf`` has not looked into."""
    return int(getattr(config.pluginmanager.get_plugin("lfplugin"), "_skipped_files", 0))


def wide_parameters(item: pytest.Item) -> tuple[tuple[str, int], ...]:
    """Which parameters of module- or session-scoped fixtures an item has, by their numbers."""
    callspec = getattr(item, "callspec", None)
    if callspec is None or len(callspec.params) < 2:  # noqa: PLR2004 - the trial, and another
        return ()
    scopes = callspec._arg2scope  # noqa: SLF001
    return tuple(
        (name, index)
        for name, index in callspec.indices.items()
        if name in scopes and scopes[name].value != "function"
    )


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


def only_shows(config: pytest.Config) -> bool:
    """Whether pytest is asked to show something, and to run no test."""
    shows = ("collectonly", "setuponly", "setupplan", "showfixtures", "show_fixtures_per_test")
    return any(config.getoption(name, default=False) for name in shows)


def verbosity(config: pytest.Config) -> int:
    """How much is to be told; 0 also where there is no terminal (``-p no:terminal``)."""
    return int(config.getoption("verbose", default=0))


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


def undelivered_reports(config: pytest.Config) -> list[pytest.TestReport]:
    """Reports of xdist workers that have come in, and that xdist has not passed on.

    Interrupted, it would drop them, with the records of trials that somebody has paid for.
    """
    import queue

    events = getattr(config.pluginmanager.get_plugin("dsession"), "queue", None)
    reports = []
    while events is not None:
        try:
            name, event = events.get_nowait()
        except queue.Empty:
            break
        if name == "testreport":
            event["rep"].node = event["node"]  # as xdist does; its line on the terminal wants it
            reports.append(event["rep"])
    return reports


def worker_pid(node: object) -> int | None:
    """The process of an xdist worker on this machine; None for one elsewhere."""
    gateway = getattr(node, "gateway", None)
    process = getattr(getattr(gateway, "_io", None), "popen", None)
    pid = getattr(process, "pid", None)
    return pid if isinstance(pid, int) else None
