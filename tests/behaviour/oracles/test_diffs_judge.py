from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from behaviour.oracles.bench import Bench, Files

from pytest_agentbench.errors import OracleError
from pytest_agentbench.model.contracts import Subject
from pytest_agentbench.model.run import AgentRun, Changes
from pytest_agentbench.model.task import JsonValue, Limits, OracleSpec, Position, TaskSpec
from pytest_agentbench.model.trial import TrialSpec
from pytest_agentbench.model.variant import Variant
from pytest_agentbench.model.verdict import OracleResult
from pytest_agentbench.oracles.diff import DiffOracle

SHOP: Files = {
    "shop/pages.py": "one\ntwo\nthree\n",
    "shop/logo.png": b"\x89PNG\0\0",
    "tests/test_pages.py": "def test(): ...\n",
    "run.sh": "echo\n",
}


def judge(bench: Bench, table: JsonValue, script: str) -> OracleResult:
    """Hold what a script did to the shop against the rules."""
    return check(bench, table, bench.changes(SHOP, script))


def check(bench: Bench, table: JsonValue, changes: Changes | None) -> OracleResult:
    spec = OracleSpec("diff", "hidden", Position(Path("task.yaml"), 3), table)
    oracle = DiffOracle()
    assert oracle.validate(spec) == []
    task = TaskSpec("task", Position(Path("task.yaml"), 1), "Do it.", (), digest="d")
    trial = TrialSpec(task, Variant("mine", "noop"), 1, Limits(), bench.sandbox_spec)
    subject = Subject(trial, AgentRun(changes=changes))

    async def checked() -> OracleResult:
        sandbox = await bench._open(SHOP)
        try:
            return await oracle.check(oracle.prepare(spec), sandbox, subject)
        finally:
            await sandbox.close()

    return asyncio.run(checked())


def told(result: OracleResult) -> tuple[bool, float, str]:
    return result.passed, result.score, result.reason


RULES: JsonValue = {
    "only": ["shop/**"],
    "must_change": ["shop/pages.py"],
    "max_changed_lines": 3,
}


def test_a_change_within_the_rules_passes(bench: Bench) -> None:
    """What changed is told with its size."""
    result = judge(bench, RULES, "sed -i s/two/2/ shop/pages.py; mkdir -p shop/a; echo x >shop/a/b")
    assert told(result) == (True, 1.0, "2 changed paths, 3 changed lines")
    assert result.details == {"changed_paths": 2, "changed_lines": 3}


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("true", "nothing changed that matches 'shop/pages.py'"),
        (
            "echo 4 >> shop/pages.py; rm -r tests",
            "1 changed path is not among 'only': tests/test_pages.py (deleted)",
        ),
        (
            "echo 4 >> shop/pages.py; chmod +x run.sh",
            "1 changed path is not among 'only': run.sh (modified)",
        ),
        (
            "echo 4 >> shop/pages.py; ln -s /etc/passwd tests/x",
            "1 changed path is not among 'only': tests/x (not carried)",
        ),
        ("echo 4 > shop/pages.py; seq 9 > shop/b", "13 changed lines, more than 3"),
        (
            r"echo 4 >> shop/pages.py; printf '\0' >> shop/logo.png",
            (
                "the changed lines of 1 file are not known "
                "(it is binary, large or one of very many): shop/logo.png"
            ),
        ),
        (
            "echo 4 >> shop/pages.py; head -c 300000 /dev/zero | tr '\\0' a > shop/large.txt",
            (
                "the changed lines of 1 file are not known "
                "(it is binary, large or one of very many): shop/large.txt"
            ),
        ),
    ],
)
def test_a_change_outside_of_the_rules_fails(local: Bench, script: str, reason: str) -> None:
    """Each rule by what breaks it."""
    assert told(judge(local, RULES, script)) == (False, 0.0, reason)


def test_all_broken_rules_are_told(local: Bench) -> None:
    """One reason names each of them."""
    result = judge(local, {**RULES, "forbid": "**/*.txt"}, "seq 9 > a.txt")  # type: ignore[dict-item]
    assert result.reason == (
        "1 changed path is not among 'only': a.txt (added); "
        "1 changed path is forbidden: a.txt (added); "
        "nothing changed that matches 'shop/pages.py'; 9 changed lines, more than 3"
    )


def test_a_commit_is_no_change(local: Bench) -> None:
    """An agent that commits its work has changed its work, and nothing else."""
    script = """
    git init -q .
    git -c user.name=a -c user.email=a@b commit -qm first --allow-empty
    echo 4 >> shop/pages.py
    git add .
    git -c user.name=a -c user.email=a@b commit -qm second
    """
    result = judge(local, RULES, script)
    assert told(result) == (True, 1.0, "1 changed path, 1 changed line")


def test_an_agent_that_runs_tests_leaves_caches(local: Bench) -> None:
    """Byproducts count only for authors who say so."""
    script = """
    echo 4 >> shop/pages.py
    mkdir -p tests/__pycache__ .pytest_cache/v
    printf '\\0' > tests/__pycache__/a.pyc
    echo {} > .pytest_cache/v/nodeids
    """
    assert judge(local, RULES, script).passed
    assert not judge(local, {**RULES, "ignore": []}, script).passed  # type: ignore[dict-item]


def test_very_many_files_are_not_counted_as_none(local: Bench) -> None:
    """Beyond the files whose lines are counted, nothing passes a bound."""
    script = "for n in $(seq 600); do echo >> shop/f$n; done"
    bound = judge(local, {"max_changed_lines": 550}, script)
    assert not bound.passed
    assert bound.reason.startswith("the changed lines of 100 files are not known")
    exceeded = judge(local, {"max_changed_lines": 80}, script)
    assert exceeded.reason == "at least 500 changed lines, more than 80"


def test_without_changes_there_is_nothing_to_judge(local: Bench) -> None:
    """That would be a fault of ours, and no verdict on the agent."""
    with pytest.raises(OracleError, match="what changed is not known"):
        check(local, RULES, None)
