"""Import layers and purity, as the contracts in ``pyproject.toml`` state them."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

CONTRACTS = {"layers", "pure", "engine-knows-no-kinds", "pytest-at-the-edge"}


def lint_imports(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    program = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    return subprocess.run(
        [sys.executable, "-c", program, "--no-cache", *arguments],
        cwd=directory,
        env={**os.environ, "COLUMNS": "200", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def test_every_import_obeys_the_contracts(repository: Path) -> None:
    """import-linter finds each contract of the project kept."""
    done = lint_imports(repository)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"Contracts: {len(CONTRACTS)} kept, 0 broken." in done.stdout


def test_the_contracts_are_those_of_the_design(repository: Path) -> None:
    """No contract gets lost: their ids are the known ones."""
    config = tomllib.loads((repository / "pyproject.toml").read_text())
    contracts = config["tool"]["importlinter"]["contracts"]
    assert {contract["id"] for contract in contracts} == CONTRACTS


@pytest.mark.parametrize(
    ("module", "line", "contract"),
    [
        ("model/outcome.py", "import pytest_agentbench.stats", "Layers of the design"),
        ("stats/__init__.py", "import os", "Pure modules know no machine"),
        ("model/outcome.py", "import time", "Pure modules know no machine"),
        ("engine/__init__.py", "import pytest_agentbench.agents.noop", "not kinds"),
        ("registry.py", "import pytest", "pytest is imported at the edge only"),
    ],
)
def test_a_forbidden_import_is_found(
    repository: Path, package: Path, tmp_path: Path, module: str, line: str, contract: str
) -> None:
    """Negative control: a copy of the package with one wrong import breaks its contract."""
    copy = tmp_path / "pytest_agentbench"
    for source in package.rglob("*.py"):
        target = copy / source.relative_to(package)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(source.read_bytes())
    (tmp_path / "pyproject.toml").write_bytes((repository / "pyproject.toml").read_bytes())
    with (copy / module).open("a") as stream:
        stream.write(f"\n{line}\n")
    done = lint_imports(tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    broken = [text for text in done.stdout.splitlines() if " BROKEN" in text]
    assert len(broken) == 1, done.stdout
    assert contract in broken[0]
