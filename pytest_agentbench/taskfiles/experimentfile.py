"""One experiment file, and those that it extends: what each of them says by itself."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_agentbench.taskfiles.complaints import validate
from pytest_agentbench.taskfiles.experimentpaths import (
    ExperimentPaths,
    is_bare_name,
    named_file,
)
from pytest_agentbench.taskfiles.experimentshape import EXPERIMENT_PLACES, ExperimentShape
from pytest_agentbench.taskfiles.experimentsuites import CheckMarks, read_suites
from pytest_agentbench.taskfiles.experimentvariants import CheckTemplate, VariantReader
from pytest_agentbench.taskfiles.layer import layer_of
from pytest_agentbench.taskfiles.locate import shown_path
from pytest_agentbench.taskfiles.paths import PathFault
from pytest_agentbench.taskfiles.selection import slots_of
from pytest_agentbench.taskfiles.yamlnodes import Document, read

if TYPE_CHECKING:
    from pytest_agentbench.model.task import SettingsLayer
    from pytest_agentbench.model.variant import Suite
    from pytest_agentbench.taskfiles.variants import Link


@dataclass(frozen=True, slots=True)
class FileChecks:
    """What somebody else knows about the values of a file; None: not checked."""

    template: CheckTemplate | None = None
    marks: CheckMarks | None = None


@dataclass(frozen=True, slots=True)
class ExperimentFile:
    """What one file says. ``names_variants``: whether it has the key, be it with nothing in it."""

    path: Path
    document: Document
    shape: ExperimentShape = field(default_factory=ExperimentShape)
    defaults: SettingsLayer = field(default_factory=dict)
    variants: Mapping[str, Link] = field(default_factory=dict)
    suites: Mapping[str, Suite] = field(default_factory=dict)
    slots: Mapping[str, int] = field(default_factory=dict)

    @property
    def names_variants(self) -> bool:
        """Whether the file has ``variants``."""
        return isinstance(self.document.data, dict) and "variants" in self.document.data


def read_files(path: Path, rootdir: Path, checks: FileChecks) -> list[ExperimentFile]:
    """The file and those that it extends, itself first; what is wrong is in their documents."""
    files = [_read(path, 0, checks)]
    while files[-1].shape.has("extends"):
        last = files[-1]
        base = _base(last, rootdir)
        if base is None:
            break
        if any(_same(base, file.path) for file in files):
            names = [shown_path(file.path, rootdir) for file in files]
            circle = " -> ".join([*names, shown_path(base, rootdir)])
            last.document.report(("extends",), f"'extends' goes round in a circle: {circle}")
            break
        files.append(_read(base, len(files), checks))
    return files


def _same(one: Path, other: Path) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)


def _base(file: ExperimentFile, rootdir: Path) -> Path | None:
    """The file that one extends; reported and None where there is none."""
    text, at = file.shape.extends, ("extends",)
    if text.strip() and is_bare_name(text):
        found = named_file(rootdir, text)
        if isinstance(found, str):
            file.document.report(at, found)
            return None
        return found
    try:
        return ExperimentPaths(file.path).find(text, "file")
    except PathFault as fault:
        file.document.report(at, f"the experiment file {text!r} {fault}")
        return None


def _read(path: Path, level: int, checks: FileChecks) -> ExperimentFile:
    document = read(path, what="experiment file")
    nothing = ExperimentFile(path, document)
    if not isinstance(document.data, dict):
        return nothing
    shape = validate(ExperimentShape, document.data, EXPERIMENT_PLACES, document)
    if shape is None:
        return nothing
    if document.data.get("variants") == {}:
        document.report(("variants",), "'variants' names no variant", key=True)
    reader = VariantReader(document, level, checks.template)
    return ExperimentFile(
        path,
        document,
        shape,
        defaults=layer_of(shape.defaults, base=path.parent, reporter=document, at=("defaults",)),
        variants={name: reader.link(name, variant) for name, variant in shape.variants.items()},
        suites=read_suites(shape.suites, document, checks.marks),
        slots=slots_of(shape, document),
    )
