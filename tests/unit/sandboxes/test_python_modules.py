"""Functions by name, and the modules among some files."""

from __future__ import annotations

import pytest

from pytest_agentbench.sandboxes.pymodules import (
    Call,
    module_file,
    no_function,
    no_module,
    read_call,
)

FILES = ["mine.py", "agents/__init__.py", "agents/solve.py", "agents/words.txt", "fast.cpython.so"]


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ("mine:solve", Call("mine", "solve")),
        ("a.b.c:D.e", Call("a.b.c", "D.e")),
        ("modül:löse", Call("modül", "löse")),
    ],
)
def test_calls_are_read(text: str, call: Call) -> None:
    """Module and function, each dotted or not; as text they are what they were."""
    assert read_call(text) == call
    assert str(call) == text
    assert call.top == text.partition(":")[0].partition(".")[0]


@pytest.mark.parametrize(
    "text",
    ["", ":", "mine", "mine:", ":solve", "mine.py:so lve", "a/b:c", "a..b:c", ".a:b", "a:b:c",
     "a:b()", "class:solve", "a:def", "a.b", "1a:b", "a:b.", "../a:b"],
)  # fmt: skip
def test_what_is_no_call(text: str) -> None:
    """Paths, calls with parentheses and keywords name no function."""
    assert read_call(text) is None


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("mine", "mine.py"),
        ("agents", "agents/__init__.py"),
        ("agents.solve", "agents/solve.py"),
        ("fast", "fast.cpython.so"),
        ("agents.words", None),
        ("solve", None),
    ],
)
def test_module_files(module: str, name: str | None) -> None:
    """A package, a module or a compiled one."""
    assert module_file(FILES, module) == name


def test_a_package_wins_over_a_module() -> None:
    """As Python chooses."""
    assert module_file(["a.py", "a/__init__.py"], "a") == "a/__init__.py"


@pytest.mark.parametrize(
    ("files", "module", "said"),
    [
        (FILES, "agents.slove",
         "there is no module 'agents.slove'; did you mean 'agents.solve'?"),
        (FILES, "x", "there is no module 'x'; known: agents, agents.solve, mine"),
        ([], "x", "there is no module 'x'; known: none"),
        ([f"m{n:02}.py" for n in range(12)], "x",
         ("there is no module 'x'; known: m00, m01, m02, m03, m04, m05, m06, m07, m08, m09 "
         "and 2 more")),
    ],
)  # fmt: skip
def test_missing_modules_are_told(files: list[str], module: str, said: str) -> None:
    """With the one that was probably meant, or those that there are."""
    assert no_module(files, module) == said


@pytest.mark.parametrize(
    "source",
    [
        "def solve(c): pass",
        "async def solve(c): pass",
        "class solve: pass",
        "solve = make()",
        "from other import solve",
        "from other import work as solve",
        "import solve.deep",
        "if x:\n    def solve(c): pass",
        "try:\n    from a import solve\nexcept ImportError:\n    solve = None",
        "from other import *",
        "def __getattr__(name): return print",
        "globals()['solve'] = print",
        "solve, other = print, print",
        "def solve(c:",
        "\0",
    ],
)
def test_functions_that_may_be_there(source: str) -> None:
    """Whatever could bind the name, and what this Python cannot parse, is left to the import."""
    assert no_function(source.encode(), "solve.method") is None


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("def slove(c): pass", "there is no function 'solve'; did you mean 'slove'?"),
        ("def other(c): pass\ndef _hidden(): pass\nclass Thing: pass\nimport json",
         "there is no function 'solve'; known: other"),
        ("", "there is no function 'solve'; known: none"),
        ("def work(solve): return solve", "there is no function 'solve'; known: work"),
    ],
)  # fmt: skip
def test_functions_that_are_surely_missing(source: str, said: str) -> None:
    """With the one that was probably meant, or those that there are."""
    assert no_function(source.encode(), "solve") == said
