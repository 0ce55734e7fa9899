"""The plugin's entry module is loaded in every pytest run of an environment: it must be light."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

# What a plain ``import pytest`` brings along, and what belongs to pytest's own family.
FAMILY = {"pytest", "_pytest", "pluggy", "iniconfig", "packaging", "exceptiongroup", "colorama"}
# Nobody may load these before a task file is collected.
HEAVY = ("pydantic", "yaml", "rich", "docker", "jinja2", "jsonschema", "junit_xml")


def added_by(statement: str, cwd: Path) -> set[str]:
    program = (
        "import json, sys, pytest\n"
        "before = set(sys.modules)\n"
        f"{statement}\n"
        "print(json.dumps(sorted(set(sys.modules) - before)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return set(json.loads(done.stdout))


def foreign(names: set[str]) -> set[str]:
    tops = {name.partition(".")[0] for name in names}
    return {
        top
        for top in tops
        if top not in sys.stdlib_module_names and top not in FAMILY and top != "pytest_agentbench"
    }


def test_the_plugin_imports_only_stdlib_and_pytest(tmp_path: Path) -> None:
    """Importing the entry module adds nothing but modules of ours and the standard library's."""
    added = added_by("import pytest_agentbench.plugin", tmp_path)
    assert foreign(added) == set()
    assert "asyncio" not in added


def test_the_package_itself_imports_nothing(tmp_path: Path) -> None:
    """Importing the package loads none of its modules; its names come on first use."""
    added = added_by("import pytest_agentbench", tmp_path)
    assert foreign(added) == set()
    assert {name for name in added if name.startswith("pytest_agentbench")} == {"pytest_agentbench"}


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_a_session_without_task_files_loads_nothing_of_ours(
    tmp_path: Path, workers: tuple[str, ...]
) -> None:
    """After a whole session without task files, neither pydantic nor yaml has been imported."""
    (tmp_path / "test_nothing.py").write_text(
        "import sys\n"
        "def test_modules():\n"
        f"    assert not set({HEAVY!r}) & set(sys.modules)\n"
        "    assert 'pytest_agentbench.plugin' in sys.modules\n"
        "    assert 'pytest_agentbench.engine' not in sys.modules\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:html", *workers],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_heavy_import_is_seen(tmp_path: Path) -> None:
    """Negative control: the model needs pydantic, and the check sees it."""
    assert "pydantic" in foreign(added_by("import pytest_agentbench.model.record", tmp_path))
