"""Rows of CSV, YAML and JSON: the same checks, and each fault with its row and line."""

from __future__ import annotations

import csv
import gzip
import os
from pathlib import Path

import pytest

from pytest_agentbench.taskfiles.dataset import DatasetFault, RowFaults, read_rows

JSON = '[{"a": 1, "b": "x"},\n\n {"a": 2,\n  "b": "y"}]\n'
YAML = "- {a: 1, b: x}\n# two\n\n- a: 2\n  b: y\n"
QUOTE = "not valid CSV: text after a closing quote; a quote inside of quotes is written twice"
CSV = 'a,b\n1,x\n\n2,"y"\n'
LINES = '{"a": 1, "b": "x"}\n\n\n{"a": 2, "b": "y"}\n'


def rows_of(directory: Path, name: str, data: str | bytes) -> list[tuple[int, int, object]]:
    """Number, line and values of each row of a file with that content."""
    path = directory / name
    raw = data if isinstance(data, bytes) else data.encode()
    path.write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
    return [(row.number, row.line, row.values) for row in read_rows(path)]


def faults_of(directory: Path, name: str, data: str | bytes) -> list[str]:
    """What is wrong with the rows of a file: ``line:column: message``."""
    with pytest.raises(RowFaults) as caught:
        rows_of(directory, name, data)
    return [
        f"{problem.line}:{problem.column}: {problem.message}" for problem in caught.value.problems
    ]


def fault_of(directory: Path, name: str, data: str | bytes) -> str:
    """What is wrong with a file as a whole."""
    with pytest.raises(DatasetFault) as caught:
        rows_of(directory, name, data)
    return caught.value.message


@pytest.mark.parametrize("packed", ["", ".gz"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("name", "text", "second_line"),
    [
        ("d.jsonl", LINES, 4),
        ("d.json", JSON, 3),
        ("d.yaml", YAML, 4),
        ("d.yml", YAML, 4),
        ("d.csv", CSV, 4),
    ],
)
def test_every_kind_gives_rows(
    tmp_path: Path, name: str, text: str, second_line: int, packed: str, mark: str, end: str
) -> None:
    """Rows count from 1 and know their line, with a byte order mark, CRLF and gzip too."""
    found = rows_of(tmp_path, name + packed, (mark + text).replace("\n", end))
    one, two = ("1", "2") if name == "d.csv" else (1, 2)
    first = 2 if name == "d.csv" else 1
    assert found == [
        (1, first, {"a": one, "b": "x"}),
        (2, second_line, {"a": two, "b": "y"}),
    ]


def test_csv_values_are_text(tmp_path: Path) -> None:
    """Nothing is guessed: numbers, dates, blanks and the empty text stay what is written."""
    found = rows_of(tmp_path, "d.csv", 'a,b,c\n007, x ,\n1e3,"","say ""hi"", é"\n')
    assert [values for _, _, values in found] == [
        {"a": "007", "b": " x ", "c": ""},
        {"a": "1e3", "b": "", "c": 'say "hi", é'},
    ]


def test_csv_value_over_several_lines(tmp_path: Path) -> None:
    """A quoted line end belongs to the value; the next row still knows its line."""
    found = rows_of(tmp_path, "d.csv", 'a,b\n"one\r\ntwo\n",x\n3,y\n')
    assert found == [
        (1, 2, {"a": "one\r\ntwo\n", "b": "x"}),
        (2, 5, {"a": "3", "b": "y"}),
    ]


def test_csv_rows_that_are_wrong(tmp_path: Path) -> None:
    """Every bad row is told, by number and line; the good ones between them are read."""
    text = 'a,b\n1\n2,x\n3,x,y\n"4"z,x\n"5\n",x\n6,\0\n"7,x\n8,x\n'
    assert faults_of(tmp_path, "d.csv", text) == [
        "2:1: row 1: 1 field, but there are 2 columns",
        "4:1: row 3: 3 fields, but there are 2 columns",
        f"5:1: row 4: {QUOTE}",
        "8:1: row 6: holds a NUL character",
        "9:1: row 7: not valid CSV: a quote is opened and never closed",
    ]


def test_csv_fault_shows_its_line(tmp_path: Path) -> None:
    """The source line of a bad row is shown."""
    with pytest.raises(RowFaults) as caught:
        rows_of(tmp_path, "d.csv", "a,b\r\n1,2,3\r\n")
    assert [problem.excerpt for problem in caught.value.problems] == ["1,2,3"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "'d.csv' has no header: its first row names the columns"),
        ("\n\n", "'d.csv' has no header: its first row names the columns"),
        ("a,b\n", "'d.csv' has no rows"),
        ("\na,,c\n1,2,3\n", "the header of 'd.csv' (line 2): column 2 has no name"),
        ("a,b,a\n1,2,3\n", "the header of 'd.csv' (line 1): two columns are called 'a'"),
        ("a, b\n1,2\n", "the header of 'd.csv' (line 1): the name ' b' has blanks around it"),
        (
            '"a\n1\n',
            "the header of 'd.csv' (line 1): not valid CSV: a quote is opened and never closed",
        ),
        (b"a\n\xe9\n", "'d.csv' cannot be read: byte 0xe9 of line 2 is not UTF-8"),
        (
            "a\n".encode("utf-16"),
            "'d.csv' cannot be read: byte 0xff of line 1 is not UTF-8",
        ),
    ],
)
def test_csv_files_that_are_wrong(tmp_path: Path, text: str | bytes, expected: str) -> None:
    """Without a usable header there are no rows to speak of."""
    assert fault_of(tmp_path, "d.csv", text) == expected


def test_csv_field_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A value may be long, up to a limit that is told; the csv module's own stays as it was."""
    before = csv.field_size_limit()
    assert len(rows_of(tmp_path, "d.csv", f"a\n{'x' * 1_000_000}\n")) == 1
    monkeypatch.setattr("pytest_agentbench.taskfiles.dataset_csv.FIELD_LIMIT", 1000)
    assert faults_of(tmp_path, "d.csv", f"a\n{'x' * 2000}\n1\n") == [
        "2:1: row 1: a value is longer than 1,000 characters: is a quote never closed?"
    ]
    assert csv.field_size_limit() == before


def test_yaml_values_follow_the_core_schema(tmp_path: Path) -> None:
    """Rows are read by the rules of task files: ``on`` and dates are text, aliases work."""
    text = "- &one {a: on, b: 012, c: 2026-01-02, d: 1e-6, e: ~}\n- {<<: *one, a: true}\n- *one\n"
    first = {"a": "on", "b": "012", "c": "2026-01-02", "d": 1e-6, "e": None}
    found = [values for _, _, values in rows_of(tmp_path, "d.yaml", text)]
    assert found == [first, first | {"a": True}, first]


def test_yaml_rows_that_are_wrong(tmp_path: Path) -> None:
    """A row that is no mapping, or has a key twice, is told with its number and line."""
    text = "- {a: 1}\n- two\n- a: 3\n  b: x\n  a: 4\n-\n- !!binary eA==\n"
    assert faults_of(tmp_path, "d.yaml", text) == [
        "5:3: row 3: duplicate key 'a'; the first is on line 3",
        "7:3: row 5: unknown tag '!!binary'",
        "2:3: row 2: a row is a mapping, not text",
        "6:2: row 4: a row is a mapping, not nothing",
    ]


def test_yaml_that_cannot_be_parsed(tmp_path: Path) -> None:
    """A syntax error has its line; rows are not counted, for none was made."""
    (fault,) = faults_of(tmp_path, "d.yaml", "- {a: 1}\n- {a: 2\n- {a: 3}\n")
    assert fault.startswith("3:3: not valid YAML")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "'d.yaml' is empty, and so no dataset"),
        ("[]\n", "'d.yaml' has no rows"),
        (b"\xff\xfea", "'d.yaml' is UTF-16 or UTF-32; YAML here is UTF-8"),
    ],
)
def test_yaml_files_that_are_wrong(tmp_path: Path, text: str | bytes, expected: str) -> None:
    """A file without rows is an error, however it comes to have none."""
    assert fault_of(tmp_path, "d.yaml", text) == expected


def test_yaml_that_is_no_list(tmp_path: Path) -> None:
    """A mapping of rows is refused: rows have an order."""
    assert faults_of(tmp_path, "d.yaml", "a: {b: 1}\n") == [
        "1:1: a dataset is a list of mappings, not a mapping"
    ]


def test_yaml_may_be_longer_than_a_task_file(tmp_path: Path) -> None:
    """More values than a task file may have are fine; an alias bomb still is not."""
    many = "- {a: 1, b: 2, c: 3, d: 4}\n" * 21_000
    assert len(rows_of(tmp_path, "d.yaml", many)) == 21_000
    bomb = "- &a {x: 1}\n" + "".join(
        f"- &{name} {{x: [{','.join(f'*{before}' for _ in range(30))}]}}\n"
        for before, name in zip("abcd", "bcde", strict=True)
    )
    assert faults_of(tmp_path, "d.yaml", bomb) == [
        "1:1: holds more than 1,000,000 values once its aliases are expanded"
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": 1}', ["1:1: a JSON dataset is a list of objects"]),
        ("", ["1:1: a JSON dataset is a list of objects"]),
        ('[{"a": 1},\n 2,\n {"a": 3}, "x"]', ["2:2: row 2: a row is a JSON object"]),
        ('[{"a": 1},\n {"a": }]', ["2:8: row 2: not valid JSON: Expecting value"]),
        ('[{"a": 1},\n]', ["2:1: row 2: not valid JSON: Expecting value"]),
        ('[{"a": 1}\n {"a": 2}]', ["2:2: not valid JSON: expecting ',' or ']' behind a row"]),
        ('[{"a": 1}', ["1:10: not valid JSON: expecting ',' or ']' behind a row"]),
        ('[{"a": 1}]\n[]', ["2:1: not valid JSON: text behind the list"]),
        ('[{"a": 1, "a": 2}]', ["1:2: row 1: not valid JSON: duplicate key 'a'"]),
        ('[{"a": NaN}]', ["1:2: row 1: not valid JSON: NaN is no JSON number"]),
        (
            '[{"a": "\\ud800"}]',
            ["1:2: row 1: holds half of a surrogate pair, which is not text"],
        ),
    ],
)
def test_json_that_is_wrong(tmp_path: Path, text: str, expected: list[str]) -> None:
    """Each fault stands at its line and column, with the row's number where it is in a row."""
    assert faults_of(tmp_path, "d.json", text)[: len(expected)] == expected


def test_json_without_rows(tmp_path: Path) -> None:
    """An empty list is an error."""
    assert fault_of(tmp_path, "d.json", " [ ]\n") == "'d.json' has no rows"


def test_json_line_numbers_count_broken_rows(tmp_path: Path) -> None:
    """A row's number is its place among all rows, the broken ones too."""
    assert faults_of(tmp_path, "d.jsonl", '{"a": 1}\n[1]\n\n{"a": 2}\n3\n') == [
        "2:1: row 2: a row is a JSON object",
        "5:1: row 4: a row is a JSON object",
    ]


def test_names_that_are_no_dataset(tmp_path: Path) -> None:
    """The kind is told by the name; others are refused with the known ones."""
    for name in ("d.tsv", "d", "d.gz", "d.csv.zip"):
        assert fault_of(tmp_path, name, "a\tb\n") == (
            f"{name!r} is no dataset: its name must end in"
            " .jsonl, .csv, .yaml, .yml or .json, each also with .gz"
        )


def test_pipes_are_not_read(tmp_path: Path) -> None:
    """A named pipe would keep the collection waiting for ever."""
    os.mkfifo(tmp_path / "d.csv")
    with pytest.raises(DatasetFault, match=r"'d\.csv' is no regular file"):
        read_rows(tmp_path / "d.csv")
