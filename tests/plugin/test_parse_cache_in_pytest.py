"""Sessions that parse task files once, and what they leave in the user's cache directory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from projects import Project
from pytest_agentbench.taskfiles import cachefile
from pytest_agentbench.taskfiles.cachefile import CacheFile, Kept, digest_of
from requirements import require

FILLER = "# " + "x" * cachefile.WORTH_BYTES + "\n"
TASK = FILLER + 'id: written\nprompt: Do it.\noracles: [{run: ["true"]}]\n'


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's cache directory."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "pytest-agentbench" / "parsed"


def collected(project: Project, *arguments: str) -> list[str]:
    """The node ids that a session collects."""
    result = project.run("--co", "-q", "-p", "no:cacheprovider", *arguments)
    return [line for line in result.outlines if "::" in line]


def test_a_session_uses_what_an_earlier_one_has_parsed(project: Project, cache: Path) -> None:
    """What is kept under the digest of the file is what is collected; pytest's cache is off."""
    project.write("tasks/one.task.yaml", TASK)
    right = collected(project, "tasks/one.task.yaml")
    assert right == ["tasks/one.task.yaml::written[reference-r1]"]
    (file,) = cache.iterdir()
    # No way to tell where data came from but to keep other data.
    kept = CacheFile(file).get(digest_of(TASK.encode()))
    assert kept is not None
    planted = CacheFile(file)
    planted.put(digest_of(TASK.encode()), Kept({**kept.data, "id": "kept"}, kept.spots), 1 << 20)
    planted.save()
    assert collected(project, "tasks/one.task.yaml") == ["tasks/one.task.yaml::kept[reference-r1]"]
    project.write("tasks/one.task.yaml", TASK + "# changed\n")
    assert collected(project, "tasks/one.task.yaml") == right


@pytest.mark.parametrize(
    "damage",
    [
        lambda file: file.write_bytes(file.read_bytes()[:-100]),
        lambda file: file.write_bytes(file.read_bytes().replace(b"true", b"fals")),
        lambda file: file.chmod(0o666),
    ],
    ids=["cut", "changed", "open-to-all"],
)
def test_a_damaged_cache_is_not_noticed(
    project: Project, cache: Path, workers: tuple[str, ...], damage: Callable[[Path], None]
) -> None:
    """The same trials run with the same outcomes, in one process and in several."""
    project.write("tasks/one.task.yaml", TASK)
    for _ in range(2):
        result = project.run("-p", "no:cacheprovider", "tasks/one.task.yaml", *workers)
        result.assert_outcomes(errors=1)
        result.stdout.fnmatch_lines(["*no solution*"])
        (file,) = cache.iterdir()
        damage(file)


def test_an_unwritable_cache_is_not_noticed(project: Project, cache: Path) -> None:
    """A home that cannot be written to costs time, and nothing else."""
    cache.parent.parent.mkdir()
    cache.parent.write_text("")
    project.write("tasks/one.task.yaml", TASK)
    for _ in range(2):
        assert collected(project, "tasks/one.task.yaml", "-W", "error") == [
            "tasks/one.task.yaml::written[reference-r1]"
        ]
    assert cache.parent.read_text() == ""


def test_nothing_is_kept_without_task_files(pytester: pytest.Pytester, cache: Path) -> None:
    """A session without task files makes no directory."""
    pytester.makepyfile("def test_one():\n    pass\n")
    pytester.runpytest_subprocess("-q").assert_outcomes(passed=1)
    assert not cache.parent.exists()


def test_no_agent_sees_the_cache(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was parsed holds the oracles: it is hidden also below what a task shows."""
    require("bubblewrap")
    shown = tmp_path / "shown"
    monkeypatch.setenv("XDG_CACHE_HOME", str(shown / "cache"))
    shown.mkdir()
    (shown / "tool").touch()
    word = "tell-no-agent"
    project.write("pytest.ini", "[pytest]\n")
    project.write(
        "agentbench.yaml",
        "variants:\n  spy:\n    agent: command\n"
        f"    options: {{run: 'ls {shown} > seen; cat $(find {shown} -type f) >> seen'}}\n",
    )
    project.write(
        "tasks/one.task.yaml",
        f"{FILLER}id: one\nprompt: Look.\nsandbox: {{read_only: ['{shown}']}}\n"
        f"oracles: [{{run: 'grep -qx tool seen && ! grep -q {word} seen'}}]\n",
    )
    for _ in range(2):
        project.run("tasks/one.task.yaml").assert_outcomes(passed=1)
    (kept,) = (shown / "cache" / "pytest-agentbench" / "parsed").iterdir()
    assert word in kept.read_text()
