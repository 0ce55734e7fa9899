"""The hooks: what they are asked, what they are told, and what they get wrong."""

from __future__ import annotations

import pytest

from projects import Project

VARIANTS = """\
from pytest_agentbench import Variant


def pytest_agentbench_variants(config, experiment):
    return [Variant("nobody", "noop"), Variant("known", "reference")]
"""

RECORDING = """\
def pytest_agentbench_record(config, record):
    stored = (config.rootpath / ".agentbench/latest/records.jsonl").read_text()
    assert f'"key":"{record.key}"' in stored, "stored before it is told"
    assert not hasattr(config, "workerinput"), "told by the controlling process"
    with open("told.txt", "a") as told:
        told.write(f"{record.key} {record.outcome}\\n")
"""

WRAPPING = """\
import pytest
from pytest_agentbench import SandboxWrapper


class Marked(SandboxWrapper):
    async def run(self, argv, *, env=None, **settings):
        return await self.inner.run(argv, env={**(env or {}), "WRAPPED": "1"}, **settings)


class Around:
    def __init__(self, driver):
        self.driver, self.name, self.probe = driver, driver.name, driver.probe

    async def open(self, template, request):
        return Marked(await self.driver.open(template, request))

    def probe(self):
        return self.driver.probe()


@pytest.hookimpl(wrapper=True)
def pytest_agentbench_make_sandbox(config, name):
    return Around((yield))
"""


def keys(project: Project) -> dict[str, str]:
    return {key: record["outcome"] for key, record in project.records().items()}


def output(result: pytest.RunResult) -> str:
    return result.stdout.str() + result.stderr.str()


def told(project: Project) -> list[str]:
    return sorted((project.pytester.path / "told.txt").read_text().splitlines())


def test_variants_take_the_place_of_the_reference(
    project: Project, workers: tuple[str, ...]
) -> None:
    """Where no file names variants, those of the hook run, and the header says whose they are."""
    project.write("conftest.py", VARIANTS)
    result = project.run("tasks", *workers)
    assert result.ret == 1, output(result)
    assert keys(project) == {
        "add[known-r1]": "passed",
        "add[nobody-r1]": "failed",
        "greet[known-r1]": "passed",
        "greet[nobody-r1]": "failed",
    }
    assert "(conftest.py)" in output(result)


def test_variants_come_beside_those_of_the_file(project: Project, workers: tuple[str, ...]) -> None:
    """The file's variants stay, and all of them can be chosen from."""
    project.write("conftest.py", VARIANTS)
    project.write("agentbench.yaml", "variants:\n  own: {agent: noop}\n")
    assert project.run("tasks", *workers).ret == 1
    assert set(keys(project)) == {
        f"{task}[{name}-r1]" for task in ("add", "greet") for name in ("own", "nobody", "known")
    }
    result = project.run("tasks", "--agentbench-variant=kn*", *workers)
    assert result.ret == 0, output(result)
    assert set(keys(project)) == {"add[known-r1]", "greet[known-r1]"}


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("[Variant('own', 'noop')]", "the variant 'own' is given by agentbench.yaml too"),
        ("'nobody'", "pytest_agentbench_variants gives a str, not variants"),
        ("3", "pytest_agentbench_variants gives an int, not variants"),
        ("[{'name': 'x'}]", "pytest_agentbench_variants gives a dict, no Variant"),
        ("[Variant('a b', 'noop')]", "cannot be called so: the name holds a blank"),
        ("[Variant('x-r1', 'noop')]", "the name ends like a repeat (-r1)"),
        ("[Variant('x', 'nop')]", "unknown agent 'nop'; did you mean 'noop'?"),
        ("[Variant('x', 'command', options={})]", "has wrong options: needs 'run'"),
        ("[Variant('x', 'noop', env={'A': 1})]", "values in 'env' that are no text"),
        ("[][1]", "pytest_agentbench_variants raised IndexError"),
    ],
)
def test_wrong_variants_are_told_with_their_giver(
    project: Project, body: str, said: str, workers: tuple[str, ...]
) -> None:
    """Nothing runs, and the message names the conftest file."""
    project.write(
        "conftest.py",
        "from pytest_agentbench import Variant\n\n\n"
        f"def pytest_agentbench_variants(config, experiment):\n    return {body}\n",
    )
    project.write("agentbench.yaml", "variants:\n  own: {agent: noop}\n")
    result = project.run("tasks", *workers)
    assert result.ret != 0
    if not workers:
        assert result.ret == 4, output(result)
    assert "conftest.py: " in output(result)
    assert said in output(result)
    assert not project.latest.exists()


@pytest.mark.parametrize(
    ("hook", "answer", "said"),
    [
        ("agents", "['x']", "pytest_agentbench_agents gives a list, not names with classes"),
        ("agents", "{'x': object()}", "'x' is an object, no class"),
        ("agents", "{3: int}", "the name 3 is no text"),
        ("agents", "{'a:b': int}", "the name 'a:b' holds ':'"),
        ("agents", "{'x': int}", "agent 'x' of conftest.py: int has no 'name'"),
        ("oracles", "{'weight': int}", "the name 'weight' is a key of every oracle"),
        ("oracles", "{'x': int}", "oracle 'x' of conftest.py: int has no 'kind'"),
        ("sandboxes", "{'x': int}", "sandbox 'x' of conftest.py: int has no 'name'"),
        ("agents", "1 / 0", "pytest_agentbench_agents raised ZeroDivisionError"),
    ],
)
def test_wrong_components_are_told_with_their_giver(
    project: Project, hook: str, answer: str, said: str
) -> None:
    """A hook that gives the wrong thing is a usage error."""
    project.write("conftest.py", f"def pytest_agentbench_{hook}():\n    return {answer}\n")
    result = project.run("tasks")
    assert result.ret == 4, output(result)
    assert "conftest.py" in output(result)
    assert said in output(result)
    assert "INTERNAL" not in output(result)


def test_a_plugin_is_named_by_its_name(project: Project) -> None:
    """What is no conftest file is told by the name that it is registered by."""
    project.write("wrong_plugin.py", "def pytest_agentbench_agents():\n    return 3\n")
    result = project.run("tasks", "-p", "wrong_plugin")
    assert result.ret == 4
    assert "the plugin wrong_plugin: pytest_agentbench_agents gives an int" in output(result)


def test_a_conftest_that_is_loaded_late_is_refused(project: Project) -> None:
    """One below the tasks is asked too late: that is told, and not passed over."""
    project.write("sub/conftest.py", "def pytest_agentbench_agents():\n    return {}\n")
    project.write("sub/test_x.py", "def test_x():\n    pass\n")
    project.write("pytest.ini", "[pytest]\nagentbench_tasks = atasks\n")
    (project.pytester.path / "tasks").rename(project.pytester.path / "atasks")
    result = project.run()
    assert result.ret == 4, output(result)
    assert "sub/conftest.py: pytest_agentbench_agents is asked when the session" in output(result)


def test_a_driver_is_wrapped(project: Project, workers: tuple[str, ...]) -> None:
    """A wrapper gets the driver that would be used, and puts its own around it."""
    project.write("conftest.py", WRAPPING)
    project.write("tasks/add.yaml", "prompt: x\noracles: [{run: 'test \"$WRAPPED\" = 1'}]\n")
    project.write("tasks/greet.yaml", "prompt: y\noracles: [{run: 'test -z \"$WRAPPED\"'}]\n")
    project.write("agentbench.yaml", "variants:\n  own: {agent: noop}\n")
    assert project.run("tasks", *workers).ret == 1
    assert keys(project) == {"add[own-r1]": "passed", "greet[own-r1]": "failed"}


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("return 3", "what pytest_agentbench_make_sandbox made for 'local' is an int"),
        ("return type('X', (), {})", "is the class X, and no driver made of it"),
        ("raise OSError('no room')", "for 'local' raised OSError: no room"),
    ],
)
def test_a_driver_that_is_none(
    project: Project, body: str, said: str, workers: tuple[str, ...]
) -> None:
    """What is no driver is told with who gave it; nothing runs in it."""
    project.write("conftest.py", f"def pytest_agentbench_make_sandbox(config, name):\n    {body}\n")
    result = project.run("tasks", *workers)
    assert result.ret == (1 if workers else 4), output(result)
    assert said in output(result)
    assert "conftest.py" in output(result)
    outcome = "error" if workers else "cancelled"
    assert set(keys(project).values()) == {outcome}


def test_records_are_told_once_after_they_are_stored(
    project: Project, workers: tuple[str, ...]
) -> None:
    """The controlling process tells each record, as it is stored, and once."""
    project.write("conftest.py", RECORDING)
    project.write("agentbench.yaml", "variants:\n  a: {agent: reference}\n  b: {agent: noop}\n")
    assert project.run("tasks", *workers).ret == 1
    assert told(project) == [
        "add[a-r1] passed",
        "add[b-r1] failed",
        "greet[a-r1] passed",
        "greet[b-r1] failed",
    ]


def test_records_that_are_told_hold_no_secrets(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is told is what is stored: secrets are redacted."""
    monkeypatch.setenv("MY_KEY", "s3cret-value")
    project.write(
        "conftest.py",
        "def pytest_agentbench_record(config, record):\n"
        "    open('told.txt', 'a').write(record.model_dump_json())\n",
    )
    project.write(
        "agentbench.yaml",
        "variants:\n  a:\n    agent: command\n    env: {MY_KEY: '${MY_KEY}'}\n"
        "    options: {run: 'echo $MY_KEY'}\n",
    )
    project.run("tasks", "--agentbench-sandbox=local")
    assert "s3cret-value" not in (project.pytester.path / "told.txt").read_text()


def test_a_listener_that_raises_loses_nothing(project: Project, workers: tuple[str, ...]) -> None:
    """All records are stored, the others are told, the summary tells, and the status is not 0."""
    project.write(
        "conftest.py",
        "def pytest_agentbench_record(config, record):\n    raise RuntimeError('no dashboard')\n",
    )
    project.write("listening.py", RECORDING)
    result = project.run("tasks", "-p", "listening", *workers)
    assert result.ret == 1, output(result)
    assert keys(project) == {"add[reference-r1]": "passed", "greet[reference-r1]": "passed"}
    assert len(told(project)) == 2
    said = "conftest.py: pytest_agentbench_record raised RuntimeError: no dashboard"
    assert output(result).count(said) == 1


def test_a_listener_that_keeps_quiet_changes_nothing(project: Project) -> None:
    """Negative control: with a listener that does not raise, the status is 0."""
    project.write("conftest.py", RECORDING)
    assert project.run("tasks").ret == 0


def test_hooks_that_are_not_ours_are_refused(project: Project) -> None:
    """A misspelt hook is an error of pytest's, for there are specifications."""
    project.write("conftest.py", "def pytest_agentbench_recrod(config, record):\n    pass\n")
    result = project.run("tasks")
    assert result.ret != 0
    assert "unknown hook 'pytest_agentbench_recrod'" in output(result)
