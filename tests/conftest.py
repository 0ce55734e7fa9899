"""What all tests share: pytester, reproducible hypothesis, and whose code is under test."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

import pytest_agentbench

pytest_plugins = ["pytester"]

# pytester gives every test a home of its own; staging pytest anew for each would take
# longer than the tests.
os.environ.setdefault("XDG_CACHE_HOME", str(Path.home() / ".cache"))

# Plugins that are installed to be tested with. Some change every session by being there,
# and to import them all takes as long as an inner session itself. ``-p randomly`` on the
# command line of an inner session has one back.
_OTHERS = (
    *("asyncio", "html", "html_fixtures", "hypothesispytest", "metadata"),
    *("pytest_cov", "pytest-split", "randomly"),
)
IN_ORDER = " ".join(f"-p no:{name}" for name in _OTHERS)

# No deadline: two cores that run four workers make every one of them slow at times.
settings.register_profile("default", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")


@pytest.fixture(scope="session", autouse=True)
def _inner_sessions() -> Iterator[None]:
    """Inner sessions run in order. Not from the start: this session's workers would, too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTEST_ADDOPTS", IN_ORDER)
        yield


@pytest.fixture
def pytester(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """The one of pytest, which takes the variable away: its sessions run in order, too."""
    monkeypatch.setenv("PYTEST_ADDOPTS", IN_ORDER)
    return pytester


def pytest_report_header() -> str:
    return f"testing pytest_agentbench in {Path(pytest_agentbench.__file__).parent}"


@pytest.fixture(scope="session")
def repository() -> Path:
    """The root of the checkout that the tests lie in."""
    return Path(__file__).parent.parent


@pytest.fixture(scope="session")
def package() -> Path:
    """The directory of the package under test; not the checkout's where a wheel is tested."""
    return Path(pytest_agentbench.__file__).parent
