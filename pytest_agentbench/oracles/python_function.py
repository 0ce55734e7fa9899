"""``python``: a function of the author's judges, in a process of its own in a fresh sandbox.

Its module is imported before anything of the agent's can run there, and is tried
before any agent starts: what fails then is an error. From the moment the function is
called, code of the agent's may run, and all that goes wrong has not passed. Code that
the function imports shares its process: it could in principle say anything.
"""

from __future__ import annotations

import json
import os
import posixpath
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import ClassVar

from pytest_agentbench.errors import SetupError
from pytest_agentbench.model.contracts import Sandbox, StagedOracle, Subject
from pytest_agentbench.model.digest import digest_blobs, digest_value
from pytest_agentbench.model.run import Completed
from pytest_agentbench.model.task import Blob, JsonValue, OracleSpec
from pytest_agentbench.model.verdict import OracleResult
from pytest_agentbench.oracles import pytest_bootstrap, python_bootstrap
from pytest_agentbench.oracles.base import (
    STREAM_LIMIT,
    TOLERANCE,
    Problem,
    below,
    death,
    is_below,
    judged,
    last_words,
    oracle_fault,
    output_text,
    unknown_keys,
)
from pytest_agentbench.oracles.pytest_report import Opening, read_opening
from pytest_agentbench.oracles.python_report import SIZE_LIMIT, Said, read_said
from pytest_agentbench.sandboxes.blobs import read_tree
from pytest_agentbench.sandboxes.pymodules import (
    Call,
    module_file,
    no_function,
    no_module,
    read_call,
)

_VERSION = 1
_ASSETS, _BOOTSTRAP, _SEALED = "assets", "bootstrap.py", "sealed.py"
_ADVICE = (
    "import inside the function what the agent writes, and take all else from the assets "
    "or from the environment of sandbox.python"
)


@dataclass(frozen=True, slots=True)
class _Ended:
    """One process of the function's: how it began, how it ended, and what it reported."""

    opening: Opening
    completed: Completed
    report: bytes


class PythonOracle:
    """``module:function`` in ``assets``, called with a context; it returns a score.

    A score is a bool, a number from 0 to 1, ``(score, reason)``, or a mapping of
    ``score``, ``reason`` and ``details``; 1 passes. ``options`` of the entry reach the
    function as they are.
    """

    kind: ClassVar[str] = "python"
    names_files: ClassVar[bool] = False
    rehearses: ClassVar[bool] = True
    # It may, and cannot say beforehand whether it will.
    judges_words: ClassVar[bool] = False

    def validate(self, spec: OracleSpec) -> list[Problem]:
        """What is wrong with the entry; assets on disk are looked at by ``prepare``."""
        problems = unknown_keys(spec.options, {"options"}, (), "key")
        if not isinstance(spec.options.get("options", {}), dict):
            problems.append((("options",), "must be a mapping"))
        at = (self.kind,)
        call = read_call(spec.expectation) if isinstance(spec.expectation, str) else None
        if call is None:
            problems.append((at, "must be module:function, such as checks:judge"))
        if spec.assets.empty:
            problems.append((at, "needs 'assets' beside it: the module lies there"))
        elif call is not None and spec.assets.directory is None:
            files = {name: Blob(text.encode()) for name, text in spec.assets.files.items()}
            lacking = _lacking(files, call)
            if lacking is not None:
                problems.append((at, lacking))
        return problems

    def prepare(self, spec: OracleSpec) -> StagedOracle:
        """Read the assets, and see that the function is there as far as the source shows."""
        try:
            # A cache beside an unchanged source can hold another program.
            assets = read_tree(
                spec.assets,
                where=f"assets of oracle {spec.name!r}",
                leave_out=lambda name: name == "__pycache__",
            )
        except SetupError as error:
            raise oracle_fault(spec, f"cannot be read: {error}") from error
        lacking = _lacking(assets, _call(spec))
        if lacking is not None:
            raise oracle_fault(spec, f"has nothing to call: {lacking}")
        files = {**below(_ASSETS, assets), **_program()}
        says = [self.kind, _VERSION, spec.expectation, dict(spec.options), spec.timeout_s]
        return StagedOracle(
            spec=spec, files=files, digest=digest_value([says, digest_blobs(files)])
        )

    async def rehearse(
        self, staged: StagedOracle, sandbox: Sandbox, *, solved: bool
    ) -> StagedOracle:
        """Import the module and find the function, as will be done for each trial."""
        del solved
        _require_start(staged.spec, await _ended(staged, sandbox, None))
        return replace(staged, expected={str(_call(staged.spec)): "run"})

    async def check(self, staged: StagedOracle, sandbox: Sandbox, subject: Subject) -> OracleResult:
        """Call the function once and take its word, if it is its own."""
        started = perf_counter()
        spec = staged.spec
        ended = await _ended(staged, sandbox, _told(spec, subject))
        completed = ended.completed
        # An interpreter that lies in the workspace is one that the agent can break.
        if not is_below(sandbox.python, sandbox.workspace):
            _require_start(spec, ended)
        said = _said(spec, ended)
        passed = not said.refusal and said.score >= 1.0 - TOLERANCE
        result = judged(
            spec,
            passed=passed,
            score=said.score,
            reason=said.refusal or said.reason or f"score {said.score:g}",
            details={"exit_code": completed.exit_code, **said.details},
            output=output_text(completed),
            sound=not said.refusal,
        )
        return replace(result, duration_s=perf_counter() - started)


def _call(spec: OracleSpec) -> Call:
    call = read_call(spec.expectation) if isinstance(spec.expectation, str) else None
    assert call is not None
    return call


def _lacking(files: Mapping[str, Blob], call: Call) -> str | None:
    """Why the function is not in the files; None where it may be."""
    module = module_file(files, call.module)
    if module is None:
        return no_module(files, call.module)
    if not module.endswith(".py"):
        return None
    return no_function(files[module].data, call.function)


def _program() -> dict[str, Blob]:
    return {
        _BOOTSTRAP: Blob(Path(python_bootstrap.__file__).read_bytes()),
        _SEALED: Blob(Path(pytest_bootstrap.__file__).read_bytes()),
    }


def _told(spec: OracleSpec, subject: Subject) -> dict[str, JsonValue]:
    """What the function may know of the trial: nothing about who the agent was."""
    run = subject.run
    changes = run.changes.changes if run.changes is not None else ()
    return {
        "task": subject.trial.task.id,
        "prompt": subject.trial.prompt,
        "final_message": run.transcript.final_message,
        "changes": [[os.fsdecode(change.path), change.kind.value] for change in changes],
        "exit_code": run.completed.exit_code if run.completed is not None else None,
        "timed_out": run.timed_out,
        "options": spec.options.get("options", {}),
    }


async def _ended(
    staged: StagedOracle, sandbox: Sandbox, told: Mapping[str, JsonValue] | None
) -> _Ended:
    """Run the function's process; without ``told`` it only finds the function."""
    root = await sandbox.put(staged.files)
    report = posixpath.join(await sandbox.scratch(), f"{secrets.token_hex(8)}.jsonl")
    assets = posixpath.join(root, _ASSETS)
    call = _call(staged.spec)
    request = {
        "sealed": posixpath.join(root, _SEALED),
        "assets": assets,
        "module": call.module,
        "function": call.function,
        "report": report,
        "workspace": sandbox.workspace,
        "rehearsal": told is None,
    }
    completed = await sandbox.run(
        [sandbox.python, "-I", "-B", posixpath.join(root, _BOOTSTRAP)],
        env={"ORACLE": assets},
        # Not in the workspace: no module of the agent's is found by a relative path there.
        cwd="/",
        stdin=b"%b\n%b\n" % (json.dumps(request).encode(), json.dumps(told).encode()),
        timeout_s=staged.spec.timeout_s,
        output_limit=STREAM_LIMIT,
    )
    data = await sandbox.read(report, limit=SIZE_LIMIT)
    stdout = completed.stdout
    opening = read_opening(stdout.head)
    rest = replace(stdout, head=stdout.head[opening.size :], total=stdout.total - opening.size)
    return _Ended(opening, replace(completed, stdout=rest), data or b"")


def _require_start(spec: OracleSpec, ended: _Ended) -> None:
    """Refuse to judge where the function was not found: nothing of the agent's has run yet."""
    if ended.opening.started:
        return
    completed = ended.completed
    why = completed.launch_error or death(completed, spec.timeout_s) or last_words(completed)
    raise oracle_fault(
        spec,
        f"cannot load {_call(spec)}: {why or f'exited with {completed.exit_code}'}",
        advice=_ADVICE,
    )


def _said(spec: OracleSpec, ended: _Ended) -> Said:
    completed = ended.completed
    if completed.launch_error is not None:
        return Said(refusal=f"cannot be executed: {completed.launch_error}")
    ending = death(completed, spec.timeout_s)
    if ending is None and completed.exit_code != 0:
        ending = f"exited with {completed.exit_code}"
    if not ended.opening.started:
        return Said(refusal=f"cannot load {_call(spec)}: {last_words(completed) or ending}")
    return read_said(ended.report, ended.opening.key, ending=ending)
