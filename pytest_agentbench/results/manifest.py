"""``manifest.json``: what ran, with what, and how it ended.

Written at the start, and again at the end: a manifest without ``finished_at`` is
that of a run that was killed. Names no host, no home directory and no secret.
"""

from __future__ import annotations

import platform
import re
import sys
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, ValidationError

from pytest_agentbench.errors import StoreError
from pytest_agentbench.results.atomic import replace_file

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pytest_agentbench.redaction import Redactor

MANIFEST_VERSION = 1


class Counts(BaseModel):
    """The suite's counts; the five outcomes sum to ``planned``."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    planned: int
    passed: int
    failed: int
    error: int
    skipped: int
    cancelled: int


class RunManifest(BaseModel):
    """One run. Null is what is not known yet. Times are ISO 8601 in UTC.

    ``label`` is the user's name for the run. ``options`` are those that were set, on the
    command line or in the ini file. ``experiment_files`` were read, the chosen one last.
    ``suites`` are the named ones. ``complete`` says whether the whole suite came to run,
    ``narrowed`` what besides deselection made the plan smaller than it. ``trouble`` is
    what went wrong with the results themselves.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_version: int = MANIFEST_VERSION
    run_id: str
    harness: str
    pytest: str
    python: str
    platform: str
    label: str | None = None
    arguments: list[str]
    options: dict[str, str] = {}
    experiment: str = ""
    experiment_files: list[str] = []
    baseline: str | None = None
    suites: list[str] = []
    variants: list[str]
    sandboxes: list[str]
    started_at: str
    finished_at: str | None = None
    exit_status: int | None = None
    counts: Counts | None = None
    complete: bool | None = None
    narrowed: list[str] = []
    trouble: list[str] = []


def write_manifest(path: Path, manifest: RunManifest) -> None:
    """Write the manifest in one step. Raises ``StoreError``."""
    replace_file(path, manifest.model_dump_json(indent=2).encode() + b"\n")


def read_manifest(path: Path) -> RunManifest:
    """The manifest at ``path``. Raises ``StoreError``."""
    try:
        return RunManifest.model_validate_json(path.read_bytes())
    except OSError as error:
        raise StoreError(f"cannot be read: {error.strerror}", where=str(path)) from error
    except ValidationError as error:
        raise StoreError(
            f"not a manifest of version {MANIFEST_VERSION}: {error}", where=str(path)
        ) from error


def python_version() -> str:
    """``CPython 3.12.4``."""
    return f"{platform.python_implementation()} {platform.python_version()}"


def platform_name() -> str:
    """``linux x86_64``: the kind of machine, not which one."""
    return f"{sys.platform} {platform.machine()}"


def portable_arguments(
    arguments: Sequence[str], *, rootdir: Path, home: Path, redactor: Redactor
) -> list[str]:
    """Command-line arguments as they may be stored: no secret, no path that names a person.

    The root directory becomes ``.``, the home directory ``~``.
    """
    places = sorted(((rootdir, "."), (home, "~")), key=lambda one: -len(one[0].parts))
    return [_portable(redactor.text(argument), places) for argument in arguments]


def _portable(argument: str, places: Sequence[tuple[Path, str]]) -> str:
    for place, name in places:
        if len(place.parts) > 1:  # a home of "/" would turn every path into "~"
            # A whole path, also right after "=", or after a short option as in -c/home/ann/x.
            start = r"(?:(?<![\w./~-])|(?<=^-\w))"
            whole = rf"{start}{re.escape(str(place))}(?=/|$|[^\w.-])"
            argument = re.sub(whole, name, argument)
            argument = argument.removeprefix("./") if name == "." else argument
    return argument
