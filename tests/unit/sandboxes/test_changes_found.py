"""Templates, their copies, and what is found to differ from them."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_agentbench.errors import SandboxError, SetupError
from pytest_agentbench.model.contracts import Template
from pytest_agentbench.model.run import Change, ChangeKind, Changes, Entry, EntryKind
from pytest_agentbench.model.task import Blob, FileTree
from pytest_agentbench.sandboxes.linediff import count_lines, render_diff
from pytest_agentbench.sandboxes.manifest import compare, scan
from pytest_agentbench.sandboxes.workspace import (
    apply_changes,
    build_template,
    copy_template,
)


def template_of(tmp_path: Path, **files: str) -> Template:
    tree = FileTree(files={name.replace("__", "/"): text for name, text in files.items()})
    return build_template(tree, tmp_path / "template", where="sample")


def copy_of(template: Template, tmp_path: Path, name: str = "copy") -> Path:
    copy = tmp_path / name
    copy.mkdir()
    copy_template(template, copy)
    return copy


def test_a_copy_is_as_its_template(tmp_path: Path) -> None:
    """A fresh copy differs in nothing, executable bits and links included."""
    source = tmp_path / "source"
    (source / "d" / "empty").mkdir(parents=True)
    (source / "d" / "run").write_text("#!/bin/sh\n")
    (source / "d" / "run").chmod(0o700)
    (source / "link").symlink_to("d/run")
    (source / os.fsdecode(b"\xff")).write_bytes(b"\x00" * 3_000_000)
    template = build_template(
        FileTree(directory=source, files={"d/run2": "#!/bin/sh\n", "a": "x"}), tmp_path / "t"
    )
    copy = copy_of(template, tmp_path)
    assert compare(template.manifest, copy).empty
    assert sorted(template.manifest) == [
        b"a", b"d", b"d/empty", b"d/run", b"d/run2", b"link", b"\xff",
    ]  # fmt: skip
    assert [path for path, entry in template.manifest.items() if entry.executable] == [
        b"d/run", b"d/run2",
    ]  # fmt: skip
    assert scan(copy).entries == dict(template.manifest)


def test_the_digest_tells_templates_apart(tmp_path: Path) -> None:
    """Equal trees have equal digests wherever they lie; a mode alone makes another."""
    one = build_template({"a": Blob(b"x")}, tmp_path / "1")
    same = build_template({"a": Blob(b"x")}, tmp_path / "2")
    other = build_template({"a": Blob(b"x", executable=True)}, tmp_path / "3")
    assert one.digest == same.digest
    assert one.digest != other.digest


@pytest.mark.parametrize("how", ["itself", "hard link", "below a directory", "symlinked directory"])
def test_no_hidden_file_comes_along(tmp_path: Path, how: str) -> None:
    """A workspace that holds an oracle, by whatever link, cannot be built."""
    source, oracle = tmp_path / "source", tmp_path / "oracle"
    source.mkdir()
    oracle.mkdir()
    (oracle / "test_it.py").write_text("answer")
    hidden = [oracle]
    directory = source
    match how:
        case "itself":
            (source / "oracle.py").write_text("answer")
            hidden = [source / "oracle.py"]
        case "hard link":
            os.link(oracle / "test_it.py", source / "innocent.py")
        case "below a directory":
            directory = tmp_path
        case _:
            directory = tmp_path / "other"
            directory.symlink_to(oracle, target_is_directory=True)
    with pytest.raises(SetupError, match="must not see") as caught:
        build_template(
            FileTree(directory=directory),
            tmp_path.parent / f"{tmp_path.name}-t",
            hidden=hidden,
            where="fix",
        )
    assert str(caught.value).startswith("fix: ")


def test_a_workspace_without_hidden_files_is_built(tmp_path: Path) -> None:
    """Negative control: equal contents are not the same file."""
    source = tmp_path / "source"
    source.mkdir()
    (source / "a").write_text("answer")
    (tmp_path / "oracle").write_text("answer")
    hidden = [tmp_path / "oracle", tmp_path / "deleted-meanwhile"]
    assert build_template(FileTree(directory=source), tmp_path / "t", hidden=hidden).manifest


def test_what_cannot_be_copied_faithfully_is_named(tmp_path: Path) -> None:
    """Sockets, FIFOs and links that leave are told all at once."""
    source = tmp_path / "source"
    source.mkdir()
    os.mkfifo(source / "pipe")
    (source / "out").symlink_to("/etc/passwd")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(source / "sock"))
        with pytest.raises(SetupError) as caught:
            build_template(FileTree(directory=source), tmp_path / "t", where="fix")
    assert str(caught.value) == (
        "fix: the workspace cannot be copied: out: a symlink out of the workspace: /etc/passwd;"
        " pipe: a socket, device or FIFO; sock: a socket, device or FIFO"
    )


def test_a_missing_source_is_a_setup_error(tmp_path: Path) -> None:
    """A workspace directory that was deleted is named."""
    with pytest.raises(SetupError, match="gone"):
        build_template(FileTree(directory=tmp_path / "gone"), tmp_path / "t", where="fix")


NAMES = st.sampled_from([b"a", b"b", b"a-b", b"\xff", b"c d"])
PATHS = st.lists(NAMES, min_size=1, max_size=3).map(b"/".join)
THINGS = st.one_of(
    st.binary(max_size=3).map(lambda data: ("file", data)),
    st.just(("directory", b"")),
    st.sampled_from([b"a", b"b/c", b"."]).map(lambda target: ("symlink", target)),
)


def lay_out(root: Path, tree: dict[bytes, tuple[str, bytes]]) -> None:
    """Make what fits; a path below a file or link is left out."""
    for path, (kind, data) in sorted(tree.items()):
        place = root / os.fsdecode(path)
        above = [each for each in place.parents if each.is_relative_to(root)]
        if os.path.lexists(place) or any(
            each.is_symlink() or (each.exists() and not each.is_dir()) for each in above
        ):
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        if kind == "file":
            place.write_bytes(data)
        elif kind == "directory":
            place.mkdir()
        else:
            place.symlink_to(os.fsdecode(data))


@given(
    before=st.dictionaries(PATHS, THINGS, max_size=6),
    after=st.dictionaries(PATHS, THINGS, max_size=6),
)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_changes_over_a_copy_give_what_was_left(
    tmp_path_factory: pytest.TempPathFactory,
    before: dict[bytes, tuple[str, bytes]],
    after: dict[bytes, tuple[str, bytes]],
) -> None:
    """For any two trees: the changes between them, laid over the first, give the second."""
    base = tmp_path_factory.mktemp("trees")
    for name in ("source", "left"):
        (base / name).mkdir()
    lay_out(base / "source", before)
    lay_out(base / "left", after)
    template = build_template(FileTree(directory=base / "source"), base / "template")
    changes = compare(template.manifest, base / "left")
    assert changes.dropped == {}
    copy = copy_of(template, base)
    apply_changes(changes, copy)
    assert scan(copy).entries == scan(base / "left").entries


def test_forged_changes_write_through_no_symlink(tmp_path: Path) -> None:
    """A link put down first is no way out for the file that comes below it."""
    victim, left = tmp_path / "victim", tmp_path / "left"
    victim.mkdir()
    (left / "d").mkdir(parents=True)
    (left / "d" / "f").write_text("planted")
    copy = copy_of(template_of(tmp_path, a="x"), tmp_path)
    (copy / "d").symlink_to(victim)
    forged = Changes(
        left, (Change(b"d/f", ChangeKind.ADDED, Entry(EntryKind.FILE, size=7, digest="")),)
    )
    with pytest.raises(SandboxError):
        apply_changes(forged, copy)
    with pytest.raises(SandboxError):
        apply_changes(
            Changes(left, (Change(b"../f", ChangeKind.ADDED, Entry(EntryKind.FILE)),)), copy
        )
    assert list(victim.iterdir()) == []


def test_the_diff_is_for_people(tmp_path: Path) -> None:
    """Text files as a unified diff, others by name and size, dropped paths with their why."""
    template = template_of(tmp_path, text="one\ntwo\n", gone="bye", same="s\n", mode="m\n")
    left = copy_of(template, tmp_path)
    (left / "text").write_text("one\nthree")
    (left / "gone").unlink()
    (left / "bin").write_bytes(b"\x00\x01")
    (left / "mode").chmod(0o755)
    (left / "d").mkdir()
    (left / "out").symlink_to("/etc")
    changes = count_lines(template, compare(template.manifest, left))
    assert render_diff(template, changes, limit=10_000) == (
        "added bin (file, 2 bytes)\n"
        "added d (directory, 0 bytes)\n"
        "--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-bye\n\\ No newline at end of file\n"
        "modified mode (mode or emptiness only)\n"
        "--- a/text\n+++ b/text\n@@ -1,2 +1,2 @@\n one\n-two\n"
        "+three\n\\ No newline at end of file\n"
        "dropped out: a symlink out of the workspace: /etc\n"
    )
    assert (changes.lines_added, changes.lines_removed) == (1, 2)
    assert changes.lines == {b"gone": (0, 1), b"mode": (0, 0), b"text": (1, 1)}
    assert render_diff(template, changes, limit=60) == (
        "added bin (file, 2 bytes)\nadded d (directory, 0 bytes)\n"
        "[... 3 more changed paths left out ...]\n"
        "dropped out: a symlink out of the workspace: /etc\n"
    )


def test_a_long_rewrite_is_counted_without_a_search(tmp_path: Path) -> None:
    """Thousands of changed lines are counted as replaced, at once."""
    template = template_of(tmp_path, text="".join(f"{n}\n" for n in range(20_000)))
    left = copy_of(template, tmp_path)
    (left / "text").write_text("".join(f"{n}\n" for n in reversed(range(20_000))))
    changes = count_lines(template, compare(template.manifest, left))
    assert (changes.lines_added, changes.lines_removed) == (20_000, 20_000)
    assert render_diff(template, changes, limit=1000) == (
        "modified text: about 20000 lines added, 20000 removed\n"
    )
