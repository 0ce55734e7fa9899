"""The stored result of one trial: one JSON line, versioned.

Unknown is null, never 0. Paths are relative to the run directory. No secret and
no absolute path of the machine belongs in here.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, JsonValue

from pytest_agentbench.model.outcome import Outcome, Reason
from pytest_agentbench.model.task import Reveal

SCHEMA_VERSION = 1


class _Row(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class OracleRow(_Row):
    """One oracle's, or one check's (``visible``), part of a record.

    ``reveal`` says what of it reports outside the run directory may show; ``details``,
    which may say what would have been right, are for the run directory alone.
    """

    name: str
    kind: str
    passed: bool
    score: float
    weight: float
    required: bool
    reason: str
    duration_s: float
    advisory: bool = False
    visible: bool = False
    ran: bool = True
    reveal: Reveal = "reasons"
    details: dict[str, JsonValue] = {}


class ChurnRow(_Row):
    """How much the agent changed. Line counts are null where they are unknown."""

    files_added: int
    files_modified: int
    files_deleted: int
    lines_added: int | None
    lines_removed: int | None
    dropped: dict[str, str] = {}


class UsageRow(_Row):
    """What the agent used, and who says so. Null: nobody reported it."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    turns: int | None = None
    cost_usd: float | None = None
    source: str | None = None


class AgentRow(_Row):
    """How the agent's process ended."""

    exit_code: int | None = None
    signal: int | None = None
    timed_out: bool = False
    out_of_memory: bool = False
    final_message: str | None = None
    stdout_bytes: int | None = None
    stderr_bytes: int | None = None


class SandboxRow(_Row):
    """Which walls stood, and what they could do."""

    driver: str
    isolated: bool
    network: str
    capabilities: list[str] = []


class DigestsRow(_Row):
    """Digests of what the trial was made of; null where it never came to be."""

    trial: str | None = None
    task: str | None = None
    prompt: str | None = None
    template: str | None = None
    oracles: str | None = None
    variant: str | None = None
    overlay: str | None = None
    agent_code: str | None = None


class Phases(_Row):
    """Seconds spent in each phase; null for a phase that was not reached."""

    setup_s: float | None = None
    agent_s: float | None = None
    teardown_s: float | None = None
    scoring_s: float | None = None
    total_s: float | None = None


class Record(_Row):
    """One trial's stored result."""

    schema_version: int = SCHEMA_VERSION
    key: str
    task: str
    variant: str
    repeat: int
    nodeid: str
    agent: str
    model: str | None
    outcome: Outcome
    reason: Reason | None = None
    message: str = ""
    score: float | None = None
    oracles: list[OracleRow] = []
    churn: ChurnRow | None = None
    usage: UsageRow = UsageRow()
    agent_run: AgentRow = AgentRow()
    sandbox: SandboxRow | None = None
    digests: DigestsRow = DigestsRow()
    lineage: dict[str, str] = {}
    phases: Phases = Phases()
    artifacts: str | None = None
    tags: list[str] = []
    harness: str = ""
    started_at: str | None = None
    diagnostics: list[str] = []
    attempt: int = 1
    expected: str | None = None
    """``xfail`` or ``xpass`` where the task was expected not to pass; the outcome stays as
    measured."""
    test: str | None = None
    """The node id, without parameters, of the Python test that ran it; null for the task
    file's own."""
