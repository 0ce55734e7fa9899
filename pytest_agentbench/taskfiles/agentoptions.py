"""What an agent says of options that a file or the command line gives it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from pydantic import ValidationError

from pytest_agentbench.errors import UsageError
from pytest_agentbench.model.task import JsonValue
from pytest_agentbench.registry import agent_class, is_foreign, last_line
from pytest_agentbench.taskfiles.complaints import unknown
from pytest_agentbench.taskfiles.yamlnodes import DataPath, kind_of

ValidateOptions: TypeAlias = Callable[
    [str, Mapping[str, JsonValue]], "list[tuple[tuple[str | int, ...], str]]"
]


def validate_by_registry(
    agent: str, options: Mapping[str, JsonValue]
) -> list[tuple[DataPath, str]]:
    """What the agent's own options model says is wrong: the place within, and a message."""
    try:
        model = agent_class(agent).Options
    except UsageError as error:
        return [((), error.what)]
    try:
        model.model_validate(dict(options))
    except ValidationError as error:
        known = [field.alias or name for name, field in model.model_fields.items()]
        return [
            (
                detail["loc"],
                _option_message(
                    detail["type"], detail["loc"], detail["msg"], detail["input"], known
                ),
            )
            for detail in error.errors(include_url=False)
        ]
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        if not is_foreign(model):
            raise
        # A validator of a third party's: it would end the session.
        return [((), f"{model.__name__} raised {last_line(error)}")]
    return []


def _option_message(kind: str, at: DataPath, text: str, given: object, known: list[str]) -> str:
    if kind == "extra_forbidden":
        if len(at) == 1:
            return (
                unknown(str(at[0]), known, what="option") if known else f"unknown option {at[0]!r}"
            )
        return f"unknown key {at[-1]!r}"
    if kind == "missing":
        return f"needs {at[-1]!r}"
    text = text.removeprefix("Value error, ").removeprefix("Assertion failed, ")
    text = text.replace("Input should be", "must be")
    if not at:  # of the options together
        return text
    name = ".".join(str(step) for step in at)
    suffix = f", not {kind_of(given)}" if kind.endswith("_type") else ""
    return f"{name!r} {text}{suffix}" if text.startswith("must") else f"{name!r}: {text}"
