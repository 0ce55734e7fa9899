"""The pages that tell a story are told as they say: files written, commands run, outputs alike."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
import yaml
from docpages import ROOT, STORIES, blocks_of, commands_of, is_said, said_by, write

from pytest_agentbench.cli import main
from requirements import require

SHOWN = {"README.md": "repository", "docs/reference/commands.md": "init"}
"""Pages whose console blocks alone are run, and the project that they are run in."""

ELSEWHERE = {"docs/how-to/extend.md", "docs/reference/hooks.md"}
"""Pages whose blocks the tests of hooks and third parties run."""

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def tell(page: Path, directory: Path, *, files: bool = True) -> list[str]:
    """Go through a page; where a command says something else, both are in the answer."""
    wrong = []
    for block in blocks_of(page):
        if block.file and files:
            write(directory, block.file, block.text)
        for command in commands_of(block) if block.language == "console" else ():
            output = said_by(command.line, directory)
            if not is_said(command.output, output):
                expected = "\n".join(command.output)
                wrong.append(f"{block.place}: $ {command.line}\n{output}\n--- not:\n{expected}")
    return wrong


def prepare(project: str, directory: Path) -> None:
    """The project that a page's commands are run in: what ``init`` writes, or the repository's."""
    if project == "init":
        assert main(["init", str(directory)]) == 0
        return
    for name in ("tasks", "experiments"):
        shutil.copytree(ROOT / name, directory / name)
    for name in ("agentbench.yaml", "pyproject.toml"):
        shutil.copy(ROOT / name, directory / name)


@pytest.mark.parametrize("page", STORIES, ids=name_of)
def test_stories_are_true(page: Path, tmp_path: Path) -> None:
    """Every command of a tutorial or guide prints what the page shows."""
    require("bubblewrap")
    wrong = tell(page, tmp_path)
    assert not wrong, "\n\n".join(wrong)


@pytest.mark.parametrize("page", SHOWN)
def test_shown_sessions_are_true(
    page: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """So does every session that a page shows of a project that it does not write."""
    require("bubblewrap")
    prepare(SHOWN[page], tmp_path)
    capsys.readouterr()
    wrong = tell(ROOT / page, tmp_path, files=False)
    assert not wrong, "\n\n".join(wrong)


def test_a_wrong_output_is_seen(tmp_path: Path) -> None:
    """Negative control: other output, missing output and too much output are not alike."""
    page = tmp_path / "page.md"
    page.write_text(
        "`a.txt`:\n\n```text\none\ntwo\n```\n\n```console\n$ cat a.txt\none\ntwo\n```\n"
    )
    file, session = blocks_of(page)
    write(tmp_path, file.file, file.text)
    (command,) = commands_of(session)
    output = said_by(command.line, tmp_path)
    assert is_said(command.output, output)
    assert is_said(("...", "two"), output)
    assert is_said(("o...", "two"), output)
    assert not is_said(("one", "three"), output)
    assert not is_said(("one",), output)
    assert not is_said(("one", "two", "three"), output)
    assert is_said(("in 0.10s", "=" * 9), f"in 12.34s\n{'=' * 30}\n")
    assert not is_said(("1 failed in 0.10s",), "2 failed in 0.10s\n")


def test_no_session_is_left_out() -> None:
    """Every console block stands on a page whose sessions are run."""
    run = {*map(name_of, STORIES), *SHOWN, *ELSEWHERE}
    found = {
        name_of(page)
        for page in PAGES
        for block in blocks_of(page)
        if block.language == "console" or re.search(r"^\$ ", block.text, re.MULTILINE)
    }
    assert found - run == set()
    assert {"README.md", "docs/tutorial/first-task.md"} <= found


def test_no_block_of_a_story_is_left_out() -> None:
    """A block of a story is a file, a session, or one of the few that are told why not."""
    loose = [
        (block.place.partition(":")[0], block.language, block.mark)
        for page in STORIES
        for block in blocks_of(page)
        if not block.file and block.language != "console"
    ]
    assert loose == [
        ("docs/tutorial/first-task.md", "sh", ""),  # installs packages
        ("docs/how-to/gate-pull-requests.md", "yaml", "workflow"),  # see the next test
    ]


def test_the_workflow_is_that_of_init(tmp_path: Path) -> None:
    """The steps that the guide to CI shows are steps of the workflow that ``init`` writes."""
    assert main(["init", str(tmp_path)]) == 0
    written = yaml.safe_load((tmp_path / ".github/workflows/agentbench.yml").read_text())
    (job,) = written["jobs"].values()
    page = ROOT / "docs" / "how-to" / "gate-pull-requests.md"
    (block,) = [block for block in blocks_of(page) if block.mark == "workflow"]
    shown = yaml.safe_load(block.text)
    assert shown
    assert [step for step in shown if step not in job["steps"]] == []


def test_every_python_block_compiles() -> None:
    """No Python block has a mistake of syntax, on whatever page it stands."""
    found = [block for page in PAGES for block in blocks_of(page) if block.language == "python"]
    for block in found:
        compile(block.text, block.place, "exec")
    assert len(found) > 5
