"""Where attacks are run: a project of two tasks, through the real pytest."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import pytest
from redteam.attack import ROOT, TOKEN, Attack, Json, Task
from redteam.targets import NEXT, NEXT_STEPS, WORD

from projects import Project
from pytest_agentbench.sandboxes import cgroups

_GIT = ("git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")


@dataclass(frozen=True, slots=True)
class Driver:
    """The walls of a session: what a task says of its sandbox.

    ``quick``: a trial costs so little that one more does not matter.
    """

    name: str
    sandbox: Mapping[str, Json] = field(default_factory=dict)
    quick: bool = True

    def around(self, task: Task) -> Json:
        """The task with these walls, and with what it asks of walls itself."""
        own = task.get("sandbox", {})
        assert isinstance(own, dict)
        return {**task, "sandbox": {"driver": self.name, **self.sandbox, **own}}


LOCAL = Driver("local")
BUBBLEWRAP = Driver("bubblewrap")
DOCKER = Driver("docker", {"image": "agentbench-test/python:1"}, quick=False)


def require_limits(driver: Driver, names: Iterable[str]) -> None:
    """Skip where this machine cannot limit what an attack has to run into."""
    support = cgroups.probe()
    lacking = [name for name in names if driver.name == "bubblewrap" and not getattr(support, name)]
    if lacking:
        pytest.skip(f"no limit of {', '.join(lacking)} on this machine: {dict(support.notes)}")


@dataclass(frozen=True, slots=True)
class Found:
    """What one session left.

    ``cases`` are the names in the JUnit file, ``touched`` what differs of the project's
    own files, ``survivors`` the command lines of the agent's processes that live.
    """

    records: Mapping[str, dict[str, Any]]
    cases: tuple[str, ...]
    result: pytest.RunResult
    touched: tuple[str, ...]
    survivors: tuple[str, ...]

    def outcome(self, key: str) -> tuple[str, str | None]:
        """Outcome and reason of a trial."""
        return self.records[key]["outcome"], self.records[key]["reason"]


@dataclass(frozen=True, slots=True)
class Arena:
    """One driver, and the project that sessions are run in."""

    project: Project
    driver: Driver

    @classmethod
    def in_project(cls, project: Project, driver: Driver) -> Self:
        """An arena whose root directory is found whatever lies above it."""
        project.write("pytest.ini", "[pytest]\n")
        return cls(project, driver)

    @property
    def root(self) -> Path:
        """The root directory of the project."""
        return self.project.pytester.path

    @property
    def token(self) -> str:
        """What no other session's processes have in their command line."""
        return f"redteam-{os.getpid()}-{self.root.name}"

    def attacked(self, attack: Attack) -> Found:
        """Run an attack on the first task; on the second one it works honestly."""
        self.project.write("hidden/word.txt", f"{WORD}\n")
        for number, files in enumerate(attack.history):
            self._commit(files, first=number == 0)
        for name, text in attack.overlay.items():
            self.project.write(f"overlay/{name}", text)
        attacker: dict[str, Json] = {
            "agent": "scripted",
            "options": {"tasks": {"target": list(attack.steps), "next": NEXT_STEPS}},
        }
        if attack.overlay:
            attacker["overlay"] = "overlay"
        tasks = {"target": attack.target, "next": NEXT}
        # Whoever does nothing on the target as well would see a template that was poisoned.
        fewer = () if self.driver.quick else ("-k", "attacker or next")
        return self.run(tasks, {"attacker": attacker}, *fewer)

    def careless(self, attack: Attack) -> Found:
        """Run an attack on a task with the oracle that it beats in the place of its own."""
        assert attack.beats is not None
        task = {**attack.target, "oracles": [dict(attack.beats)]}
        attacker: Json = {"agent": "scripted", "options": {"steps": list(attack.steps)}}
        return self.run({"target": task}, {"attacker": attacker})

    def run(self, tasks: Mapping[str, Task], variants: Mapping[str, Json], *args: str) -> Found:
        """One session of these tasks and variants, beside an agent that does nothing."""
        for name, task in tasks.items():
            self.project.write(f"tasks/{name}.yaml", json.dumps(self.driver.around(task)))
        everybody: Json = {**variants, "idle": {"agent": "noop"}}
        self.project.write("agentbench.yaml", self._placed({"variants": everybody}))
        files = [f"tasks/{name}.yaml" for name in tasks]
        before = self._own_files()
        result = self.project.run("--junitxml=junit.xml", *files, *args)
        after = self._own_files()
        touched = [path for path in {*before, *after} if before.get(path) != after.get(path)]
        return Found(
            records=self.project.records(),
            cases=tuple(self.project.junit()),
            result=result,
            touched=tuple(sorted(touched)),
            survivors=tuple(self._survivors()),
        )

    def _survivors(self) -> list[str]:
        found = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if self.token in line:
                found.append(line)
        return found

    def _own_files(self) -> dict[str, bytes]:
        """All files of the project's but those that a session makes."""
        made = (".agentbench/", "junit.xml", "runpytest-", "stdout", "stderr")
        files = {str(path.relative_to(self.root)): path for path in self.root.rglob("*")}
        return {
            name: path.read_bytes()
            for name, path in files.items()
            if not name.startswith(made) and path.is_file()
        }

    def _placed(self, value: Json) -> str:
        text = json.dumps(value)
        return text.replace(ROOT, str(self.root)).replace(TOKEN, self.token)

    def _commit(self, files: Mapping[str, str], *, first: bool) -> None:
        for name, text in files.items():
            self.project.write(f"repo/{name}", text)
        place = self.root / "repo"
        commands = [["init", "-q"]] if first else []
        commands += [["add", "-A"], ["commit", "-q", "-m", "more"]]
        commands += [["tag", "start"]] if first else []
        for command in commands:
            subprocess.run([*_GIT, *command], cwd=place, check=True)
