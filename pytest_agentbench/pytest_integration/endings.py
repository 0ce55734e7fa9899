"""What the end of a test's phase says of its trial: why it did not pass, and in which words."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from pytest_agentbench.engine.recording import MESSAGE_LIMIT
from pytest_agentbench.errors import AgentbenchError, TaskFailed, TrialError, TrialFault
from pytest_agentbench.model.outcome import Reason
from pytest_agentbench.redaction import printable

_TIMED_OUT = re.compile(r"Timeout \(?>[\d.]+s")
"""How the words of pytest-timeout begin, which raises nothing of its own."""

_NEVER_BEGAN = "async def functions are not natively supported"
"""How pytest's words begin where no plugin is there to run an async test: its body said nothing."""


def said(call: pytest.CallInfo[None]) -> tuple[Reason | None, str]:
    """Why a trial did not pass, as its test's phase ended; None where nothing was raised."""
    if call.excinfo is None:
        return None, ""
    error = call.excinfo.value
    if isinstance(error, pytest.skip.Exception):
        return Reason.SKIP, printable(str(error.msg), MESSAGE_LIMIT)
    words = printable(call.excinfo.exconly(), MESSAGE_LIMIT)
    if isinstance(error, pytest.fail.Exception):
        return _failed(str(error.msg)), words
    raised = list(_leaves(error))
    # One of ours among others is not what the test says: that is an assertion of its own.
    if all(isinstance(one, AgentbenchError | TrialError | TaskFailed) for one in raised):
        return _ours(raised[0]), printable(str(raised[0]), MESSAGE_LIMIT)
    return Reason.ASSERTION, words


def _failed(text: str) -> Reason:
    if _TIMED_OUT.match(text):
        return Reason.ABORTED
    return Reason.SETUP if text.startswith(_NEVER_BEGAN) else Reason.ASSERTION


def _ours(error: BaseException) -> Reason:
    if isinstance(error, TrialFault):
        return Reason(error.reason)
    return Reason.ASSERTION if isinstance(error, TaskFailed) else Reason.SETUP


def _leaves(error: BaseException) -> Iterator[BaseException]:
    """What was raised, without the groups that tasks of an async test put it into."""
    if isinstance(error, BaseExceptionGroup):
        for one in error.exceptions:
            yield from _leaves(one)
    else:
        yield error
