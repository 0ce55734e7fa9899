"""Plays the steps of a script. Staged into the sandbox and run there by its interpreter.

Usage: ``python -I scripted_player.py STEPS.json``. Needs nothing but the standard
library of Python 3.9 or later, and imports nothing of this package: where it runs
the package is not to be seen. The steps were validated before they got here.

Exit code: what ``exit`` says; 0 at the end of the script; 70 for a step that failed.
"""

from __future__ import annotations

import base64
import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional

if TYPE_CHECKING:
    from collections.abc import Callable

REPORT_MARK = b"\x1eagentbench-scripted-report "
STEP_FAILED = 70
CHUNK_BYTES = 1 << 20


class StepFailed(Exception):
    """A step could not be played as written."""


class ScriptEnds(Exception):
    """An ``exit`` step was reached."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class Player:
    """One method a kind of step; ``report`` holds what was said about the run so far."""

    def __init__(self) -> None:
        self.report: dict[str, Any] = {}

    def play(self, steps: list[dict[str, Any]]) -> int:
        """Play all steps; return the exit code."""
        for number, step in enumerate(steps, start=1):
            [(kind, content)] = step.items()
            action: Callable[[Any], None] = getattr(self, f"_{kind}")
            try:
                action(content)
            except ScriptEnds as end:
                return end.code
            except (StepFailed, OSError, ValueError) as error:
                sys.stderr.write(f"scripted: step {number} ({kind}) failed: {error}\n")
                return STEP_FAILED
        return 0

    def _write(self, content: dict[str, Any]) -> None:
        path = Path(content["path"])
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content_of(content))

    def _append(self, content: dict[str, Any]) -> None:
        path = Path(content["path"])
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as file:
            file.write(content_of(content))

    def _replace(self, content: dict[str, Any]) -> None:
        path = Path(content["path"])
        old, new = content["old"].encode(), content["new"].encode()
        data = path.read_bytes()
        count = data.count(old)
        if count != 1:
            found = f"{count} times" if count else "not at all"
            raise StepFailed(f"{path} holds the old text {found}, not once: {content['old']!r}")
        path.write_bytes(data.replace(old, new))

    def _delete(self, content: str) -> None:
        path = Path(content)
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()

    def _run(self, content: dict[str, Any]) -> None:
        sys.stdout.flush()
        done = subprocess.run(argv_of(content), stdin=subprocess.DEVNULL, check=False)
        if done.returncode != 0 and not content.get("may_fail", False):
            raise StepFailed(f"{content['command']!r} ended with {done.returncode}")

    def _spawn(self, content: dict[str, Any]) -> None:
        argv = argv_of(content)
        if shutil.which(argv[0]) is None:
            raise StepFailed(f"{argv[0]!r} is no program on PATH")
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            os.setsid()
            if os.fork() == 0:
                become(argv, keep_output=content.get("keep_output", False))
            os._exit(0)
        os.waitpid(child, 0)

    def _sleep(self, content: float) -> None:
        time.sleep(content)

    def _print(self, content: dict[str, Any]) -> None:
        data = content_of(content)
        left = content.get("repeat", 1)
        stream = sys.stderr.buffer if content.get("to") == "stderr" else sys.stdout.buffer
        at_once = min(left, max(1, CHUNK_BYTES // max(1, len(data))))
        block = data * at_once
        while left > 0:
            stream.write(block if left >= at_once else data * left)
            left -= at_once
        stream.flush()

    def _exit(self, content: int) -> None:
        raise ScriptEnds(content)

    def _final(self, content: str) -> None:
        self.report["final"] = content

    def _usage(self, content: dict[str, Any]) -> None:
        self.report["usage"] = content

    def _use(self, content: dict[str, Any]) -> None:
        [(what, name)] = content.items()
        self.report.setdefault("used", {"skill": [], "tool": []})[what].append(name)


def content_of(content: dict[str, Any]) -> bytes:
    """The bytes that a step holds as text or as base64."""
    text: Optional[str] = content.get("text")  # noqa: UP045 - this file runs on Python 3.9
    return base64.b64decode(content["base64"]) if text is None else text.encode()


def argv_of(content: dict[str, Any]) -> list[str]:
    """The command as argv, with this interpreter where it says ``{python}``."""
    command = content["command"]
    if isinstance(command, str):
        return ["sh", "-c", command.replace("{python}", shlex.quote(sys.executable))]
    return [word.replace("{python}", sys.executable) for word in command]


def become(argv: list[str], *, keep_output: bool) -> None:
    """Turn this process into another program; never returns."""
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0,) if keep_output else (0, 1, 2):
        os.dup2(null, stream)
    try:
        os.execvp(argv[0], argv)  # noqa: S606 - the whole point of a spawn
    finally:
        os._exit(127)


def main(path: str) -> int:
    """Play one script and print the report as the last line."""
    player = Player()
    code = player.play(json.loads(Path(path).read_text(encoding="utf-8")))
    sys.stdout.buffer.write(b"\n" + REPORT_MARK + json.dumps(player.report).encode() + b"\n")
    sys.stdout.buffer.flush()
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
