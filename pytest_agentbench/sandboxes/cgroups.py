"""Limits on memory, processors and processes, by control groups of either version.

Whether they can be had is tried for real, once: a writable file system says
little in a container or a user's session.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from pytest_agentbench.errors import SandboxError
from pytest_agentbench.model.task import SandboxSpec

_PERIOD_US = 100_000
_PATIENCE_S = 10.0
_CONTROLLERS = {"memory": "limits_memory", "cpu": "limits_cpus", "pids": "limits_pids"}
_ENTER = 'for f in $1; do echo $$ > "$f/cgroup.procs" || exit 126; done; shift; exec "$@"'


@dataclass(frozen=True, slots=True)
class Support:
    """What can be limited here. ``notes`` says, by the capability's name, why something cannot."""

    parents: Mapping[str, tuple[Path, int]] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)

    @property
    def memory(self) -> bool:
        """Whether memory can be limited."""
        return "memory" in self.parents

    @property
    def cpus(self) -> bool:
        """Whether processor time can be limited."""
        return "cpu" in self.parents

    @property
    def pids(self) -> bool:
        """Whether the number of processes can be limited."""
        return "pids" in self.parents


@dataclass(frozen=True, slots=True)
class Group:
    """The control groups of one command, by controller, each with its version (1 or 2)."""

    homes: Mapping[str, tuple[Path, int]]

    def entering(self, argv: tuple[str, ...]) -> tuple[str, ...]:
        """The command, made to enter the groups before it starts."""
        # Blanks part them: none of our names holds one, a mount point hardly ever.
        places = " ".join(sorted({str(home) for home, _ in self.homes.values()}))
        return ("/bin/sh", "-c", _ENTER, "sh", places, *argv)

    def strike(self) -> int:
        """SIGKILL everything in the groups; return how many there were."""
        alive = set()
        for home, _ in self.homes.values():
            for pid in _members(home):
                alive.add(pid)
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
        return len(alive)

    def out_of_memory(self) -> bool:
        """Whether the kernel killed something because the memory limit was reached."""
        if "memory" not in self.homes:
            return False
        home, version = self.homes["memory"]
        name = "memory.oom_control" if version == 1 else "memory.events"
        for line in _text(home / name).splitlines():
            word, _, number = line.partition(" ")
            if word == "oom_kill":
                return int(number) > 0
        return False

    def remove(self) -> None:
        """Remove the groups; the kernel needs a moment after the last process."""
        for home in {home for home, _ in self.homes.values()}:
            for _ in range(50):
                try:
                    home.rmdir()
                except FileNotFoundError:
                    break
                except OSError:
                    self.strike()
                    time.sleep(0.002)
                else:
                    break


@cache
def probe() -> Support:
    """Try each controller with a process of our own."""
    parents: dict[str, tuple[Path, int]] = {}
    notes: dict[str, str] = {}
    for controller, capability in _CONTROLLERS.items():
        faults: list[str] = []
        for parent, version in _candidates(controller):
            try:
                _try(parent, version, controller)
            except (OSError, subprocess.SubprocessError) as fault:
                faults.append(str(fault))
            else:
                parents[controller] = (parent, version)
                break
        if controller not in parents:
            why = faults[0] if faults else "no such controller is mounted"
            notes[capability] = f"no control group can be made: {why}"
    return Support(parents, notes)


@contextmanager
def group_for(spec: SandboxSpec, *, walls: int = 0) -> Iterator[Group | None]:
    """The groups that a task's limits need, for one command; None when it has no limits.

    ``walls`` is the number of processes that the sandbox itself adds. Raises ``SandboxError``.
    """
    wanted = _settings(spec, walls)
    if not wanted:
        yield None
        return
    support = probe()
    name = f"agentbench-{os.getpid()}-{secrets.token_hex(8)}"
    group = Group(
        {
            controller: (parent / name, version)
            for controller, (parent, version) in support.parents.items()
            if controller in wanted
        }
    )
    try:
        try:
            for controller, (home, version) in group.homes.items():
                home.mkdir(exist_ok=True)
                _limit(home, version, controller, wanted[controller])
        except OSError as fault:
            raise SandboxError(f"limits cannot be set: {fault}") from fault
        yield group
    finally:
        group.remove()


def _settings(spec: SandboxSpec, walls: int) -> dict[str, float]:
    wanted: dict[str, float] = {}
    if spec.memory_bytes is not None:
        wanted["memory"] = spec.memory_bytes
    if spec.cpus is not None:
        wanted["cpu"] = spec.cpus
    if spec.pids is not None:
        wanted["pids"] = spec.pids + walls
    return wanted


def _limit(home: Path, version: int, controller: str, value: float) -> None:
    """Write one limit. Raises ``OSError``."""
    for name, text in _files(version, controller, value).items():
        try:
            (home / name).write_text(text)
        except OSError:
            # Swap is not accounted for everywhere; without swap its limit is moot.
            if "swap" not in name and "memsw" not in name:
                raise


def _files(version: int, controller: str, value: float) -> dict[str, str]:
    """The files of a group that hold a limit, and what to write."""
    whole = str(int(value))
    quota = str(max(int(value * _PERIOD_US), 1000))
    match controller, version:
        case "memory", 1:
            return {"memory.limit_in_bytes": whole, "memory.memsw.limit_in_bytes": whole}
        case "memory", _:
            return {"memory.max": whole, "memory.swap.max": "0"}
        case "cpu", 1:
            return {"cpu.cfs_period_us": str(_PERIOD_US), "cpu.cfs_quota_us": quota}
        case "cpu", _:
            return {"cpu.max": f"{quota} {_PERIOD_US}"}
        case _:
            return {"pids.max": whole}


def _try(parent: Path, version: int, controller: str) -> None:
    """Make a group, limit it, and let a process enter. Raises for what does not work."""
    if version == 2:  # noqa: PLR2004 - the version's name
        enabled = parent / "cgroup.subtree_control"
        if controller not in enabled.read_text().split():
            enabled.write_text(f"+{controller}")
    home = parent / f"agentbench-{os.getpid()}-{secrets.token_hex(8)}"
    home.mkdir()
    group = Group({controller: (home, version)})
    try:
        _limit(home, version, controller, 1 << 30 if controller == "memory" else 64)
        subprocess.run(
            group.entering(("/bin/sh", "-c", ":")),
            check=True,
            capture_output=True,
            timeout=_PATIENCE_S,
            stdin=subprocess.DEVNULL,
        )
    finally:
        group.remove()


def _candidates(controller: str) -> list[tuple[Path, int]]:
    """Directories below which a group might be made: our own group first, then those above."""
    found: list[tuple[Path, int]] = []
    own = _own_groups()
    for line in _text(Path("/proc/self/mountinfo")).splitlines():
        before, _, after = line.partition(" - ")
        _, _, _, root, point, *_ = before.split()
        kind, _, options = after.split()[:3]
        if kind == "cgroup" and controller in options.split(","):
            found += [(each, 1) for each in _places(point, root, own.get(controller, "/"))]
        elif kind == "cgroup2" and controller in _text(Path(point, "cgroup.controllers")).split():
            found += [(each, 2) for each in _places(point, root, own.get("", "/"))]
    return found


def _places(point: str, root: str, own: str) -> list[Path]:
    top = Path(point)
    below = own.removeprefix(root) if root != "/" and own.startswith(root) else own
    here = top / below.lstrip("/")
    places = [here, here.parent, top] if here.is_dir() and here != top else [top]
    return list(dict.fromkeys(places))


def _own_groups() -> dict[str, str]:
    """This process's group by controller; the unified hierarchy under the empty name."""
    groups: dict[str, str] = {}
    for line in _text(Path("/proc/self/cgroup")).splitlines():
        _, controllers, path = line.split(":", 2)
        for each in controllers.split(","):
            groups[each] = path
    return groups


def _members(home: Path) -> list[int]:
    return [int(word) for word in _text(home / "cgroup.procs").split()]


def _text(file: Path) -> str:
    try:
        return file.read_text()
    except OSError:
        return ""
