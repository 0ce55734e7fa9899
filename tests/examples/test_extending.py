"""The example of an agent, a sandbox and an oracle of one's own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_agentbench.model.record import Record

PYTEST = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")


@pytest.fixture(params=[(), ("-n", "2")], ids=["one-process", "xdist"])
def workers(request: pytest.FixtureRequest) -> tuple[str, ...]:
    arguments: tuple[str, ...] = request.param
    return arguments


@pytest.fixture
def installed(repository: Path, tmp_path: Path) -> Path:
    """The agent's package as pip leaves it: its modules, and its entry points beside them."""
    package = repository / "examples" / "extending" / "shouter"
    home = tmp_path / "site"
    shutil.copytree(package / "src" / "shouter", home / "shouter")
    metadata = home / "agentbench_shouter-0.1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: agentbench-shouter\n")
    (metadata / "entry_points.txt").write_text(entry_points(package / "pyproject.toml"))
    return home


def entry_points(project: Path) -> str:
    import tomllib  # noqa: PLC0415 - with the fixture

    groups = tomllib.loads(project.read_text())["project"]["entry-points"]
    return "".join(
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in points.items())
        for group, points in groups.items()
    )


def run(repository: Path, installed: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    # Not what the pytest around us says to its own workers.
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    paths = [str(installed), *filter(None, [env.get("PYTHONPATH")])]
    return subprocess.run(
        [*PYTEST, *arguments],
        cwd=repository / "examples" / "extending",
        env={**env, "PYTHONPATH": os.pathsep.join(paths), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def records(results: Path) -> dict[str, Record]:
    lines = (results / "latest" / "records.jsonl").read_text().splitlines()
    found = [Record.model_validate_json(line) for line in lines]
    return {record.key: record for record in found}


def test_solutions_pass_and_the_agent_solves_one(
    repository: Path, installed: Path, tmp_path: Path, workers: tuple[str, ...]
) -> None:
    """The reference passes both tasks; the agent, which only shouts, passes the shorter one."""
    done = run(repository, installed, "tasks", f"--agentbench-results={tmp_path}", *workers)
    assert done.returncode == 1, done.stdout + done.stderr
    found = records(tmp_path)
    assert {key: str(record.outcome) for key, record in found.items()} == {
        "level[reference-r1]": "passed",
        "level[shouter-r1]": "passed",
        "longer[reference-r1]": "passed",
        "longer[shouter-r1]": "failed",
    }
    record = found["longer[shouter-r1]"]
    assert record.sandbox is not None
    assert (record.agent, record.sandbox.driver) == ("shouter", "frugal")
    assert record.usage.turns == 1
    assert record.oracles[0].reason == "5 letters, 10 are wanted"


def test_nothing_fails(
    repository: Path, installed: Path, tmp_path: Path, workers: tuple[str, ...]
) -> None:
    """Doing nothing passes no task."""
    asked = ("--agentbench-agent=noop", f"--agentbench-results={tmp_path}")
    done = run(repository, installed, "tasks", *asked, *workers)
    assert done.returncode == 1, done.stdout + done.stderr
    assert {str(record.outcome) for record in records(tmp_path).values()} == {"failed"}


def test_its_own_tests_pass(repository: Path, installed: Path, workers: tuple[str, ...]) -> None:
    """The suites find nothing wrong with the three classes."""
    done = run(repository, installed, "tests", *workers)
    assert done.returncode == 0, done.stdout + done.stderr
    assert " failed" not in done.stdout
