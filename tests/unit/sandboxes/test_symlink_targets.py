"""Where symlinks lead, told from their targets alone."""

from __future__ import annotations

import pytest

from pytest_agentbench.sandboxes.links import leaves


@pytest.mark.parametrize(
    ("path", "target"),
    [
        (b"a", b"b"),
        (b"d/a", b"../b"),
        (b"d/a", b"./x/../b"),
        (b"a", b"nowhere/at/all"),
        (b"a", b"."),
        (b"d/e/a", b"../../x"),
    ],
)
def test_a_link_within_its_tree_stays(path: bytes, target: bytes) -> None:
    """Relative links that end below the root stay, dangling ones too."""
    assert leaves(path, target, {path: target}, None) is None


@pytest.mark.parametrize(
    ("path", "target"),
    [
        (b"a", b"/etc/passwd"),
        (b"a", b".."),
        (b"d/a", b"../../x"),
        (b"a", b"x/../../y"),
        (b"a", b"/"),
    ],
)
def test_a_link_out_of_its_tree_is_told(path: bytes, target: bytes) -> None:
    """Absolute links, and links that climb above the root, leave."""
    why = leaves(path, target, {path: target}, None)
    assert why == f"a symlink out of the workspace: {target.decode()}"


def test_a_link_through_another_is_followed_on_paper() -> None:
    """A middle part that is a link itself counts with where it leads."""
    targets = {b"deep": b"one/two", b"out": b"/etc", b"ok": b"deep/../x"}
    assert leaves(b"a", b"deep/../../x", targets, None) is None
    assert leaves(b"a", b"deep/../../../x", targets, None) is not None
    assert leaves(b"a", b"out/passwd", targets, None) == (
        "a symlink out of the workspace, through another: out/passwd"
    )


def test_a_link_round_in_a_circle_leads_nowhere() -> None:
    """A loop is kept: nothing can be reached through it."""
    targets = {b"a": b"b", b"b": b"a"}
    assert leaves(b"a", b"b", targets, None) is None


def test_an_absolute_link_into_the_workspace_stays_where_its_place_is_fixed() -> None:
    """``/workspace/x`` stays in a sandbox that always has its workspace there."""
    assert leaves(b"a", b"/workspace/x/y", {}, b"/workspace") is None
    assert leaves(b"a", b"/workspace2/x", {}, b"/workspace") is not None
    assert leaves(b"a", b"/workspace/../etc", {}, b"/workspace") is not None


SHOWN = (b"/usr", b"/opt/py")


@pytest.mark.parametrize(
    "target",
    [b"/usr", b"/usr/bin/python3", b"/opt/py/lib/../bin/python", b"//usr/./bin", b"in/x", b"in"],
)
def test_a_link_to_what_is_shown_everywhere_stays(target: bytes) -> None:
    """A target below such a root stays, also through another link, and however it is written."""
    targets = {b"in": b"/opt/py/bin"}
    assert leaves(b"d", target, targets, b"/workspace", SHOWN) is None


@pytest.mark.parametrize(
    "target",
    [
        b"/usr/../etc/passwd",
        b"/usrlocal",
        b"/opt",
        b"/",
        b"/etc",
        b"../usr/bin",
        b"in/../../../etc",
    ],
)
def test_a_link_beside_what_is_shown_leaves(target: bytes) -> None:
    """A root is no prefix of letters, cannot be climbed out of, and is not reached by ``..``."""
    targets = {b"in": b"/opt/py/bin"}
    assert leaves(b"d", target, targets, b"/workspace", SHOWN) is not None
