"""Python functions by name, and the files among those held in memory that define them.

Nothing is imported here, and nothing executed: what such files do, they do in a sandbox.
"""

from __future__ import annotations

import ast
import keyword
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches

_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Call:
    """``module:function``; both may be dotted: ``agents.mine:Solver.solve``."""

    module: str
    function: str

    @property
    def top(self) -> str:
        """The module or package that is imported first."""
        return self.module.partition(".")[0]

    def __str__(self) -> str:
        return f"{self.module}:{self.function}"


def read_call(text: str) -> Call | None:
    """The call that a text names; None if it names none."""
    module, colon, function = text.partition(":")
    names = [*module.split("."), *function.split(".")]
    if not colon or not all(name.isidentifier() and not keyword.iskeyword(name) for name in names):
        return None
    return Call(module, function)


def module_file(names: Iterable[str], module: str) -> str | None:
    """Which of some relative POSIX names is the module, as Python would choose; None without."""
    path = module.replace(".", "/")
    known = set(names)
    for name in (f"{path}/__init__.py", f"{path}.py"):
        if name in known:
            return name
    # Compiled ones carry a tag: mine.cpython-311-x86_64-linux-gnu.so
    compiled = (name for name in known if name.startswith(f"{path}.") and name.endswith(".so"))
    return min(compiled, default=None)


def no_module(names: Iterable[str], module: str) -> str:
    """What to say of a module that is none of some files, with what was probably meant."""
    modules = sorted(set(_modules(names)))
    close = get_close_matches(module, modules, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else f"; known: {_listed(modules)}"
    return f"there is no module {module!r}{hint}"


def no_function(source: bytes, function: str) -> str | None:
    """What to say of a function that a module surely lacks; None when it may have it.

    A module that cannot be parsed may be of another version of Python.
    """
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    name = function.partition(".")[0]
    defined = set(_defined(body))
    # A star import, and a module's own __getattr__, can give any name.
    if name in defined or {"*", "__getattr__"} & defined:
        return None
    known = sorted(
        node.name
        for node in body
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        and not node.name.startswith("_")
    )
    close = get_close_matches(name, known, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else f"; known: {_listed(known)}"
    return f"there is no function {name!r}{hint}"


def _modules(names: Iterable[str]) -> Iterator[str]:
    for name in names:
        stem, dot, suffix = name.rpartition(".")
        if dot and suffix == "py":
            yield stem.removesuffix("/__init__").replace("/", ".")


def _defined(body: Iterable[ast.stmt]) -> Iterator[str]:
    """Every name that is bound anywhere in a module: too many rather than too few."""
    for statement in body:
        for node in ast.walk(statement):
            match node:
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                    yield name
                case ast.ClassDef(name=name) | ast.Name(id=name, ctx=ast.Store()):
                    yield name
                case ast.alias(name=name, asname=asname):
                    yield (asname or name).partition(".")[0]
                case ast.Call(func=ast.Name(id="globals" | "exec" | "vars" | "setattr")):
                    yield "*"
                case _:
                    pass


def _listed(names: list[str]) -> str:
    if not names:
        return "none"
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
