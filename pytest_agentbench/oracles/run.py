"""``run``: a command judges; by its exit code, or by a report that it writes.

The command is the author's, but as soon as it runs it may run code of the agent's
(``python app.py``). So one thing only is an error here: a command of the author's
that could not be executed at all. All that comes later has not passed.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import replace
from time import perf_counter
from typing import ClassVar

from pytest_agentbench.errors import SetupError
from pytest_agentbench.model.contracts import Sandbox, StagedOracle, Subject
from pytest_agentbench.model.digest import digest_blobs, digest_value
from pytest_agentbench.model.run import Completed
from pytest_agentbench.model.task import JsonValue, OracleSpec
from pytest_agentbench.model.verdict import OracleResult
from pytest_agentbench.oracles.base import (
    STREAM_LIMIT,
    TOLERANCE,
    Problem,
    death,
    is_below,
    judged,
    last_words,
    name_problem,
    one_line,
    oracle_fault,
    output_text,
    unknown_keys,
)
from pytest_agentbench.oracles.score_files import FORMAT_LIMITS, Unreadable, read_score
from pytest_agentbench.sandboxes.blobs import read_tree

_VERSION = 1
_NOT_EXECUTABLE, _NOT_FOUND = 126, 127


class RunOracle:
    """A command with the workspace as working directory.

    The expectation is an argv, or a string for ``sh``. ``{oracle}`` in an argv and
    ``$ORACLE`` in the environment name the staged ``assets``; ``{report}`` and
    ``$REPORT`` the file that ``report: {reward | junit | ctrf: NAME}`` announces, in
    a directory that is made for this one check. Without ``report``, exit code 0
    passes. With it, the score is what the report says, and 1 passes. A command that
    was killed has not passed whatever it wrote, nor has one that writes a reward, or
    reports that all tests passed, and does not exit with 0. Beside failed tests the
    exit code is only noted.
    """

    kind: ClassVar[str] = "run"
    names_files: ClassVar[bool] = False
    rehearses: ClassVar[bool] = False
    judges_words: ClassVar[bool] = False

    def validate(self, spec: OracleSpec) -> list[Problem]:
        """What is wrong with the command and with ``report``."""
        problems = unknown_keys(spec.options, {"report"}, (), "key")
        has_report = "report" in spec.options
        if has_report:
            problems += _report_problems(spec.options["report"])
        problems += _command_problems(spec.expectation)
        items = spec.expectation if isinstance(spec.expectation, list) else []
        for index, item in enumerate(items):
            if not isinstance(item, str):
                continue
            at = (self.kind, index)
            if "{report}" in item and not has_report:
                problems.append((at, "'{report}' needs a 'report' beside 'run'"))
            if "{oracle}" in item and spec.assets.empty:
                problems.append((at, "'{oracle}' needs 'assets' beside 'run'"))
        return problems

    def prepare(self, spec: OracleSpec) -> StagedOracle:
        """Read the assets."""
        try:
            files = read_tree(spec.assets, where=f"assets of oracle {spec.name!r}")
        except SetupError as error:
            raise oracle_fault(spec, f"cannot be read: {error}") from error
        says = [self.kind, _VERSION, spec.expectation, dict(spec.options), spec.timeout_s]
        return StagedOracle(
            spec=spec, files=files, digest=digest_value([says, digest_blobs(files)])
        )

    async def rehearse(
        self, staged: StagedOracle, sandbox: Sandbox, *, solved: bool
    ) -> StagedOracle:
        """Nothing to learn."""
        del sandbox, solved
        return staged

    async def check(self, staged: StagedOracle, sandbox: Sandbox, subject: Subject) -> OracleResult:
        """Run the command once and judge how it ended, or what it reported."""
        started = perf_counter()
        spec = staged.spec
        assets = await sandbox.put(staged.files) if staged.files else None
        report = await _fresh_report(spec, sandbox)
        argv, env = _command(spec.expectation, assets, report)
        completed = await sandbox.run(
            argv, env=env, timeout_s=spec.timeout_s, output_limit=STREAM_LIMIT
        )
        if completed.launch_error is not None and not _may_be_the_agents(
            argv[0], staged, sandbox, assets, subject
        ):
            raise oracle_fault(
                spec,
                f"cannot run {argv[0]!r}: {completed.launch_error}",
                advice="install it where the sandbox shows it, or name it in sandbox.read_only",
            )
        result = await _judge(spec, sandbox, completed, report)
        return replace(result, duration_s=perf_counter() - started)


def _command_problems(command: object) -> list[Problem]:
    at = (RunOracle.kind,)
    if isinstance(command, str):
        if not command.strip():
            return [(at, "the command is empty")]
        # "${oracle}" is the shell's own; the bare form would reach it as it stands.
        if re.search(r"(?<!\$)\{(oracle|report)\}", command):
            return [(at, "a shell string has $ORACLE and $REPORT; {…} is for an argv")]
        return _nul_problems(command, at)
    if not isinstance(command, list):
        return [(at, "must be an argv (a list of strings) or a string for the shell")]
    if not command:
        return [(at, "the command is empty")]
    problems: list[Problem] = []
    for index, item in enumerate(command):
        if not isinstance(item, str):
            problems.append(((*at, index), "must be a string; put quotes around it"))
        elif not index and not item:
            problems.append(((*at, index), "the program's name is empty"))
        else:
            problems += _nul_problems(item, (*at, index))
    return problems


def _nul_problems(text: str, at: tuple[str | int, ...]) -> list[Problem]:
    return [(at, "must not hold a NUL character")] if "\0" in text else []


def _report_problems(report: JsonValue) -> list[Problem]:
    at = ("report",)
    known = ", ".join(FORMAT_LIMITS)
    if not isinstance(report, dict):
        return [(at, f"must be a mapping of one of {known} to a file name")]
    problems = unknown_keys(report, FORMAT_LIMITS, at, "report format")
    if not problems and len(report) != 1:
        problems.append((at, f"takes exactly one of {known}"))
    for form, name in report.items():
        if not isinstance(name, str):
            problems.append(((*at, form), "must be a file name"))
        elif name_problem(name) or "/" in name:
            problems.append(((*at, form), "must be a plain file name, without a directory"))
    return problems


async def _fresh_report(spec: OracleSpec, sandbox: Sandbox) -> str | None:
    """The path of the report, in a directory that nothing has seen yet; None without one."""
    report = spec.options.get("report")
    if not isinstance(report, dict):
        return None
    name = next(iter(report.values()))
    return posixpath.join(await sandbox.scratch(), str(name))


def _command(
    expectation: object, assets: str | None, report: str | None
) -> tuple[list[str], dict[str, str]]:
    env: dict[str, str] = {}
    if assets is not None:
        env["ORACLE"] = assets
    if report is not None:
        env["REPORT"] = report
    if isinstance(expectation, str):
        return ["/bin/sh", "-c", expectation], env
    assert isinstance(expectation, list)
    argv = [
        str(item).replace("{oracle}", assets or "").replace("{report}", report or "")
        for item in expectation
    ]
    return argv, env


def _may_be_the_agents(
    program: str, staged: StagedOracle, sandbox: Sandbox, assets: str | None, subject: Subject
) -> bool:
    """Whether the agent could have made this program vanish, or stop being executable.

    Only a program that is out of its reach may turn a failed start into an error.
    """
    if "/" not in program:
        # A search path of the task's own may lead through the workspace.
        return "PATH" in subject.trial.sandbox.env
    if not program.startswith("/"):
        return True
    path = posixpath.normpath(program)
    if is_below(path, sandbox.workspace):
        return True
    if assets is None or not is_below(path, assets):
        return False
    # A script of the author's may name an interpreter that the agent can remove.
    script = staged.files.get(posixpath.relpath(path, assets))
    first_line = script.data.split(b"\n", 1)[0] if script else b""
    if not first_line.startswith(b"#!"):
        return False
    words = first_line[2:].decode("utf-8", "replace").split()
    return bool(words) and is_below(
        posixpath.normpath(posixpath.join(sandbox.workspace, words[0])), sandbox.workspace
    )


async def _judge(
    spec: OracleSpec, sandbox: Sandbox, completed: Completed, report: str | None
) -> OracleResult:
    output = output_text(completed)
    details: dict[str, JsonValue] = {"exit_code": completed.exit_code}
    refusal = completed.launch_error and f"cannot be executed: {completed.launch_error}"
    refusal = refusal or death(completed, spec.timeout_s)
    if refusal is not None:
        return judged(spec, passed=False, score=0.0, reason=refusal, details=details, output=output)
    if report is None:
        passed = completed.exit_code == 0
        return judged(
            spec,
            passed=passed,
            score=1.0 if passed else 0.0,
            reason=_ending(completed),
            details=details,
            output=output,
        )
    options = spec.options["report"]
    assert isinstance(options, dict)
    form = next(iter(options))
    try:
        score = read_score(form, await _read_report(sandbox, report, FORMAT_LIMITS[form]))
    except Unreadable as error:
        name = posixpath.basename(report)
        reason = f"report {name!r} {error} (the command {_ending(completed)})"
        return judged(spec, passed=False, score=0.0, reason=reason, details=details, output=output)
    full = score.value >= 1.0 - TOLERANCE
    # Tested code can write the report before the grader does, and then keep the grader
    # from writing it: seen with a read-only file in a read-only directory. Only test
    # runners exit with something else than 0 beside a score, when a test failed.
    if (full or form == "reward") and completed.exit_code != 0:
        reason = f"the report says {score.summary}, but the command {_ending(completed)}"
        return judged(spec, passed=False, score=0.0, reason=reason, details=details, output=output)
    return judged(
        spec,
        passed=full,
        score=score.value,
        reason=score.summary,
        details=details,
        output=output,
    )


async def _read_report(sandbox: Sandbox, path: str, limit: int) -> bytes:
    data = await sandbox.read(path, limit=limit + 1)
    if data is None:
        raise Unreadable("is missing")
    if len(data) > limit:
        raise Unreadable(f"is larger than {limit:,} bytes")
    return data


def _ending(completed: Completed) -> str:
    code = completed.exit_code
    text = f"exited with {code}"
    if code == _NOT_FOUND:
        text += " (a command was not found)"
    elif code == _NOT_EXECUTABLE:
        text += " (a command could not be executed)"
    if code == 0:
        return text
    words = one_line(last_words(completed), 160)
    return f"{text}: {words}" if words else text
