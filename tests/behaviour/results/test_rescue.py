from __future__ import annotations

import re
from pathlib import Path

import pytest

from pytest_agentbench.results.rescue import RescueStore
from pytest_agentbench.results.store import read_records
from rows import matrix, recorded

SOME = [recorded(trial) for trial in matrix("abcd").trials]


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    (tmp_path / "elsewhere").mkdir()
    return tmp_path / "elsewhere"


def test_without_trouble_nothing_is_made_elsewhere(tmp_path: Path, elsewhere: Path) -> None:
    """Records go where they belong, and there is nothing to tell."""
    store = RescueStore(tmp_path / "records.jsonl", temporary=elsewhere)
    for record in SOME:
        store.append(record)
    store.close()
    assert store.trouble == ()
    assert list(elsewhere.iterdir()) == []
    assert read_records(tmp_path / "records.jsonl") == (SOME, [])


def test_refused_records_are_kept_elsewhere_in_order(tmp_path: Path, elsewhere: Path) -> None:
    """A run directory that vanishes costs no record: the rest of them is named and whole."""
    home = tmp_path / "run"
    store = RescueStore(home / "records.jsonl", temporary=elsewhere)
    for record in SOME:
        store.append(record)
    (rescued,) = elsewhere.glob("*/records.jsonl")
    assert read_records(rescued) == (SOME, [])
    store.close()
    why = "the record of a[codex-r1] cannot be written: No such file or directory"
    advice = "free some space, or name another directory with --agentbench-results"
    assert store.trouble == (
        f"{home}/records.jsonl: {why}. Try: {advice}",
        f"4 records of this run saved in {rescued}",
    )
    assert read_records(rescued) == (SOME, [])


def test_records_come_home_when_there_is_room_again(tmp_path: Path, elsewhere: Path) -> None:
    """What was displaced is brought back at the end, and only that it happened is told."""
    home = tmp_path / "run"
    store = RescueStore(home / "records.jsonl", temporary=elsewhere)
    for record in SOME:
        store.append(record)
    home.mkdir()
    store.close()
    assert read_records(home / "records.jsonl") == (SOME, [])
    assert list(elsewhere.iterdir()) == []
    (trouble,) = store.trouble
    assert re.match("4 records could be written at the end only. At first: .*No such file", trouble)


def test_room_in_the_middle_of_a_run_does_not_change_the_order(
    tmp_path: Path, elsewhere: Path
) -> None:
    """After the first refused record all wait for the end, so that the order stays."""
    home = tmp_path / "run"
    store = RescueStore(home / "records.jsonl", temporary=elsewhere)
    store.append(SOME[0])
    home.mkdir()
    for record in SOME[1:]:
        store.append(record)
    store.close()
    assert read_records(home / "records.jsonl") == (SOME, [])


def test_where_nothing_can_be_written_records_wait_in_memory(tmp_path: Path) -> None:
    """No run directory and no temporary one: kept until the end, and said if even that is late."""
    home = tmp_path / "run"
    store = RescueStore(home / "records.jsonl", temporary=tmp_path / "missing")
    for record in SOME:
        store.append(record)
    assert store.trouble[1:] == ("4 records of this run could be saved nowhere",)
    home.mkdir()
    store.close()
    assert read_records(home / "records.jsonl") == (SOME, [])


def test_a_temporary_directory_that_comes_late_takes_all(tmp_path: Path, elsewhere: Path) -> None:
    """What waited in memory is written first, so that the order stays."""
    late = tmp_path / "late"
    store = RescueStore(tmp_path / "run" / "records.jsonl", temporary=late)
    store.append(SOME[0])
    store.append(SOME[1])
    late.mkdir()
    store.append(SOME[2])
    store.close()
    (rescued,) = late.glob("*/records.jsonl")
    assert read_records(rescued) == (SOME[:3], [])
    assert store.trouble[1:] == (f"3 records of this run saved in {rescued}",)


def test_a_disk_that_fills_up_costs_no_record(small_disk: Path, elsewhere: Path) -> None:
    """Of a thousand records on a disk for a hundred, each is in exactly one of two files."""
    store = RescueStore(small_disk / "records.jsonl", temporary=elsewhere)
    some = [
        SOME[0].model_copy(update={"key": f"t{number}", "message": "x" * 2000})
        for number in range(300)
    ]
    for record in some:
        store.append(record)
    store.close()
    at_home, torn = read_records(small_disk / "records.jsonl")
    (rescued,) = elsewhere.glob("*/records.jsonl")
    assert torn == []
    assert 0 < len(at_home) < len(some)
    assert at_home + read_records(rescued)[0] == some
    assert store.trouble[1] == f"{300 - len(at_home)} records of this run saved in {rescued}"
