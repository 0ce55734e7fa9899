"""A task: what an agent is asked to do, where it starts, and how it is judged.

These are the values *after* loading: paths are absolute, times in seconds,
sizes in bytes, dataset rows filled in. The shape of the YAML is the task-file
loader's business.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"

SettingsLayer: TypeAlias = "Mapping[str, JsonValue]"
"""Values that one layer sets, by dotted path, such as ``{"limits.time": 60.0,
"sandbox.driver": "local", "sandbox.env.LANG": "C.UTF-8", "repeats": 3}``.
Times are seconds, sizes bytes; see ``matrix.layers`` for the known paths."""


@dataclass(frozen=True, slots=True)
class Position:
    """A place in a file; ``line`` and ``column`` count from 1."""

    path: Path
    line: int
    column: int = 1


@dataclass(frozen=True, slots=True)
class FileTree:
    """A directory of files: one on disk (absolute path), inline texts, or both (inline wins).

    ``files`` maps relative POSIX names to their text (encoded as UTF-8, ends of
    line as written).
    """

    directory: Path | None = None
    files: Mapping[str, str] = field(default_factory=dict)

    @property
    def empty(self) -> bool:
        """Whether nothing at all is in it."""
        return self.directory is None and not self.files


@dataclass(frozen=True, slots=True)
class Blob:
    """The bytes of one file that is held in memory, and whether it may be executed."""

    data: bytes
    executable: bool = False


@dataclass(frozen=True, slots=True)
class Limits:
    """What a trial's agent may use."""

    time_s: float = 600.0


NetworkMode: TypeAlias = Literal["auto", "none", "full"]


@dataclass(frozen=True, slots=True)
class SandboxSpec:
    """What walls a trial asks for. Unset limits (None) are not enforced.

    ``network: auto`` is ``full`` for agents that declare a need, else ``none``
    where the driver can control it. ``env`` holds unexpanded ``${VAR}``.
    """

    driver: str = "auto"
    network: NetworkMode = "auto"
    memory_bytes: int | None = None
    cpus: float | None = None
    pids: int | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    python: Path | None = None
    read_only: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class OracleSpec:
    """One hidden check as authored. ``options`` is raw: the oracle's own model validates it.

    ``name`` is unique in its task. ``assets`` is staged read-only for this
    oracle alone. ``required`` is already resolved against ``threshold``.
    ``expectation`` is the value of the kind key (argv, tree, table of files …).
    """

    kind: str
    name: str
    position: Position
    expectation: JsonValue | FileTree
    options: Mapping[str, JsonValue] = field(default_factory=dict)
    weight: float = 1.0
    required: bool = True
    timeout_s: float = 300.0
    assets: FileTree = FileTree()


@dataclass(frozen=True, slots=True)
class Solution:
    """What the ``reference`` agent does: exactly one of the three is set.

    ``patch``: a unified diff on disk. ``tree``: files laid over the workspace.
    ``script``: a program on disk, run with the workspace as working directory.
    """

    patch: Path | None = None
    tree: FileTree | None = None
    script: Path | None = None


@dataclass(frozen=True, slots=True)
class TaskSpec:
    """One task, ready to be expanded into trials.

    ``position`` is where the task stands (for a dataset: the task file, line of
    ``dataset``). ``layer`` is what the task itself sets of repeats, limits and
    sandbox. ``owned`` are the absolute paths that its file names. ``row`` is the
    number of the dataset's row, from 1. ``digest`` covers everything the file
    says about this task, not the bytes of the paths it names.
    """

    id: str
    position: Position
    prompt: str
    oracles: tuple[OracleSpec, ...]
    digest: str
    description: str = ""
    tags: tuple[str, ...] = ()
    workspace: FileTree = FileTree()
    solution: Solution | None = None
    threshold: float | None = None
    layer: SettingsLayer = field(default_factory=dict)
    owned: tuple[Path, ...] = ()
    row: int | None = None

    @property
    def directory(self) -> Path:
        """The directory of the task's file."""
        return self.position.path.parent
