"""Whose containers, volumes and images are whose, and what killed sessions left in the engine.

Everything that a process makes has its owner's label. An owner is a process of one boot of one
machine, so that another one of that machine can tell whether it still lives; what other
machines have in the same engine is left alone.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pytest_agentbench.sandboxes.docker.calls import connect, told
from pytest_agentbench.sandboxes.proc import stat_of

if TYPE_CHECKING:
    from docker import APIClient

PREFIX = "pytest-agentbench"
OWNER = f"{PREFIX}.owner"
ROLE = f"{PREFIX}.role"
TRIAL = f"{PREFIX}.trial"
RUN = f"{PREFIX}.run"
KEY = f"{PREFIX}.key"
ABOUT = f"{PREFIX}.about"
"""Labels of what is ours."""


class Owner(NamedTuple):
    """A process that has things in an engine."""

    machine: str
    boot: str
    namespace: str
    """Of its process numbers: a container of the same machine has its own."""
    pid: int
    started: int

    def __str__(self) -> str:
        return ":".join(map(str, self))


@cache
def this_process() -> Owner:
    """The owner of what this process makes."""
    return _owner(os.getpid())


def _owner(pid: int) -> Owner:
    about = stat_of(pid)
    return Owner(
        _digest(_text("/etc/machine-id") + os.uname().nodename),
        _digest(_text("/proc/sys/kernel/random/boot_id")),
        _namespace(),
        pid,
        0 if about is None else about.start,
    )


def _namespace() -> str:
    try:
        return os.readlink("/proc/self/ns/pid").strip("pid:[]")
    except OSError:
        return "unknown"


def _digest(text: str) -> str:
    return blake2b(text.encode(), digest_size=6).hexdigest()


def _text(path: str) -> str:
    try:
        return Path(path).read_text("ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def is_dead(label: str) -> bool:
    """Whether an owner surely lives no more; false for one that this process cannot know of."""
    try:
        machine, boot, namespace, pid, started = label.split(":")
        owner = Owner(machine, boot, namespace, int(pid), int(started))
    except ValueError:
        return False
    here = this_process()
    if owner.machine != here.machine:
        return False
    if owner.boot != here.boot:
        return True
    if owner.namespace != here.namespace:
        return False
    about = stat_of(owner.pid)
    return about is None or about.start != owner.started


def leftovers() -> list[str]:
    """What killed sessions of this machine left in the engine, a line each.

    Raises ``SandboxError`` where no engine answers.
    """
    with told("what is left in the engine cannot be listed"):
        api = connect()
        try:
            return [line for line, _ in _found(api, dead_only=True)]
        finally:
            api.close()


def reap() -> list[str]:
    """Remove what killed sessions of this machine left; a line for each thing that is gone.

    Raises ``SandboxError`` where no engine answers.
    """
    with told("what is left in the engine cannot be removed"):
        api = connect()
        try:
            return reap_with(api)
        finally:
            api.close()


def reap_with(api: APIClient) -> list[str]:
    """The same over a connection that there is."""
    return [line for line, thing in _found(api, dead_only=True) if _remove(api, thing)]


def remove_own(api: APIClient) -> None:
    """Remove all that this process still has."""
    mine = str(this_process())
    for _, thing in _found(api, dead_only=False):
        if thing.owner == mine:
            _remove(api, thing)


class _Thing(NamedTuple):
    kind: str
    name: str
    owner: str


def _found(api: APIClient, *, dead_only: bool) -> Iterator[tuple[str, _Thing]]:
    """Containers first: an image or volume that one of them uses cannot be removed."""
    filters = {"label": OWNER}
    for row in api.containers(all=True, filters=filters):
        labels = row["Labels"]
        thing = _Thing("container", row["Id"], labels[OWNER])
        if not dead_only or is_dead(thing.owner):
            yield f"container {row['Id'][:12]} ({labels.get(TRIAL) or labels.get(ROLE)})", thing
    for row in api.volumes(filters=filters)["Volumes"] or []:
        thing = _Thing("volume", row["Name"], row["Labels"][OWNER])
        if not dead_only or is_dead(thing.owner):
            yield f"volume {row['Name'][:12]}", thing
    yield from _images(api, dead_only=dead_only)


def _images(api: APIClient, *, dead_only: bool) -> Iterator[tuple[str, _Thing]]:
    """Tags, for several processes may use one image, and what has lost its last one."""
    for row in api.images(filters={"label": OWNER}):
        # Whose a tag is, its name says; the label has whoever made the image.
        maker = row["Labels"][OWNER]
        tags = [tag for tag in row["RepoTags"] or [] if not tag.startswith("<none>")]
        for tag in tags:
            owner = _owner_of(tag)
            if owner and (not dead_only or is_dead(owner)):
                yield f"image {tag.rpartition(':')[2][:12]}", _Thing("image", tag, owner)
        if not tags and (not dead_only or is_dead(maker)):
            yield (
                f"image {row['Id'].removeprefix('sha256:')[:12]}",
                _Thing("image", row["Id"], maker),
            )


def tag_of(key: str) -> str:
    """The tag under which this process holds the image of a key."""
    return f"{key}.{str(this_process()).replace(':', '-')}"


def _owner_of(tag: str) -> str:
    """The owner that a tag of ours names; empty for another's."""
    repository, _, name = tag.rpartition(":")
    if repository != PREFIX:
        return ""
    return name.partition(".")[2].replace("-", ":")


def _remove(api: APIClient, thing: _Thing) -> bool:
    """Whether it is gone by our doing: another process may have been faster."""
    from docker.errors import APIError  # noqa: PLC0415 - as ``calls``

    try:
        if thing.kind == "container":
            api.remove_container(thing.name, force=True, v=True)
        elif thing.kind == "volume":
            api.remove_volume(thing.name, force=True)
        else:
            api.remove_image(thing.name, force=False)
    except APIError:
        return False
    return True
