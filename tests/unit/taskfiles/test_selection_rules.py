"""What a task file says of when it is run, and what is surely wrong with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_agentbench.errors import DefinitionError
from pytest_agentbench.model.task import SkipRule, TaskSpec, Xfail
from pytest_agentbench.taskfiles.loader import load_task_file


def load(project: Path, lines: str) -> TaskSpec:
    """The task of a file with those lines; the first is line 3."""
    path = project / "tasks" / "t.yaml"
    path.write_text(f"prompt: p\noracles: [{{run: x}}]\n{lines}\n")
    (task,) = load_task_file(path, rootdir=project)
    return task


def faults(project: Path, lines: str) -> list[str]:
    with pytest.raises(DefinitionError) as caught:
        load(project, lines)
    return [
        f"{problem.line}:{problem.column}: {problem.message}" for problem in caught.value.problems
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("broken", SkipRule("broken")),
        ("{reason: broken}", SkipRule("broken")),
        ("{unless: {platform: linux}}", SkipRule(platforms=("linux",))),
        (
            "{reason: r, unless: {arch: [arm64, vax], command: [a, /b], env: [A, B]}}",
            SkipRule("r", (), ("arm64", "vax"), ("a", "/b"), ("A", "B")),
        ),
    ],
)
def test_skip(project: Path, text: str, expected: SkipRule) -> None:
    """A reason alone, or conditions; one text stands for a list with it."""
    assert load(project, f"skip: {text}").skip == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("hard", Xfail("hard")),
        ("{variants: noop}", Xfail(variants=("noop",))),
        ("{reason: r, variants: [a*, b], strict: false}", Xfail("r", ("a*", "b"), strict=False)),
    ],
)
def test_xfail(project: Path, text: str, expected: Xfail) -> None:
    """A reason alone, or patterns of variants; what is not said of strictness stays open."""
    assert load(project, f"xfail: {text}").xfail == expected


def test_slots(project: Path) -> None:
    """Names with how many of each; none is the default."""
    assert load(project, "slots: {gpu: 2, db: 1}").slots == {"gpu": 2, "db": 1}
    task = load(project, "")
    assert (task.skip, task.xfail, task.slots) == (None, None, {})


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (
            "skip: {unless: {platform: [Linux, windows, linux, plan9]}}",
            [
                "3:28: platform 'Linux' is no value of sys.platform; did you mean 'linux'?",
                "3:35: platform 'windows' is no value of sys.platform; did you mean 'win32'?",
            ],
        ),
        (
            "skip: {unless: {platform: macOS, arch: 'x 86', command: ['', bin/x], env: [A-B]}}",
            [
                "3:27: platform 'macOS' is no value of sys.platform; did you mean 'darwin'?",
                "3:40: arch 'x 86' holds a blank",
                "3:58: command '' is empty",
                "3:62: command 'bin/x' is neither the name of a command nor an absolute path",
                "3:76: env 'A-B' is not a name for an environment variable",
            ],
        ),
        ("skip: {unless: {}}", ["3:8: 'unless' names no condition"]),
        ("skip: ''", ["3:7: a skip needs a reason, or conditions below 'unless'"]),
        ("skip: no", ["3:7: 'no' is the text of a reason here, and no truth value"]),
        ("skip: 'Off'", ["3:7: 'Off' is the text of a reason here, and no truth value"]),
        (
            "skip: {reason: 'yes'}",
            ["3:7: 'yes' is the text of a reason here, and no truth value"],
        ),
        ("xfail: no", ["3:8: 'no' is the text of a reason here, and no truth value"]),
        ("xfail: {variants: []}", ["3:9: 'variants' names no variant"]),
        ("xfail: {variants: [a, ' ']}", ["3:23: a pattern of variants is empty"]),
        ("slots: {'g/pu': 1}", ["3:9: the slot name 'g/pu' holds '/'"]),
        ("slots: {gpu: 0}", ["3:14: 'slots.gpu' must be at least 1, not 0"]),
    ],
)
def test_what_is_surely_wrong(project: Path, lines: str, expected: list[str]) -> None:
    """What would skip a task everywhere, or means nothing, is an error at its place."""
    assert faults(project, lines) == expected
