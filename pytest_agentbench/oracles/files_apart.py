"""Judging in a process of its own, for expectations that may never come to an end."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

from pytest_agentbench.model.task import JsonValue
from pytest_agentbench.oracles import files_judging
from pytest_agentbench.sandboxes.process import run_process

Job: TypeAlias = tuple[str, JsonValue, str]
"""Key, what is wanted, and the text to hold against it."""

_LINE_BYTES = 8 * files_judging.ANSWER_LIMIT


async def judge_apart(jobs: Sequence[Job], timeout_s: float) -> list[str | None]:
    """Why each expectation is not met, None where it is; what was not judged is not met."""
    request = {"path": sys.path, "jobs": jobs}
    ended = await run_process(
        [sys.executable, "-I", str(Path(files_judging.__file__))],
        stdin=json.dumps(request).encode(),
        timeout_s=timeout_s,
        output_limit=2 * _LINE_BYTES * len(jobs),
    )
    lines = ended.stdout.text().splitlines()
    answers: list[str | None] = [json.loads(line) for line in lines[: len(jobs)]]
    if ended.timed_out:
        why = f"could not be judged within {timeout_s:g} s"
    else:
        why = "could not be judged: the judging process died"
    return answers + [why] * (len(jobs) - len(answers))
