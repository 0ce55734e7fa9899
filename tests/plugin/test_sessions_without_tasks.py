"""Sessions that see no task file, or nearly none: what is loaded, refused and told."""

from __future__ import annotations

import pytest

from projects import Project

BOOM = "raise RuntimeError('a conftest of a task was loaded')\n"
TASK = "prompt: p\noracles: [{pytest: hidden}]\nsolution: {files: {a.py: ''}}\n"
HIDDEN = "def test_hidden():\n    pass\n"

LOADED = """\
import sys

NEVER = {"taskfiles.claims", "taskfiles.ownership"}
# An xdist controller may have to tell workers of a run.
NOT_ALONE = {"pytest_integration.compat", "pytest_integration.sessionsettings", "errors"}

def pytest_unconfigure(config):
    unneeded = NEVER if config.pluginmanager.hasplugin("dsession") else NEVER | NOT_ALONE
    ours = {name.removeprefix("pytest_agentbench.") for name in sys.modules}
    assert "plugin" in ours
    assert not ours & unneeded, ours & unneeded
"""


COLLECTS = """\
import pytest

class Page(pytest.File):
    def collect(self):
        yield Line.from_parent(self, name="line")

class Line(pytest.Item):
    def runtest(self):
        pass

def pytest_collect_file(file_path, parent):
    return Page.from_parent(parent, path=file_path) if file_path.suffix == ".yml" else None
"""
"""Another plugin's YAML files."""


@pytest.fixture
def project(pytester: pytest.Pytester) -> Project:
    """Two ordinary tests."""
    project = Project(pytester)
    project.write("pytest.ini", "[pytest]\n")
    project.write("tests/test_one.py", "def test_one():\n    pass\n")
    project.write("tests/test_two.py", "def test_two():\n    pass\n")
    return project


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["one-process", "xdist"])
@pytest.mark.parametrize(
    "files",
    [
        (),
        ("mkdocs.yml", ".pre-commit-config.yaml", "tests/data/a.yaml", "experiments/train.py"),
    ],
    ids=["no-yaml", "ordinary-yaml"],
)
def test_nothing_is_loaded_that_reads_yaml(
    project: Project, files: tuple[str, ...], workers: tuple[str, ...]
) -> None:
    """Without a candidate, neither claims nor ownership is loaded, nor what checks settings."""
    for name in files:
        project.write(name, "a: 1\n" if name.endswith("l") else "")
    project.write("conftest.py", LOADED)
    result = project.pytester.runpytest_subprocess(*workers)
    result.assert_outcomes(passed=2)
    assert result.ret == 0
    assert "AssertionError" not in result.stderr.str()


@pytest.mark.parametrize("name", ["tasks/playbook.yml", "nested/x.task.yaml"])
def test_a_candidate_is_looked_into(project: Project, name: str) -> None:
    """Negative control: a file that may be a task file loads what can tell."""
    project.write(name, TASK if "task.yaml" in name else "- hosts: all\n")
    project.write("conftest.py", LOADED)
    result = project.pytester.runpytest_subprocess("--co")
    assert "AssertionError" in result.stderr.str() + result.stdout.str()


def test_named_yaml_that_is_no_task_file(project: Project) -> None:
    """Of YAML files that were named, and that are no task files, each is told what it lacks."""
    project.write("mkdocs.yml", "site_name: x\n")
    project.write("docs/any.yaml", "a: 1\n")
    result = project.run("mkdocs.yml", "docs/any.yaml")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    text = result.stdout.str()
    for name in ("mkdocs.yml", "any.yaml"):
        assert text.count(f"agentbench: {name} is no task file. Try: call it NAME.task.y") == 1


def test_named_yaml_beside_tests(project: Project) -> None:
    """Where the session comes to an end of its own, nothing is said of such a file."""
    project.write("mkdocs.yml", "site_name: x\n")
    project.write("conftest.py", COLLECTS)
    result = project.run("mkdocs.yml", "tests")
    result.assert_outcomes(passed=3)
    assert "no task file" not in result.stdout.str()


def test_named_file_below_tasks_is_taken_at_its_word(project: Project) -> None:
    """A YAML file below tasks/ with none of our keys is wrong when it is named."""
    project.write("tasks/typo.yaml", "promt: x\n")
    project.run().assert_outcomes(passed=2)
    result = project.run("tasks/typo.yaml")
    result.assert_outcomes(errors=1)


@pytest.mark.parametrize("argument", ["tests", "tests/link"])
def test_links_into_what_a_task_owns(project: Project, argument: str) -> None:
    """What a task owns is neither collected nor its conftest loaded through a link to it."""
    project.write("tasks/fix.yaml", TASK)
    project.write("tasks/hidden/test_hidden.py", HIDDEN)
    project.write("tasks/hidden/conftest.py", BOOM)
    (project.pytester.path / "tests" / "link").symlink_to("../tasks/hidden")
    result = project.run(argument)
    assert "a conftest of a task was loaded" not in result.stdout.str() + result.stderr.str()
    assert "test_hidden" not in result.stdout.str().partition("rootdir")[2].replace(argument, "")
    result.assert_outcomes(passed=2 if argument == "tests" else 0)


def test_task_outside_of_the_root(project: Project) -> None:
    """A task.yaml that is named outside of the root directory owns what lies below it."""
    project.write("elsewhere/task.yaml", TASK)
    project.write("elsewhere/hidden/test_hidden.py", HIDDEN)
    project.write("elsewhere/tests/conftest.py", BOOM)
    project.write("elsewhere/tests/test_boom.py", HIDDEN)
    project.write("inner/pytest.ini", "[pytest]\nagentbench_sandbox = local\n")
    result = project.run("-c", "inner/pytest.ini", "--rootdir", "inner", "--co", "-q", "elsewhere")
    assert result.ret == 0
    assert "hidden" not in result.stdout.str()
    assert "1 test collected" in result.stdout.str()
