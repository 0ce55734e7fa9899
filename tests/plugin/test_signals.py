"""Ctrl-C, SIGTERM and SIGHUP at each phase of a session: nothing is left, nothing is lost.

Not everything is crossed. Each phase gets one Ctrl-C of a terminal (SIGINT to the whole
process group) in one process and in ``local``, which has the least to hold processes with.
The other signals are handled by the same code at any phase: they are sent while the agent
runs. ``bubblewrap`` and ``-n 2`` meet the phases in which they do something of their own.
Other plugins are not loaded: what they import at a session's end takes longer than all else.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from projects import Project
from pytest_agentbench.sandboxes.proc import children_of, stat_of
from pytest_agentbench.sandboxes.sweep import become_subreaper
from requirements import require

LISTENING = ("env", "--default-signal=INT")
"""Ctrl-C is ignored by what a shell without a terminal starts in the background, tests included."""

QUICK = "prompt: Be quick.\nworkspace: {files: {quick: ''}}\noracles: [{run: test -e done}]\n"
SLOW = "prompt: Take your time.\noracles: [{run: test -e done}]\n"
FOREVER = "sleep 600.MARK"
"""The mark tells the processes of one test from all others of the machine."""

TOUCH = """\
import os
import time
from pathlib import Path

import pytest


def touch(name):
    Path(os.environ["MARKS"], f"{name}-{os.getpid()}").touch()

"""

OPENING = """
from pytest_agentbench.sandboxes import base

real = base.copy_template


def copy_template(template, directory, *, stopped):
    if (template.directory / "quick").exists():
        return real(template, directory, stopped=stopped)
    touch("here")
    while not stopped():
        time.sleep(0.01)


base.copy_template = copy_template
"""

SETTLING = """
from pytest_agentbench.sandboxes import base

real = base.compare


def compare(*args, **options):
    if os.path.exists(os.fspath(args[1]) + "/slow"):
        touch("here")
        time.sleep(0.5)
    return real(*args, **options)


base.compare = compare
"""

BETWEEN = """
def pytest_runtest_logfinish(nodeid):
    if "bb" in nodeid and "PYTEST_XDIST_WORKER" not in os.environ:
        touch("here")
        time.sleep(600)
"""

TEARING_DOWN = """
@pytest.fixture(scope="session", autouse=True)
def slow_to_end():
    yield
    touch("here")
    time.sleep(600)
"""

COLLECTING = """
files = []


def pytest_collectreport(report):
    files.append(report.nodeid)
    if len(files) == 300:
        touch("here")
"""

PLANNED = """
@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session):
    touch("here")
    time.sleep(600)
"""

WRITING = """
from pytest_agentbench.pytest_integration import ledger

real = ledger.Ledger.write_manifest


def write_manifest(self, status=None):
    if status in (0, 1):
        touch("here")
        time.sleep(0.5)
    real(self, status)


ledger.Ledger.write_manifest = write_manifest
"""

SUMMARY = """
def pytest_terminal_summary(terminalreporter):
    touch("here")
    time.sleep(0.5)
    terminalreporter.write_line("the summary goes on")
"""

CLOSING = """
import asyncio

from pytest_agentbench.sandboxes import base


real = base.DirectorySandbox.close


async def close(self):
    if (self._places.workspace / "quick").exists():
        return await real(self)
    touch("here")
    await asyncio.sleep(600)


base.DirectorySandbox.close = close
"""


@dataclass(frozen=True)
class Phase:
    """Where a session is when the signal comes.

    ``finished`` trials of four are, in one process, scored by then; ``interrupted`` says
    whether the next one was on its way. A phase without ``conftest`` has come when a
    process that sleeps for ever is there.
    """

    task: str = SLOW
    agent: str = "touch slow"
    conftest: str = ""
    finished: int = 1
    interrupted: bool = True
    first: str | None = None

    @property
    def sign(self) -> str:
        """The name of the file that says that the phase has come; empty: see above."""
        return ("here" if self.conftest else "") if self.first is None else self.first


PHASES = {
    "setting up": Phase(task=f"{SLOW}workspace: {{setup: [{FOREVER}]}}\n"),
    "waiting for a slot": Phase(task=f"{SLOW}slots: {{gpu: 1}}\n"),
    "opening": Phase(task=f"{SLOW}workspace: big\n", conftest=OPENING),
    "agent": Phase(agent=FOREVER),
    "agent with limits": Phase(task=f"{SLOW}sandbox: {{memory: 300m}}\n", agent=FOREVER),
    "agent that ignores signals": Phase(agent=f'trap "" TERM INT HUP; {FOREVER}'),
    "agent with a daemon": Phase(agent=f"(setsid setsid {FOREVER} &); sleep 600"),
    "agent that stopped itself": Phase(agent=f"{FOREVER} & kill -STOP $$"),
    "settling": Phase(conftest=SETTLING),
    "oracle": Phase(task=f"prompt: x\noracles: [{{run: {FOREVER}}}]\n"),
    "between": Phase(conftest=BETWEEN, finished=2, interrupted=False),
    "tearing down": Phase(conftest=TEARING_DOWN, finished=4, interrupted=False),
    "collecting": Phase(conftest=COLLECTING, finished=0, interrupted=False),
    "planned": Phase(conftest=PLANNED, finished=0, interrupted=False),
    "writing results": Phase(conftest=WRITING, finished=4, interrupted=False),
    "summary": Phase(conftest=SUMMARY, finished=4, interrupted=False),
    # Both go on to hang after the first Ctrl-C.
    "closing": Phase(agent=FOREVER, conftest=CLOSING, first=""),
    "tearing down later": Phase(agent=FOREVER, conftest=TEARING_DOWN, first=""),
}


def wait_for(condition: Callable[[], object], what: str, timeout_s: float = 60.0) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.01)


def processes(mark: str) -> dict[int, bytes]:
    """The argv of each living process that has the mark in its argv or its environment."""
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        with suppress(OSError):
            argv = (entry / "cmdline").read_bytes()
            if mark.encode() in argv + (entry / "environ").read_bytes():
                found[int(entry.name)] = argv
    return found


def own_children() -> set[int]:
    """Living children of this process, orphans included; dead orphans are buried."""
    alive = set()
    for pid in children_of(os.getpid()):
        stat = stat_of(pid)
        if stat is not None and stat.state not in "ZX":
            alive.add(pid)
    return alive


class Session:
    """One pytest in a process of its own, with four tasks: a quick one, and three like it.

    The one slot that there is for each resource is held by the test.
    """

    def __init__(self, project: Project, tmp_path: Path, phase: Phase) -> None:
        self.project = project
        self.phase = phase
        self.mark = f"{os.getpid()}{time.monotonic_ns() % 10**9}"
        self.root = project.pytester.path
        self.marks = tmp_path / "marks"
        self.temporary = tmp_path / f"tmp-{self.mark}"
        self.locks = self.temporary / f"pytest-agentbench-slots-{os.getuid()}"
        for directory in (self.marks, self.temporary):
            directory.mkdir()
        self.locks.mkdir(mode=0o700)
        self.lock = os.open(self.locks / "gpu-0.lock", os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        self.workers = 0
        become_subreaper()
        self._before = own_children()
        self._write()

    def _write(self) -> None:
        for name in ("tasks/add.yaml", "tasks/greet.yaml"):
            (self.root / name).unlink()
        self.project.write("tasks/aa.yaml", QUICK)
        for name in ("bb", "cc", "dd"):
            self.project.write(f"tasks/{name}.yaml", self._marked(self.phase.task))
        agent = f"if [ -e quick ]; then touch done; else {self._marked(self.phase.agent)}; fi"
        variants = {"v": {"agent": "command", "options": {"run": agent}}}
        self.project.write("agentbench.yaml", json.dumps({"variants": variants}))
        self.project.write("conftest.py", TOUCH + self.phase.conftest)
        if "big" in self.phase.task:
            # Enough for the copy to be made in a thread.
            for number in range(2000):
                self.project.write(f"tasks/big/{number // 100}/{number}", "x")
        if self.phase.conftest == COLLECTING:
            for number in range(1000):
                self.project.write(f"tasks/more/m{number:04}.yaml", f"# {number}\n{SLOW}")

    def _marked(self, text: str) -> str:
        return text.replace("MARK", self.mark)

    def start(self, driver: str, *arguments: str) -> subprocess.Popen[str]:
        """Start it."""
        self.workers = 2 if arguments else 1
        plugins = ("-p", "agentbench", *(("-p", "xdist") if arguments else ()))
        command = [*LISTENING, sys.executable, "-m", "pytest", *plugins, *arguments]
        self.process = subprocess.Popen(
            [*command, "-p", "no:cacheprovider", "-v", "--agentbench-sandbox", driver],
            cwd=self.root,
            env={
                **{k: v for k, v in os.environ.items() if not k.startswith("PYTEST_XDIST")},
                "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
                "TMPDIR": str(self.temporary),
                "MARKS": str(self.marks),
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            text=True,
        )
        return self.process

    def wait_for_phase(self, name: str | None = None) -> None:
        """Wait until the session stands where the signal is to meet it."""

        def has_come() -> bool:
            if self.process.poll() is not None:
                pytest.fail(f"ended too early:\n{self.process.communicate()[0]}", pytrace=False)
            return self._is_there(self.phase.sign if name is None else name)

        wait_for(has_come, "the phase never came")

    def _is_there(self, name: str) -> bool:
        if self.phase.finished == 1 and len(self.records()) < 1:
            return False
        if "gpu" in self.phase.task:
            return (self.locks / "gpu.turn").exists()
        everywhere = self.phase.interrupted or self.phase.conftest in (COLLECTING, PLANNED)
        needed = self.workers if everywhere else 1
        if name:
            return len(list(self.marks.glob(f"{name}-*"))) >= needed
        return len(self.sleepers()) >= needed

    def sleepers(self) -> list[int]:
        """The processes of ours that sleep for ever."""
        argv = f"sleep\x00600.{self.mark}\x00".encode()
        return [pid for pid, words in processes(self.mark).items() if words == argv]

    def send(self, sent: str) -> None:
        """Send what ``SIGTERM to pytest`` or ``SIGINT to all`` says."""
        name, _, target = sent.partition(" to ")
        send = os.killpg if target == "all" else os.kill
        send(self.process.pid, signal.Signals[name])

    def end(self) -> str:
        """Its output, once it has ended; and nothing of it is left."""
        output, _ = self.process.communicate(timeout=60)
        assert self.process.returncode == 2, output
        assert not processes(self.mark), output
        wait_for(lambda: not own_children() - self._before, "a process outlives the session", 10)
        assert not list(self.temporary.glob("agentbench-*")), output
        assert self.mark not in Path("/proc/self/mountinfo").read_text(), output
        assert "Traceback" not in output
        assert "INTERNALERROR" not in output
        return output

    def records(self) -> dict[str, dict[str, object]]:
        """The records so far by task; none where no run was begun."""
        file = self.project.latest / "records.jsonl"
        if not file.exists():
            return {}
        lines = file.read_text().splitlines(keepends=True)
        rows = [json.loads(line) for line in lines if line.endswith("\n")]
        return {row["key"].partition("[")[0]: row for row in rows}

    def kill(self) -> None:
        """End whatever a failed test has left."""
        os.close(self.lock)
        self.process.kill()
        self.process.wait()
        for pid in processes(self.mark):
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)


Start = Callable[..., Session]


@pytest.fixture
def start(project: Project, tmp_path: Path) -> Iterator[Start]:
    """Starts a session, and waits until it is in a phase."""
    sessions: list[Session] = []

    def begin(phase: str, driver: str = "local", *arguments: str) -> Session:
        if driver == "bubblewrap":
            require("bubblewrap")
        session = Session(project, tmp_path, PHASES[phase])
        session.start(driver, *arguments)
        sessions.append(session)
        session.wait_for_phase()
        return session

    yield begin
    for session in sessions:
        session.kill()


def check_run(session: Session, output: str) -> None:
    """All four trials are accounted for, and the run directory is complete."""
    run = session.project.latest
    if session.phase.conftest == COLLECTING:
        assert not run.exists(), "nothing was planned yet"
        return
    records = session.records()
    assert set(records) == {"aa", "bb", "cc", "dd"}, output
    finished = session.phase.finished
    assert finished == 0 or records["aa"]["outcome"] == "passed"
    if session.workers == 1:
        outcomes = [(records[name]["outcome"], records[name]["reason"]) for name in records]
        scored = [("passed", None), *[("failed", "oracle")] * 3]
        assert outcomes == [*scored[:finished], *[("cancelled", "interrupted")] * (4 - finished)]
        words = [records[name]["message"] for name in records][finished:]
        began = ["interrupted while it ran"] if session.phase.interrupted else []
        assert words == [*began, *[""] * (len(words) - len(began))]
    manifest = json.loads((run / "manifest.json").read_text())
    assert manifest["exit_status"] == 2
    assert manifest["counts"]["planned"] == 4
    told = [row["outcome"] for row in records.values()]
    counted = {name: manifest["counts"][name] for name in ("passed", "failed", "cancelled")}
    assert counted == {name: told.count(name) for name in counted}
    assert (run / "plan.json").exists()
    assert not list(run.rglob("*.tmp"))
    assert f"4 planned: {counted['passed']} passed, {counted['failed']} failed" in output


@pytest.mark.parametrize("phase", [name for name in PHASES if PHASES[name].first is None])
def test_ctrl_c_at_each_phase(start: Start, phase: str) -> None:
    """One Ctrl-C: exit 2, nothing left, finished trials kept, the others told as cancelled."""
    session = start(phase)
    session.send("SIGINT to all")
    check_run(session, session.end())


@pytest.mark.parametrize(
    "phase",
    [
        "setting up",
        "waiting for a slot",
        "agent with a daemon",
        "oracle",
        "between",
        "collecting",
        "planned",
        "summary",
    ],
)
def test_ctrl_c_under_xdist(start: Start, phase: str) -> None:
    """The same with two workers, each in the midst of a trial."""
    session = start(phase, "local", "-n", "2")
    session.send("SIGINT to all")
    check_run(session, session.end())


@pytest.mark.parametrize("phase", ["setting up", "agent with a daemon", "oracle"])
def test_ctrl_c_in_bubblewrap(start: Start, phase: str) -> None:
    """The same where processes live behind walls."""
    session = start(phase, "bubblewrap")
    session.send("SIGINT to all")
    check_run(session, session.end())


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["one-process", "xdist"])
@pytest.mark.parametrize("sent", ["SIGINT to pytest", "SIGTERM to pytest", "SIGHUP to all"])
def test_other_signals_end_a_session_as_ctrl_c_does(
    start: Start, workers: tuple[str, ...], sent: str
) -> None:
    """SIGTERM as of a CI system, SIGHUP as of a terminal that is closed: exit 2, nothing left."""
    session = start("agent", "local", *workers)
    session.send(sent)
    check_run(session, session.end())


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["one-process", "xdist"])
def test_sigterm_while_files_are_collected(start: Start, workers: tuple[str, ...]) -> None:
    """SIGTERM before anything is planned ends the session as Ctrl-C does."""
    session = start("collecting", "local", *workers)
    session.send("SIGTERM to pytest")
    check_run(session, session.end())


@pytest.mark.parametrize(
    ("phase", "workers"),
    [("closing", ()), ("closing", ("-n", "2")), ("tearing down later", ())],
)
def test_a_second_ctrl_c_waits_for_nothing(
    start: Start, phase: str, workers: tuple[str, ...]
) -> None:
    """A sandbox that will not close, a fixture that hangs: the second Ctrl-C ends the session."""
    session = start(phase, "local", *workers)
    session.send("SIGINT to all")
    session.wait_for_phase("here")
    session.send("SIGINT to all")
    check_run(session, session.end())


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["one-process", "xdist"])
def test_a_killed_session_leaves_no_daemon(start: Start, workers: tuple[str, ...]) -> None:
    """``kill -9`` of pytest itself: what agents have started dies, also out of their reach.

    The sandboxes that nobody could remove are removed by the next session.
    """
    session = start("agent with a daemon", "local", *workers)
    session.process.kill()
    wait_for(lambda: not processes(session.mark), "a process outlives the session", 20)
    session.project.script(**dict.fromkeys(("aa", "bb", "cc", "dd"), "[{run: 'touch done'}]"))
    session.process.communicate()
    session.start("local")
    output, _ = session.process.communicate(timeout=60)
    assert session.process.returncode == 0, output
    assert not list(session.temporary.glob("agentbench-*"))


@pytest.mark.parametrize("restarts", [1, 0])
def test_a_killed_worker_is_an_error_of_its_trial(start: Start, restarts: int) -> None:
    """``kill -9`` of one worker: its trial crashed, and what it had started or made is gone.

    Also where no other worker takes its place, and finds what it left.
    """
    session = start("agent with a daemon", "local", "-n", "2", f"--max-worker-restart={restarts}")
    daemon = session.sleepers()[0]
    made = set(session.temporary.glob("agentbench-*"))
    about = stat_of(daemon)
    assert about is not None
    assert about.parent not in (session.process.pid, os.getpid()), "the worker adopted it"
    os.kill(about.parent, signal.SIGKILL)
    wait_for(lambda: daemon not in session.sleepers(), "the daemon lives on")
    if restarts:
        # A Python that is interrupted as it starts says so with a traceback.
        wait_for(lambda: set(session.temporary.glob("agentbench-*")) - made, "no worker instead")
    session.send("SIGINT to all")
    session.end()
    told = [(row["outcome"], row["reason"]) for row in session.records().values()]
    crashed, stopped = told.count(("error", "crash")), told.count(("cancelled", "interrupted"))
    # The Ctrl-C may come before the controller has heard of the death.
    assert crashed == 1 or (crashed == 0 and not restarts)
    assert told.count(("passed", None)) + crashed + stopped == len(told)
