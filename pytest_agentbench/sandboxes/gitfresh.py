"""A repository with one commit, for an agent that wants to use git, and no past.

No history, remote, reflog, tag, hook or unreachable object: those gave away the
fix of a task that was made from a later commit.
"""

from __future__ import annotations

import stat
from collections.abc import Iterable
from pathlib import Path

from pytest_agentbench.errors import SetupError
from pytest_agentbench.model.run import EntryKind, Manifest
from pytest_agentbench.sandboxes.area import remove_tree
from pytest_agentbench.sandboxes.gitcalls import Git, GitError

_CONFIGURATION = """\
[core]
	repositoryformatversion = 0
	filemode = true
	bare = false
	logallrefupdates = true
[user]
	name = developer
	email = developer@localhost
"""
# Files are written to a pack at once, and are not compared with each other to save room:
# 50,000 of them took minutes.
_INTO_ONE_PACK = (
    *("-c", "core.bigFileThreshold=1"),
    *("-c", "core.compression=1"),
    *("-c", "pack.threads=1"),
    *("-c", "pack.window=0"),
)
_DATE = "2000-01-01T00:00:00+0000"
_AUTHOR = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "developer"), ("EMAIL", "developer@localhost"), ("DATE", _DATE))
}


async def commit_afresh(
    git: Git, directory: Path, manifest: Manifest, tracked: Iterable[bytes], *, where: str
) -> None:
    """Make ``.git`` in a workspace anew, with all its files in one commit.

    What the workspace's ignore files name is left out, but for ``tracked``.
    ``manifest`` lists the workspace. Raises ``SetupError``.
    """
    remove_repository(directory)
    try:
        await _commit(git, directory, manifest, tracked)
    except (GitError, OSError) as fault:
        raise SetupError(f"the workspace cannot be committed: {fault}", where=where) from fault


def remove_repository(directory: Path) -> None:
    """Remove ``.git`` from a workspace, whatever it is."""
    place = directory / ".git"
    try:
        if stat.S_ISDIR(place.lstat().st_mode):
            remove_tree(place)
        else:
            place.unlink()
    except FileNotFoundError:
        return


async def _commit(git: Git, directory: Path, manifest: Manifest, tracked: Iterable[bytes]) -> None:
    place = directory / ".git"
    await git.run("init", "-q", "--template=", cwd=directory)
    env = {"GIT_DIR": str(place), "GIT_WORK_TREE": str(directory)}
    index = {"GIT_INDEX_FILE": str(git.scratch() / "index")}
    # Listed and not ``git add``ed: that would go into repositories within this one.
    others = await git.run(
        "ls-files", "-o", "-z", "--exclude-standard", cwd=directory, env=env | index
    )
    names = {name for name in others.split(b"\0") if name and not name.endswith(b"/")}
    names.update(path for path in tracked if _is_committable(manifest, path))
    await git.run(
        *(*_INTO_ONE_PACK, "update-index", "-z", "--add", "--stdin"),
        cwd=directory,
        env=env | index,
        stdin=b"".join(name + b"\0" for name in sorted(names)),
    )
    tree = (await git.run("write-tree", cwd=directory, env=env | index)).decode("ascii").strip()
    made = await git.run(
        *("commit-tree", tree, "-m", "Initial commit"), cwd=directory, env=env | _AUTHOR
    )
    commit = made.decode("ascii").strip()
    await git.run(
        *("-c", "core.logAllRefUpdates=false", "update-ref", "refs/heads/main", commit),
        cwd=directory,
        env=env,
    )
    # One file instead of one for each: every trial copies them.
    await git.run(*_INTO_ONE_PACK, "repack", "-a", "-d", "-q", "-n", cwd=directory, env=env)
    # An index without times and inodes: two templates of the same files are the same.
    await git.run("read-tree", "HEAD", cwd=directory, env=env)
    (place / "config").write_text(_CONFIGURATION, "ascii")
    for name in ("description", "COMMIT_EDITMSG"):
        (place / name).unlink(missing_ok=True)
    for name in ("logs", "hooks", "branches"):
        remove_tree(place / name)


def _is_committable(manifest: Manifest, path: bytes) -> bool:
    """Whether a tracked file is still there: a copy laid over it may have replaced it."""
    entry = manifest.get(path)
    return entry is not None and entry.kind in (EntryKind.FILE, EntryKind.SYMLINK)


def of_repository(path: bytes) -> bool:
    """Whether a path is the workspace's own ``.git``, or lies in it."""
    return path == b".git" or path.startswith(b".git/")


def without_repository(manifest: Manifest) -> Manifest:
    """The same without the workspace's own ``.git``: what is packed there differs by version."""
    return {path: entry for path, entry in manifest.items() if not of_repository(path)}
