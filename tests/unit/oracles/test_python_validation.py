"""The ``python`` oracle's entry: what is wrong with it, and what is read before any agent."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_agentbench.errors import OracleError
from pytest_agentbench.model.task import FileTree, JsonValue, OracleSpec, Position
from pytest_agentbench.oracles.python_function import PythonOracle

ASSETS = FileTree(files={"checks.py": "def judge(context): return True\n"})
Problems = list[tuple[tuple[str | int, ...], str]]


def spec(
    expectation: JsonValue | FileTree,
    assets: FileTree = ASSETS,
    options: dict[str, JsonValue] | None = None,
) -> OracleSpec:
    position = Position(Path("task.yaml"), 4)
    return OracleSpec(
        "python", "hidden", position, expectation, options=options or {}, assets=assets
    )


def problems(
    expectation: JsonValue | FileTree,
    assets: FileTree = ASSETS,
    options: dict[str, JsonValue] | None = None,
) -> Problems:
    return PythonOracle().validate(spec(expectation, assets, options))


def fault(directory: Path, call: str = "checks:judge") -> str:
    with pytest.raises(OracleError) as caught:
        PythonOracle().prepare(spec(call, FileTree(directory)))
    return str(caught.value)


def test_good_entries(tmp_path: Path) -> None:
    """A function of a module in the assets; files on disk are looked at later."""
    assert problems("checks:judge") == []
    assert problems("checks:judge", options={"options": {"n": [1]}}) == []
    assert problems("other:judge", FileTree(tmp_path)) == []


@pytest.mark.parametrize(
    ("expectation", "assets", "options", "found"),
    [
        ("checks", ASSETS, {},
         [(("python",), "must be module:function, such as checks:judge")]),
        (["checks:judge"], ASSETS, {},
         [(("python",), "must be module:function, such as checks:judge")]),
        ("checks:judge", FileTree(), {},
         [(("python",), "needs 'assets' beside it: the module lies there")]),
        ("chekcs:judge", ASSETS, {},
         [(("python",), "there is no module 'chekcs'; did you mean 'checks'?")]),
        ("checks:juge", ASSETS, {},
         [(("python",), "there is no function 'juge'; did you mean 'judge'?")]),
        ("checks:judge", ASSETS, {"args": 1},
         [(("args",), "unknown key 'args'; known: options")]),
        ("checks:judge", ASSETS, {"options": [1]}, [(("options",), "must be a mapping")]),
    ],
)  # fmt: skip
def test_bad_entries(
    expectation: JsonValue, assets: FileTree, options: dict[str, JsonValue], found: Problems
) -> None:
    """Each fault is told with its place in the entry."""
    assert problems(expectation, assets, options) == found


def test_assets_on_disk_are_looked_at_before_any_agent(tmp_path: Path) -> None:
    """A missing module and a missing function are errors that name the oracle."""
    (tmp_path / "checks.py").write_text("def jugde(context): return True\n")
    assert fault(tmp_path, "other:judge") == (
        "task.yaml:4: oracle 'hidden' has nothing to call: there is no module 'other'; "
        "known: checks"
    )
    assert fault(tmp_path) == (
        "task.yaml:4: oracle 'hidden' has nothing to call: there is no function 'judge'; "
        "did you mean 'jugde'?"
    )
    assert fault(tmp_path / "none").startswith("task.yaml:4: oracle 'hidden' cannot be read: ")


def test_the_digest_is_of_all_that_judges(tmp_path: Path) -> None:
    """Another byte in the assets, or another option, is another oracle; a cache is not."""
    oracle, source = PythonOracle(), tmp_path / "checks.py"

    def digest(options: dict[str, JsonValue] | None = None) -> str:
        return oracle.prepare(spec("checks:judge", FileTree(tmp_path), options)).digest

    source.write_text("def judge(context): return True\n")
    first = digest()
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "checks.cpython-311.pyc").write_bytes(b"x")
    assert digest() == first
    assert digest({"options": {"n": 1}}) != first
    source.write_text("def judge(context): return False\n")
    assert digest() != first
