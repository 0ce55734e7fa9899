"""What a file sets of repeats, limits and sandbox, as one layer of settings."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_agentbench.errors import UnknownComponent, UsageError
from pytest_agentbench.registry import check_name, sandbox_names
from pytest_agentbench.taskfiles.complaints import unknown
from pytest_agentbench.taskfiles.names import variable_fault

if TYPE_CHECKING:
    from pytest_agentbench.model.task import JsonValue, SettingsLayer
    from pytest_agentbench.taskfiles.document import SandboxShape
    from pytest_agentbench.taskfiles.experimentshape import DefaultsShape, VariantShape
    from pytest_agentbench.taskfiles.rowscope import Reporter
    from pytest_agentbench.taskfiles.taskshape import TaskShape
    from pytest_agentbench.taskfiles.yamlnodes import DataPath

NETWORKS = ("auto", "full", "none")
REVEALS = ("verdict", "reasons", "full")


def layer_of(
    shape: TaskShape | VariantShape | DefaultsShape,
    *,
    base: Path,
    reporter: Reporter,
    at: DataPath = (),
) -> SettingsLayer:
    """The settings that a shape gives, by dotted path. ``base`` is the file's directory."""
    layer: dict[str, JsonValue] = {}
    if shape.has("repeats"):
        layer["repeats"] = shape.repeats
    if shape.limits.has("time"):
        layer["limits.time"] = shape.limits.time
    if shape.limits.has("workspace"):
        layer["limits.workspace"] = shape.limits.workspace
    if shape.has("reveal"):
        if shape.reveal not in REVEALS:
            reporter.report((*at, "reveal"), unknown(shape.reveal, REVEALS, what="reveal"))
        layer["reveal"] = shape.reveal
    if shape.has("sandbox"):
        _Sandbox(shape.sandbox, base, reporter, (*at, "sandbox"), layer).read()
    return layer


class _Sandbox:
    """Reads one ``sandbox`` mapping into a layer."""

    def __init__(
        self,
        shape: SandboxShape,
        base: Path,
        reporter: Reporter,
        at: DataPath,
        layer: dict[str, JsonValue],
    ) -> None:
        self._shape = shape
        self._base = base
        self._reporter = reporter
        self._at = at
        self._layer = layer

    def read(self) -> None:
        shape, layer = self._shape, self._layer
        self._driver(shape.driver)
        self._choice("network", shape.network, NETWORKS, "network")
        if shape.has("memory"):
            layer["sandbox.memory"] = shape.memory
        if shape.has("cpus"):
            layer["sandbox.cpus"] = shape.cpus
        if shape.has("pids"):
            layer["sandbox.pids"] = shape.pids
        for name, value in shape.env.items():
            fault = variable_fault(name, value)
            if fault is not None:
                self._reporter.report((*self._at, "env", name), f"{name!r} {fault}", key=True)
            layer[f"sandbox.env.{name}"] = value
        if shape.has("python"):
            self._python(shape.python)
        if shape.has("read_only"):
            # A tool below a home directory lies elsewhere for each user.
            roots = [os.path.expanduser(text) for text in shape.read_only]  # noqa: PTH111
            for index, text in enumerate(roots):
                self._root(index, text)
            layer["sandbox.read_only"] = [os.path.normpath(text) for text in roots]

    def _driver(self, name: str) -> None:
        if not self._shape.has("driver"):
            return
        at = (*self._at, "driver")
        try:
            if name != "auto":
                check_name("sandbox", name)
        except UnknownComponent:
            known = ("auto", *sandbox_names())
            self._reporter.report(at, unknown(name, known, what="sandbox"))
        except UsageError as error:
            self._reporter.report(at, error.what, advice=error.advice)
        self._layer["sandbox.driver"] = name

    def _choice(self, field: str, value: str, known: tuple[str, ...], what: str) -> None:
        if not self._shape.has(field):
            return
        if value not in known:
            self._reporter.report((*self._at, field), unknown(value, known, what=what))
        self._layer[f"sandbox.{field}"] = value

    def _python(self, text: str) -> None:
        if not text.strip() or "\0" in text or text.startswith("~"):
            self._reporter.report((*self._at, "python"), f"{text!r} is no path of an interpreter")
            return
        # Not resolved: an environment's python is a symlink that must be called as it is.
        self._layer["sandbox.python"] = os.path.normpath(self._base / text)

    def _root(self, index: int, text: str) -> None:
        at = (*self._at, "read_only", index)
        if not text.startswith("/") or "\0" in text:
            self._reporter.report(at, f"{text!r} must be an absolute path")
        elif os.path.normpath(text).strip("/") == "":
            self._reporter.report(at, f"{text!r} would show the whole machine to the agent")
