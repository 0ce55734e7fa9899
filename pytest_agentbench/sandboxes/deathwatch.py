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

# Reads "+PID MARK" and "-PID"; at the end of its input, when the harness is gone,
# kills the process groups that were not taken back, and then what left its group and
# still wears the mark: daemons, and the children that they have meanwhile.
_SCRIPT = """
trap '' INT TERM HUP
live=' '
while read -r word mark; do
  pid=${word#?}
  case $word in
    +*) live="$live$pid=$mark " ;;
    -*) case $live in *" $pid="*)
          after=${live#* $pid=}
          live="${live%% $pid=*} ${after#* }" ;;
        esac ;;
  esac
done
for one in $live; do kill -s KILL -- "-${one%=*}"; done
for one in $live; do
  mark=${one#*=}
  test -n "$mark" || continue
  for pass in 1 2 3 4 5; do
    # Its status says nothing: it is that of an error where a process ended meanwhile.
    found=$(grep -ls "^Max file locks  *$mark " /proc/[0-9]*/limits)
    test -n "$found" || break
    for file in $found; do
      pid=${file#/proc/}
      kill -s KILL "${pid%/limits}"
    done
  done
done
"""

_lock = threading.Lock()
_watch: subprocess.Popen[bytes] | None = None
_owner = 0


def start() -> None:
    """Have the watcher ready, so that a command is told to it as soon as it runs."""
    with _lock:
        _started()


def enter(group: int, mark: int | None = None) -> None:
    """From now on, kill this process group if the harness dies, and whoever wears its mark.

    The mark is a soft limit on file locks, as ``sweep`` sets it.
    """
    _tell(b"+%d %s\n" % (group, b"" if mark is None else b"%d" % mark))


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
