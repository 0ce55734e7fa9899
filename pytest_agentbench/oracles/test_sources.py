"""Which tests a file holds, read from its source: nothing is imported, nothing runs.

For oracles whose tests cannot be collected before an agent has worked, because
there is no solution to collect them with. Sees what stands unconditionally at the
top of a module or class; parametrized tests count by their function.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import TypeAlias

_Definition: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


def is_test_file(name: str) -> bool:
    """Whether pytest, left alone, takes a file of this name for a test file."""
    base = PurePosixPath(name).name
    return fnmatchcase(base, "test_*.py") or fnmatchcase(base, "*_test.py")


def list_tests(sources: Mapping[str, bytes]) -> dict[str, str]:
    """Node id -> ``run``, ``skip`` or ``xfail`` for the tests of these files.

    Raises ``SyntaxError`` (with ``filename`` set) for a file that is no Python.
    """
    found: dict[str, str] = {}
    for name in sorted(sources):
        if not is_test_file(name):
            continue
        try:
            module = ast.parse(sources[name], filename=name)
        except (SyntaxError, ValueError) as error:
            # For a NUL byte Python names no file, and until 3.11.4 it is a ValueError.
            line = getattr(error, "lineno", None) or 1
            what = getattr(error, "msg", str(error))
            raise SyntaxError(what, (name, line, None, None)) from error
        mark = _strongest(_module_marks(module.body))
        for suffix, own in _tests_in(module.body, mark):
            found[f"{name}::{suffix}"] = own
    return found


def _tests_in(body: list[ast.stmt], mark: str) -> Iterator[tuple[str, str]]:
    for node in body:
        if isinstance(node, _Definition):
            if node.name.startswith("test") and not _is_fixture(node):
                yield node.name, _strongest([mark, *map(_mark_of, node.decorator_list)])
        elif isinstance(node, ast.ClassDef):
            yield from _tests_of_class(node, mark)


def _tests_of_class(node: ast.ClassDef, mark: str) -> Iterator[tuple[str, str]]:
    is_case = any(_last_name(base).endswith("TestCase") for base in node.bases)
    if _opts_out(node.body) or not (is_case or node.name.startswith("Test")):
        return
    if not is_case and _has_constructor(node.body):
        return  # pytest refuses such classes
    own = _strongest([mark, *map(_mark_of, node.decorator_list), *_module_marks(node.body)])
    for suffix, inner in _tests_in(node.body, own):
        yield f"{node.name}::{suffix}", inner


def _opts_out(body: list[ast.stmt]) -> bool:
    return any(
        isinstance(value, ast.Constant) and value.value is False
        for value in _assigned(body, "__test__")
    )


def _has_constructor(body: list[ast.stmt]) -> bool:
    return any(isinstance(node, _Definition) and node.name == "__init__" for node in body)


def _is_fixture(node: _Definition) -> bool:
    return any(_last_name(decorator) == "fixture" for decorator in node.decorator_list)


def _module_marks(body: list[ast.stmt]) -> Iterator[str]:
    """The marks that ``pytestmark`` lays over a module or a class."""
    for value in _assigned(body, "pytestmark"):
        marks = value.elts if isinstance(value, ast.List | ast.Tuple) else [value]
        yield from map(_mark_of, marks)


def _assigned(body: list[ast.stmt], name: str) -> Iterator[ast.expr]:
    for node in body:
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            targets = [node.target]
        else:
            continue
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            assert node.value is not None
            yield node.value


def _mark_of(mark: ast.expr) -> str:
    """What a decorator says for certain; a condition that only a run can tell says nothing."""
    name = _last_name(mark)
    if name == "skip":
        return "skip"
    if name == "expectedFailure":
        return "xfail"
    word = {"skipif": "skip", "skipIf": "skip", "xfail": "xfail"}.get(name)
    if word is None:
        return "run"
    conditions = _conditions(mark)
    if not conditions:
        return word
    return word if any(_is_true(condition) for condition in conditions) else "run"


def _conditions(mark: ast.expr) -> list[ast.expr]:
    if not isinstance(mark, ast.Call):
        return []
    keywords = [word.value for word in mark.keywords if word.arg == "condition"]
    # unittest's skipIf takes its reason by position; a text says nothing for certain.
    return keywords or list(mark.args)


def _is_true(condition: ast.expr) -> bool:
    if not isinstance(condition, ast.Constant) or isinstance(condition.value, str):
        return False
    return bool(condition.value)


def _last_name(node: ast.expr) -> str:
    """``skip`` of ``pytest.mark.skip(reason=...)``."""
    if isinstance(node, ast.Call):
        node = node.func
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _strongest(marks: Iterator[str] | list[str]) -> str:
    found = set(marks)
    return next((mark for mark in ("skip", "xfail") if mark in found), "run")
