"""What every module of the package owes its reader."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

LONGEST = 400

# pathlib is allowed in pure modules for paths as values, not for I/O.
FILE_METHODS = {
    "chmod", "exists", "glob", "is_dir", "is_file", "iterdir", "lstat", "mkdir", "open",
    "read_bytes", "read_text", "readlink", "resolve", "rglob", "rmdir", "stat", "symlink_to",
    "touch", "unlink", "write_bytes", "write_text",
}  # fmt: skip


def modules(package: Path) -> list[Path]:
    return sorted(package.rglob("*.py"))


def effects(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        match node.func:
            case ast.Name(id="open" | "print" | "input" | "exec" | "eval" as name):
                yield f"line {node.lineno}: {name}()"
            case ast.Attribute(attr=name) if name in FILE_METHODS:
                yield f"line {node.lineno}: .{name}()"
            case ast.Attribute(value=ast.Name(id="Path"), attr="cwd" | "home" as name):
                yield f"line {node.lineno}: Path.{name}()"


def test_every_module_says_what_it_is(package: Path) -> None:
    """Each module has a docstring of a sentence or more."""
    silent = [
        str(path.relative_to(package))
        for path in modules(package)
        if len(ast.get_docstring(ast.parse(path.read_text())) or "") < len("A sentence.")
    ]
    assert silent == []


def test_no_module_outgrows_its_reader(package: Path) -> None:
    """A module of more than 400 lines wants a split by meaning."""
    long = {
        str(path.relative_to(package)): lines
        for path in modules(package)
        if (lines := len(path.read_text().splitlines())) > LONGEST
    }
    assert long == {}


def pure(repository: Path, package: Path) -> list[Path]:
    """What the contract ``pure`` of the import layers names, as files and directories."""
    config = tomllib.loads((repository / "pyproject.toml").read_text())
    (contract,) = (c for c in config["tool"]["importlinter"]["contracts"] if c["id"] == "pure")
    names = [name.split(".")[1:] for name in contract["source_modules"]]
    homes = (package.joinpath(*name) for name in names)
    return [home if home.is_dir() else home.with_suffix(".py") for home in homes]


def test_pure_modules_touch_no_file(repository: Path, package: Path) -> None:
    """Modules that the design calls pure neither open, stat nor print anything."""
    found = {}
    for home in pure(repository, package):
        for path in [home] if home.is_file() else modules(home):
            if seen := list(effects(path.read_text())):
                found[str(path.relative_to(package))] = seen
    assert found == {}


@pytest.mark.parametrize("call", ["open('x')", "p.read_text()", "Path.cwd()", "print(1)"])
def test_an_effect_is_seen(call: str) -> None:
    """Negative control: the purity check sees an effect inside a function."""
    assert list(effects(f"def f(p):\n    return {call}\n"))


def test_no_name_that_means_nothing(package: Path) -> None:
    """No module is called utils, helpers, common or manager."""
    empty = {"utils", "util", "helpers", "common", "manager", "misc"}
    assert [path.name for path in modules(package) if path.stem in empty] == []
