"""One item's trial: carries each step to the engine and keeps what reports need.

A step that is interrupted is cancelled and cleaned up before the interruption
goes on.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import pytest

from pytest_agentbench.errors import SandboxClosed, TrialError, TrialFault
from pytest_agentbench.model.contracts import Sandbox
from pytest_agentbench.model.outcome import Outcome, Reason
from pytest_agentbench.model.record import Record
from pytest_agentbench.model.run import AgentRun, Completed
from pytest_agentbench.model.trial import TrialSpec
from pytest_agentbench.model.verdict import Verdict
from pytest_agentbench.pytest_integration.session import SESSION, BenchSession
from pytest_agentbench.reports.junit import PREFIX, properties

if TYPE_CHECKING:
    from pytest_agentbench.engine.engine import Engine
    from pytest_agentbench.engine.trial import Trial

T = TypeVar("T")

CHAIN: pytest.StashKey[Chain] = pytest.StashKey()


@dataclass(frozen=True, slots=True)
class SandboxHandle:
    """A trial's sandbox for tests and fixtures; closed once the agent has been torn down."""

    chain: Chain

    def run(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        stdin: bytes = b"",
        timeout_s: float = 60.0,
    ) -> Completed:
        """Run a command in the sandbox. Raises ``SandboxClosed`` after the agent's end."""
        sandbox = self.chain.sandbox
        if sandbox is None or self.chain.trial.run is not None:
            raise SandboxClosed("the agent has run, and its sandbox is gone")
        return self.chain.call(sandbox.run(argv, env=env, stdin=stdin, timeout_s=timeout_s))


class Chain:
    """One attempt at one trial. ``span_s`` is the time that its steps took."""

    def __init__(self, bench: BenchSession, item: pytest.Item, spec: TrialSpec) -> None:
        self._bench = bench
        self._item = item
        self._engine: Engine = bench.engine()
        self.trial: Trial = self._engine.trial(spec)
        self.attempt = bench.next_attempt(item.nodeid)
        self.sandbox: Sandbox | None = None
        self.span_s = 0.0
        self.record: Record | None = None
        self.story = ""

    def open(self) -> SandboxHandle:
        """Open the agent's sandbox."""
        refusal = self._bench.refusal
        if refusal is not None:
            self.trial.fault(TrialFault(refusal, reason=Reason.SETUP))
            self._finish()
            raise TrialError(self.story)
        self.sandbox = self._step(self.trial.open())
        return SandboxHandle(self)

    def run_agent(self) -> AgentRun:
        """Run the agent."""
        return self._step(self.trial.run_agent())

    def score(self) -> Verdict:
        """Score, and make the record."""
        verdict = self._step(self.trial.score())
        self._finish()
        return verdict

    def call(self, coroutine: Coroutine[object, object, T]) -> T:
        """Carry something else than a step to the engine's loop."""
        return self._engine.loop.call(coroutine)

    def close(self) -> None:
        """Remove the sandbox, whatever has happened."""
        self._engine.loop.call(self.trial.close())

    def _step(self, step: Coroutine[object, object, T]) -> T:
        started = time.perf_counter()
        try:
            value = self._engine.loop.call(step)
        except TrialFault as fault:
            self.trial.fault(fault)
        except (KeyboardInterrupt, SystemExit, pytest.exit.Exception):
            self.trial.outcome, self.trial.reason = Outcome.CANCELLED, Reason.INTERRUPTED
            self.trial.message = "interrupted while it ran"
            self._finish()
            raise
        except pytest.fail.Exception as stop:
            # Another plugin's time-out, raised into the wait.
            self.trial.fault(TrialFault(str(stop), reason=Reason.ABORTED))
        except Exception as bug:  # noqa: BLE001 - whatever it is, it is a bug, and is told
            self._bench.note_internal_error()
            trace = "".join(traceback.format_exception(bug))
            self.trial.fault(TrialFault(f"a bug of pytest-agentbench:\n{trace}"))
        else:
            return value
        finally:
            self.span_s += time.perf_counter() - started
        self._finish()
        raise TrialError(self.story) from None

    def _finish(self) -> None:
        self.record, self.story = self._bench.conclude(
            self.trial, nodeid=self._item.nodeid, attempt=self.attempt
        )
        replace_properties(self._item, self.record)


def replace_properties(item: pytest.Item, record: Record) -> None:
    """Tell JUnit of the record; a rerun's test case must not show what an earlier attempt was."""
    others = [one for one in item.user_properties if not one[0].startswith(PREFIX)]
    item.user_properties[:] = [*others, *properties(record)]


def open_chain(request: pytest.FixtureRequest, spec: TrialSpec) -> Chain:
    """The chain of the test that asks; a rerun of the test gets a fresh one."""
    item = request.node
    chain = Chain(request.config.stash[SESSION], item, spec)
    item.stash[CHAIN] = chain
    return chain
