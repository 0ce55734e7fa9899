"""Agents, sandboxes and oracles of third parties: equals of the built-in ones."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from thirdparties import (
    AGENT,
    EXPERIMENT,
    FIRST,
    GIVING,
    OUTCOMES,
    POINTS,
    SECOND,
    distribution,
    write_third_parties,
)

from projects import Project, properties


@pytest.fixture
def third(pytester: pytest.Pytester) -> Project:
    """Two tasks that an oracle of a third party judges; nobody gives it yet."""
    made = Project(pytester)
    write_third_parties(made, conftest="")
    return made


def outcomes(project: Project) -> dict[str, str]:
    return {key: record["outcome"] for key, record in project.records().items()}


def output(result: pytest.RunResult) -> str:
    return result.stdout.str() + result.stderr.str()


@pytest.mark.parametrize("way", ["conftest", "distribution"])
def test_components_are_known_by_name(third: Project, workers: tuple[str, ...], way: str) -> None:
    """An agent, a sandbox and an oracle that are given run, judge and are recorded."""
    if way == "conftest":
        third.write("conftest.py", GIVING)
    else:
        distribution(third, "mine", POINTS)
    result = third.run("tasks", "--junitxml=junit.xml", *workers)
    assert result.ret == 1, output(result)
    assert outcomes(third) == OUTCOMES
    records = third.records()
    assert records["first[writer-r1]"]["agent"] == "writer"
    assert records["first[writer-r1]"]["sandbox"]["driver"] == "box"
    assert records["second[writer-r1]"]["sandbox"]["driver"] == "local"
    (size,) = records["second[writer-r1]"]["oracles"]
    assert (size["kind"], size["reason"]) == ("size", "out.txt has 2 bytes")
    cases = third.junit()
    assert properties(cases["first[writer-r1]"])["agentbench.agent"] == "writer"
    assert "out.txt has 2 bytes" in output(result)


def test_a_class_may_be_named_by_its_module(third: Project, workers: tuple[str, ...]) -> None:
    """``module:Class`` stands wherever an agent or a sandbox is named."""
    solution = "solution: {files: {out.txt: Hello.}}\n"
    boxed = """test -s out.txt && test "$IN_BOX" = 1"""
    third.write(
        "tasks/first.yaml",
        f"prompt: Hello.\nsandbox: {{driver: mine:Box}}\noracles:\n  - run: '{boxed}'\n{solution}",
    )
    third.write("tasks/second.yaml", f"prompt: Hello.\noracles:\n  - run: '{boxed}'\n{solution}")
    third.write("agentbench.yaml", EXPERIMENT.replace("agent: writer", "agent: mine:Writer"))
    result = third.run("tasks", "--agentbench-sandbox=mine:Box", *workers)
    assert result.ret == 0, output(result)
    assert set(outcomes(third).values()) == {"passed"}
    record = third.records()["second[writer-r1]"]
    assert (record["agent"], record["sandbox"]["driver"]) == ("mine:Writer", "box")


def test_an_agent_on_the_command_line(third: Project, workers: tuple[str, ...]) -> None:
    """``--agentbench-agent`` takes a given name, and a class, with options."""
    third.write("conftest.py", GIVING)
    for agent, variant in (("writer", "writer"), ("mine:Writer", "mine-Writer")):
        asked = ("--agentbench-set=options.to=out.txt", f"--agentbench-agent={agent}")
        result = third.run("tasks/first.yaml", *asked, *workers)
        assert result.ret == 0, output(result)
        assert outcomes(third) == {f"first[{variant}-r1]": "passed"}


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        (
            "tasks/first.yaml",
            FIRST.replace("size:", "siez:"),
            "unknown oracle or key 'siez'; did you mean 'size'?",
        ),
        (
            "tasks/first.yaml",
            FIRST.replace("driver: box", "driver: bix"),
            "unknown sandbox 'bix'; did you mean 'box'?",
        ),
        (
            "tasks/first.yaml",
            FIRST.replace("size: out.txt", "size: [out.txt]"),
            "'size' must be the name of a file",
        ),
        ("tasks/first.yaml", FIRST.replace("at_least", "at_last"), "unknown key 'at_last'"),
        (
            "tasks/first.yaml",
            FIRST.replace("{size: out.txt", "{size: out.txt, run: 'true'"),
            "one entry, one kind of oracle: 'size' and 'run'",
        ),
        (
            "agentbench.yaml",
            EXPERIMENT.replace("agent: writer", "agent: wirter"),
            "unknown agent 'wirter'; did you mean 'writer'?",
        ),
        (
            "agentbench.yaml",
            EXPERIMENT.replace("agent: writer", "agent: writer, options: {too: x}"),
            "unknown option 'too'; did you mean 'to'?",
        ),
    ],
    ids=["oracle", "sandbox", "expectation", "key", "two-kinds", "agent", "option"],
)
def test_mistakes_are_told_as_for_built_in_ones(
    third: Project, name: str, text: str, said: str
) -> None:
    """Each mistake stands in its file with line and caret, and names what was meant."""
    third.write("conftest.py", GIVING)
    third.write(name, text)
    result = third.run("tasks")
    assert result.ret in {2, 4}, output(result)
    assert said in output(result)
    assert "INTERNAL" not in output(result)


@pytest.mark.parametrize(
    ("conftest", "points", "said"),
    [
        (
            "def pytest_agentbench_agents():\n    return {'noop': int}\n",
            "",
            "the agent 'noop' is built in, and conftest.py gives one too",
        ),
        (
            GIVING,
            "[pytest_agentbench.oracles]\nsize = mine:Size\nbroken = nothing:There\n",
            None,
        ),
        (
            GIVING,
            "[pytest_agentbench.agents]\nwriter = other:Writer\n",
            "the agent 'writer' is given by conftest.py and by the distribution mine",
        ),
    ],
    ids=["built-in", "same-class", "two"],
)
def test_a_name_is_given_once(third: Project, conftest: str, points: str, said: str | None) -> None:
    """A name that is built in, or given twice, is a usage error that names both."""
    third.write("conftest.py", conftest)
    third.write("agentbench.yaml", EXPERIMENT)
    if points:
        distribution(third, "mine", points)
    if said is None:
        # Nobody looks for entry points while all names are known without.
        assert third.run("tasks").ret == 1
        return
    result = third.run("tasks", "--agentbench-agent=unknown-one")
    assert result.ret == 4, output(result)
    assert said in output(result)


def test_two_distributions_with_one_name(third: Project) -> None:
    """Which of two installed ones is meant, nobody can tell."""
    distribution(third, "mine", POINTS)
    distribution(third, "theirs", "[pytest_agentbench.agents]\nwriter = theirs:Writer\n")
    result = third.run("tasks", "--agentbench-agent=writer")
    assert result.ret == 4
    assert "the agent 'writer' is given by the distribution" in output(result)
    assert "mine" in output(result)
    assert "theirs" in output(result)


def test_a_broken_entry_point_harms_who_uses_it(third: Project, workers: tuple[str, ...]) -> None:
    """One that cannot be imported is no matter until its name is used; then it is told."""
    distribution(third, "mine", POINTS)
    distribution(third, "broken", "[pytest_agentbench.agents]\nbroken = broken_module:Agent\n")
    third.write("lib/broken_module.py", "import not_installed\n")
    assert third.run("tasks", *workers).ret == 1
    assert outcomes(third) == OUTCOMES
    third.write("agentbench.yaml", EXPERIMENT + "  other: {agent: broken}\n")
    result = third.run("tasks", *workers)
    assert result.ret in {1, 2}
    for part in (
        "agent 'broken' of the distribution broken cannot be imported (broken_module:Agent):",
        "ModuleNotFoundError: No module named 'not_installed'",
        "agentbench.yaml:4",
    ):
        assert part in output(result)


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("class Bad:\n    pass\n", "Bad has no 'name'"),
        ("class Bad:\n    name = 'bad'\n", "Bad has neither 'command' nor 'run'"),
        (
            "class Bad:\n    name = 'bad'\n    def run(self, trial, sandbox, context): ...\n",
            "Bad has a 'run' that is not async",
        ),
        (
            (
                "class Bad:\n    name = 'bad'\n    def command(self, trial): ...\n"
                "    def parse(self, completed): ...\n"
            ),
            "Bad has a 'command' that cannot be called as command(…, …)",
        ),
        (
            (
                "class Bad:\n    name = 'bad'\n    Options = dict\n"
                "    async def run(self, trial, sandbox, context): ...\n"
            ),
            "Bad has an 'Options' that is no pydantic model",
        ),
        (
            "class Bad:\n    name = 'bad'\n    async def run(self, trial, sandbox, context): ...\n",
            "Bad cannot be built as Class(options)",
        ),
        ("Bad = 3\n", "it is no class but an int"),
        ("raise ValueError('half done')\n", "cannot be imported: ValueError: half done"),
        ("def x(): pass\n", "AttributeError: module 'bad' has no attribute 'Bad'"),
        (
            AGENT.replace("Writer(", "Bad(").replace('"writer"', '"noop"'),
            "Bad calls itself 'noop', which is the name of a built-in one",
        ),
    ],
)
def test_a_class_that_lacks_something_is_refused(third: Project, code: str, said: str) -> None:
    """What is missing is told before anything runs."""
    third.write("conftest.py", GIVING)
    third.write("lib/bad.py", code)
    result = third.run("tasks", "--agentbench-agent=bad:Bad")
    assert result.ret == 4
    assert "--agentbench-agent: agent 'bad:Bad'" in output(result)
    assert said in output(result)


def test_a_module_that_is_not_there_comes_with_advice(third: Project) -> None:
    """The usual reason is that the root directory is not on the path."""
    result = third.run("tasks", "--agentbench-agent=missing:Agent")
    assert result.ret == 4
    assert "No module named 'missing'" in output(result)
    assert "Try: `pythonpath = .` in pytest's ini file" in output(result)


def test_what_a_class_leaves_out_has_safe_defaults(third: Project) -> None:
    """An agent needs a name and a command; no base class is needed either."""
    third.write(
        "lib/plain.py",
        "class Plain:\n    name = 'plain'\n    def __init__(self, options):\n        pass\n"
        "    def command(self, trial, context):\n"
        "        from pytest_agentbench import AgentCommand\n"
        "        return AgentCommand(('sh', '-c', 'printf 1234567 > out.txt'))\n"
        "    def parse(self, completed):\n"
        "        from pytest_agentbench import Transcript\n"
        "        return Transcript()\n",
    )
    third.write("conftest.py", GIVING)
    result = third.run("tasks", "--agentbench-agent=plain:Plain")
    assert result.ret == 0, output(result)


def test_sessions_of_one_process_do_not_share_names(third: Project) -> None:
    """What one session's conftest gives is unknown in the next, and the outer one's is kept."""
    third.write("conftest.py", GIVING)
    first = third.pytester.inline_run("tasks", "-p", "no:cacheprovider", "--co")
    assert first.ret == 0
    third.write("conftest.py", "")
    second = third.pytester.inline_run("tasks", "-p", "no:cacheprovider", "--co")
    assert second.ret in {2, 4}


def test_commands_know_them_too(third: Project) -> None:
    """``validate``, ``validate --run``, ``shell`` and ``schema`` see what pytest sees."""
    third.write("conftest.py", GIVING)
    third.write("tasks/second.yaml", SECOND)
    third.write("agentbench.yaml", EXPERIMENT)

    def run(*arguments: str) -> pytest.RunResult:
        return third.pytester.run(sys.executable, "-m", "pytest_agentbench.cli", *arguments)

    assert "2 tasks, 0 wrong files" in run("validate").stdout.str()
    proven = run("validate", "--run", "--sandbox", "box")
    assert proven.ret == 0, output(proven)
    shell = run("shell", "first", "--variant", "writer", "--", "sh", "-c", "echo $IN_BOX")
    assert shell.ret == 2
    assert "the sandbox 'box' has no shell" in output(shell)
    shell = run("shell", "second", "--sandbox", "local", "--", "echo", "inside")
    assert "inside" in shell.stdout.str(), output(shell)
    task = json.loads(run("schema", "task").stdout.str())
    assert task["$defs"]["OracleShape"]["properties"]["size"] == {
        "description": "How many bytes a file has."
    }
    assert "box" in json.dumps(task["$defs"]["SandboxShape"])
    assert "writer" in json.dumps(json.loads(run("schema", "experiment").stdout.str()))
    third.write("agentbench.yaml", EXPERIMENT.replace("agent: writer", "agent: wirter"))
    assert "did you mean 'writer'?" in run("validate").stdout.str()


def test_a_driver_that_cannot_be_built(third: Project, workers: tuple[str, ...]) -> None:
    """A constructor that raises ends the session, or each worker's trials, with its words."""
    third.write(
        "lib/dead.py",
        "from pytest_agentbench import DriverWrapper\n\n\nclass Dead(DriverWrapper):\n"
        "    name = 'dead'\n    def __init__(self, host):\n        raise OSError('no daemon')\n",
    )
    third.write("conftest.py", GIVING)
    result = third.run("tasks", "--agentbench-sandbox=dead:Dead", *workers)
    assert result.ret == (1 if workers else 4), output(result)
    assert "sandbox 'dead:Dead' cannot be built: OSError: no daemon" in output(result)
    if workers:
        assert set(outcomes(third).values()) == {"error"}
    else:
        assert set(outcomes(third).values()) == {"cancelled"}


def test_a_session_without_task_files_asks_nobody(third: Project, tmp_path: Path) -> None:
    """Neither hooks nor entry points are looked at where there is nothing to run."""
    third.write("conftest.py", "def pytest_agentbench_agents():\n    raise ValueError('asked')\n")
    third.write("test_plain.py", "def test_plain():\n    pass\n")
    assert third.run("test_plain.py", "-W", "error").ret == 0
