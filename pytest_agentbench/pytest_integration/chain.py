"""One item's trial: carries each step to the engine and keeps what reports need.

A step that is interrupted is cancelled and cleaned up before the interruption
goes on.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn, TypeVar

import pytest

from pytest_agentbench.errors import SandboxClosed, TrialError, TrialFault, UsageError
from pytest_agentbench.model.contracts import Sandbox
from pytest_agentbench.model.outcome import Outcome, Reason, outcome_of
from pytest_agentbench.model.record import Record
from pytest_agentbench.model.run import AgentRun, Completed
from pytest_agentbench.model.trial import TrialSpec
from pytest_agentbench.model.verdict import Verdict
from pytest_agentbench.pytest_integration.collect import place_of, runs_trial
from pytest_agentbench.pytest_integration.endings import said
from pytest_agentbench.pytest_integration.overrides import changed_trial, environment_of
from pytest_agentbench.pytest_integration.session import SESSION, BenchSession
from pytest_agentbench.reports.junit import PREFIX, properties

if TYPE_CHECKING:
    from pytest_agentbench.engine.engine import Engine
    from pytest_agentbench.engine.trial import Trial

T = TypeVar("T")

CHAIN: pytest.StashKey[Chain] = pytest.StashKey()


@dataclass(frozen=True, slots=True)
class OpenedSandbox:
    """The ``SandboxHandle`` of a chain."""

    chain: Chain

    @property
    def workspace(self) -> str:
        """The absolute path of the workspace, as it is inside."""
        return self._sandbox().workspace

    def run(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        stdin: bytes = b"",
        timeout_s: float = 60.0,
    ) -> Completed:
        """Run a command in the sandbox. Raises ``SandboxClosed`` after the agent's end."""
        _check_argv(argv)
        sandbox = self._sandbox()
        return self.chain.call(sandbox.run(argv, env=env, stdin=stdin, timeout_s=timeout_s))

    async def arun(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        stdin: bytes = b"",
        timeout_s: float = 60.0,
    ) -> Completed:
        """The same for async tests and fixtures: awaited in their loop, run in the engine's."""
        _check_argv(argv)
        sandbox = self._sandbox()
        return await self.chain.await_call(
            sandbox.run(argv, env=env, stdin=stdin, timeout_s=timeout_s)
        )

    def _sandbox(self) -> Sandbox:
        sandbox = self.chain.sandbox
        if sandbox is None or self.chain.trial.run is not None:
            raise SandboxClosed("the agent has run, and its sandbox is gone")
        return sandbox


def _check_argv(argv: object) -> None:
    """Refuse a shell's line: taken for words, it would be one command for each letter."""
    if isinstance(argv, str | bytes):
        raise UsageError(
            f"argv is a list of words, and not the text {argv!r}",
            where="agentbench_sandbox",
            advice='["sh", "-c", "..."] for a line of a shell',
        )


class Chain:
    """One attempt at one trial.

    ``span_s`` is the time that its steps took, ``in_setup_s`` the part of it that is taken
    off the report of the test's set-up.
    """

    def __init__(self, bench: BenchSession, item: pytest.Item, spec: TrialSpec) -> None:
        self._bench = bench
        self._item = item
        self._engine: Engine = bench.engine()
        self.trial: Trial = self._engine.trial(spec)
        self.attempt = bench.next_attempt(item.nodeid)
        self.sandbox: Sandbox | None = None
        self.span_s = 0.0
        self.in_setup_s = 0.0
        self.record: Record | None = None
        self.story = ""

    def open(self) -> OpenedSandbox:
        """Open the agent's sandbox."""
        refusal = self._bench.refusal
        if refusal is not None:
            self.fail(TrialFault(refusal, reason=Reason.SETUP))
        self.sandbox = self._step(self.trial.open())
        return OpenedSandbox(self)

    def run_agent(self) -> AgentRun:
        """Run the agent."""
        self._check_planned()
        return self._step(self.trial.run_agent())

    def adopt(self, run: AgentRun) -> None:
        """Take what a project's own ``agentbench_run`` did instead of the agent."""
        self.trial.diagnostics.append(
            "agentbench_run is overridden: the variant's own agent did not run"
        )
        self._step(self.trial.adopt(run))

    def score(self, run: object) -> Verdict:
        """Score; ``run`` is what ``agentbench_run`` gave."""
        self.confirm({"agentbench_run": run})
        return self._step(self.trial.score())

    def confirm(self, given: Mapping[str, object]) -> None:
        """Make sure that somebody has worked on the task: nothing else is a measurement.

        ``given`` is what the project's fixtures gave, of those that are asked for.
        """
        self._check_planned()
        self.insist()
        ran = self.trial.run is not None
        run = given.get("agentbench_run")
        if not isinstance(run, AgentRun) and ("agentbench_run" in given or not ran):
            so = "" if ran else ": no agent ran"
            self._refuse_override("agentbench_run", f"an AgentRun, but {type(run).__name__}{so}")
        verdict = given.get("agentbench_verdict")
        if "agentbench_verdict" in given and not isinstance(verdict, Verdict):
            kind = type(verdict).__name__
            self._refuse_override("agentbench_verdict", f"a Verdict, but {kind}")
        if not ran and isinstance(run, AgentRun):
            self.adopt(run)

    def _refuse_override(self, name: str, wanted: str) -> NoReturn:
        self.fail(
            TrialFault(
                f"{name} is overridden by a fixture that does not give {wanted}",
                where=self.trial.spec.key,
                reason=Reason.SETUP,
                advice="return what the fixture of that name gave, or a changed copy",
            )
        )

    def fail(self, fault: TrialFault) -> NoReturn:
        """End the trial: nothing is measured."""
        self.trial.fault(fault)
        self._finish()
        raise TrialError(self.story)

    def insist(self) -> None:
        """Raise once more what ended the trial: whoever caught it has nothing to judge."""
        if self.record is not None and self.record.outcome is Outcome.ERROR:
            raise TrialError(self.story)

    def interrupt(self) -> None:
        """Make the record where Ctrl-C or ``pytest.exit`` ended the test after the agent had run.

        Somebody has paid for that run.
        """
        if self.record is None and self.trial.run is not None:
            self.trial.decide(Reason.INTERRUPTED, "interrupted after the agent had run")
            self._finish()
            self._bench.interrupted = self.record

    def settle(self, call: pytest.CallInfo[None]) -> None:
        """Make the record, once the test's body has ended: what it says is the outcome.

        The body of a task's test repeats the verdict. A Python test's own asserts decide,
        and so does a verdict that the project overrides.
        """
        reason, message = said(call)
        trial = self.trial
        agrees = trial.outcome is (Outcome.PASSED if reason is None else outcome_of(reason))
        if not agrees:
            trial.decide(reason, message)
        self._finish()

    def broke(self, call: pytest.CallInfo[None]) -> None:
        """Make the record where a fixture ended the test after the agent had run."""
        reason, message = said(call)
        if reason is Reason.SKIP:
            self.trial.decide(reason, message)
        elif reason is Reason.ABORTED:
            self.trial.fault(TrialFault(message, reason=reason))
        else:
            what = f"a fixture failed after the agent had run: {message}"
            self.trial.fault(TrialFault(what, reason=Reason.SETUP))
        self._finish()

    def call(self, coroutine: Coroutine[object, object, T]) -> T:
        """Carry something else than a step to the engine's loop."""
        return self._engine.loop.call(coroutine)

    async def await_call(self, coroutine: Coroutine[object, object, T]) -> T:
        """The same, awaited in another loop."""
        return await self._engine.loop.await_call(coroutine)

    def close(self) -> None:
        """Remove the sandbox, whatever has happened."""
        self._engine.loop.call(self.trial.close())

    def _check_planned(self) -> None:
        """Nothing is paid for that no plan and no count would show."""
        if not runs_trial(self._item):
            raise TrialError(
                f"{self._item.nodeid}: asks for an agent's run by request.getfixturevalue alone,"
                " so it is in no plan. Try: agentbench_run as an argument of the test, or"
                ' @pytest.mark.usefixtures("agentbench_run")'
            )

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
            self._bench.interrupted = self.record
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


def open_chain(request: pytest.FixtureRequest, spec: object) -> Chain:
    """The chain of the test that asks; a rerun of the test gets a fresh one.

    ``spec`` is what ``agentbench_trial`` gave.
    """
    item = request.node
    asked = asked_trial(item)
    # First of all what the test needs besides: without it, nothing is opened.
    values = {name: request.getfixturevalue(name) for name in asked.task.fixtures}
    chain = Chain(request.config.stash[SESSION], item, asked)
    item.stash[CHAIN] = chain
    fault: TrialFault | None = None
    try:
        chain.trial.spec = changed_trial(asked, spec, chain.trial.diagnostics)
        chain.trial.given = environment_of(asked.task.fixtures, values)
    except TrialFault as error:
        fault = error
    if fault is not None:
        chain.fail(fault)
    return chain


def chain_of(sandbox: object) -> Chain:
    """The chain behind what ``agentbench_sandbox`` gave."""
    if not isinstance(sandbox, OpenedSandbox):
        raise TrialError(
            "agentbench_sandbox is overridden by a fixture that gives no sandbox, but "
            f"{type(sandbox).__name__}. Try: let it take agentbench_sandbox, and return that"
        )
    return sandbox.chain


def asked_trial(item: pytest.Item) -> TrialSpec:
    """The trial whose fixtures a test gets."""
    place = place_of(item)
    assert place is not None, "only tests with a trial's parameter ask"
    return place.trial()
