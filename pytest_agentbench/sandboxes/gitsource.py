"""The files of one commit, out of any repository, without its history.

The commit is fetched into a bare repository of ours in the work area, which no
template ever sees, and its tree is written out from there: not by ``git archive``,
whose ``export-ignore`` drops files and whose ``export-subst`` rewrites them.
"""

from __future__ import annotations

import asyncio
import os
import re
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from urllib.parse import unquote, urlsplit

from pytest_agentbench.errors import SetupError
from pytest_agentbench.model.digest import digest_value
from pytest_agentbench.model.task import GitSource
from pytest_agentbench.sandboxes.gitcalls import Git, GitError
from pytest_agentbench.sandboxes.pins import Pins

FETCH_TIMEOUT_S = 600.0
_RESOLVE_TIMEOUT_S = 60.0
_FULL_ID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_SHA256_LENGTH = 64
_CREDENTIALS = re.compile(r"(?<=://)(?:[^/?#\s]*|[^/?#@\s:\[]*:(?!\d*(?:[/?#\s]|$))\S*)@")
"""What stands before the host, up to the last ``@``: a password may hold one. Slashes are
none of a password's, but who forgets to quote them must not find it in a report either."""
_QUERY = re.compile(r"(?<=\S)\?[^\s'\"]*")
"""Some servers take a token there."""
_TOLD = 5
_POINTER = b"version https://git-lfs.github.com/spec/"
_POINTER_LIMIT = 1024
_GITLINK = b"160000"
_NAMED = ("refs/heads/", "refs/tags/")


@dataclass(frozen=True, slots=True)
class Exported:
    """What a commit brought. ``tracked`` are its files, ``submodules`` what it only names."""

    commit: str
    tracked: tuple[bytes, ...]
    submodules: tuple[bytes, ...]

    def refuse_absent(self, directory: Path, where: str) -> None:
        """Raise for contents that the commit names and does not hold, unless they are there now.

        An agent must not find an empty directory, or three lines of text where an
        image should be, and be judged for it.
        """
        root = os.fsencode(directory)
        empty = [path for path in self.submodules if not _has_files(os.path.join(root, path))]
        if empty:
            raise SetupError(
                f"submodules are not fetched: {_listed(empty)}",
                where=where,
                advice="lay their files over the commit with workspace.copy or workspace.files",
            )
        pointers = [path for path in self.tracked if _is_pointer(os.path.join(root, path))]
        if pointers:
            raise SetupError(
                f"contents are kept in Git LFS, which is not fetched: {_listed(pointers)}",
                where=where,
                advice="lay the files over the commit with workspace.copy or workspace.files",
            )


class GitSources:
    """Fetches each commit once a process; a failure is not tried again."""

    def __init__(self, git: Git, pins: Pins) -> None:
        self._git = git
        self._pins = pins
        self._fetched: dict[GitSource, tuple[str, Path] | SetupError] = {}
        self._locks: dict[str, asyncio.Lock] = {}

    async def export(self, source: GitSource, directory: Path, *, where: str) -> Exported:
        """Write the files of the commit into an empty directory. Raises ``SetupError``."""
        at = f"{where}: workspace.git"
        async with self._locks.setdefault(source.url, asyncio.Lock()):
            if source not in self._fetched:
                try:
                    self._fetched[source] = await self._fetch(source)
                except SetupError as fault:
                    self._fetched[source] = fault
        fetched = self._fetched[source]
        if isinstance(fetched, SetupError):
            raise SetupError(fetched.what, where=at, advice=fetched.advice)
        commit, repository = fetched
        try:
            return await self._write_out(commit, repository, directory)
        except GitError as fault:
            raise SetupError(
                f"the files of {commit[:12]} cannot be written: {fault}", where=at
            ) from fault

    async def _fetch(self, source: GitSource) -> tuple[str, Path]:
        remote = _remote_of(self._git, source)
        commit = await self._pins.commit(_pin_name(source), remote.resolve)
        bare = self._git.scratch()
        try:
            kind = ("--object-format=sha256",) if len(commit) == _SHA256_LENGTH else ()
            await self._git.run("init", "-q", "--bare", "--template=", *kind, str(bare), cwd=bare)
            await remote.fetch(commit, bare)
            found = await self._git.run(
                "rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}", cwd=bare
            )
        except GitError as fault:
            raise SetupError(
                f"the commit {commit[:12]} cannot be fetched from {_shown(source.url)}: "
                f"{_without_secrets(str(fault), source.url)}",
                advice=remote.advice,
            ) from fault
        return found.decode("ascii").strip(), bare

    async def _write_out(self, commit: str, bare: Path, directory: Path) -> Exported:
        env = {
            "GIT_DIR": str(bare),
            "GIT_WORK_TREE": str(directory),
            "GIT_INDEX_FILE": str(self._git.scratch() / "index"),
        }
        await self._git.run("read-tree", commit, cwd=directory, env=env)
        listed = await self._git.run("ls-files", "-s", "-z", cwd=directory, env=env)
        await self._git.run("checkout-index", "-a", "-f", "-q", cwd=directory, env=env)
        rows = [row.split(b"\t", 1) for row in listed.split(b"\0") if row]
        return Exported(
            commit=commit,
            tracked=tuple(path for mode, path in rows if not mode.startswith(_GITLINK)),
            submodules=tuple(path for mode, path in rows if mode.startswith(_GITLINK)),
        )


@dataclass(frozen=True, slots=True)
class _Local:
    """A repository on this machine: bare or not, a worktree, shallow, another user's."""

    git: Git
    path: Path
    ref: str
    advice = "run `git fsck` there; is the repository whole?"

    async def resolve(self) -> str:
        directory = await self._git_dir()
        env = {"GIT_DIR": str(directory)}
        try:
            found = await self.git.run(
                "rev-parse", "--verify", "--quiet", f"{self.ref}^{{commit}}", cwd=self.path, env=env
            )
        except GitError as fault:
            names = await self.git.run(
                *("for-each-ref", "--format=%(refname:short)", *_NAMED), cwd=self.path, env=env
            )
            raise _unknown_ref(self.ref, _shown(str(self.path)), names.decode().split()) from fault
        return found.decode("ascii").strip()

    async def fetch(self, commit: str, bare: Path) -> None:
        source = str(await self._git_dir())
        await self.git.run(
            *("fetch", "-q", "--depth=1", "--no-tags", "--no-recurse-submodules", source, commit),
            cwd=bare,
            timeout_s=FETCH_TIMEOUT_S,
        )

    async def _git_dir(self) -> Path:
        try:
            real = self.path.resolve(strict=True)
            os.close(os.open(real, os.O_RDONLY | os.O_DIRECTORY))
            # Without a ceiling a plain directory within the project's own repository
            # would stand for that repository, tasks and answers included.
            said = await self.git.run(
                "rev-parse",
                "--absolute-git-dir",
                cwd=real,
                env={"GIT_CEILING_DIRECTORIES": str(real.parent)},
            )
        except (OSError, GitError) as fault:
            raise SetupError(
                f"{_shown(str(self.path))} is not a git repository",
                advice="name the directory that holds .git, a bare repository, or a URL",
            ) from fault
        return Path(os.fsdecode(said.rstrip(b"\n")))


@dataclass(frozen=True, slots=True)
class _Remote:
    """A repository behind a URL."""

    git: Git
    url: str
    ref: str
    advice = "is it there, and may it be read without a question being asked?"

    async def resolve(self) -> str:
        if _FULL_ID.fullmatch(self.ref):
            return self.ref
        try:
            said = await self.git.ask_remote(
                "ls-remote", "--", self.url, cwd=self.git.scratch(), timeout_s=_RESOLVE_TIMEOUT_S
            )
        except GitError as fault:
            raise SetupError(
                f"{_shown(self.url)} cannot be read: {_without_secrets(str(fault), self.url)}",
                advice=self.advice,
            ) from fault
        rows = [line.split("\t", 1) for line in said.decode("utf-8", "replace").splitlines()]
        known = {row[1]: row[0] for row in rows if len(row) > 1}
        # The order in which git itself looks; an annotated tag stands for its commit.
        for name in (self.ref, f"refs/{self.ref}", f"refs/tags/{self.ref}"):
            for full in (f"{name}^{{}}", name):
                if full in known:
                    return known[full]
        if f"refs/heads/{self.ref}" in known:
            return known[f"refs/heads/{self.ref}"]
        named = [name for name in known if name.startswith(_NAMED) and not name.endswith("^{}")]
        names = [name.removeprefix(_NAMED[0]).removeprefix(_NAMED[1]) for name in named]
        raise _unknown_ref(self.ref, _shown(self.url), names)

    async def fetch(self, commit: str, bare: Path) -> None:
        quiet = ("fetch", "-q", "--no-tags", "--no-recurse-submodules")
        try:
            await self.git.ask_remote(
                *quiet, "--depth=1", self.url, commit, cwd=bare, timeout_s=FETCH_TIMEOUT_S
            )
        except GitError as fault:
            if fault.timed_out:
                raise
            # A server that gives whole branches only, or a file server that knows no depth.
            await self.git.ask_remote(
                *quiet, self.url, "+refs/*:refs/theirs/*", cwd=bare, timeout_s=FETCH_TIMEOUT_S
            )


def _remote_of(git: Git, source: GitSource) -> _Local | _Remote:
    parts = urlsplit(source.url)
    if parts.scheme == "file" and parts.path:  # without one, it would be where pytest was started
        return _Local(git, Path(unquote(parts.path)), source.ref)
    if source.url.startswith("/"):
        return _Local(git, Path(source.url), source.ref)
    return _Remote(git, source.url, source.ref)


def _unknown_ref(ref: str, repository: str, names: list[str]) -> SetupError:
    if not names:
        return SetupError(f"{ref!r} is not there: {repository} has no commits")
    close = get_close_matches(ref, names, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    known = ", ".join(sorted(set(names))[:10])
    return SetupError(
        f"{ref!r} is no branch, tag or commit of {repository}{hint}",
        advice=f"one of: {known}; of a commit behind a URL, all digits of its id",
    )


def _shown(url: str) -> str:
    """A source as messages and stored files have it: no secret, and no home directory."""
    if "://" in url:
        return _QUERY.sub("?...", _CREDENTIALS.sub("", url))
    home = os.path.expanduser("~").rstrip("/")
    return f"~{url.removeprefix(home)}" if home and f"{url}/".startswith(f"{home}/") else url


def _without_secrets(said: str, url: str) -> str:
    """What git said, in which it may repeat a URL, as it is or as it read it."""
    return _CREDENTIALS.sub("", said.replace(url, _shown(url)))


def _pin_name(source: GitSource) -> str:
    shown = _shown(source.url)
    # Another query may be another repository; what it says is not stored.
    query = f"#{digest_value(urlsplit(source.url).query)[:8]}" if shown.endswith("?...") else ""
    return f"{shown}{query} {source.ref}"


def _has_files(path: bytes) -> bool:
    try:
        return bool(os.listdir(path))
    except OSError:
        return False


def _is_pointer(path: bytes) -> bool:
    try:
        if os.path.islink(path) or os.path.getsize(path) > _POINTER_LIMIT:
            return False
        with open(path, "rb") as file:
            return file.read(len(_POINTER)) == _POINTER
    except OSError:
        return False


def _listed(paths: list[bytes]) -> str:
    names = [path.decode("utf-8", "backslashreplace") for path in sorted(paths)]
    more = f" and {len(names) - _TOLD} more" if len(names) > _TOLD else ""
    return ", ".join(names[:_TOLD]) + more
