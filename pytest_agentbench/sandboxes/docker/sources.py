"""Where a task's image comes from: it is there, pulled, or built."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_agentbench.errors import SandboxError
from pytest_agentbench.model.task import BuildSpec, SandboxSpec
from pytest_agentbench.sandboxes.docker import leftovers
from pytest_agentbench.sandboxes.docker.calls import WHERE

if TYPE_CHECKING:
    from docker import APIClient

_STEP = re.compile(r"^ ---> ([0-9a-f]{12})$")
_TOLD_LINES = 12
_LINE_LIMIT = 300
_PIECE = 1 << 20


def pulled(api: APIClient, name: str, pull: str, platform: str | None) -> str:
    """The id of an image of that name. Raises ``SandboxError``, and docker-py's errors."""
    from docker.errors import ImageNotFound  # noqa: PLC0415 - as ``calls``

    def found() -> str | None:
        try:
            return str(api.inspect_image(name)["Id"])
        except ImageNotFound:
            return None

    here = None if pull == "always" else found()
    if here is None:
        if pull == "never":
            raise SandboxError(
                f"there is no image {name}, and pull is never",
                where=WHERE,
                advice="build or pull it first",
            )
        repository, tag = _tagged(name)
        api.pull(repository, tag=tag, platform=platform)
        here = found()
    if here is None:
        raise SandboxError(f"there is no image {name} after it was pulled", where=WHERE)
    return here


def _tagged(name: str) -> tuple[str, str | None]:
    """A name, and its tag; one tag, or every tag that there is would be pulled."""
    if "@" in name:
        return name, None
    repository, colon, tag = name.rpartition(":")
    return (repository, tag) if colon and "/" not in tag else (name, "latest")


def context_digest(context: Path) -> str:
    """One digest for all that a build may take from a directory. Raises ``SandboxError``."""
    whole = blake2b(digest_size=16)
    try:
        for directory, directories, names in os.walk(context):
            directories.sort()
            for name in sorted([*names, *directories]):
                path = Path(directory, name)
                about = path.lstat()
                whole.update(f"{path.relative_to(context)}\0{about.st_mode:o}\0".encode())
                if path.is_symlink():
                    whole.update(os.fsencode(path.readlink()))
                elif path.is_file():
                    with path.open("rb") as file:
                        while data := file.read(_PIECE):
                            whole.update(data)
    except (OSError, UnicodeError) as fault:
        raise SandboxError(f"the build's context cannot be read: {fault}", where=WHERE) from fault
    return whole.hexdigest()


def built(api: APIClient, build: BuildSpec, spec: SandboxSpec, key: str) -> str:
    """The id of the image that a Dockerfile makes. Raises as ``pulled`` does."""
    steps = api.build(
        path=str(build.context),
        dockerfile=build.dockerfile,
        buildargs=dict(build.args),
        target=build.target,
        tag=f"{leftovers.PREFIX}:{leftovers.tag_of(key)}",
        labels={
            leftovers.OWNER: str(leftovers.this_process()),
            leftovers.ROLE: "image",
            leftovers.KEY: key,
            leftovers.ABOUT: "{}",
        },
        platform=spec.platform,
        pull=spec.pull == "always",
        rm=True,
        forcerm=True,
        decode=True,
    )
    fault, said, layers = _follow(steps)
    if fault is not None:
        _drop(api, layers)
        told = "".join(f"\n    {line[-_LINE_LIMIT:]}" for line in said[-_TOLD_LINES:])
        raise SandboxError(
            f"{build.context.name}/{build.dockerfile} cannot be built: {fault}{told}", where=WHERE
        )
    return str(api.inspect_image(f"{leftovers.PREFIX}:{leftovers.tag_of(key)}")["Id"])


def _follow(steps: Iterable[dict[str, Any]]) -> tuple[str | None, list[str], list[str]]:
    """What went wrong, what was printed, and which layers were made."""
    said: list[str] = []
    layers: list[str] = []
    for step in steps:
        for line in str(step.get("stream", "")).splitlines():
            if found := _STEP.match(line):
                layers.append(found[1])
            elif line.strip():
                said.append(line.rstrip())
        if "error" in step:
            return str(step["error"]).strip(), said, layers
    return None, said, layers


def _drop(api: APIClient, layers: list[str]) -> None:
    """Remove what a build left that failed: no name leads to it, but it takes room.

    Where it was the image that the build starts from, that has a name, and stays.
    """
    from docker.errors import APIError  # noqa: PLC0415 - as ``calls``

    for layer in reversed(layers):
        with suppress(APIError):
            if not api.inspect_image(layer)["RepoTags"]:
                api.remove_image(layer)
