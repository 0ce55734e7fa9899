"""Names of agents, sandboxes and oracles, and the classes behind them.

A name is built in; or a session's conftest files and plugins give it; or an installed
distribution does, by an entry point; or it says itself where its class is, as
``module:Class``. Classes are imported when they are asked for: this module stands
below the ones that it names.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterable, Mapping
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, cast

from pytest_agentbench.errors import BrokenComponent, UnknownComponent, UsageError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from pytest_agentbench.model.contracts import Agent, Oracle, SandboxDriver
    from pytest_agentbench.model.fitness import Kind

_BUILT_IN: Mapping[Kind, Mapping[str, str]] = {
    "agent": {
        "command": "pytest_agentbench.agents.command:CommandLineAgent",
        "control": "pytest_agentbench.agents.control:ControlAgent",
        "noop": "pytest_agentbench.agents.noop:NoopAgent",
        "python": "pytest_agentbench.agents.python:PythonAgent",
        "reference": "pytest_agentbench.agents.reference:ReferenceAgent",
        "scripted": "pytest_agentbench.agents.scripted:ScriptedAgent",
    },
    "oracle": {
        "answer": "pytest_agentbench.oracles.answer:AnswerOracle",
        "diff": "pytest_agentbench.oracles.diff:DiffOracle",
        "files": "pytest_agentbench.oracles.files:FilesOracle",
        "pytest": "pytest_agentbench.oracles.pytest_tests:PytestOracle",
        "python": "pytest_agentbench.oracles.python_function:PythonOracle",
        "run": "pytest_agentbench.oracles.run:RunOracle",
    },
    "sandbox": {
        "local": "pytest_agentbench.sandboxes.local:LocalDriver",
        "bubblewrap": "pytest_agentbench.sandboxes.bubblewrap:BubblewrapDriver",
        "docker": "pytest_agentbench.sandboxes.docker.driver:DockerDriver",
    },
}

GROUPS: Mapping[Kind, str] = {
    "agent": "pytest_agentbench.agents",
    "oracle": "pytest_agentbench.oracles",
    "sandbox": "pytest_agentbench.sandboxes",
}
"""The groups of entry points by which distributions give components."""

_PARENTS: Mapping[Kind, str] = {
    "agent": "pytest_agentbench.agents.base:AgentBase",
    "oracle": "pytest_agentbench.oracles.base:OracleBase",
    "sandbox": "pytest_agentbench.sandboxes.driverbase:DriverBase",
}
"""Classes with what a third party's class may leave out."""

_OURS = "pytest_agentbench."
_LONGEST = 500
"""Characters of what an error says."""
_LOADED: dict[str, type] = {}


class Given(NamedTuple):
    """A class that somebody gives under a name; ``giver`` is who, in words."""

    kind: Kind
    name: str
    target: type | EntryPoint
    giver: str


_Table: TypeAlias = "dict[tuple[Kind, str], Given]"


class Components:
    """What one session knows by name beside what is built in."""

    def __init__(self, given: Iterable[Given] = ()) -> None:
        """``given`` is what conftest files and plugins register. Raises ``UsageError``."""
        self._given: _Table = {}
        for one in given:
            _enter(self._given, one)
            self._refuse_unfit(one)
        self._all: _Table | None = None
        self._classes: dict[tuple[Kind, str], type] = {}

    def names(self, kind: Kind) -> tuple[str, ...]:
        """All known names, sorted. Raises ``UsageError`` where two give the same."""
        others = {name for known, name in self._with_entry_points() if known == kind}
        return tuple(sorted({*_BUILT_IN[kind], *others}))

    def cheap_names(self, kind: Kind) -> set[str]:
        """The names that are known without looking for entry points."""
        return {*_BUILT_IN[kind], *(name for known, name in self._given if known == kind)}

    def load(self, kind: Kind, name: str) -> type:
        """The class of that name, checked. Raises ``UnknownComponent`` and ``BrokenComponent``."""
        key = kind, name
        if key not in self._classes:
            self._classes[key] = self._load(kind, name)
        return self._classes[key]

    def _load(self, kind: Kind, name: str) -> type:
        target = _BUILT_IN[kind].get(name)
        if target is not None:
            return _built_in(target)
        given = self._given.get((kind, name))
        if given is None and ":" in name and kind != "oracle":
            return _checked(kind, _imported(kind, name), f"{kind} {name!r}")
        if given is None:
            given = self._with_entry_points().get((kind, name))
        if given is None:
            raise self._unknown(kind, name)
        where = f"{kind} {name!r} of {given.giver}"
        found = given.target
        loaded = found if isinstance(found, type) else _loaded(found, where)
        return _checked(kind, loaded, where, name=name)

    def _refuse_unfit(self, given: Given) -> None:
        where = f"{given.kind} {given.name!r} of {given.giver}"
        _checked(given.kind, given.target, where, name=given.name)

    def _with_entry_points(self) -> _Table:
        """What is given in any way. Looked up once a session, since it takes milliseconds."""
        if self._all is None:
            from importlib.metadata import entry_points  # noqa: PLC0415 - rarely needed

            found = dict(self._given)
            for kind, group in GROUPS.items():
                for point in entry_points(group=group):
                    _enter(found, Given(kind, point.name, point, _distribution(point)))
            self._all = found
        return self._all

    def _unknown(self, kind: Kind, name: str) -> UnknownComponent:
        from difflib import get_close_matches  # noqa: PLC0415 - sessions without a mistake

        known = self.names(kind)
        close = get_close_matches(name, known, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ";"
        return UnknownComponent(f"unknown {kind} {name!r}{hint} known: {', '.join(known)}")


_CURRENT: list[Components] = [Components()]
"""The sessions of this process, the innermost last; below them, none: a command, or a test."""


def enter(components: Components) -> None:
    """Let a session's components be known, until ``leave``."""
    _CURRENT.append(components)


def leave(components: Components) -> None:
    """Forget a session's components."""
    _CURRENT[:] = [one for one in _CURRENT if one is not components]


def agent_class(name: str) -> type[Agent]:
    """The class of a kind of agent. Raises ``UnknownComponent`` and ``BrokenComponent``."""
    return cast("type[Agent]", _CURRENT[-1].load("agent", name))


def oracle_class(kind: str) -> type[Oracle]:
    """The class of a kind of oracle. Raises ``UnknownComponent`` and ``BrokenComponent``."""
    return cast("type[Oracle]", _CURRENT[-1].load("oracle", kind))


def sandbox_class(name: str) -> type[SandboxDriver]:
    """The class of a kind of sandbox. Raises ``UnknownComponent`` and ``BrokenComponent``."""
    return cast("type[SandboxDriver]", _CURRENT[-1].load("sandbox", name))


def agent_names() -> tuple[str, ...]:
    """All known kinds of agents, sorted."""
    return _CURRENT[-1].names("agent")


def oracle_kinds() -> tuple[str, ...]:
    """All known kinds of oracles, sorted."""
    return _CURRENT[-1].names("oracle")


def sandbox_names() -> tuple[str, ...]:
    """All known kinds of sandboxes, sorted."""
    return _CURRENT[-1].names("sandbox")


def built_in_names(kind: Kind) -> tuple[str, ...]:
    """The names that are ours."""
    return tuple(_BUILT_IN[kind])


def check_name(kind: Kind, name: str) -> None:
    """Raise ``UsageError`` unless the name stands for a class; ours are not even imported."""
    if name not in _BUILT_IN[kind]:
        _CURRENT[-1].load(kind, name)


def kinds_among(keys: Iterable[str]) -> list[str]:
    """Those of some keys that are kinds of oracles, in their order.

    Entry points are looked up only where none of them is known without: every oracle of
    every task file is asked.
    """
    asked = list(keys)
    found = [key for key in asked if key in _CURRENT[-1].cheap_names("oracle")]
    if found or not asked:
        return found
    known = oracle_kinds()
    return [key for key in asked if key in known]


def _enter(table: _Table, given: Given) -> None:
    if given.name in _BUILT_IN[given.kind]:
        raise UsageError(
            f"the {given.kind} {given.name!r} is built in, and {given.giver} gives one too",
            advice="another name for the latter",
        )
    other = table.setdefault((given.kind, given.name), given)
    # An entry point is compared with another one only: with a class, it raises.
    same = type(other.target) is type(given.target) and other.target == given.target
    if not same:
        raise UsageError(
            f"the {given.kind} {given.name!r} is given by {other.giver} and by {given.giver}",
            advice="another name for one of them, or leave one of them out",
        )


def _built_in(target: str) -> type:
    if target not in _LOADED:
        module, _, attribute = target.partition(":")
        _LOADED[target] = getattr(import_module(module), attribute)
    return _LOADED[target]


def _imported(kind: Kind, name: str) -> object:
    """What ``module:Class`` names."""
    module, _, attribute = name.partition(":")
    where = f"{kind} {name!r}"
    if not all(part.isidentifier() for part in (*module.split("."), *attribute.split("."))):
        raise BrokenComponent(f"{where} does not read module:Class")
    try:
        found: object = import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except (Exception, SystemExit) as error:
        # Its module is somebody else's code: anything may come out of it.
        lost = isinstance(error, ModuleNotFoundError)
        advice = "`pythonpath = .` in pytest's ini file, if it lies there" if lost else ""
        raise BrokenComponent(
            f"{where} cannot be imported: {last_line(error)}", advice=advice
        ) from error
    return found


def _loaded(point: EntryPoint, where: str) -> object:
    try:
        return point.load()
    except (Exception, SystemExit) as error:
        raise BrokenComponent(
            f"{where} cannot be imported ({point.value}): {last_line(error)}"
        ) from error


def is_foreign(component: object) -> bool:
    """Whether a component, or its class, is a third party's."""
    cls = component if isinstance(component, type) else type(component)
    return not cls.__module__.startswith(_OURS)


def last_line(error: BaseException) -> str:
    """The end of an error's traceback as one line: some errors say pages."""
    line = " ".join(traceback.format_exception_only(error)[-1].split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 2]} …"


def _checked(kind: Kind, found: object, where: str, *, name: str | None = None) -> type:
    """A third party's class with what it leaves out. Raises ``BrokenComponent``."""
    from pytest_agentbench.model.fitness import NAMED_BY, unfit  # noqa: PLC0415 - loads pydantic

    if isinstance(found, type):
        _complete(kind, found)
    lacking = unfit(kind, found)
    if lacking is not None:
        shown = found.__name__ if isinstance(found, type) else "it"
        raise BrokenComponent(f"{where}: {shown} {lacking}")
    cls = cast("type", found)
    own = str(getattr(cls, NAMED_BY[kind]))
    wrong = own in _BUILT_IN[kind] if name is None else own != name
    if wrong:
        what = "is the name of a built-in one" if name is None else f"is not {name!r}"
        raise BrokenComponent(f"{where}: {cls.__name__} calls itself {own!r}, which {what}")
    return cls


def _complete(kind: Kind, cls: type) -> None:
    """Give a class the defaults that it does not say itself."""
    parent = _built_in(_PARENTS[kind])
    for name in parent.DEFAULTS:  # type: ignore[attr-defined]
        if not hasattr(cls, name):
            # What refuses it is told what it lacks.
            with suppress(AttributeError, TypeError):
                setattr(cls, name, vars(parent)[name])


def _distribution(point: EntryPoint) -> str:
    return f"the distribution {point.dist.name}" if point.dist else f"the entry point {point.value}"
