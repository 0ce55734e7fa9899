"""A small shell beside the harness that kills running commands if the harness is killed.

It costs one process a session. A wrapper such as ``setpriv --pdeathsig`` costs a
millisecond for every command, and kills its first process only.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import subprocess
import threading

# Reads "+PID" and "-PID"; at the end of its input, when the harness is gone,
# kills the process groups that were not taken back.
_SCRIPT = """
trap '' INT TERM HUP
live=' '
while read -r word; do
  pid=${word#?}
  case $word in
    +*) live="$live$pid " ;;
    -*) live="${live%% $pid *} ${live#* $pid }" ;;
  esac
done
for pid in $live; do kill -s KILL -- "-$pid"; done
"""

_lock = threading.Lock()
_watch: subprocess.Popen[bytes] | None = None
_owner = 0


def start() -> None:
    """Have the watcher ready, so that a command is told to it as soon as it runs."""
    with _lock:
        _started()


def enter(group: int) -> None:
    """From now on, kill this process group if the harness dies."""
    _tell(b"+%d\n" % group)


def leave(group: int) -> None:
    """The process group is dead; its number may be used again."""
    _tell(b"-%d\n" % group)


def own() -> set[int]:
    """The watcher's own process, a child of the harness that belongs to no command."""
    watch = _watch
    return set() if watch is None else {watch.pid}


def close() -> None:
    """End the watcher. The next command starts another."""
    global _watch
    with _lock:
        watch, _watch = _watch, None
    if watch is None or _owner != os.getpid():
        return
    with contextlib.suppress(OSError):
        if watch.stdin is not None:
            watch.stdin.close()
    try:
        watch.wait(timeout=2.0)
    except subprocess.TimeoutExpired:
        watch.kill()
        watch.wait()


def _tell(word: bytes) -> None:
    with _lock:
        pipe = _started().stdin
        if pipe is None:
            return
        # A dead watcher is no reason to fail a trial.
        with contextlib.suppress(OSError):
            os.write(pipe.fileno(), word)


def _started() -> subprocess.Popen[bytes]:
    global _watch, _owner  # noqa: PLW0603 - one watcher a process
    if _watch is None or _owner != os.getpid():
        _watch = subprocess.Popen(
            ["/bin/sh", "-c", _SCRIPT],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={"PATH": os.defpath},
            cwd="/",
            start_new_session=True,
        )
        os.set_blocking(_watch.stdin.fileno(), False) if _watch.stdin else None
        _owner = os.getpid()
        atexit.register(close)
    return _watch
