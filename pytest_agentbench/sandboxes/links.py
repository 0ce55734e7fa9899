"""Where a symlink leads, worked out on paper: no link is ever followed on disk. Pure."""

from __future__ import annotations

import posixpath
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
    ``shown`` are directories of the system that are at the same place, read-only,
    wherever the tree is taken: what leads there stays as well.
    """
    ahead: list[bytes] = []
    here = path.split(b"/")[:-1]
    link: bytes | None = target
    for hops in range(_MAX_HOPS + 1):
        if link is None:
            return None
        below = _below(link, inside) if link.startswith(b"/") else _parts(link)
        if below is None:
            if _leads(b"/".join([link, *ahead[::-1]]), shown):
                return None
            through = ", through another" if hops else ""
            return f"a symlink out of the workspace{through}: {_show(target)}"
        if link.startswith(b"/"):
            here = []
        ahead.extend(below[::-1])
        try:
            link = _next_link(here, ahead, targets)
        except ValueError:
            return f"a symlink out of the workspace: {_show(target)}"
    return None  # leads round in a circle, so nowhere


def _next_link(
    here: list[bytes], ahead: list[bytes], targets: Mapping[bytes, bytes]
) -> bytes | None:
    """Go on from ``here`` up to a link, and give its target; None at the end of the way.

    What lies ``ahead`` is in reverse order. Raises ``ValueError`` above the root.
    """
    while ahead:
        part = ahead.pop()
        if part == b"..":
            if not here:
                raise ValueError
            here.pop()
            continue
        here.append(part)
        link = targets.get(b"/".join(here))
        if link is not None:
            here.pop()
            return link
    return None


def _below(target: bytes, inside: bytes | None) -> list[bytes] | None:
    """The parts of an absolute target below ``inside``; None when it does not start there."""
    if inside is None:
        return None
    parts, start = _parts(target), _parts(inside)
    return parts[len(start) :] if parts[: len(start)] == start else None


def _leads(target: bytes, shown: Sequence[bytes]) -> bool:
    """Whether an absolute path lies, as it is written, below a directory that is shown."""
    parts = _parts(posixpath.normpath(target))
    return any(parts[: len(start)] == start for start in map(_parts, shown))


def _parts(path: bytes) -> list[bytes]:
    return [part for part in path.split(b"/") if part not in (b"", b".")]


def _show(path: bytes) -> str:
    return path.decode("utf-8", "backslashreplace")
