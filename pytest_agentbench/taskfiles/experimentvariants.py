"""What one file says of its variants, before they are laid over what they extend."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from pytest_agentbench.errors import Problem
from pytest_agentbench.taskfiles.experimentpaths import ExperimentPaths
from pytest_agentbench.taskfiles.layer import layer_of
from pytest_agentbench.taskfiles.names import variable_fault, variant_fault
from pytest_agentbench.taskfiles.paths import PathFault, is_below
from pytest_agentbench.taskfiles.variants import Link
from pytest_agentbench.taskfiles.yamlnodes import value_at

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_agentbench.taskfiles.experimentshape import VariantShape
    from pytest_agentbench.taskfiles.paths import Wanted
    from pytest_agentbench.taskfiles.yamlnodes import DataPath, Document

CheckTemplate: TypeAlias = Callable[[str], "tuple[int, str] | None"]
"""What is wrong with a prompt template: a line of it, from 1, and what; or None."""

_LITERAL = re.compile(r"\|[-+]?\s*(?:#.*)?$")


class VariantReader:
    """Reads the variants of one file, and reports what is wrong with each by itself."""

    def __init__(
        self, document: Document, level: int, check_template: CheckTemplate | None
    ) -> None:
        self._document = document
        self._level = level
        self._check_template = check_template
        self._paths = ExperimentPaths(document.path)

    def link(self, name: str, shape: VariantShape) -> Link:
        """One variant as the file gives it."""
        at = ("variants", name)
        self._check_names(name, shape)
        self._check_tools(name, shape)
        base = self._document.path.parent
        return Link(
            name,
            shape,
            self._document,
            self._level,
            layer=layer_of(shape, base=base, reporter=self._document, at=at),
            overlay=self._overlay(name, shape) if shape.has("overlay") else None,
            template=self._template(name, shape) if shape.has("prompt") else None,
        )

    def _check_names(self, name: str, shape: VariantShape) -> None:
        fault = variant_fault(name)
        if fault is not None:
            self._report((name,), f"the variant name {name!r} {fault}", key=True)
        for key, value in shape.env.items():
            fault = variable_fault(key, value)
            if fault is not None:
                self._report((name, "env", key), f"{key!r} {fault}", key=True)
        if shape.has("model") and not shape.model.strip():
            self._report((name, "model"), "'model' is empty")

    def _check_tools(self, name: str, shape: VariantShape) -> None:
        lists = (
            ("expect", "skills", shape.expect.skills),
            ("expect", "tools", shape.expect.tools),
            ("tools", "allow", shape.tools.allow),
            ("tools", "deny", shape.tools.deny),
        )
        for key, part, names in lists:
            for index, tool in enumerate(names):
                kind = "skill" if part == "skills" else "tool"
                fault = None
                if not tool.strip():
                    fault = "is empty"
                elif tool in names[:index]:
                    fault = "is there twice"
                elif part == "deny" and tool in shape.tools.allow:
                    fault = "is both allowed and denied"
                if fault is not None:
                    self._report((name, key, part, index), f"the {kind} {tool!r} {fault}")

    def _overlay(self, name: str, shape: VariantShape) -> Path | None:
        at = (name, "overlay")
        path = self._path(shape.overlay, at, "the overlay", "directory")
        if path is not None and is_below(str(self._document.path), str(path)):
            self._report(at, f"the overlay {shape.overlay!r} holds the experiment file itself")
            return None
        return path

    def _template(self, name: str, shape: VariantShape) -> str | None:
        at, prompt = (name, "prompt"), shape.prompt
        if prompt.has("template") == prompt.has("file"):
            raw = value_at(self._document.data, ("variants", *at))
            # What is neither has been told: an unknown key, or a value of the wrong type.
            if isinstance(raw, dict) and len(raw) != 1:
                self._report(at, "a prompt has one of: file, template", key=True)
            return None
        if prompt.has("template"):
            fault = self._fault(prompt.template)
            if fault is not None:
                self._report_within((*at, "template"), prompt.template, *fault)
            return prompt.template
        path = self._path(prompt.file, (*at, "file"), "the prompt file", "file")
        return None if path is None else self._read(path, (*at, "file"), prompt.file)

    def _read(self, path: Path, at: DataPath, named: str) -> str | None:
        try:
            text = path.read_bytes().decode("utf-8-sig")
        except (OSError, UnicodeDecodeError):
            self._report(at, f"the prompt file {named!r} cannot be read as UTF-8 text")
            return None
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        fault = self._fault(text)
        if fault is not None:
            number, message = fault
            lines = text.split("\n")
            excerpt = lines[number - 1] if number <= len(lines) else ""
            column = len(excerpt) - len(excerpt.lstrip()) + 1
            self._document.problems.append(Problem(path, number, column, message, excerpt))
        return text

    def _fault(self, text: str) -> tuple[int, str] | None:
        if not text.strip():
            return 1, "the prompt template is empty"
        if "\0" in text:
            return text[: text.index("\0")].count("\n") + 1, "holds a NUL character"
        return None if self._check_template is None else self._check_template(text)

    def _report_within(self, at: DataPath, text: str, number: int, message: str) -> None:
        """Report at a line of a text; only in a literal block are its lines those of the file."""
        place = ("variants", *at)
        line, column = self._document.place(place)
        if "\n" not in text.rstrip("\n"):
            self._document.report(place, message)
        elif _LITERAL.match(self._document.line(line)[column - 1 :]):
            source = self._document.line(line + number)
            self._document.report_place(
                line + number, len(source) - len(source.lstrip()) + 1, message
            )
        else:
            self._document.report(place, f"{message} (line {number} of the template)")

    def _path(self, text: str, at: DataPath, what: str, wanted: Wanted) -> Path | None:
        try:
            return self._paths.find(text, wanted)
        except PathFault as fault:
            self._report(at, f"{what} {text!r} {fault}")
            return None

    def _report(self, at: DataPath, message: str, *, key: bool = False) -> None:
        self._document.report(("variants", *at), message, key=key)
