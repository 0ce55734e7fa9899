"""What agents share: strict options, safe defaults, and an agent's last words."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from pydantic import BaseModel, ConfigDict

from pytest_agentbench.model.run import Completed, Output, Transcript

FINAL_MESSAGE_LIMIT = 4_000
"""Characters of an agent's output that are kept as its final message."""


class AgentOptions(BaseModel):
    """Base of every agent's options: frozen, and unknown ones are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class NoOptions(AgentOptions):
    """The options of an agent that has none."""


class AgentBase:
    """What an agent may inherit: everything but its ``name``, and ``command`` or ``run``.

    It has no options, needs no network, is told nothing of the harness, is not trusted
    where nothing isolates, keeps to no list of tools, and shows no evidence. A class that
    does not inherit from it gets these defaults all the same.
    """

    DEFAULTS: ClassVar[tuple[str, ...]] = (
        "Options",
        "needs_network",
        "announces_harness",
        "trusted",
        "limits_tools",
        "shows_evidence",
        "roots",
    )
    """What a class may leave out that does not inherit it."""

    name: ClassVar[str]
    Options: ClassVar[type[BaseModel]] = NoOptions
    needs_network: ClassVar[bool] = False
    announces_harness: ClassVar[bool] = False
    trusted: ClassVar[bool] = False
    limits_tools: ClassVar[bool] = False
    shows_evidence: ClassVar[bool] = False
    roots: tuple[Path, ...] = ()

    def __init__(self, options: BaseModel) -> None:
        """``options`` is an instance of ``Options``."""
        self.options = options

    def parse(self, completed: Completed) -> Transcript:
        """The end of what it printed is its final message; what it used, nobody knows."""
        return Transcript(final_message=last_words(completed.stdout))


def last_words(output: Output) -> str | None:
    """The end of what was printed, without surrounding blank space; None for silence.

    At most ``FINAL_MESSAGE_LIMIT`` characters; a cut at the front is marked.
    """
    text = output.text().strip()
    if not text:
        return None
    if len(text) <= FINAL_MESSAGE_LIMIT:
        return text
    return "…" + text[1 - FINAL_MESSAGE_LIMIT :]
