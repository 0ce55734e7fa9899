"""Opens sandboxes that are Docker containers."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from pytest_agentbench.errors import SandboxError
from pytest_agentbench.model.contracts import Capabilities, SandboxRequest, Template
from pytest_agentbench.model.run import ChangeKind, Changes
from pytest_agentbench.model.task import SandboxSpec
from pytest_agentbench.sandboxes.area import remove_tree
from pytest_agentbench.sandboxes.base import refuse_missing
from pytest_agentbench.sandboxes.beneath import root_of
from pytest_agentbench.sandboxes.docker import leftovers
from pytest_agentbench.sandboxes.docker.archive import Pack
from pytest_agentbench.sandboxes.docker.calls import WHERE, Calls, told
from pytest_agentbench.sandboxes.docker.images import (
    PYTEST,
    Furnished,
    Images,
    new_container,
    put,
)
from pytest_agentbench.sandboxes.docker.sandbox import DockerSandbox, Place
from pytest_agentbench.sandboxes.driverbase import DriverBase, SandboxHost
from pytest_agentbench.sandboxes.manifest import scan
from pytest_agentbench.sandboxes.workspace import apply_changes, copy_template

if TYPE_CHECKING:
    from docker import APIClient

WORKSPACE = "/workspace"
"""Where the workspace is inside, unless ``sandbox.workdir`` says otherwise."""
_ROOT_MAY = ("CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "SETGID", "SETUID")
"""What a task's root may do: install packages. Nobody else has any capability."""


class DockerDriver(DriverBase):
    """Containers of the engine that docker's own command line would use."""

    name: ClassVar[str] = "docker"

    def __init__(self, host: SandboxHost) -> None:
        super().__init__(host)
        self._calls = Calls()
        self._images = Images(
            self._calls, lambda: host.runtime.interpreter().pytest_path, host.shared
        )
        self._reaped = False

    def probe(self) -> Capabilities:
        """What the engine can do. Raises ``SandboxError`` where none answers."""
        return self._capabilities

    async def open(self, template: Template, request: SandboxRequest) -> DockerSandbox:
        """A container from the task's image. Raises ``SandboxError``."""
        spec = request.spec
        refuse_missing(spec, self._capabilities, self.name)
        place = spec.workdir or WORKSPACE
        _refuse_host_paths(request, place)
        await self._reap_once()
        furnished = await self._images.furnished(spec, template.base)
        if request.delta is not None and request.delta.base:
            # What the agent put into its home would be start-up code of the oracles' programs.
            fresh = f"/{secrets.token_hex(8)}"
            furnished = replace(furnished, home=fresh, temporary=f"{fresh}/temporary")
        image, pack = await self._ground(furnished, template, request, place)
        container = await self._calls.call(
            "a container cannot be made",
            partial(
                _make, image=image, request=request, pack=pack, furnished=furnished, place=place
            ),
        )
        sandbox = DockerSandbox(
            Place(container, furnished, place),
            template,
            request,
            calls=self._calls,
            capabilities=self._capabilities,
            area=self.host.area,
        )
        try:
            await sandbox.begin()
        except BaseException:
            await sandbox.close()
            raise
        return sandbox

    def close(self) -> None:
        """Remove what this process still has in the engine; raises nothing: it may be gone."""
        if "_capabilities" in self.__dict__:
            with contextlib.suppress(SandboxError), told("images cannot be removed"):
                leftovers.remove_own(self._calls.api)
        self._calls.close()

    @cached_property
    def _capabilities(self) -> Capabilities:
        api = self._calls.api
        with told("the engine does not answer"):
            about = api.info()
        if about.get("OSType") != "linux":
            raise SandboxError(f"the engine runs {about.get('OSType')} containers", where=WHERE)
        lacking = {
            capability: "the engine's kernel has no such control group"
            for capability, key in _LIMITS.items()
            if not about.get(key)
        }
        return Capabilities(
            isolates_processes=True,
            hides_host=True,
            controls_network=True,
            uses_images=True,
            keeps_installed=True,
            limits_memory="limits_memory" not in lacking,
            limits_cpus="limits_cpus" not in lacking,
            limits_pids="limits_pids" not in lacking,
            notes=lacking,
        )

    async def _reap_once(self) -> None:
        """What killed sessions left takes room that is needed now."""
        if not self._reaped:
            self._reaped = True
            await self._calls.call("leftovers cannot be removed", leftovers.reap_with)

    async def _ground(
        self, furnished: Furnished, template: Template, request: SandboxRequest, place: str
    ) -> tuple[str, Pack | None]:
        """The image to start from, and what is to be laid over its files.

        A file can be laid over another one but not be taken away: where an agent deleted some,
        or put a file where a directory was, the whole workspace is carried anew; and so where
        the container is kept, for the workspace is not to be a part of what is.
        """
        delta = request.delta or Changes(template.directory)
        if request.keep or delta.base:
            return delta.base or furnished.id, await self._carried(
                furnished, template, delta, place
            )
        if delta.empty:
            return await self._images.with_template(furnished, template, place), None
        kinds = {change.path: change for change in delta.changes}
        grown = all(
            change.kind is ChangeKind.ADDED
            or (change.entry and change.entry.kind is template.manifest[change.path].kind)
            for change in kinds.values()
        )
        if grown:
            image = await self._images.with_template(furnished, template, place)
            return image, await asyncio.to_thread(_changed, delta, place, furnished)
        return furnished.id, await self._carried(furnished, template, delta, place)

    async def _carried(
        self, furnished: Furnished, template: Template, delta: Changes, place: str
    ) -> Pack:
        directory = self.host.area.fresh("carried")
        return await asyncio.to_thread(_whole, template, delta, place, furnished, directory)


_LIMITS = {"limits_memory": "MemoryLimit", "limits_cpus": "CpuCfsQuota", "limits_pids": "PidsLimit"}


def _changed(delta: Changes, place: str, furnished: Furnished) -> Pack:
    pack = Pack()
    if any(change.entry is not None for change in delta.changes):
        with root_of(delta.root) as root:
            for change in delta.changes:
                if change.entry is not None:
                    inside = f"{place}/{change.path.decode('utf-8', 'surrogateescape')}"
                    pack.entry(inside, root, change.path, change.entry, furnished.owner)
    return pack


def _whole(
    template: Template, delta: Changes, place: str, furnished: Furnished, directory: Path
) -> Pack:
    try:
        copy_template(template, directory)
        apply_changes(delta, directory)
        pack = Pack()
        pack.directory(furnished.home, furnished.owner)
        if delta.base:
            pack.directory(furnished.temporary, furnished.owner)
        pack.directory(place, furnished.owner)
        with root_of(directory) as root:
            pack.entries(place, root, scan(directory, {}).entries, furnished.owner)
        return pack
    finally:
        remove_tree(directory)


def _refuse_host_paths(request: SandboxRequest, place: str) -> None:
    for inside in request.spec.mounts:
        for other in (place, PYTEST, "/tmp", "/home", "/root"):  # noqa: S108 - inside
            if f"{inside}/".startswith(f"{other}/") or f"{other}/".startswith(f"{inside}/"):
                raise SandboxError(
                    f"{inside} cannot be a mount: {other} is the sandbox's own",
                    where=WHERE,
                    advice="another place, such as /data",
                )
    paths = (*request.roots, *request.spec.read_only)
    if paths:
        raise SandboxError(
            f"a container shows no path of this machine ({paths[0]})",
            where=WHERE,
            advice="an image that has it, or sandbox.mounts",
        )


def _make(
    api: APIClient,
    *,
    image: str,
    request: SandboxRequest,
    pack: Pack | None,
    furnished: Furnished,
    place: str,
) -> str:
    from docker.types import Mount  # noqa: PLC0415 - as ``calls``

    mounts = [
        Mount(inside, str(outside), type="bind", read_only=True)
        for inside, outside in request.spec.mounts.items()
    ]
    if request.keep:
        # A volume is no part of what is committed; an image's own files there would be copied.
        mounts.append(Mount(place, None, no_copy=True))
    more: dict[str, object] = {"mounts": mounts} if mounts else {}
    container = new_container(
        api,
        image,
        role=request.role,
        network=request.network,
        labels={leftovers.TRIAL: request.label},
        **_limits(request.spec, root=furnished.owner.uid == 0),
        **more,
    )
    if pack is not None and pack.count:
        try:
            put(api, container, pack.finish())
        except BaseException:
            api.remove_container(container, force=True, v=True)
            raise
    return container


def _limits(spec: SandboxSpec, *, root: bool) -> dict[str, object]:
    found: dict[str, object] = {}
    if spec.memory_bytes is not None:
        # No swap: what is over the limit would only become slow.
        found |= {"mem_limit": spec.memory_bytes, "memswap_limit": spec.memory_bytes}
    if spec.cpus is not None:
        found["nano_cpus"] = int(spec.cpus * 1e9)
    if spec.pids is not None:
        # Beside its own processes: init, and what it waits with.
        found["pids_limit"] = spec.pids + 2
    if root:
        found["cap_add"] = list(_ROOT_MAY)
    return found
