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
PULLS = ("missing", "never", "always")
SCORINGS = ("fresh", "commit")
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
        self._container()

    def _container(self) -> None:
        """What is for containers alone."""
        shape, layer = self._shape, self._layer
        self._choice("pull", shape.pull, PULLS, "pull")
        self._choice("scoring", shape.scoring, SCORINGS, "scoring")
        for field in ("image", "user", "platform"):
            if shape.has(field):
                text = getattr(shape, field)
                if not text.strip() or text != text.strip() or "\0" in text:
                    self._reporter.report((*self._at, field), f"{text!r} is no {field}")
                layer[f"sandbox.{field}"] = text
        if shape.has("workdir"):
            self._inside((*self._at, "workdir"), shape.workdir)
            layer["sandbox.workdir"] = os.path.normpath(shape.workdir)
        if shape.has("mounts"):
            self._mounts(shape.mounts)
        if shape.has("build"):
            self._build(shape)

    def _mounts(self, mounts: dict[str, str]) -> None:
        found: dict[str, JsonValue] = {}
        for inside, outside in mounts.items():
            at = (*self._at, "mounts", inside)
            self._inside(at, inside, key=True)
            if not outside.strip() or "\0" in outside:
                self._reporter.report(at, f"{outside!r} is no path")
            source = os.path.expanduser(outside)  # noqa: PTH111 - as read_only
            found[os.path.normpath(inside)] = os.path.normpath(self._base / source)
        self._layer["sandbox.mounts"] = found

    def _inside(self, at: DataPath, text: str, *, key: bool = False) -> None:
        if not text.startswith("/") or "\0" in text or os.path.normpath(text).strip("/") == "":
            self._reporter.report(at, f"{text!r} must be an absolute path below /", key=key)

    def _build(self, shape: SandboxShape) -> None:
        build, at = shape.build, (*self._at, "build")
        if shape.has("image"):
            self._reporter.report(at, "an image is built or named, not both", key=True)
        context = Path(os.path.normpath(self._base / build.context))
        if not build.context.strip() or not context.is_dir():
            self._reporter.report((*at, "context"), f"{build.context!r} is no directory")
        dockerfile = build.dockerfile or "Dockerfile"
        if context.is_dir() and not (context / dockerfile).is_file():
            self._reporter.report((*at, "context"), f"there is no {dockerfile} in it")
        if Path(os.path.normpath(self._base)).is_relative_to(context):
            self._reporter.report(
                (*at, "context"),
                "the context holds this file: whatever is in a context may get into the image",
                advice="a directory of its own, beside the task's files",
            )
        self._layer["sandbox.build"] = {
            "context": str(context),
            "dockerfile": dockerfile,
            "args": dict(build.args),
            "target": build.target or None,
        }

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
