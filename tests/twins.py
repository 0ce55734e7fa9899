"""One project twice: as task files, and as the Python tests that they must behave like.

Same names, same marks, same fixtures, same outcomes; one has ``.yaml`` where the other
has ``.py``. What pytest does with the one it has to do with the other.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["tasks", "twin"]

KINDS: tuple[Kind, Kind] = ("tasks", "twin")
VARIANTS = ("able", "lazy")
OUTCOMES = {
    "alpha": ("passed", "failed"),
    "a": ("passed", "failed"),
    "b": ("passed", "passed"),
    "beta": ("error", "passed"),
    "gamma": ("skipped", "skipped"),
    "delta": ("xfailed", "xpassed"),
}
"""How each task ends with each variant."""
FILES = {
    "tasks/one.yaml": ("alpha",),
    "tasks/rows.yaml": ("a", "b"),
    "tasks/sub/two.yaml": ("beta",),
    "tasks/zz-gamma.yaml": ("gamma",),
    "tasks/zz_delta.yaml": ("delta",),
}
TAGS = {"alpha": ("smoke", "python"), "beta": ("slow",), "delta": ("smoke",)}

_INI = """\
[pytest]
python_files = one.py rows.py two.py zz*.py
python_functions = *
"""
_HEADS = (
    "agentbench:",
    "plugins:",
    "asyncio:",
    "cachedir:",
    "metadata:",
    "rootdir:",
    "configfile:",
    "platform ",
)
_RECORDER = """\
import json, os
from pathlib import Path
import pytest

log = Path(__file__).with_name("log.jsonl")

def note(**line):
    if "PYTEST_XDIST_WORKER" not in os.environ:
        with log.open("a") as file:
            file.write(json.dumps(line) + "\\n")

def pytest_runtest_logreport(report):
    outcome = report.outcome
    if hasattr(report, "wasxfail"):
        outcome = "xfailed" if report.skipped else "xpassed"
    note(event="report", id=report.nodeid, when=report.when, outcome=outcome)

def pytest_deselected(items):
    for item in items:
        note(event="deselected", id=item.nodeid)

def pytest_collectreport(report):
    if not report.passed:
        note(event="collect", id=report.nodeid, outcome=report.outcome)

def pytest_itemcollected(item):
    marks = {mark.name for mark in item.iter_markers()} - {"parametrize"}
    note(event="collected", id=item.nodeid, marks=sorted(marks))
"""
_CHAIN = '''\

# The chain of fixtures that a task's test has, here without anything behind it.
OUTCOMES = %s
VARIANTS = %s

@pytest.fixture
def agentbench_trial(request):
    """The trial of this test: one task, one variant, one repeat."""
    return OUTCOMES[request.function.__name__][request.param]

@pytest.fixture
def agentbench_sandbox(agentbench_trial, request):
    """The sandbox that the agent works in, on a fresh copy of the task's workspace."""
    yield agentbench_trial

@pytest.fixture
def agentbench_run(agentbench_sandbox, request):
    """What the agent did, after its sandbox was torn down: every process of it is dead."""
    if agentbench_sandbox == "error" and not request.config.getoption("setuponly"):
        pytest.fail("agent_crash", pytrace=False)
    return agentbench_sandbox

@pytest.fixture
def agentbench_verdict(agentbench_run, agentbench_sandbox):
    """What the hidden oracles say of what the agent left."""
    return agentbench_run
'''
_TWIN = """\
import pytest

for _name, _tags in %s:
    def _function(agentbench_verdict):
        if agentbench_verdict in ("failed", "xfailed"):
            pytest.fail("wrong", pytrace=False)
    _function.__name__ = _function.__qualname__ = _name
    for _tag in _tags:
        _function = getattr(pytest.mark, _tag)(_function)
    if _name == "gamma":
        _function = pytest.mark.skip(reason="not today")(_function)
    if _name == "delta":
        _function = pytest.mark.xfail(reason="too hard")(_function)
    globals()[_name] = pytest.mark.parametrize(
        "agentbench_trial", [0, 1], ids=["able-r1", "lazy-r1"], indirect=True
    )(_function)
del _function
"""
_ORACLE = "oracles: [{files: {out.txt: {equals: right}}}]\n"
_WORK = {
    "passed": "printf right >out.txt",
    "failed": "printf wrong >out.txt",
    "error": "exit 3",
    "skipped": ":",
    "xfailed": ":",
    "xpassed": "printf right >out.txt",
}
"""What the agent does, in the shell: one that starts no Python makes the sessions short."""


@dataclass(frozen=True)
class Session:
    """What one session of pytest did, with ``.py`` for ``.yaml`` in all names."""

    status: int
    output: str
    collected: list[str]
    marks: dict[str, list[str]]
    deselected: list[str]
    ran: list[tuple[str, str]]
    broken: list[str]
    cases: list[tuple[str, str, str]] = field(default_factory=list)
    failed_last: list[str] = field(default_factory=list)

    @property
    def counts(self) -> Counter[str]:
        """How many ended how."""
        return Counter(outcome for _, outcome in self.ran)


def write(root: Path, kind: Kind) -> None:
    """Write one of the two projects below ``root``."""
    tags = sorted({tag for tags in TAGS.values() for tag in tags})
    lines = {
        "pytest.ini": _INI + "markers =\n" + "".join(f"    {tag}\n" for tag in tags),
        "conftest.py": _RECORDER,
    }
    if kind == "tasks":
        lines["pytest.ini"] += "agentbench_sandbox = local\n"
        lines |= _tasks()
    else:
        lines["conftest.py"] += _CHAIN % (OUTCOMES, VARIANTS)
        for name, tasks in FILES.items():
            marked = [(task, TAGS.get(task, ())) for task in tasks]
            lines[name.replace(".yaml", ".py")] = _TWIN % (marked,)
    for name, text in lines.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def _tasks() -> dict[str, str]:
    texts = {}
    for name, tasks in FILES.items():
        text = f"prompt: Write the right word to out.txt.\n{_ORACLE}"
        if len(tasks) > 1:
            text += "dataset: {path: rows.jsonl}\n"
        else:
            (task,) = tasks
            text += f"id: {task}\ntags: [{', '.join(TAGS.get(task, ()))}]\n"
        if tasks == ("gamma",):
            text += "skip: not today\n"
        if tasks == ("delta",):
            text += "xfail: too hard\n"
        texts[name] = text
    texts["tasks/rows.jsonl"] = '{"id": "a"}\n{"id": "b"}\n'
    lines = ["variants:\n"]
    for place, variant in enumerate(VARIANTS):
        cases = ";; ".join(f"{task}) {_WORK[ends[place]]}" for task, ends in OUTCOMES.items())
        script = f"case $AGENTBENCH_TASK in {cases};; esac"
        lines.append(f"  {variant}: {{agent: command, options: {{run: '{script}'}}}}\n")
    texts["agentbench.yaml"] = "".join(lines)
    return texts


def run(root: Path, kind: Kind, arguments: list[str]) -> Session:
    """Run pytest below ``root``; names of files in ``arguments`` are those of the tasks."""
    log, junit = root / "log.jsonl", root / "junit.xml"
    for path in (log, junit):
        path.unlink(missing_ok=True)
    given = [one if kind == "tasks" else _as_twin(one) for one in arguments]
    command = [sys.executable, "-m", "pytest", "--junitxml=junit.xml", *given]
    if kind == "twin":
        command[3:3] = ["-p", "no:agentbench"]
    done = subprocess.run(
        command,
        cwd=root,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        # Not what the xdist around us says to its own workers: the recorder would be silent.
        env={
            **{name: text for name, text in os.environ.items() if "XDIST" not in name},
            "COLUMNS": "200",
        },
    )
    lines = log.read_text().splitlines() if log.exists() else []
    return _session(root, done, [json.loads(line) for line in lines])


def _session(
    root: Path, done: subprocess.CompletedProcess[str], lines: list[dict[str, str]]
) -> Session:
    junit, last = root / "junit.xml", root / ".pytest_cache/v/cache/lastfailed"
    of = {
        event: [line for line in lines if line["event"] == event]
        for event in ("report", "deselected", "collect", "collected")
    }
    return Session(
        status=done.returncode,
        output=done.stdout,
        collected=[_as_twin(line["id"]) for line in of["collected"]],
        marks={_as_twin(line["id"]): list(line["marks"]) for line in of["collected"]},
        deselected=[_as_twin(line["id"]) for line in of["deselected"]],
        ran=_ran(of["report"]),
        broken=[_as_twin(line["id"]) for line in of["collect"]],
        cases=_cases(junit) if junit.exists() else [],
        failed_last=sorted(map(_as_twin, json.loads(last.read_text()))) if last.exists() else [],
    )


def _ran(reports: list[dict[str, str]]) -> list[tuple[str, str]]:
    """What pytest would count, in order."""
    ran = []
    for report in reports:
        outcome = report["outcome"]
        if report["when"] != "call":
            if outcome == "passed":
                continue
            outcome = "error" if outcome == "failed" else outcome
        ran.append((_as_twin(report["id"]), outcome))
    return ran


def _cases(path: Path) -> list[tuple[str, str, str]]:
    cases = []
    for case in ET.parse(path).iter("testcase"):
        ends = [one.tag for one in case if one.tag in ("failure", "error", "skipped")]
        classname = _as_twin(str(case.get("classname"))).removesuffix(".py")
        cases.append((classname, str(case.get("name")), "+".join(ends) or "passed"))
    return cases


def _as_twin(name: str) -> str:
    return name.replace(".yaml", ".py")


def shown(session: Session) -> list[str]:
    """What a session told, without our own lines, stories, times, places and the header."""
    output = re.sub(r"\x1b\[[0-9;]*m", "", _as_twin(session.output))
    output = re.sub(r"(?s)=+ agentbench =+\n.*?(?=\n=+ )", "", output)
    # What went wrong is told in other words: a story in one, a traceback in the other.
    output = re.sub(r"(?s)=+ (ERRORS|FAILURES) =+\n.*?(?=\n=+ )", "", output)
    output = re.sub(r"(?m)^((?:FAILED|ERROR) \S+) - .*", r"\1", output)
    output = re.sub(r"\b\d+\.\d+s\b|cache from \S+ ago", "N s", output)
    output = re.sub(r"(?m)^(SKIPPED .*?):\d+:", r"\1:N:", output)
    output = re.sub(r"(?s)=+ warnings summary =+\n.*?(?=\n=+ )", "", output)
    output = re.sub(r"=+|-{3,}", "=", output)
    output = re.sub(r"(?m)(?<=<Dir )\S+(?=>)", "DIR", output.replace("<TaskFile ", "<Module "))
    return [
        re.sub(r" +", " ", line)
        for line in output.splitlines()
        if line.strip("= ") and not line.startswith(_HEADS) and "generated xml file" not in line
    ]


@dataclass(frozen=True)
class Pair:
    """Two projects that pytest must not be able to tell apart."""

    root: Path

    def run(self, *arguments: str) -> tuple[Session, Session]:
        """Run pytest in both."""
        tasks, twin = (run(self.root / kind, kind, list(arguments)) for kind in KINDS)
        return tasks, twin

    def records(self) -> Counter[tuple[str, str]]:
        """Every attempt of the newest run: its trial's node id, and how it ended."""
        path = self.root / "tasks/.agentbench/latest/records.jsonl"
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        # What pytest says later of a trial (an xfail) amends its line.
        lines = {(row["key"], row["attempt"]): row for row in rows}
        return Counter(
            (row["nodeid"].replace(".yaml", ".py"), row["outcome"]) for row in lines.values()
        )


def measured(session: Session) -> Counter[tuple[str, str]]:
    """What the records have to say: xfail and xpass are how something else is called."""
    words = {"xfailed": "failed", "xpassed": "passed", "rerun": "failed"}
    return Counter((nodeid, words.get(outcome, outcome)) for nodeid, outcome in session.ran)


def check_alike(tasks: Session, twin: Session, *, in_order: bool = True) -> None:
    """Same exit status, items, marks, outcomes, JUnit cases, failures to repeat, and words."""
    assert tasks.status == twin.status, tasks.output
    assert twin.ran or twin.status != 1, "the recorder was silent"
    assert tasks.marks == twin.marks
    assert tasks.broken == twin.broken
    for ours, theirs in (
        (tasks.collected, twin.collected),
        (tasks.deselected, twin.deselected),
        (tasks.ran, twin.ran),
        (tasks.cases, twin.cases),
    ):
        if in_order:
            assert ours == theirs
        assert Counter(map(str, ours)) == Counter(map(str, theirs))
    assert tasks.failed_last == twin.failed_last
    if in_order:
        assert shown(tasks) == shown(twin)
