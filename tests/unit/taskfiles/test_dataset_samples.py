"""Which rows are taken: samples, strata, and what the command line lets through."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_agentbench.errors import DefinitionError
from pytest_agentbench.taskfiles.dataset_sampling import sampled, sampled_by_stratum
from pytest_agentbench.taskfiles.loader import load_task_file

NAMES = st.lists(st.text(max_size=5), unique=True, min_size=1, max_size=40)


def ids_of(
    project: Path, dataset: str, rows: list[dict[str, object]], sample: int | None = None
) -> list[str]:
    """The ids of the tasks that those rows become."""
    tasks = project / "tasks"
    (tasks / "d.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tasks / "t.yaml").write_text(
        f"prompt: p\noracles: [{{run: x}}]\ndataset: {{path: d.jsonl, {dataset}}}\n"
    )
    loaded = load_task_file(tasks / "t.yaml", rootdir=project, sample=sample)
    return [task.id for task in loaded]


def problems_of(project: Path, dataset: str, rows: list[dict[str, object]]) -> list[str]:
    """What is wrong: ``file:line: message``."""
    with pytest.raises(DefinitionError) as caught:
        ids_of(project, dataset, rows)
    return [
        f"{problem.path.name}:{problem.line}: {problem.message}"
        for problem in caught.value.problems
    ]


def levels(**counts: int) -> list[dict[str, object]]:
    """Rows with those numbers of each level, such as ``easy-0``."""
    return [
        {"id": f"{level}-{n}", "level": level}
        for level, count in counts.items()
        for n in range(count)
    ]


@given(NAMES, st.integers(), st.data())
def test_a_smaller_sample_is_part_of_a_larger_one(
    names: list[str], seed: int, data: st.DataObject
) -> None:
    """Enlarging a sample keeps what was in it."""
    large = data.draw(st.integers(1, len(names)))
    small = data.draw(st.integers(1, large))
    everything = range(len(names))
    assert set(sampled(names, everything, small, seed)) <= set(
        sampled(names, everything, large, seed)
    )
    assert len(sampled(names, everything, small, seed)) == small


@given(NAMES, st.integers(), st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(
    names: list[str], seed: int, shuffler: random.Random
) -> None:
    """Sorting a dataset anew takes the same rows."""
    strata = [str(len(name)) for name in names]
    pairs = list(zip(names, strata, strict=True))
    shuffler.shuffle(pairs)
    moved, moved_strata = [name for name, _ in pairs], [stratum for _, stratum in pairs]
    before = {names[index] for index in sampled_by_stratum(names, strata, 2, seed)}
    after = {moved[index] for index in sampled_by_stratum(moved, moved_strata, 2, seed)}
    assert before == after


def test_each_stratum_gives_its_rows(project: Path) -> None:
    """``per_stratum`` rows of each value are taken, in file order; a small stratum whole."""
    rows = levels(easy=50, hard=40, rare=1)
    taken = ids_of(project, "stratum: level, per_stratum: 3, seed: 4", rows)
    assert [name.split("-")[0] for name in taken] == ["easy"] * 3 + ["hard"] * 3 + ["rare"]
    assert taken == [row["id"] for row in rows if row["id"] in taken]
    assert taken != ids_of(project, "stratum: level, per_stratum: 3, seed: 5", rows)


def test_other_strata_do_not_matter(project: Path) -> None:
    """Rows that are added to one stratum leave the choice in the others as it was."""
    dataset = "stratum: level, per_stratum: 3"
    before = ids_of(project, dataset, levels(easy=50, hard=40))
    after = ids_of(project, dataset, levels(new=20, easy=50, hard=400))
    assert [name for name in before if "easy" in name] == [name for name in after if "easy" in name]


def test_values_of_any_kind_make_strata(project: Path) -> None:
    """Truth values, numbers and nothing are strata too; a list is none."""
    kinds: list[object] = [True, True, 1, 1, 2.5, 2.5, None, None]
    rows: list[dict[str, object]] = [
        {"id": f"r{index}", "k": kind} for index, kind in enumerate(kinds)
    ]
    assert len(ids_of(project, "stratum: k, per_stratum: 1", rows)) == 4
    rows.append({"id": "x", "k": [1]})
    assert problems_of(project, "stratum: k, per_stratum: 1", rows) == [
        "d.jsonl:9: row 9: the stratum field 'k' must be one value"
    ]


def test_rows_without_the_stratum(project: Path) -> None:
    """Each row that lacks the field is told."""
    rows: list[dict[str, object]] = [*levels(easy=2), {"id": "x"}, {"id": "y", "lvl": 1}]
    assert problems_of(project, "stratum: level, per_stratum: 1", rows) == [
        "d.jsonl:3: row 3 has no stratum field 'level'; known: id",
        "d.jsonl:4: row 4 has no stratum field 'level'; known: id, lvl",
    ]


@pytest.mark.parametrize(
    ("dataset", "expected"),
    [
        (
            "sample: 1, stratum: level, per_stratum: 1",
            "'sample' and 'per_stratum' exclude each other",
        ),
        (
            "per_stratum: 1",
            "'per_stratum' needs a 'stratum': the field whose values make the strata",
        ),
        ("stratum: level", "'stratum' needs a 'per_stratum': how many rows of each are taken"),
        ("stratum: level, per_stratum: 0", "'dataset.per_stratum' must be at least 1, not 0"),
        (
            "stratum: level, per_stratum: 4",
            "per_stratum of 4, but the largest stratum has 3 rows: nothing would be left out",
        ),
        ("sample: 6", "sample of 6, but there are 5 rows"),
    ],
)
def test_choices_that_make_no_sense(project: Path, dataset: str, expected: str) -> None:
    """What contradicts itself, or chooses nothing, is an error in the task file."""
    assert problems_of(project, dataset, levels(easy=3, hard=2)) == [f"t.yaml:3: {expected}"]


def test_a_sample_of_one_row_has_its_own_words(project: Path) -> None:
    """One row is not several."""
    assert problems_of(project, "sample: 2", levels(easy=1)) == [
        "t.yaml:3: sample of 2, but there is 1 row"
    ]


def test_command_line_sample(project: Path) -> None:
    """At most so many rows are taken, by the ranks of the file's own sample, in its stead."""
    rows = levels(easy=30)
    twenty = ids_of(project, "sample: 20, seed: 3", rows)
    five = ids_of(project, "sample: 20, seed: 3", rows, sample=5)
    assert len(five) == 5
    assert set(five) < set(twenty)
    assert five == ids_of(project, "seed: 3", rows, sample=5)
    assert set(ids_of(project, "sample: 20, seed: 3", rows, sample=25)) > set(twenty)


def test_command_line_sample_of_a_small_dataset(project: Path) -> None:
    """A dataset with fewer rows keeps them all; a file without a dataset is not touched."""
    assert len(ids_of(project, "seed: 3", levels(easy=3), sample=5)) == 3
    (project / "tasks" / "one.yaml").write_text("prompt: p\noracles: [{run: x}]\n")
    loaded = load_task_file(project / "tasks" / "one.yaml", rootdir=project, sample=1)
    assert [task.id for task in loaded] == ["one"]


def test_command_line_sample_of_strata(project: Path) -> None:
    """Of a stratified choice it takes a part."""
    rows = levels(easy=30, hard=30)
    dataset = "stratum: level, per_stratum: 4"
    assert set(ids_of(project, dataset, rows, sample=5)) < set(ids_of(project, dataset, rows))
    assert len(ids_of(project, dataset, rows, sample=5)) == 5


def test_bad_rows_beyond_the_shown_ones_are_counted(project: Path) -> None:
    """Ten problems are told in full, and how many more there are."""
    rows: list[dict[str, object]] = [{"id": None} for _ in range(25)]
    told = problems_of(project, "seed: 1", rows)
    assert len(told) == 11
    assert told[0] == "d.jsonl:1: row 1: the id field 'id' must be text or a whole number"
    assert told[10] == "d.jsonl:11: and 15 more problems from here on"
