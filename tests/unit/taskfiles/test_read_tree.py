"""Trees of files read into memory."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from pytest_agentbench.errors import SetupError
from pytest_agentbench.model.task import Blob, FileTree
from pytest_agentbench.sandboxes.blobs import read_tree


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A directory with a file, a program and a deeper file."""
    root = tmp_path / "tree"
    (root / "deep").mkdir(parents=True)
    (root / "b").write_bytes(b"\x00\xff\r\n")
    (root / "run.sh").write_text("#!/bin/sh\n")
    (root / "run.sh").chmod(0o755)
    (root / "deep" / "a").write_text("a")
    return root


def read(root: Path) -> dict[str, Blob]:
    """The files of a directory."""
    return read_tree(FileTree(root), where="assets")


def test_files(tree: Path) -> None:
    """All bytes and executable bits arrive, in name order."""
    found = read(tree)
    assert list(found.items()) == [
        ("b", Blob(b"\x00\xff\r\n")),
        ("deep/a", Blob(b"a")),
        ("run.sh", Blob(b"#!/bin/sh\n", executable=True)),
    ]


def test_inline_wins(tree: Path) -> None:
    """Inline texts lie over the directory, as UTF-8 with their line ends; scripts can be run."""
    found = read_tree(FileTree(tree, {"b": "é\r\n", "c/d": "#!/bin/sh\n"}), where="assets")
    assert found["b"] == Blob("é\r\n".encode())
    assert found["c/d"] == Blob(b"#!/bin/sh\n", executable=True)


def test_nothing() -> None:
    """An empty tree has no files."""
    assert read_tree(FileTree(), where="assets") == {}


def test_symlinks_inside(tree: Path) -> None:
    """Symlinks that stay in the tree become what they point to, files and directories."""
    (tree / "link").symlink_to("deep/a")
    (tree / "dir").symlink_to("deep")
    found = read(tree)
    assert found["link"] == found["dir/a"] == Blob(b"a")


@pytest.mark.parametrize(
    ("target", "what"),
    [
        ("/etc/hostname", "the symlink 'link' leaves the directory"),
        ("../outside", "the symlink 'link' leaves the directory"),
        (".", "the symlink 'link' leads back to its own directory"),
        ("gone", "'link' cannot be read: No such file or directory"),
        ("link", "'link' cannot be read: Too many levels of symbolic links"),
    ],
)
def test_bad_symlinks(tree: Path, target: str, what: str) -> None:
    """Symlinks that leave the tree, lead in a circle or nowhere are refused."""
    (tree.parent / "outside").write_text("secret")
    (tree / "link").symlink_to(target)
    with pytest.raises(SetupError) as caught:
        read(tree)
    assert caught.value.what == what
    assert caught.value.where == "assets"


def test_special_files(tree: Path) -> None:
    """A FIFO is refused and not waited for; a socket too."""
    os.mkfifo(tree / "pipe")
    with pytest.raises(SetupError, match="'pipe' is neither a file nor a directory"):
        read(tree)
    (tree / "pipe").unlink()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.fspath(tree / "s"))
        with pytest.raises(SetupError, match="'s' is neither a file nor a directory"):
            read(tree)


def test_name_that_is_not_text(tree: Path) -> None:
    """A name that is not UTF-8 is refused with an advice."""
    os.close(os.open(os.fsencode(tree) + b"/x\xff", os.O_CREAT))
    with pytest.raises(SetupError) as caught:
        read(tree)
    assert str(caught.value) == "assets: the file name 'x\\xff' is not UTF-8. Try: rename it"


def test_missing_directory(tmp_path: Path) -> None:
    """A directory that is gone is an error with its path."""
    with pytest.raises(SetupError, match="gone cannot be read: No such file or directory"):
        read(tmp_path / "gone")


def test_too_large(tree: Path) -> None:
    """A tree over the limit is refused before it is read."""
    with (tree / "huge").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(SetupError, match="more than 1,073,741,824 bytes"):
        read(tree)


def test_file_and_directory_of_one_name(tree: Path) -> None:
    """An inline file below what is a file on disk is refused."""
    with pytest.raises(SetupError, match="'b' is a file and also the directory of 'b/c'"):
        read_tree(FileTree(tree, {"b/c": ""}), where="assets")
