"""Calls of third parties' code: what comes out of it is theirs, and is told as theirs.

Without this, an agent that raises would be called a bug of ours, and end the session; one
that calls ``sys.exit`` would take the engine's loop with it, and pytest would wait for ever;
an oracle that skips a test of pytest's would skip the trial.
"""

from __future__ import annotations

import asyncio
import threading
import traceback
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar, cast

from pytest_agentbench.errors import OracleError, SandboxError, TrialFault
from pytest_agentbench.model.outcome import Outcome, Reason, outcome_of
from pytest_agentbench.model.shape import misfit
from pytest_agentbench.registry import is_foreign, last_line

T = TypeVar("T")

_ENDING_S = 2.0
"""How long what is told to end may take to end."""
_LONGEST = 600
"""Characters of what a third party says of itself: it goes into every report."""


class Guest:
    """One component, and whose fault it is when it does not keep to its contract.

    What is built in is not watched: what comes out of that is a bug of ours.
    """

    def __init__(self, component: object, where: str, fault: Callable[[str], TrialFault]) -> None:
        """``fault`` makes the fault of what is wrong, which begins with ``where``."""
        cls = component if isinstance(component, type) else type(component)
        self.foreign = is_foreign(cls)
        self._where = f"{where} ({cls.__module__}.{cls.__qualname__})"
        self._fault = fault

    def wrong(self, what: str) -> TrialFault:
        """The fault that it has done something wrong."""
        cut = what if len(what) <= _LONGEST else f"{what[:_LONGEST]} …"
        return self._fault(f"{self._where}: {cut}")

    @contextmanager
    def does(self, doing: str) -> Iterator[None]:
        """Around a call of it. Raises a ``TrialFault`` that names it, whatever it raises."""
        if not self.foreign:
            yield
            return
        try:
            yield
        except BaseException as error:
            if _passes(error):
                raise
            said = f"{doing} raised {last_line(error) or type(error).__name__}{_origin(error)}"
            raise self.wrong(said) from error

    def gave(self, doing: str, value: object, wanted: type[T]) -> T:
        """What it gave, if that is what its contract says; ``doing`` ends with the verb."""
        lacking = misfit(value, wanted) if self.foreign else None
        if lacking is not None:
            raise self.wrong(f"{doing} {lacking}")
        return cast("T", value)


async def ended(work: Coroutine[object, object, T], limit_s: float) -> tuple[asyncio.Task[T], bool]:
    """A call that was given so much time, and whether it had to be told to end.

    A task of its own: one that takes no notice of that would be waited for for ever. It may
    be running still.
    """
    working = asyncio.create_task(work)
    try:
        await asyncio.wait({working}, timeout=limit_s)
    finally:
        overdue = not working.done()
        if overdue:
            working.cancel()
            await asyncio.wait({working}, timeout=_ENDING_S)
    return working, overdue


def agent_guest(agent: object, name: str, reason: Reason = Reason.AGENT_CRASH) -> Guest:
    """An agent; ``reason`` is why nothing could be measured."""
    return Guest(agent, f"agent {name!r}", lambda what: TrialFault(what, reason=reason))


def oracle_guest(oracle: object, name: str, kind: str) -> Guest:
    """An oracle of a task."""
    return Guest(oracle, f"oracle {name!r} of kind {kind!r}", OracleError)


def sandbox_guest(thing: object, name: str) -> Guest:
    """A driver, or a sandbox of it."""
    return Guest(thing, f"sandbox {name!r}", SandboxError)


def _passes(error: BaseException) -> bool:
    """Whether it is for somebody else: a fault as the contract has it, or an interruption."""
    if isinstance(error, TrialFault):
        return error.reason in _FAULTS
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is not None and task.cancelling() > 0
    if isinstance(error, KeyboardInterrupt):
        # Signals arrive in the main thread.
        return threading.current_thread() is threading.main_thread()
    return isinstance(error, GeneratorExit)


_FAULTS = frozenset(
    str(one) for one in Reason if outcome_of(one) is Outcome.ERROR and one is not Reason.INTERNAL
)


def _origin(error: BaseException) -> str:
    """The file and line that raised it."""
    frames = traceback.extract_tb(error.__traceback__)[1:]
    return f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
