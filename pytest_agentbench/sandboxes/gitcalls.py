"""Runs git for the harness, so that nobody's configuration, hooks or filters have a say.

Templates are built on the host: a repository that says ``filter.x.smudge = rm -rf ~``
must not be obeyed, and neither must the user's own ``core.autocrlf``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from pytest_agentbench.errors import SetupError
from pytest_agentbench.sandboxes.area import WorkArea
from pytest_agentbench.sandboxes.process import Ended, run_process

_OUTPUT_LIMIT = 256_000_000
"""Bytes of a listing: a million long paths. Kept in a file until it is read."""
LOCAL_TIMEOUT_S = 300.0

# safe.directory: the harness may run as root, or in a container, on another user's checkout.
# protect*: names that only other systems forbid are carried as they are.
_CONFIGURATION = """\
[safe]
	directory = *
	bareRepository = all
[protocol "file"]
	allow = always
[init]
	defaultBranch = main
[core]
	hooksPath = /dev/null
	fsmonitor = false
	attributesFile = /dev/null
	excludesFile = /dev/null
	logAllRefUpdates = false
	protectNTFS = false
	protectHFS = false
[gc]
	auto = 0
[maintenance]
	auto = false
[advice]
	detachedHead = false
"""
_NO_CONVERSION = "* -text -eol -filter -ident -working-tree-encoding\n"
_FOR_USERS = (
    *("-c", "core.hooksPath=/dev/null"),
    *("-c", "core.fsmonitor=false"),
    *("-c", "gc.auto=0"),
    *("-c", "maintenance.auto=false"),
    # Ours is bare, and found by its directory: who allows only named ones could fetch nothing.
    *("-c", "safe.bareRepository=all"),
)


class GitError(Exception):
    """Git said no; the message is what it said, in one line or more."""

    def __init__(self, said: str, *, timed_out: bool = False) -> None:
        super().__init__(said)
        self.timed_out = timed_out


class Git:
    """Git with a configuration of our own, kept in the session's work area."""

    def __init__(self, area: WorkArea) -> None:
        self._area = area
        self._home: Path | None = None

    async def run(
        self,
        *arguments: str,
        cwd: Path,
        env: Mapping[str, str] | None = None,
        stdin: bytes = b"",
        timeout_s: float = LOCAL_TIMEOUT_S,
    ) -> bytes:
        """What a command prints. Raises ``GitError``, or ``SetupError`` where there is no git."""
        base = self._environment()
        ended = await run_process(
            ("git", *arguments),
            timeout_s=timeout_s,
            stdin=stdin,
            env=base | dict(env or {}),
            cwd=cwd,
            output_limit=_OUTPUT_LIMIT,
        )
        return _output(ended, timeout_s)

    async def ask_remote(self, *arguments: str, cwd: Path, timeout_s: float) -> bytes:
        """The same with the user's own configuration: credentials, proxies, rewritten URLs.

        Only for commands that talk to a server. Nothing can ask a question: there is
        no terminal, and no program that opens a window is called.
        """
        theirs = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("GIT_") or name in _KEPT or name.startswith(_KEPT_PREFIXES)
        }
        silent = {
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_ASKPASS": "",
            "SSH_ASKPASS": "",
            "SSH_ASKPASS_REQUIRE": "never",
            "GCM_INTERACTIVE": "never",
            "LC_ALL": "C.UTF-8",
        }
        ended = await run_process(
            ("git", *_FOR_USERS, *arguments),
            timeout_s=timeout_s,
            env=theirs | silent,
            cwd=cwd,
            output_limit=_OUTPUT_LIMIT,
        )
        return _output(ended, timeout_s)

    async def neutral(self) -> Path:
        """An empty repository without a work tree, under which no attribute counts.

        ``git apply`` is to change the bytes that a patch names and no line end besides;
        the workspace's ``.gitattributes`` would have it convert them.
        """
        place = self._place() / "neutral"
        if not place.exists():
            making = self._area.fresh("git")
            await self.run("init", "-q", "--bare", "--template=", str(making), cwd=making)
            (making / "info").mkdir(exist_ok=True)
            (making / "info" / "attributes").write_text(_NO_CONVERSION, "ascii")
            making.rename(place)
        return place

    def scratch(self) -> Path:
        """A fresh directory for a repository or an index; it lives as long as the session."""
        return self._area.fresh("git")

    def _place(self) -> Path:
        if self._home is None:
            home = self._area.fresh("git")
            (home / "gitconfig").write_text(_CONFIGURATION, "ascii")
            self._home = home
        return self._home

    def _environment(self) -> dict[str, str]:
        home = self._place()
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(home),
            "LC_ALL": "C.UTF-8",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": str(home / "gitconfig"),
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_LITERAL_PATHSPECS": "1",
        }


# Not GIT_DIR and its like: in a hook they name the repository that is being worked in.
_KEPT = frozenset({"GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSH_VARIANT", "GIT_ALLOW_PROTOCOL"})
_KEPT_PREFIXES = ("GIT_CONFIG_", "GIT_HTTP_", "GIT_PROXY_", "GIT_SSL_")
"""A CI gives credentials and rewritten URLs as ``GIT_CONFIG_COUNT`` and its like, or as a file."""


def _output(ended: Ended, timeout_s: float) -> bytes:
    if ended.launch_error is not None:
        raise SetupError(
            f"git is needed and cannot be run: {ended.launch_error}",
            advice="install git",
        )
    if ended.timed_out:
        raise GitError(f"no end after {timeout_s:g} s", timed_out=True)
    if ended.returncode != 0:
        said = ended.stderr.text().strip() or ended.stdout.text().strip()
        raise GitError(said[-2000:] or f"exit code {ended.returncode}")
    if ended.stdout.truncated:
        raise GitError(f"more than {_OUTPUT_LIMIT:,} bytes of output")
    return ended.stdout.head + ended.stdout.tail
