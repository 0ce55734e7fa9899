"""The agent that is any command line: prompt in, changed workspace out."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import BaseModel, Field, field_validator

from pytest_agentbench.agents.base import AgentOptions, last_words
from pytest_agentbench.model.contracts import AgentCommand, AgentContext
from pytest_agentbench.model.run import Completed, Transcript
from pytest_agentbench.model.trial import TrialSpec

_PROMPT_FILE = "{prompt_file}"

# The prompt comes out of its file and not through our argv, where braces in it would
# be taken for placeholders. The x keeps the line ends that $(...) drops at the end.
_WITH_PROMPT = 'p=$(cat "$0"; echo x); exec "$@" "${p%x}"'

_NAMES_ARGUMENT = re.compile(r"\$(?:[1@*]|\{[1@*])")


class CommandOptions(AgentOptions):
    """``run``: argv, or a shell string; ``prompt``: how the prompt reaches it.

    As ``arg`` the prompt, as ``file`` the path of a file that holds it, is the last
    argument; a shell string may say ``"$1"`` where it wants it instead, and either
    form ``{prompt_file}``.
    """

    run: Annotated[list[str], Field(min_length=1)] | str
    prompt: Literal["stdin", "arg", "file"] = "stdin"

    @field_validator("run", mode="before")
    @classmethod
    def _check_run(cls, value: object) -> object:
        if isinstance(value, str):
            if not value.strip():
                raise ValueError("the command is empty")
            if "\0" in value:
                raise ValueError("a command cannot hold a NUL character")
            return value
        if not isinstance(value, list) or not value:
            raise ValueError("wants a list of words ([tool, --flag]) or a shell string")
        for number, word in enumerate(value, start=1):
            if not isinstance(word, str):
                raise ValueError(  # noqa: TRY004 - pydantic reports only ValueError
                    f"word {number} is {word!r}, not a string; put it in quotes"
                )
            if "\0" in word:
                raise ValueError(f"word {number} holds a NUL character")
        if not value[0]:
            raise ValueError("the first word, the program, is empty")
        return value


class CommandLineAgent:
    """Runs one command in the workspace; its last words are its final message."""

    name: ClassVar[str] = "command"
    Options: ClassVar[type[BaseModel]] = CommandOptions
    needs_network: ClassVar[bool] = False
    trusted: ClassVar[bool] = False
    limits_tools: ClassVar[bool] = False
    shows_evidence: ClassVar[bool] = False
    announces_harness: ClassVar[bool] = True

    def __init__(self, options: CommandOptions) -> None:
        self.options = options
        self.roots: tuple[Path, ...] = ()

    def command(self, trial: TrialSpec, context: AgentContext) -> AgentCommand:
        """The command line, with the prompt where the options want it."""
        env = dict(context.env)
        if self.options.prompt == "stdin":
            return AgentCommand(
                self._argv(), env=env, stdin=trial.prompt.encode("utf-8", "replace")
            )
        if self.options.prompt == "file":
            return AgentCommand(self._argv_with_file(), env=env)
        return AgentCommand(
            ("sh", "-c", _WITH_PROMPT, _PROMPT_FILE, *self._argv(appends=True)), env=env
        )

    def parse(self, completed: Completed) -> Transcript:
        """The last words of stdout; what was used nobody knows."""
        return Transcript(final_message=last_words(completed.stdout))

    def _argv(self, *, appends: bool = False) -> tuple[str, ...]:
        """The command; with ``appends``, ready for one more argument at its end."""
        run = self.options.run
        if not isinstance(run, str):
            return tuple(run)
        if not appends:
            return ("sh", "-c", run)
        text = run if _NAMES_ARGUMENT.search(run) else f'{run.rstrip()} "$1"'
        return ("sh", "-c", text, "sh")

    def _argv_with_file(self) -> tuple[str, ...]:
        run = self.options.run
        words = (run,) if isinstance(run, str) else run
        if any(_PROMPT_FILE in word or "AGENTBENCH_PROMPT_FILE" in word for word in words):
            return self._argv()
        return (*self._argv(appends=True), _PROMPT_FILE)
