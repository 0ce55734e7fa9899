"""``agentbench schema``: JSON Schemas for editors."""

from __future__ import annotations

import json

KINDS = ("task", "experiment")


def schema(kind: str) -> None:
    """Print the schema of task files or of experiment files, with the project's own names.

    Raises ``UsageError`` where the working directory's pytest configuration is broken.
    """
    from pytest_agentbench.cli.projects import read_project
    from pytest_agentbench.taskfiles.schema import experiment_schema, task_schema

    with read_project().known():
        found = task_schema() if kind == "task" else experiment_schema()
    print(json.dumps(found, indent=2, ensure_ascii=False))
