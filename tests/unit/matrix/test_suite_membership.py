from __future__ import annotations

from pathlib import Path

import pytest

from pytest_agentbench.errors import UsageError
from pytest_agentbench.matrix.suites import (
    Candidate,
    check_members,
    check_names,
    suite_names,
    suites_of,
)
from pytest_agentbench.model.task import Position, TaskSpec
from pytest_agentbench.model.variant import Suite

ROOT = Path("/project")


def task(name: str, *, dataset: str | None = None, tags: tuple[str, ...] = ()) -> TaskSpec:
    file = f"tasks/{dataset or name}.yaml"
    return TaskSpec(
        id=name,
        position=Position(ROOT / file, 3),
        prompt="",
        oracles=(),
        digest="",
        tags=tags,
        dataset=dataset,
    )


def candidate(spec: TaskSpec) -> Candidate:
    """A task whose marks are its tags; an expression is one tag, or ``not`` one."""

    def marked(text: str) -> bool:
        return (text.removeprefix("not ") in spec.tags) != text.startswith("not ")

    return Candidate(spec, spec.position.path.relative_to(ROOT).as_posix(), marked)


def suite(name: str, **select: object) -> Suite:
    return Suite(name, position=Position(ROOT / "agentbench.yaml", 7), **select)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("select", "belongs"),
    [
        ({}, True),
        ({"marks": "smoke"}, True),
        ({"marks": "not smoke"}, False),
        ({"paths": ("tasks/**",)}, True),
        ({"paths": ("tasks/other.yaml", "tasks/a*.yaml")}, True),
        ({"paths": ("add.yaml",)}, False),
        ({"ids": ("a?d",)}, True),
        ({"ids": ("A*", "greet")}, False),
        ({"marks": "smoke", "paths": ("tasks/*",), "ids": ("add",)}, True),
        ({"marks": "smoke", "paths": ("tasks/*",), "ids": ("greet",)}, False),
        ({"marks": "not smoke", "ids": ("add",)}, False),
    ],
)
def test_a_task_belongs_to_a_suite_that_it_satisfies(
    select: dict[str, object], *, belongs: bool
) -> None:
    """All criteria that are given must hold; of several patterns one is enough."""
    found = suites_of(candidate(task("add", tags=("smoke",))), [suite("s", **select)])
    assert found == (["s"] if belongs else [])


def test_a_dataset_is_a_suite_of_its_own() -> None:
    """A row belongs to its dataset's suite, after those of the experiment."""
    spec = task("row-1", dataset="rows")
    assert suites_of(candidate(spec), [suite("s"), suite("t", ids=("x",))]) == ["s", "rows"]
    assert suite_names([spec, task("row-2", dataset="rows"), task("a")], [suite("s")]) == [
        "s",
        "rows",
    ]


def test_a_name_that_is_taken_is_refused() -> None:
    """A dataset and a suite of the experiment cannot share a name; the message has both places."""
    with pytest.raises(UsageError) as caught:
        check_names([task("row-1", dataset="rows")], [suite("rows")], ROOT)
    assert str(caught.value) == (
        "tasks/rows.yaml:3: the suite name 'rows' of a dataset is taken by a suite of the"
        " experiment at agentbench.yaml:7. Try: rename one of them; a dataset's name is that of"
        " its task file"
    )


def test_two_datasets_of_one_name_are_refused() -> None:
    """Their rates would be mixed up."""
    one, other = task("row-1", dataset="rows"), task("row-2", dataset="rows")
    check_names([one, other], [], ROOT)
    moved = Position(ROOT / "tasks/more/rows.yaml", 3)
    elsewhere = TaskSpec("x", moved, "", (), "", dataset="rows")
    with pytest.raises(
        UsageError, match=r"^tasks/more/rows\.yaml:3: .* taken by a dataset at tasks"
    ):
        check_names([one, elsewhere], [], ROOT)


@pytest.mark.parametrize(
    ("tasks", "suites"), [([task("row-1", dataset="all")], []), ([], [suite("all")])]
)
def test_all_means_everything(tasks: list[TaskSpec], suites: list[Suite]) -> None:
    """No suite may be called ``all``."""
    with pytest.raises(UsageError, match="is called 'all', which means all tasks"):
        check_names(tasks, suites, ROOT)


def test_names_of_their_own_are_fine() -> None:
    """Negative control: different names, and many rows of one dataset."""
    rows = [task(f"row-{number}", dataset="rows") for number in range(3)]
    check_names(rows, [suite("smoke"), suite("nightly")], ROOT)


@pytest.mark.parametrize(
    ("select", "why"),
    [
        ({"marks": "slow"}, "the marks 'slow' fit none (tags: python, smoke)"),
        (
            {"paths": ("shop/**", "x")},
            "the paths 'shop/**', 'x' fit none (task files: tasks/add.yaml, tasks/greet.yaml)",
        ),
        ({"ids": ("fix-*",)}, "the ids 'fix-*' fit none (tasks: add, greet)"),
        (
            {"marks": "slow", "ids": ("fix-*", "add")},
            "the marks 'slow' fit none (tags: python, smoke)",
        ),
        ({"marks": "python", "ids": ("greet",)}, "no task satisfies all of it at once"),
    ],
)
def test_a_suite_without_a_task_is_refused(select: dict[str, object], why: str) -> None:
    """What fits nothing is named, with what there was instead."""
    there = [task("add", tags=("smoke", "python")), task("greet", tags=("smoke",))]
    fine = suite("fine")
    check_members([candidate(one) for one in there], [fine], ROOT)
    with pytest.raises(UsageError) as caught:
        check_members([candidate(one) for one in there], [fine, suite("s", **select)], ROOT)
    assert str(caught.value) == (
        f"agentbench.yaml:7: the suite 's' selects no task: {why}."
        " Try: correct its 'select', or take the suite out"
    )


def test_of_many_tasks_some_are_listed() -> None:
    """Nobody reads a thousand ids."""
    many = [candidate(task(f"t{number}")) for number in range(1000)]
    with pytest.raises(UsageError, match=r"\(tasks: t0, .*t7 and 992 more\)"):
        check_members(many, [suite("s", ids=("x",))], ROOT)
