"""One container around one workspace."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from pytest_agentbench.errors import SandboxClosed, SandboxError
from pytest_agentbench.model.contracts import Altered, Capabilities, SandboxRequest, Template
from pytest_agentbench.model.run import (
    DEFAULT_OUTPUT_LIMIT,
    Changes,
    Completed,
    Manifest,
)
from pytest_agentbench.model.task import Blob
from pytest_agentbench.sandboxes.area import WorkArea, remove_tree
from pytest_agentbench.sandboxes.docker import files as inside
from pytest_agentbench.sandboxes.docker.archive import ROOT, Pack
from pytest_agentbench.sandboxes.docker.calls import WHERE, Calls, told
from pytest_agentbench.sandboxes.docker.commands import Speaking, Spoken
from pytest_agentbench.sandboxes.docker.images import PYTEST, Furnished, commit, put
from pytest_agentbench.sandboxes.linediff import count_lines
from pytest_agentbench.sandboxes.manifest import compare

if TYPE_CHECKING:
    from docker import APIClient

_IDLE_PROCESSES = 2
"""An init, and what it waits with: whoever ends one of them ends the container."""
_NOT_RUNNING = (404, 409)
"""What an engine answers of a container that has ended, or is gone."""
_KILLED = 137
"""128 + SIGKILL: what the kernel does where memory runs out, too."""
_CARRIED_BYTES = (1 << 30) + (1 << 20)
"""A little more than is carried to scoring: that it is more must be seen."""


@dataclass(frozen=True, slots=True)
class Place:
    """A container, what it is made of, and where the workspace is in it."""

    container: str
    furnished: Furnished
    workspace: str


class DockerSandbox:
    """A container that waits, and commands that are run beside what it waits with."""

    driver = "docker"

    def __init__(
        self,
        place: Place,
        template: Template,
        request: SandboxRequest,
        *,
        calls: Calls,
        capabilities: Capabilities,
        area: WorkArea,
    ) -> None:
        self.capabilities = capabilities
        self.workspace = place.workspace
        spec, furnished = request.spec, place.furnished
        self.python = str(spec.python) if spec.python else furnished.python
        self.pytest_path = PYTEST
        self._calls = calls
        self._container = place.container
        self._furnished = furnished
        self._template = template
        self._request = request
        self._area = area
        self._rooms: list[str] = []
        self._staged: dict[str, Mapping[str, Blob]] = {}
        self._commands: set[Speaking] = set()
        self._quiet = asyncio.Event()
        self._quiet.set()
        self._running = True
        self._oom_events = 0
        self._left: Path | None = None
        self._kept: str | None = None
        self._changes: Changes | None = None
        self._settled = False
        self._closed = False

    async def begin(self) -> None:
        """Start the container. Raises ``SandboxError``."""
        await self._start()

    async def run(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        stdin: bytes = b"",
        timeout_s: float,
        output_limit: int = DEFAULT_OUTPUT_LIMIT,
    ) -> Completed:
        """Run one command; see ``model.contracts.Sandbox``."""
        self._check_unsettled()
        if not argv:
            return Completed(None, 0.0, launch_error="the command is empty")
        if not argv[0]:
            return Completed(None, 0.0, launch_error="there is no Python in the image")
        if not self._running:
            await self._start()
        command = Speaking(
            container=self._container,
            argv=tuple(argv),
            user=self._furnished.user,
            cwd=str(PurePosixPath(self.workspace, cwd or "")),
            env=self._environment() | dict(env or {}),
            stdin=stdin,
            timeout_s=timeout_s,
            output_limit=output_limit,
            kill=self._kill_now,
        )
        spoken = await self._speak(command)
        if self._closed:
            raise SandboxClosed("the sandbox was torn down while a command ran in it")
        return await self._completed(spoken)

    async def put(self, files: Mapping[str, Blob]) -> str:
        """Stage files; see ``model.contracts.Sandbox``."""
        self._check_unsettled()
        place = f"/{secrets.token_hex(8)}"
        pack = inside.packed(place, files, ROOT, locked=True)
        await self._lay("files cannot be staged", pack)
        self._rooms.append(place)
        self._staged[place] = dict(files)
        return place

    async def scratch(self) -> str:
        """Make a writable directory; see ``model.contracts.Sandbox``."""
        self._check_unsettled()
        place = f"/{secrets.token_hex(8)}"
        pack = Pack()
        pack.directory(place, self._furnished.owner)
        await self._lay("no scratch directory", pack)
        self._rooms.append(place)
        return place

    async def read(self, path: str, *, limit: int) -> bytes | None:
        """Read a regular file; see ``model.contracts.Sandbox``."""
        self._check_open()
        whole = PurePosixPath(self.workspace, path)
        for room in (self.workspace, *self._rooms):
            if whole != PurePosixPath(room) and whole.is_relative_to(room):
                parts = whole.relative_to(room).parts
                if ".." in parts or "\0" in path:
                    return None
                if self._left is not None and room == self.workspace:
                    return await asyncio.to_thread(inside.read_left, self._left, parts, limit)
                read = partial(inside.read, self._container, room, parts, limit)
                return await self._calls.call(f"{path} cannot be read", read)
        return None

    async def write(self, files: Mapping[str, Blob]) -> None:
        """Write into the workspace; whatever stands in the way is replaced."""
        self._check_unsettled()
        pack = inside.packed(self.workspace, files, self._furnished.owner, locked=False)
        await self._lay("cannot write to the workspace", pack)

    async def altered(self, kept: Manifest) -> Altered:
        """Which files were rewritten; see ``model.contracts.Sandbox``.

        What is staged is root's: whoever is not can do nothing to it.
        """
        self._check_unsettled()
        is_root = self._furnished.owner.uid == 0
        staged = dict(self._staged) if is_root else {}
        if not staged and not kept:
            return Altered()
        look = partial(inside.altered, self._container, staged, self.workspace, dict(kept))
        return await self._calls.call("staged files cannot be looked at", look)

    async def settle(self) -> Changes:
        """Kill everything and compare with the template; see ``model.contracts.Sandbox``."""
        self._check_open()
        if self._changes is not None:
            return self._changes
        self._settled = True
        await self._end_commands()
        self._left = self._area.fresh("left")
        size = sum(entry.size for entry in self._template.manifest.values())
        fetch = partial(
            inside.fetch, self._container, self.workspace, self._left, size + _CARRIED_BYTES
        )
        await self._calls.call("what the agent left cannot be fetched", fetch)
        if self._request.keep:
            self._kept = await self._calls.call("the container cannot be kept", self._keep)
        await self._remove()
        changes = await asyncio.to_thread(self._compare, self._left)
        self._changes = replace(changes, base=self._kept)
        return self._changes

    async def close(self) -> None:
        """Kill every process and remove every trace. Idempotent."""
        if self._closed:
            return
        self._closed = True
        for command in tuple(self._commands):
            command.give_up()
        try:
            await self._remove()
        finally:
            if self._left is not None:
                await asyncio.to_thread(remove_tree, self._left)
            if self._kept is not None and self._request.role == "agent":
                # Of a template it is kept for all its trials.
                await self._calls.call(
                    "what was kept cannot be removed", partial(inside.forget, self._kept)
                )

    async def _speak(self, command: Speaking) -> Spoken:
        """Run a command in a thread of its own: it takes as long as the agent does."""
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[Spoken] = loop.create_future()

        def tell(spoken: Spoken | None, fault: BaseException | None) -> None:
            if not ended.done():
                if spoken is not None:
                    ended.set_result(spoken)
                else:
                    ended.set_exception(fault or SandboxError("no end was seen", where=WHERE))

        def work() -> None:
            spoken, fault = None, None
            try:
                with told("a command cannot be run"):
                    spoken = command.run(self._calls.api)
            except Exception as error:  # noqa: BLE001 - handed to whoever waits
                fault = error
            with contextlib.suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(tell, spoken, fault)

        self._commands.add(command)
        self._quiet.clear()
        threading.Thread(target=work, name="agentbench-docker-exec", daemon=True).start()
        try:
            return await ended
        except asyncio.CancelledError:
            await self._calls.call("a command cannot be killed", self._kill)
            raise
        finally:
            command.give_up()
            self._commands.discard(command)
            if not self._commands:
                self._quiet.set()

    async def _completed(self, spoken: Spoken) -> Completed:
        """What became of a command; then everything that it started is dead."""
        look = partial(self._look_after, spoken)
        out_of_memory = await self._calls.call("the container cannot be looked at", look)
        code = None if spoken.timed_out else spoken.exit_code
        if spoken.refusal is not None:
            return Completed(None, spoken.duration_s, launch_error=_why_not(spoken.refusal))
        return Completed(
            exit_code=code,
            duration_s=spoken.duration_s,
            stdout=spoken.stdout,
            stderr=spoken.stderr,
            timed_out=spoken.timed_out,
            out_of_memory=out_of_memory and not spoken.timed_out,
        )

    def _look_after(self, spoken: Spoken, api: APIClient) -> bool:
        """See everything dead that the command left; whether memory ran out."""
        if spoken.timed_out:
            self._running = False
            return False
        processes = self._processes(api)
        if processes is None:
            self._running = False
            return bool(api.inspect_container(self._container)["State"]["OOMKilled"])
        if processes > _IDLE_PROCESSES:
            self._kill(api)
        if spoken.exit_code != _KILLED or self._request.spec.memory_bytes is None:
            return False
        return self._out_of_memory(api)

    def _out_of_memory(self, api: APIClient) -> bool:
        """Whether the kernel has killed for memory since this was asked last."""
        # By the engine's own clock: it may be another machine's.
        now = datetime.fromisoformat(api.info()["SystemTime"])
        began = datetime.fromisoformat(api.inspect_container(self._container)["Created"])
        events = api.events(
            since=int(began.timestamp()),
            until=int(now.timestamp()) + 1,
            filters={"container": self._container, "event": "oom"},
        )
        seen, self._oom_events = self._oom_events, sum(1 for _ in events)
        return self._oom_events > seen

    def _processes(self, api: APIClient) -> int | None:
        """How many processes the container has, as the engine sees them; None: it has ended."""
        from docker.errors import APIError  # noqa: PLC0415 - as ``calls``

        try:
            return len(api.top(self._container, "-eo pid")["Processes"] or [])
        except APIError as fault:
            if fault.status_code not in _NOT_RUNNING:
                raise
            return None

    def _kill_now(self) -> None:
        """Called in a command's thread, when its time is over."""
        self._kill(self._calls.api)

    def _kill(self, api: APIClient) -> None:
        """End every process inside, whatever it thinks of it: the engine does it from outside."""
        from docker.errors import APIError  # noqa: PLC0415 - as ``calls``

        self._running = False
        try:
            api.kill(self._container)
        except APIError as fault:
            if fault.status_code not in _NOT_RUNNING:
                raise

    async def _start(self) -> None:
        def work(api: APIClient) -> None:
            api.start(self._container)
            self._running = True

        await self._calls.call("the container does not start", work)

    async def _end_commands(self) -> None:
        """After a command that has ended, nothing is left that were to be killed."""
        if self._commands:
            await self._calls.call("the container cannot be killed", self._kill)
            await self._quiet.wait()

    def _keep(self, api: APIClient) -> str:
        return commit(api, self._container, secrets.token_hex(16), {})

    async def _remove(self) -> None:
        def work(api: APIClient) -> None:
            from docker.errors import NotFound  # noqa: PLC0415 - as ``calls``

            with contextlib.suppress(NotFound):
                api.remove_container(self._container, force=True, v=True)

        await self._calls.call("the container cannot be removed", work)

    async def _lay(self, doing: str, pack: Pack) -> None:
        await self._calls.call(doing, lambda api: put(api, self._container, pack.finish()))

    def _compare(self, left: Path) -> Changes:
        changes = compare(self._template.manifest, left, inside=self.workspace.encode())
        return count_lines(self._template, changes)

    def _environment(self) -> dict[str, str]:
        """What is the same in every container; the image's own variables lie below it."""
        fixed = {
            "HOME": self._furnished.home,
            "TMPDIR": self._furnished.temporary,
            "LANG": "C.UTF-8",
            "PYTHONDONTWRITEBYTECODE": "1",
            **self._request.spec.env,
        }
        if self._request.spec.python is None and not self._furnished.has_pytest:
            paths = [fixed.get("PYTHONPATH", ""), PYTEST]
            fixed["PYTHONPATH"] = ":".join(filter(None, paths))
        return fixed

    def _check_open(self) -> None:
        if self._closed:
            raise SandboxClosed("the sandbox was torn down", where=self._request.label)

    def _check_unsettled(self) -> None:
        self._check_open()
        if self._settled:
            raise SandboxClosed("only its workspace is left, to be read", where=self._request.label)


def _why_not(refusal: str) -> str:
    """Why a command cannot be executed, in the system's words: engines have their own."""
    low = refusal.lower()
    for words in ("No such file or directory", "Permission denied", "Exec format error"):
        if words.lower() in low:
            return f"cannot execute: {refusal} ({words})"
    if "executable file not found" in low:
        return f"cannot execute: {refusal} (No such file or directory)"
    return f"cannot execute: {refusal}"
