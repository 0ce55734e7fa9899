"""The deterministic agent: plays written steps, as a real process inside the sandbox."""

from __future__ import annotations

import json
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import ClassVar

from pydantic import BaseModel, ValidationError

from pytest_agentbench.agents.base import AgentOptions
from pytest_agentbench.agents.scripted_steps import ReportedUsage, ScriptedOptions, Steps
from pytest_agentbench.errors import SetupError
from pytest_agentbench.model.contracts import AgentCommand, AgentContext
from pytest_agentbench.model.run import Completed, Evidence, Output, Transcript, Usage
from pytest_agentbench.model.task import Blob
from pytest_agentbench.model.trial import TrialSpec

REPORT_MARK = b"\x1eagentbench-scripted-report "
"""What stands before the report: one line of JSON, the last thing the player prints."""

_SHOWN_IDS = 10


class _Used(AgentOptions):
    """The skills and tools that the script says it used."""

    skill: frozenset[str] = frozenset()
    tool: frozenset[str] = frozenset()


class _Report(AgentOptions):
    """The player's last line. Only what it really reached is in there."""

    final: str | None = None
    usage: ReportedUsage | None = None
    used: _Used = _Used()


class ScriptedAgent:
    """Plays the steps of its options: no model, no clock, no chance."""

    name: ClassVar[str] = "scripted"
    Options: ClassVar[type[BaseModel]] = ScriptedOptions
    needs_network: ClassVar[bool] = False
    trusted: ClassVar[bool] = True
    limits_tools: ClassVar[bool] = False
    shows_evidence: ClassVar[bool] = True
    announces_harness: ClassVar[bool] = True

    def __init__(self, options: ScriptedOptions) -> None:
        self.options = options
        self.roots: tuple[Path, ...] = ()

    def command(self, trial: TrialSpec, context: AgentContext) -> AgentCommand:
        """The player and its steps. Raises ``SetupError`` for a task that the script lacks."""
        steps = self.options.steps_for(trial.task.id)
        if steps is None:
            raise self._no_steps(trial.task.id)
        return AgentCommand(
            argv=("{python}", "-I", "{stage}/play.py", "{stage}/steps.json"),
            env=dict(context.env),
            stage={"play.py": Blob(_player()), "steps.json": Blob(_as_json(steps))},
        )

    def parse(self, completed: Completed) -> Transcript:
        """The player's report; without one (killed, say) nothing is known."""
        report = _read_report(completed.stdout)
        if report is None:
            return Transcript()
        usage = report.usage or ReportedUsage()
        known = usage.model_dump(exclude_none=True)
        return Transcript(
            final_message=report.final,
            usage=Usage(**known, source=self.name if known else None),
            evidence=Evidence(skills=report.used.skill, tools=report.used.tool),
        )

    def _no_steps(self, task_id: str) -> SetupError:
        known = sorted(self.options.tasks or ())
        close = get_close_matches(task_id, known, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ";"
        shown = ", ".join(known[:_SHOWN_IDS]) or "none"
        if len(known) > _SHOWN_IDS:
            shown += f" and {len(known) - _SHOWN_IDS} more"
        return SetupError(
            f"the script has no steps for this task{hint} it has some for: {shown}",
            where=task_id,
            advice="add the task to options.tasks, or give options.default for all others",
        )


@cache
def _player() -> bytes:
    return files(__package__).joinpath("scripted_player.py").read_bytes()


def _as_json(steps: Steps) -> bytes:
    rows = [step.model_dump(mode="json", exclude_unset=True) for step in steps]
    return json.dumps(rows).encode()


def _read_report(stdout: Output) -> _Report | None:
    """Find the last report. What a background process prints after it does no harm."""
    kept = stdout.tail if stdout.truncated else stdout.head + stdout.tail
    _, mark, after = kept.rpartition(REPORT_MARK)
    if not mark:
        return None
    try:
        return _Report.model_validate_json(after.split(b"\n", 1)[0])
    except ValidationError:
        return None
