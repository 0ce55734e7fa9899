"""Calls an author's function that judges, inside a sandbox. Started with ``-I -B``.

Staged beside ``sealed.py``, which is the bootstrap of hidden tests: sealing a report, and
keeping its key to this process, is done in one place. Knows the standard library only,
and runs on Python 3.9 and later.

Standard input holds two lines of JSON. The first: ``sealed`` (that file), ``assets``,
``module``, ``function``, ``report`` (a file that must not exist yet), ``workspace``,
``rehearsal`` (whether to leave it at finding the function). The second: what the
function is told. It is read late, because an agent decides how large it is.

The module is imported before anything of the agent's can run: in the directory ``/``,
with the assets on ``sys.path`` and not the workspace. Standard output begins with the
key and the row ``started``, once the function is found; what is printed before goes to
standard error. ``result`` or ``raised`` is the last row.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import sys
import traceback
from dataclasses import dataclass
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

_STDOUT, _STDERR = 1, 2
_TEXT_LIMIT = 2000
_DETAILS_LIMIT = 16_384
_PARTS = frozenset({"score", "reason", "details"})


class Unfit(Exception):
    """What the function returned says no score."""


@dataclass(frozen=True)
class Change:
    """One path that differs from what the agent was given; ``kind``: added, modified, deleted."""

    path: str
    kind: str


@dataclass(frozen=True)
class Context:
    """What the function is called with.

    ``workspace`` is a copy of what the agent left, and the working directory.
    ``final_message`` and ``exit_code`` are None where there is none. ``options`` are
    those of the oracle's entry.
    """

    workspace: Path
    assets: Path
    task: str
    prompt: str
    final_message: str | None
    changes: tuple[Change, ...]
    exit_code: int | None
    timed_out: bool
    options: dict[str, Any]


def main() -> None:
    """Find the function, call it, report what it returned or raised."""
    request = json.loads(sys.stdin.buffer.readline())
    sealed: Any = _load(request["sealed"])
    sealed.hide_memory()
    # For processes that are started from here; this one was told by ``-B``.
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    sys.path.insert(0, request["assets"])
    stdout = os.dup(_STDOUT)
    os.dup2(_STDERR, _STDOUT)
    function = _find(request["module"], request["function"])
    sys.stdout.flush()
    os.dup2(stdout, _STDOUT)
    os.close(stdout)
    key = os.urandom(32)
    os.write(_STDOUT, sealed.KEY_LINE + key.hex().encode("ascii") + b"\n")
    write = sealed.report_writer(request["report"], sealed.sealer(key))
    del key
    write({"event": "started"})
    sealed.await_reader(_STDOUT)
    # What code of the agent's may replace is bound now: it shares this process.
    leave, encode, streams = os._exit, json.dumps, (sys.stdout, sys.stderr)
    if not request["rehearsal"]:
        context = _context(json.loads(sys.stdin.buffer.readline()), request)
        # Expected values may be among the options.
        sealed.forget_input()
        os.chdir(context.workspace)
        row = _judged(function, context, encode)
        for stream in streams:
            try:
                stream.flush()
            except (AttributeError, OSError, ValueError):
                continue
        write(row)
    # Threads and exit handlers of code that was judged have no say any more.
    leave(0)


def _load(path: str) -> object:
    spec = spec_from_file_location("agentbench_sealed", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _find(module: str, function: str) -> Any:  # noqa: ANN401 - it is what an author wrote
    try:
        found: Any = import_module(module)
    except SystemExit as end:
        raise RuntimeError(f"importing {module} exits: {end.code}") from end
    for name in function.split("."):
        found = getattr(found, name, None)
    if not callable(found):
        raise TypeError(f"there is no function {function!r} in module {module!r}")
    return found


def _context(told: dict[str, Any], request: dict[str, Any]) -> Context:
    changes = tuple(Change(path, kind) for path, kind in told.pop("changes"))
    return Context(
        workspace=Path(request["workspace"]),
        assets=Path(request["assets"]),
        changes=changes,
        **told,
    )


def _judged(function: Any, context: Context, encode: Any) -> dict[str, object]:  # noqa: ANN401
    """The last row. Whatever is raised comes after code of the agent's may have run."""
    try:
        said = function(context)
        if inspect.isawaitable(said):
            said = asyncio.run(_awaited(said))
        score, reason, details = _read(said)
        text = _details_text(details, encode)
        verdict = encode({"score": score, "reason": reason[:_TEXT_LIMIT]})
    except Unfit as error:
        return {"event": "raised", "why": f"returned {error}"}
    except BaseException as error:  # noqa: BLE001 - SystemExit of judged code is no verdict either
        return {"event": "raised", "why": _told(error)}
    return {"event": "result", "verdict": verdict, "details": text}


def _told(error: BaseException) -> str:
    """What was raised, in a line; the traceback is output."""
    try:
        traceback.print_exception(type(error), error, error.__traceback__)
        words = str(error)
    except BaseException:  # noqa: BLE001 - an exception of the agent's may have any method
        words = ""
    name = type(error).__name__
    return f"raised {name}: {words[:_TEXT_LIMIT]}" if words else f"raised {name}"


async def _awaited(said: Any) -> Any:  # noqa: ANN401 - as above
    return await said


def _read(said: Any) -> tuple[float, str, dict[str, Any]]:  # noqa: ANN401 - as above
    """Score, reason and details of what was returned.

    Exact types only: an object of the agent's that finds its way into a verdict can
    agree with everything.
    """
    if type(said) is dict:
        if not set(said) <= _PARTS or "score" not in said:
            raise Unfit("a mapping that is not {score, reason?, details?}")
        reason, details = said.get("reason", ""), said.get("details", {})
        score = _score(said["score"])
    elif type(said) is tuple and len(said) == 2:  # noqa: PLR2004 - (score, reason)
        reason, details = said[1], {}
        score = _score(said[0])
    else:
        reason, details, score = "", {}, _score(said)
    if type(reason) is not str:
        raise Unfit(f"a reason that is no str but {type(reason).__name__}")
    if type(details) is not dict or not all(type(name) is str for name in details):
        raise Unfit("details that are no mapping of names")
    return score, reason, details


def _details_text(details: dict[str, Any], encode: Any) -> str:  # noqa: ANN401 - as above
    try:
        text: str = encode(details, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise Unfit(f"details that are no JSON: {error}") from error
    if len(text) > _DETAILS_LIMIT:
        raise Unfit(f"details of {len(text):,} characters; up to {_DETAILS_LIMIT:,} are kept")
    return text


def _score(score: Any) -> float:  # noqa: ANN401 - as above
    kind = type(score)
    if kind not in {bool, int, float}:
        raise Unfit(
            f"{kind.__name__}, not a bool, a number from 0 to 1, (score, reason) or a mapping"
        )
    if not 0 <= score <= 1:  # nor is NaN
        raise Unfit(f"the score {score!r}, which is not from 0 to 1")
    return float(score)


if __name__ == "__main__":
    main()
