"""Where a symlink leads, worked out on paper: no link is ever followed on disk. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

_MAX_HOPS = 40  # as the kernel has it


def leaves(
    path: bytes,
    target: bytes,
    targets: Mapping[bytes, bytes],
    inside: bytes | None,
    shown: Sequence[bytes] = (),
) -> str | None:
    """Why a link at ``path`` leads out of its tree; None when it stays (or leads nowhere).

    ``targets`` are all links of the tree. ``inside`` is the absolute path under
    which the tree is known to those who made the links, if that path will do.
    """
    ahead = _parts(target)[::-1]
    here = path.split(b"/")[:-1]
    if target.startswith(b"/"):
        below = _below(target, inside)
        if below is None:
            return f"a symlink out of the workspace: {_show(target)}"
        ahead, here = below[::-1], []
    hops = 0
    while ahead:
        part = ahead.pop()
        if part == b"..":
            if not here:
                return f"a symlink out of the workspace: {_show(target)}"
            here.pop()
            continue
        here.append(part)
        middle = targets.get(b"/".join(here))
        if middle is None:
            continue
        hops += 1
        if hops > _MAX_HOPS:
            return None  # leads round in a circle, so nowhere
        here.pop()
        if middle.startswith(b"/"):
            below = _below(middle, inside)
            if below is None:
                return f"a symlink out of the workspace, through another: {_show(target)}"
            here = []
        else:
            below = _parts(middle)
        ahead.extend(below[::-1])
    return None


def _below(target: bytes, inside: bytes | None) -> list[bytes] | None:
    """The parts of an absolute target below ``inside``; None when it does not start there."""
    if inside is None:
        return None
    parts, start = _parts(target), _parts(inside)
    return parts[len(start) :] if parts[: len(start)] == start else None


def _parts(path: bytes) -> list[bytes]:
    return [part for part in path.split(b"/") if part not in (b"", b".")]


def _show(path: bytes) -> str:
    return path.decode("utf-8", "backslashreplace")
