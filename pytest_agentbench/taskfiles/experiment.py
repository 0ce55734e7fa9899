"""An experiment file, with those that it extends, becomes variants and what lies below them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_agentbench.errors import UnknownComponent, UsageError
from pytest_agentbench.model.task import JsonValue, Position
from pytest_agentbench.model.variant import (
    Expectation,
    Experiment,
    ToolPolicy,
    Variant,
    merged_options,
)
from pytest_agentbench.registry import agent_names, check_name
from pytest_agentbench.taskfiles.agentoptions import ValidateOptions, validate_by_registry
from pytest_agentbench.taskfiles.complaints import unknown
from pytest_agentbench.taskfiles.experimentfile import ExperimentFile, FileChecks, read_files
from pytest_agentbench.taskfiles.experimentpaths import (
    DEFAULT_NAMES,
    chosen_file,
    default_file,
)
from pytest_agentbench.taskfiles.locate import definition_error, shown_path
from pytest_agentbench.taskfiles.variants import Link, options_of, resolve_extends

if TYPE_CHECKING:
    from pytest_agentbench.taskfiles.experimentsuites import CheckMarks
    from pytest_agentbench.taskfiles.experimentvariants import CheckTemplate

__all__ = ["REFERENCE", "ValidateOptions", "load_experiment", "validate_by_registry"]

REFERENCE = Variant(name="reference", agent="reference")


def load_experiment(
    rootdir: Path,
    chosen: str | None,
    *,
    validate_options: ValidateOptions | None = None,
    check_template: CheckTemplate | None = None,
    check_marks: CheckMarks | None = None,
) -> Experiment:
    """The chosen experiment, or that of ``agentbench.yaml``, or the reference variant alone.

    ``chosen`` is a path, or a bare name for ``experiments/NAME.yaml``. What this layer
    cannot know is handed in: ``check_template`` says what is wrong with a prompt template,
    ``check_marks`` with an expression of marks; without them neither is looked at. Raises
    ``UsageError`` where there is no such file, ``DefinitionError`` where it is wrong.
    """
    path = default_file(rootdir) if chosen is None else chosen_file(rootdir, chosen)
    if path is None:
        return Experiment(
            (REFERENCE,),
            source=f"no {DEFAULT_NAMES[0]}: the reference variant alone",
            implicit=True,
        )
    files = read_files(path, rootdir, FileChecks(check_template, check_marks))
    assembly = _Assembly(files, validate_options or validate_by_registry)
    experiment = assembly.experiment(shown_path(path, rootdir))
    problems = [problem for file in files for problem in file.document.problems]
    if problems:
        raise definition_error(problems, rootdir=rootdir, main=path)
    return experiment


class _Assembly:
    """Files on their way to one experiment, the chosen one first."""

    def __init__(self, files: Sequence[ExperimentFile], validate_options: ValidateOptions) -> None:
        self._files = files
        self._validate_options = validate_options

    def experiment(self, source: str) -> Experiment:
        upwards = self._files[::-1]
        defaults = {path: value for file in upwards for path, value in file.defaults.items()}
        suites = {name: suite for file in upwards for name, suite in file.suites.items()}
        slots = {name: count for file in upwards for name, count in file.slots.items()}
        implicit = not any(file.names_variants for file in self._files)
        return Experiment(
            (REFERENCE,) if implicit else self._variants(),
            defaults,
            source,
            implicit=implicit,
            baseline=self._baseline(implicit=implicit),
            suites=tuple(suites.values()),
            slots=slots,
            files=tuple(file.path for file in upwards),
            gated=any(suite.gate is not None for suite in suites.values()),
        )

    def _variants(self) -> tuple[Variant, ...]:
        chains = resolve_extends([file.variants for file in self._files])
        found = [self._variant(name, links) for name, links in chains.items()]
        return tuple(variant for variant in found if variant is not None)

    def _baseline(self, *, implicit: bool) -> str | None:
        file = next((file for file in self._files if file.shape.has("baseline")), None)
        if file is None:
            return None
        name = file.shape.baseline
        if implicit:
            names = [REFERENCE.name]
        else:
            names = [variant for one in self._files for variant in one.shape.variants]
        if name not in names:
            what = unknown(name, names, what="variant") if names else f"unknown variant {name!r}"
            file.document.report(("baseline",), what)
        return name

    def _variant(self, name: str, links: tuple[Link, ...]) -> Variant | None:
        options: Mapping[str, JsonValue] = {}
        for own in options_of(links):
            options = merged_options(options, own)
        agent = _agent(links)
        if not self._check_agent(name, agent, links):
            return None
        self._check_options(agent, options, links)
        last = links[-1]
        line, column = last.document.place(("variants", name), key=True)
        return Variant(
            name,
            agent,
            model=_model(links),
            options=options,
            env={key: value for link in links for key, value in link.shape.env.items()},
            layer={path: value for link in links for path, value in link.layer.items()},
            overlay=_overlay(links),
            prompt_template=_template(links),
            expect=_expectation(links),
            tools=_tools(links),
            position=Position(last.document.path, line, column),
        )

    def _check_agent(self, name: str, agent: str, links: tuple[Link, ...]) -> bool:
        """Whether the variant has an agent that is known."""
        last = links[-1]
        if not any(link.shape.has("agent") for link in links):
            if not any(link.mentions_agent for link in links):
                message = f"the variant {name!r} needs an 'agent', or 'extends' one that has it"
                last.report((), message, key=True)
            return False
        try:
            check_name("agent", agent)
        except UnknownComponent:
            if last.shape.has("agent"):
                last.report(("agent",), unknown(agent, agent_names(), what="agent"))
            return False
        except UsageError as error:
            if last.shape.has("agent"):
                last.report(("agent",), error.what, advice=error.advice)
            return False
        return True

    def _check_options(
        self, agent: str, options: Mapping[str, JsonValue], links: tuple[Link, ...]
    ) -> None:
        """Ask the agent; a fault stands where the variant that gives the value gives it."""
        for where, message in self._validate_options(agent, options):
            giver = next((link for link in reversed(links) if link.gives(where)), links[-1])
            giver.report(("options", *where), message, key=message.startswith("unknown"))


def _last(links: Sequence[Link], key: str) -> Link | None:
    """The nearest link that has a key."""
    return next((link for link in reversed(links) if link.shape.has(key)), None)


def _agent(links: Sequence[Link]) -> str:
    link = _last(links, "agent")
    return "" if link is None else link.shape.agent


def _model(links: Sequence[Link]) -> str | None:
    link = _last(links, "model")
    return None if link is None else link.shape.model


def _overlay(links: Sequence[Link]) -> Path | None:
    link = _last(links, "overlay")
    return None if link is None else link.overlay


def _template(links: Sequence[Link]) -> str | None:
    link = _last(links, "prompt")
    return None if link is None else link.template


def _expectation(links: Sequence[Link]) -> Expectation:
    link = _last(links, "expect")
    if link is None:
        return Expectation()
    return Expectation(tuple(link.shape.expect.skills), tuple(link.shape.expect.tools))


def _tools(links: Sequence[Link]) -> ToolPolicy:
    link = _last(links, "tools")
    if link is None:
        return ToolPolicy()
    shape = link.shape.tools
    return ToolPolicy(tuple(shape.allow) if shape.has("allow") else None, tuple(shape.deny))
