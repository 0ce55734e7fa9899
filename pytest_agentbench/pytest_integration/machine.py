"""The machine that skip conditions are held against, as the trials' sandboxes show it."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from pathlib import Path

from pytest_agentbench.matrix.select import Machine
from pytest_agentbench.model.task import SandboxSpec
from pytest_agentbench.sandboxes.base import SYSTEM_PATH
from pytest_agentbench.sandboxes.runtime import base_executable

_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_ALWAYS = frozenset({"python", "python3"})
"""What is on a sandbox's PATH whatever its interpreter is called."""


def this_machine(walls: SandboxSpec) -> Machine:
    """This machine, with the commands that a sandbox with those walls has on its PATH.

    A command that lies in the user's own directories is not there, nor is one that
    only links to them.
    """
    return Machine(
        platform=sys.platform,
        architecture=platform.machine(),
        has_command=lambda name: _finds(name, walls),
        variables=os.environ,
    )


def _finds(name: str, walls: SandboxSpec) -> bool:
    own = _own_path(walls)
    if own is None and name in _ALWAYS:
        return True
    found = shutil.which(name, path=_search_path(walls) if own is None else own)
    if found is None:
        return False
    real = Path(found).resolve()
    return walls.driver == "local" or any(real.is_relative_to(root) for root in _shown(walls))


def _own_path(walls: SandboxSpec) -> str | None:
    """A PATH that the task sets itself, where it is known before the trial."""
    own = walls.env.get("PATH")
    return None if own is None or "${" in own else own


def _search_path(walls: SandboxSpec) -> str:
    """PATH as it is inside: the interpreter's directories, then the system's own."""
    directories = [python.parent for python in _interpreters(walls)]
    return ":".join([*map(str, directories), SYSTEM_PATH])


def _interpreters(walls: SandboxSpec) -> tuple[Path, ...]:
    if walls.python is None:
        return (base_executable(),)
    return walls.python, walls.python.resolve()


def _shown(walls: SandboxSpec) -> list[Path]:
    """What can be seen inside, links followed."""
    prefixes = [python.parent.parent for python in _interpreters(walls)]
    shown = (*map(Path, _SYSTEM), *prefixes, *walls.read_only)
    return [path.resolve() for path in shown if path != Path("/")]
