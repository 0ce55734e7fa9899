"""What may not be rewritten while a judge runs, in real sandboxes: who is blamed for what."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from pytest_agentbench.engine.judge import Bench, Judgement, judge
from pytest_agentbench.engine.preparation import Preparations
from pytest_agentbench.engine.protection import protected_paths
from pytest_agentbench.engine.tampering import guarded, refuse_altered
from pytest_agentbench.errors import SetupError
from pytest_agentbench.model.contracts import (
    SandboxDriver,
    SandboxRequest,
    StagedOracle,
    Subject,
    Template,
)
from pytest_agentbench.model.run import AgentRun
from pytest_agentbench.model.task import (
    FileTree,
    Limits,
    OracleSpec,
    Position,
    Reveal,
    SandboxSpec,
    TaskSpec,
    Workspace,
)
from pytest_agentbench.model.trial import TrialSpec
from pytest_agentbench.model.variant import Variant
from pytest_agentbench.oracles.run import RunOracle
from pytest_agentbench.sandboxes.driverbase import SandboxHost
from pytest_agentbench.sandboxes.templates import Templates
from pytest_agentbench.testing.host import blobs, sandbox_host, template_of
from pytest_agentbench.wiring import build_driver
from requirements import require

PLAIN = SandboxSpec()
PLACE = Position(Path("task.yaml"), 1)
START = {
    "app.sh": "true",
    "tests/test_app.sh": "sh app.sh",
    "tests/rows.db": "rows",
    "conftest.py": "original",
    "SKILL.md": "how to",
}
HONEST = {"done": "yes"}


@dataclass
class Room:
    """A driver, a template, and judges of what an agent has left."""

    driver: SandboxDriver
    template: Template
    protect: tuple[str, ...] = ("tests/**", "conftest.py")
    reveal: Reveal = "reasons"
    delta: dict[str, str] = field(default_factory=dict)

    def judged(self, left: dict[str, str], *oracles: StagedOracle) -> Judgement:
        """What the judges say of what an agent has left."""
        return asyncio.run(self._judged(left, oracles))

    async def _judged(self, left: dict[str, str], oracles: tuple[StagedOracle, ...]) -> Judgement:
        agents = await self.driver.open(self.template, SandboxRequest(PLAIN, label="agent"))
        await agents.write(blobs(left))
        run = AgentRun(changes=await agents.settle())
        workspace = Workspace(protect=self.protect)
        task = TaskSpec("task", PLACE, "Do it.", (), digest="d", workspace=workspace)
        trial = TrialSpec(task, Variant("v", "noop"), 1, Limits(), PLAIN, reveal=self.reveal)
        watched = guarded(self.template, protected_paths(task, self.template.manifest))
        request = SandboxRequest(PLAIN, delta=run.changes, label="scoring")
        try:
            bench = Bench(self.driver, self.template, request, {}, watched)
            return await judge(oracles, Subject(trial, run), bench)
        finally:
            await agents.close()


@pytest.fixture
def host(tmp_path: Path) -> Iterator[SandboxHost]:
    with sandbox_host(tmp_path) as host:
        yield host


@pytest.fixture
def room(host: SandboxHost) -> Room:
    """Without walls: what a judge's program starts can really write everywhere."""
    return Room(build_driver("local", host), template_of(START, host))


@pytest.fixture
def walled(host: SandboxHost) -> Room:
    require("bubblewrap")
    return Room(build_driver("bubblewrap", host), template_of(START, host))


def run(script: str, name: str = "hidden", *, advisory: bool = False) -> StagedOracle:
    """An oracle with a file of its own that runs a shell script."""
    assets = FileTree(files={"answers.txt": "42", "more/x": ""})
    spec = OracleSpec("run", name, PLACE, script, assets=assets, advisory=advisory)
    return RunOracle().prepare(spec)


REWRITE = {"app.sh": 'chmod u+w "$ORACLE" "$ORACLE/answers.txt"; echo 43 > "$ORACLE/answers.txt"'}

SAME_SIZE_AND_TIME = """
touch -r "$ORACLE/more/x" t; cd "$ORACLE"; chmod +w *
printf 24 > answers.txt; touch -r "$OLDPWD/t" answers.txt
"""


def test_a_rewritten_oracle_has_been_tampered_with(room: Room) -> None:
    """Code of the agent's that rewrites the judge's own file: failed, whatever the judge says."""
    found = room.judged(REWRITE, run("sh app.sh"), run("true", "later"))
    assert found.tampered == (
        "code that the agent left rewrote its own file answers.txt while oracle hidden ran"
    )
    tampered, later = found.results
    assert (tampered.passed, tampered.score, tampered.sound) == (False, 0.0, False)
    assert tampered.details == {"rewritten": ["answers.txt"]}
    assert later.passed
    assert found.diagnostics == ()


@pytest.mark.parametrize(
    "script",
    [
        'rm -rf "$ORACLE/answers.txt"',
        'rm -rf "$ORACLE"',
        'mv "$ORACLE/answers.txt" "$ORACLE/a"; ln -s a "$ORACLE/answers.txt"',
        'rm "$ORACLE/answers.txt"; mkdir "$ORACLE/answers.txt"',
        'printf 24 > "$ORACLE/n"; mv "$ORACLE/n" "$ORACLE/answers.txt"',
        SAME_SIZE_AND_TIME,
    ],
    ids=["removed", "all-removed", "linked", "directory", "renamed-over", "same-size-and-time"],
)
def test_no_way_of_rewriting_is_overlooked(room: Room, script: str) -> None:
    """Removed, replaced or rewritten with old size and time: each is seen."""
    found = room.judged({"app.sh": f'chmod u+w "$ORACLE"; {script}'}, run("sh app.sh; true"))
    assert found.tampered is not None
    assert "answers.txt" in found.tampered


def test_behind_walls_the_attempt_fails(walled: Room) -> None:
    """In bubblewrap the oracle's files are read-only: nothing was rewritten, and nothing told."""
    found = walled.judged(REWRITE, run('sh app.sh; test "$(cat "$ORACLE/answers.txt")" = 42'))
    assert found.tampered is None
    assert found.results[0].passed
    assert found.diagnostics == ()


def test_honest_work_is_left_alone(room: Room) -> None:
    """What an oracle adds beside its files, and what is touched or made executable, is nothing."""
    script = (
        'chmod u+w "$ORACLE"; echo report > "$ORACLE/report.txt"; touch "$ORACLE/answers.txt";'
        ' chmod +x "$ORACLE/answers.txt" conftest.py; touch tests/new_test.py'
    )
    found = room.judged(HONEST, run(script))
    assert (found.tampered, found.diagnostics, found.results[0].passed) == (None, (), True)


def test_a_judge_that_rewrites_itself_is_only_told(room: Room) -> None:
    """What happens without the agent's work too is the judge's own way: its answer counts."""
    found = room.judged(HONEST, run(REWRITE["app.sh"]))
    assert (found.tampered, found.results[0].passed) == (None, True)
    assert found.diagnostics == ("rewrote its own file answers.txt while oracle hidden ran",)


def test_the_sources_of_tests_and_their_configuration_are_the_templates(
    room: Room, walled: Room
) -> None:
    """Restored before each judge, they are not rewritten while one runs; walls or none."""
    code = {"app.sh": "echo exit 0 > tests/test_app.sh; echo hook > conftest.py"}
    for one in (room, walled):
        found = one.judged(code, run("sh app.sh; sh tests/test_app.sh"))
        assert found.tampered == (
            "code that the agent left rewrote conftest.py, tests/test_app.sh"
            " while oracle hidden ran"
        )
        assert not found.results[0].passed


def test_data_of_tests_may_be_written(room: Room) -> None:
    """A database or snapshot in a protected directory is the tests' to write: told, no more."""
    found = room.judged({"app.sh": "echo more > tests/rows.db"}, run("sh app.sh"))
    assert (found.tampered, found.results[0].passed) == (None, True)
    assert found.diagnostics == ("rewrote tests/rows.db while oracle hidden ran",)


def test_the_overlay_stays_as_it_is(room: Room) -> None:
    """Code that rewrites a file of the variant's overlay while it is judged has tampered."""
    room.template = replace(room.template, overlay=frozenset({b"SKILL.md"}))
    found = room.judged({"app.sh": "echo cheat > SKILL.md"}, run("sh app.sh"))
    assert found.tampered == (
        "code that the agent left rewrote SKILL.md of the overlay while oracle hidden ran"
    )


def test_an_advisory_judge_sees_it_too(room: Room) -> None:
    """Whose file was rewritten makes no difference: the agent's code has done it."""
    found = room.judged(REWRITE, run("sh app.sh", advisory=True), run("true", "other"))
    assert found.tampered is not None


def test_the_first_fault_in_time_stays_the_outcome(room: Room) -> None:
    """What is rewritten after something that had to pass has failed is a diagnostic."""
    found = room.judged(REWRITE, run("false", "first"), run("sh app.sh", "second"))
    assert found.tampered is None
    assert found.diagnostics == ("rewrote its own file answers.txt while oracle second ran",)
    assert [result.passed for result in found.results] == [False, False]


def test_names_of_hidden_files_are_told_as_far_as_they_may_be(room: Room) -> None:
    """With ``reveal: verdict`` nobody learns what an oracle's files are called."""
    room.reveal = "verdict"
    found = room.judged(REWRITE, run("sh app.sh"))
    assert found.tampered == (
        "code that the agent left rewrote its own file while oracle hidden ran"
    )


def test_many_names_are_cut(room: Room) -> None:
    """A message names five, a record at most fifty."""
    names = [f"a{number:02}.txt" for number in range(60)]
    spec = OracleSpec(
        "run", "hidden", PLACE, "sh app.sh",
        assets=FileTree(files=dict.fromkeys(names, "x")),
    )  # fmt: skip
    code = {"app.sh": 'chmod -R u+w "$ORACLE"; rm "$ORACLE"/*.txt'}
    found = room.judged(code, RunOracle().prepare(spec))
    assert found.tampered is not None
    assert "a00.txt, a01.txt, a02.txt, a03.txt, a04.txt and 55 more" in found.tampered
    kept = found.results[0].details["rewritten"]
    assert isinstance(kept, list)
    assert len(kept) == 50


# -- on disk


def test_a_template_that_was_written_to_is_refused(room: Room) -> None:
    """Changed, removed or of another kind: an error of set-up that names what; else nothing."""
    template, built = room.template, time.time_ns()
    asyncio.run(refuse_altered(template, built, where="task"))
    place = template.directory / "tests/rows.db"
    os.utime(place)
    asyncio.run(refuse_altered(template, built, where="task"))
    place.write_text("r0ws")
    (template.directory / "app.sh").unlink()
    with pytest.raises(SetupError, match=r"task: the template .*changed .*: app.sh, tests/rows.db"):
        asyncio.run(refuse_altered(template, built, where="task"))


@pytest.fixture
def prepared(host: SandboxHost, tmp_path: Path) -> tuple[Preparations, TaskSpec]:
    """A task whose oracle lies on disk, its bytes read."""
    (tmp_path / "oracle/more").mkdir(parents=True)
    (tmp_path / "oracle/judge.sh").write_text("exit 1")
    (tmp_path / "oracle/more/x").write_text("x")
    assets = FileTree(tmp_path / "oracle")
    spec = OracleSpec("run", "hidden", PLACE, "sh $ORACLE/judge.sh", assets=assets)
    task = TaskSpec("task", PLACE, "Do it.", (spec,), digest="d", owned=(tmp_path / "oracle",))
    preparations = Preparations(Templates(host.area), None)
    preparations.snapshot([task], ())
    return preparations, task


def test_a_changed_oracle_on_disk_is_seen(
    prepared: tuple[Preparations, TaskSpec], tmp_path: Path
) -> None:
    """A file that was rewritten or removed is named; touched, or added beside, it is not."""
    preparations, task = prepared
    assert preparations.changed_on_disk(task) == []
    (tmp_path / "oracle/new.txt").write_text("beside")
    os.utime(tmp_path / "oracle/judge.sh")
    assert preparations.changed_on_disk(task) == []
    (tmp_path / "oracle/judge.sh").write_text("exit 0")
    (tmp_path / "oracle/more/x").unlink()
    assert preparations.changed_on_disk(task) == ["hidden: judge.sh", "hidden: more/x"]
