"""What must not stand in any file of the project."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

# Written in pieces, or this file would accuse itself.
MACHINE = re.compile(
    "|".join(
        (
            r"/" + r"work" + r"/(?:main|shared|\.library)\b",
            r"/opt/" + r"(?:v|wheels|pypi)/",
            r"/" + r"root" + r"/\.(?:pyenv|config|cache)",
            r"(?:files\.python" + r"hosted|//pypi\." + r"org|registry\." + r"npmjs)",
        )
    )
)


def tracked(repository: Path) -> list[Path]:
    done = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=repository,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        pytest.skip(f"needs a git checkout: {done.stderr.strip()}")
    names = (repository / name for name in done.stdout.split("\0") if name)
    return [path for path in names if path.is_file() and not path.is_symlink()]


def test_no_file_names_a_machine(repository: Path) -> None:
    """No path of one machine and no registry's address stands in a file of the project."""
    found = []
    for path in tracked(repository):
        text = path.read_bytes().decode("utf-8", "replace")
        found += [f"{path.relative_to(repository)}: {hit[0]}" for hit in MACHINE.finditer(text)]
    assert found == []


def test_no_test_module_shares_a_name(repository: Path) -> None:
    """Basenames of test modules are unique: pytest imports them by path, people by name."""
    names = [path.name for path in (repository / "tests").rglob("test_*.py")]
    assert sorted({name for name in names if names.count(name) > 1}) == []


def test_a_machine_path_is_seen() -> None:
    """Negative control: the pattern finds what it is meant to find."""
    assert MACHINE.search("cd /" + "work" + "/main && ls")
    assert not MACHINE.search("cd /workspace && ls ~/.pyenv")
