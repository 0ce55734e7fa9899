from __future__ import annotations

import json
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_agentbench.errors import StoreError
from pytest_agentbench.model.record import Record
from pytest_agentbench.results.store import RecordStore, encode_record, read_records
from rows import matrix, recorded, records

SOME = [recorded(trial) for trial in matrix("abcdef").trials]
GOLDEN = Path(__file__).with_name("golden-records-v1.jsonl")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "records.jsonl"


@contextmanager
def file_size_limit(size: int) -> Iterator[None]:
    """Let no file grow beyond ``size``: the write that does is cut short, the next one fails."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def append(path: Path, *some: Record) -> None:
    store = RecordStore(path)
    for record in some:
        store.append(record)
    store.close()


def test_records_come_back_in_order(path: Path) -> None:
    """One line a record, in the order of their writing, also over several openings."""
    append(path, *SOME[:2])
    append(path, *SOME[2:])
    assert read_records(path) == (SOME, [])
    assert len(path.read_bytes().splitlines()) == len(SOME)


def test_nothing_is_made_before_the_first_record(path: Path) -> None:
    """A store that was opened and closed leaves no file; no file holds no records."""
    append(path)
    assert not path.exists()
    assert read_records(path) == ([], [])


def test_every_record_is_written_at_once(path: Path) -> None:
    """A record is in the file when append returns: the process may die right after."""
    store = RecordStore(path)
    store.append(SOME[0])
    assert read_records(path) == ([SOME[0]], [])
    store.close()
    store.close()


@settings(max_examples=50)
@given(st.lists(records, max_size=4))
def test_any_record_survives_the_file(some: list[Record]) -> None:
    """What goes in comes out, whatever text is in it, line ends of all kinds included."""
    lines = b"".join(map(encode_record, some))
    assert lines.count(b"\n") == len(some)
    decoded = [Record.model_validate_json(line) for line in lines.split(b"\n")[:-1]]
    assert decoded == some


def test_half_a_character_costs_no_record(path: Path) -> None:
    """A lone surrogate that slipped through is replaced, and the record is stored."""
    append(path, SOME[0].model_copy(update={"message": "half \udc80"}), SOME[1])
    assert read_records(path) == ([SOME[0].model_copy(update={"message": "half ?"}), SOME[1]], [])


def test_a_torn_last_line_is_told_and_dropped(path: Path) -> None:
    """A process that was killed while writing costs the record that it wrote, and says so."""
    append(path, *SOME[:2])
    with path.open("ab") as file:
        file.write(b'{"schema_version":1,"key":"c')
    found, problems = read_records(path)
    assert found == SOME[:2]
    assert [(one.line, one.message, one.excerpt) for one in problems] == [
        (
            3,
            "the last line was not written to its end; its trial has no record",
            '{"schema_version":1,"key":"c',
        )
    ]


def test_a_torn_line_does_not_eat_the_next(path: Path) -> None:
    """Appending after a torn line keeps both apart: one problem, and every later record."""
    append(path, SOME[0])
    with path.open("ab") as file:
        file.write(b'{"torn')
    append(path, *SOME[1:3])
    found, problems = read_records(path)
    assert found == SOME[:3]
    assert [one.line for one in problems] == [2]


def test_every_bad_line_is_told_with_its_number(path: Path) -> None:
    """Lines that are no records are never skipped in silence."""
    good = encode_record(SOME[0])
    wrong = json.loads(good)
    del wrong["task"]
    wrong["score"] = "much"
    lines = [good, b"\xff\xfe\n", b"\n", b"[]\n", b'{"key":"x"}\n', json.dumps(wrong).encode()]
    path.write_bytes(b"".join(lines) + b"\n")
    found, problems = read_records(path)
    assert found == SOME[:1]
    assert [one.line for one in problems] == [2, 3, 4, 5, 6]
    assert problems[0].message.startswith("not a line of JSON:")
    assert problems[2].message == "not a record: no schema_version"
    assert problems[4].message == (
        "not a record: task: Field required;"
        " score: Input should be a valid number, unable to parse string as a number"
    )
    assert {one.path for one in problems} == {path}


def test_an_unknown_schema_version_is_refused(path: Path) -> None:
    """A file of a later version is not read as if it were ours, not even in part."""
    later = {**json.loads(encode_record(SOME[0])), "schema_version": 2}
    path.write_bytes(encode_record(SOME[0]) + json.dumps(later).encode() + b"\n")
    with pytest.raises(StoreError) as refusal:
        read_records(path)
    assert str(refusal.value) == (
        f"{path}:2: schema version 2 is not known here (known: 1)."
        " Try: read it with the version of pytest-agentbench that manifest.json names"
    )


def test_records_of_version_one_stay_readable() -> None:
    """A file that was written once is read for ever, and written the same."""
    found, problems = read_records(GOLDEN)
    assert problems == []
    assert b"".join(map(encode_record, found)) == GOLDEN.read_bytes()
    assert [record.outcome for record in found] == ["failed", "cancelled"]


def test_records_with_fewer_fields_stay_readable() -> None:
    """What was written before a field came has that field's empty value."""
    found, problems = read_records(GOLDEN.with_name("golden-records-v1-fewer-fields.jsonl"))
    assert problems == []
    assert [record.outcome for record in found] == ["failed", "cancelled"]
    assert [record.expected for record in found] == [None, None]
    assert found[0].oracles[0].ran
    assert found[0].digests.agent_code is None


def test_what_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    """A directory in place of the records is named."""
    with pytest.raises(StoreError, match="cannot be read: Is a directory"):
        read_records(tmp_path)


def test_a_short_write_is_taken_back(path: Path) -> None:
    """A line that fits only in part leaves no part behind, and later ones fit again."""
    append(path, SOME[0])
    store = RecordStore(path)
    with file_size_limit(path.stat().st_size + 10):
        for record in SOME[1:3]:
            with pytest.raises(StoreError) as refusal:
                store.append(record)
            assert str(refusal.value) == (
                f"{path}: the record of {record.key} cannot be written: File too large."
                " Try: free some space, or name another directory with --agentbench-results"
            )
    store.append(SOME[3])
    store.close()
    assert read_records(path) == ([SOME[0], SOME[3]], [])


def test_a_full_disk_leaves_whole_lines(small_disk: Path) -> None:
    """Every record until the disk is full is there, and no half of one."""
    path = small_disk / "records.jsonl"
    store = RecordStore(path)
    written: list[Record] = []

    def fill() -> None:
        for number in range(10_000):
            record = SOME[0].model_copy(update={"key": f"t{number}", "message": "x" * 1000})
            store.append(record)
            written.append(record)

    with pytest.raises(StoreError, match="No space left on device"):
        fill()
    store.close()
    assert len(written) > 50
    assert read_records(path) == (written, [])


def test_a_line_that_cannot_be_taken_back_is_fenced_off(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where not even shortening the file works, the next line still begins on its own."""
    append(path, SOME[0])
    store = RecordStore(path)

    def refuse(*_: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "ftruncate", refuse)
    with file_size_limit(path.stat().st_size + 10), pytest.raises(StoreError):
        store.append(SOME[1])
    store.append(SOME[2])
    store.close()
    found, problems = read_records(path)
    assert found == [SOME[0], SOME[2]]
    assert [one.line for one in problems] == [2]
