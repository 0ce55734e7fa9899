"""What is installed is what the checkout holds, and says so."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tomllib
from importlib.metadata import distribution, entry_points, requires
from pathlib import Path

import pytest_agentbench


def contents(root: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_the_installed_package_is_the_checkout(repository: Path, package: Path) -> None:
    """Every file of the package is installed, ``py.typed`` included, and nothing else is."""
    assert contents(package) == contents(repository / "pytest_agentbench")
    assert (package / "py.typed").exists()


def test_the_wheel_is_tested_where_it_was_promised(package: Path) -> None:
    """The checkout does not shadow a wheel that ``AGENTBENCH_REQUIRE`` says is under test."""
    promised = os.environ.get("AGENTBENCH_REQUIRE", "").replace(" ", "").split(",")
    if "wheel" in promised:
        assert package.parent == Path(sysconfig.get_path("purelib"))


def test_metadata_and_module_agree_on_the_version() -> None:
    """One version: the distribution's and the module's."""
    assert distribution("pytest-agentbench").version == pytest_agentbench.__version__


def test_entry_points_are_registered() -> None:
    """The plugin is found by pytest, and the command by the shell."""
    (plugin,) = entry_points(group="pytest11", name="agentbench")
    (command,) = entry_points(group="console_scripts", name="agentbench")
    assert plugin.value == "pytest_agentbench.plugin"
    assert command.value == "pytest_agentbench.cli:main"


def test_each_lower_bound_is_tested_at_its_lowest(repository: Path) -> None:
    """The constraints of the run with the lowest versions pin exactly the declared bounds."""
    config = tomllib.loads((repository / "pyproject.toml").read_text())["project"]
    extras = config["optional-dependencies"]
    plugins = [line for line in extras["test"] if line.startswith("pytest-")]
    declared = [*config["dependencies"], *extras["asyncio"], *plugins]
    bounds = dict(line.split(">=") for line in declared)
    lines = (repository / ".ci" / "constraints-lowest.txt").read_text().splitlines()
    pins = dict(line.split("==") for line in lines if line and not line.startswith("#"))
    assert {name: pins.get(name) for name in bounds} == bounds


def test_requirements_name_what_the_checkout_declares(repository: Path) -> None:
    """The installed metadata is not older than ``pyproject.toml``."""
    config = tomllib.loads((repository / "pyproject.toml").read_text())["project"]
    installed = {line for line in requires("pytest-agentbench") or () if "extra ==" not in line}
    assert installed == set(config["dependencies"])


def test_the_plugin_is_typed(tmp_path: Path, package: Path) -> None:
    """A type checker sees the public names of the installed package."""
    user = tmp_path / "user.py"
    user.write_text(
        "from pytest_agentbench import Outcome, TaskFailed\n"
        "reveal_type(Outcome.PASSED.value)\n"
        "raise TaskFailed(1 + 'a')\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--cache-dir", str(tmp_path / "cache"), str(user)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert "Revealed type is \"Literal['passed']" in done.stdout, done.stdout + done.stderr
    assert "Unsupported operand types for +" in done.stdout
