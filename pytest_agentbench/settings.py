"""What a session was asked for: frozen values, read from the options and ini keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias, get_args

from pytest_agentbench.errors import UsageError
from pytest_agentbench.options import (
    DEFAULT_RESULTS,
    DEFAULT_TASK_DIRECTORIES,
    PREFIX,
    key_of,
)

KeepPolicy: TypeAlias = Literal["none", "failed", "all"]

LABEL_LIMIT = 200
ALIASES: Mapping[str, str] = {
    "model": "model",
    "repeats": "repeats",
    "sandbox": "sandbox.driver",
}
"""Options that stand for one path of ``--agentbench-set``."""
_TEXTS = ("model", "sandbox")
"""Aliases whose value is text as it stands, and no YAML."""


class Assignment(NamedTuple):
    """A value for one path of settings, not yet read.

    ``said`` is how it was written, for messages. Paths in ``text`` are relative to
    ``base``. ``plain`` text is no YAML.
    """

    path: str
    text: str
    said: str
    base: Path
    plain: bool = False


class Settings(NamedTuple):
    """One session's settings.

    ``results`` and ``junit`` are absolute. ``task_directories_configured`` tells the default
    ``tasks`` from a project that says so itself: only the default lets foreign
    YAML files pass. ``variants`` are patterns; ``agent`` is the one that runs in place
    of the experiment's variants. ``typed`` are the settings of the command line,
    ``configured`` those of the ini file.
    """

    rootdir: Path
    results: Path
    experiment: str | None = None
    keep: KeepPolicy = "failed"
    sandbox: str | None = None
    task_directories: tuple[str, ...] = DEFAULT_TASK_DIRECTORIES
    task_directories_configured: bool = False
    variants: tuple[str, ...] = ()
    agent: str | None = None
    typed: tuple[Assignment, ...] = ()
    configured: tuple[Assignment, ...] = ()
    sample: int | None = None
    include_skipped: bool = False
    label: str | None = None
    junit: Path | None = None


def read_settings(
    rootdir: Path,
    invocation_dir: Path,
    *,
    chosen: Mapping[str, object],
    ini: Callable[[str], object],
    task_directories: tuple[str, ...] | None,
) -> Settings:
    """Settle options over ini keys over defaults.

    ``chosen`` holds the command line's values by option name, ``ini`` reads an
    ini key ("" or an empty list when unset). Paths of the command line are relative
    to the invocation directory, those of the ini file to the root directory. Raises
    ``UsageError`` for a value that means nothing.
    """
    given = _Given(chosen, ini)
    results, typed = given.text("results")
    variants, agent = _columns(given)
    keep, sample, label = (given.text(name)[0] for name in ("keep", "sample", "label"))
    return Settings(
        rootdir=rootdir,
        results=((invocation_dir if typed else rootdir) / (results or DEFAULT_RESULTS)).absolute(),
        experiment=_experiment(given, rootdir, invocation_dir),
        keep=_keep(keep, given.said("keep")),
        sandbox=given.text("sandbox")[0],
        task_directories=task_directories or DEFAULT_TASK_DIRECTORIES,
        task_directories_configured=task_directories is not None,
        variants=variants,
        agent=agent,
        typed=_assignments(given.typed, invocation_dir, "--{}-{}={}", "on the command line"),
        configured=_assignments(given.configured, rootdir, "{}_{} = {}", "in the ini file"),
        sample=_sample(sample, given.said("sample")),
        include_skipped=given.flag("include-skipped"),
        label=_label(label, given.said("label")),
        junit=_path(given.text("junit"), rootdir, invocation_dir),
    )


class _Given:
    """The values of options and ini keys."""

    def __init__(self, chosen: Mapping[str, object], ini: Callable[[str], object]) -> None:
        self._chosen = chosen
        self._ini = ini

    def text(self, name: str) -> tuple[str | None, bool]:
        """The value of an option, and whether it comes from the command line."""
        typed = self.typed(name)
        if typed:
            return typed[-1], True
        configured = self.configured(name)
        return (configured[-1] if configured else None), False

    def typed(self, name: str) -> tuple[str, ...]:
        """What the command line gives. Raises ``UsageError`` for an option without a value.

        ``--agentbench-variant=$UNSET`` must not run, and pay for, all of them.
        """
        value = self._chosen.get(name)
        if value == "" or (isinstance(value, list | tuple) and "" in value):
            raise UsageError(
                "the value is empty",
                where=f"--{PREFIX}-{name}=",
                advice="a value, or leave the option out",
            )
        return _texts(value)

    def configured(self, name: str) -> tuple[str, ...]:
        """What the ini file gives."""
        return _texts(self._ini(key_of(name)))

    def flag(self, name: str) -> bool:
        """Whether an option is on."""
        try:
            return bool(self._chosen.get(name) or self._ini(key_of(name)))
        except ValueError as error:  # pytest's own, which does not say of which key
            raise UsageError(
                str(error), where=f"{key_of(name)} of the ini file", advice="true or false"
            ) from error

    def said(self, name: str) -> str:
        """Where the value of an option was written."""
        return f"--{PREFIX}-{name}" if self.typed(name) else f"{key_of(name)} of the ini file"


def _texts(value: object) -> tuple[str, ...]:
    values = value if isinstance(value, list | tuple) else [value]
    return tuple(str(one) for one in values if one is not None and one != "")


def _columns(given: _Given) -> tuple[tuple[str, ...], str | None]:
    """Patterns of variants, or the agent in their place; the command line beats the ini file."""
    for read in (given.typed, given.configured):
        variants, agents = read("variant"), read("agent")
        if variants and agents:
            raise UsageError(
                f"--{PREFIX}-agent runs one variant of its own, so there is nothing for "
                f"--{PREFIX}-variant to choose from",
                where=f"--{PREFIX}-agent",
                advice=f"one of them; --{PREFIX}-model sets the model of the variants",
            )
        if variants or agents:
            return variants, agents[-1] if agents else None
    return (), None


def _assignments(
    read: Callable[[str], tuple[str, ...]], base: Path, said: str, where: str
) -> tuple[Assignment, ...]:
    """The settings of one source. Raises ``UsageError`` for a path that is set twice in it."""
    found = [
        Assignment(path, values[-1], said.format(PREFIX, name, values[-1]), base, name in _TEXTS)
        for name, path in ALIASES.items()
        if (values := read(name))
    ]
    for text in read("set"):
        path, equals, value = text.partition("=")
        shown = said.format(PREFIX, "set", text)
        if not equals or not path.strip():
            raise UsageError("wants PATH=VALUE, such as limits.time=5m", where=shown)
        found.append(Assignment(path.strip(), value, shown, base))
    for index, one in enumerate(found):
        for other in found[:index]:
            if _overlap(one.path, other.path):
                raise UsageError(
                    f"{min(one.path, other.path, key=len)} is set twice {where}: "
                    f"by {other.said} and by {one.said}",
                    advice="keep one of them",
                )
    return tuple(found)


def _overlap(one: str, other: str) -> bool:
    """Whether two paths are one, or one lies below the other."""
    return one == other or one.startswith(f"{other}.") or other.startswith(f"{one}.")


def _experiment(given: _Given, rootdir: Path, invocation_dir: Path) -> str | None:
    """A path is made absolute against where it was written; a bare name stays one."""
    chosen, typed = given.text("experiment")
    if not chosen:
        return None
    looks_like_path = "/" in chosen or chosen.endswith((".yaml", ".yml"))
    base = invocation_dir if typed else rootdir
    return str((base / chosen).absolute()) if looks_like_path else chosen


def _path(given: tuple[str | None, bool], rootdir: Path, invocation_dir: Path) -> Path | None:
    """An absolute path; each place where one can be written has its own base."""
    text, typed = given
    return ((invocation_dir if typed else rootdir) / text).absolute() if text else None


def _keep(value: str | None, where: str) -> KeepPolicy:
    for policy in get_args(KeepPolicy):
        if value == policy:
            return policy  # type: ignore[no-any-return]
    if value is None:
        return "failed"
    raise UsageError(f"{value!r} is no policy", where=where, advice="one of none, failed, all")


def _sample(value: str | None, where: str) -> int | None:
    if value is None:
        return None
    if not (value.isascii() and value.isdigit() and int(value) > 0):
        raise UsageError(f"{value!r} is no whole number above 0", where=where)
    return int(value)


def _label(value: str | None, where: str) -> str | None:
    if value is None:
        return None
    if not value.isprintable() or not value.strip():
        raise UsageError("a label is one line that can be printed", where=where)
    if len(value) > LABEL_LIMIT:
        raise UsageError(
            f"a label has at most {LABEL_LIMIT} characters, not {len(value)}", where=where
        )
    return value


def user_cache(variables: Mapping[str, str]) -> Path | None:
    """Where what can be made anew is kept between sessions, by digest; None without a home."""
    # A relative one is to be ignored, says its specification, and each command would find
    # another directory there.
    base = Path(variables.get("XDG_CACHE_HOME", ""))
    if base.is_absolute():
        return base / "pytest-agentbench"
    home = Path(variables.get("HOME", ""))
    return home / ".cache" / "pytest-agentbench" if home.is_absolute() else None
