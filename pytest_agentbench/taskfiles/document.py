"""The shapes of task and experiment files, as pydantic models. Pure.

Everything is optional here: what must be there depends on other keys, and is
said by the loaders. ``later`` are keys of the design that are not built yet.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, ClassVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from pytest_agentbench.taskfiles.units import seconds, size_bytes

Duration = Annotated[float, BeforeValidator(seconds)]
Size = Annotated[int, BeforeValidator(size_bytes)]
MAX_REPEATS = 1000


class Shape(BaseModel):
    """A mapping of a file. Absent keys have their type's empty value: ask ``has``."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    later: ClassVar[frozenset[str]] = frozenset()

    def has(self, field: str) -> bool:
        """Whether the file gives the field."""
        return field in self.model_fields_set

    @classmethod
    def keys(cls) -> list[str]:
        """The keys that the file may use."""
        return [field.alias or name for name, field in cls.model_fields.items()]


def _text_as(key: str) -> Callable[[object], object]:
    """Let one string stand for a mapping with that one key."""

    def spread(value: object) -> object:
        return {key: value} if isinstance(value, str) else value

    return spread


class FilesShape(Shape):
    """A directory of files: one on disk, inline texts, or both."""

    directory: str = Field("", alias="copy")
    files: dict[str, str] = Field(default_factory=dict)


class WorkspaceShape(FilesShape):
    """What the agent starts from."""

    later = frozenset({"git", "patch", "setup", "protect"})


class SolutionShape(Shape):
    """What the reference agent applies; ``path`` is how a bare string arrives."""

    path: str = ""
    run: str = ""
    files: dict[str, str] = Field(default_factory=dict)


class LimitsShape(Shape):
    """What an agent may use."""

    later = frozenset({"idle", "turns", "tokens", "cost_usd", "workspace", "on_limit"})

    time: Duration = 0.0


class SandboxShape(Shape):
    """The walls that are asked for."""

    driver: str = ""
    network: str = ""
    memory: Size = 0
    cpus: Annotated[float, Field(gt=0, le=4096)] = 0.0
    pids: Annotated[int, Field(ge=1, le=1 << 22)] = 0
    env: dict[str, str] = Field(default_factory=dict)
    python: str = ""
    read_only: list[str] = Field(default_factory=list)

    later = frozenset({"image", "build", "mounts"})


class OracleShape(Shape):
    """What all oracle entries have in common; the kind key and its options are extra."""

    model_config = ConfigDict(frozen=True, extra="allow", strict=True)

    later = frozenset({"needs", "advisory", "pass_at", "network", "diff", "answer", "python"})

    name: str = ""
    weight: Annotated[float, Field(gt=0, le=1e9)] = 1.0
    required: bool = True
    timeout: Duration = 300.0
    assets: Annotated[FilesShape, BeforeValidator(_text_as("copy"))] = FilesShape()


class DatasetShape(Shape):
    """Where rows come from."""

    later = frozenset({"per_stratum", "stratum", "rows", "filter"})

    path: str = ""
    package: str = ""
    id: str = ""
    sample: Annotated[int, Field(ge=1)] = 0
    seed: int = 0


class TaskShape(Shape):
    """A task file."""

    later = frozenset({"checks", "controls", "skip", "xfail", "fixtures", "slots", "gate", "steps"})

    id: str = ""
    description: str = ""
    tags: list[str] = Field(default_factory=list)
    prompt: str = ""
    prompt_file: str = ""
    workspace: Annotated[WorkspaceShape, BeforeValidator(_text_as("copy"))] = WorkspaceShape()
    limits: LimitsShape = LimitsShape()
    sandbox: SandboxShape = SandboxShape()
    oracles: list[OracleShape] = Field(default_factory=list)
    threshold: Annotated[float, Field(gt=0, le=1)] = 0.0
    solution: Annotated[SolutionShape, BeforeValidator(_text_as("path"))] = SolutionShape()
    repeats: Annotated[int, Field(ge=1, le=MAX_REPEATS)] = 1
    dataset: DatasetShape = DatasetShape()


class VariantShape(Shape):
    """One variant of an experiment file."""

    later = frozenset({"overlay", "prompt", "expect", "tools", "retries", "mcp_servers", "skills"})

    agent: str = ""
    extends: str = ""
    model: str = ""
    options: dict[str, object] = Field(default_factory=dict)
    env: dict[str, str] = Field(default_factory=dict)
    limits: LimitsShape = LimitsShape()
    sandbox: SandboxShape = SandboxShape()
    repeats: Annotated[int, Field(ge=1, le=MAX_REPEATS)] = 1


class DefaultsShape(Shape):
    """What an experiment sets for all its variants and tasks."""

    later = frozenset({"retries", "env", "model"})

    repeats: Annotated[int, Field(ge=1, le=MAX_REPEATS)] = 1
    limits: LimitsShape = LimitsShape()
    sandbox: SandboxShape = SandboxShape()


class ExperimentShape(Shape):
    """An experiment file."""

    later = frozenset({"suites", "baseline", "extends", "budget", "gate"})

    variants: dict[str, VariantShape] = Field(default_factory=dict)
    defaults: DefaultsShape = DefaultsShape()


TASK_PLACES: dict[tuple[str, ...], type[Shape]] = {
    (): TaskShape,
    ("workspace",): WorkspaceShape,
    ("limits",): LimitsShape,
    ("sandbox",): SandboxShape,
    ("oracles", "*"): OracleShape,
    ("oracles", "*", "assets"): FilesShape,
    ("solution",): SolutionShape,
    ("dataset",): DatasetShape,
}
EXPERIMENT_PLACES: dict[tuple[str, ...], type[Shape]] = {
    (): ExperimentShape,
    ("defaults",): DefaultsShape,
    ("defaults", "limits"): LimitsShape,
    ("defaults", "sandbox"): SandboxShape,
    ("variants", "*"): VariantShape,
    ("variants", "*", "limits"): LimitsShape,
    ("variants", "*", "sandbox"): SandboxShape,
}
