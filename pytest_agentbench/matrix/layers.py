"""Settings of a trial, resolved from layers that lie over each other. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pytest_agentbench.errors import UsageError
from pytest_agentbench.model.task import (
    BuildSpec,
    Limits,
    NetworkMode,
    PullMode,
    Reveal,
    SandboxSpec,
    ScoringMode,
)

if TYPE_CHECKING:
    from pytest_agentbench.model.task import JsonValue, SettingsLayer

BUILT_IN = "built-in"
EXPERIMENT = "experiment"
TASK = "task"
VARIANT = "variant"
INI_FILE = "ini file"
COMMAND_LINE = "command line"
ENV_PREFIX = "sandbox.env."
NETWORKS = ("auto", "full", "none")
PULLS = ("missing", "never", "always")
SCORINGS = ("fresh", "commit")
REVEALS = ("verdict", "reasons", "full")
MAX_REPEATS = 1000


def _whole(low: int, high: int) -> Callable[[JsonValue], bool]:
    return lambda value: (
        isinstance(value, int) and not isinstance(value, bool) and low <= value <= high
    )


def _positive(value: JsonValue) -> bool:
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and math.isfinite(value)
        and value > 0
    )


def _text(value: JsonValue) -> bool:
    return isinstance(value, str) and bool(value)


def _texts(value: JsonValue) -> bool:
    return isinstance(value, list) and all(_text(item) for item in value)


def _table(value: JsonValue) -> bool:
    return isinstance(value, dict) and all(_text(item) for item in value.values())


def _build(value: JsonValue) -> bool:
    return isinstance(value, dict) and _text(value.get("context"))


@dataclass(frozen=True, slots=True)
class Setting:
    """One path that may be set: its built-in value (None: not enforced), and what is allowed."""

    default: JsonValue
    allowed: Callable[[JsonValue], bool]
    wanted: str


SETTINGS: Mapping[str, Setting] = {
    "repeats": Setting(1, _whole(1, MAX_REPEATS), f"a whole number from 1 to {MAX_REPEATS}"),
    "limits.time": Setting(Limits().time_s, _positive, "seconds above 0"),
    "limits.workspace": Setting(None, _whole(1, 1 << 63), "bytes above 0"),
    "reveal": Setting("reasons", lambda value: value in REVEALS, f"one of {', '.join(REVEALS)}"),
    "sandbox.driver": Setting(SandboxSpec().driver, _text, "the name of a sandbox"),
    "sandbox.network": Setting(
        SandboxSpec().network, lambda value: value in NETWORKS, f"one of {', '.join(NETWORKS)}"
    ),
    "sandbox.memory": Setting(None, _whole(1, 1 << 63), "bytes above 0"),
    "sandbox.cpus": Setting(None, _positive, "a number above 0"),
    "sandbox.pids": Setting(None, _whole(1, 1 << 22), "a whole number above 0"),
    "sandbox.python": Setting(None, _text, "a path"),
    "sandbox.read_only": Setting([], _texts, "a list of paths"),
    "sandbox.image": Setting(None, _text, "the name of an image"),
    "sandbox.build": Setting(None, _build, "context, dockerfile, args and target"),
    "sandbox.user": Setting(None, _text, "a user's name or number"),
    "sandbox.workdir": Setting(None, _text, "an absolute path"),
    "sandbox.mounts": Setting({}, _table, "a mapping of paths to paths"),
    "sandbox.pull": Setting("missing", lambda value: value in PULLS, f"one of {', '.join(PULLS)}"),
    "sandbox.platform": Setting(None, _text, "such as linux/amd64"),
    "sandbox.scoring": Setting(
        "fresh", lambda value: value in SCORINGS, f"one of {', '.join(SCORINGS)}"
    ),
}


@dataclass(frozen=True, slots=True)
class Resolved:
    """The value of every path, and the name of the layer that gave it."""

    values: Mapping[str, JsonValue] = field(default_factory=dict)
    lineage: Mapping[str, str] = field(default_factory=dict)

    @property
    def repeats(self) -> int:
        """How often each task is tried."""
        return cast("int", self.values["repeats"])

    @property
    def limits(self) -> Limits:
        """What a trial's agent may use."""
        return Limits(
            time_s=float(cast("float", self.values["limits.time"])),
            workspace_bytes=cast("int | None", self.values["limits.workspace"]),
        )

    @property
    def reveal(self) -> Reveal:
        """What of oracles' reports leaves the run directory."""
        return cast("Reveal", self.values["reveal"])

    @property
    def sandbox(self) -> SandboxSpec:
        """The walls that a trial asks for."""
        values = self.values
        python = cast("str | None", values["sandbox.python"])
        cpus = cast("float | None", values["sandbox.cpus"])
        return SandboxSpec(
            driver=cast("str", values["sandbox.driver"]),
            network=cast("NetworkMode", values["sandbox.network"]),
            memory_bytes=cast("int | None", values["sandbox.memory"]),
            cpus=None if cpus is None else float(cpus),
            pids=cast("int | None", values["sandbox.pids"]),
            env={
                path.removeprefix(ENV_PREFIX): cast("str", value)
                for path, value in values.items()
                if path.startswith(ENV_PREFIX)
            },
            python=None if python is None else Path(python),
            read_only=tuple(Path(text) for text in cast("list[str]", values["sandbox.read_only"])),
            image=self._word("image"),
            build=self._built,
            user=self._word("user"),
            workdir=self._word("workdir"),
            mounts={
                inside: Path(outside)
                for inside, outside in cast("dict[str, str]", values["sandbox.mounts"]).items()
            },
            pull=cast("PullMode", values["sandbox.pull"]),
            platform=self._word("platform"),
            scoring=cast("ScoringMode", values["sandbox.scoring"]),
        )

    @property
    def _built(self) -> BuildSpec | None:
        given = cast("dict[str, Any] | None", self.values["sandbox.build"])
        if given is None:
            return None
        return BuildSpec(
            Path(given["context"]),
            given.get("dockerfile") or "Dockerfile",
            given.get("args") or {},
            given.get("target"),
        )

    def _word(self, name: str) -> str | None:
        return cast("str | None", self.values[f"sandbox.{name}"])


def resolve(layers: Sequence[tuple[str, SettingsLayer]]) -> Resolved:
    """What holds when each layer is laid over the ones before it, the built-in values lowest.

    Raises ``UsageError`` for a path that is not known and for a value of the wrong type.
    """
    values: dict[str, JsonValue] = {path: setting.default for path, setting in SETTINGS.items()}
    lineage = dict.fromkeys(SETTINGS, BUILT_IN)
    for name, layer in layers:
        for path, value in layer.items():
            _check(name, path, value)
            values[path] = value
            lineage[path] = name
    return Resolved(values, lineage)


def _check(layer: str, path: str, value: JsonValue) -> None:
    if path.startswith(ENV_PREFIX) and path != ENV_PREFIX:
        allowed, wanted = isinstance(value, str), "text"
    elif path in SETTINGS:
        allowed, wanted = SETTINGS[path].allowed(value), SETTINGS[path].wanted
    else:
        known = [*SETTINGS, f"{ENV_PREFIX}NAME"]
        close = get_close_matches(path, known, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else f"; known: {', '.join(sorted(known))}"
        raise UsageError(f"unknown setting {path!r}{hint}", where=layer)
    if not allowed:
        raise UsageError(f"{path} must be {wanted}, not {value!r}", where=layer)
