"""The run directory: where everything lies that one session leaves behind.

    RESULTS/
      .gitignore                          "*", where we made the directory
      latest -> runs/<run id>
      runs/<run id>/
        manifest.json  plan.json  records.jsonl  commits.json
        plans/<process>.json
        artifacts/<task>/<variant>-r<repeat>/

Nothing is made before it is needed: a session without trials leaves no directory.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from pytest_agentbench.errors import StoreError, UsageError
from pytest_agentbench.results.atomic import replace_file, temporary_name, write_new

OPTION = "--agentbench-results"

_ADVICE = f"name a directory that can be written with {OPTION}"

_PRIVATE_DIRECTORY = 0o700
"""A run holds what hidden oracles printed and what agents said: not for other
users of the machine. One closed door is enough, so the directories around and
below it follow the umask."""

_PROBE = bytes(64 * 1024)
"""What is written to learn whether writing works: a full disk still takes an empty file."""

_LONGEST_NAME = 120
"""Characters of a file name; 255 bytes is the limit of common file systems."""


def new_run_id(now: datetime, entropy: bytes) -> str:
    """``20261129-131500-a1b2c3``: sorts by start (UTC), and differs for runs of one second."""
    return f"{now.astimezone(UTC):%Y%m%d-%H%M%S}-{entropy.hex()}"


def fresh_run_id() -> str:
    """The id of a run that starts now."""
    return new_run_id(datetime.now(UTC), secrets.token_bytes(3))


def check_writable(results: Path) -> None:
    """Make the results directory and write a file to it, before anything is spent.

    Raises ``UsageError``. Permission bits alone would not tell: root ignores
    them, and a read-only mount or a full disk does not show in them.
    """
    probe = results / "runs" / f".{secrets.token_hex(6)}.tmp"
    try:
        _make_results(results)
        try:
            write_new(probe, _PROBE)
        finally:
            with suppress(FileNotFoundError):
                probe.unlink()
    except OSError as error:
        raise UsageError(
            f"cannot be written: {error.strerror}",
            where=f"results directory {results}",
            advice=_ADVICE,
        ) from error


@dataclass(frozen=True, slots=True)
class RunDirectory:
    """One run's directory, and the names of what is in it."""

    path: Path

    @classmethod
    def create(cls, results: Path, *, run_id: str) -> Self:
        """The directory of ``run_id``, made if need be. Raises ``StoreError``.

        The processes of one session call this with one id, at the same time or
        one after another.
        """
        run = cls(results / "runs" / file_name(run_id))
        try:
            _make_results(results)
            run.path.mkdir(mode=_PRIVATE_DIRECTORY, exist_ok=True)
            run.plans.mkdir(exist_ok=True)
        except OSError as error:
            raise StoreError(
                f"cannot be made: {error.strerror}",
                where=f"run directory {run.path}",
                advice=_ADVICE,
            ) from error
        return run

    @classmethod
    def open(cls, path: Path) -> Self:
        """An existing run: its directory, or ``latest`` (also as a file). Raises ``StoreError``."""
        try:
            if path.is_file():
                path = path.parent / path.read_text(encoding="utf-8").strip()
            if path.is_dir():
                return cls(path.resolve())
        except (OSError, ValueError) as error:
            raise StoreError(f"cannot be read: {error}", where=str(path)) from error
        raise StoreError(
            "no such run", where=str(path), advice="name a directory below runs/ of the results"
        )

    @property
    def run_id(self) -> str:
        """The run's id, which is the directory's name."""
        return self.path.name

    @property
    def results(self) -> Path:
        """The results directory that holds this run."""
        return self.path.parent.parent

    @property
    def manifest(self) -> Path:
        """What ran, with what, and how it ended."""
        return self.path / "manifest.json"

    @property
    def plan(self) -> Path:
        """The plan that all processes agree on."""
        return self.path / "plan.json"

    @property
    def plans(self) -> Path:
        """The directory with each process's own plan."""
        return self.path / "plans"

    @property
    def planned(self) -> bool:
        """Whether a process of this run has begun to plan."""
        return self.plans.is_dir()

    @property
    def commits(self) -> Path:
        """Which commits the branches and tags of ``workspace.git`` meant; absent without any."""
        return self.path / "commits.json"

    @property
    def records(self) -> Path:
        """One line a trial."""
        return self.path / "records.jsonl"

    def artifacts(self, task: str, variant: str, repeat: int, attempt: int = 1) -> Path:
        """The directory of one attempt's artifacts; attempts after the first have their own.

        ``task`` is a trial's key where its task does not tell it from others.
        """
        again = f"-attempt{attempt}" if attempt > 1 else ""
        return self.path / "artifacts" / file_name(task) / f"{file_name(variant)}-r{repeat}{again}"

    def relative(self, path: Path) -> str:
        """``path`` as it stands in a record: from the run directory, with slashes."""
        return path.relative_to(self.path).as_posix()

    def point_latest(self) -> str | None:
        """Make ``latest`` of the results directory name this run; say what is in the way.

        For the controlling process alone. A convenience: no run fails for want of it.
        """
        latest = self.results / "latest"
        target = f"runs/{self.run_id}"
        temporary = temporary_name(latest)
        try:
            temporary.symlink_to(target)
        except (OSError, NotImplementedError):
            # File systems such as FAT have no symlinks.
            try:
                replace_file(latest, f"{target}\n".encode())
            except StoreError as error:
                return str(error)
            return None
        try:
            temporary.replace(latest)
        except OSError as error:
            with suppress(OSError):
                temporary.unlink()
            return f"{latest}: cannot be replaced: {error.strerror}"
        return None


def file_name(text: str) -> str:
    """``text`` as the name of one file or directory.

    Ids are safe already; whatever else comes by (a hook's, a dataset's) is spelled
    with ``_`` and told apart by a digest, so that it can neither leave its
    directory nor meet another.
    """
    safe = re.sub(r"[^\w.+=,#~-]", "_", text)[:_LONGEST_NAME]
    plain = safe == text and text[:1] not in ("", ".")
    if plain and len(os.fsencode(text)) <= 2 * _LONGEST_NAME:
        return text
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
    stem = os.fsencode(safe.lstrip("."))[:_LONGEST_NAME].decode("utf-8", "ignore")
    return f"{stem}-{digest}"


def _make_results(results: Path) -> None:
    results.mkdir(parents=True, exist_ok=True)
    # Never where others keep their files: "*" in a repository's root would hide it from git.
    if not any(results.iterdir()):
        with suppress(FileExistsError):
            write_new(results / ".gitignore", b"# Made by pytest-agentbench.\n*\n")
    (results / "runs").mkdir(exist_ok=True)
