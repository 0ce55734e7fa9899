"""``--agentbench-junit``: pass rates as JUnit XML, in real sessions."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest
import xmlschema

import pytest_source
from junit_readers import (
    ERROR,
    FAILED,
    PASSED,
    SKIPPED,
    Annotation,
    dorny,
    gitlab,
    mikepenz,
    totals,
    without_extensions,
)
from projects import Project
from requirements import require

EXPERIMENT = """\
variants:
  good: {agent: reference}
  idle: {agent: noop}
suites:
  smoke: {select: {marks: smoke}}
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
OPTION = "--agentbench-junit=reports/rates.xml"


def root_of(project: Project, name: str = "reports/rates.xml") -> ET.Element:
    return ET.parse(project.pytester.path / name).getroot()


def messages(root: ET.Element) -> dict[str, str]:
    """What cases say that did not pass."""
    return {
        str(case.get("name")): str(one.get("message"))
        for case in root.iter("testcase")
        for one in case
        if one.tag != "properties"
    }


def shell(project: Project, command: str) -> None:
    """An experiment with one variant, a shell command."""
    head = "variants:\n  v:\n    agent: command\n    options:\n      run: |\n"
    project.write("agentbench.yaml", f"{head}        {command}\n")


def test_every_suite_and_variant_has_its_cases(project: Project, workers: tuple[str, ...]) -> None:
    """Two suites and the suite of all, two variants, every outcome, two repeats."""
    project.write("agentbench.yaml", EXPERIMENT)
    project.write("tasks/broken.yaml", TASK + "workspace: {setup: [exit 1]}\n")
    project.write("tasks/later.yaml", TASK + "skip: not today\n")
    project.write("tasks/hard.yaml", TASK + "xfail: {reason: too hard, variants: [idle]}\n")
    project.write("tasks/rows.yaml", ROWS)
    project.write("tasks/rows.jsonl", '{"n": 1}\n{"n": 2}\n')
    result = project.run("--agentbench-repeats=2", OPTION, *workers)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["pass rates as JUnit XML: reports/rates.xml"])
    root = root_of(project)
    good = {"broken": ERROR, "later": SKIPPED, "hard": PASSED}
    idle = {"broken": ERROR, "later": SKIPPED, "hard": SKIPPED}
    smoke, rows = ("add", "greet"), ("row-1", "row-2")
    everything = {
        "good": good | dict.fromkeys((*smoke, *rows), PASSED),
        "idle": idle | dict.fromkeys((*smoke, *rows), FAILED),
    }
    shown = {
        f"{task}[{suite}/{variant}]": told
        for suite, tasks in (("all", everything["good"]), ("smoke", smoke), ("rows", rows))
        for variant, all_of in everything.items()
        for task, told in all_of.items()
        if task in tasks
    }
    assert gitlab(root) == shown
    assert set(dorny(root)) == {f"{s}.{v}" for s in ("all", "smoke", "rows") for v in everything}
    assert totals(root) == {"tests": 22, "failures": 8, "errors": 2, "skipped": 3}
    told = messages(root)
    assert told["add[smoke/idle]"] == "0/2 passed, 2 failed"
    assert told["broken[all/good]"] == "0/2 passed, 2 error"
    assert told["later[all/good]"] == "0/2 passed, 2 skipped"
    assert told["hard[all/idle]"] == "0/2 passed, 2 failed as expected"
    assert Annotation("tasks/rows.yaml", 1, "row-2[rows/idle]") in mikepenz(root)


def test_schema_and_time(project: Project, workers: tuple[str, ...]) -> None:
    """As Jenkins' schema wants it, but for what it does not know; time is that of the trials."""
    require("pytest-sdist")
    schema = xmlschema.XMLSchema(str(pytest_source.junit_schema()))
    project.run(OPTION, *workers)
    root = root_of(project)
    schema.validate(without_extensions(root))
    records = project.records()
    times = {case.get("name"): float(case.get("time", -1)) for case in root.iter("testcase")}
    assert times == {
        f"{task}[all/reference]": pytest.approx(
            records[f"{task}[reference-r1]"]["phases"]["total_s"], abs=0.001
        )
        for task in ("add", "greet")
    }
    del next(root.iter("testcase")).attrib["name"]
    assert not schema.is_valid(without_extensions(root)), "negative control"


def test_an_interrupted_session_tells_what_was_cancelled(
    project: Project, workers: tuple[str, ...]
) -> None:
    """SIGTERM ends a session as Ctrl-C does: the file is there, and no case looks passed."""
    pytest_itself = "$PPID" if not workers else "$(cut -d' ' -f4 /proc/$PPID/stat)"
    kill = f"kill -TERM {pytest_itself}; sleep 60"
    shell(project, f'case "$AGENTBENCH_TASK" in greet) {kill}; esac')
    result = project.run(OPTION, *workers)
    assert result.ret == 2
    root = root_of(project)
    assert gitlab(root)["greet[all/v]"] == SKIPPED
    assert gitlab(root)["add[all/v]"] in (FAILED, SKIPPED), "it may not have been told in time"
    assert messages(root)["greet[all/v]"] == "0/1 passed, 1 cancelled"
    texts = [str(one.text).splitlines()[0] for one in root.iter("skipped")]
    assert [text[:36] for text in texts if "greet" in text] == [
        "greet[v-r1]: cancelled (interrupted)"
    ]


def test_a_stopped_session_tells_what_never_ran(project: Project) -> None:
    """``-x``: the suite is partial, and what did not run is skipped."""
    project.write("agentbench.yaml", EXPERIMENT)
    project.run(OPTION, "-x", "--agentbench-variant=idle")
    root = root_of(project)
    assert gitlab(root) == {"add[smoke/idle]": FAILED, "greet[smoke/idle]": SKIPPED}
    (partial,) = (
        one.get("value") for one in root.iter("property") if one.get("name") == "agentbench.partial"
    )
    assert "1 of 2 trials not run" in str(partial)


def test_a_dead_worker_is_an_error(project: Project) -> None:
    """Nothing was measured, and how long it took is not known."""
    shell(project, 'case "$AGENTBENCH_TASK" in add) kill -9 $PPID; esac; echo hello > greeting.txt')
    project.run(OPTION, "-n2")
    root = root_of(project)
    assert gitlab(root) == {"add[all/v]": ERROR, "greet[all/v]": PASSED}
    (case,) = (one for one in root.iter("testcase") if one.get("name") == "add[all/v]")
    assert case.get("time") is None


def test_reruns_do_not_mend_a_rate(project: Project, workers: tuple[str, ...]) -> None:
    """The first scored attempt counts, as in the summary, though pytest is content in the end."""
    flag = project.pytester.path / "flag"
    shell(project, f"test -e {flag} && echo hello > greeting.txt; touch {flag}")
    result = project.run(OPTION, "--reruns=1", "tasks/greet.yaml", *workers)
    assert result.ret == 0
    assert messages(root_of(project)) == {"greet[all/v]": "0/1 passed, 1 failed"}


def test_the_ini_key_is_relative_to_the_root_directory(
    project: Project, workers: tuple[str, ...]
) -> None:
    """And the option to where pytest is called."""
    project.write(
        "pytest.ini", "[pytest]\nagentbench_sandbox = local\nagentbench_junit = out/ini.xml\n"
    )
    below = project.pytester.path / "tasks"
    project.pytester.chdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(below)
        project.run(*workers)
        assert list(gitlab(root_of(project, "out/ini.xml"))) == [
            "add[all/reference]",
            "greet[all/reference]",
        ]
        project.run("--agentbench-junit=own.xml", *workers)
    assert (below / "own.xml").is_file()


@pytest.mark.parametrize("path", ["occupied/rates.xml", "tasks", "same.xml"])
def test_a_file_that_cannot_be_is_refused_before_anything_runs(
    project: Project, workers: tuple[str, ...], path: str
) -> None:
    """Below a file, a directory, and the file of ``--junitxml``: exit 4, and no agent starts."""
    project.write("occupied", "a file")
    ran = project.pytester.path / "ran"
    shell(project, f"touch {ran}")
    result = project.run(f"--agentbench-junit={path}", "--junitxml=same.xml", *workers)
    assert result.ret == 4
    text = result.stdout.str() + result.stderr.str()
    assert f"--agentbench-junit: {project.pytester.path / path}: " in text
    assert ". Try: " in text
    assert "Traceback" not in text
    assert not ran.exists()


def test_a_file_that_cannot_be_written_in_the_end_is_told(
    project: Project, workers: tuple[str, ...]
) -> None:
    """Somebody made a directory of that name meanwhile: the session is not green."""
    target = project.pytester.path / "reports" / "rates.xml"
    shell(project, f"mkdir -p {target}; echo hello > greeting.txt")
    result = project.run(OPTION, "tasks/greet.yaml", *workers)
    result.assert_outcomes(passed=1)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["results: */reports/rates.xml: cannot be written: *"])
    assert "pass rates as JUnit XML" not in result.stdout.str()


def test_where_nothing_runs_nothing_is_written(project: Project, workers: tuple[str, ...]) -> None:
    """``--collect-only`` and sessions without trials make neither file nor directory."""
    project.write("test_plain.py", "def test_it():\n    pass\n")
    project.run(OPTION, "--collect-only")
    result = project.run(OPTION, "test_plain.py", *workers)
    result.assert_outcomes(passed=1)
    assert not (project.pytester.path / "reports").exists()
