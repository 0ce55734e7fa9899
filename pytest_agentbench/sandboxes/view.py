"""What a bubblewrap sandbox shows of the host, and what it masks of that.

As root inside a user namespace every file of root's stays readable, so nothing is
shown that is not needed: of /etc a handful of entries, of a home directory at most
the base interpreter that lies in it.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pytest_agentbench.errors import SandboxError
from pytest_agentbench.sandboxes.furniture import BOUND, Furniture
from pytest_agentbench.sandboxes.kernelfiles import covers
from pytest_agentbench.sandboxes.runtime import Interpreter

_SYSTEM = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")

_PACKAGES = (
    "lib*/python*/site-packages",
    "lib*/python*/dist-packages",
    "local/lib*/python*/site-packages",
    "local/lib*/python*/dist-packages",
    "lib/pypy*/site-packages",
)
_CONDA = ("envs", "pkgs")


@dataclass(slots=True)
class View:
    """Mounts by their path inside; a later one lies over what an earlier one shows."""

    mounts: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def show(
        self, source: str | Path, inside: str | None = None, *, writable: bool = False
    ) -> None:
        """Bind a host path; wins over a mask at the same place."""
        place = inside or str(source)
        self.mounts[place] = ("--bind" if writable else "--ro-bind", str(source), place)

    def show_processes(self) -> None:
        """A /proc and a /dev of the sandbox's own; of the machine's settings none to write."""
        self.mounts["/proc"] = ("--proc", "/proc")
        self.mounts |= covers()
        self.mounts["/dev"] = ("--dev", "/dev")

    def mask(self, place: str, nothing: str) -> None:
        """Cover a host directory, or file, that lies below something shown."""
        if place not in self.mounts:
            covered = ("--tmpfs", place) if os.path.isdir(place) else ("--ro-bind", nothing, place)
            self.mounts[place] = covered

    def shows(self, place: str) -> bool:
        """Whether a host path can be seen at its own place."""
        here = place
        while here != "/":
            mount = self.mounts.get(here)
            if mount is not None:
                return mount[0] in ("--ro-bind", "--bind") and mount[1] == here
            here = os.path.dirname(here)
        return False

    def arguments(self, more: Mapping[str, tuple[str, ...]]) -> list[str]:
        """The mounts as arguments of bwrap, outer places before inner ones."""
        mounts = self.mounts | dict(more)
        ordered = sorted(mounts, key=lambda place: (place.count("/"), place))
        found = [word for place in ordered for word in mounts[place]]
        for place in ordered:
            if mounts[place][0] == "--tmpfs" and place in self.mounts:
                found += ["--remount-ro", place]
        return found


def view_of(
    interpreter: Interpreter,
    *,
    network: bool,
    read_only: Iterable[Path],
    hide: Iterable[Path],
    furniture: Furniture,
) -> View:
    """The read-only part of a sandbox. Raises ``SandboxError`` for a path that does not exist."""
    view = View()
    _show_system(view, furniture, network=network)
    for prefix in interpreter.prefixes:
        if not view.shows(str(prefix)):
            view.show(prefix)
    for path in read_only:
        _refuse(path)
        view.show(path)
    for place in _package_directories(interpreter):
        _mask(view, place, furniture)
    for path in hide:
        for place in {os.path.abspath(path), os.path.realpath(path)}:
            _mask(view, place, furniture)
    view.show(interpreter.pytest_path, PYTEST)
    return view


PYTEST = "/opt/pytest"
"""Where pytest is seen inside."""


def shown_everywhere(interpreter: Interpreter, read_only: Iterable[Path]) -> tuple[Path, ...]:
    """What every sandbox of a task has at the same place, and lets nobody write to."""
    system = [Path("/usr"), *map(Path, _SYSTEM)]
    return tuple(path for path in (*system, *interpreter.prefixes, *read_only) if path != Path("/"))


def _refuse(path: Path) -> None:
    if not path.exists():
        raise SandboxError(
            f"{path} does not exist", where="sandbox.read_only", advice="an existing path"
        )
    if path == Path("/") or path.is_relative_to("/proc") or path.is_relative_to("/dev"):
        raise SandboxError(
            f"{path} would show other processes, or everything",
            where="sandbox.read_only",
            advice="the directories that are needed, one by one",
        )


def _mask(view: View, place: str, furniture: Furniture) -> None:
    if place != "/" and os.path.exists(place) and view.shows(place):
        view.mask(place, str(furniture.nothing))


def _show_system(view: View, furniture: Furniture, *, network: bool) -> None:
    view.show("/usr")
    for place in _SYSTEM:
        if os.path.islink(place):
            view.mounts[place] = ("--symlink", os.readlink(place), place)
        elif os.path.isdir(place):
            view.show(place)
    view.show(furniture.online if network else furniture.offline, "/etc")
    for name in BOUND:
        if os.path.isdir(f"/etc/{name}"):
            view.show(f"/etc/{name}")
    view.show_processes()
    view.mounts["/run"] = ("--dir", "/run")
    view.mounts["/var/tmp"] = ("--symlink", "../tmp", "/var/tmp")  # noqa: S108 - inside


def _package_directories(interpreter: Interpreter) -> list[str]:
    """Installed packages that are no part of the task's own environment."""
    found: list[str] = []
    roots = {"/usr", *map(str, interpreter.prefixes)}
    for root in sorted(roots):
        for pattern in _PACKAGES:
            found += glob.glob(os.path.join(glob.escape(root), pattern))
        if os.path.isdir(os.path.join(root, "conda-meta")):
            found += [os.path.join(root, name) for name in _CONDA]
    own = [str(path) for path in interpreter.packages]
    return [
        place
        for place in sorted(set(found) | {os.path.realpath(each) for each in found})
        if not any(place == path or place.startswith(f"{path}/") for path in own)
    ]
