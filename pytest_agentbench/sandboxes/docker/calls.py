"""The one place that talks to a Docker engine: calls off the loop, faults in our own words."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from pytest_agentbench.errors import SandboxError

if TYPE_CHECKING:
    import requests
    from docker import APIClient
    from docker.context import Context

_T = TypeVar("_T")

WHERE = "sandbox docker"
_PATIENCE_S = 300.0
"""For one answer of the engine: committing a large layer takes long."""
_AT_ONCE = 8
"""Calls in flight: more would only queue up in the engine."""
_DEFAULT = "unix:///var/run/docker.sock"
_CONNECT_S = 10
_TOLD = 400
_NOT_FOUND = 404
_PIECE = 1 << 16


class Calls:
    """One process's connection to its engine; made when it is first needed."""

    def __init__(self) -> None:
        self._pool: ThreadPoolExecutor | None = None

    @cached_property
    def api(self) -> APIClient:
        """The engine that docker's own command line would use. Raises ``SandboxError``."""
        with told("the engine cannot be reached"):
            try:
                return connect()
            except ValueError as fault:  # an address that is none
                raise OSError(f"DOCKER_HOST: {fault}") from fault

    async def call(self, doing: str, function: Callable[[APIClient], _T]) -> _T:
        """What a call gives, made in a thread. Raises ``SandboxError``: ``doing`` and why.

        Cancelled, it has ended before this returns: what it made must not be lost sight of.
        """

        def work() -> _T:
            with told(doing):
                return function(self.api)

        if self._pool is None:
            self._pool = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="agentbench-docker")
        job = asyncio.get_running_loop().run_in_executor(self._pool, work)
        try:
            return await asyncio.shield(job)
        except asyncio.CancelledError:
            await asyncio.wait([job])
            if not job.cancelled():
                job.exception()  # looked at: nobody waits for it any more
            raise

    def close(self) -> None:
        """Give up the connection."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None
        if "api" in self.__dict__:
            self.api.close()


def connect(patience_s: float = _PATIENCE_S) -> APIClient:
    """A client of the engine that docker's own command line would use. Raises docker-py's errors.

    ``DOCKER_HOST`` (with ``DOCKER_TLS_VERIFY`` and ``DOCKER_CERT_PATH``) comes first, then the
    current context.
    """
    import docker  # noqa: PLC0415 - takes 150 ms, which only those pay who use it
    from docker.utils import kwargs_from_env  # noqa: PLC0415

    given = kwargs_from_env()
    if "base_url" not in given:
        context = current_context()
        if context.Host:
            given["base_url"] = context.Host
            if not context.Host.startswith("unix:"):
                given["tls"] = context.TLSConfig
    where = given.get("base_url") or _DEFAULT
    timeout: Any = int(patience_s)
    if where.startswith("unix:"):
        _knock(where)
    elif where.startswith(("tcp:", "http:", "https:")):
        timeout = (min(_CONNECT_S, timeout), timeout)
    return docker.APIClient(version="auto", timeout=timeout, **given)


def _knock(address: str) -> None:
    """Raise ``OSError`` where nobody listens: docker-py would leave a socket open, and warn."""
    with socket.socket(socket.AF_UNIX) as one:
        one.settimeout(_CONNECT_S)
        one.connect("/" + address.removeprefix("unix:").lstrip("/"))


class About(NamedTuple):
    """What stands at a path in a container."""

    is_directory: bool
    is_regular: bool


_GO_DIRECTORY = 1 << 31
_GO_TYPES = 0b1000_1111_0010_1000 << 16
"""Bits of a file's mode as Go has them: any of the second ones, and it is no regular file."""


def path_in(api: APIClient, container: str, path: str) -> About | None:
    """What stands at a path, the last part of which is no link that is followed; None: nothing."""
    response = api.head(_archive_url(api, container), params={"path": path}, timeout=_PATIENCE_S)
    if response.status_code == _NOT_FOUND:
        return None
    response.raise_for_status()
    return _about(response)


def _about(response: requests.Response) -> About:
    said = json.loads(base64.b64decode(response.headers["X-Docker-Container-Path-Stat"]))
    mode = int(said["mode"])
    return About(bool(mode & _GO_DIRECTORY), not mode & _GO_TYPES)


@contextmanager
def archive_of(
    api: APIClient, container: str, path: str, *, directory: bool = False
) -> Iterator[Iterator[bytes]]:
    """The pieces of the archive of what stands at a path; need not be read to their end.

    Raises ``FileNotFoundError`` where nothing does, or something else than a directory where
    one is wanted.
    """
    url = _archive_url(api, container)
    with api.get(url, params={"path": path}, stream=True, timeout=_PATIENCE_S) as response:
        if response.status_code == _NOT_FOUND:
            raise FileNotFoundError(path)
        response.raise_for_status()
        if directory and not _about(response).is_directory:
            raise FileNotFoundError(path)
        yield response.iter_content(_PIECE)


def _archive_url(api: APIClient, container: str) -> str:
    return f"{api.base_url}/v{api.api_version}/containers/{container}/archive"


def current_context() -> Context:
    """The context that docker's own command line would take. Raises docker-py's errors."""
    from docker.context import ContextAPI  # noqa: PLC0415 - as above
    from docker.context.config import get_current_context_name  # noqa: PLC0415
    from docker.errors import ContextNotFound  # noqa: PLC0415

    name = os.environ.get("DOCKER_CONTEXT") or get_current_context_name()
    context = ContextAPI.get_context(name)
    if context is None:
        raise ContextNotFound(name)
    return context


def address(api: APIClient) -> str:
    """Where the engine is, without credentials."""
    host = os.environ.get("DOCKER_HOST") or api.base_url
    scheme, _, rest = host.partition("://")
    if scheme == "unix" or not rest:
        return host
    return f"{scheme}://{rest.rpartition('@')[2]}"


@contextmanager
def told(doing: str) -> Iterator[None]:
    """Turn what docker-py raises into a ``SandboxError`` that says what, why and what to do."""
    import requests  # noqa: PLC0415 - as docker-py
    from docker.errors import APIError, DockerException  # noqa: PLC0415
    from urllib3.exceptions import HTTPError  # noqa: PLC0415

    try:
        yield
    except APIError as fault:
        why = str(fault.explanation or fault)[-_TOLD:]
        raise SandboxError(f"{doing}: {why}", where=WHERE, advice=_advice(why)) from fault
    except (DockerException, requests.RequestException, HTTPError, OSError) as fault:
        raise SandboxError(
            f"{doing}: {_short(fault)}",
            where=WHERE,
            advice="start the engine, or let DOCKER_HOST name one that runs; "
            "`agentbench doctor` says what works here",
        ) from fault


def _short(fault: BaseException) -> str:
    """The innermost reason: docker-py wraps what requests wraps what the system says."""
    inner = fault
    while inner.__cause__ is not None or inner.__context__ is not None:
        inner = inner.__cause__ or inner.__context__ or inner
    return str(inner)[-_TOLD:] or type(inner).__name__


def _advice(why: str) -> str:
    low = why.lower()
    if "/bin/sh" in low:
        return "an image that has /bin/sh"
    if "no space left" in low:
        return "make room where the engine keeps its data: docker system df"
    if "no such image" in low or "not found" in low or "manifest unknown" in low:
        return "build or pull the image first, or check its name"
    if "permission denied" in low:
        return "let this user reach the engine"
    return ""
