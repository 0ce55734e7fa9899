"""What the shapes of task and experiment files share, as pydantic models. Pure.

Everything is optional here: what must be there depends on other keys, and is
said by the loaders. ``later`` are keys of the design that are not built yet.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, ClassVar, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, GetJsonSchemaHandler
from pydantic_core import CoreSchema

from pytest_agentbench.taskfiles.units import seconds, size_bytes

MAX_REPEATS = 1000


@dataclass(frozen=True, slots=True)
class AlsoText:
    """Tells the JSON schema that a text will do as well; ``pattern`` is what it looks like."""

    pattern: str | None = None

    def __get_pydantic_json_schema__(
        self, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, object]:
        """The schema of the value itself, or text."""
        text: dict[str, object] = {"type": "string"}
        if self.pattern is not None:
            text["pattern"] = self.pattern
        return {"anyOf": [handler(core_schema), text]}


@dataclass(frozen=True, slots=True)
class AlsoNames:
    """Tells the JSON schema that one name, or a list of names, will do as well as a mapping."""

    def __get_pydantic_json_schema__(
        self, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, object]:
        """The schema of the mapping itself, a text, or a list of texts."""
        text: dict[str, object] = {"type": "string"}
        return {"anyOf": [handler(core_schema), text, {"type": "array", "items": text}]}


Duration = Annotated[float, BeforeValidator(seconds), AlsoText(r"^[0-9hms. ]+$|\{\{")]
Size = Annotated[int, BeforeValidator(size_bytes), AlsoText(r"^[0-9.]+ *[A-Za-z]*$|\{\{")]


class Shape(BaseModel):
    """A mapping of a file. Absent keys have their type's empty value: ask ``has``."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)

    later: ClassVar[frozenset[str]] = frozenset()

    def __deepcopy__(self, memo: dict[int, object] | None = None) -> Self:
        # pydantic copies default values; frozen ones need none, and it takes half of the
        # time in which a row of a dataset is validated.
        return self

    def has(self, field: str) -> bool:
        """Whether the file gives the field."""
        return field in self.__pydantic_fields_set__

    @classmethod
    def keys(cls) -> list[str]:
        """The keys that the file may use."""
        return [field.alias or name for name, field in cls.model_fields.items()]


def text_as(key: str) -> Callable[[object], object]:
    """Let one string stand for a mapping with that one key."""

    def spread(value: object) -> object:
        return {key: value} if isinstance(value, str) else value

    return spread


class FilesShape(Shape):
    """A directory of files: one on disk, inline texts, or both."""

    directory: str = Field("", alias="copy", description="a directory, relative to this file")
    files: dict[str, str] = Field(
        default_factory=dict, description="names and texts; they win over files of the directory"
    )


def one_or_many(value: object) -> object:
    """Let one string stand for a list with it."""
    return [value] if isinstance(value, str) else value


def names_alone(value: object) -> object:
    """Let a name, or a list of names, stand for a mapping of them to nothing."""
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list):
        return value
    if not all(isinstance(name, str) for name in names):
        raise ValueError("must be a list of names, each of them text")
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"names {twice!r} twice")
    return dict.fromkeys(names)


Texts = Annotated[list[str], BeforeValidator(one_or_many), AlsoText()]
"""One text, or a list of texts."""


class LimitsShape(Shape):
    """What an agent may use."""

    later = frozenset({"idle", "turns", "tokens", "cost_usd", "on_limit"})

    time: Duration = Field(0.0, description="wall time of the agent (default: 10m)")
    workspace: Size = Field(
        0, description="bytes that the workspace may have when the agent has ended"
    )


def _number_as_text(value: object) -> object:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


class BuildShape(Shape):
    """An image to be built."""

    context: str = Field("", description="a directory, relative to this file")
    dockerfile: str = Field("", description="a file in the context (default: Dockerfile)")
    args: dict[str, str] = Field(default_factory=dict, description="build arguments")
    target: str = Field("", description="the stage to build")


class SandboxShape(Shape):
    """The walls that are asked for."""

    driver: str = Field("", description="auto, bubblewrap, docker or local")
    network: str = Field("", description="none, full, or auto: full for agents that declare a need")
    memory: Size = Field(0, description="such as 1g")
    cpus: Annotated[float, Field(gt=0, le=4096)] = Field(0.0, description="such as 1.5")
    pids: Annotated[int, Field(ge=1, le=1 << 22)] = Field(0, description="how many processes")
    env: dict[str, str] = Field(
        default_factory=dict,
        description="environment of agent and oracles; ${VAR} takes a value of yours",
    )
    python: str = Field("", description="the interpreter for agents and pytest oracles")
    read_only: list[str] = Field(
        default_factory=list, description="further absolute paths that are shown"
    )
    image: str = Field("", description="the image that containers are made of (docker)")
    build: Annotated[BuildShape, BeforeValidator(text_as("context")), AlsoText()] = Field(
        BuildShape(), description="or how it is built (docker)"
    )
    user: Annotated[str, BeforeValidator(_number_as_text)] = Field(
        "", description="who runs agent and oracles, a name or number (docker)"
    )
    workdir: str = Field("", description="where the workspace is (docker; default: /workspace)")
    mounts: dict[str, str] = Field(
        default_factory=dict,
        description="where host paths are shown, read-only: inside: outside (docker)",
    )
    pull: str = Field("", description="missing, never or always (docker)")
    platform: str = Field("", description="such as linux/amd64 (docker)")
    scoring: str = Field(
        "", description="fresh, or commit: with what the agent installed elsewhere (docker)"
    )
