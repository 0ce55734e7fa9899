"""What all tests share: pytester, reproducible hypothesis, and whose code is under test."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

import pytest_agentbench

pytest_plugins = ["pytester"]

# pytester gives every test a home of its own; staging pytest anew for each would take
# longer than the tests.
os.environ.setdefault("XDG_CACHE_HOME", str(Path.home() / ".cache"))

# No deadline: two cores that run four workers make every one of them slow at times.
settings.register_profile("default", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")


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
