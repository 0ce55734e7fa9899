"""Whether a class has what the contract of an agent, an oracle or a sandbox needs.

Types at run time cannot tell: a protocol's check sees names of methods only. Here a
method is also asked whether it can be called as the engine calls it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple, TypeAlias

from pydantic import BaseModel

Kind: TypeAlias = Literal["agent", "oracle", "sandbox"]


class _Method(NamedTuple):
    """How the engine calls a method: so many values, and those by name."""

    name: str
    values: int
    by_name: tuple[str, ...] = ()
    waits: bool = False


NAMED_BY = {"agent": "name", "oracle": "kind", "sandbox": "name"}
"""The class variable that says what a class is called."""

_FLAGS = {
    "agent": ("needs_network", "announces_harness", "trusted", "limits_tools", "shows_evidence"),
    "oracle": ("names_files", "rehearses", "judges_words"),
    "sandbox": (),
}
_BUILT = {
    "agent": ("Class(options)", 1),
    "oracle": ("Class()", 0),
    "sandbox": ("Class.build(host)", 1),
}
_COMMAND = (_Method("command", 2), _Method("parse", 1))
_RUN = _Method("run", 3, waits=True)
_METHODS = {
    "oracle": (
        _Method("validate", 1),
        _Method("prepare", 1),
        _Method("rehearse", 2, ("solved",), waits=True),
        _Method("check", 3, waits=True),
    ),
    "sandbox": (_Method("probe", 0), _Method("open", 2, waits=True)),
}


def unfit(kind: Kind, candidate: object) -> str | None:
    """What a class lacks, as the end of a sentence that begins with it; None where nothing."""
    if not isinstance(candidate, type):
        return f"is no class but {_a(candidate)}"
    return next(_faults(kind, candidate), None)


def unfit_driver(candidate: object) -> str | None:
    """The same of a driver that was made already."""
    if isinstance(candidate, type):
        return f"is the class {candidate.__name__}, and no driver made of it"
    lacking = next(_faults("sandbox", type(candidate), made=candidate), None)
    return None if lacking is None else f"is {_a(candidate)}, which {lacking}"


def _faults(kind: Kind, cls: type, *, made: object = None) -> Iterator[str]:
    """What is wrong with a class; ``made`` is an object of it that need not be built."""
    named_by = NAMED_BY[kind]
    name = getattr(cls if made is None else made, named_by, None)
    if not isinstance(name, str) or not name:
        yield f"has no {named_by!r}: a text that says what it is called"
    for flag in _FLAGS[kind]:
        if not isinstance(getattr(cls, flag, False), bool):
            yield f"has a {flag!r} that is neither true nor false"
    if kind == "agent":
        options = getattr(cls, "Options", None)
        if not (isinstance(options, type) and issubclass(options, BaseModel)):
            yield "has an 'Options' that is no pydantic model"
        methods: tuple[_Method, ...] = (_RUN,) if hasattr(cls, "run") else _COMMAND
        if not hasattr(cls, "run") and not hasattr(cls, "command"):
            yield "has neither 'command' nor 'run'"
    else:
        methods = _METHODS[kind]
    for method in methods:
        yield from _method_faults(cls, method)
    if made is None:
        yield from _construction_faults(kind, cls)


def _construction_faults(kind: Kind, cls: type) -> Iterator[str]:
    if inspect.isabstract(cls):
        missing = ", ".join(sorted(getattr(cls, "__abstractmethods__", ())))
        yield f"lacks what its base class asks for: {missing}"
        return
    how, values = _BUILT[kind]
    if not _takes(getattr(cls, "build", cls) if kind == "sandbox" else cls, values):
        yield f"cannot be built as {how}"


def _method_faults(cls: type, method: _Method) -> Iterator[str]:
    found = inspect.getattr_static(cls, method.name, None)
    if found is None:
        yield f"has no {method.name!r}"
        return
    function = getattr(cls, method.name)
    if not callable(function):
        yield f"has a {method.name!r} that is no method"
        return
    if method.waits != inspect.iscoroutinefunction(inspect.unwrap(function)):
        yield f"has a {method.name!r} that is {'not ' if method.waits else ''}async"
    # A static or class method is not handed the object.
    bound = 0 if isinstance(found, staticmethod | classmethod) else 1
    if not _takes(function, method.values + bound, method.by_name):
        shown = ", ".join(["…"] * method.values + [f"{name}=…" for name in method.by_name])
        yield f"has a {method.name!r} that cannot be called as {method.name}({shown})"


def _takes(call: Callable[..., object], values: int, by_name: tuple[str, ...] = ()) -> bool:
    try:
        inspect.signature(call).bind(*range(values), **dict.fromkeys(by_name))
    except TypeError:
        return False
    except ValueError:  # nothing is known of how it is called
        return True
    return True


def _a(thing: object) -> str:
    name = type(thing).__name__
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"
