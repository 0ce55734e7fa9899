"""The script of the ``scripted`` agent: its steps as people write them.

A step is a mapping with one key, the kind of step. Pure.
"""

from __future__ import annotations

import base64
import binascii
from difflib import get_close_matches
from typing import Annotated, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StrictStr,
    field_validator,
    model_validator,
)

from pytest_agentbench.agents.base import AgentOptions
from pytest_agentbench.agents.python_runner import MOST_USED

MESSAGE_LIMIT = 50_000
"""Characters of a final message: it must fit into the end of the output that is kept."""

_Path = Annotated[StrictStr, Field(min_length=1)]
_Count = Annotated[int, Field(ge=0, le=MOST_USED, strict=True)]


class _Part(BaseModel):
    """Base of everything in a script."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Content(_Part):
    """Exactly one of a text (written as UTF-8) and any bytes in base64."""

    text: StrictStr | None = None
    base64: StrictStr | None = None

    @model_validator(mode="after")
    def _check_one(self) -> Content:
        if (self.text is None) == (self.base64 is None):
            raise ValueError("give either `text` or `base64`")
        return self

    @field_validator("base64")
    @classmethod
    def _check_base64(cls, value: str | None) -> str | None:
        if value is not None:
            try:
                base64.b64decode(value, validate=True)
            except binascii.Error as error:
                raise ValueError(f"not base64: {error}") from error
        return value


class Write(Content):
    """Write or append to a file, making its directories."""

    path: _Path


class Replace(_Part):
    """Put ``new`` in the place of ``old``, which the file must hold exactly once."""

    path: _Path
    old: Annotated[StrictStr, Field(min_length=1)]
    new: StrictStr


class Run(_Part):
    """Run a command and wait for it; unless it may fail, a failure ends the script."""

    command: list[StrictStr] | StrictStr
    may_fail: bool = False

    @field_validator("command", mode="before")
    @classmethod
    def _check_command(cls, value: object) -> object:
        return _command(value)


class Spawn(_Part):
    """Start a process that outlives the script: own session, and no child of ours.

    ``keep_output``: it holds our stdout and stderr open; else it has neither.
    """

    command: list[StrictStr] | StrictStr
    keep_output: bool = False

    @field_validator("command", mode="before")
    @classmethod
    def _check_command(cls, value: object) -> object:
        return _command(value)


class Print(Content):
    """Print exactly these bytes, ``repeat`` times over."""

    repeat: Annotated[int, Field(ge=1, strict=True)] = 1
    to: Literal["stdout", "stderr"] = "stdout"


class ReportedUsage(_Part):
    """What the script says it used; null or absent: unknown."""

    input_tokens: _Count | None = None
    output_tokens: _Count | None = None
    turns: _Count | None = None
    cost_usd: Annotated[float, Field(ge=0, le=MOST_USED)] | None = None


class Use(_Part):
    """Report that a skill, or a tool, was used: exactly one of the two."""

    skill: Annotated[StrictStr, Field(min_length=1)] | None = None
    tool: Annotated[StrictStr, Field(min_length=1)] | None = None

    @model_validator(mode="after")
    def _check_one(self) -> Use:
        if (self.skill is None) == (self.tool is None):
            raise ValueError("give either `skill` or `tool`")
        return self


class Step(_Part):
    """One step: exactly one of these keys.

    ``run`` and ``spawn`` also take the command itself (argv or shell string),
    ``print`` a text, printed as one line. ``exit`` ends the script at once,
    ``final`` is the final message, and of several ``usage`` the last one counts. ``use``
    adds a skill or a tool to those that were seen to be used.
    In commands ``{python}`` is the sandbox's interpreter.
    """

    write: Write | None = None
    append: Write | None = None
    replace: Replace | None = None
    delete: _Path | None = None
    run: Run | None = None
    spawn: Spawn | None = None
    sleep: Annotated[float, Field(ge=0)] | None = None
    print: Print | None = None
    exit: Annotated[int, Field(ge=0, le=255, strict=True)] | None = None
    final: Annotated[StrictStr, Field(max_length=MESSAGE_LIMIT)] | None = None
    usage: ReportedUsage | None = None
    use: Use | None = None

    @model_validator(mode="before")
    @classmethod
    def _check_one_kind(cls, value: object) -> object:
        if not isinstance(value, dict) or not value:
            raise ValueError(f"a step is a mapping with one key, one of {_known(cls)}")
        for key in value:
            if key not in cls.model_fields:
                close = get_close_matches(str(key), cls.model_fields, n=1)
                hint = f"; did you mean {close[0]!r}?" if close else ";"
                raise ValueError(f"unknown step {key!r}{hint} known: {_known(cls)}")
        if len(value) > 1:
            keys = " and ".join(repr(key) for key in value)
            raise ValueError(
                f"a step has one key, this one has {keys}; make them steps of their own"
            )
        [(kind, content)] = value.items()
        if content is None:
            raise ValueError(f"step {kind!r} says nothing")
        return value

    @field_validator("run", "spawn", mode="before")
    @classmethod
    def _from_command(cls, value: object) -> object:
        return {"command": value} if isinstance(value, str | list) else value

    @field_validator("print", mode="before")
    @classmethod
    def _from_line(cls, value: object) -> object:
        return {"text": f"{value}\n"} if isinstance(value, str) else value


Steps = list[Step]


class ScriptedOptions(AgentOptions):
    """Either ``steps`` for every task, or ``tasks`` by id, with ``default`` for all others."""

    steps: Steps | None = None
    tasks: dict[str, Steps] | None = None
    default: Steps | None = None

    @model_validator(mode="after")
    def _check_one_form(self) -> ScriptedOptions:
        if (self.steps is None) == (self.tasks is None):
            raise ValueError("needs either `steps` (for every task) or `tasks` (steps by task id)")
        if self.default is not None and self.tasks is None:
            raise ValueError(
                "`default` goes with `tasks`; with `steps` there is nothing left for it"
            )
        return self

    def steps_for(self, task_id: str) -> Steps | None:
        """The steps for a task; None when the script knows nothing of it."""
        if self.tasks is None:
            return self.steps
        return self.tasks.get(task_id, self.default)


def _command(value: object) -> object:
    """Refuse what is no command, in words that say what one is."""
    words = [value] if isinstance(value, str) else value
    if not isinstance(words, list) or not words or not words[0]:
        raise ValueError("wants a list of words ([tool, --flag]) or a shell string")
    for number, word in enumerate(words, start=1):
        if not isinstance(word, str):
            raise ValueError(  # noqa: TRY004 - pydantic reports only ValueError
                f"word {number} is {word!r}, not a string; put it in quotes"
            )
        if "\0" in word:
            raise ValueError(f"word {number} holds a NUL character")
    return value


def _known(model: type[BaseModel]) -> str:
    return ", ".join(sorted(model.model_fields))
