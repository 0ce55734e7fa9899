"""Python tests that run trials: marks, bodies that decide, what is refused."""

from __future__ import annotations

import pytest

from projects import Project, properties
from requirements import require

TWO = """\
import pytest

@pytest.mark.agentbench(task="tasks/add.yaml")
def test_add(agentbench_run):
    changed = [change.name for change in agentbench_run.changes.changes]
    assert changed == ["calc.py"]

class TestGreet:
    @pytest.mark.agentbench(task="tasks/greet.yaml")
    def test_words(self, agentbench_sandbox, agentbench_run, agentbench_verdict):
        assert agentbench_verdict.score == 1, agentbench_verdict.reason
"""
RIGHT = {
    "add": '[{write: {path: calc.py, text: "def add(a, b): return a + b"}}]',
    "greet": '[{write: {path: greeting.txt, text: "hello\\n"}}]',
}
WRONG = {"add": '[{write: {path: other.py, text: ""}}]', "greet": "[{write: {path: x, text: y}}]"}
ADD_KEY = "tests/test_two.py::test_add[bot-r1]"
GREET_KEY = "tests/test_two.py::TestGreet::test_words[bot-r1]"


@pytest.fixture
def two(project: Project) -> Project:
    """Two Python tests, each with another task, besides the tasks themselves."""
    project.write("tests/test_two.py", TWO)
    return project


def test_bodies_decide_and_records_agree(two: Project, workers: tuple[str, ...]) -> None:
    """A right agent passes the tests, a wrong one fails them: with the agent's own reason."""
    two.script(**RIGHT)
    result = two.run("tests", *workers)
    assert result.ret == 0
    found = two.records()
    assert set(found) == {ADD_KEY, GREET_KEY}
    add, greet = found[ADD_KEY], found[GREET_KEY]
    assert (add["outcome"], add["task"], add["test"]) == (
        "passed",
        "add",
        "tests/test_two.py::test_add",
    )
    assert (add["score"], add["oracles"]) == (None, []), "no oracle was asked"
    assert (greet["outcome"], greet["score"]) == ("passed", 1)
    assert [one["name"] for one in greet["oracles"]] == ["files", "readme-kept"]

    two.script(**WRONG)
    result = two.run("tests", "--junitxml=junit.xml", *workers)
    assert result.ret == 1
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["*2 planned: 0 passed, 2 failed, 0 error*"])
    found = two.records()
    add, greet = found[ADD_KEY], found[GREET_KEY]
    assert (add["outcome"], add["reason"]) == ("failed", "assertion")
    assert "['other.py'] == ['calc.py']" in add["message"]
    assert (greet["outcome"], greet["reason"]) == ("failed", "oracle"), "the body agrees"
    case = two.junit()["test_add[bot-r1]"]
    failure = case.find("failure")
    assert failure is not None
    assert "other.py" in str(failure.text), "the test's own traceback is kept"
    assert properties(case)["agentbench.reason"] == "assertion"
    assert properties(case)["agentbench.test"] == "tests/test_two.py::test_add"


def test_body_that_wants_failure_passes(project: Project) -> None:
    """A test may assert that an agent is wrong: the body decides, and the oracles are told."""
    project.write(
        "tests/test_wrong.py",
        "import pytest\n"
        '@pytest.mark.agentbench(task="tasks/add.yaml")\n'
        "def test_refused(agentbench_verdict):\n"
        "    assert not agentbench_verdict.passed\n",
    )
    project.script(**WRONG)
    assert project.run("tests").ret == 0
    (record,) = project.records().values()
    assert record["outcome"] == "passed"
    assert record["reason"] is None
    assert any("the oracles said: failed" in one for one in record["diagnostics"])


def test_broken_harness_is_an_error(two: Project, workers: tuple[str, ...]) -> None:
    """An agent that cannot be started is pytest's ERROR, and no failure."""
    two.write(
        "agentbench.yaml", "variants: {bot: {agent: command, options: {run: [/no/such/agent]}}}\n"
    )
    result = two.run("tests", *workers)
    result.assert_outcomes(errors=2)
    for record in two.records().values():
        assert (record["outcome"], record["reason"]) == ("error", "agent_launch")


def test_task_and_test_are_counted_apart(two: Project, workers: tuple[str, ...]) -> None:
    """The same task as a YAML item and in a Python test makes trials with keys of their own."""
    two.script(**RIGHT)
    result = two.run(*workers)
    assert result.ret == 0
    assert set(two.records()) == {ADD_KEY, GREET_KEY, "add[bot-r1]", "greet[bot-r1]"}
    result.stdout.fnmatch_lines(["*4 planned: 4 passed, 0 failed, 0 error*"])


@pytest.mark.parametrize(
    ("body", "outcome", "reason", "expected"),
    [
        ("pytest.skip('not today')", "skipped", "skip", None),
        ("pytest.xfail('known')", "failed", "assertion", "xfail"),
        ("pytest.fail('by hand', pytrace=False)", "failed", "assertion", None),
        ("raise agentbench_sandbox.run(['true'])", "error", "setup", None),
        ("1 / 0", "failed", "assertion", None),
    ],
)
def test_ways_to_end_a_body(
    project: Project, body: str, outcome: str, reason: str, expected: str | None
) -> None:
    """However a body ends, the record says the same as pytest, and the agent's run is in it."""
    project.write(
        "tests/test_end.py",
        "import pytest\n"
        '@pytest.mark.agentbench(task="tasks/greet.yaml")\n'
        f"def test_end(agentbench_sandbox, agentbench_run):\n    {body}\n",
    )
    project.script(**RIGHT)
    project.run("tests")
    (record,) = project.records().values()
    assert (record["outcome"], record["reason"]) == (outcome, reason)
    assert record["expected"] == expected
    assert record["phases"]["agent_s"] is not None
    assert record["churn"]["files_added"] == 1


def test_marked_xfail_keeps_what_was_measured(project: Project) -> None:
    """A Python test that is expected to fail keeps its measured outcome beside that."""
    project.write(
        "tests/test_expected.py",
        "import pytest\n"
        "@pytest.mark.xfail(reason='hard', strict=True)\n"
        '@pytest.mark.agentbench(task="tasks/add.yaml")\n'
        "def test_add(agentbench_run, agentbench_verdict):\n"
        "    assert agentbench_verdict.passed\n"
        "@pytest.mark.xfail(reason='hard', strict=True)\n"
        '@pytest.mark.agentbench(task="tasks/greet.yaml")\n'
        "def test_greet(agentbench_run, agentbench_verdict):\n"
        "    assert agentbench_verdict.passed\n",
    )
    project.script(add=WRONG["add"], greet=RIGHT["greet"])
    result = project.run("tests")
    result.assert_outcomes(xfailed=1, failed=1)
    found = {key.partition("::")[2]: one for key, one in project.records().items()}
    measured = {key: (one["outcome"], one["expected"]) for key, one in found.items()}
    assert measured == {
        "test_add[bot-r1]": ("failed", "xfail"),
        "test_greet[bot-r1]": ("passed", "xpass"),
    }


def test_looking_into_a_sandbox_is_no_trial(project: Project, workers: tuple[str, ...]) -> None:
    """A test that asks for the sandbox alone measures no agent, and is in no plan."""
    project.write(
        "tests/test_look.py",
        "import pytest\n"
        '@pytest.mark.agentbench(task="tasks/add.yaml")\n'
        "def test_files(agentbench_sandbox):\n"
        "    assert agentbench_sandbox.run(['ls']).stdout.text() == 'calc.py\\n'\n"
        "def test_plain():\n    pass\n",
    )
    project.script(**RIGHT)
    result = project.run("tests", *workers)
    result.assert_outcomes(passed=2)
    assert "planned" not in result.stdout.str()
    assert not project.latest.exists()


def test_only_python_tests_are_told_to_workers(project: Project) -> None:
    """A session with no task file at all stores the records of its Python tests, under -n too."""
    project.write("elsewhere/add.yaml", (project.pytester.path / "tasks/add.yaml").read_text())
    for name in ("add", "greet"):
        (project.pytester.path / f"tasks/{name}.yaml").unlink()
    project.write(
        "test_one.py",
        "import pytest\n"
        '@pytest.mark.agentbench(task="elsewhere/add.yaml")\n'
        "def test_add(agentbench_verdict):\n    assert agentbench_verdict.passed\n"
        "def test_plain():\n    pass\n",
    )
    result = project.run("-n", "2")
    result.assert_outcomes(passed=2)
    assert list(project.records()) == ["test_one.py::test_add[reference-r1]"]


def test_rows_of_a_dataset_and_one_of_them(project: Project, workers: tuple[str, ...]) -> None:
    """A file of several tasks gives each its own trials; ``::`` names one."""
    project.write("tasks/rows.csv", "id,word\nfirst,one\nsecond,two\n")
    project.write(
        "tasks/words.yaml",
        "prompt: Write {{ row.word }}.\n"
        "dataset: {path: rows.csv, id: id}\n"
        "oracles: [{files: {word.txt: {equals: '{{ row.word }}'}}}]\n"
        "solution: {files: {word.txt: '{{ row.word }}'}}\n",
    )
    project.write(
        "tests/test_rows.py",
        "import pytest\n"
        '@pytest.mark.agentbench(task="tasks/words.yaml")\n'
        "def test_all(agentbench_trial, agentbench_verdict):\n"
        "    assert agentbench_verdict.passed\n"
        "    assert agentbench_trial.task.id in ('first', 'second')\n"
        '@pytest.mark.agentbench("tasks/words.yaml::second")\n'
        "def test_one(agentbench_trial, agentbench_verdict):\n"
        "    assert agentbench_trial.task.prompt == 'Write two.'\n",
    )
    assert project.run("tests", *workers).ret == 0
    assert {key.partition("::")[2] for key in project.records()} == {
        "test_all[first-reference-r1]",
        "test_all[second-reference-r1]",
        "test_one[reference-r1]",
    }


def test_parameters_of_a_test_are_in_its_keys(project: Project, workers: tuple[str, ...]) -> None:
    """A parametrized Python test has one trial for each parameter, variant and repeat."""
    project.write(
        "tests/test_sizes.py",
        "import pytest\n"
        "@pytest.mark.parametrize('size', [1, 2])\n"
        '@pytest.mark.agentbench(task="tasks/greet.yaml")\n'
        "def test_size(agentbench_run, size):\n    assert size < 2\n",
    )
    project.script(**RIGHT)
    project.run("tests", "--agentbench-repeats=2", *workers)
    outcomes = {key.partition("::")[2]: one["outcome"] for key, one in project.records().items()}
    assert outcomes == {
        "test_size[bot-r1-1]": "passed",
        "test_size[bot-r1-2]": "failed",
        "test_size[bot-r2-1]": "passed",
        "test_size[bot-r2-2]": "failed",
    }


def test_task_that_is_skipped_skips_its_tests(project: Project, workers: tuple[str, ...]) -> None:
    """What a task says of the machine holds for Python tests, too; nothing is dropped."""
    project.write(
        "tasks/gpu.yaml",
        "prompt: Compute.\nskip: {unless: {command: no-such-tool}}\noracles: [{run: 'true'}]\n",
    )
    project.write(
        "tests/test_gpu.py",
        "import pytest\n"
        '@pytest.mark.agentbench(task="tasks/gpu.yaml")\n'
        "def test_gpu(agentbench_run):\n    raise AssertionError\n",
    )
    result = project.run("tests", *workers)
    result.assert_outcomes(skipped=1)
    (record,) = project.records().values()
    assert (record["outcome"], record["reason"]) == ("skipped", "capability")


ASYNC = """\
import pytest

@pytest.mark.asyncio
@pytest.mark.agentbench(task="tasks/add.yaml")
async def test_awaits(agentbench_sandbox, agentbench_verdict):
    assert agentbench_verdict.passed

@pytest.mark.asyncio
@pytest.mark.agentbench(task="tasks/greet.yaml")
async def test_looks(agentbench_sandbox):
    listing, again = await agentbench_sandbox.arun(["ls"]), agentbench_sandbox.run(["ls"])
    assert listing.stdout.text() == again.stdout.text() == "README.md\\n"
    assert (await agentbench_sandbox.arun(["sh", "-c", "exit 3"])).exit_code == 3
"""


def test_async_tests(project: Project, workers: tuple[str, ...]) -> None:
    """Async tests under pytest-asyncio await commands in the sandbox; wrong ones fail."""
    require("pytest-asyncio")
    project.write("tests/test_async.py", ASYNC)
    options = (
        "tests",
        "-p",
        "asyncio",
        "-o",
        "asyncio_default_fixture_loop_scope=function",
        *workers,
    )
    project.script(**RIGHT)
    project.run(*options).assert_outcomes(passed=2)
    project.script(**WRONG)
    project.run(*options).assert_outcomes(passed=1, failed=1)
    (record,) = project.records().values()
    assert (record["outcome"], record["reason"]) == ("failed", "oracle")


def test_verdict_is_true_where_it_passed(project: Project) -> None:
    """``assert agentbench_verdict`` alone fails where the agent was wrong."""
    project.write(
        "tests/test_short.py",
        "import pytest\n"
        '@pytest.mark.agentbench(task="tasks/add.yaml")\n'
        "def test_add(agentbench_verdict):\n    assert agentbench_verdict\n"
        '@pytest.mark.agentbench(task="tasks/greet.yaml")\n'
        "def test_greet(agentbench_verdict):\n    assert agentbench_verdict\n",
    )
    project.script(add=RIGHT["add"], greet=WRONG["greet"])
    project.run("tests").assert_outcomes(passed=1, failed=1)
    found = {key.partition("::")[2]: one["outcome"] for key, one in project.records().items()}
    assert found == {"test_add[bot-r1]": "passed", "test_greet[bot-r1]": "failed"}


def test_shell_line_for_words_is_refused(project: Project) -> None:
    """A text as argv would be one command for each letter: it is the test that is wrong."""
    project.write(
        "tests/test_text.py",
        "import pytest\n"
        '@pytest.mark.agentbench(task="tasks/add.yaml")\n'
        "def test_text(agentbench_sandbox, agentbench_run):\n"
        "    agentbench_sandbox.run('pwd')\n",
    )
    project.run("tests").stdout.fnmatch_lines(
        ["*agentbench_sandbox: argv is a list of words, and not the text 'pwd'. Try: *"]
    )
    (record,) = project.records().values()
    assert (record["outcome"], record["reason"]) == ("error", "setup")


def test_closed_sandbox_says_so(project: Project) -> None:
    """After the agent's end its sandbox is gone: a use of it is an error of the test's author."""
    project.write(
        "tests/test_late.py",
        "import pytest\n"
        '@pytest.mark.agentbench(task="tasks/add.yaml")\n'
        "def test_late(agentbench_sandbox, agentbench_run):\n"
        "    agentbench_sandbox.run(['ls'])\n",
    )
    result = project.run("tests")
    result.stdout.fnmatch_lines(["*SandboxClosed: the agent has run, and its sandbox is gone"])
    (record,) = project.records().values()
    assert (record["outcome"], record["reason"]) == ("error", "setup")


BAD_MARKS = {
    "missing": (
        '@pytest.mark.agentbench(task="tasks/no.yaml")',
        "agentbench_run",
        (
            "tests/test_bad.py::test_bad: tasks/no.yaml: no such task file. "
            "Try: a path from the root directory (*/)"
        ),
    ),
    "no-task": (
        "@pytest.mark.agentbench",
        "agentbench_run",
        (
            "*the mark 'agentbench' needs the path of a task file. "
            'Try: @pytest.mark.agentbench(task="tasks/fix.yaml")'
        ),
    ),
    "typo": (
        '@pytest.mark.agentbench(tasks="tasks/add.yaml")',
        "agentbench_run",
        "*the mark 'agentbench': unknown key 'tasks'; did you mean 'task'?*",
    ),
    "two": (
        '@pytest.mark.agentbench("tasks/add.yaml", "tasks/greet.yaml")',
        "agentbench_run",
        "*the mark 'agentbench' takes one task*",
    ),
    "no-fixture": (
        '@pytest.mark.agentbench(task="tasks/add.yaml")',
        "tmp_path",
        (
            "*the test is marked 'agentbench', and asks for no trial. "
            "Try: one of its arguments: agentbench_trial, *"
        ),
    ),
    "misspelt-fixture": (
        '@pytest.mark.agentbench(task="tasks/add.yaml")',
        "agentbench_runs",
        "*unknown fixture 'agentbench_runs'; did you mean 'agentbench_run'?",
    ),
    "row": (
        '@pytest.mark.agentbench(task="tasks/add.yaml::ad")',
        "agentbench_run",
        "*tasks/add.yaml: unknown task 'ad'; did you mean 'add'?",
    ),
    "broken": (
        '@pytest.mark.agentbench(task="tasks/broken.yaml")',
        "agentbench_run",
        "*tasks/broken.yaml:1:*unknown key 'promt'; did you mean 'prompt'?*",
    ),
}


@pytest.mark.parametrize("name", BAD_MARKS)
def test_bad_mark_is_a_collection_error(
    project: Project, name: str, workers: tuple[str, ...]
) -> None:
    """A mark that cannot be obeyed is said with what to do, and makes the plan partial."""
    mark, fixture, message = BAD_MARKS[name]
    project.write("tasks/broken.yaml", "promt: x\noracles: [{run: 'true'}]\n")
    project.write(
        "tests/test_bad.py", f"import pytest\n{mark}\ndef test_bad({fixture}):\n    pass\n"
    )
    project.write("tests/test_fine.py", TWO)
    project.script(**RIGHT)
    result = project.run("tests", *workers)
    assert result.ret in (1, 2)
    result.stdout.fnmatch_lines([message])
    if workers:
        result.stdout.fnmatch_lines(["*1 task file could not be collected*"])


def test_fixtures_without_a_mark(project: Project) -> None:
    """A test that asks for a trial and names no task is told how to name one."""
    project.write("tests/test_lost.py", "def test_lost(agentbench_run):\n    pass\n")
    result = project.run("tests")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        [
            (
                "the agentbench fixtures need a task. "
                'Try: @pytest.mark.agentbench(task="tasks/fix.yaml") on the test'
            )
        ]
    )


def test_rerun_is_another_attempt(two: Project, workers: tuple[str, ...]) -> None:
    """A rerun starts a fresh trial; the first scored attempt counts."""
    two.script(**WRONG)
    result = two.run("tests", "--reruns=1", *workers)
    assert result.ret == 1
    lines = (two.latest / "records.jsonl").read_text().splitlines()
    assert len(lines) == 4
    result.stdout.fnmatch_lines(["*2 planned: 0 passed, 2 failed*"])
