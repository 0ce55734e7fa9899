"""The program that runs hidden tests inside a sandbox; staged beside them, started with ``-I -B``.

Knows the standard library and pytest only, and runs on Python 3.9 and later.
Standard input holds one JSON object: ``pytest`` (the directory that holds it),
``path`` (directories of the tests), ``workspace``, ``tests``, ``config``,
``report`` (a file that must not exist yet), ``key`` (what each line of it
carries), ``collect`` (whether to list tests instead of running them).

The report is one JSON object a line. ``started`` is the first one: until it is
written nothing from the workspace can have been imported.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Callable, Dict, List  # noqa: UP035 - Python 3.9 evaluates them

if TYPE_CHECKING:
    import pytest

Row = Dict[str, object]  # noqa: UP006 - as above
Write = Callable[[Row], None]

_TEXT_LIMIT = 2000


def main() -> None:
    """Run or list the tests; end the process with pytest's status."""
    request = json.loads(sys.stdin.buffer.read())
    # The request must not be there to be read again: it says where the report is.
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    # For processes that the tests start; this one was told by ``-B``.
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    for name in ("PYTEST_ADDOPTS", "PYTEST_PLUGINS"):
        os.environ.pop(name, None)
    sys.path.insert(0, request["pytest"])
    runner = import_module("pytest")
    reporter = Reporter(
        report_writer(request.pop("report"), request.pop("key")), collect=request["collect"]
    )
    reporter.write({"event": "started", "pytest": runner.__version__})
    # The workspace comes last: it can shadow neither the standard library, nor
    # pytest, nor what lies beside the tests.
    sys.path += [*request["path"], request["workspace"]]
    status = runner.main(pytest_arguments(request), plugins=[reporter])
    sys.stdout.flush()
    sys.stderr.flush()
    # Threads and exit handlers of the tested code have no say any more.
    os._exit(int(status))


def pytest_arguments(request: dict[str, str]) -> list[str]:
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
    return [*options, request["tests"]]


def report_writer(path: str, key: str) -> Write:
    """Open the report; give a function that appends one object to it as one write."""
    # What tested code may replace is bound now: it shares this process.
    write, dumps, getpid, pid = os.write, json.dumps, os.getpid, os.getpid()
    target = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)

    def append(row: Row) -> None:
        # A forked child of the tested code that comes back into pytest says nothing.
        if getpid() == pid:
            write(target, (dumps({"key": key, **row}) + "\n").encode("ascii"))

    return append


class Reporter:
    """The pytest plugin that writes the report."""

    def __init__(self, write: Write, *, collect: bool) -> None:
        self.write = write
        self.collect = collect

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note what could not be collected."""
        if report.failed:
            self.write({"event": "uncollected", "id": report.nodeid, "why": _why(report)})

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """List the tests, when asked for."""
        if self.collect:
            for item in session.items:
                self.write({"event": "test", "id": item.nodeid, "mark": _mark(item)})

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note one phase of one test."""
        row: Row = {
            "event": "phase",
            "id": report.nodeid,
            "when": report.when,
            "outcome": report.outcome,
        }
        if hasattr(report, "wasxfail"):
            row["xfail"] = True
        # pytest's subtests report under the id of their test, before it does.
        if getattr(report, "context", None) is not None:
            row["sub"] = True
        if report.outcome != "passed":
            row["why"] = _why(report)
        self.write(row)

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        """Note that the session came to its end."""
        self.write({"event": "finished", "status": int(exitstatus)})


def _why(report: pytest.CollectReport | pytest.TestReport) -> str:
    longrepr = report.longrepr
    if hasattr(report, "wasxfail"):
        return str(report.wasxfail)[:_TEXT_LIMIT]
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
