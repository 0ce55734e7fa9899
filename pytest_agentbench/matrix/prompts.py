"""Prompt templates of variants: what one makes of a task's prompt. Pure.

Jinja, in its sandbox and with nothing in it that changes from run to run. It is
imported when there is a template.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Environment, Template, nodes

    from pytest_agentbench.model.task import TaskSpec
    from pytest_agentbench.model.variant import Variant

_SURROGATE = re.compile(r"[\ud800-\udfff]")
_CHANCE = (("globals", "lipsum"), ("filters", "random"))


class TemplateFault(Exception):
    """A template makes no prompt of a task; the message says why."""


@dataclass(frozen=True, slots=True)
class _Task:
    """What a template sees of a task."""

    id: str
    prompt: str
    description: str
    tags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Variant:
    """What a template sees of a variant; ``model`` is empty without one."""

    name: str
    agent: str
    model: str


_KNOWN: Mapping[str, tuple[str, ...]] = {
    "task": tuple(field.name for field in fields(_Task)),
    "variant": tuple(field.name for field in fields(_Variant)),
}


def template_fault(text: str) -> tuple[int, str] | None:
    """The first thing wrong with a template by itself: its line, from 1, and what; or None.

    Names are looked at in every branch; what depends on a task is not known here.
    """
    from jinja2 import TemplateSyntaxError  # noqa: PLC0415 - most projects have no template

    if not text.strip():
        return 1, "the prompt template is empty"
    try:
        tree = _environment().parse(text)
        _environment().compile(tree)
    except TemplateSyntaxError as error:
        return error.lineno, _sentence(error.message or "cannot be read")
    except RecursionError:
        return 1, "the template is nested too deeply"
    return min(_wrong_names(tree), default=None)


def render(template: str, task: TaskSpec, variant: Variant) -> str:
    """The prompt that a template makes. Raises ``TemplateFault``."""
    from jinja2 import TemplateError  # noqa: PLC0415 - as above

    context = {
        "task": _Task(task.id, task.prompt, task.description, task.tags),
        "variant": _Variant(variant.name, variant.agent, variant.model or ""),
    }
    try:
        text = str(_compiled(template).render(context))
    # What expressions of the author's can raise; templates have no exceptions of their own.
    except (
        TemplateError,
        ArithmeticError,
        AttributeError,
        LookupError,
        RecursionError,
        TypeError,
        ValueError,
    ) as error:
        raise TemplateFault(f"the prompt template fails for this task: {error}") from error
    if not text.strip():
        raise TemplateFault("the prompt template makes nothing of this task")
    # As in a task file: no agent could be given these as an argument.
    if "\0" in text:
        raise TemplateFault("the prompt template makes a text with a NUL character")
    if _SURROGATE.search(text):
        raise TemplateFault("the prompt template makes half of a surrogate pair, which is no text")
    return text


def _printed(value: object) -> object:
    """What an expression prints. A generator's or a function's address differs each time."""
    from jinja2 import Undefined  # noqa: PLC0415 - as above

    if value is None or isinstance(value, str | int | float | list | tuple | dict | Undefined):
        return value
    raise TemplateFault(
        f"the prompt template prints a {type(value).__name__.strip('_').lower()}, which is no text"
    )


@cache
def _environment() -> Environment:
    from jinja2 import StrictUndefined  # noqa: PLC0415 - as above
    from jinja2.sandbox import ImmutableSandboxedEnvironment  # noqa: PLC0415 - as above

    environment = ImmutableSandboxedEnvironment(
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        autoescape=False,
        finalize=_printed,
    )
    for table, name in _CHANCE:
        getattr(environment, table).pop(name)
    return environment


@cache
def _compiled(template: str) -> Template:
    return _environment().from_string(template)


def _sentence(message: str) -> str:
    """The first sentence of Jinja's words as one of our messages goes on."""
    text = message.partition(". ")[0].rstrip(".")
    return text if re.match(r"[A-Z]\w*[A-Z]", text) else text[:1].lower() + text[1:]


def _wrong_names(tree: nodes.Template) -> Iterator[tuple[int, str]]:
    """Lines and messages of what no task can mend."""
    from jinja2 import meta, nodes  # noqa: PLC0415 - as above

    for node in tree.find_all((nodes.Include, nodes.Import, nodes.FromImport, nodes.Extends)):
        yield node.lineno, "a prompt template stands alone: it can take in no other one"
    undeclared = meta.find_undeclared_variables(tree) - _environment().globals.keys() - {*_KNOWN}
    assigned: set[str] = set()
    for name in tree.find_all(nodes.Name):
        if name.ctx == "load" and name.name in undeclared:
            yield name.lineno, _unknown(f"name {name.name!r}", name.name, _KNOWN)
        elif name.ctx != "load":
            assigned.add(name.name)
    for owner, attribute, line in _attributes(tree):
        known = _KNOWN.get(owner)
        if known is not None and owner not in assigned and attribute not in known:
            yield line, _unknown(f"name '{owner}.{attribute}'", attribute, known)


def _attributes(tree: nodes.Template) -> Iterator[tuple[str, str, int]]:
    """Each ``owner.attribute`` and ``owner['attribute']`` of a plain name."""
    from jinja2 import nodes  # noqa: PLC0415 - as above

    for got in tree.find_all(nodes.Getattr):
        if isinstance(got.node, nodes.Name):
            yield got.node.name, got.attr, got.lineno
    for item in tree.find_all(nodes.Getitem):
        if isinstance(item.node, nodes.Name) and isinstance(item.arg, nodes.Const):
            yield item.node.name, str(item.arg.value), item.lineno


def _unknown(what: str, name: str, known: Iterable[str]) -> str:
    names = sorted(known)
    close = get_close_matches(name, names, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else f"; known: {', '.join(names)}"
    return f"unknown {what}{hint}"
