"""The program that runs hidden tests inside a sandbox; staged beside them, started with ``-I -B``.

Knows the standard library and pytest only, and runs on Python 3.9 and later.
Standard input holds one JSON object: ``pytest`` (the directory that holds it),
``path`` (directories of the tests), ``workspace``, ``tests``, ``config``,
``report`` (a file that must not exist yet), ``collect`` (whether to list tests
instead of running them), ``files`` (what to collect; empty: all), ``only`` (ids of the
tests to run, with or without parameters; empty: all).

The report is one row a line: a seal, a blank, a JSON object. ``started`` is the
first one: until it is written nothing from the workspace can have been imported.
Standard output begins with the key of the seals and with the first row, and
nothing else goes on before they were taken out of the pipe. So the key is in this
process's memory alone: the report can be read by others, and what came in could be
before it was erased.
"""

from __future__ import annotations

import fcntl
import json
import os
import platform
import stat
import sys
import termios
import time
from contextlib import suppress
from hashlib import sha256
from importlib import import_module
from typing import TYPE_CHECKING, Callable, Dict, Iterator, List, Tuple  # noqa: UP035 - Python 3.9 evaluates them

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    import pytest

Row = Dict[str, object]  # noqa: UP006 - as above
Write = Callable[[Row], None]

KEY_LINE = b"agentbench-report-key "

_TEXT_LIMIT = 2000
_BLOCK = 64  # bytes of a block of SHA-256
_STDIN, _STDOUT = 0, 1
_PR_SET_DUMPABLE, _PR_CAPBSET_DROP = 4, 24
_CAP_SYS_PTRACE = 19


def main() -> None:
    """Run or list the tests; end the process with pytest's status."""
    hide_memory()
    request = json.loads(sys.stdin.buffer.read())
    # Tested code need not be told where the report is.
    forget_input()
    # For processes that the tests start; this one was told by ``-B``.
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    for name in ("PYTEST_ADDOPTS", "PYTEST_PLUGINS"):
        os.environ.pop(name, None)
    key = os.urandom(32)
    os.write(_STDOUT, KEY_LINE + key.hex().encode("ascii") + b"\n")
    sys.path.insert(0, request["pytest"])
    runner = import_module("pytest")
    write = report_writer(request.pop("report"), sealer(key))
    del key
    runner.hookimpl(wrapper=True, tryfirst=True)(Reporter.pytest_runtest_makereport)
    reporter = Reporter(write, collect=request["collect"], only=request["only"])
    write({"event": "started", "pytest": runner.__version__})
    await_reader(_STDOUT)
    leave = os._exit
    # The workspace comes last: it can shadow neither the standard library, nor
    # pytest, nor what lies beside the tests.
    sys.path += [*request["path"], request["workspace"]]
    status = int(runner.main(pytest_arguments(request), plugins=[reporter]))
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError, ValueError):
            stream.flush()
    if reporter.session_ended:
        write({"event": "finished", "status": status})
    # Threads and exit handlers of the tested code have no say any more.
    leave(status)


def hide_memory() -> None:
    """Keep other processes out of this one's memory and open files, where Linux can."""
    try:
        prctl = import_module("ctypes").CDLL(None).prctl
    except (AttributeError, ImportError, OSError):
        return
    prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    # What stops other users does not stop root, who has a capability for it: programs
    # that are started from here do without.
    prctl(_PR_CAPBSET_DROP, _CAP_SYS_PTRACE, 0, 0, 0)


def forget_input() -> None:
    """Leave nothing to read on standard input, also for whoever holds the same file open.

    bwrap's own process does, and other processes may open its descriptors.
    """
    with suppress(OSError):  # a pipe has nothing left
        os.ftruncate(_STDIN, 0)
    os.dup2(os.open(os.devnull, os.O_RDONLY), _STDIN)


def await_reader(stream: int) -> None:
    """Wait until a pipe is empty: whoever may write to it can open it and read, too."""
    waiting = bytearray(4)
    while stat.S_ISFIFO(os.fstat(stream).st_mode):
        fcntl.ioctl(stream, termios.FIONREAD, waiting)
        if not any(waiting):
            break
        time.sleep(0.001)


def pytest_arguments(request: dict[str, Any]) -> list[str]:
    """The command line of pytest, which leaves nothing to files that it might find."""
    options = [
        "-c",
        request["config"],
        f"--rootdir={request['tests']}",
        f"--confcutdir={request['tests']}",
        "--import-mode=importlib",
        "--color=no",
        "--tb=short",
        "-p",
        "no:cacheprovider",
        "-rfEsxX",
    ]
    # One file that cannot be imported must not keep the others from their scores.
    options += (
        ["--collect-only", "-q"] if request["collect"] else ["--continue-on-collection-errors"]
    )
    files = [f"{request['tests']}/{name}" for name in request["files"]]
    return [*options, *(files or [request["tests"]])]


def sealer(key: bytes) -> Callable[[bytes], bytes]:
    """A function that gives each row its seal: HMAC-SHA256 over the seal before it and the row.

    So no row can be left out, moved, repeated or added by anybody without the key.
    """
    # Not by the module ``hmac``: tested code could replace its methods by some that
    # hand over the key. Hash objects are C, and their methods cannot be replaced.
    block = key.ljust(_BLOCK, b"\0")
    halves = [sha256(bytes(byte ^ pad for byte in block)) for pad in (0x36, 0x5C)]
    last = b""

    def seal(row: bytes) -> bytes:
        nonlocal last
        inner, outer = (half.copy() for half in halves)
        inner.update(last + row)
        outer.update(inner.digest())
        last = outer.hexdigest().encode("ascii")
        return last

    # A forked child of the tested code has nothing to report.
    os.register_at_fork(after_in_child=halves.clear)
    return seal


def report_writer(path: str, seal: Callable[[bytes], bytes]) -> Write:
    """Open the report; give a function that appends one row to it as one write."""
    # What tested code may replace is bound now: it shares this process.
    write, quote, getpid, pid = (
        os.write,
        json.encoder.encode_basestring_ascii,
        os.getpid,
        os.getpid(),
    )
    target = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    targets = [target, _STDOUT]

    def append(row: Row) -> None:
        # A forked child that comes back into pytest says nothing.
        if getpid() != pid:
            return
        pairs = (f"{quote(name)}: {_word(value, quote)}" for name, value in row.items())
        text = ("{" + ", ".join(pairs) + "}").encode("ascii")
        line = seal(text) + b" " + text + b"\n"
        for each in targets:
            write(each, line)
        # Only the first row goes to standard output as well.
        del targets[1:]

    return append


def _word(value: object, quote: Callable[[str], str]) -> str:
    if isinstance(value, str):
        return quote(value)
    if value is True:
        return "true"
    return f"{value:d}"  # a status


class Reporter:
    """The pytest plugin that writes the report."""

    def __init__(self, write: Write, *, collect: bool, only: Sequence[str] = ()) -> None:
        self.write = write
        self.collect = collect
        self.only = set(only)
        self.session_ended = False
        self._raised: Dict[Tuple[str, str], str] = {}  # noqa: UP006 - as above

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note what could not be collected."""
        if report.failed:
            self.write({"event": "uncollected", "id": report.nodeid, "why": _why(report)})

    def pytest_collection_modifyitems(
        self,
        config: pytest.Config,
        items: List[pytest.Item],  # noqa: UP006 - as above
    ) -> None:
        """Leave out what does not count: it could take the session down with it."""
        if not self.only:
            return
        kept = [item for item in items if self._counts(item.nodeid)]
        left = [item for item in items if not self._counts(item.nodeid)]
        config.hook.pytest_deselected(items=left)
        items[:] = kept

    def _counts(self, name: str) -> bool:
        return name in self.only or name.partition("[")[0] in self.only

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """List the tests, when asked for."""
        if self.collect:
            for item in session.items:
                self.write({"event": "test", "id": item.nodeid, "mark": _mark(item)})

    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Iterator[None]:
        """Remember what a phase raised, whatever its report will say."""
        raised = call.excinfo
        report = yield
        # What unittest caught comes to light only while the report is made.
        raised = raised or call.excinfo
        self._raised[item.nodeid, call.when] = raised.typename if raised else ""
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note one phase of one test."""
        row: Row = {
            "event": "phase",
            "id": report.nodeid,
            "when": report.when,
            "outcome": report.outcome,
        }
        raised = self._raised.pop((report.nodeid, report.when), None)
        if hasattr(report, "wasxfail"):
            row["xfail"] = True
        # pytest's subtests report under the id of their test, before it does.
        if getattr(report, "context", None) is not None:
            row["sub"] = True
        if report.outcome != "passed":
            row["why"] = _why(report)
        elif raised != "":
            row["outcome"] = "failed"
            how = "did not run" if raised is None else f"raised {raised}"
            row["why"] = f"reported as passed, but {how}"
        self.write(row)

    def pytest_sessionfinish(self) -> None:
        """Note that the session came to its end."""
        self.session_ended = True


def _why(report: pytest.CollectReport | pytest.TestReport) -> str:
    longrepr = report.longrepr
    if hasattr(report, "wasxfail"):
        # pytest 8.3 and older say "reason: ..." for an xfail that the test itself raised.
        return str(report.wasxfail).removeprefix("reason: ")[:_TEXT_LIMIT]
    if isinstance(longrepr, tuple):  # a skip: file, line, reason
        return str(longrepr[-1])[:_TEXT_LIMIT].removeprefix("Skipped: ")
    crash = getattr(longrepr, "reprcrash", None)
    if crash is not None:
        return str(crash.message)[:_TEXT_LIMIT]
    # A collection error is a text whose end says what was wrong.
    return str(longrepr or "")[-_TEXT_LIMIT:]


def _mark(item: pytest.Item) -> str:
    """What the test's own marks say of it: ``run``, ``skip`` or ``xfail``."""
    owners = (getattr(item, "obj", None), getattr(item, "cls", None))
    if any(getattr(owner, "__unittest_skip__", False) is True for owner in owners):
        return "skip"
    if any(getattr(owner, "__unittest_expecting_failure__", False) is True for owner in owners):
        return "xfail"
    if any(True for _ in item.iter_markers("skip")):
        return "skip"
    for name, word in (("skipif", "skip"), ("xfail", "xfail")):
        if any(_holds(mark, item) for mark in item.iter_markers(name)):
            return word
    return "run"


def _holds(mark: pytest.Mark, item: pytest.Item) -> bool:
    """Whether a ``skipif`` or ``xfail`` applies: it has no condition, or a true one."""
    conditions: List[object] = list(mark.args)  # noqa: UP006 - as above
    if "condition" in mark.kwargs:
        conditions = [mark.kwargs["condition"]]
    return not conditions or any(_is_true(condition, item) for condition in conditions)


def _is_true(condition: object, item: pytest.Item) -> bool:
    if not isinstance(condition, str):
        return bool(condition)
    names = {"os": os, "sys": sys, "platform": platform, "config": item.config}
    names.update(getattr(getattr(item, "obj", None), "__globals__", {}))
    # The author's own expression, before any agent: pytest evaluates it like this.
    return bool(eval(condition, names))  # noqa: S307


if __name__ == "__main__":
    main()
