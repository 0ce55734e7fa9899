"""How a task's reference solution is laid into a sandbox.

Used by the ``reference`` agent, and wherever a solved workspace is needed before
any agent runs.
"""

from __future__ import annotations

import time
from pathlib import Path

from pytest_agentbench.agents.base import last_words
from pytest_agentbench.errors import SetupError
from pytest_agentbench.model.contracts import Sandbox
from pytest_agentbench.model.run import AgentRun, Completed, Transcript
from pytest_agentbench.model.task import Blob, Solution
from pytest_agentbench.sandboxes.blobs import read_tree

SCRIPT_TIMEOUT_S = 600.0
PATCH_TIMEOUT_S = 120.0

_PATCH_NAME = "solution.patch"
_MESSAGE_LIMIT = 2_000

# With a git directory that is none, git looks for no repository: below another one
# it would take paths as seen from that one's root and skip what lies outside, with
# exit code 0. It also reads no configuration, so no hook and no filter can run.
_GIT_ENV = {
    "GIT_DIR": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "LC_ALL": "C.UTF-8",
}
_GIT = ("git", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")
_GIT_APPLY = (*_GIT, "apply", "--whitespace=nowarn")

# As exact as git: no fuzz, line ends as they are, no backup beside what was patched.
_PATCH = ("patch", "-p1", "--batch", "--forward", "--fuzz=0", "--binary")
_PATCH_QUIETLY = (*_PATCH, "--no-backup-if-mismatch", "--reject-file=-", "-i")


async def give_answer(answer: Solution, sandbox: Sandbox, *, timeout_s: float) -> AgentRun:
    """Apply an answer as an agent's whole work; what it says is the final message.

    Raises ``SetupError`` as ``apply_solution`` does.
    """
    start_s = time.monotonic()
    completed = await apply_solution(answer, sandbox, timeout_s=timeout_s)
    words = answer.final
    if words is None and completed is not None:
        words = last_words(completed.stdout)
    return AgentRun(
        completed=completed,
        transcript=Transcript(final_message=words),
        duration_s=time.monotonic() - start_s,
    )


async def apply_solution(
    solution: Solution, sandbox: Sandbox, *, timeout_s: float = SCRIPT_TIMEOUT_S
) -> Completed | None:
    """Apply a solution to the sandbox's workspace.

    Returns how the script ended where the solution is one (any exit code), else
    None. Raises ``SetupError`` where files cannot be read or a patch does not apply.
    """
    if solution.patch is not None:
        await _apply_patch(solution.patch, sandbox)
        return None
    if solution.tree is not None:
        await sandbox.write(read_tree(solution.tree, where="solution"))
        return None
    if solution.script is not None:
        return await _run_script(solution.script, sandbox, timeout_s)
    if solution.final is not None:
        return None
    raise SetupError("the solution is neither a patch, nor files, nor a script", where="solution")


async def _apply_patch(path: Path, sandbox: Sandbox) -> None:
    staged = await sandbox.put({_PATCH_NAME: _read(path)})
    target = f"{staged}/{_PATCH_NAME}"
    done = await sandbox.run([*_GIT_APPLY, target], env=_GIT_ENV, timeout_s=PATCH_TIMEOUT_S)
    if _is_missing(done):
        done = await sandbox.run(
            [*_PATCH_QUIETLY, target], env={"LC_ALL": "C.UTF-8"}, timeout_s=PATCH_TIMEOUT_S
        )
    if _is_missing(done):
        raise SetupError(
            "neither git nor patch is there to apply it",
            where=path.name,
            advice="install git, or give the solution as a directory of files",
        )
    if done.exit_code != 0:
        raise SetupError(
            f"the patch does not apply: {_complaint(done)}",
            where=path.name,
            advice="make it anew against the task's workspace, with paths below a/ and b/",
        )


async def _run_script(path: Path, sandbox: Sandbox, timeout_s: float) -> Completed:
    script = _read(path)
    staged = await sandbox.put({path.name: script})
    target = f"{staged}/{path.name}"
    argv = [target] if script.executable and script.data.startswith(b"#!") else ["sh", target]
    return await sandbox.run(argv, timeout_s=timeout_s)


def _read(path: Path) -> Blob:
    try:
        return Blob(path.read_bytes(), executable=bool(path.stat().st_mode & 0o100))
    except OSError as error:
        raise SetupError(
            f"the solution cannot be read: {error.strerror}", where=path.name
        ) from error


def _is_missing(done: Completed) -> bool:
    """Whether the tool itself was not there (127 is what a wrapper in between makes of it)."""
    return done.launch_error is not None or done.exit_code == 127  # noqa: PLR2004


def _complaint(done: Completed) -> str:
    if done.timed_out:
        return f"no end after {PATCH_TIMEOUT_S:g} s"
    text = (done.stderr.text() + done.stdout.text()).strip()
    return text[:_MESSAGE_LIMIT] or f"exit code {done.exit_code}"
