"""The public names of the package are those of ``__all__``, no more and no fewer."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import pytest_agentbench


def test_public_names_are_sorted_and_unique() -> None:
    """``__all__`` is sorted and names nothing twice."""
    assert pytest_agentbench.__all__ == sorted(set(pytest_agentbench.__all__))


@pytest.mark.parametrize("name", pytest_agentbench.__all__)
def test_each_public_name_is_there(name: str) -> None:
    """Each name of ``__all__`` can be had, and it is the one of that name."""
    value = getattr(pytest_agentbench, name)
    assert name in {"__version__", getattr(value, "__name__", None)}


def test_dir_shows_the_public_names() -> None:
    """``dir()`` shows the public names only."""
    assert dir(pytest_agentbench) == pytest_agentbench.__all__


def test_type_checkers_see_the_same_names(package: Path) -> None:
    """The imports for type checkers bind exactly the names that are loaded on first use."""
    tree = ast.parse((package / "__init__.py").read_text())
    names = {
        alias.asname or alias.name
        for block in tree.body
        if isinstance(block, ast.If)
        for statement in block.body
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    }
    assert names == set(pytest_agentbench.__all__) - {"__version__"}


def test_an_unknown_name_is_an_attribute_error() -> None:
    """A name that does not exist fails as in any module."""
    with pytest.raises(AttributeError, match="'pytest_agentbench' has no attribute 'Oracel'"):
        _ = pytest_agentbench.Oracel
