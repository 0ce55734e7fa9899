"""``pytest``: hidden tests, run under our own configuration and judged by what each one says.

What the workspace holds decides nothing: not its conftest files, its ini files, its
start-up code, its modules named like ours, its output, nor its exit code; nor does
any process that the tests start. Code that the tests import shares their process, as
in any test suite: the cheap lies are found out, but in principle it can say anything.
"""

from __future__ import annotations

import json
import posixpath
import secrets
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import ClassVar

from pytest_agentbench.errors import SetupError
from pytest_agentbench.model.contracts import ExpectedTests, Sandbox, StagedOracle, Subject
from pytest_agentbench.model.digest import digest_blobs, digest_value
from pytest_agentbench.model.run import Completed
from pytest_agentbench.model.task import Blob, FileTree, OracleSpec
from pytest_agentbench.model.verdict import OracleResult
from pytest_agentbench.oracles import pytest_bootstrap
from pytest_agentbench.oracles.base import (
    STREAM_LIMIT,
    Problem,
    below,
    death,
    is_below,
    judged,
    last_words,
    oracle_fault,
    output_text,
    unknown_keys,
)
from pytest_agentbench.oracles.pytest_judging import ANY_OTHER, judge, uncollected_text
from pytest_agentbench.oracles.pytest_lists import (
    LISTS,
    WEIGHTS,
    UnknownTests,
    check_files,
    check_weights,
    expected_of,
    file_of,
    list_problems,
    listed_tests,
)
from pytest_agentbench.oracles.pytest_report import (
    SIZE_LIMIT,
    SuiteReport,
    held_to_exit,
    read_opening,
    read_report,
)
from pytest_agentbench.oracles.test_sources import is_test_file, list_tests
from pytest_agentbench.sandboxes.blobs import read_tree

_VERSION = 1
_TESTS, _ASSETS = "oracle", "assets"
_BOOTSTRAP, _CONFIG = "bootstrap.py", "pytest.ini"
_CONFIGURATION = b"[pytest]\naddopts =\n"
_ADVICE_ON_IDS = "ids as pytest prints them, relative to the directory of the hidden tests"


class PytestOracle:
    """A directory of hidden tests, with their own conftest files, helpers and data.

    The working directory is the workspace, which is also the last place on
    ``sys.path``. Assets are at ``$ORACLE``. Every expected test must pass; the score
    is the share that did, by ``weights`` (test ids or patterns to numbers, each else 1).
    Tests that their own marks skip, or that fail as marked, are left out. With
    ``fail_to_pass`` and ``pass_to_pass`` (ids, relative to the directory) those tests are
    expected and no others are run; one that is skipped, or fails as marked, has not passed.
    """

    kind: ClassVar[str] = "pytest"
    names_files: ClassVar[bool] = True
    rehearses: ClassVar[bool] = True
    judges_words: ClassVar[bool] = False

    def validate(self, spec: OracleSpec) -> list[Problem]:
        """What is wrong with the entry; files on disk are looked at by ``prepare``."""
        problems = unknown_keys(spec.options, (*LISTS, WEIGHTS), (), "key")
        problems += list_problems(spec)
        at = (self.kind,)
        tree = spec.expectation
        if not isinstance(tree, FileTree):
            problems.append((at, "must be a directory, or {files: {name: text}}"))
        elif tree.directory is None and not any(map(is_test_file, tree.files)):
            problems.append((at, "holds no test file (test_*.py or *_test.py)"))
        return problems

    def prepare(self, spec: OracleSpec) -> StagedOracle:
        """Read tests and assets."""
        assert isinstance(spec.expectation, FileTree)
        try:
            tests = read_tree(spec.expectation, where=f"tests of oracle {spec.name!r}")
            assets = read_tree(spec.assets, where=f"assets of oracle {spec.name!r}")
        except SetupError as error:
            raise oracle_fault(spec, f"cannot be read: {error}") from error
        # Caches come and go with every run of the author's: they are no part of the oracle.
        tests = {name: blob for name, blob in tests.items() if "__pycache__" not in name.split("/")}
        if not any(map(is_test_file, tests)):
            raise oracle_fault(
                spec,
                "holds no test file",
                advice="name the files test_*.py or *_test.py, as pytest does by default",
            )
        try:
            check_files(listed_tests(spec.options), filter(is_test_file, tests))
        except UnknownTests as error:
            raise oracle_fault(spec, str(error), advice=_ADVICE_ON_IDS) from error
        files = {**below(_TESTS, tests), **below(_ASSETS, assets), **_program()}
        says = [self.kind, _VERSION, spec.timeout_s, dict(spec.options)]
        return StagedOracle(
            spec=spec, files=files, digest=digest_value([says, digest_blobs(files)])
        )

    async def rehearse(
        self, staged: StagedOracle, sandbox: Sandbox, *, solved: bool
    ) -> StagedOracle:
        """List the tests that must report: by collecting them with the solution, or from source."""
        if not solved:
            return replace(staged, expected=_listed_from_source(staged))
        report, completed = await _session(staged, sandbox, collect=True)
        spec = staged.spec
        _require_start(spec, report, completed)
        lists = listed_tests(spec.options)
        if report.uncollected and not lists.ids:
            raise oracle_fault(
                spec,
                "cannot be collected even with the solution applied: "
                + uncollected_text(report.uncollected.items()),
                advice="make the solution provide what the hidden tests import, or name an"
                " environment that has it in sandbox.python",
            )
        if not report.finished:
            ending = _ending(completed, spec.timeout_s)
            raise oracle_fault(
                spec, f"cannot be collected: the process {ending}; {last_words(completed)}"
            )
        if not (report.tests or report.uncollected):
            raise oracle_fault(spec, f"holds no test (pytest ended with status {report.status})")
        return replace(staged, expected=_counting(staged, report))

    async def check(self, staged: StagedOracle, sandbox: Sandbox, subject: Subject) -> OracleResult:
        """Run the tests once and hold their reports against the expected ones."""
        del subject
        started = perf_counter()
        expected = staged.expected
        if expected is None:
            expected = _listed_from_source(staged)
        report, completed = await _session(staged, sandbox, collect=False)
        # An interpreter that lies in the workspace is one that the agent can break.
        if not is_below(sandbox.python, sandbox.workspace):
            _require_start(staged.spec, report, completed)
        ending = _ending(completed, staged.spec.timeout_s)
        judgement = judge(expected, report, ending, listed_tests(staged.spec.options))
        result = judged(
            staged.spec,
            passed=judgement.passed,
            score=judgement.score,
            reason=judgement.reason,
            details={**judgement.details, "exit_code": completed.exit_code},
            output=output_text(completed),
            sound=judgement.sound,
        )
        return replace(result, duration_s=perf_counter() - started)


def _program() -> dict[str, Blob]:
    source = Path(pytest_bootstrap.__file__).read_bytes()
    return {_BOOTSTRAP: Blob(source), _CONFIG: Blob(_CONFIGURATION)}


def _tests_of(staged: StagedOracle) -> dict[str, Blob]:
    prefix = f"{_TESTS}/"
    return {
        name.removeprefix(prefix): blob
        for name, blob in staged.files.items()
        if name.startswith(prefix)
    }


def _counting(staged: StagedOracle, report: SuiteReport) -> ExpectedTests:
    """The collected tests that count."""
    lists = listed_tests(staged.spec.options)
    expected: ExpectedTests = report.tests
    try:
        if lists.ids:
            expected = expected_of(lists, report.tests)
        check_weights(lists, expected)
    except UnknownTests as error:
        what = str(error)
        if report.uncollected:
            files = uncollected_text(report.uncollected.items())
            what = f"{what}; what cannot be collected even with the solution applied: {files}"
        raise oracle_fault(staged.spec, what, advice=_ADVICE_ON_IDS) from error
    return expected


def _listed_from_source(staged: StagedOracle) -> dict[str, str]:
    try:
        found = list_tests({name: blob.data for name, blob in _tests_of(staged).items()})
    except SyntaxError as error:
        raise oracle_fault(
            staged.spec, f"is no Python: {error.filename}, line {error.lineno}: {error.msg}"
        ) from error
    if not found:
        raise oracle_fault(
            staged.spec,
            "holds no test that its source shows",
            advice="define test functions, or give the task a solution to collect them with",
        )
    lists = listed_tests(staged.spec.options)
    if not lists.ids:
        return {**found, ANY_OTHER: "run"}
    try:
        expected = expected_of(lists, found, from_source=True)
        check_weights(lists, expected)
    except UnknownTests as error:
        raise oracle_fault(
            staged.spec,
            f"{error} (as far as the source shows)",
            advice="the ids that pytest prints, or give the task a solution to collect them with",
        ) from error
    return expected


async def _session(
    staged: StagedOracle, sandbox: Sandbox, *, collect: bool
) -> tuple[SuiteReport, Completed]:
    """One pytest session in the sandbox."""
    root = await sandbox.put(staged.files)
    report = posixpath.join(await sandbox.scratch(), f"{secrets.token_hex(8)}.jsonl")
    tests = posixpath.join(root, _TESTS)
    lists = listed_tests(staged.spec.options)
    request = {
        "pytest": sandbox.pytest_path,
        "path": [
            posixpath.normpath(posixpath.join(tests, name))
            for name in _import_roots(_tests_of(staged))
        ],
        "workspace": sandbox.workspace,
        "tests": tests,
        "config": posixpath.join(root, _CONFIG),
        "report": report,
        "collect": collect,
        "files": sorted({file_of(name) for name in lists.ids}),
        "only": [] if collect else lists.ids,
    }
    has_assets = any(name.startswith(f"{_ASSETS}/") for name in staged.files)
    completed = await sandbox.run(
        [sandbox.python, "-I", "-B", posixpath.join(root, _BOOTSTRAP)],
        env={"ORACLE": posixpath.join(root, _ASSETS)} if has_assets else None,
        stdin=json.dumps(request).encode(),
        timeout_s=staged.spec.timeout_s,
        output_limit=STREAM_LIMIT,
    )
    data = await sandbox.read(report, limit=SIZE_LIMIT)
    stdout = completed.stdout
    opening = read_opening(stdout.head)
    found = read_report(data or b"", opening.key)
    # The report can be removed by what it is about; what went down the pipe cannot.
    found.started = opening.started
    by_itself = death(completed, staged.spec.timeout_s) is None
    found = held_to_exit(found, completed.exit_code if by_itself else None)
    rest = replace(stdout, head=stdout.head[opening.size :], total=stdout.total - opening.size)
    return found, replace(completed, stdout=rest)


def _import_roots(tests: Mapping[str, Blob]) -> list[str]:
    """Directories whose modules the tests may import by name: those with tests, no packages."""
    directories = {posixpath.dirname(name) for name in tests if is_test_file(name)}
    plain = {name for name in directories if posixpath.join(name, "__init__.py") not in tests}
    return sorted(plain | {""})


def _require_start(spec: OracleSpec, report: SuiteReport, completed: Completed) -> None:
    """Refuse to judge a session that ended before it could import anything of the agent's."""
    if report.started:
        return
    why = completed.launch_error or _ending(completed, spec.timeout_s)
    raise oracle_fault(
        spec,
        f"could not start pytest: {why}; {last_words(completed)}".removesuffix("; "),
        advice="check sandbox.python, and that it can import pytest",
    )


def _ending(completed: Completed, timeout_s: float) -> str:
    return death(completed, timeout_s) or f"exited with {completed.exit_code}"
