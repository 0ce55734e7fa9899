"""``agentbench shell``: a shell in a trial's sandbox, as the agent would see it."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_agentbench.cli.collection import Collection, collect, session_options
from pytest_agentbench.errors import AgentbenchError, UsageError
from pytest_agentbench.reports.story import describe_changes

if TYPE_CHECKING:
    from pytest_agentbench.engine.trial import Trial
    from pytest_agentbench.model.run import Changes, Completed
    from pytest_agentbench.model.trial import TrialSpec
    from pytest_agentbench.sandboxes.base import DirectorySandbox

_LONGEST_S = 7 * 24 * 3600.0
_PROMPT_NAME = "prompt.md"

# Inside, a terminal of its own: the sandbox is a session without one, for a program in it
# could otherwise type into ours.
_TERMINAL = """
import fcntl, os, pty, struct, sys, termios
size = fcntl.ioctl(0, termios.TIOCGWINSZ, b"\\0" * 8)
rows, columns, _, _ = struct.unpack("HHHH", size)
shell = "stty rows %d cols %d 2>/dev/null; exec \\"$@\\"" % (rows or 24, columns or 80)
status = pty.spawn(["/bin/sh", "-c", shell, "sh", *sys.argv[1:]])
sys.exit(os.waitstatus_to_exitcode(status) & 255)
"""


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked for; see ``agentbench shell --help``. No ``command``: an interactive shell."""

    task: str
    variant: str | None = None
    driver: str | None = None
    experiment: str | None = None
    command: Sequence[str] = ()


def shell(request: Request) -> int:
    """Run the shell, then say what it left; the shell's exit status. Raises ``AgentbenchError``."""
    collection = _collect(request)
    spec = _chosen(collection, request)
    with collection.project.known():
        engine = collection.engine()
        engine.start([spec.task])
        try:
            trial = engine.trial(spec)
            return engine.loop.call(_run(trial, list(request.command)))
        finally:
            engine.stop()


def _collect(request: Request) -> Collection:
    """What the argument names: a file, a node id, or the id of a task below here."""
    path = request.task.partition("::")[0]
    by_path = Path(path).exists()
    paths = [request.task.partition("[")[0] if by_path else "."]
    options = session_options(sandbox=request.driver, experiment=request.experiment)
    collection = collect(paths, options)
    if not by_path:
        collection.trials = [one for one in collection.trials if one.task.id == request.task]
    if not collection.trials:
        for problem in collection.problems:
            print(problem, file=sys.stderr)
        raise UsageError(
            "there is no such task",
            where=request.task,
            advice="the path of a task file, its node id, or a task's id",
        )
    return collection


def _chosen(collection: Collection, request: Request) -> TrialSpec:
    tasks = {trial.task.id for trial in collection.trials}
    if len(tasks) > 1:
        names = ", ".join(sorted(tasks)[:10])
        raise UsageError(
            f"{len(tasks)} tasks: {names}", where=request.task, advice="name one of them"
        )
    if request.variant is None:
        return collection.trials[0]
    found = [one for one in collection.trials if one.variant.name == request.variant]
    if not found:
        known = ", ".join(dict.fromkeys(one.variant.name for one in collection.trials))
        raise UsageError(f"unknown variant {request.variant!r}; known: {known}", where="--variant")
    return found[0]


async def _run(trial: Trial, command: list[str]) -> int:
    try:
        sandbox: DirectorySandbox = await trial.open()  # type: ignore[assignment]
        if not hasattr(sandbox, "attach"):
            raise AgentbenchError(f"the sandbox {sandbox.driver!r} has no shell")
        completed = await _attached(trial, sandbox, command)
        changes = await sandbox.settle()
        _tell(changes)
    finally:
        await trial.close()
    return 1 if completed.exit_code is None else completed.exit_code


async def _attached(trial: Trial, sandbox: DirectorySandbox, command: list[str]) -> Completed:
    from pytest_agentbench.model.task import Blob

    spec = trial.spec
    prompt = await sandbox.put({_PROMPT_NAME: Blob(spec.prompt.encode())})
    if spec.task.fixtures:
        names = ", ".join(spec.task.fixtures)
        print(f"agentbench: without the pytest fixtures {names}", file=sys.stderr)
    env = {
        **trial.agent_env,
        "AGENTBENCH_TASK": spec.task.id,
        "AGENTBENCH_VARIANT": spec.variant.name,
        "AGENTBENCH_REPEAT": str(spec.repeat),
        "AGENTBENCH_PROMPT_FILE": f"{prompt}/{_PROMPT_NAME}",
        "TERM": os.environ.get("TERM", "dumb"),
    }
    # By a shell, which says that there is no such program as shells do, with 127.
    argv = ["/bin/sh", "-c", 'exec "$@"', "sh", *command] if command else []
    argv = argv or ["/bin/bash" if shutil.which("bash", path="/bin") else "/bin/sh"]
    if sys.stdin.isatty() and sys.stdout.isatty() and not command:
        print(
            f"agentbench: {spec.key} in {sandbox.driver}; the prompt is in"
            " $AGENTBENCH_PROMPT_FILE; exit ends it, and nothing of it is kept",
            file=sys.stderr,
        )
        argv = [sandbox.python, "-c", _TERMINAL, *argv, "-i"]
    streams = (sys.stdin.fileno(), sys.stdout.fileno(), sys.stderr.fileno())
    sys.stdout.flush()
    return await sandbox.attach(argv, stdio=streams, env=env, timeout_s=_LONGEST_S)


def _tell(changes: Changes) -> None:
    lines = describe_changes(changes)
    words = "\n".join(lines) if lines else "nothing was changed"
    print(f"agentbench: {words}", file=sys.stderr)
