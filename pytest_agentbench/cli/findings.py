"""What ``agentbench doctor`` finds out about this machine, a finding a row."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from pydantic import JsonValue

from pytest_agentbench.errors import AgentbenchError
from pytest_agentbench.model.contracts import Capabilities, SandboxDriver
from pytest_agentbench.sandboxes import cgroups
from pytest_agentbench.sandboxes.runtime import Runtime

CREDENTIALS = (
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "AWS_BEARER_TOKEN_BEDROCK",
    "AWS_SECRET_ACCESS_KEY",
    "AZURE_OPENAI_API_KEY",
    "CEREBRAS_API_KEY",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CODEX_API_KEY",
    "COHERE_API_KEY",
    "COPILOT_GITHUB_TOKEN",
    "CURSOR_API_KEY",
    "DASHSCOPE_API_KEY",
    "DEEPSEEK_API_KEY",
    "FIREWORKS_API_KEY",
    "GEMINI_API_KEY",
    "GH_TOKEN",
    "GITHUB_TOKEN",
    "GOOGLE_API_KEY",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "GROQ_API_KEY",
    "HF_TOKEN",
    "MISTRAL_API_KEY",
    "MOONSHOT_API_KEY",
    "OPENAI_API_KEY",
    "OPENROUTER_API_KEY",
    "REPLICATE_API_TOKEN",
    "TOGETHER_API_KEY",
    "XAI_API_KEY",
)
"""Variables by which agents and providers take credentials. Their names are told, no value."""

_PACKAGES = ("pytest", "pytest-xdist", "docker")
_GB = 10**9
_TIGHT_BYTES = _GB
"""Less free space than this is told as too little: a trial copies its workspace twice."""
_PATIENCE_S = 10.0
_LIMITS = {"limits_memory": "memory", "limits_cpus": "cpus", "limits_pids": "pids"}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing about this machine. ``works`` is None where it is neither good nor bad.

    ``notes`` say what is missing and why; ``facts`` are what ``summary`` says, for machines.
    """

    name: str
    works: bool | None
    summary: str
    notes: tuple[str, ...] = ()
    facts: Mapping[str, JsonValue] = field(default_factory=dict)


def python(runtime: Runtime | None) -> Finding:
    """The Python that runs pytest, and the one that sandboxes get."""
    versions: dict[str, JsonValue] = {
        "python": platform.python_version(),
        **{name: _version(name) for name in _PACKAGES},
    }
    told = ", ".join(f"{name} {number}" for name, number in list(versions.items())[1:] if number)
    summary = f"{platform.python_version()}, with {told}"
    facts: dict[str, JsonValue] = {"versions": versions, "executable": sys.executable}
    if runtime is None:
        return Finding("python", works=True, summary=summary, facts=facts)
    try:
        inside = runtime.interpreter()
    except (AgentbenchError, OSError) as fault:
        return Finding("python", works=False, summary=f"none for sandboxes: {fault}", facts=facts)
    facts["inside"] = str(inside.executable)
    return Finding("python", works=True, summary=summary, facts=facts)


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def sandbox(
    name: str, driver: SandboxDriver, *, about: str = "", facts: Mapping[str, JsonValue]
) -> Finding:
    """What a driver says when it is tried. ``about`` is what is known of its machinery."""
    try:
        able = driver.probe()
    except AgentbenchError as fault:
        return broken(name, fault, about, facts)
    names: list[JsonValue] = [*able.names()]
    known = {**facts, "isolates": able.isolated, "capabilities": names}
    # That what isolates nothing has no walls is said already.
    told = {key: why for key, why in able.notes.items() if able.isolated or key in _LIMITS}
    notes = tuple(f"{key.replace('_', ' ')}: {why}" for key, why in told.items())
    said = "; ".join(filter(None, [about, *_abilities(able)]))
    return Finding(name, True if able.isolated else None, said, notes, known)


def broken(
    name: str, fault: AgentbenchError, about: str = "", facts: Mapping[str, JsonValue] | None = None
) -> Finding:
    """A driver that cannot be used, and why."""
    known = {**(facts or {}), "isolates": False, "capabilities": list[JsonValue]()}
    why = fault.what if not about else f"{about}: {fault.what}"
    notes = (f"try: {fault.advice}",) if fault.advice else ()
    return Finding(name, works=False, summary=why, notes=notes, facts=known)


def _abilities(able: Capabilities) -> list[str]:
    limits = [word for key, word in _LIMITS.items() if getattr(able, key)]
    return [
        "isolates" if able.isolated else "isolates nothing, for agents that may be trusted",
        f"limits {', '.join(limits) or 'nothing'}",
        *(["controls the network"] if able.controls_network else []),
    ]


def bubblewrap_version() -> str:
    """What bwrap says of itself; empty where there is none that answers."""
    try:
        done = subprocess.run(
            ["bwrap", "--version"],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=_PATIENCE_S,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip().removeprefix("bubblewrap ")


def control_groups() -> Finding:
    """Which limits this process can really set by control groups."""
    support = cgroups.probe()
    mounted = _hierarchies()
    usable = {name: version for name, (_, version) in sorted(support.parents.items())}
    if not mounted:
        said = "none is mounted"
    else:
        said = f"version {' and '.join(map(str, mounted))} mounted; writable: "
        said += ", ".join(f"{name} (version {one})" for name, one in usable.items()) or "none"
    return Finding(
        "cgroups",
        works=bool(usable),
        summary=said,
        notes=tuple(f"{key.replace('_', ' ')}: {why}" for key, why in support.notes.items()),
        facts={"mounted": list[JsonValue](mounted), "usable": dict[str, JsonValue](usable)},
    )


def _hierarchies() -> list[int]:
    """The versions of the control groups that are mounted."""
    try:
        lines = Path("/proc/self/mountinfo").read_text(errors="replace").splitlines()
    except OSError:
        return []
    kinds = {line.partition(" - ")[2].partition(" ")[0] for line in lines}
    return [number for kind, number in (("cgroup", 1), ("cgroup2", 2)) if kind in kinds]


def disk(data_root: Path | None) -> Finding:
    """Free space where sandboxes are made, and where the engine keeps its data, if it is here."""
    try:
        places = [("sandboxes", Path(tempfile.gettempdir()))]
    except FileNotFoundError as fault:  # no directory that can be written to
        return Finding("disk", works=False, summary=fault.strerror or str(fault))
    if data_root is not None:
        places.append(("docker", data_root))
    facts: dict[str, JsonValue] = {}
    said = []
    works = True
    for name, place in places:
        free = shutil.disk_usage(place).free
        works = works and free >= _TIGHT_BYTES
        said.append(f"{free / _GB:.1f} GB free in {place} ({name})")
        facts[name] = {"path": str(place), "free_bytes": free}
    notes = () if works else ("less than 1 GB: trials may end for want of space",)
    return Finding("disk", works, ", ".join(said), notes, facts)


def credentials() -> Finding:
    """Which well-known variables for credentials are set: their names, never a value."""
    here = [name for name in CREDENTIALS if os.environ.get(name)]
    empty = [name for name in CREDENTIALS if os.environ.get(name) == ""]
    said = ", ".join(here) or "none of the well-known variables is set"
    notes = (f"set, but empty: {', '.join(empty)}",) if empty else ()
    facts: dict[str, JsonValue] = {
        "present": list[JsonValue](here),
        "empty": list[JsonValue](empty),
    }
    return Finding("credentials", None, said, notes, facts)
