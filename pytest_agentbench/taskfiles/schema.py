"""JSON Schemas of task and experiment files for editors, generated from the shapes. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from pydantic.json_schema import GenerateJsonSchema

from pytest_agentbench.registry import agent_names, oracle_class, oracle_kinds, sandbox_names
from pytest_agentbench.taskfiles.experimentshape import ExperimentShape
from pytest_agentbench.taskfiles.oracle_entries import CHECK_KINDS
from pytest_agentbench.taskfiles.taskshape import TaskShape

if TYPE_CHECKING:
    from pytest_agentbench.model.task import JsonValue
    from pytest_agentbench.taskfiles.document import Shape

DIALECT = GenerateJsonSchema.schema_dialect
_JsonMapping = dict[str, "JsonValue"]
_NAMES_CLASS = r"^[\w.]+:[\w.]+$"


def task_schema() -> _JsonMapping:
    """The schema of task files. What one key alone cannot tell is left to ``validate``."""
    schema = _schema_of(TaskShape, "task file of pytest-agentbench")
    schema["required"] = ["oracles"]
    schema["oneOf"] = [{"required": ["prompt"]}, {"required": ["prompt_file"]}]
    definitions = cast("dict[str, _JsonMapping]", schema["$defs"])
    for name, kinds in (("OracleShape", oracle_kinds()), ("CheckShape", CHECK_KINDS)):
        entry = definitions[name]
        properties = cast("_JsonMapping", entry["properties"])
        properties.update({kind: {"description": _first_line(kind)} for kind in kinds})
        entry["oneOf"] = [{"required": [kind]} for kind in kinds]
    for name in ("AnswerShape", "ControlShape"):
        # How a bare text arrives: nobody writes it.
        cast("_JsonMapping", definitions[name]["properties"]).pop("path")
    definitions["ControlShape"]["required"] = ["fails"]
    cast("dict[str, _JsonMapping]", schema["properties"])["oracles"]["minItems"] = 1
    _name_drivers(definitions)
    return schema


def experiment_schema() -> _JsonMapping:
    """The schema of experiment files."""
    schema = _schema_of(ExperimentShape, "experiment file of pytest-agentbench")
    definitions = cast("dict[str, _JsonMapping]", schema["$defs"])
    properties = cast("dict[str, _JsonMapping]", definitions["VariantShape"]["properties"])
    properties["agent"]["examples"] = list(agent_names())
    _name_drivers(definitions)
    return schema


def _name_drivers(definitions: dict[str, _JsonMapping]) -> None:
    properties = cast("dict[str, _JsonMapping]", definitions["SandboxShape"]["properties"])
    names: list[JsonValue] = ["auto", *sandbox_names()]
    properties["driver"]["anyOf"] = [{"enum": names}, {"pattern": _NAMES_CLASS}]


def _first_line(kind: str) -> str:
    return (oracle_class(kind).__doc__ or kind).strip().splitlines()[0]


def _schema_of(shape: type[Shape], title: str) -> _JsonMapping:
    generated = cast("_JsonMapping", shape.model_json_schema(by_alias=True))
    cleaned = cast("_JsonMapping", _without_noise(generated))
    return {"$schema": DIALECT, "title": title, **cleaned}


def _without_noise(value: JsonValue) -> JsonValue:
    """Drop titles, which repeat the keys, and defaults, which stand for absent keys here."""
    if isinstance(value, list):
        return [_without_noise(item) for item in value]
    if not isinstance(value, dict):
        return value
    # A property may be called like a keyword.
    noise = {"title", "default"}
    return {
        key: (
            {name: _without_noise(item) for name, item in below.items()}
            if key in ("properties", "$defs") and isinstance(below, dict)
            else _without_noise(below)
        )
        for key, below in value.items()
        if key not in noise
    }
