"""What the Docker engine says of itself: where it is, its versions, and what it can do.

Names no credential: an address may have one in it, and so may what docker-py says of it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from pydantic import JsonValue

from pytest_agentbench.errors import SandboxError

if TYPE_CHECKING:
    from docker import APIClient

_PATIENCE_S = 10
"""For one answer: an engine that needs longer to say its name is not there."""


@dataclass(frozen=True, slots=True)
class Engine:
    """An engine that was asked. ``fault`` says why it did not answer.

    ``data_root`` is where it keeps its data, if that is on this machine.
    """

    where: str
    about: str = ""
    facts: Mapping[str, JsonValue] = field(default_factory=dict)
    data_root: Path | None = None
    fault: SandboxError | None = None


def ask() -> Engine:
    """Ask the engine that docker's own command line would use."""
    from pytest_agentbench.sandboxes.docker.calls import connect, told

    host, by = os.environ.get("DOCKER_HOST", ""), "DOCKER_HOST"
    try:
        with told("the engine cannot be reached"):
            if not host:
                host, by = _of_context()
            api = connect(_PATIENCE_S)
            try:
                return _asked(api, f"{bare(host)} ({by})")
            finally:
                api.close()
    except SandboxError as fault:
        where = f"{bare(host)} ({by})" if host else ""
        what = _hidden(f"{fault.what}, at {where}" if where else fault.what, host)
        return Engine(
            where, facts={"where": where}, fault=SandboxError(what, advice=_advice(fault))
        )


def _advice(fault: SandboxError) -> str:
    """Without the advice to ask this very command."""
    return fault.advice.partition("; `agentbench doctor`")[0]


def _asked(api: APIClient, where: str) -> Engine:
    info = api.info()
    keys = {
        "version": "ServerVersion",
        "storage": "Driver",
        "cgroup_version": "CgroupVersion",
        "cgroup_driver": "CgroupDriver",
        "data_root": "DockerRootDir",
        "system": "OSType",
        "architecture": "Architecture",
    }
    facts: dict[str, JsonValue] = {"where": where}
    facts |= {name: str(info[key]) for name, key in keys.items() if info.get(key)}
    labels = {"version": "", "storage": "storage ", "cgroup_version": "cgroups version "}
    said = [f"{label}{facts[key]}" for key, label in labels.items() if key in facts]
    root = Path(str(info.get("DockerRootDir") or ""))
    # A socket may lead into a virtual machine, which has a name and a disk of its own.
    here = info.get("Name") == os.uname().nodename and root.is_absolute() and root.is_dir()
    return Engine(where, f"{', '.join(said)}, at {where}", facts, root if here else None)


def _of_context() -> tuple[str, str]:
    """The address that the current context has, and by what it is chosen, in words."""
    from docker.constants import DEFAULT_UNIX_SOCKET

    from pytest_agentbench.sandboxes.docker.calls import current_context

    context = current_context()
    return context.Host or DEFAULT_UNIX_SOCKET, f"context {context.Name}"


def bare(address: str) -> str:
    """An engine's address without what may be a credential: user, password, query."""
    scheme, mark, rest = address.rpartition("://")
    if scheme in ("unix", "http+unix", "npipe"):
        return address  # a path of this machine
    plain = rest.rpartition("@")[2].partition("?")[0].partition("#")[0]
    return f"{scheme}{mark}{plain}"


def _hidden(text: str, address: str) -> str:
    """A text without the secret part of an address."""
    if bare(address) == address:
        return text
    text = text.replace(address, bare(address))
    scheme, _, rest = address.rpartition("://")
    user, colon, password = rest.rpartition("@")[0].partition(":")
    # A user's name alone may be a token, but for a login.
    secrets = [password, rest.partition("?")[2]] if colon or scheme == "ssh" else [rest, user]
    for secret in secrets:
        for form in {secret, unquote(secret)} - {""}:
            text = text.replace(form, "***")
    return text


def leftovers(*, reap: bool) -> list[str]:
    """What killed sessions left in the engine; with ``reap``, what of it was removed.

    Raises ``SandboxError``.
    """
    from pytest_agentbench.sandboxes.docker import leftovers as left

    look: Callable[[], list[str]] = left.reap if reap else left.leftovers
    return look()
