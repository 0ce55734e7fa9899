"""What holds for all rows of datasets: how they fill templates, and which are taken."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING
from unicodedata import normalize

from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_agentbench.taskfiles.dataset_sampling import sampled, sampled_by_stratum
from pytest_agentbench.taskfiles.names import id_fault, slug
from pytest_agentbench.taskfiles.placeholders import (
    Template,
    as_text,
    before_placeholder,
    fill_text,
    has_placeholder,
)

if TYPE_CHECKING:
    from pytest_agentbench.model.task import JsonValue

names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_-]{0,6}", fullmatch=True)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=8,
)
# A value may look like a placeholder itself.
rows = st.dictionaries(names, values | st.just("{{ row.a }}"), min_size=1, max_size=5)
literals = st.text(max_size=20).filter(lambda text: "{" not in text and "}" not in text)
blanks = st.text(" \t", max_size=2)


def never(*told: object) -> None:
    """Take no complaint."""
    raise AssertionError(told)


@st.composite
def templates(draw: st.DrawFn, row: dict[str, JsonValue]) -> list[tuple[str, str]]:
    """Parts of a template: each as it is written, and what it becomes."""
    parts: list[tuple[str, str]] = []
    for _ in range(draw(st.integers(0, 4))):
        if draw(st.booleans()):
            text = draw(literals)
            parts.append((text, text))
            continue
        value: JsonValue = row
        steps = ""
        while True:
            if isinstance(value, dict) and value:
                name = draw(st.sampled_from(sorted(value)))
                value, steps = value[name], f"{steps}.{name}"
            elif isinstance(value, list) and value:
                index = draw(st.integers(0, len(value) - 1))
                value, steps = value[index], f"{steps}[{index}]"
            else:
                break
            if draw(st.booleans()):
                break
        written = f"{{{{{draw(blanks)}row{steps}{draw(blanks)}}}}}"
        parts.append((written, value if isinstance(value, str) else as_text(value)))
    return parts


@settings(deadline=None, max_examples=100)
@given(rows, st.data())
def test_each_placeholder_becomes_its_value(row: dict[str, JsonValue], data: st.DataObject) -> None:
    """What stands between is kept, and what a row brings in is not looked at again."""
    parts = data.draw(templates(row))
    written = "".join(text for text, _ in parts)
    meant = "".join(text for _, text in parts)
    assert fill_text(written, row, never) == meant
    nested: JsonValue = {"deep": [1, {written: [written, None]}], "files": {f"a{written}": written}}
    filled = Template(nested).fill(row, never)
    assert filled == {"deep": [1, {written: [meant, None]}], "files": {f"a{meant}": meant}}
    assert written.startswith(before_placeholder(written))
    assert has_placeholder(written) == (before_placeholder(written) != written)


@settings(deadline=None, max_examples=100)
@given(values, rows)
def test_what_has_no_placeholder_is_the_same_object(
    value: JsonValue, row: dict[str, JsonValue]
) -> None:
    """A template without placeholders is not even copied; one with them leaves its own as it is."""
    before = json.dumps(value)
    filled = Template(value).fill(row, lambda *_: None)
    assert json.dumps(value) == before
    if not has_placeholder(value):
        assert filled is value


@settings(deadline=None, max_examples=100)
@given(st.text(), rows)
def test_any_text_fills(text: str, row: dict[str, JsonValue]) -> None:
    """No text is too odd to be filled; one without placeholders is kept, and nobody complains."""
    told: list[str] = []
    filled = fill_text(text, row, told.append)
    if not has_placeholder(text):
        assert (filled, told) == (text, [])


@settings(deadline=None, max_examples=200)
@given(st.text(max_size=60), st.text(max_size=30))
def test_any_text_makes_an_id(text: str, other: str) -> None:
    """The safe form of a text that leaves anything is an id, and its own safe form."""
    safe = slug(text)
    assert slug(safe) == safe
    assert id_fault(f"0{safe}") is None
    # However a letter is composed, it is one letter of an id.
    assert slug(normalize("NFD", other)) == slug(normalize("NFC", other))


ROWS = st.lists(
    st.tuples(st.text(max_size=5), st.sampled_from(["a", "b", "c"])),
    unique_by=lambda row: row[0],
    min_size=1,
    max_size=40,
)


@settings(deadline=None, max_examples=100)
@given(ROWS, st.integers(), st.integers(1, 10), st.integers(0, 10))
def test_strata_are_sampled_each_by_itself(
    pairs: list[tuple[str, str]], seed: int, few: int, more: int
) -> None:
    """So many of each stratum, whole where it has no more; a larger choice holds the smaller."""
    row_names, strata = [name for name, _ in pairs], [stratum for _, stratum in pairs]
    chosen = sampled_by_stratum(row_names, strata, few, seed)
    assert chosen == sorted(set(chosen))
    for stratum in set(strata):
        members = [index for index, one in enumerate(strata) if one == stratum]
        assert [i for i in chosen if strata[i] == stratum] == sampled(row_names, members, few, seed)
        assert sum(strata[i] == stratum for i in chosen) == min(few, len(members))
    assert set(chosen) <= set(sampled_by_stratum(row_names, strata, few + more, seed))


@settings(deadline=None, max_examples=100)
@given(ROWS, st.integers(), st.integers(1, 20), st.randoms(use_true_random=False))
def test_other_rows_and_their_order_decide_nothing(
    pairs: list[tuple[str, str]], seed: int, size: int, shuffler: random.Random
) -> None:
    """Shuffled, the same rows are taken; and of those that stay, none is taken for one added."""
    row_names = [name for name, _ in pairs]
    taken = {row_names[i] for i in sampled(row_names, range(len(row_names)), size, seed)}
    mixed = list(row_names)
    shuffler.shuffle(mixed)
    assert {mixed[i] for i in sampled(mixed, range(len(mixed)), size, seed)} == taken
    kept = mixed[: len(mixed) // 2 + 1]
    of_fewer = {kept[i] for i in sampled(kept, range(len(kept)), size, seed)}
    assert taken & set(kept) <= of_fewer
