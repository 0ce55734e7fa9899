"""The agent that is a function of the user's: ``module:function``, called inside the sandbox."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from pathlib import Path, PurePosixPath
from typing import ClassVar

from pydantic import BaseModel, Field, JsonValue, ValidationError, field_validator

from pytest_agentbench.agents.base import AgentOptions
from pytest_agentbench.agents.python_code import code_for
from pytest_agentbench.agents.python_runner import OPENING, REPORT
from pytest_agentbench.agents.scripted_steps import ReportedUsage
from pytest_agentbench.model.contracts import AgentCommand, AgentContext
from pytest_agentbench.model.digest import digest_blobs
from pytest_agentbench.model.run import Completed, Evidence, Output, Transcript, Usage
from pytest_agentbench.model.task import Blob
from pytest_agentbench.model.trial import TrialSpec
from pytest_agentbench.sandboxes.pymodules import Call, read_call

_TRIED = 8
"""Reports that are looked at, from the last one, until one can be read."""


class PythonOptions(AgentOptions):
    """``call``: ``module:function``; ``paths``: what is staged beside the module's own package.

    ``options`` are handed to the function as they are.
    """

    call: str
    paths: list[str] = Field(default_factory=list)
    options: dict[str, JsonValue] = Field(default_factory=dict)

    @field_validator("call")
    @classmethod
    def _check_call(cls, value: str) -> str:
        if read_call(value) is None:
            raise ValueError(f"wants module:function, such as agents.mine:solve, not {value!r}")
        return value

    @field_validator("paths")
    @classmethod
    def _check_paths(cls, value: list[str]) -> list[str]:
        for name in value:
            path = PurePosixPath(name)
            if not path.parts or path.is_absolute() or ".." in path.parts or "\0" in name:
                raise ValueError(f"{name!r} is no path below the experiment file's directory")
        return [PurePosixPath(name).as_posix() for name in value]

    @property
    def target(self) -> Call:
        """The function that is called."""
        call = read_call(self.call)
        assert call is not None
        return call


class _Report(AgentOptions):
    """What the runner tells of the run so far."""

    final: str | None = None
    usage: ReportedUsage = ReportedUsage()
    skills: list[str] = Field(default_factory=list)
    tools: list[str] = Field(default_factory=list)


class PythonAgent:
    """Calls a function in a process of its own in the sandbox, with the sandbox's interpreter.

    The function gets the variant's tool policy; keeping to it is its own business.
    """

    name: ClassVar[str] = "python"
    Options: ClassVar[type[BaseModel]] = PythonOptions
    needs_network: ClassVar[bool] = False
    trusted: ClassVar[bool] = False
    limits_tools: ClassVar[bool] = True
    shows_evidence: ClassVar[bool] = True
    announces_harness: ClassVar[bool] = True

    def __init__(self, options: PythonOptions) -> None:
        self.options = options
        self.roots: tuple[Path, ...] = ()

    def command(self, trial: TrialSpec, context: AgentContext) -> AgentCommand:
        """The runner, the function's files and what it is told. Raises ``SetupError``."""
        call = self.options.target
        code = code_for(trial.task, trial.variant, call, self.options.paths)
        told = {
            "call": [call.module, call.function],
            "prompt": trial.prompt,
            "task": trial.task.id,
            "variant": trial.variant.name,
            "repeat": trial.repeat,
            "model": trial.variant.model,
            "options": self.options.options,
            "tools": {"allow": context.tools.allow, "deny": context.tools.deny},
        }
        return AgentCommand(
            argv=("{python}", "-B", "{stage}/run.py"),
            env=dict(context.env),
            stage={
                "run.py": Blob(_runner()),
                "context.json": Blob(json.dumps(told).encode()),
                **{f"code/{name}": blob for name, blob in code.files.items()},
            },
            code_digest=digest_blobs(code.files),
        )

    def parse(self, completed: Completed) -> Transcript:
        """What was reported; of what was not (killed before it, say) nothing is known."""
        report = _read_report(completed.stdout)
        if report is None:
            return Transcript(evidence=Evidence())
        known = report.usage.model_dump(exclude_none=True)
        return Transcript(
            final_message=report.final,
            usage=Usage(**known, source="agent" if known else None),
            evidence=Evidence(frozenset(report.skills), frozenset(report.tools)),
        )


@cache
def _runner() -> bytes:
    return files(__package__).joinpath("python_runner.py").read_bytes()


def _read_report(stdout: Output) -> _Report | None:
    """The last report that bears the token of the first line."""
    opening, newline, _ = stdout.head.partition(b"\n")
    if not newline or not opening.startswith(OPENING):
        return None
    mark = b"\n" + REPORT + opening.removeprefix(OPENING) + b" "
    gap = b"\n" if stdout.truncated else b""
    # One that was cut short, by death or by a process that printed into it, says less than
    # the one before.
    for after in reversed((stdout.head + gap + stdout.tail).rsplit(mark, _TRIED)[1:]):
        line, ended, _ = after.partition(b"\n")
        if ended:
            try:
                return _Report.model_validate_json(line)
            except ValidationError:
                continue
    return None
