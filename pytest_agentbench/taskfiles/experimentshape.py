"""The shape of an experiment file, as pydantic models. Pure."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from pytest_agentbench.taskfiles.document import (
    MAX_REPEATS,
    BuildShape,
    LimitsShape,
    SandboxShape,
    Shape,
    Texts,
)


class PromptShape(Shape):
    """A template over the task's prompt: written here, or in a file."""

    template: str = ""
    file: str = ""


class ExpectShape(Shape):
    """What must be seen in the agent's transcript."""

    skills: Texts = Field(default_factory=list)
    tools: Texts = Field(default_factory=list)


class ToolsShape(Shape):
    """What the agent may use."""

    allow: Texts = Field(default_factory=list)
    deny: Texts = Field(default_factory=list)


class VariantShape(Shape):
    """One variant of an experiment file."""

    later = frozenset({"retries", "mcp_servers", "skills"})

    agent: str = ""
    extends: str = ""
    model: str = ""
    options: dict[str, object] = Field(default_factory=dict)
    env: dict[str, str] = Field(default_factory=dict)
    overlay: str = ""
    prompt: PromptShape = PromptShape()
    expect: ExpectShape = ExpectShape()
    tools: ToolsShape = ToolsShape()
    limits: LimitsShape = LimitsShape()
    sandbox: SandboxShape = SandboxShape()
    repeats: Annotated[int, Field(ge=1, le=MAX_REPEATS)] = 1
    reveal: str = ""


class DefaultsShape(Shape):
    """What an experiment sets for all its variants and tasks."""

    later = frozenset({"retries", "env", "model"})

    repeats: Annotated[int, Field(ge=1, le=MAX_REPEATS)] = 1
    reveal: str = ""
    limits: LimitsShape = LimitsShape()
    sandbox: SandboxShape = SandboxShape()


class SelectShape(Shape):
    """Which tasks a suite has."""

    marks: str = ""
    paths: Texts = Field(default_factory=list)
    ids: Texts = Field(default_factory=list)


class SuiteShape(Shape):
    """A named selection of tasks; what a gate holds is not looked at yet."""

    select: SelectShape = SelectShape()
    gate: dict[str, object] = Field(default_factory=dict)


class ExperimentShape(Shape):
    """An experiment file."""

    later = frozenset({"budget", "gate"})

    extends: str = ""
    variants: dict[str, VariantShape] = Field(default_factory=dict)
    defaults: DefaultsShape = DefaultsShape()
    baseline: str = ""
    suites: dict[str, SuiteShape] = Field(default_factory=dict)
    slots: dict[str, Annotated[int, Field(ge=1, le=1000)]] = Field(default_factory=dict)


EXPERIMENT_PLACES: dict[tuple[str, ...], type[Shape]] = {
    (): ExperimentShape,
    ("defaults",): DefaultsShape,
    ("defaults", "limits"): LimitsShape,
    ("defaults", "sandbox"): SandboxShape,
    ("defaults", "sandbox", "build"): BuildShape,
    ("variants", "*"): VariantShape,
    ("variants", "*", "prompt"): PromptShape,
    ("variants", "*", "expect"): ExpectShape,
    ("variants", "*", "tools"): ToolsShape,
    ("variants", "*", "limits"): LimitsShape,
    ("variants", "*", "sandbox"): SandboxShape,
    ("variants", "*", "sandbox", "build"): BuildShape,
    ("suites", "*"): SuiteShape,
    ("suites", "*", "select"): SelectShape,
}
