"""Who reports problems: the document, or a scope that knows which row was filled in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from pytest_agentbench.taskfiles.placeholders import has_placeholder

if TYPE_CHECKING:
    from pytest_agentbench.model.task import JsonValue
    from pytest_agentbench.taskfiles.yamlnodes import DataPath, Document


class Reporter(Protocol):
    """Takes problems at places of a file's data."""

    def report(self, at: DataPath, message: str, *, advice: str = "", key: bool = False) -> None:
        """Note a problem at the place of a value (or of its key)."""


class RowScope:
    """Reports for one row: names the row where what is wrong depends on it."""

    def __init__(self, document: Document, label: str) -> None:
        self._document = document
        self._label = label

    def report(self, at: DataPath, message: str, *, advice: str = "", key: bool = False) -> None:
        """Note a problem; the same one in every row is one problem."""
        if has_placeholder([_nearest(self._document.data, at), *at]):
            message = f"{self._label}: {message}"
        self._document.report(at, message, advice=advice, key=key)


class TemplateScope:
    """Reports while there is no row to fill in: keeps quiet about what depends on one."""

    def __init__(self, document: Document) -> None:
        self._document = document

    def report(self, at: DataPath, message: str, *, advice: str = "", key: bool = False) -> None:
        """Note a problem, unless it may be the placeholder's."""
        if not has_placeholder(_nearest(self._document.data, at)):
            self._document.report(at, message, advice=advice, key=key)


def _nearest(data: JsonValue, at: DataPath) -> JsonValue:
    """The value at a place, or the nearest thing around it."""
    for step in at:
        if isinstance(data, dict) and step in data:
            data = data[str(step)]
        elif isinstance(data, list) and isinstance(step, int) and step < len(data):
            data = data[step]
        else:
            break
    return data
