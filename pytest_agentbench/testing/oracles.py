"""What every oracle must do: a right answer passes, a wrong one fails, and it is never to blame."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, Never, cast

import pytest

from pytest_agentbench.errors import OracleError, SandboxError, SetupError
from pytest_agentbench.model.contracts import (
    Oracle,
    Sandbox,
    SandboxDriver,
    SandboxRequest,
    StagedOracle,
    Subject,
)
from pytest_agentbench.model.fitness import unfit
from pytest_agentbench.model.run import AgentRun, Transcript
from pytest_agentbench.model.task import FileTree, JsonValue, Limits, OracleSpec, Position, TaskSpec
from pytest_agentbench.model.trial import TrialSpec
from pytest_agentbench.model.variant import Variant
from pytest_agentbench.model.verdict import OracleResult
from pytest_agentbench.sandboxes.driverbase import SandboxHost, SandboxWrapper
from pytest_agentbench.testing.host import PLAIN, Files, blobs, template_of
from pytest_agentbench.testing.room import DriverRoom

ODD: tuple[object, ...] = (
    *(None, True, 0, -1.5, "", "text\0"),
    *([], [None], {}, {"": []}, [[[]]]),
)
"""What a YAML file may say where an expectation is wanted."""
_HANG_S = 2.0


class OracleSuite(DriverRoom):
    """The contract of oracles.

    ``oracle_class`` is your oracle; ``expectation`` and ``further`` are what an entry says,
    ``assets`` the files that are staged for it. ``workspace`` is what the agent starts
    from, ``right`` and ``wrong`` are files that it may leave. ``hang`` leaves files that
    keep your oracle busy for ever, where it runs what the agent left. For an oracle that
    judges words, ``right_words`` and ``wrong_words`` are final messages. ``stages`` is
    false for one that takes no files at all.
    """

    oracle_class: ClassVar[type[object]]
    expectation: ClassVar[JsonValue | FileTree] = None
    further: ClassVar[Mapping[str, JsonValue]] = {}
    assets: ClassVar[Mapping[str, str]] = {}
    workspace: ClassVar[Files] = {"README.md": "hello\n"}
    right: ClassVar[Files] = {}
    wrong: ClassVar[Files] = {}
    hang: ClassVar[Files | None] = None
    stages: ClassVar[bool] = True
    right_words: ClassVar[str | None] = None
    wrong_words: ClassVar[str | None] = None

    @pytest.fixture
    def driver(self, host: SandboxHost) -> SandboxDriver:
        """Where the oracle judges: no walls are needed here."""
        return host.driver("local")

    @pytest.fixture
    def oracle(self) -> Oracle:
        """The oracle, built as the engine builds it."""
        return cast("Oracle", cast("type", self.oracle_class)())

    @pytest.fixture
    def spec(self, oracle: Oracle) -> OracleSpec:
        """The entry that is tried."""
        return OracleSpec(
            oracle.kind,
            "hidden",
            Position(Path("task.yaml"), 3),
            self.expectation,
            options=dict(self.further),
            assets=FileTree(files=self.assets),
            timeout_s=60.0,
        )

    def test_the_class_has_what_the_contract_needs(self) -> None:
        """It would be taken by a session."""
        assert unfit("oracle", self.oracle_class) is None

    def test_a_right_entry_is_accepted(self, oracle: Oracle, spec: OracleSpec) -> None:
        """Nothing is wrong with the entry that is tried."""
        assert oracle.validate(spec) == []

    def test_a_key_that_it_does_not_have_is_refused(self, oracle: Oracle, spec: OracleSpec) -> None:
        """A misspelt key would otherwise be judged as if it were not there."""
        wrong = replace(spec, options={**spec.options, "no_such_key_of_anyone": 1})
        problems = oracle.validate(wrong)
        assert [at for at, _ in problems] == [("no_such_key_of_anyone",)]

    def test_odd_expectations_are_told_and_raise_nothing(
        self, oracle: Oracle, spec: OracleSpec
    ) -> None:
        """What a YAML file may say in its place is checked without an exception."""
        for odd in ODD:
            for at, message in oracle.validate(replace(spec, expectation=cast("JsonValue", odd))):
                assert isinstance(at, tuple)
                assert message

    def test_the_digest_is_of_what_is_judged(self, oracle: Oracle, spec: OracleSpec) -> None:
        """The same entry has the same digest; with other assets, another one."""
        first, second = oracle.prepare(spec), oracle.prepare(spec)
        assert first.digest == second.digest
        if not self.stages:
            return
        more = FileTree(files={**self.assets, "one-more": "file\n"})
        assert oracle.prepare(replace(spec, assets=more)).digest != first.digest

    def test_what_is_staged_is_in_memory(
        self, oracle: Oracle, spec: OracleSpec, tmp_path: Path
    ) -> None:
        """Once it is prepared, what happens to its files on disk does not count."""
        self._require_files()
        (tmp_path / "asset").write_text("secret\n")
        staged = oracle.prepare(replace(spec, assets=FileTree(tmp_path)))
        (tmp_path / "asset").unlink()
        assert any(blob.data == b"secret\n" for blob in staged.files.values())

    def test_assets_that_cannot_be_read_are_an_error(
        self, oracle: Oracle, spec: OracleSpec, tmp_path: Path
    ) -> None:
        """An oracle that cannot be staged says so before any agent runs."""
        self._require_files()
        gone = replace(spec, assets=FileTree(tmp_path / "gone"))
        with pytest.raises((OracleError, SetupError)):
            oracle.prepare(gone)

    def test_a_right_answer_passes(
        self, oracle: Oracle, spec: OracleSpec, driver: SandboxDriver, host: SandboxHost
    ) -> None:
        """Right work has the full score."""
        result = self._judged(oracle, spec, driver, host, self.right, self.right_words)
        assert (result.passed, result.sound) == (True, True), result.reason
        assert result.score == pytest.approx(1.0)

    def test_a_wrong_answer_fails(
        self, oracle: Oracle, spec: OracleSpec, driver: SandboxDriver, host: SandboxHost
    ) -> None:
        """Negative control: wrong work does not pass, and the reason is one line."""
        result = self._judged(oracle, spec, driver, host, self.wrong, self.wrong_words)
        assert not result.passed
        assert 0.0 <= result.score < 1.0
        assert len(result.reason.splitlines()) == 1

    def test_doing_nothing_fails(
        self, oracle: Oracle, spec: OracleSpec, driver: SandboxDriver, host: SandboxHost
    ) -> None:
        """Negative control: an agent that did and said nothing does not pass."""
        result = self._judged(oracle, spec, driver, host, {}, None)
        assert not result.passed

    def test_it_says_the_same_again(
        self, oracle: Oracle, spec: OracleSpec, driver: SandboxDriver, host: SandboxHost
    ) -> None:
        """Judged twice, the same work has the same score."""
        first, second = (
            self._judged(oracle, spec, driver, host, self.right, self.right_words) for _ in range(2)
        )
        assert (first.passed, first.score) == (second.passed, second.score)

    def test_a_broken_sandbox_is_no_answer(
        self, oracle: Oracle, spec: OracleSpec, driver: SandboxDriver, host: SandboxHost
    ) -> None:
        """Where it cannot even begin, it raises: it never gives 0 for a fault of ours."""
        if self.right_words is not None and not self.right:
            pytest.skip("this oracle judges words: it needs no sandbox")
        with pytest.raises((OracleError, SandboxError)):
            self._judged(oracle, spec, driver, host, self.right, self.right_words, wrapper=_Broken)

    def test_a_hang_of_the_agents_making_is_failed(
        self, oracle: Oracle, spec: OracleSpec, driver: SandboxDriver, host: SandboxHost
    ) -> None:
        """Work that never ends has not passed, and is no error: agents could escape by it."""
        if self.hang is None:
            pytest.skip("no `hang`: this oracle runs nothing that the agent left")
        short = replace(spec, timeout_s=_HANG_S)
        result = self._judged(oracle, short, driver, host, self.hang, self.right_words)
        assert not result.passed
        # Or `pass_at` of an entry could make it pass.
        assert not result.sound or result.score == 0.0

    def _require_files(self) -> None:
        if not self.stages:
            pytest.skip("this oracle takes no files")

    def _judged(
        self,
        oracle: Oracle,
        spec: OracleSpec,
        driver: SandboxDriver,
        host: SandboxHost,
        left: Files,
        words: str | None,
        *,
        wrapper: type[SandboxWrapper] = SandboxWrapper,
    ) -> OracleResult:
        """Rehearse on the right answer, then judge what was left."""
        staged = oracle.prepare(spec)
        subject = Subject(_trial(), AgentRun(transcript=Transcript(final_message=words)))

        async def opened(files: Files) -> Sandbox:
            template = template_of(self.workspace, host)
            sandbox = await driver.open(template, SandboxRequest(PLAIN, label="scoring"))
            await sandbox.write(blobs(files))
            return sandbox

        async def rehearsed() -> StagedOracle:
            sandbox = await opened(self.right)
            try:
                return await oracle.rehearse(staged, sandbox, solved=True)
            finally:
                await sandbox.close()

        async def whole() -> OracleResult:
            known = await rehearsed() if oracle.rehearses else staged
            sandbox = await opened(left)
            try:
                return await oracle.check(known, wrapper(sandbox), subject)
            finally:
                await sandbox.close()

        result = asyncio.run(whole())
        assert isinstance(result, OracleResult)
        assert 0.0 <= result.score <= 1.0
        return result


def _trial() -> TrialSpec:
    task = TaskSpec("sample", Position(Path("task.yaml"), 1), "Do it.", (), digest="d")
    return TrialSpec(task, Variant("mine", "mine"), 1, Limits(), PLAIN)


class _Broken(SandboxWrapper):
    """A sandbox whose walls have fallen: nothing of it works."""

    def _raise(self, *_: object, **__: object) -> Never:
        raise SandboxError("the walls have fallen")

    async def run(self, *_: object, **__: object) -> Never:
        self._raise()

    async def put(self, *_: object) -> Never:
        self._raise()

    async def scratch(self) -> Never:
        self._raise()

    async def read(self, *_: object, **__: object) -> Never:
        self._raise()
