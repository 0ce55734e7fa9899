"""Runs one command in a running container, and reads what it prints."""

from __future__ import annotations

import contextlib
import select
import socket
import struct
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, cast

from pytest_agentbench.errors import SandboxError
from pytest_agentbench.model.run import Output
from pytest_agentbench.sandboxes.docker.calls import WHERE

if TYPE_CHECKING:
    from docker import APIClient

_HEADER = struct.Struct(">BxxxL")
_STDERR = 2
_CHUNK = 65_536
_FIRST_LOOK_S = 0.1
_LONGEST_LOOK_S = 1.0
"""How often it is asked whether a silent command has ended: whoever inherited its output may hold
that open for ever."""
_LAST_WORDS_S = 0.2
_REFUSED = b"OCI runtime exec failed: "


@dataclass(slots=True)
class Ends:
    """The two ends of a stream of any length."""

    limit: int
    head: bytearray = field(default_factory=bytearray)
    tail: bytearray = field(default_factory=bytearray)
    total: int = 0

    def keep(self, data: bytes) -> None:
        """Take some more of it."""
        half = max(self.limit // 2, 1)
        self.total += len(data)
        room = half - len(self.head)
        if room > 0:
            self.head += data[:room]
            data = data[room:]
        self.tail += data
        if len(self.tail) > 2 * half + _CHUNK:
            del self.tail[:-half]

    def output(self) -> Output:
        """What is known of it."""
        half = max(self.limit // 2, 1)
        head, tail = bytes(self.head), bytes(self.tail[-half:])
        if self.total <= 2 * half:
            head, tail = head + tail, b""
        return Output(head=head, tail=tail, total=self.total)


@dataclass(frozen=True, slots=True)
class Spoken:
    """How a command ended. ``exit_code`` is None where it was not seen to end."""

    exit_code: int | None
    stdout: Output
    stderr: Output
    duration_s: float
    timed_out: bool
    refusal: str | None


class _Connection(Protocol):
    """What is used of a connection: a plain socket's methods, or those of an encrypted one."""

    def recv(self, size: int, /) -> bytes: ...
    def send(self, data: bytes, /) -> int: ...
    def shutdown(self, how: int, /) -> None: ...
    def fileno(self) -> int: ...
    def close(self) -> None: ...


@dataclass(slots=True, eq=False)
class Speaking:
    """One command on its way: made and run in one thread, ended from another."""

    container: str
    argv: Sequence[str]
    user: str
    cwd: str
    env: Mapping[str, str]
    stdin: bytes
    timeout_s: float
    output_limit: int
    kill: Callable[[], None]
    """Ends everything that runs in the container."""
    _given_up: threading.Event = field(default_factory=threading.Event)

    def give_up(self) -> None:
        """Wait for it no longer."""
        self._given_up.set()

    def run(self, api: APIClient) -> Spoken:
        """Run it to its end. Raises docker-py's errors."""
        made = api.exec_create(
            self.container,
            list(self.argv),
            user=self.user,
            workdir=self.cwd,
            environment=dict(self.env),
            stdin=bool(self.stdin),
        )
        started = time.monotonic()
        if self.stdin and api.base_url.startswith("https"):
            raise SandboxError(
                "a command with input cannot be run over an encrypted connection yet",
                where=WHERE,
                advice="a tunnel to the engine's socket (ssh -L)",
            )
        raw = api.exec_start(made["Id"], socket=True)
        connection = cast("_Connection", getattr(raw, "_sock", raw))
        stdout, stderr = Ends(self.output_limit), Ends(self.output_limit)
        writer = threading.Thread(target=_feed, args=(connection, self.stdin), daemon=True)
        if self.stdin:
            writer.start()
        try:
            timed_out = self._read(api, made["Id"], connection, (stdout, stderr), started)
        finally:
            raw.close()
            connection.close()
        if self.stdin:
            writer.join(_LAST_WORDS_S)
        said = bytes(stdout.head)
        about = api.exec_inspect(made["Id"])
        code = about["ExitCode"]
        refusal = None
        # What was never started has no process: a command that prints the same words had one.
        if said.startswith(_REFUSED) and code in (126, 127) and not about["Pid"]:
            # The engine's own words, in place of any that a command printed.
            refusal = said.decode("utf-8", "replace").strip().removeprefix(_REFUSED.decode())
            refusal = refusal.removeprefix("exec failed: ").removesuffix(": unknown")
        return Spoken(
            code, stdout.output(), stderr.output(), time.monotonic() - started, timed_out, refusal
        )

    def _read(
        self,
        api: APIClient,
        exec_id: str,
        connection: _Connection,
        streams: tuple[Ends, Ends],
        started: float,
    ) -> bool:
        """Read until the command has ended; return whether it ran out of time."""
        frames = _Frames(streams)
        deadline = started + self.timeout_s
        look_s = _FIRST_LOOK_S
        while True:
            now = time.monotonic()
            if now >= deadline:
                self.kill()
                _drain(connection, frames)
                return True
            if self._given_up.is_set():
                return False
            if _readable(connection, min(look_s, deadline - now)):
                data = connection.recv(_CHUNK)
                if not data:
                    return False
                frames.feed(data)
                look_s = _FIRST_LOOK_S
                continue
            look_s = min(2 * look_s, _LONGEST_LOOK_S)
            if not api.exec_inspect(exec_id)["Running"]:
                _drain(connection, frames)
                return False


class _Frames:
    """Takes a stream of frames apart: each says whether it is of stdout or stderr."""

    def __init__(self, streams: tuple[Ends, Ends]) -> None:
        self._stdout, self._stderr = streams
        self._waiting = bytearray()
        self._left = 0
        self._into = self._stdout
        self._plain = False

    def feed(self, data: bytes) -> None:
        """Take what was read."""
        self._waiting += data
        while self._waiting:
            if self._plain:
                self._take(len(self._waiting))
            elif self._left:
                self._take(self._left)
            elif self._waiting[0] > _STDERR:
                # No frame: the engine's own word that it could not start the command.
                self._plain = True
            elif len(self._waiting) < _HEADER.size:
                return
            else:
                kind, self._left = _HEADER.unpack_from(self._waiting)
                del self._waiting[: _HEADER.size]
                self._into = self._stderr if kind == _STDERR else self._stdout

    def _take(self, count: int) -> None:
        part = bytes(self._waiting[:count])
        del self._waiting[:count]
        self._into.keep(part)
        if not self._plain:
            self._left -= len(part)


def _readable(connection: _Connection, wait_s: float) -> bool:
    pending = getattr(connection, "pending", None)
    if pending is not None and pending():  # of an encrypted connection, read already
        return True
    # select() cannot wait for a descriptor above 1,023.
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN | select.POLLHUP)
    return bool(poll.poll(max(wait_s, 0) * 1000))


def _drain(connection: _Connection, frames: _Frames) -> None:
    """Take what has been printed by now, and not for long: a survivor could go on for ever."""
    until = time.monotonic() + _LAST_WORDS_S
    while time.monotonic() < until and _readable(connection, until - time.monotonic()):
        data = connection.recv(_CHUNK)
        if not data:
            return
        frames.feed(data)


def _feed(connection: _Connection, data: bytes) -> None:
    # A command that reads nothing of it, or ends before, is no fault.
    with contextlib.suppress(OSError):
        view = memoryview(data)
        while view:
            view = view[connection.send(bytes(view[:_CHUNK])) :]
        connection.shutdown(socket.SHUT_WR)
