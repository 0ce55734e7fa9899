"""What an agent's run says by itself, before anything is judged.

Whether it worked at all, whether what it left may be scored, and whether it used
what it had to.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pytest_agentbench.engine.judge import CARRIED_BYTES
from pytest_agentbench.engine.protection import with_parents
from pytest_agentbench.errors import TrialFault
from pytest_agentbench.model.contracts import Template
from pytest_agentbench.model.outcome import Reason
from pytest_agentbench.model.run import AgentRun, Changes, Completed, Evidence
from pytest_agentbench.model.task import Limits
from pytest_agentbench.model.variant import Expectation

CANNOT_EXECUTE = (126, 127)
"""What shells and ``env`` exit with when there is nothing to execute."""

_NAMED = 5
_LAST_LINE = 300
_SHOW_IT = (
    "its absolute path, and sandbox.read_only to show a program that is not below /usr: no sandbox"
    " has your PATH"
)


@dataclass(frozen=True, slots=True)
class Finding:
    """Why the agent failed, whatever the oracles say."""

    reason: Reason
    message: str


def never_worked(run: AgentRun, *, agent: str, trial: str, words_count: bool) -> TrialFault | None:
    """Tell an agent that never worked, or still does, from one that was wrong.

    ``words_count``: what it said is judged too, so that to have changed nothing is no
    sign of idleness.
    """
    completed = run.completed
    if completed is None:
        return None
    if completed.survivors:
        what = f"{completed.survivors} processes of the agent could not be killed"
        return TrialFault(what, where=trial, reason=Reason.CLEANUP)
    found = _never_started(completed)
    if found is None and run.changes is not None and run.changes.empty:
        found = _did_nothing(completed, words_count=words_count)
    if found is None:
        return None
    reason, what = found
    advice = _SHOW_IT if reason is Reason.AGENT_LAUNCH else ""
    return TrialFault(what, where=f"agent {agent}", reason=reason, advice=advice)


def unscorable(changes: Changes, template: Template, limits: Limits) -> list[Finding]:
    """Why what the agent left is not scored at all; the first one is the outcome."""
    found = []
    touched = _tampered(changes, template)
    if touched:
        what = f"the agent changed files of the variant's overlay: {_listed(touched)}"
        found.append(Finding(Reason.TAMPERED, what))
    size, most = _workspace_bytes(changes, template), limits.workspace_bytes
    if most is not None and size > most:
        what = f"the agent left a workspace of {size:,} bytes; limits.workspace is {most:,}"
        found.append(Finding(Reason.LIMIT, what))
    elif changes.size_bytes > CARRIED_BYTES:
        what = (
            f"the agent left {changes.size_bytes:,} bytes of changes; "
            f"more than {CARRIED_BYTES:,} are not scored"
        )
        found.append(Finding(Reason.LIMIT, what))
    return found


def unseen(expected: Expectation, evidence: Evidence | None) -> Finding | None:
    """The expected skills and tools that the transcript does not show."""
    seen = evidence or Evidence()
    missing = [f"skill {name!r}" for name in expected.skills if name not in seen.skills]
    missing += [f"tool {name!r}" for name in expected.tools if name not in seen.tools]
    if not missing:
        return None
    used = [f"skill {name!r}" for name in sorted(seen.skills)]
    used += [f"tool {name!r}" for name in sorted(seen.tools)]
    what = f"the agent was not seen to use {_listed(missing)}; seen: {_listed(used) or 'nothing'}"
    return Finding(Reason.EVIDENCE, what)


def _never_started(completed: Completed) -> tuple[Reason, str] | None:
    error = completed.launch_error
    return None if error is None else (Reason.AGENT_LAUNCH, error)


def _did_nothing(completed: Completed, *, words_count: bool) -> tuple[Reason, str] | None:
    """What an exit other than 0 means of an agent that changed nothing."""
    if completed.timed_out or completed.exit_code == 0:
        return None
    words = _last_line(completed)
    if completed.exit_code in CANNOT_EXECUTE:
        what = f"could not be executed (exit {completed.exit_code}): {words}"
        return Reason.AGENT_LAUNCH, what
    if words_count:
        return None
    return Reason.AGENT_CRASH, f"{_ending(completed)} and changed nothing: {words}"


def _tampered(changes: Changes, template: Template) -> list[str]:
    if not template.overlay:
        return []
    gone = {change.path for change in changes.changes if change.path in template.manifest}
    touched = [path for path in template.overlay if not gone.isdisjoint(with_parents(path))]
    return [path.decode("utf-8", "backslashreplace") for path in sorted(touched)]


def _workspace_bytes(changes: Changes, template: Template) -> int:
    """The apparent size of the whole workspace: what was left alone, and what was not."""
    changed = {change.path for change in changes.changes}
    kept = sum(entry.size for path, entry in template.manifest.items() if path not in changed)
    return kept + changes.size_bytes


def _listed(names: Iterable[str]) -> str:
    every = list(names)
    more = len(every) - _NAMED
    return ", ".join(every[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def _ending(completed: Completed) -> str:
    if completed.out_of_memory:
        return "ran out of memory"
    if completed.signal is not None:
        return f"was killed by signal {completed.signal}"
    return f"exited with {completed.exit_code}"


def _last_line(completed: Completed) -> str:
    for stream in (completed.stderr, completed.stdout):
        lines = stream.text().strip().splitlines()
        if lines:
            last = lines[-1]
            return last if len(last) <= _LAST_LINE else f"…{last[-_LAST_LINE:]}"
    return "no output"
