"""``agentbench validate --run``: proves by trials that a task measures what it says.

The reference solution passes, doing nothing fails, each known wrong answer is refused by
the oracle that is named for it, the oracles say the same every time, nothing of them can
be read where agents run, and limits are kept.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path

from pytest_agentbench.cli import probes
from pytest_agentbench.engine.engine import Engine
from pytest_agentbench.engine.trial import Trial
from pytest_agentbench.errors import SandboxError, TrialFault
from pytest_agentbench.matrix.expand import expand
from pytest_agentbench.model.contracts import SandboxDriver
from pytest_agentbench.model.outcome import Outcome, Reason
from pytest_agentbench.model.task import (
    Control,
    JsonValue,
    SandboxSpec,
    SettingsLayer,
    TaskSpec,
)
from pytest_agentbench.model.trial import TrialSpec
from pytest_agentbench.model.variant import Experiment, Variant
from pytest_agentbench.sandboxes.choice import AUTO, choose
from pytest_agentbench.taskfiles.assets import hidden_paths

_SMALLEST = 32
"""Bytes of a file that is looked for: shorter ones are found anywhere."""
_NO_WALLS = "nothing isolates in this sandbox"
_TIME_S = 1.0
_PATIENCE_S = 15.0


class Status(StrEnum):
    """How one proof ended. ``unproven``: there is nothing to try, or nothing that isolates."""

    OK = "ok"
    WRONG = "wrong"
    UNPROVEN = "unproven"


@dataclass(frozen=True, slots=True)
class Proof:
    """One thing that was tried with one task. ``column`` is its place in the table."""

    column: str
    what: str
    status: Status
    detail: str = ""


COLUMNS = ("reference", "noop", "controls", "same", "hidden", "limits")


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be tried: each answer ``runs`` times.

    ``experiment`` gives its defaults; ``ini`` and ``command_line`` are the layers over the
    task's own settings.
    """

    experiment: Experiment
    runs: int = 2
    ini: SettingsLayer = field(default_factory=dict)
    command_line: SettingsLayer = field(default_factory=dict)


class Prover:
    """Tries tasks, one at a time or several at once."""

    def __init__(self, engine: Engine, plan: Plan) -> None:
        self._engine = engine
        self._plan = plan
        self._over = False

    def prove_all(self, tasks: Sequence[TaskSpec], *, jobs: int) -> list[list[Proof]]:
        """The proofs of each task, in order."""
        self._engine.start(tasks)
        pool = ThreadPoolExecutor(jobs)
        try:
            return list(pool.map(self.prove, tasks))
        finally:
            # Interrupted, nobody waits for what still runs: it is cancelled, and its
            # threads end with it.
            self._over = True
            pool.shutdown(wait=False, cancel_futures=True)
            self._engine.stop()

    def prove(self, task: TaskSpec) -> list[Proof]:
        """All that can be tried with one task."""
        if task.fixtures:
            # They are pytest's, and this is no session of tests.
            why = (
                f"needs the pytest fixtures {', '.join(task.fixtures)}; try `pytest`, which must"
                " pass, and `pytest --agentbench-agent=noop`, which must fail"
            )
            return [Proof("reference", task.id, Status.UNPROVEN, why)]
        answers: list[tuple[str, Variant, Callable[[Trial], str]]] = [
            ("reference", Variant("reference", "reference"), _passes)
        ]
        if task.solution is None:
            answers = []
        answers.append(("noop", Variant("noop", "noop"), _fails))
        answers += [
            (
                f"control {control.name}",
                Variant(control.name, "control", options={"control": control.name}),
                _refused_by(control),
            )
            for control in task.controls
        ]
        proofs = []
        if task.solution is None:
            proofs.append(Proof("reference", "reference", Status.UNPROVEN, "there is no solution"))
        verdicts = []
        for what, variant, judge in answers:
            trials = [self._run(self._spec(task, variant)) for _ in range(self._plan.runs)]
            column = "controls" if what.startswith("control ") else what
            proofs.append(_proof(column, what, [judge(trial) for trial in trials]))
            verdicts.append((what, trials))
        if not task.controls:
            proofs.append(Proof("controls", "controls", Status.UNPROVEN, "there are none"))
        proofs.append(self._same(verdicts))
        proofs.append(self._hidden(task))
        proofs += self._limits(task)
        return proofs

    def _same(self, verdicts: Sequence[tuple[str, Sequence[Trial]]]) -> Proof:
        """Whether every oracle said the same of one answer, each time."""
        if self._plan.runs == 1:
            return Proof("same", "same each time", Status.UNPROVEN, "tried once only")
        faults = []
        for what, trials in verdicts:
            said = [_said(trial) for trial in trials if trial.verdict is not None]
            for name in sorted({name for one in said for name in one}):
                found = list(dict.fromkeys(one.get(name) for one in said))
                if len(found) > 1:
                    words = " and then ".join(map(str, found))
                    faults.append(f"{name} said of {what}: {words}")
        return _proof("same", "same each time", ["; ".join(faults)])

    def _hidden(self, task: TaskSpec) -> Proof:
        what = "hidden from agents"
        spec = self._spec(task, _probe(probes.SEARCH))
        if not self._isolates(spec.sandbox):
            return Proof("hidden", what, Status.UNPROVEN, _NO_WALLS)
        files, sizes = _needles(task)
        paths = [str(task.directory)]
        orders: dict[str, JsonValue] = {"files": dict(files), "sizes": list(sizes)}
        orders["paths"] = list[JsonValue](paths)
        trial = self._run(spec, orders, score=False)
        return _proof("hidden", what, [_printed(trial)])

    def _limits(self, task: TaskSpec) -> list[Proof]:
        """One proof for each limit that the task sets."""
        tries: list[tuple[str, Callable[[TaskSpec], str]]] = [("time", self._time)]
        spec = self._spec(task, _probe(probes.SLEEP))
        walls, limits = spec.sandbox, spec.limits
        if walls.driver == "auto" and not self._isolates(walls):
            return [Proof("limits", "limits", Status.UNPROVEN, _NO_WALLS)]
        if walls.memory_bytes is not None:
            size = walls.memory_bytes + (64 << 20)
            tries.append(("memory", self._bounded(probes.MEMORY, {"bytes": size})))
        if walls.pids is not None:
            tries.append(("pids", self._bounded(probes.PROCESSES, {"pids": walls.pids + 1})))
        if walls.network == "none" or (walls.network == "auto" and self._has_no_network(walls)):
            tries.append(("network", self._bounded(probes.NETWORK, {})))
        if limits.workspace_bytes is not None:
            tries.append(("workspace", self._filled(limits.workspace_bytes + 1)))
        return [_proof("limits", f"limit {name}", [attempt(task)]) for name, attempt in tries]

    def _time(self, task: TaskSpec) -> str:
        spec = self._spec(task, _probe(probes.SLEEP))
        trial = self._run(replace(spec, limits=replace(spec.limits, time_s=_TIME_S)), score=False)
        if trial.run is None or trial.run.completed is None:
            return _trouble(trial)
        if not trial.run.timed_out:
            return "an agent that sleeps was not stopped"
        late = trial.run.duration_s > _TIME_S + _PATIENCE_S
        return f"it took {trial.run.duration_s:.0f} s to stop an agent" if late else ""

    def _bounded(self, program: str, orders: dict[str, JsonValue]) -> Callable[[TaskSpec], str]:
        def attempt(task: TaskSpec) -> str:
            trial = self._run(self._spec(task, _probe(program)), orders, score=False)
            completed = None if trial.run is None else trial.run.completed
            killed = completed is not None and completed.exit_code != 0
            # What goes over its limits is killed, or told so: both keep them.
            return "" if killed else _printed(trial)

        return attempt

    def _filled(self, size: int) -> Callable[[TaskSpec], str]:
        def attempt(task: TaskSpec) -> str:
            trial = self._run(self._spec(task, _probe(probes.FILL)), {"bytes": size})
            if trial.reason is Reason.LIMIT:
                return ""
            return f"an agent left {size:,} bytes: {_trouble(trial)}"

        return attempt

    def _spec(self, task: TaskSpec, variant: Variant) -> TrialSpec:
        """The trial of one variant, as this project's experiment and command line have it."""
        experiment = replace(self._plan.experiment, variants=(variant,))
        command_line = {**self._plan.command_line, "repeats": 1}
        return expand(task, experiment, command_line, ini=self._plan.ini)[0]

    def _isolates(self, walls: SandboxSpec) -> bool:
        """Whether the walls that a task asks for can keep an agent in."""
        try:
            return self._driver_of(walls).probe().isolated
        except SandboxError:
            # Asked for by name, the driver itself says why it does not work.
            return walls.driver != AUTO

    def _has_no_network(self, walls: SandboxSpec) -> bool:
        """Whether an agent that needs no network has none there."""
        try:
            return self._driver_of(walls).probe().controls_network
        except SandboxError:
            return True

    def _driver_of(self, walls: SandboxSpec) -> SandboxDriver:
        drivers = self._engine.drivers
        return choose(walls.driver, drivers, trusted=False, image=walls.names_image)

    def _run(
        self, spec: TrialSpec, orders: dict[str, JsonValue] | None = None, *, score: bool = True
    ) -> Trial:
        if self._over:
            raise CancelledError
        if orders is not None:
            spec = replace(spec, rendered=json.dumps(orders))
        trial = self._engine.trial(spec)
        self._engine.loop.call(_whole(trial, score=score))
        return trial


async def _whole(trial: Trial, *, score: bool) -> None:
    try:
        await trial.open()
        await trial.run_agent()
        if score:
            await trial.score()
    except TrialFault as fault:
        trial.fault(fault)
    finally:
        await trial.close()


def _probe(program: str) -> Variant:
    return Variant("probe", "command", options={"run": ["{python}", "-c", program]})


def _needles(task: TaskSpec) -> tuple[dict[str, str], list[int]]:
    """What is looked for: names by digest, and sizes."""
    files: dict[str, str] = {}
    sizes: set[int] = set()
    for path in _files_of(hidden_paths(task)):
        try:
            data = path.read_bytes()
        except OSError:
            continue
        if len(data) >= _SMALLEST:
            files[hashlib.sha256(data).hexdigest()] = path.name
            sizes.add(len(data))
    return files, sorted(sizes)


def _files_of(paths: Iterable[Path]) -> Iterable[Path]:
    for path in paths:
        if path.is_dir():
            yield from (below for below in sorted(path.rglob("*")) if below.is_file())
        else:
            yield path


def _proof(column: str, what: str, faults: Sequence[str]) -> Proof:
    """Wrong with the first fault, or ok where each is empty."""
    first = next(filter(None, faults), "")
    return Proof(column, what, Status.WRONG if first else Status.OK, first)


def _said(trial: Trial) -> dict[str, str]:
    results = trial.verdict.results if trial.verdict is not None else ()
    return {
        result.name: f"{'passed' if result.passed else 'failed'}, score {result.score:.9g}"
        for result in results
    }


def _printed(trial: Trial) -> str:
    """What a probe found; its one line of JSON says."""
    said = trial.run.transcript.final_message if trial.run else None
    if said is None:
        return _trouble(trial)
    try:
        found = json.loads(said.splitlines()[-1])
    except ValueError:
        return f"the probe failed: {said[-200:]}"
    return "; ".join(map(str, found))


def _passes(trial: Trial) -> str:
    return "" if trial.outcome is Outcome.PASSED else _trouble(trial)


def _fails(trial: Trial) -> str:
    if trial.outcome is Outcome.FAILED:
        return ""
    if trial.outcome is Outcome.PASSED:
        return "passed without doing anything"
    return _trouble(trial)


def _refused_by(control: Control) -> Callable[[Trial], str]:
    def judge(trial: Trial) -> str:
        if trial.outcome is not Outcome.FAILED:
            return "passed" if trial.outcome is Outcome.PASSED else _trouble(trial)
        results = trial.verdict.results if trial.verdict is not None else ()
        # What was not run has refused nothing.
        refusing = [result.name for result in results if result.ran and not result.passed]
        if control.fails in refusing:
            return ""
        idle = any(result.name == control.fails and not result.ran for result in results)
        what = "is not run" if idle else "lets it pass"
        return f"{control.fails} {what}; refused by {', '.join(refusing) or 'a limit'}"

    return judge


def _trouble(trial: Trial) -> str:
    outcome = "no outcome" if trial.outcome is None else trial.outcome.value
    reason = f" ({trial.reason})" if trial.reason else ""
    return f"{outcome}{reason}: {trial.message}" if trial.message else f"{outcome}{reason}"
