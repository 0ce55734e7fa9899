"""What a sandbox, an agent, an oracle and a store must be able to do.

A third party's class that has these methods is the equal of a built-in one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Protocol, TypeAlias

from pydantic import BaseModel

from pytest_agentbench.model.record import Record
from pytest_agentbench.model.run import (
    DEFAULT_OUTPUT_LIMIT,
    AgentRun,
    Changes,
    Completed,
    Manifest,
    Transcript,
)
from pytest_agentbench.model.task import Blob, OracleSpec, SandboxSpec, Solution
from pytest_agentbench.model.trial import TrialSpec
from pytest_agentbench.model.variant import ToolPolicy
from pytest_agentbench.model.verdict import OracleResult


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a driver can do on this machine. ``notes`` says why a capability is missing."""

    isolates_processes: bool = False
    hides_host: bool = False
    controls_network: bool = False
    limits_memory: bool = False
    limits_cpus: bool = False
    limits_pids: bool = False
    uses_images: bool = False
    keeps_installed: bool = False
    notes: Mapping[str, str] = field(default_factory=dict)

    @property
    def isolated(self) -> bool:
        """Whether an agent can be kept from the host, from other trials and from its oracles."""
        return self.isolates_processes and self.hides_host

    def names(self) -> list[str]:
        """The names of the capabilities that are there, sorted."""
        known = (
            "controls_network",
            "hides_host",
            "isolates_processes",
            "keeps_installed",
            "limits_cpus",
            "limits_memory",
            "limits_pids",
            "uses_images",
        )
        return [name for name in known if getattr(self, name)]


@dataclass(frozen=True, slots=True)
class Template:
    """A task's workspace, prepared once; every trial gets a copy. Never written to again.

    ``overlay`` are the paths of the variant's overlay: the agent must leave them alone.
    """

    directory: Path
    manifest: Manifest
    digest: str
    overlay: frozenset[bytes] = frozenset()
    base: str | None = None
    """What a driver kept of set-up commands beside the workspace: its own word for it."""


@dataclass(frozen=True, slots=True)
class SandboxRequest:
    """One sandbox to open.

    ``network`` is resolved: whether the inside may reach a network. ``roots``
    are further host paths that an agent's adapter needs, shown read-only at the
    same place. ``delta`` is laid over the template's copy before anything runs.
    ``label`` names the sandbox in messages; ``role`` says what it is for: agent, scoring,
    rehearsal or setup. ``keep``: whether ``settle`` is to keep what lies outside of the
    workspace, too, where a driver can (``Changes.base``).
    """

    spec: SandboxSpec
    network: bool = False
    roots: tuple[Path, ...] = ()
    delta: Changes | None = None
    label: str = ""
    role: str = "agent"
    keep: bool = False


@dataclass(frozen=True, slots=True)
class Altered:
    """Files that are not what they were: names below what ``put`` made, paths of the workspace."""

    staged: tuple[str, ...] = ()
    kept: tuple[bytes, ...] = ()

    @property
    def nothing(self) -> bool:
        """Whether all is as it was."""
        return not (self.staged or self.kept)


class Sandbox(Protocol):
    """Walls around one copy of a workspace.

    All methods but ``close`` raise ``SandboxClosed`` after ``close``; trouble with
    the walls themselves is a ``SandboxError``.
    """

    driver: str
    capabilities: Capabilities
    workspace: str
    """Absolute path of the workspace as seen from inside."""
    python: str
    """Absolute path, inside, of the interpreter for agents and oracles."""
    pytest_path: str
    """Directory, inside and read-only, that holds pytest and what it needs, for ``sys.path``."""

    async def run(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        stdin: bytes = b"",
        timeout_s: float,
        output_limit: int = DEFAULT_OUTPUT_LIMIT,
    ) -> Completed:
        """Run one command; when it ends, or runs out of time, everything it started is dead.

        ``env`` is laid over the sandbox's own fixed environment (PATH, HOME, LANG,
        TMPDIR and the task's ``sandbox.env``). ``cwd`` defaults to the workspace.
        A command that cannot be executed sets ``launch_error``; it does not raise.
        What was printed cannot be read back inside: an oracle tells us secrets that way.
        """
        ...

    async def put(self, files: Mapping[str, Blob]) -> str:
        """Stage files read-only at a random path outside the workspace; return it (inside)."""
        ...

    async def scratch(self) -> str:
        """Make a fresh, empty, writable directory at a random path outside the workspace."""
        ...

    async def read(self, path: str, *, limit: int) -> bytes | None:
        """The first ``limit`` bytes of a *regular* file inside; None when there is none.

        Never follows a symlink, in no part of the path below the workspace or
        scratch directory that it lies in.
        """
        ...

    async def write(self, files: Mapping[str, Blob]) -> None:
        """Write files (relative POSIX names) into the workspace, making directories."""
        ...

    async def altered(self, kept: Manifest) -> Altered:
        """Which files were rewritten or removed since the first command was run.

        Of all that ``put`` laid down, and of ``kept`` in the workspace: what stood there
        before. To be asked when no command runs. A class may leave it out: then nothing
        is known to be altered.
        """
        ...

    async def settle(self) -> Changes:
        """Kill every process, then say what differs from the template. Nothing runs afterwards.

        ``Changes.root`` stays readable until ``close``; all else that the sandbox had
        on disk is gone.
        """
        ...

    async def close(self) -> None:
        """Kill every process and remove every trace. Idempotent; never raises for a lost race."""
        ...


class SandboxDriver(Protocol):
    """A kind of sandbox. One instance serves a session; it is built by ``wiring``.

    Its class has ``build(host)``, which is handed what the process has for sandboxes; by
    default that is ``Class(host)``. ``auto`` takes built-in ones only: a third party's
    is used where its name is written.
    """

    name: ClassVar[str]

    def probe(self) -> Capabilities:
        """What works on this machine; tried for real once, then remembered.

        Raises ``SandboxError`` with the reason and an advice where nothing works.
        """
        ...

    async def open(self, template: Template, request: SandboxRequest) -> Sandbox:
        """A fresh sandbox on a copy of the template. Raises ``SandboxError``."""
        ...


@dataclass(frozen=True, slots=True)
class AgentContext:
    """What an agent is told besides its task.

    ``env`` is the variant's environment, expanded. ``tools`` is what it may use.
    """

    env: Mapping[str, str] = field(default_factory=dict)
    tools: ToolPolicy = ToolPolicy()


@dataclass(frozen=True, slots=True)
class AgentCommand:
    """A command line for the engine to run in the sandbox.

    ``stage`` is put read-only into the sandbox before the start. In ``argv`` and
    in values of ``env``, ``{stage}`` becomes its path, ``{prompt_file}`` that of a
    file with the prompt, and ``{python}`` that of the sandbox's interpreter.
    ``code_digest`` is of the agent's own program where that is the user's: another
    program makes another trial.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    stdin: bytes = b""
    stage: Mapping[str, Blob] = field(default_factory=dict)
    code_digest: str | None = None


class Agent(Protocol):
    """A kind of program that works on tasks, set up for one variant.

    Built as ``AgentClass(options)`` with a validated ``Options``.
    """

    name: ClassVar[str]
    Options: ClassVar[type[BaseModel]]
    needs_network: ClassVar[bool]
    announces_harness: ClassVar[bool]
    """Told its task, variant and repeat through ``AGENTBENCH_*``: not for programs with a model,
    which behave otherwise when they know that they are measured."""
    trusted: ClassVar[bool]
    """Ours and deterministic: may run where nothing isolates without being asked for."""
    limits_tools: ClassVar[bool]
    """Whether it keeps to a variant's ``tools``."""
    shows_evidence: ClassVar[bool]
    """Whether its transcript shows which skills and tools were used."""
    roots: tuple[Path, ...]
    """Host paths that it needs to see, read-only."""


class CommandAgent(Agent, Protocol):
    """An agent that is a command line; the engine runs it."""

    def command(self, trial: TrialSpec, context: AgentContext) -> AgentCommand:
        """The command for one trial. Pure."""
        ...

    def parse(self, completed: Completed) -> Transcript:
        """Read the output. Pure; never raises on any bytes; unknown stays None."""
        ...


class InProcessAgent(Agent, Protocol):
    """An agent that drives the sandbox itself."""

    async def run(self, trial: TrialSpec, sandbox: Sandbox, context: AgentContext) -> AgentRun:
        """Work on the task. Raises ``TrialFault`` where it cannot be measured."""
        ...


ExpectedTests: TypeAlias = Mapping[str, str]
"""Node id -> ``run``, ``skip`` or ``xfail``, as the test's own marks say. The id ``*``, which is
no test's, says that whatever else reports counts too (a list from source sees no more)."""


@dataclass(frozen=True, slots=True)
class StagedOracle:
    """An oracle whose bytes are in memory: nothing on disk counts any more.

    ``files`` maps relative POSIX names to contents (own files and assets).
    ``expected`` is what a rehearsal found (test ids), None before it or where
    there is none. ``fault`` is why an advisory one cannot be judged: what has no effect
    is no error either.
    """

    spec: OracleSpec
    files: Mapping[str, Blob]
    digest: str
    expected: ExpectedTests | None = None
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class Subject:
    """What is judged: what the agent said and changed. The sandbox holds its workspace."""

    trial: TrialSpec
    run: AgentRun


class Oracle(Protocol):
    """A kind of hidden check. Stateless; one instance serves a session."""

    kind: ClassVar[str]
    names_files: ClassVar[bool]
    """Whether its expectation is files of the author's (a path, or ``{copy, files}``), which are
    resolved, owned and hidden like assets. It then arrives as a ``FileTree``."""
    rehearses: ClassVar[bool]
    """Whether ``rehearse`` has anything to learn; a sandbox is opened for it only then."""
    judges_words: ClassVar[bool]
    """Whether it judges what the agent said: then an agent that changed nothing was not idle."""

    def validate(self, spec: OracleSpec) -> list[tuple[tuple[str | int, ...], str]]:
        """What is wrong with ``expectation`` and ``options``: (path within the entry, message)."""
        ...

    def prepare(self, spec: OracleSpec) -> StagedOracle:
        """Read and digest all bytes. Runs before any agent. Raises ``OracleError``."""
        ...

    async def rehearse(
        self, staged: StagedOracle, sandbox: Sandbox, *, solved: bool
    ) -> StagedOracle:
        """Before any agent: learn what must be seen later (expected tests).

        ``sandbox`` is fresh from the template, with the solution applied when
        ``solved``. Oracles with nothing to learn return ``staged``. Raises
        ``OracleError``.
        """
        ...

    async def check(self, staged: StagedOracle, sandbox: Sandbox, subject: Subject) -> OracleResult:
        """Judge.

        Raises ``OracleError`` only for faults before code of the agent's can have run;
        after that a death, time-out or missing report is a result that has not passed.
        """
        ...


class SolutionApplier(Protocol):
    """How a reference solution is laid into a sandbox."""

    async def __call__(self, solution: Solution, sandbox: Sandbox) -> Completed | None:
        """Apply; return the script's ending where there was one. Raises ``SetupError``."""
        ...


class Store(Protocol):
    """Where records go. Written by the controlling process only."""

    def append(self, record: Record) -> None:
        """One record, one line, one write. Raises ``StoreError``."""
        ...
