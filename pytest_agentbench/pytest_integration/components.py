"""What conftest files and plugins bring along: components, variants, drivers, listeners."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from pytest_agentbench import registry
from pytest_agentbench.errors import AgentbenchError, UsageError
from pytest_agentbench.options import PREFIX
from pytest_agentbench.pytest_integration import compat_entry
from pytest_agentbench.pytest_integration.asking import RAISED, Answering, answering, giver_of

if TYPE_CHECKING:
    from pytest_agentbench.model.contracts import SandboxDriver
    from pytest_agentbench.model.fitness import Kind
    from pytest_agentbench.model.record import Record
    from pytest_agentbench.model.variant import Experiment, Variant

_BRINGING: Mapping[str, Kind] = {
    "pytest_agentbench_agents": "agent",
    "pytest_agentbench_sandboxes": "sandbox",
    "pytest_agentbench_oracles": "oracle",
}
_VARIANTS = "pytest_agentbench_variants"
_MAKE_SANDBOX = "pytest_agentbench_make_sandbox"
_RECORD = "pytest_agentbench_record"
_TOO_LATE = (*_BRINGING, _VARIANTS)

BROUGHT: pytest.StashKey[Brought] = pytest.StashKey()


def brought(config: pytest.Config) -> Brought:
    """What this session's conftest files and plugins bring; asked the first time.

    Until the session ends, the names that they give are known.
    """
    if BROUGHT not in config.stash:
        found = config.stash[BROUGHT] = Brought(config)
        registry.enter(found.components)
        config.add_cleanup(lambda: registry.leave(found.components))
        config.pluginmanager.register(found, f"{PREFIX}-components")
        found.settled = True
    return config.stash[BROUGHT]


class Brought:
    """One session's conftest files and plugins, as far as they implement our hooks."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._fault: AgentbenchError | None = None
        self._told = False
        self._further: tuple[list[Variant], list[str]] | None = None
        self._listening: list[Answering] | None = None
        self._deaf: set[str] = set()
        self.settled = False
        try:
            self.components = registry.Components(self._given())
        except AgentbenchError as error:
            self._fault = error
            self.components = registry.Components()

    def require(self) -> None:
        """Raise what is wrong with the answers; in full only the first time."""
        if self._fault is None:
            return
        if self._told:
            raise UsageError("see the first error above", where=self._fault.where)
        self._told = True
        raise self._fault

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self) -> None:
        """End the session with a usage error where the answers are wrong.

        A worker cannot: it would be gone without a word. Its collection errors tell.
        """
        if self._fault is not None and not compat_entry.is_worker(self._config):
            raise pytest.UsageError(str(self._fault))

    def pytest_plugin_registered(self, plugin: object) -> None:
        """Refuse what comes too late: silence would leave its names unknown, sometimes."""
        late = [name for name in _TOO_LATE if hasattr(plugin, name)] if self.settled else []
        if late and self._fault is None:
            self._fault = UsageError(
                f"{late[0]} is asked when the session begins to collect, before this is loaded",
                where=giver_of(self._config, plugin),
                advice="the conftest.py of the root directory, or a plugin",
            )

    def with_variants(self, experiment: Experiment) -> Experiment:
        """The experiment with the variants that are given. Raises ``UsageError``."""
        self.require()
        if self._further is None:
            try:
                self._further = self._ask_variants(experiment)
            except UsageError as error:
                self._fault, self._told = error, True
                raise
        further, givers = self._further
        if not further:
            return experiment
        known = () if experiment.implicit else experiment.variants
        sources = [] if experiment.implicit else [experiment.source]
        return replace(
            experiment,
            variants=(*known, *further),
            source=" and ".join([*sources, *givers]),
            implicit=False,
        )

    def make_sandbox(self, name: str, standard: Callable[[], SandboxDriver]) -> SandboxDriver:
        """The driver that the hook makes, by default the standard one. Raises ``UsageError``."""
        manager = self._config.pluginmanager
        makers = getattr(self._config.hook, _MAKE_SANDBOX).get_hookimpls()
        if not makers:
            return standard()
        where = ", ".join(dict.fromkeys(giver_of(self._config, one.plugin) for one in makers))
        fallback = _Standard(standard)
        manager.register(fallback, f"{PREFIX}-standard-sandbox")
        try:
            made = getattr(self._config.hook, _MAKE_SANDBOX)(config=self._config, name=name)
        except AgentbenchError:
            raise
        except RAISED as error:
            said = registry.last_line(error)
            raise UsageError(f"{_MAKE_SANDBOX} for {name!r} raised {said}", where=where) from error
        finally:
            manager.unregister(fallback)
        from pytest_agentbench.model.fitness import unfit_driver

        lacking = unfit_driver(made)
        if lacking is not None:
            raise UsageError(f"what {_MAKE_SANDBOX} made for {name!r} {lacking}", where=where)
        return cast("SandboxDriver", made)

    def tell(self, record: Record) -> Iterator[str]:
        """Tell all who listen of a stored record; what went wrong, once for each of them."""
        if self._listening is None:
            self._listening = list(answering(self._config, _RECORD))
        for one in self._listening:
            try:
                one.hook(config=self._config, record=record)
            except RAISED as error:
                # Whatever somebody else's code raises: the record is stored, and is told on.
                if one.giver not in self._deaf:
                    self._deaf.add(one.giver)
                    yield f"{one.giver}: {one.complaint(error)}, told of {record.key}"

    def _given(self) -> Iterator[registry.Given]:
        for hook, kind in _BRINGING.items():
            for one in answering(self._config, hook):
                for answer in one.ask():
                    yield from _read(answer, kind, hook, one.giver)

    def _ask_variants(self, experiment: Experiment) -> tuple[list[Variant], list[str]]:
        further: list[Variant] = []
        takers = {variant.name: experiment.source for variant in experiment.variants}
        if experiment.implicit:
            takers = {}
        givers = []
        for one in answering(self._config, _VARIANTS):
            for answer in one.ask(config=self._config, experiment=experiment):
                for variant in _variants(answer, one.giver):
                    if variant.name in takers:
                        raise UsageError(
                            f"the variant {variant.name!r} is given by {takers[variant.name]} too",
                            where=one.giver,
                            advice="another name for one of them",
                        )
                    takers[variant.name] = one.giver
                    further.append(variant)
                    givers.append(one.giver)
        return further, list(dict.fromkeys(givers))


class _Standard:
    """The last implementation of the hook that makes drivers: what is made without it."""

    def __init__(self, standard: Callable[[], SandboxDriver]) -> None:
        self._make = standard

    @pytest.hookimpl(trylast=True)
    def pytest_agentbench_make_sandbox(self) -> SandboxDriver:
        """The standard driver."""
        return self._make()


def _read(answer: object, kind: Kind, hook: str, giver: str) -> Iterator[registry.Given]:
    if not isinstance(answer, Mapping):
        raise UsageError(f"{hook} gives {_kind_of(answer)}, not names with classes", where=giver)
    for name, target in answer.items():
        fault = _name_fault(kind, name)
        if fault is not None:
            raise UsageError(f"{hook}: the name {name!r} {fault}", where=giver)
        if not isinstance(target, type):
            raise UsageError(f"{hook}: {name!r} is {_kind_of(target)}, no class", where=giver)
        yield registry.Given(kind, name, target, giver)


def _name_fault(kind: Kind, name: object) -> str | None:
    from pytest_agentbench.taskfiles.names import id_fault
    from pytest_agentbench.taskfiles.taskshape import OracleShape

    if not isinstance(name, str):
        return "is no text"
    if kind == "oracle" and name in (*OracleShape.keys(),):
        return "is a key of every oracle"
    return id_fault(name)


def _variants(answer: object, giver: str) -> Iterable[Variant]:
    from pytest_agentbench.model.variant import Variant

    if isinstance(answer, Variant | str | Mapping) or not isinstance(answer, Iterable):
        raise UsageError(f"{_VARIANTS} gives {_kind_of(answer)}, not variants", where=giver)
    found = list(answer)
    for variant in found:
        if not isinstance(variant, Variant):
            raise UsageError(f"{_VARIANTS} gives {_kind_of(variant)}, no Variant", where=giver)
        fault = _variant_fault(variant)
        if fault is not None:
            raise UsageError(f"{_VARIANTS}: the variant {variant.name!r} {fault}", where=giver)
    return found


def _variant_fault(variant: Variant) -> str | None:
    """What is wrong with a variant that no file was read for, as the end of a sentence."""
    return _type_fault(variant) or _agent_fault(variant)


def _type_fault(variant: Variant) -> str | None:
    from pytest_agentbench.taskfiles.names import variant_fault

    for field, wanted in (("name", str), ("agent", str), ("options", Mapping), ("env", Mapping)):
        if not isinstance(getattr(variant, field), wanted):
            return f"has a wrong {field!r}: {_kind_of(getattr(variant, field))}"
    if not all(isinstance(text, str) for pair in variant.env.items() for text in pair):
        return "has names or values in 'env' that are no text"
    if variant.overlay is not None and not Path(variant.overlay).is_dir():
        return f"has an overlay that is no directory: {variant.overlay}"
    named = variant_fault(variant.name)
    return None if named is None else f"cannot be called so: the name {named}"


def _agent_fault(variant: Variant) -> str | None:
    from pytest_agentbench.taskfiles.agentoptions import validate_by_registry

    try:
        registry.check_name("agent", variant.agent)
    except UsageError as error:
        return f"has no agent: {error.what}"
    faults = validate_by_registry(variant.agent, variant.options)
    return f"has wrong options: {faults[0][1]}" if faults else None


def _kind_of(thing: object) -> str:
    if isinstance(thing, type):
        return f"the class {thing.__name__}"
    name = type(thing).__name__
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"
