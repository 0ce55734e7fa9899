"""A project's own fixtures: overrides of a trial's chain, and ``fixtures`` of a task."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from projects import Project

ADD_RIGHT = '[{write: {path: calc.py, text: "def add(a, b): return a + b"}}]'
GREET_RIGHT = '[{write: {path: greeting.txt, text: "hello\\n"}}]'

SEEDING = """\
import pytest

@pytest.fixture
def agentbench_sandbox(agentbench_sandbox):
    made = agentbench_sandbox.run(["sh", "-c", "echo seeded > seed.txt && pwd"])
    assert made.exit_code == 0
    assert made.stdout.text().strip() == agentbench_sandbox.workspace
    yield agentbench_sandbox
"""


def outcomes(project: Project) -> dict[str, tuple[str, str | None]]:
    """Outcome and reason of each record of the newest run."""
    return {key: (one["outcome"], one["reason"]) for key, one in project.records().items()}


def test_sandbox_is_seeded_per_directory(project: Project, workers: tuple[str, ...]) -> None:
    """A conftest's override works in its own directory, and in no other."""
    task = "id: %s\nprompt: x\noracles: [{run: test -e seed.txt}]\nsolution: {files: {a: b}}\n"
    project.write("tasks/seeded/one.yaml", task % "one")
    project.write("tasks/seeded/conftest.py", SEEDING)
    project.write("tasks/bare/two.yaml", task % "two")
    project.run("tasks/seeded", "tasks/bare", *workers)
    assert outcomes(project) == {
        "one[reference-r1]": ("passed", None),
        "two[reference-r1]": ("failed", "oracle"),
    }


def test_parametrized_sandbox_makes_trials_of_its_own(
    project: Project, workers: tuple[str, ...]
) -> None:
    """Each parameter of an override is a trial with a key, a record and artifacts of its own."""
    project.write(
        "conftest.py",
        "import pytest\n"
        "@pytest.fixture(params=['dry', 'wet'])\n"
        "def agentbench_sandbox(agentbench_sandbox, request):\n"
        "    if request.param == 'wet':\n"
        "        agentbench_sandbox.run(['rm', '-f', 'README.md'])\n"
        "    yield agentbench_sandbox\n",
    )
    project.script(add=ADD_RIGHT, greet=GREET_RIGHT)
    project.run("--agentbench-keep=all", *workers)
    assert outcomes(project) == {
        "add[bot-r1-dry]": ("passed", None),
        "add[bot-r1-wet]": ("passed", None),
        "greet[bot-r1-dry]": ("passed", None),
        "greet[bot-r1-wet]": ("failed", "oracle"),
    }
    places = [one["artifacts"] for one in project.records().values()]
    assert len(set(places)) == 4
    for place in places:
        assert (project.latest / place / "prompt.txt").exists()


def test_parametrized_trial_changes_its_limits(project: Project, workers: tuple[str, ...]) -> None:
    """agentbench_trial can be overridden and parametrized, too; the record says what changed."""
    project.write(
        "conftest.py",
        "import dataclasses, pytest\n"
        "@pytest.fixture(params=[0.5, 60])\n"
        "def agentbench_trial(agentbench_trial, request):\n"
        "    limits = dataclasses.replace(agentbench_trial.limits, time_s=request.param)\n"
        "    return dataclasses.replace(agentbench_trial, limits=limits)\n",
    )
    slow = '[{sleep: 2}, {write: {path: greeting.txt, text: "hello\\n"}}]'
    project.script(add=ADD_RIGHT, greet=slow)
    project.run(*workers)
    assert outcomes(project) == {
        "add[bot-r1-0.5]": ("passed", None),
        "add[bot-r1-60]": ("passed", None),
        "greet[bot-r1-0.5]": ("failed", "oracle"),
        "greet[bot-r1-60]": ("passed", None),
    }
    told = project.records()["greet[bot-r1-60]"]["diagnostics"]
    assert told == ["changed by the project's agentbench_trial: limits"]


OWN_AGENT = """\
import pytest
from pytest_agentbench import AgentRun, Transcript

@pytest.fixture
def agentbench_run(agentbench_sandbox):
    done = agentbench_sandbox.run(["sh", "-c", "printf 'hello\\\\n' > greeting.txt"])
    return AgentRun(done, Transcript(final_message="I did it."), done.duration_s)
"""


def test_run_of_the_projects_own(project: Project, workers: tuple[str, ...]) -> None:
    """An override of agentbench_run may be the agent; oracles judge what it left."""
    project.write("conftest.py", OWN_AGENT)
    project.write("agentbench.yaml", "variants: {idle: {agent: noop}}\n")
    project.run(*workers)
    assert outcomes(project) == {
        "add[idle-r1]": ("failed", "oracle"),
        "greet[idle-r1]": ("passed", None),
    }
    record = project.records()["greet[idle-r1]"]
    assert record["agent_run"]["final_message"] == "I did it."
    assert record["diagnostics"] == [
        "agentbench_run is overridden: the variant's own agent did not run"
    ]


def test_verdict_of_the_projects_own(project: Project, workers: tuple[str, ...]) -> None:
    """An override of agentbench_verdict decides, in pytest and in the record alike."""
    project.write(
        "conftest.py",
        "import dataclasses, pytest\n"
        "@pytest.fixture\n"
        "def agentbench_verdict(agentbench_verdict, agentbench_trial):\n"
        "    stricter = agentbench_trial.task.id == 'add'\n"
        "    if not stricter:\n        return agentbench_verdict\n"
        "    return dataclasses.replace(agentbench_verdict, passed=False, reason='too long')\n",
    )
    project.script(add=ADD_RIGHT, greet=GREET_RIGHT)
    result = project.run(*workers)
    result.assert_outcomes(passed=1, failed=1)
    assert outcomes(project) == {
        "add[bot-r1]": ("failed", "assertion"),
        "greet[bot-r1]": ("passed", None),
    }
    record = project.records()["add[bot-r1]"]
    assert record["message"] == "too long"
    assert record["diagnostics"] == ["the oracles said: passed"]
    result.stdout.fnmatch_lines(["*failed (assertion): too long*"])


WITHOUT_AN_AGENT = {
    "agentbench_sandbox": (
        "return 'a string'",
        "agentbench_sandbox is overridden by a fixture that gives no sandbox, but str.",
    ),
    "agentbench_run": (
        "return None",
        "overridden by a fixture that does not give an AgentRun, but NoneType: no agent ran",
    ),
    "agentbench_verdict": ("return 1", "the fixtures of the trial are overridden, and no agent"),
    "agentbench_trial": ("return 5", "that gives no trial, but int"),
}


@pytest.mark.parametrize("name", WITHOUT_AN_AGENT)
def test_nothing_passes_without_an_agent(
    project: Project, name: str, workers: tuple[str, ...]
) -> None:
    """However the chain is overridden, a trial in which no agent ran is an error."""
    body, message = WITHOUT_AN_AGENT[name]
    project.write("conftest.py", f"import pytest\n@pytest.fixture\ndef {name}():\n    {body}\n")
    result = project.run(*workers)
    result.assert_outcomes(errors=2)
    assert set(outcomes(project).values()) == {("error", "setup")}
    text = " ".join(one["message"] for one in project.records().values())
    assert message in text
    assert "During handling" not in result.stdout.str()


@pytest.mark.parametrize("name", ["agentbench_run", "agentbench_verdict"])
def test_override_that_forgets_to_return(
    project: Project, name: str, workers: tuple[str, ...]
) -> None:
    """An override that gives something else is the author's fault: an error, and no failure."""
    project.write(
        "conftest.py", f"import pytest\n@pytest.fixture\ndef {name}({name}):\n    print({name})\n"
    )
    project.write(
        "tests/test_it.py",
        "import pytest\n"
        '@pytest.mark.agentbench(task="tasks/add.yaml")\n'
        f"def test_it({name}):\n    pass\n",
    )
    project.run(*workers).assert_outcomes(errors=3)
    assert set(outcomes(project).values()) == {("error", "setup")}
    wanted = {"agentbench_run": "an AgentRun", "agentbench_verdict": "a Verdict"}[name]
    for record in project.records().values():
        assert f"does not give {wanted}, but NoneType" in record["message"]
        assert record["phases"]["agent_s"] is not None, "the agent's run is kept"


def test_changed_identity_is_an_error(project: Project) -> None:
    """An override of agentbench_trial must not make another trial than the plan has."""
    project.write(
        "conftest.py",
        "import dataclasses, pytest\n"
        "@pytest.fixture\n"
        "def agentbench_trial(agentbench_trial):\n"
        "    return dataclasses.replace(agentbench_trial, repeat=7)\n",
    )
    project.run().assert_outcomes(errors=2)
    for record in project.records().values():
        assert "changes repeat: the plan has another trial" in record["message"]


@pytest.mark.parametrize("scope", ["class", "module", "package", "session"])
@pytest.mark.parametrize(
    "name", ["agentbench_trial", "agentbench_sandbox", "agentbench_run", "agentbench_verdict"]
)
def test_wider_override_is_a_usage_error(project: Project, name: str, scope: str) -> None:
    """A fixture of the chain with a wider scope ends the session before anything is spent."""
    project.write(
        "conftest.py",
        f"import pytest\n\n@pytest.fixture(scope={scope!r})\ndef {name}():\n    return 1\n",
    )
    result = project.run()
    assert result.ret == 4
    what = f"the fixture '{name}' is overridden with the scope '{scope}'"
    why = "several trials would share what each needs for itself. Try: no scope there"
    result.stderr.fnmatch_lines([f"ERROR: conftest.py:3: {what}: {why}; *"])
    assert not project.latest.exists()


def test_wider_override_under_workers(project: Project) -> None:
    """The same under xdist, also where only Python tests run trials."""
    project.write(
        "conftest.py",
        "import pytest\n@pytest.fixture(scope='module')\ndef agentbench_run():\n    return 1\n",
    )
    project.write(
        "tests/test_it.py",
        "import pytest\n"
        '@pytest.mark.agentbench(task="tasks/add.yaml")\n'
        "def test_it(agentbench_run):\n    pass\n",
    )
    for arguments in (("tasks",), ("tests",)):
        result = project.run(*arguments, "-n", "2")
        assert result.ret != 0
        text = result.stdout.str() + result.stderr.str()
        assert "the fixture 'agentbench_run' is overridden with the scope 'module'" in text
        assert not (project.latest / "records.jsonl").exists()


def test_fixture_that_breaks_after_the_agent_keeps_its_run(
    project: Project, workers: tuple[str, ...]
) -> None:
    """What an agent did and cost is recorded, though a later fixture failed or skipped."""
    project.write(
        "tests/test_after.py",
        "import pytest\n"
        "@pytest.fixture\ndef broken(agentbench_run):\n    raise OSError('no disk')\n"
        "@pytest.fixture\ndef moody(agentbench_run):\n    pytest.skip('enough')\n"
        '@pytest.mark.agentbench(task="tasks/add.yaml")\n'
        "def test_broken(agentbench_run, broken):\n    pass\n"
        '@pytest.mark.agentbench(task="tasks/greet.yaml")\n'
        "def test_moody(agentbench_run, moody):\n    pass\n",
    )
    project.script(add=ADD_RIGHT, greet=GREET_RIGHT)
    project.run("tests", *workers).assert_outcomes(errors=1, skipped=1)
    found = {key.partition("::")[2]: one for key, one in project.records().items()}
    broken, moody = found["test_broken[bot-r1]"], found["test_moody[bot-r1]"]
    assert (broken["outcome"], broken["reason"]) == ("error", "setup")
    assert "a fixture failed after the agent had run: OSError: no disk" in broken["message"]
    assert (moody["outcome"], moody["reason"], moody["message"]) == ("skipped", "skip", "enough")
    for record in found.values():
        assert record["phases"]["agent_s"] is not None
        assert record["churn"] is not None


SERVICES = """\
import pathlib, pytest

LOG = pathlib.Path(__file__).with_name("log.txt")

def log(line):
    with LOG.open("a") as stream:
        stream.write(line + "\\n")

@pytest.fixture(scope="session")
def database():
    log("database up")
    yield {"DATABASE_URL": "db://somewhere", "DATABASE_USER": "me"}
    log("database down")

@pytest.fixture(scope="module")
def queue(request):
    log(f"queue up for {request.node.name}")
    yield pathlib.PurePosixPath("/run/queue")
    log(f"queue down for {request.node.name}")

@pytest.fixture
def silent():
    log("silent")
    return object()
"""
USES = """\
id: %s
prompt: Write the URL to url.txt.
fixtures: %s
oracles:
  - run: 'test "$(cat url.txt)" = "%s"'
solution: {run: solve.sh}
"""
SOLVE = '#!/bin/sh\nprintf %s "$DATABASE_URL$QUEUE" > url.txt\n'


@pytest.fixture
def services(project: Project) -> Project:
    """Two tasks that use the project's fixtures, in lists and by variables."""
    for name in ("add", "greet"):
        (project.pytester.path / f"tasks/{name}.yaml").unlink()
    project.write("conftest.py", SERVICES)
    project.write("tasks/solve.sh", SOLVE).chmod(0o755)
    project.write("tasks/list.yaml", USES % ("list", "[database, silent]", "$DATABASE_URL"))
    project.write(
        "tasks/map.yaml", USES % ("map", "{queue: QUEUE, database: null}", "$DATABASE_URL$QUEUE")
    )
    return project


def test_values_of_fixtures_reach_agent_and_oracles(services: Project) -> None:
    """Module- and session-scoped fixtures are made once, and their values become environment."""
    assert services.run("--agentbench-repeats=2").ret == 0
    made = (services.pytester.path / "log.txt").read_text().splitlines()
    assert made.count("database up") == made.count("database down") == 1
    assert made.count("silent") == 2
    assert made[-1] == "database down"
    assert "queue up for map.yaml" in made
    assert {key for key, _ in outcomes(services).items()} == {
        "list[reference-r1]",
        "list[reference-r2]",
        "map[reference-r1]",
        "map[reference-r2]",
    }


def test_values_of_fixtures_under_workers(services: Project) -> None:
    """The same under xdist; an agent that gets no variable is wrong."""
    assert services.run("-n", "2").ret == 0
    services.write("tasks/list.yaml", USES % ("list", "[silent]", "db://somewhere"))
    services.run("-n", "2").assert_outcomes(passed=1, failed=1)
    assert outcomes(services)["list[reference-r1]"] == ("failed", "oracle")


def test_values_of_fixtures_are_taken_for_secrets(services: Project) -> None:
    """What a fixture gives is in no record and no report: it may be a password."""
    services.write(
        "tasks/list.yaml",
        "prompt: x\nfixtures: [database]\noracles: [{run: 'echo $DATABASE_URL; exit 1'}]\n"
        "solution: {run: solve.sh}\n",
    )
    result = services.run("tasks/list.yaml")
    result.assert_outcomes(failed=1)
    assert "[redacted]" in result.stdout.str()
    kept = [path for path in services.latest.rglob("*") if path.is_file()]
    assert kept
    for path in kept:
        assert b"db://somewhere" not in path.read_bytes(), path


def test_parametrized_session_fixture_is_made_once_for_each_value(
    services: Project, workers: tuple[str, ...]
) -> None:
    """Trials that share a value of a wider fixture run together, and have keys of their own."""
    services.write(
        "conftest.py",
        SERVICES.replace(
            '@pytest.fixture(scope="session")\ndef database():\n    log("database up")',
            '@pytest.fixture(scope="session", params=["one", "two"])\n'
            'def database(request):\n    log(f"database up {request.param}")',
        ),
    )
    assert services.run("--agentbench-repeats=2", *workers).ret == 0
    assert set(outcomes(services)) == {
        f"{task}[reference-r{repeat}-{value}]"
        for task in ("list", "map")
        for repeat in (1, 2)
        for value in ("one", "two")
    }
    made = (services.pytester.path / "log.txt").read_text().splitlines()
    if not workers:
        assert [line for line in made if "up" in line and "data" in line] == [
            "database up one",
            "database up two",
        ]


FAULTS: Mapping[str, tuple[str, str, str]] = {
    "not-text": (
        "[database]",
        "return {'PORT': 5432}",
        "fixture database: gives a mapping in which 'PORT' is int: variables are text",
    ),
    "no-name": (
        "[database]",
        "return {'MY PORT': '1'}",
        "fixture database: the variable 'MY PORT' is not a name for an environment variable",
    ),
    "no-value": (
        "{database: URL}",
        "return None",
        "fixture database: gives NoneType, which is no text for URL",
    ),
    "clash": (
        "[database]\nsandbox: {env: {URL: here}}",
        "return {'URL': 'there'}",
        "a fixture and the task's sandbox.env both give URL",
    ),
    "raises": ("[database]", "raise OSError('refused')", "OSError: refused"),
    "missing": ("[databse]", "return None", "fixture 'databse' not found"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_fixture_that_gives_nothing_useful_is_an_error(
    project: Project, name: str, workers: tuple[str, ...]
) -> None:
    """What a fixture does wrong is an error of its trials alone, with the fixture's name."""
    fixtures, body, message = FAULTS[name]
    project.write("conftest.py", f"import pytest\n@pytest.fixture\ndef database():\n    {body}\n")
    project.write(
        "tasks/add.yaml", f"prompt: x\nfixtures: {fixtures}\noracles: [{{run: 'true'}}]\n"
    )
    project.run(*workers).assert_outcomes(passed=1, errors=1)
    record = project.records()["add[reference-r1]"]
    assert (record["outcome"], record["reason"]) == ("error", "setup")
    assert message in record["message"]


def test_setup_only_starts_no_agent(services: Project) -> None:
    """--setup-only sets a task's own fixtures up, and neither sandbox nor agent."""
    result = services.run("--setup-only")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*SETUP    S database*", "*SETUP    F agentbench_sandbox*"])
    assert not services.latest.exists()
