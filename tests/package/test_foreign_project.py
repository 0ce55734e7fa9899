"""A project that has nothing to do with us must not notice that we are installed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

# Without rerunfailures, which leaves a socket open and warns of it on standard error.
CONFIG = """\
[pytest]
addopts = --strict-markers --strict-config -p no:cacheprovider -p no:rerunfailures
filterwarnings = error
xfail_strict = true
markers = slow: takes long
"""

TESTS = '''\
"""Some tests of somebody else's."""
import warnings

import pytest


@pytest.fixture(scope="module")
def number():
    yield 41


def test_adds(number):
    """
    >>> 1 + 1
    2
    """
    assert number + 1 == 42


@pytest.mark.slow
@pytest.mark.parametrize("word", ["a", "b/c", "d[e]", "tasks/fix.yaml::fix[r1]"])
def test_words(word, tmp_path, request):
    assert request.node.name == f"test_words[{word}]"


def test_breaks(number):
    print("some output")
    assert number == 42


@pytest.mark.skip(reason="not today")
def test_skipped():
    raise AssertionError


@pytest.mark.xfail(reason="known")
def test_known():
    raise AssertionError


def test_warns():
    warnings.warn("deprecated", DeprecationWarning)


@pytest.fixture
def broken():
    raise OSError("no such thing")


def test_error(broken):
    pass
'''

# A directory of that name is common, and so is YAML in it: neither makes a task.
PLAYBOOK = "- name: install\n  ansible.builtin.package: {name: git}\n"
SETTINGS = "version: '3'\nservices: {web: {image: nginx}}\n"


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    root = tmp_path / "foreign"
    for name, text in {
        "pytest.ini": CONFIG,
        "test_some.py": TESTS,
        "sub/test_more.py": "def test_more():\n    pass\n",
        "tasks/main.yml": PLAYBOOK,
        "tasks/compose.yaml": SETTINGS,
        "docs/guide.yaml": "on: yes\n",
    }.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def run(root: Path, *arguments: str) -> tuple[int, str, str]:
    """Exit status, output and standard error, without what differs between any two runs."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    env |= {"PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "100", "NO_COLOR": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *arguments],
        cwd=root,
        env=env,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    return done.returncode, normalized(done.stdout, arguments), done.stderr


def normalized(output: str, arguments: tuple[str, ...]) -> str:
    text = re.sub(r"in \d+\.\d+s", "in TIME", output)
    text = re.sub(r"\d+\.\d+s (setup|call|teardown)", r"TIME \1", text)
    text = re.sub(r"(0x)[0-9a-f]+", r"\1ADDRESS", text)
    text = re.sub(r"pytest-\d+/", "pytest-N/", text)
    # "plugins: agentbench-1.0, xdist-3.8" is the one place where pytest itself names us.
    text = re.sub(r"agentbench-[\d.]+(, )?", "", text)
    text = re.sub(r"(plugins: .*?),? *$", r"\1", text, flags=re.MULTILINE)
    if "-n" in arguments:  # workers finish in any order
        text = re.sub(r"\[gw\d\]", "[gwN]", text)
        lines = ("".join(sorted(x)) if re.match(r"[.FEsxX]+ ", x) else x for x in text.splitlines())
        text = "\n".join(sorted(lines))
    return text


def tree(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*"))


@pytest.mark.parametrize(
    "arguments",
    [
        ("-W", "error", "-rA", "--durations=3", "--durations-min=9"),
        ("-W", "error", "-n", "2"),
        ("--co", "-q", "--doctest-modules"),
        ("-m", "slow", "-v"),
        ("-k", "nothing at all"),
        ("tasks",),
        ("no_such_file.py",),
    ],
    ids=" ".join,
)
def test_output_is_the_same_with_and_without_us(foreign: Path, arguments: tuple[str, ...]) -> None:
    """Output, exit status and files of a foreign project are those of a pytest without us."""
    before = tree(foreign)
    without = run(foreign, *arguments, "-p", "no:agentbench")
    with_us = run(foreign, *arguments)
    assert with_us == without
    assert tree(foreign) == before


def test_the_comparison_compares_something(foreign: Path) -> None:
    """Negative control: the foreign project passes, fails, errors, skips and warns as written."""
    status, output, errors = run(foreign)
    assert status == 1
    assert errors == ""
    assert "2 failed, 6 passed, 1 skipped, 1 xfailed, 1 error in TIME" in output


def test_no_plugin_output_at_all_under_all_warnings(foreign: Path) -> None:
    """With every warning an error from the interpreter's start, a session still passes."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "pytest", "-q", "sub"],
        cwd=foreign,
        env={**os.environ, "PYTHONWARNINGS": "error"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, "")
