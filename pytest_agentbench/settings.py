"""What a session was asked for: the options and ini keys, and the frozen values read from them.

Standard library only, and cheap: pytest loads this module in every session.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias, get_args

from pytest_agentbench.errors import UsageError

KeepPolicy: TypeAlias = Literal["none", "failed", "all"]

PREFIX = "agentbench"
DEFAULT_TASK_DIRECTORIES = ("tasks",)
DEFAULT_RESULTS = ".agentbench"


class Option(NamedTuple):
    """One ``--agentbench-NAME`` option; the ini key of the same meaning is ``agentbench_NAME``."""

    name: str
    metavar: str
    help: str

    @property
    def flag(self) -> str:
        """The option as it is typed."""
        return f"--{PREFIX}-{self.name}"

    @property
    def key(self) -> str:
        """The ini key, which is also the option's name in pytest's namespace."""
        return f"{PREFIX}_{self.name}"


OPTIONS = (
    Option(
        "experiment",
        "FILE|NAME",
        "experiment file, or the NAME of experiments/NAME.yaml (default: agentbench.yaml)",
    ),
    Option("results", "DIR", f"where runs are stored (default: {DEFAULT_RESULTS})"),
    Option(
        "keep",
        "none|failed|all",
        "whose artifacts are kept; what an agent changed always is (default: failed)",
    ),
    Option(
        "sandbox",
        "DRIVER",
        "sandbox driver for all trials, over what tasks and variants say: "
        "auto, bubblewrap or local (which does not isolate)",
    ),
)


class Settings(NamedTuple):
    """One session's settings.

    ``results`` is absolute. ``task_directories_configured`` tells the default
    ``tasks`` from a project that says so itself: only the default lets foreign
    YAML files pass.
    """

    rootdir: Path
    results: Path
    experiment: str | None = None
    keep: KeepPolicy = "failed"
    sandbox: str | None = None
    task_directories: tuple[str, ...] = DEFAULT_TASK_DIRECTORIES
    task_directories_configured: bool = False


def read_settings(
    rootdir: Path,
    invocation_dir: Path,
    *,
    chosen: Mapping[str, str | None],
    ini: Callable[[str], str],
    task_directories: tuple[str, ...] | None,
) -> Settings:
    """Settle options over ini keys over defaults.

    ``chosen`` holds the command line's values by option name, ``ini`` reads an
    ini key ("" when unset). Paths of the command line are relative to the
    invocation directory, those of the ini file to the root directory. Raises
    ``UsageError`` for a value that means nothing.
    """

    def value(name: str) -> str | None:
        return chosen.get(name) or ini(f"{PREFIX}_{name}") or None

    results_base = invocation_dir if chosen.get("results") else rootdir
    return Settings(
        rootdir=rootdir,
        results=(results_base / (value("results") or DEFAULT_RESULTS)).absolute(),
        experiment=_experiment(chosen.get("experiment"), ini, rootdir, invocation_dir),
        keep=_keep(value("keep")),
        sandbox=value("sandbox"),
        task_directories=task_directories or DEFAULT_TASK_DIRECTORIES,
        task_directories_configured=task_directories is not None,
    )


def _experiment(
    typed: str | None, ini: Callable[[str], str], rootdir: Path, invocation_dir: Path
) -> str | None:
    """A path is made absolute against where it was written; a bare name stays one."""
    chosen, base = (typed, invocation_dir) if typed else (ini(f"{PREFIX}_experiment"), rootdir)
    if not chosen:
        return None
    looks_like_path = "/" in chosen or chosen.endswith((".yaml", ".yml"))
    return str((base / chosen).absolute()) if looks_like_path else chosen


def _keep(value: str | None) -> KeepPolicy:
    for policy in get_args(KeepPolicy):
        if value == policy:
            return policy  # type: ignore[no-any-return]
    if value is None:
        return "failed"
    raise UsageError(
        f"{value!r} is no policy",
        where=f"--{PREFIX}-keep",
        advice="one of none, failed, all",
    )
