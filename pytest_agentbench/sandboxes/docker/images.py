"""Images: the task's own, furnished with what every sandbox needs, and with a template on top.

Each is made once a session, whatever the number of trials and of xdist workers, and
removed at its end. What is known of an image is kept in its labels, where the next process
finds it.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import os
import struct
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeAlias

from pytest_agentbench.errors import SandboxError
from pytest_agentbench.model.contracts import Template
from pytest_agentbench.model.digest import digest_value
from pytest_agentbench.model.task import BuildSpec, SandboxSpec
from pytest_agentbench.sandboxes.beneath import root_of
from pytest_agentbench.sandboxes.docker import leftovers
from pytest_agentbench.sandboxes.docker.archive import ROOT, Owner, Pack, first_below, single_file
from pytest_agentbench.sandboxes.docker.calls import WHERE, Calls, archive_of, path_in
from pytest_agentbench.sandboxes.docker.sources import built, context_digest, pulled
from pytest_agentbench.sandboxes.workspace import manifest_digest

if TYPE_CHECKING:
    from docker import APIClient

PYTEST = "/opt/pytest"
"""Where pytest is seen inside."""
HOME = "/home/user"
"""Of a user that the image does not know."""
_SOMEBODY = Owner(1000, 1000)
_ROOT_ROW = ["root", "x", "0", "0", "root", "/root", "/bin/sh"]
_PAUSE_S = 0.05
_PASSWD_LIMIT = 1 << 20
_IDLE = ("/bin/sh",)
"""Waits for input that never comes, so that there is something to run commands beside."""
_ASK = (
    "import importlib.util as u, json, sys;"
    " print(json.dumps([sys.executable, list(sys.version_info[:2]),"
    " u.find_spec('pytest') is not None]))"
)
_FIND_PYTHON = (
    'for each in python3 python; do command -v "$each" >/dev/null 2>&1 &&'
    ' exec "$each" -c "$0"; done; exit 42'
)

Facts: TypeAlias = dict[str, Any]
"""An answer of the engine's."""


@dataclass(frozen=True, slots=True)
class Furnished:
    """An image that sandboxes can be made of.

    ``python`` is empty where it has none; ``has_pytest``: whether that brings its own.
    """

    id: str
    source: str
    owner: Owner
    home: str
    python: str
    has_pytest: bool
    temporary: str = "/tmp"  # noqa: S108 - inside

    @property
    def user(self) -> str:
        """Who runs agents and oracles, as the engine takes it."""
        return f"{self.owner.uid}:{self.owner.gid}"


class Images:
    """All images of one process."""

    def __init__(self, calls: Calls, pytest_path: Callable[[], Path], shared: Path | None) -> None:
        """``shared`` is a directory of the session's processes; None: this one is alone."""
        self._calls = calls
        self._pytest_path = pytest_path
        self._shared = shared
        self._locks: dict[str, asyncio.Lock] = {}
        self._sources: dict[str, str] = {}
        self._furnished: dict[str, Furnished] = {}
        self._templates: dict[str, str] = {}

    async def furnished(self, spec: SandboxSpec, base: str | None = None) -> Furnished:
        """The image that a task asks for, or ``base``, with pytest, a home and a user.

        Raises ``SandboxError``.
        """
        source = base or await self._source(spec)
        key = digest_value([source, str(spec.user), str(self._pytest_path())])
        async with self._once(key):
            if key not in self._furnished:
                about = await self._kept(key)
                if about is None:
                    about = await self._furnish(source, spec, key)
                self._furnished[key] = Furnished(
                    id=about["id"],
                    source=source,
                    owner=Owner(*about["owner"]),
                    home=about["home"],
                    python=about["python"],
                    has_pytest=about["has_pytest"],
                )
        return self._furnished[key]

    async def with_template(self, furnished: Furnished, template: Template, place: str) -> str:
        """The image that has the template's files at ``place``. Raises ``SandboxError``."""
        # With the repository, which the template's own digest leaves out: each process of a
        # session makes that for itself, and what differs would count as the agent's.
        whole = manifest_digest(template.manifest)
        key = digest_value([furnished.id, whole, place, list(furnished.owner)])
        async with self._once(key):
            if key not in self._templates:
                about = await self._kept(key)
                if about is None:
                    about = await self._lay(furnished, template, place, key)
                self._templates[key] = about["id"]
        return self._templates[key]

    async def _source(self, spec: SandboxSpec) -> str:
        """The id of the image that a task names; pulled where that is allowed and needed."""
        if spec.build is not None:
            return await self._build(spec.build, spec)
        name = spec.image
        if name is None:
            raise SandboxError(
                "the task names no image",
                where=WHERE,
                advice="sandbox: {driver: docker, image: python:3.12}",
            )
        asked = f"{name} {spec.platform} {spec.pull}"
        async with self._once(digest_value(["source", asked])):
            if asked not in self._sources:
                self._sources[asked] = await self._calls.call(
                    f"the image {name} cannot be had",
                    lambda api: pulled(api, name, spec.pull, spec.platform),
                )
        return self._sources[asked]

    async def _build(self, build: BuildSpec, spec: SandboxSpec) -> str:
        """The id of an image that is built from a task's Dockerfile."""
        asked = repr((build, spec.platform))
        if asked in self._sources:
            return self._sources[asked]
        content = await asyncio.to_thread(context_digest, build.context)
        key = digest_value(["build", asked, content])
        async with self._once(key):
            if asked not in self._sources:
                kept = await self._kept(key)
                self._sources[asked] = (
                    kept["id"]
                    if kept is not None
                    else await self._calls.call(
                        f"the image of {build.context.name} cannot be built",
                        partial(built, build=build, spec=spec, key=key),
                    )
                )
        return self._sources[asked]

    async def _furnish(self, source: str, spec: SandboxSpec, key: str) -> Facts:
        pack = Pack()
        await asyncio.to_thread(pack.tree, PYTEST, self._pytest_path())
        doing = f"the image {spec.image or source[:19]} cannot be made ready"

        def work(api: APIClient) -> Facts:
            config = api.inspect_image(source)["Config"] or {}
            container = new_container(api, source, role="image", network=False)
            try:
                owner, home = _user(api, container, spec.user, config.get("User") or "")
                pack.directory(home, owner)
                pack.directory("tmp", ROOT, 0o1777)
                put(api, container, pack.finish())
                api.start(container)
                python, has_pytest = _python(api, container)
                api.kill(container)
                about = {
                    "owner": list(owner),
                    "home": home,
                    "python": python,
                    "has_pytest": has_pytest,
                }
                return about | {"id": commit(api, container, key, about)}
            finally:
                api.remove_container(container, force=True, v=True)

        return await self._calls.call(doing, work)

    async def _lay(self, furnished: Furnished, template: Template, place: str, key: str) -> Facts:
        def work(api: APIClient) -> Facts:
            pack = Pack()
            pack.directory(place, furnished.owner)
            with root_of(template.directory) as root:
                pack.entries(place, root, template.manifest, furnished.owner)
            container = new_container(api, furnished.id, role="image", network=False)
            try:
                refuse_occupied(api, container, furnished.id, place)
                put(api, container, pack.finish())
                return {"id": commit(api, container, key, {})}
            finally:
                api.remove_container(container, force=True, v=True)

        return await self._calls.call("the workspace cannot be carried into an image", work)

    async def _kept(self, key: str) -> Facts | None:
        """What is known of an image that another process of the session has made."""

        def work(api: APIClient) -> Facts | None:
            from docker.errors import NotFound  # noqa: PLC0415 - as ``calls``

            for row in api.images(filters={"label": f"{leftovers.KEY}={key}"}):
                # Held by a tag of our own, for its maker may end before us.
                with contextlib.suppress(NotFound):
                    api.tag(row["Id"], leftovers.PREFIX, leftovers.tag_of(key))
                    about: Facts = json.loads(row["Labels"][leftovers.ABOUT])
                    return about | {"id": row["Id"]}
            return None

        return await self._calls.call("the engine's images cannot be listed", work)

    @asynccontextmanager
    async def _once(self, key: str) -> AsyncIterator[None]:
        """One of the session's processes at a time, and one of this one's trials."""
        async with self._locks.setdefault(key, asyncio.Lock()):
            if self._shared is None:
                yield
                return
            try:
                self._shared.mkdir(parents=True, exist_ok=True)
                lock = os.open(self._shared / "images.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC)
            except OSError as fault:
                raise SandboxError(f"images cannot be locked: {fault}", where=WHERE) from fault
            try:
                while not _take(lock, key):  # noqa: ASYNC110 - another process holds it
                    await asyncio.sleep(_PAUSE_S)
                yield
            finally:
                os.close(lock)


def _take(lock: int, key: str) -> bool:
    """Take one byte of a file, whose place stands for the key; given back when it is closed."""
    place = int.from_bytes(blake2b(key.encode(), digest_size=7).digest())
    wanted = struct.pack("hh4xqqi4x", fcntl.F_WRLCK, os.SEEK_SET, place, 1, 0)
    try:
        fcntl.fcntl(lock, fcntl.F_OFD_SETLK, wanted)
    except BlockingIOError:
        return False
    return True


def new_container(
    api: APIClient,
    image: str,
    *,
    role: str,
    network: bool,
    labels: Mapping[str, str] | None = None,
    **limits: object,
) -> str:
    """The id of a container that only waits, once it is started.

    Its first process is an init, and root's, so that nobody inside can end it; commands are run
    beside it, as whoever they are to be.
    """
    host = api.create_host_config(
        init=True,
        network_mode="bridge" if network else "none",
        security_opt=["no-new-privileges"],
        **{"cap_drop": ["ALL"], **limits},  # type: ignore[arg-type]
    )
    made = api.create_container(
        image,
        entrypoint=list(_IDLE),
        command=[],
        user="0:0",
        working_dir="/",
        stdin_open=True,
        healthcheck={"test": ["NONE"]},
        labels={leftovers.OWNER: str(leftovers.this_process()), leftovers.ROLE: role}
        | dict(labels or {}),
        host_config=host,
    )
    return str(made["Id"])


def put(api: APIClient, container: str, archive: IO[bytes]) -> None:
    """Lay an archive over a container's files."""
    with archive:
        api.put_archive(container, "/", archive)


def commit(api: APIClient, container: str, key: str, about: Mapping[str, object]) -> str:
    """The id of the image that a container's files make."""
    labels = {
        leftovers.OWNER: str(leftovers.this_process()),
        leftovers.ROLE: "image",
        leftovers.KEY: key,
        leftovers.ABOUT: json.dumps(dict(about)),
    }
    made = api.commit(
        container,
        repository=leftovers.PREFIX,
        tag=leftovers.tag_of(key),
        conf={"Labels": labels},
        pause=False,
    )
    return str(made["Id"])


def refuse_occupied(api: APIClient, container: str, image: str, place: str) -> None:
    """Refuse a workspace where the image has files: they would count as the agent's."""
    volumes = (api.inspect_image(image)["Config"] or {}).get("Volumes") or {}
    for volume in volumes:
        if f"{place}/".startswith(f"{volume.rstrip('/')}/"):
            raise SandboxError(
                f"the workspace {place} lies in a volume of the image",
                where=WHERE,
                advice="another sandbox.workdir",
            )
    about = path_in(api, container, place)
    if about is None:
        return
    with archive_of(api, container, place) as pieces:
        occupied = not about.is_directory or first_below(pieces) is not None
    if occupied:
        raise SandboxError(
            f"the image has files at {place}, where the workspace is to be",
            where=WHERE,
            advice="another sandbox.workdir; or take them into the task's workspace",
        )


def _user(api: APIClient, container: str, asked: str | None, standard: str) -> tuple[Owner, str]:
    """Who is to run things, and where their home is: not root, unless the task says so."""
    if asked is None and standard.partition(":")[0] in ("", "root", "0"):
        return _SOMEBODY, HOME
    name, _, group = (asked or standard).partition(":")
    for row in (*_passwd(api, container), _ROOT_ROW):
        if name in (row[0], row[2]):
            if asked is None and int(row[2]) == 0:  # root by another name
                return _SOMEBODY, HOME
            gid = int(group) if group.isdigit() else int(row[3])
            # Whose home is a place of the system's must not own that.
            home = row[5] if row[5].startswith("/home/") or row[5] == "/root" else HOME
            return Owner(int(row[2]), gid), home
    if not name.isdigit():
        raise SandboxError(
            f"the image has no user {name!r}", where=WHERE, advice="a number, such as user: 1000"
        )
    return Owner(int(name), int(group) if group.isdigit() else int(name)), HOME


def _passwd(api: APIClient, container: str) -> list[list[str]]:
    try:
        with archive_of(api, container, "/etc/passwd") as pieces:
            text = (single_file(pieces, _PASSWD_LIMIT) or b"").decode("utf-8", "replace")
    except FileNotFoundError:
        return []
    rows = [line.split(":") for line in text.splitlines()]
    return [row for row in rows if len(row) > 5 and row[2].isdigit() and row[3].isdigit()]  # noqa: PLR2004


def _python(api: APIClient, container: str) -> tuple[str, bool]:
    made = api.exec_create(container, ["/bin/sh", "-c", _FIND_PYTHON, _ASK], user="0:0")
    said = api.exec_start(made["Id"], demux=True)
    stdout = (said[0] or b"").decode("utf-8", "replace")
    if api.exec_inspect(made["Id"])["ExitCode"] != 0:
        return "", False
    try:
        executable, _, has_pytest = json.loads(stdout.splitlines()[-1])
    except (IndexError, ValueError):  # it answers, and is none that we could use
        return "", False
    return str(executable), bool(has_pytest)
