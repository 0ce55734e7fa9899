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


Command: TypeAlias = "tuple[str, ...] | str"
"""A command of the author's: an argv, or one string for ``/bin/sh -c``."""


@dataclass(frozen=True, slots=True)
class GitSource:
    """A commit to start from. No history of it ever reaches a template.

    ``url`` is what git clones from: a URL as written, or the absolute path of a
    local repository. ``ref`` is a branch, tag or commit; it is pinned once a session.
    """

    url: str
    ref: str = "HEAD"


@dataclass(frozen=True, slots=True)
class Workspace:
    """What an agent starts from, in the order in which it is put together.

    ``git``, then ``tree`` over it, then ``patch`` (a unified diff on disk) applied,
    then each command of ``setup`` run, once per template. ``protect`` are patterns
    of files that scoring sees as the template has them; None: the default.
    """

    tree: FileTree = FileTree()
    git: GitSource | None = None
    patch: Path | None = None
    setup: tuple[Command, ...] = ()
    protect: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """What a trial's agent may use.

    ``workspace_bytes`` bounds the apparent size of the whole workspace that the
    agent leaves; None: only what scoring can carry bounds it.
    """

    time_s: float = 600.0
    workspace_bytes: int | None = None


Reveal: TypeAlias = Literal["verdict", "reasons", "full"]
"""What of an oracle's report leaves the run directory: whether it passed and its score,
its one-line reason besides, or also the end of its output."""


NetworkMode: TypeAlias = Literal["auto", "none", "full"]
PullMode: TypeAlias = Literal["missing", "never", "always"]
ScoringMode: TypeAlias = Literal["fresh", "commit"]


@dataclass(frozen=True, slots=True)
class BuildSpec:
    """An image to be built: a context directory, a Dockerfile in it, arguments, a stage."""

    context: Path
    dockerfile: str = "Dockerfile"
    args: Mapping[str, str] = field(default_factory=dict)
    target: str | None = None


@dataclass(frozen=True, slots=True)
class SandboxSpec:
    """What walls a trial asks for. Unset limits (None) are not enforced.

    ``network: auto`` is ``full`` for agents that declare a need, else ``none``
    where the driver can control it. ``env`` holds unexpanded ``${VAR}``.

    What follows ``read_only`` is for containers: the image or how it is built, who runs
    things inside (None: nobody's account, not root), where the workspace is, host paths by
    the place where they are shown read-only, when an image is pulled, for which platform.
    ``scoring: commit`` keeps what the agent left outside of the workspace, too.
    """

    driver: str = "auto"
    network: NetworkMode = "auto"
    memory_bytes: int | None = None
    cpus: float | None = None
    pids: int | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    python: Path | None = None
    read_only: tuple[Path, ...] = ()
    image: str | None = None
    build: BuildSpec | None = None
    user: str | None = None
    workdir: str | None = None
    mounts: Mapping[str, Path] = field(default_factory=dict)
    pull: PullMode = "missing"
    platform: str | None = None
    scoring: ScoringMode = "fresh"

    @property
    def of_containers(self) -> tuple[str, ...]:
        """The keys that are given and mean something to containers alone."""
        given = {
            "image": self.image,
            "build": self.build,
            "user": self.user,
            "workdir": self.workdir,
            "mounts": self.mounts,
            "platform": self.platform,
        }
        return tuple(name for name, value in given.items() if value)

    @property
    def names_image(self) -> bool:
        """Whether the task says what a container is to be made of."""
        return self.image is not None or self.build is not None


@dataclass(frozen=True, slots=True)
class OracleSpec:
    """One oracle, or one check, as authored. ``options`` is raw: its own model validates it.

    ``name`` is unique in its task, among oracles and checks. ``assets`` is staged
    read-only for this oracle alone. ``required`` is already resolved against
    ``threshold``; ``advisory`` ones are never required and weigh nothing.
    ``expectation`` is the value of the kind key (argv, tree, table of files …).
    ``needs`` names oracles and checks before it: unless all of them passed, it is not
    run and counts as not passed. ``pass_at`` is the score from which it has passed,
    None where the oracle says so itself. ``network``: whether it may reach one.
    ``reveal`` is None where the trial's setting decides. ``visible`` tells a check,
    which the agent may know and run, from an oracle.
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
    advisory: bool = False
    needs: tuple[str, ...] = ()
    pass_at: float | None = None
    network: bool = False
    reveal: Reveal | None = None
    visible: bool = False


@dataclass(frozen=True, slots=True)
class Solution:
    """An answer: what the ``reference`` agent leaves and says. At least one thing is set.

    ``patch``: a unified diff on disk. ``tree``: files laid over the workspace.
    ``script``: a program on disk, run with the workspace as working directory. Of these
    three there is at most one. ``final``: the final message; None: what a script prints.
    """

    patch: Path | None = None
    tree: FileTree | None = None
    script: Path | None = None
    final: str | None = None


@dataclass(frozen=True, slots=True)
class Control:
    """A known wrong answer, and the name of the oracle or check that must refuse it."""

    name: str
    answer: Solution
    fails: str
    position: Position


@dataclass(frozen=True, slots=True)
class SkipRule:
    """When a task is not run at all.

    Without a condition: always. Else unless every condition that is given holds:
    ``platforms`` (as ``sys.platform``) and ``architectures`` (as
    ``platform.machine()``) name this machine's, every one of ``commands`` is found,
    every one of ``variables`` is set and not empty in the environment.
    """

    reason: str = ""
    platforms: tuple[str, ...] = ()
    architectures: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()

    @property
    def conditional(self) -> bool:
        """Whether there is a condition at all."""
        return bool(self.platforms or self.architectures or self.commands or self.variables)


@dataclass(frozen=True, slots=True)
class Xfail:
    """That a task is expected not to pass. ``variants`` are patterns; empty: all variants."""

    reason: str = ""
    variants: tuple[str, ...] = ()
    strict: bool | None = None


@dataclass(frozen=True, slots=True)
class TaskSpec:
    """One task, ready to be expanded into trials.

    ``position`` is where the task stands (for a dataset: the task file, line of
    ``dataset``). ``layer`` is what the task itself sets of repeats, limits and
    sandbox. ``owned`` are the absolute paths that its file names. ``row`` is the
    number of the dataset's row, from 1, and ``dataset`` the name of its suite: a
    dataset is a suite of its own. ``slots`` says how many of each named resource one
    trial holds. ``fixtures`` are the pytest fixtures that a trial needs, each with the
    variable that its value becomes (empty: a mapping becomes variables, and nothing else
    does). ``gated``: whether the file names a gate, which has no effect yet.
    ``digest`` covers everything the file says about this task, not the bytes of the
    paths it names.
    """

    id: str
    position: Position
    prompt: str
    oracles: tuple[OracleSpec, ...]
    digest: str
    description: str = ""
    tags: tuple[str, ...] = ()
    workspace: Workspace = Workspace()
    checks: tuple[OracleSpec, ...] = ()
    solution: Solution | None = None
    controls: tuple[Control, ...] = ()
    threshold: float | None = None
    skip: SkipRule | None = None
    xfail: Xfail | None = None
    slots: Mapping[str, int] = field(default_factory=dict)
    fixtures: Mapping[str, str] = field(default_factory=dict)
    layer: SettingsLayer = field(default_factory=dict)
    owned: tuple[Path, ...] = ()
    row: int | None = None
    dataset: str | None = None
    gated: bool = False

    @property
    def directory(self) -> Path:
        """The directory of the task's file."""
        return self.position.path.parent
