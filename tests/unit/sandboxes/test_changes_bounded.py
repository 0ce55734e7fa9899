"""What an agent left is compared, counted and carried with bounded work."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_agentbench.errors import SandboxError
from pytest_agentbench.model.contracts import Template
from pytest_agentbench.model.digest import digest_bytes
from pytest_agentbench.model.run import Change, ChangeKind, Changes, Entry, EntryKind
from pytest_agentbench.model.task import Blob
from pytest_agentbench.sandboxes.area import remove_tree
from pytest_agentbench.sandboxes.linediff import count_lines, render_diff
from pytest_agentbench.sandboxes.manifest import compare
from pytest_agentbench.sandboxes.workspace import (
    apply_changes,
    build_template,
    copy_template,
    list_template,
)

HANG_S = 20.0


def template_of(tmp_path: Path, **files: bytes) -> Template:
    return build_template({name: Blob(data) for name, data in files.items()}, tmp_path / "template")


def left_of(template: Template, tmp_path: Path) -> Path:
    left = tmp_path / "left"
    left.mkdir()
    copy_template(template, left)
    return left


def test_only_what_may_be_equal_is_digested(tmp_path: Path) -> None:
    """A digest is had where the template has a file of the same size; else size tells enough."""
    template = template_of(tmp_path, same=b"12", changed=b"12", longer=b"12", link=b"12", bit=b"12")
    left = left_of(template, tmp_path)
    (left / "changed").write_bytes(b"21")
    (left / "bit").chmod(0o755)
    (left / "longer").write_bytes(b"123")
    (left / "link").unlink()
    (left / "link").symlink_to("zz")
    (left / "added").touch()
    os.truncate(left / "added", 400 << 30)
    changes = compare(template.manifest, left)
    assert [(one.path, one.entry) for one in changes.changes] == [
        (b"added", Entry(EntryKind.FILE, size=400 << 30)),
        (b"bit", Entry(EntryKind.FILE, executable=True, size=2, digest=digest_bytes(b"12"))),
        (b"changed", Entry(EntryKind.FILE, size=2, digest=digest_bytes(b"21"))),
        (b"link", Entry(EntryKind.SYMLINK, size=2, digest=digest_bytes(b"zz"))),
        (b"longer", Entry(EntryKind.FILE, size=3)),
    ]


def test_the_bytes_to_carry_are_summed(tmp_path: Path) -> None:
    """Every added or modified file counts with its apparent size, each hard link for itself."""
    template = template_of(tmp_path, gone=b"12345", kept=b"12345", grown=b"1")
    left = left_of(template, tmp_path)
    (left / "gone").unlink()
    (left / "grown").write_bytes(b"1234567")
    (left / "hole").touch()
    os.truncate(left / "hole", 1000)
    os.link(left / "hole", left / "hole2")
    (left / "link").symlink_to("grown")
    assert compare(template.manifest, left).size_bytes == 7 + 1000 + 1000 + len("grown")
    assert Changes(left).size_bytes == 0


def test_holes_stay_holes(tmp_path: Path) -> None:
    """A sparse file is copied with its data at its places, and takes no more room than before."""
    template = template_of(tmp_path)
    left = left_of(template, tmp_path)
    with (left / "sparse").open("wb") as file:
        file.write(b"head")
        for place in (3 << 20, 64 << 20):
            file.seek(place)
            file.write(b"piece" * 300_000)
        file.truncate(2 << 30)
    (left / "hole").touch()
    os.truncate(left / "hole", 5 << 20)
    copy = tmp_path / "copy"
    copy.mkdir()
    apply_changes(compare(template.manifest, left), copy)
    about = (copy / "sparse").stat()
    assert about.st_size == 2 << 30
    assert about.st_blocks <= (left / "sparse").stat().st_blocks + 64
    assert (copy / "hole").stat().st_size == 5 << 20
    with (left / "sparse").open("rb") as ours, (copy / "sparse").open("rb") as theirs:
        assert ours.read(80 << 20) == theirs.read(80 << 20)


def test_a_copy_can_be_stopped(tmp_path: Path) -> None:
    """Once told, copying ends before the next file, and within one."""
    template = template_of(tmp_path, a=b"1", b=b"2")
    left = left_of(template, tmp_path)
    (left / "c").write_bytes(b"x" * (9 << 20))
    asked = iter([False, False, False, True])
    changes = compare(template.manifest, left)
    works: list[Callable[[Path], None]] = [
        lambda target: copy_template(template, target, stopped=lambda: True),
        lambda target: apply_changes(changes, target, stopped=lambda: next(asked)),
    ]
    for work in works:
        target = Path(tempfile.mkdtemp(dir=tmp_path))
        with pytest.raises(SandboxError, match="stopped"):
            work(target)
        assert sum(path.stat().st_size for path in target.iterdir()) < 9 << 20


@pytest.mark.parametrize("how", ["removed", "file", "symlink"])
def test_a_root_that_is_gone_is_not_needed(tmp_path: Path, how: str) -> None:
    """Deletions need nothing of the workspace: all was deleted, and is counted and shown."""
    template = template_of(tmp_path, a=b"1\n", b=b"2\n")
    left = tmp_path / "left"
    (tmp_path / "victim").mkdir()
    (tmp_path / "victim" / "a").write_text("host\n")
    match how:
        case "file":
            left.touch()
        case "symlink":
            left.symlink_to(tmp_path / "victim")
        case _:
            pass
    changes = count_lines(template, compare(template.manifest, left))
    assert [(one.path, one.kind) for one in changes.changes] == [
        (b"a", ChangeKind.DELETED),
        (b"b", ChangeKind.DELETED),
    ]
    assert list(changes.dropped) == ["."]
    assert changes.lines_removed == 2
    assert "-1\n" in render_diff(template, changes, limit=9999)
    copy = tmp_path / "copy"
    copy.mkdir()
    copy_template(template, copy)
    apply_changes(changes, copy)
    assert list(copy.iterdir()) == []
    forged = Changes(left, (Change(b"a", ChangeKind.MODIFIED, Entry(EntryKind.FILE, size=9)),))
    assert count_lines(template, forged).lines_added is None
    assert render_diff(template, forged, limit=9999) == "modified a (file, 9 bytes)\n"
    with pytest.raises(SandboxError):
        apply_changes(forged, copy)


def test_a_closed_workspace_is_still_compared() -> None:
    """An agent that takes all permissions off its workspace has not deleted it."""
    base = Path(tempfile.mkdtemp())
    uid = os.geteuid()
    try:
        template = template_of(base, a=b"1")
        left = left_of(template, base)
        left.chmod(0)
        if uid == 0:
            for path in (base, left, left / "a"):
                os.chown(path, 65534, 65534)
            os.seteuid(65534)
        assert compare(template.manifest, left).empty
    finally:
        os.seteuid(uid)
        remove_tree(base)


def test_lines_that_are_hard_to_match_are_not_matched_for_ever(tmp_path: Path) -> None:
    """Hundreds of files made so that the search is slow cost a second or two at most."""
    old = "".join(f"x\n{n}\n" for n in range(500)).encode()
    new = "".join(f"y{n}\nx\n" for n in reversed(range(99))).encode()
    template = template_of(tmp_path, **{f"f{n}": old for n in range(300)}, z=b"one\n")
    left = left_of(template, tmp_path)
    for n in range(300):
        (left / f"f{n}").write_bytes(new)
    began = time.monotonic()
    changes = count_lines(template, compare(template.manifest, left))
    assert changes.lines_removed is not None
    assert 300 * 800 < changes.lines_removed <= 300 * 1000
    text = render_diff(template, changes, limit=10_000_000)
    assert text.endswith("modified f99: about 198 lines added, 1000 removed\n")
    assert time.monotonic() - began < HANG_S


def test_a_small_change_of_a_long_file_is_shown_in_its_place(tmp_path: Path) -> None:
    """Only the lines around the change are searched; their numbers are those of the file."""
    lines = [f"{n % 7}\n" for n in range(100_000)]
    template = template_of(tmp_path, text="".join(lines).encode())
    left = left_of(template, tmp_path)
    lines[50_000] = "changed\n"
    lines[50_010] = "too\n"
    (left / "text").write_text("".join(lines))
    began = time.monotonic()
    text = render_diff(template, compare(template.manifest, left), limit=10_000)
    assert time.monotonic() - began < HANG_S
    assert text == (
        "--- a/text\n+++ b/text\n"
        "@@ -49998,7 +49998,7 @@\n 3\n 4\n 5\n-6\n+changed\n 0\n 1\n 2\n"
        "@@ -50008,7 +50008,7 @@\n 6\n 0\n 1\n-2\n+too\n 3\n 4\n 5\n"
    )


def test_what_never_had_lines_is_counted_as_none(tmp_path: Path) -> None:
    """A removed symlink or empty directory leaves no line unknown; a binary file does."""
    template = template_of(tmp_path, text=b"one\n", binary=b"\0")
    (template.directory / "link").symlink_to("text")
    (template.directory / "empty").mkdir()
    template = replace(template, manifest=list_template(template.directory, where="here").entries)
    left = left_of(template, tmp_path)
    for name in ("text", "binary", "link"):
        (left / name).unlink()
    (left / "empty").rmdir()
    counted = count_lines(template, compare(template.manifest, left))
    assert counted.lines == {b"text": (0, 1), b"link": (0, 0), b"empty": (0, 0)}
