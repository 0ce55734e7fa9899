"""The shape of a task file, as pydantic models. Pure.

Everything is optional here: what must be there depends on other keys, and is
said by the loader.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, ConfigDict, Field, WithJsonSchema

from pytest_agentbench.model.task import Reveal
from pytest_agentbench.taskfiles.document import (
    MAX_REPEATS,
    AlsoNames,
    AlsoText,
    BuildShape,
    Duration,
    FilesShape,
    LimitsShape,
    SandboxShape,
    Shape,
    Texts,
    names_alone,
    text_as,
)


def _command(value: object) -> object:
    """A shell string, or an argv as a tuple."""
    if isinstance(value, str):
        if not value.strip():
            raise ValueError("the command is empty")
        words: tuple[object, ...] = (value,)
    elif isinstance(value, list) and value and value[0] != "":
        words = tuple(value)
    else:
        raise ValueError("must be a command: text for the shell, or a list of texts")
    for word in words:
        if not isinstance(word, str):
            raise ValueError(f"must be a list of texts; {word!r} is none")  # noqa: TRY004
        if "\0" in word:
            raise ValueError("must not hold a NUL character")
    return value if isinstance(value, str) else words


CommandText = Annotated[
    object,
    BeforeValidator(_command),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string"},
                {"type": "array", "items": {"type": "string"}, "minItems": 1},
            ]
        }
    ),
]
"""A command: a string, or a tuple of strings."""


class GitShape(Shape):
    """A commit to start from."""

    url: str = Field("", description="a repository: a path, relative to this file, or a URL")
    ref: str = Field("", description="branch, tag or commit; pinned once a session (default: HEAD)")


class WorkspaceShape(FilesShape):
    """What the agent starts from."""

    git: Annotated[GitShape, BeforeValidator(text_as("url")), AlsoText()] = Field(
        GitShape(), description="start from a commit, without its history"
    )
    patch: str = Field("", description="a unified diff that is applied to the files")
    setup: list[CommandText] = Field(
        default_factory=list,
        description="commands that are run once per template, in a sandbox with network",
    )
    protect: Texts = Field(
        default_factory=list,
        description="patterns of files that scoring sees as the template has them",
    )


class AnswerShape(Shape):
    """What somebody would leave in the workspace; ``path`` is how a bare string arrives."""

    path: str = ""
    patch: str = Field("", description="a unified diff")
    directory: str = Field(
        "", alias="copy", description="a directory that is laid over the workspace"
    )
    files: dict[str, str] = Field(
        default_factory=dict, description="names and texts that are laid over the workspace"
    )
    run: str = Field(
        "", description="the path of a script, run with the workspace as working directory"
    )
    final: str = Field("", description="the final message (default: what the script prints)")


class ControlShape(AnswerShape):
    """A known wrong answer."""

    name: str = Field("", description="its name (default: control-1, …)")
    fails: str = Field("", description="the oracle or check that must refuse it")


class CheckShape(Shape):
    """What oracles and checks have in common; the kind key and its options are extra."""

    model_config = ConfigDict(frozen=True, extra="allow", strict=True)

    name: str = Field("", description="unique in its task (default: the kind)")
    advisory: bool = Field(default=False, description="recorded, without effect on the verdict")
    needs: Texts = Field(
        default_factory=list, description="names of those before it without which it is not run"
    )
    timeout: Duration = Field(300.0, description="wall time (default: 5m)")
    network: Literal["none", "full"] = Field(
        "none", description="whether it may reach a network (default: none)"
    )
    reveal: Reveal = Field("reasons", description="what of its report leaves the run directory")


class OracleShape(CheckShape):
    """An oracle."""

    weight: Annotated[float, Field(gt=0, le=1e9)] = Field(
        1.0, description="its part of the score (default: 1)"
    )
    required: bool = Field(
        default=True,
        description="without it the trial cannot pass (default: true; with a threshold: false)",
    )
    pass_at: Annotated[float, Field(gt=0, le=1)] = Field(
        1.0, description="the score from which it has passed (default: as the kind says)"
    )
    assets: Annotated[FilesShape, BeforeValidator(text_as("copy")), AlsoText()] = Field(
        FilesShape(), description="files staged read-only for this oracle alone"
    )


class DatasetShape(Shape):
    """Where rows come from."""

    path: str = Field("", description="the file with the rows")
    package: str = Field("", description="an installed distribution that has the file")
    id: str = Field("", description="the field that gives the id")
    sample: Annotated[int, Field(ge=1)] = Field(
        0, description="so many rows, the same ones for one seed"
    )
    per_stratum: Annotated[int, Field(ge=1)] = Field(
        0, description="so many rows of each value of the stratum"
    )
    stratum: str = Field("", description="the field that tells the strata")
    seed: int = Field(0, description="what sample and per_stratum draw by")


class UnlessShape(Shape):
    """The conditions without which a task is skipped."""

    platform: Texts = Field(default_factory=list, description="as sys.platform: linux")
    arch: Texts = Field(default_factory=list, description="as platform.machine(): x86_64")
    command: Texts = Field(default_factory=list, description="programs that are found")
    env: Texts = Field(default_factory=list, description="variables that are set")


class SkipShape(Shape):
    """When a task is not run."""

    reason: str = Field("", description="why")
    unless: UnlessShape = Field(UnlessShape(), description="skip, unless all of this holds")


class XfailShape(Shape):
    """That a task is expected not to pass."""

    reason: str = Field("", description="why")
    variants: Texts = Field(default_factory=list, description="patterns of variants (default: all)")
    strict: bool = Field(default=False, description="a pass is then a failure")


class TaskShape(Shape):
    """A task file."""

    later = frozenset({"steps"})

    id: str = Field(
        "", description="the task's name in node ids and results (default: the file's stem)"
    )
    description: str = Field("", description="one line for people")
    tags: list[str] = Field(default_factory=list, description="become pytest marks")
    prompt: str = Field("", description="what the agent is told")
    prompt_file: str = Field("", description="the file that holds the prompt")
    workspace: Annotated[WorkspaceShape, BeforeValidator(text_as("copy")), AlsoText()] = Field(
        WorkspaceShape(), description="what the agent starts from"
    )
    limits: LimitsShape = Field(LimitsShape(), description="what the agent may use")
    sandbox: SandboxShape = Field(SandboxShape(), description="the walls")
    checks: list[CheckShape] = Field(
        default_factory=list, description="visible checks; the agent may run them too"
    )
    oracles: list[OracleShape] = Field(
        default_factory=list, description="hidden checks; at least one"
    )
    threshold: Annotated[float, Field(gt=0, le=1)] = Field(
        0.0, description="the weighted score that passes"
    )
    solution: Annotated[AnswerShape, BeforeValidator(text_as("path")), AlsoText()] = Field(
        AnswerShape(), description="what the reference agent does"
    )
    controls: list[ControlShape] = Field(
        default_factory=list, description="known wrong answers that the oracles must refuse"
    )
    repeats: Annotated[int, Field(ge=1, le=MAX_REPEATS)] = Field(
        1, description="trials of each variant"
    )
    reveal: Reveal = Field(
        "reasons",
        description="what of oracles' reports leaves the run directory (default: reasons)",
    )
    skip: Annotated[SkipShape, BeforeValidator(text_as("reason")), AlsoText()] = Field(
        SkipShape(), description="the task is not run: a reason, or conditions"
    )
    xfail: Annotated[XfailShape, BeforeValidator(text_as("reason")), AlsoText()] = Field(
        XfailShape(), description="the task is expected not to pass"
    )
    slots: dict[str, Annotated[int, Field(ge=1, le=1000)]] = Field(
        default_factory=dict, description="how many of each named resource one trial holds"
    )
    fixtures: Annotated[dict[str, str | None], BeforeValidator(names_alone), AlsoNames()] = Field(
        default_factory=dict,
        description="pytest fixtures that a trial needs; what they give becomes environment",
    )
    dataset: DatasetShape = Field(DatasetShape(), description="one task per row of a file")
    gate: dict[str, object] = Field(
        default_factory=dict,
        description="a condition on the dataset's pass rates; has no effect yet",
    )


TASK_PLACES: dict[tuple[str, ...], type[Shape]] = {
    (): TaskShape,
    ("workspace",): WorkspaceShape,
    ("workspace", "git"): GitShape,
    ("limits",): LimitsShape,
    ("sandbox",): SandboxShape,
    ("sandbox", "build"): BuildShape,
    ("checks", "*"): CheckShape,
    ("oracles", "*"): OracleShape,
    ("oracles", "*", "assets"): FilesShape,
    ("solution",): AnswerShape,
    ("controls", "*"): ControlShape,
    ("skip",): SkipShape,
    ("skip", "unless"): UnlessShape,
    ("xfail",): XfailShape,
    ("dataset",): DatasetShape,
}
