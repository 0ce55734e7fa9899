"""A project that has nothing to do with us must not notice that we are installed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

# Without rerunfailures, which leaves a socket open and warns of it on standard error, and
# without randomly, which has another seed in every session, and metadata, which lists plugins.
CONFIG = """\
[pytest]
addopts = --strict-markers --strict-config -p no:cacheprovider
    -p no:rerunfailures -p no:randomly -p no:html -p no:metadata
filterwarnings = error
xfail_strict = true
markers = slow: takes long
"""
if find_spec("pytest_asyncio"):
    # Unset, it warns in every session, and a project of anybody's has set it.
    CONFIG += "asyncio_default_fixture_loop_scope = function\n"

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
        env={
            **{name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")},
            "PYTHONWARNINGS": "error",
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, "")


LISTING = """\
import os, sys
from pathlib import Path


def pytest_unconfigure():
    name = os.environ.get("PYTEST_XDIST_WORKER", "main")
    Path(os.environ["MODULES"], name).write_text("\\n".join(sorted(sys.modules)))
"""

LIGHT = {
    "pytest_agentbench",
    "pytest_agentbench.candidates",
    "pytest_agentbench.options",
    "pytest_agentbench.plugin",
    "pytest_agentbench.pytest_integration",
    "pytest_agentbench.pytest_integration.compat_entry",
    "pytest_agentbench.pytest_integration.fixtures",
    "pytest_agentbench.pytest_integration.hookspecs",
    "pytest_agentbench.pytest_integration.options",
}


@pytest.mark.parametrize("arguments", [(), ("-n", "2")], ids=["one-process", "xdist"])
def test_a_session_adds_light_modules_and_no_directory(
    foreign: Path, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    """Of a whole session, each process has loaded our few light modules; nothing is on disk."""
    (foreign / "conftest.py").write_text(LISTING)
    loaded: dict[str, dict[str, set[str]]] = {}
    for name, option in (("without", ("-p", "no:agentbench")), ("with", ())):
        places = {place: tmp_path / name / place for place in ("home", "cache", "tmp", "modules")}
        for place in places.values():
            place.mkdir(parents=True)
        env = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
        env |= {
            "HOME": str(places["home"]),
            "XDG_CACHE_HOME": str(places["cache"]),
            "XDG_STATE_HOME": str(places["cache"]),
            "TMPDIR": str(places["tmp"]),
            "MODULES": str(places["modules"]),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        command = [sys.executable, "-m", "pytest", "-q", "sub"]
        done = subprocess.run(
            [*command, *arguments, *option],
            cwd=foreign,
            env=env,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert tree(places["home"]) == tree(places["cache"]) == []
        assert not list(places["tmp"].glob("*agentbench*"))
        loaded[name] = {
            path.name: set(path.read_text().split()) for path in places["modules"].iterdir()
        }
    assert set(loaded["with"]) == ({"main", "gw0", "gw1"} if arguments else {"main"})
    for process, modules in loaded["with"].items():
        added = modules - loaded["without"][process]
        foreigners = {one for one in added if one.partition(".")[0] not in sys.stdlib_module_names}
        own = LIGHT if process != "main" or not arguments else LIGHT | CONTROLLER
        assert foreigners <= own
        assert "pytest_agentbench.plugin" in foreigners


CONTROLLER = {
    "pytest_agentbench.errors",
    "pytest_agentbench.pytest_integration.compat",
    "pytest_agentbench.pytest_integration.controller",
    "pytest_agentbench.pytest_integration.sessionsettings",
    "pytest_agentbench.pytest_integration.signals",
    "pytest_agentbench.results",
    "pytest_agentbench.results.atomic",
    "pytest_agentbench.results.rundir",
    "pytest_agentbench.settings",
}
"""What hands a run's id to workers that may find tasks."""
