"""The exception tree: each error says where, what, and what to do.

    AgentbenchError
    ├── UsageError          an option, ini key or environment that cannot be obeyed
    │   ├── UnknownComponent  no agent, sandbox or oracle of that name
    │   └── BrokenComponent   it is named, but cannot be had or lacks what it needs
    ├── DefinitionError     a task or experiment file that is wrong; holds every problem found
    ├── TrialFault          the trial cannot be measured; carries the outcome's reason
    │   ├── SetupError      template, solution or assets (reason "setup")
    │   ├── SandboxError    the walls cannot be put up or have fallen (reason "sandbox")
    │   └── OracleError     an oracle cannot be staged or started (reason "oracle_error")
    ├── SandboxClosed       a handle was used after its sandbox was torn down
    └── StoreError          the results directory cannot be read or written
    TaskFailed              the body of a trial's test raises it: the agent was wrong
    TrialError              the trial's fixtures raise it: nothing was measured

Pure: knows nothing but strings and paths. Loaded in every pytest session, so there is no
dataclass here: making one costs as much as the rest of a module.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple


class AgentbenchError(Exception):
    """Base of everything that this package raises on purpose.

    Reads ``where: what. Try: advice``; ``where`` and ``advice`` may be empty.
    """

    def __init__(self, what: str, *, where: str = "", advice: str = "") -> None:
        self.what = what
        self.where = where
        self.advice = advice
        super().__init__(what, where, advice)

    def __str__(self) -> str:
        text = f"{self.where}: {self.what}" if self.where else self.what
        if self.advice:
            text = f"{text.rstrip('.')}{'' if text.endswith('?') else '.'} Try: {self.advice}"
        return text


class UsageError(AgentbenchError):
    """An option, ini key or environment variable that cannot be obeyed."""


class UnknownComponent(UsageError):
    """No agent, sandbox or oracle is known under that name."""


class BrokenComponent(UsageError):
    """An agent, sandbox or oracle that cannot be imported, or lacks what its contract needs."""


class Problem(NamedTuple):
    """One thing wrong with one file.

    ``line`` and ``column`` count from 1; 0 means "the file as a whole".
    ``excerpt`` is the source line, without its line end.
    """

    path: Path
    line: int
    column: int
    message: str
    excerpt: str = ""
    advice: str = ""


class DefinitionError(AgentbenchError):
    """A task or experiment file is wrong; ``problems`` holds all that was found, in file order.

    ``rendered`` is the whole message for people, with source lines and carets.
    """

    def __init__(self, problems: tuple[Problem, ...], rendered: str) -> None:
        self.problems = problems
        self.rendered = rendered
        super().__init__(rendered)

    def __str__(self) -> str:
        return self.rendered


class TrialFault(AgentbenchError):
    """The trial cannot be measured; ``reason`` is a value of ``Reason`` that means error."""

    reason = "internal"

    def __init__(
        self, what: str, *, where: str = "", advice: str = "", reason: str | None = None
    ) -> None:
        super().__init__(what, where=where, advice=advice)
        if reason is not None:
            self.reason = reason


class SetupError(TrialFault):
    """Template, solution, dataset or assets could not be made ready."""

    reason = "setup"


class SandboxError(TrialFault):
    """A sandbox could not be opened, cannot give what is asked, or broke."""

    reason = "sandbox"


class OracleError(TrialFault):
    """An oracle could not be staged or started, before any code of the agent's ran in it."""

    reason = "oracle_error"


class SandboxClosed(AgentbenchError):
    """A sandbox handle was used after the sandbox was torn down."""


class StoreError(AgentbenchError):
    """The results directory cannot be read or written."""


class TaskFailed(Exception):
    """The agent was wrong. Raised by the body of a trial's test; the message is the whole story."""


class TrialError(Exception):
    """Nothing was measured. Raised while a trial's fixtures are set up."""
