"""What the built-in agents share: strict options, and an agent's last words."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from pytest_agentbench.model.run import Output

FINAL_MESSAGE_LIMIT = 4_000
"""Characters of an agent's output that are kept as its final message."""


class AgentOptions(BaseModel):
    """Base of every agent's options: frozen, and unknown ones are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class NoOptions(AgentOptions):
    """The options of an agent that has none."""


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
