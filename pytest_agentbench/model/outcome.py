"""What can become of a trial, and why."""

from __future__ import annotations

from enum import StrEnum


class Outcome(StrEnum):
    """How a trial ended. ``failed``: the agent was wrong; ``error``: we could not tell."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    SKIPPED = "skipped"
    CANCELLED = "cancelled"


class Reason(StrEnum):
    """Why a trial did not pass. Each belongs to exactly one outcome (``outcome_of``)."""

    # failed: a valid negative
    ORACLE = "oracle"
    CHECK = "check"
    TAMPERED = "tampered"
    EVIDENCE = "evidence"
    LIMIT = "limit"
    TIMEOUT = "timeout"
    ASSERTION = "assertion"
    # error: nothing was measured
    SETUP = "setup"
    SANDBOX = "sandbox"
    AGENT_LAUNCH = "agent_launch"
    AGENT_CRASH = "agent_crash"
    ORACLE_ERROR = "oracle_error"
    CLEANUP = "cleanup"
    CRASH = "crash"
    ABORTED = "aborted"
    INTERNAL = "internal"
    # skipped: by the task's own words, or by a mark or a fixture of the user's
    SKIP = "skip"
    PLATFORM = "platform"
    CAPABILITY = "capability"
    CREDENTIALS = "credentials"
    # cancelled
    INTERRUPTED = "interrupted"
    STOPPED = "stopped"


_OUTCOMES: dict[Reason, Outcome] = {
    Reason.ORACLE: Outcome.FAILED,
    Reason.CHECK: Outcome.FAILED,
    Reason.TAMPERED: Outcome.FAILED,
    Reason.EVIDENCE: Outcome.FAILED,
    Reason.LIMIT: Outcome.FAILED,
    Reason.TIMEOUT: Outcome.FAILED,
    Reason.ASSERTION: Outcome.FAILED,
    Reason.SETUP: Outcome.ERROR,
    Reason.SANDBOX: Outcome.ERROR,
    Reason.AGENT_LAUNCH: Outcome.ERROR,
    Reason.AGENT_CRASH: Outcome.ERROR,
    Reason.ORACLE_ERROR: Outcome.ERROR,
    Reason.CLEANUP: Outcome.ERROR,
    Reason.CRASH: Outcome.ERROR,
    Reason.ABORTED: Outcome.ERROR,
    Reason.INTERNAL: Outcome.ERROR,
    Reason.SKIP: Outcome.SKIPPED,
    Reason.PLATFORM: Outcome.SKIPPED,
    Reason.CAPABILITY: Outcome.SKIPPED,
    Reason.CREDENTIALS: Outcome.SKIPPED,
    Reason.INTERRUPTED: Outcome.CANCELLED,
    Reason.STOPPED: Outcome.CANCELLED,
}


def outcome_of(reason: Reason) -> Outcome:
    """The one outcome that ``reason`` belongs to."""
    return _OUTCOMES[reason]
