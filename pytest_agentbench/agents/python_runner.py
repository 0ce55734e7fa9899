"""Calls a user's function as an agent. Staged into the sandbox and run there by its interpreter.

Usage: ``python -B python_runner.py``, with ``context.json`` and the directory ``code``
beside it. Needs nothing but the standard library of Python 3.8 or later, and imports
nothing of this package: where it runs the package is not to be seen.

Standard output begins with a line that names a token. Each later line with that token
holds all that has been reported so far, so the last one counts, also of an agent that
was killed. Text that the agent prints, from the workspace, say, cannot know the token.

Exit code: 0; 1 where the function raised or returned something else than text; 127
where there is no function to call; or what the function itself exits with.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import sys
import threading
import traceback
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

OPENING = b"\x1eagentbench-python-run "
REPORT = b"\x1eagentbench-python-report "
FINAL_LIMIT = 65_536
MOST_USED = 10**15
CANNOT_CALL = 127
RAISED = 1
_STDOUT = 1


@dataclass(frozen=True)
class Tools:
    """Which tools the variant lets the agent use. ``allow`` None: all but those of ``deny``."""

    allow: tuple[str, ...] | None = None
    deny: tuple[str, ...] = ()

    def permits(self, name: str) -> bool:
        """Whether a tool may be used."""
        return name not in self.deny and (self.allow is None or name in self.allow)


class Reporter:
    """Tells the harness what was reported so far, each time something is added."""

    def __init__(self) -> None:
        self._said: dict[str, Any] = {"usage": {}, "skills": [], "tools": []}
        self._lock = threading.RLock()
        self._pid = os.getpid()
        self._token = os.urandom(16).hex().encode("ascii")
        # The function may close or redirect standard output.
        self._stream = os.dup(_STDOUT)
        self._write(OPENING + self._token + b"\n")

    def add_usage(self, amounts: dict[str, Any]) -> None:
        """Add to what was used; amounts that are None stay as unknown as they were."""
        for name, amount in amounts.items():
            _check_amount(name, amount)
        with self._open():
            usage = self._said["usage"]
            sums = {
                name: usage.get(name, 0) + amount
                for name, amount in amounts.items()
                if amount is not None
            }
            for name, total in sums.items():
                _check_amount(name, total)
            usage.update(sums)
            self._tell()

    def add_name(self, kind: str, name: Any) -> None:  # noqa: ANN401 - it is checked here
        """Add a skill or a tool to what was used."""
        if not isinstance(name, str) or not name:
            raise TypeError(f"a name in {kind} must be a text that is not empty, not {name!r}")
        with self._open():
            if name not in self._said[kind]:
                self._said[kind].append(name)
                self._tell()

    def end(self, final: str | None) -> None:
        """Tell the final message; of a very long one the end is kept."""
        if final is None:
            return
        if len(final) > FINAL_LIMIT:
            final = "\u2026" + final[1 - FINAL_LIMIT :]
        with self._open():
            self._said["final"] = final
            self._tell()

    def _open(self) -> threading.RLock:
        # What a forked child knows ends with it, and would be told in place of what its
        # parent knows.
        if os.getpid() != self._pid:
            raise RuntimeError("only the agent's own process can report, not a child of it")
        return self._lock

    def _tell(self) -> None:
        text = json.dumps(self._said, ensure_ascii=False).encode("utf-8", "replace")
        self._write(b"\n" + REPORT + self._token + b" " + text + b"\n")

    def _write(self, data: bytes) -> None:
        while data:
            data = data[os.write(self._stream, data) :]


@dataclass(frozen=True)
class Context:
    """What the function is called with.

    ``workspace`` is the directory to work in, which is also the working directory.
    ``model`` is the variant's, None without one. ``options`` are the variant's own
    further options.
    """

    prompt: str
    workspace: Path
    task: str
    variant: str
    repeat: int
    model: str | None
    options: dict[str, Any]
    tools: Tools
    _reporter: Reporter = field(repr=False)

    def report_usage(
        self,
        *,
        input_tokens: int | None = None,
        output_tokens: int | None = None,
        turns: int | None = None,
        cost_usd: float | None = None,
    ) -> None:
        """Report what was used since the last call; it is added up. Unknown is None."""
        self._reporter.add_usage(
            {
                "input_tokens": input_tokens,
                "output_tokens": output_tokens,
                "turns": turns,
                "cost_usd": cost_usd,
            }
        )

    def use_tool(self, name: str) -> None:
        """Note that a tool is used. Raises ``PermissionError`` for one that may not be."""
        if not self.tools.permits(name):
            raise PermissionError(f"the variant does not permit the tool {name!r}")
        self._reporter.add_name("tools", name)

    def use_skill(self, name: str) -> None:
        """Note that a skill is used."""
        self._reporter.add_name("skills", name)


def main(stage: Path) -> int:
    """Import, call, report; return the exit code."""
    told = json.loads((stage / "context.json").read_text(encoding="utf-8"))
    call = told.pop("call")
    reporter = Reporter()
    # The directory of this script makes place for the agent's own.
    sys.path[0] = str(stage / "code")
    try:
        function = _find(*call)
    except BaseException as error:  # noqa: BLE001 - a module may raise anything, SystemExit too
        traceback.print_exc()
        _complain(f"cannot import {call[0]}: {type(error).__name__}: {error}")
        return CANNOT_CALL
    if not callable(function):
        _complain(f"there is nothing to call at {':'.join(call)}")
        return CANNOT_CALL
    tools = told.pop("tools")
    allow = None if tools["allow"] is None else tuple(tools["allow"])
    context = Context(
        workspace=Path.cwd(), tools=Tools(allow, tuple(tools["deny"])), _reporter=reporter, **told
    )
    name = ":".join(call)
    try:
        final = function(context)
        if inspect.isawaitable(final):
            final = asyncio.run(_awaited(final))
        if final is not None and not isinstance(final, str):
            kind = type(final).__name__
            raise TypeError(  # noqa: TRY301 - told like what the function itself raises
                f"an agent returns its final message, a str, or None; {name} returned {kind}"
            )
        reporter.end(final)
    except SystemExit as end:
        return _exit_code(end, name)
    except BaseException:  # noqa: BLE001 - whatever it is, it is told and it is the agent's end
        traceback.print_exc()
        return RAISED
    return 0


def _find(module: str, function: str) -> Any:  # noqa: ANN401 - it is what a user wrote
    found: Any = import_module(module)
    for name in function.split("."):
        found = getattr(found, name, None)
    return found


async def _awaited(final: Any) -> Any:  # noqa: ANN401 - as above
    return await final


def _exit_code(end: SystemExit, name: str) -> int:
    """What Python makes of it, with a word on it where it is no success."""
    if end.code is None or end.code == 0:
        return 0
    _complain(f"{name} exited: {end.code}")
    return end.code & 0xFF if isinstance(end.code, int) else RAISED


def _check_amount(name: str, amount: Any) -> None:  # noqa: ANN401 - it is checked here
    if amount is None:
        return
    wanted = (int, float) if name == "cost_usd" else int
    if isinstance(amount, bool) or not isinstance(amount, wanted):
        raise TypeError(f"{name} must be a number, not {amount!r}")
    if not 0 <= amount <= MOST_USED:  # nor is NaN
        raise ValueError(f"{name} must be from 0 to {MOST_USED:,}, not {amount!r}")


def _complain(text: str) -> None:
    sys.stderr.write(f"python agent: {text}\n")


if __name__ == "__main__":
    status = main(Path(__file__).resolve().parent)
    sys.exit(status)
