"""``agentbench schema``: JSON Schemas for editors."""

from __future__ import annotations

import json

KINDS = ("task", "experiment")


def schema(kind: str) -> None:
    """Print the schema of task files or of experiment files."""
    from pytest_agentbench.taskfiles.schema import experiment_schema, task_schema

    found = task_schema() if kind == "task" else experiment_schema()
    print(json.dumps(found, indent=2, ensure_ascii=False))
