"""What is kept of a trial beside its record: words, changes, the oracles' output.

A file that cannot be written costs that file, never the verdict: trouble comes
back as text for the record's diagnostics.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from pytest_agentbench.model.contracts import Template
from pytest_agentbench.model.outcome import Outcome
from pytest_agentbench.model.run import Changes, Output
from pytest_agentbench.redaction import Redactor
from pytest_agentbench.results.atomic import PRIVATE_FILE
from pytest_agentbench.results.delta import pack_delta
from pytest_agentbench.results.rundir import RunDirectory, file_name
from pytest_agentbench.sandboxes.linediff import render_diff

Policy: TypeAlias = Literal["none", "failed", "all"]

DELTA_LIMIT = 50_000_000
"""Bytes of a workspace delta that is kept. The record says so where one is not."""

DIFF_LIMIT = 500_000
"""Characters of ``changes.diff``."""

_KEPT_BY_FAILED = (Outcome.FAILED, Outcome.ERROR, Outcome.CANCELLED)


@dataclass(frozen=True, slots=True)
class TrialOutput:
    """What there is to keep of one trial, unredacted. Empty is what there is none of.

    ``changes`` must still be readable; ``template`` is what they are against,
    for a diff. ``oracles`` maps names of oracles to their raw output.
    """

    prompt: str = ""
    stdout: Output = field(default_factory=Output)
    stderr: Output = field(default_factory=Output)
    final_message: str = ""
    changes: Changes | None = None
    template: Template | None = None
    oracles: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Kept:
    """Where a trial's artifacts are, and why some of them are missing.

    ``path`` starts at the run directory; None when nothing was kept.
    """

    path: str | None
    diagnostics: tuple[str, ...] = ()


def keep_artifacts(
    run: RunDirectory,
    directory: Path,
    output: TrialOutput,
    *,
    outcome: Outcome,
    policy: Policy,
    redactor: Redactor,
    delta_limit: int = DELTA_LIMIT,
) -> Kept:
    """Write to ``directory`` (``run.artifacts(...)``) what ``policy`` keeps of such an outcome.

    The delta is kept under every policy. Never raises for the file system's faults.
    """
    wanted = policy == "all" or (policy == "failed" and outcome in _KEPT_BY_FAILED)
    diagnostics: list[str] = []
    files = dict(_texts(output)) if wanted else {}
    if wanted:
        files["changes.diff"] = _diff(output, diagnostics)
    files = {name: redactor.bytes(data) for name, data in files.items()}
    files["changes.tar"] = _delta(output.changes, redactor, delta_limit, diagnostics)
    kept = [_keep(directory, name, data, diagnostics) for name, data in files.items()]
    return Kept(run.relative(directory) if any(kept) else None, tuple(diagnostics))


def _texts(output: TrialOutput) -> Iterator[tuple[str, bytes]]:
    yield "prompt.txt", _encoded(output.prompt)
    yield "stdout.txt", _stream(output.stdout)
    yield "stderr.txt", _stream(output.stderr)
    yield "final_message.txt", _encoded(output.final_message)
    for name, text in output.oracles.items():
        yield f"oracles/{file_name(name)}.txt", _encoded(text)


def _diff(output: TrialOutput, diagnostics: list[str]) -> bytes:
    if output.changes is None or output.template is None:
        return b""
    try:
        return _encoded(render_diff(output.template, output.changes, limit=DIFF_LIMIT))
    except OSError as error:
        diagnostics.append(f"changes.diff cannot be made: {error.strerror}")
        return b""


def _delta(
    changes: Changes | None, redactor: Redactor, limit: int, diagnostics: list[str]
) -> bytes:
    if changes is None:
        return b""
    try:
        delta = pack_delta(changes, redactor=redactor, limit=limit)
    except OSError as error:
        diagnostics.append(f"changes.tar cannot be made: {error.strerror}")
        return b""
    diagnostics.extend(delta.diagnostics)
    return delta.data


def _encoded(text: str) -> bytes:
    """UTF-8; undecodable bytes that Python carries as surrogates come out as they were."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace")


def _stream(output: Output) -> bytes:
    """A stream's bytes as they were, whatever they are, with the gap marked."""
    if not output.truncated:
        return output.head + output.tail
    missing = output.total - len(output.head) - len(output.tail)
    return b"%b\n[... %d bytes left out ...]\n%b" % (output.head, missing, output.tail)


def _keep(directory: Path, name: str, data: bytes, diagnostics: list[str]) -> bool:
    if not data:
        return False
    path = directory / name
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # An agent without walls could have laid a symlink here.
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        handle = os.open(path, flags, PRIVATE_FILE)
        with open(handle, "wb") as stream:  # noqa: PTH123 - pathlib opens no descriptors
            stream.write(data)
    except OSError as error:
        with suppress(OSError):
            path.unlink()  # half a file would pass for a whole one
        diagnostics.append(f"{name} cannot be kept: {error.strerror}")
        return False
    return True
