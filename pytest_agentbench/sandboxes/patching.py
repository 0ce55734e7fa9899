"""Applies a task's patch to a template on the host, to the byte and nowhere else.

``git apply`` refuses paths that leave the workspace, by ``..``, absolute or through
a symlink, and applies all of a patch or nothing. Lines must match exactly, line
ends included; only their numbers may have moved.
"""

from __future__ import annotations

import asyncio
import os
import re
from pathlib import Path

from pytest_agentbench.errors import SetupError
from pytest_agentbench.sandboxes.beneath import read_below, root_of
from pytest_agentbench.sandboxes.gitcalls import Git, GitError

_FAILED = re.compile(r"^error: patch failed: (?P<name>.+):(?P<line>\d+)$", re.MULTILINE)
_HEADER = re.compile(rb"^--- ([^\r\n]+)\r?\n\+\+\+ ([^\r\n]+)\r?\n@@ ", re.MULTILINE)
_LOOKED_AT = 10_000_000
_ADVICE = (
    "make it anew against the workspace before it, with `git diff --binary`"
    " and paths below a/ and b/"
)


async def apply_patch(git: Git, patch: Path, directory: Path, *, where: str) -> None:
    """Apply a unified diff, git's extensions included. Raises ``SetupError``."""
    at = f"{where}: {patch.name}"
    try:
        data = await asyncio.to_thread(patch.read_bytes)
    except OSError as fault:
        raise SetupError(f"cannot be read: {fault.strerror}", where=at) from fault
    _refuse_absolute(data, at)
    env = {"GIT_DIR": str(await git.neutral())}
    try:
        # From memory, so that no other process can change what was read.
        await git.run("apply", "--whitespace=nowarn", "-", cwd=directory, env=env, stdin=data)
    except GitError as fault:
        said = re.sub(r"^(error|fatal): | \(allow with .*\)$", "", str(fault), flags=re.MULTILINE)
        ends = _line_ends(str(fault), data, directory)
        raise SetupError(
            f"does not apply: {'; '.join(said.splitlines())}{ends}",
            where=at,
            advice=_ADVICE,
        ) from fault


def _refuse_absolute(patch: bytes, at: str) -> None:
    """Git takes ``/etc/x`` for ``etc/x`` in the workspace, which nobody means."""
    for header in _HEADER.finditer(patch):
        for name in header.groups():
            path = name.split(b"\t")[0].strip(b'"')
            if path.startswith(b"/") and path != b"/dev/null":
                raise SetupError(
                    f"does not apply: the path {path.decode('utf-8', 'replace')!r} is absolute",
                    where=at,
                    advice=_ADVICE,
                )


def _line_ends(said: str, patch: bytes, directory: Path) -> str:
    """What is wrong with line ends, where that is why a hunk does not match."""
    failed = _FAILED.search(said)
    if failed is None:
        return ""
    with root_of(directory) as root:
        file = read_below(root, os.fsencode(failed["name"]), _LOOKED_AT)
    if not file:
        return ""
    lines = [line for line in _section(patch, failed["name"]) if line[:1] in (b" ", b"-")]
    returns = sum(line.endswith(b"\r") for line in lines)
    if b"\r\n" in file and not returns:
        return f" ({failed['name']} has CRLF line ends, the patch LF)"
    if b"\r\n" not in file and returns:
        return f" ({failed['name']} has LF line ends, the patch CRLF)"
    return ""


def _section(patch: bytes, name: str) -> list[bytes]:
    """The lines of a patch's hunks for one file."""
    mine = False
    found = []
    for line in patch.split(b"\n"):
        if line.startswith(b"--- "):
            mine = False
        elif line.startswith(b"+++ "):
            mine = line[4:].split(b"\t")[0].strip().endswith(os.fsencode(name))
        elif mine:
            found.append(line)
    return found
