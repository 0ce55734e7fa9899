"""pytest's own JUnit file of sessions with trials, as its readers see it."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence

import pytest
import xmlschema

import pytest_source
from junit_readers import (
    ERROR,
    FAILED,
    PASSED,
    SKIPPED,
    Annotation,
    buildkite,
    circleci,
    datadog,
    dorny,
    gitlab,
    jenkins,
    mikepenz,
    totals,
    without_extensions,
)
from projects import Project, properties
from requirements import require

VARIANTS = """\
variants:
  good: {agent: reference}
  idle: {agent: noop}
"""
BROKEN = """\
# A remark, so that the task does not stand in the first line.

prompt: Nobody gets here.
workspace: {setup: [exit 1]}
oracles: [{run: "true"}]
solution: {files: {a: ""}}
"""
TASK = """\
prompt: Write out.txt.
oracles: [{files: {out.txt: {equals: right}}}]
solution: {files: {out.txt: right}}
"""
ROWS = """\
dataset: {path: rows.jsonl, id: n}
id: row-{{ row.n }}
prompt: Write {{ row.n }} to out.txt.
oracles: [{files: {out.txt: {equals: '{{ row.n }}'}}}]
solution: {files: {out.txt: '{{ row.n }}'}}
"""

SHOWN = {
    "add[good-r1]": PASSED,
    "add[idle-r1]": FAILED,
    "greet[good-r1]": PASSED,
    "greet[idle-r1]": FAILED,
    "broken[good-r1]": ERROR,
    "broken[idle-r1]": ERROR,
    "later[good-r1]": SKIPPED,
    "later[idle-r1]": SKIPPED,
    "hard[good-r1]": PASSED,
    "hard[idle-r1]": SKIPPED,
    "row-1[good-r1]": PASSED,
    "row-1[idle-r1]": FAILED,
    "row-2[good-r1]": PASSED,
    "row-2[idle-r1]": FAILED,
}
"""What every reader has to show of each trial of ``mixed``."""

DESCENT = {"row-1": "rows", "row-2": "rows"}
RED = {FAILED, ERROR}


@pytest.fixture
def mixed(project: Project) -> Project:
    """Every outcome: six task files, one of them a dataset of two rows, two variants."""
    project.write("agentbench.yaml", VARIANTS)
    project.write("tasks/broken.yaml", BROKEN)
    project.write("tasks/later.yaml", TASK + "skip: not today\n")
    project.write("tasks/hard.yaml", TASK + "xfail: {reason: too hard, variants: [idle]}\n")
    project.write("tasks/rows.yaml", ROWS)
    project.write("tasks/rows.jsonl", '{"n": 1}\n{"n": 2}\n')
    return project


@pytest.fixture(params=["xunit1", "xunit2"])
def family(request: pytest.FixtureRequest) -> Sequence[str]:
    """Arguments for a JUnit file of each family."""
    return ("--junitxml=junit.xml", "-o", f"junit_family={request.param}")


def root_of(project: Project, name: str = "junit.xml") -> ET.Element:
    return ET.parse(project.pytester.path / name).getroot()


def file_of(name: str) -> str:
    task = name.partition("[")[0]
    return f"{DESCENT.get(task, task)}.yaml"


def as_failures(shown: dict[str, str]) -> dict[str, str]:
    """What readers show that know no errors."""
    return {name: FAILED if told == ERROR else told for name, told in shown.items()}


def test_each_reader_shows_each_trial_once(
    mixed: Project, workers: tuple[str, ...], family: Sequence[str]
) -> None:
    """Unique names below the file's class name, with the outcome that pytest tells."""
    result = mixed.run(*family, *workers)
    result.assert_outcomes(passed=5, failed=4, errors=2, skipped=2, xfailed=1)
    root = root_of(mixed)
    assert totals(root) == {"tests": 14, "failures": 4, "errors": 2, "skipped": 3}
    assert gitlab(root) == SHOWN
    assert [one.tags for one in datadog(root)] == [{}] * 14
    assert {one.name: one.status for one in datadog(root)} == SHOWN
    scopes = {(f"tasks.{file_of(name)}", name): [told] for name, told in SHOWN.items()}
    assert buildkite(root) == scopes, "one run of each"
    groups: dict[str, dict[str, str]] = {}
    for name, told in as_failures(SHOWN).items():
        groups.setdefault(f"tasks.{file_of(name)}", {})[name] = told
    assert dorny(root) == groups
    assert jenkins(root) == {("tasks." + name[6:-5], "yaml"): of for name, of in groups.items()}


def test_files_and_lines_point_at_the_task(mixed: Project, workers: tuple[str, ...]) -> None:
    """In ``xunit1``: the task's file, and its line as an editor counts it, from 1."""
    mixed.run("--junitxml=junit.xml", "-o", "junit_family=xunit1", *workers)
    root = root_of(mixed)
    lines = {"broken": 3}
    assert sorted(mikepenz(root), key=lambda one: one.title) == [
        Annotation(f"tasks/{file_of(name)}", lines.get(name.partition("[")[0], 1), name)
        for name in sorted(SHOWN)
        if SHOWN[name] in RED
    ]
    assert set(circleci(root)) == {f"tasks/{file_of(name)}" for name in SHOWN}
    assert {case.get("line") for case in root.iter("testcase")} == {"1", "3"}


def test_lines_of_ordinary_tests_stay_as_pytest_writes_them(mixed: Project) -> None:
    """Negative control: only cases of trials are put right."""
    mixed.write("test_plain.py", "def test_it():\n    assert 0\n")
    mixed.run("--junitxml=junit.xml", "-o", "junit_family=xunit1", "-k", "test_it or greet")
    lines = {str(case.get("name")): case.get("line") for case in root_of(mixed).iter("testcase")}
    assert lines == {"greet[good-r1]": "1", "greet[idle-r1]": "1", "test_it": "0"}


def test_the_trial_s_time_is_in_the_call(project: Project, workers: tuple[str, ...]) -> None:
    """``junit_duration_report = call`` shows it too, and both count it once."""
    slow = '[{sleep: 1}, {write: {path: greeting.txt, text: "hello\\n"}}]'
    project.script(greet=slow, add="[{sleep: 1}]")
    for report in ("call", "total"):
        project.run("--junitxml=junit.xml", "-o", f"junit_duration_report={report}", *workers)
        for key, case in project.junit().items():
            total = project.records()[key]["phases"]["total_s"]
            assert total >= 1
            assert total - 0.001 <= float(case.get("time", 0)) < 2 * total


FLAKY = (
    "variants:\n  {name}:\n    agent: command\n    options:\n"
    '      run: \'cd "$PWD"; test -e {flag} && printf "hello\\n" > greeting.txt; touch {flag}\'\n'
)


def test_reruns_are_one_case(
    project: Project, workers: tuple[str, ...], family: Sequence[str]
) -> None:
    """The last attempt is the case; what came before it stands in it, and is no failure."""
    flag = project.pytester.path / "flag"
    project.write(
        "agentbench.yaml",
        FLAKY.format(name="flaky", flag=flag) + "  never: {agent: noop}\n",
    )
    result = project.run("--reruns=2", *family, *workers, "tasks/greet.yaml")
    assert result.parseoutcomes() == {"passed": 1, "failed": 1, "rerun": 3}
    root = root_of(project)
    shown = {"greet[flaky-r1]": PASSED, "greet[never-r1]": FAILED}
    assert gitlab(root) == shown
    assert buildkite(root) == {("tasks.greet.yaml", name): [told] for name, told in shown.items()}
    assert totals(root) == {"tests": 2, "failures": 1, "errors": 0, "skipped": 0}
    cases = project.junit()
    flaky, never = cases["greet[flaky-r1]"], cases["greet[never-r1]"]
    assert properties(flaky)["agentbench.attempts"] == "failed (oracle), passed"
    assert properties(never)["agentbench.attempts"] == ", ".join(["failed (oracle)"] * 3)
    assert [one.tag for one in flaky] == ["properties", "flakyFailure"]
    told = [one.get("message") for one in never.iter("rerunFailure")]
    assert [str(message)[:10] for message in told] == ["attempt 1:", "attempt 2:"]


def test_errors_that_were_run_again_are_one_case(
    project: Project, workers: tuple[str, ...]
) -> None:
    """Also where the set-up of a test never came to its end."""
    project.write("agentbench.yaml", "variants: {v: {agent: command, options: {run: exit 3}}}\n")
    project.run("--reruns=1", "--junitxml=junit.xml", *workers)
    assert gitlab(root_of(project)) == {"add[v-r1]": ERROR, "greet[v-r1]": ERROR}
    for case in project.junit().values():
        assert [one.tag for one in case] == ["properties", "error", "rerunError"]


def test_a_failed_trial_whose_teardown_fails_is_one_case(
    project: Project, workers: tuple[str, ...]
) -> None:
    """GitLab would drop the second one, and Buildkite would call the test flaky."""
    project.script(add="[]", greet='[{write: {path: greeting.txt, text: "hello\\n"}}]')
    project.write(
        "conftest.py",
        "import pytest\n\n\n@pytest.fixture(autouse=True)\ndef leaky():\n    yield\n    assert 0\n",
    )
    project.run("--junitxml=junit.xml", *workers)
    root = root_of(project)
    assert gitlab(root) == {"add[bot-r1]": FAILED, "greet[bot-r1]": ERROR}
    assert totals(root) == {"tests": 2, "failures": 1, "errors": 2, "skipped": 0}


@pytest.mark.parametrize("reruns", [(), ("--reruns=1",)])
def test_a_dead_worker_is_one_case(
    project: Project, family: Sequence[str], reruns: tuple[str, ...]
) -> None:
    """With the trial's properties; in ``xunit1``, at the task's line."""
    project.write(
        "agentbench.yaml",
        "variants:\n  killer:\n    agent: command\n    options:\n"
        "      run: 'test -e calc.py && kill -9 $PPID; printf \"hello\\n\" > greeting.txt'\n",
    )
    project.run("-n2", *family, *reruns)
    root = root_of(project)
    assert gitlab(root) == {"add[killer-r1]": ERROR, "greet[killer-r1]": PASSED}
    dead = project.junit()["add[killer-r1]"]
    assert properties(dead)["agentbench.reason"] == "crash"
    if "junit_family=xunit1" in family:
        assert mikepenz(root) == [Annotation("tasks/add.yaml", 1, "add[killer-r1]")]


SHOUTS = r"""
def check(context):
    words = "\x1b[31mred\x1b[0m \x00\x07 \ud83d \udc80 \u2028 ]]> <&> \ufffe end "
    return 0.0, words + "x" * 100_000
"""


def test_any_text_is_valid_xml(
    project: Project, workers: tuple[str, ...], family: Sequence[str]
) -> None:
    """Controls, colours, half characters and very long messages: of oracles, and of fixtures."""
    for task in ("add", "greet"):
        project.write(
            f"tasks/{task}.yaml",
            TASK.replace("oracles: [", "oracles: [{python: 'shouts:check', assets: shouts.d}, "),
        )
    project.write("tasks/shouts.d/shouts.py", SHOUTS)
    project.write(
        "conftest.py",
        "import pytest\n\n\n@pytest.fixture(autouse=True)\ndef loud(request):\n"
        "    if 'add' in request.node.name:\n"
        "        words = '\\x1b[31mred \\x00 ' + chr(0xD800) + ' ]]> <&> '\n"
        "        raise ValueError(words + 'y' * 100_000)\n",
    )
    project.run(*family, *workers)
    root = root_of(project)
    assert gitlab(root) == {"add[reference-r1]": ERROR, "greet[reference-r1]": FAILED}
    (error,) = root.iter("error")
    assert str(error.text).count("y") >= 100_000
    (failure,) = root.iter("failure")
    assert "end xxx" in str(failure.text)


LEAN = """\
import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logreport(report):
    report.user_properties.clear()
"""


def test_xunit2_is_what_jenkins_schema_allows(mixed: Project, workers: tuple[str, ...]) -> None:
    """But for properties of cases, which it does not know; a conftest can leave them out."""
    require("pytest-sdist")
    schema = xmlschema.XMLSchema(str(pytest_source.junit_schema()))
    mixed.run("--reruns=1", "--junitxml=junit.xml", *workers)
    root = root_of(mixed)
    refused = [error.path for error in schema.iter_errors(root)]
    assert len(refused) == 14
    schema.validate(without_extensions(root))

    mixed.write("conftest.py", LEAN)
    mixed.run("--junitxml=junit.xml", *workers)
    root = root_of(mixed)
    schema.validate(root)
    assert gitlab(root) == SHOWN
    del next(root.iter("testcase")).attrib["name"]
    assert not schema.is_valid(root), "negative control"


def test_tags_for_datadog_are_one_fixture_away(project: Project, workers: tuple[str, ...]) -> None:
    """What a fixture adds to a trial's properties stays, beside ours."""
    project.write(
        "conftest.py",
        "import pytest\n\n\n@pytest.fixture(autouse=True)\n"
        "def tags(request, agentbench_trial):\n"
        "    tag = ('dd_tags[variant]', agentbench_trial.variant.name)\n"
        "    request.node.user_properties.append(tag)\n",
    )
    project.run("--junitxml=junit.xml", *workers)
    assert [one.tags for one in datadog(root_of(project))] == [{"variant": "reference"}] * 2


def test_a_file_that_cannot_be_put_right_is_told(project: Project) -> None:
    """The session is not green, for a reader would count trials twice."""
    project.write(
        "conftest.py",
        "import pytest\n\n\n@pytest.hookimpl(trylast=True)\n"
        "def pytest_sessionfinish():\n"
        "    open('junit.xml', 'w').write('<testsuites')\n",
    )
    result = project.run("--junitxml=junit.xml", "-o", "junit_family=xunit1")
    result.assert_outcomes(passed=2)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["results: junit.xml: trials may stand in it more than once: *"])
