"""An experiment file becomes variants and the defaults below them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, cast

from pydantic import ValidationError

from pytest_agentbench.errors import UnknownComponent, UsageError
from pytest_agentbench.model.task import JsonValue, Position
from pytest_agentbench.model.variant import Experiment, Variant
from pytest_agentbench.registry import agent_class, agent_names
from pytest_agentbench.taskfiles.complaints import unknown, validate
from pytest_agentbench.taskfiles.document import EXPERIMENT_PLACES, ExperimentShape
from pytest_agentbench.taskfiles.layer import layer_of
from pytest_agentbench.taskfiles.locate import definition_error, shown_path
from pytest_agentbench.taskfiles.names import variable_fault, variant_fault
from pytest_agentbench.taskfiles.variants import Link, resolve_extends
from pytest_agentbench.taskfiles.yamlnodes import Document, kind_of, read

if TYPE_CHECKING:
    from pytest_agentbench.model.task import SettingsLayer

ValidateOptions: TypeAlias = Callable[
    [str, Mapping[str, JsonValue]], "list[tuple[tuple[str | int, ...], str]]"
]

REFERENCE = Variant(name="reference", agent="reference")
DEFAULT_NAMES = ("agentbench.yaml", "agentbench.yml")
_DIRECTORY = "experiments"
_SUFFIXES = (".yaml", ".yml")


def load_experiment(
    rootdir: Path, chosen: str | None, *, validate_options: ValidateOptions | None = None
) -> Experiment:
    """The chosen experiment, or that of ``agentbench.yaml``, or the reference variant alone.

    ``chosen`` is a path, or a bare name for ``experiments/NAME.yaml``. Raises
    ``UsageError`` where there is no such file, ``DefinitionError`` where it is wrong.
    """
    path = _default(rootdir) if chosen is None else _chosen(rootdir, chosen)
    if path is None:
        return Experiment(
            (REFERENCE,),
            source=f"no {DEFAULT_NAMES[0]}: the reference variant alone",
            implicit=True,
        )
    document = read(path, what="experiment file")
    loading = _Loading(path, document, validate_options or validate_by_registry)
    experiment = loading.experiment(shown_path(path, rootdir))
    if document.problems:
        raise definition_error(document.problems, rootdir=rootdir, main=path)
    return experiment


def validate_by_registry(
    agent: str, options: Mapping[str, JsonValue]
) -> list[tuple[tuple[str | int, ...], str]]:
    """What the agent's own options model says is wrong."""
    try:
        model = agent_class(agent).Options
    except UnknownComponent as error:
        return [((), error.what)]
    try:
        model.model_validate(dict(options))
    except ValidationError as error:
        known = [field.alias or name for name, field in model.model_fields.items()]
        return [
            (
                detail["loc"],
                _option_message(
                    detail["type"], detail["loc"], detail["msg"], detail["input"], known
                ),
            )
            for detail in error.errors(include_url=False)
        ]
    return []


def _option_message(
    kind: str, at: tuple[str | int, ...], text: str, given: object, known: list[str]
) -> str:
    if kind == "extra_forbidden":
        if len(at) == 1:
            return (
                unknown(str(at[0]), known, what="option") if known else f"unknown option {at[0]!r}"
            )
        return f"unknown key {at[-1]!r}"
    if kind == "missing":
        return f"needs {at[-1]!r}"
    text = text.removeprefix("Value error, ").removeprefix("Assertion failed, ")
    text = text.replace("Input should be", "must be")
    name = ".".join(str(step) for step in at)
    suffix = f", not {kind_of(given)}" if kind.endswith("_type") else ""
    return f"{name!r} {text}{suffix}" if text.startswith("must") else f"{name!r}: {text}"


def _default(rootdir: Path) -> Path | None:
    found = [rootdir / name for name in DEFAULT_NAMES if os.path.lexists(rootdir / name)]
    if len(found) > 1:
        raise UsageError(
            f"both {DEFAULT_NAMES[0]} and {DEFAULT_NAMES[1]} are there",
            where="experiment",
            advice="keep one of them",
        )
    return found[0] if found else None


def _chosen(rootdir: Path, chosen: str) -> Path:
    if not chosen.endswith(_SUFFIXES) and "/" not in chosen:
        return _by_name(rootdir, chosen)
    for base in (Path.cwd(), rootdir):
        path = Path(os.path.normpath(base / chosen))
        if path.is_file():
            return path
    raise UsageError(f"there is no file {chosen!r}", where="experiment")


def _by_name(rootdir: Path, name: str) -> Path:
    directory = rootdir / _DIRECTORY
    try:
        files = sorted(file for file in directory.iterdir() if file.suffix in _SUFFIXES)
    except OSError:
        files = []
    known = {file.stem: file for file in reversed(files)}
    if name in known:
        return known[name]
    names = sorted(known)
    close = get_close_matches(name, names, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ";"
    listed = ", ".join(names) or f"none, {_DIRECTORY}/ holds no YAML file"
    raise UsageError(f"unknown experiment {name!r}{hint} known: {listed}", where="experiment")


class _Loading:
    """One file on its way to an experiment."""

    def __init__(self, path: Path, document: Document, validate_options: ValidateOptions) -> None:
        self._path = path
        self._document = document
        self._validate_options = validate_options

    def experiment(self, source: str) -> Experiment:
        document = self._document
        nothing = Experiment((), source=source)
        if not isinstance(document.data, dict):
            return nothing
        shape = validate(ExperimentShape, document.data, EXPERIMENT_PLACES, document)
        if shape is None:
            return nothing
        defaults = layer_of(
            shape.defaults, base=self._path.parent, reporter=document, at=("defaults",)
        )
        if "variants" not in document.data:
            return Experiment((REFERENCE,), defaults, source, implicit=True)
        if document.data["variants"] == {}:
            document.report(("variants",), "'variants' names no variant", key=True)
        variants = [
            self._variant(name, links)
            for name, links in resolve_extends(shape.variants, document).items()
        ]
        found = tuple(variant for variant in variants if variant is not None)
        return Experiment(found, defaults, source)

    def _variant(self, name: str, links: tuple[Link, ...]) -> Variant | None:
        at = ("variants", name)
        fault = variant_fault(name)
        if fault is not None:
            self._document.report(at, f"the variant name {name!r} {fault}", key=True)
        options: dict[str, JsonValue] = {}
        env: dict[str, str] = {}
        layer: SettingsLayer = {}
        agent, model = "", None
        for link in links:
            own = link.shape
            options = _merged(options, cast("Mapping[str, JsonValue]", own.options))
            env |= own.env
            layer = {**layer, **self._layer(link)}
            agent = own.agent if own.has("agent") else agent
            model = own.model if own.has("model") else model
        self._check_env(name, links[-1])
        if not self._check_agent(name, agent, links):
            return None
        self._check_options(agent, options, links)
        line, column = self._document.place(at, key=True)
        position = Position(self._path, line, column)
        return Variant(name, agent, model, options, env, layer, position)

    def _layer(self, link: Link) -> SettingsLayer:
        at = ("variants", link.name)
        return layer_of(link.shape, base=self._path.parent, reporter=self._document, at=at)

    def _check_env(self, name: str, link: Link) -> None:
        for key, value in link.shape.env.items():
            fault = variable_fault(key, value)
            if fault is not None:
                self._document.report(("variants", name, "env", key), f"{key!r} {fault}", key=True)

    def _check_agent(self, name: str, agent: str, links: tuple[Link, ...]) -> bool:
        """Whether the variant has an agent that is known."""
        own = links[-1].shape
        if own.has("model") and not own.model.strip():
            self._document.report(("variants", name, "model"), "'model' is empty")
        if agent in agent_names():
            return True
        if own.has("agent"):
            message = unknown(agent, agent_names(), what="agent")
            self._document.report(("variants", name, "agent"), message)
        elif not any(link.mentions_agent for link in links):
            message = f"the variant {name!r} needs an 'agent', or 'extends' one that has it"
            self._document.report(("variants", name), message, key=True)
        return False

    def _check_options(
        self, agent: str, options: Mapping[str, JsonValue], links: tuple[Link, ...]
    ) -> None:
        """Ask the agent; a fault stands where the variant that gives the value gives it."""
        for where, message in self._validate_options(agent, options):
            giver = next((link for link in reversed(links) if link.gives(where)), links[-1])
            at = ("variants", giver.name, "options", *where)
            self._document.report(at, message, key=message.startswith("unknown"))


def _merged(base: Mapping[str, JsonValue], over: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Mappings merged in depth; everything else replaced."""
    merged = dict(base)
    for key, value in over.items():
        below = merged.get(key)
        if isinstance(below, dict) and isinstance(value, dict):
            merged[key] = _merged(below, value)
        else:
            merged[key] = value
    return merged
