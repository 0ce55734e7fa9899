"""Whole messages for datasets that are wrong, and for what their rows make of a task."""

# ruff: noqa: E501 - messages stand here as they are shown

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_agentbench.errors import DefinitionError
from pytest_agentbench.taskfiles.loader import load_task_file

OK = "prompt: p\noracles: [{run: x}]\n"

FILES = {
    "c.csv": b'id,q\na,1\nb\nc,1,2\n"d"x,1\n"e,1\n',
    "h.csv": b"id,q,id\n1,2,3\n",
    "e.csv": b"",
    "l.csv": b"id,q\na,caf\xe9\n",
    "good.csv": b"id,q,level\na,1,easy\nb,2,hard\n",
    "r.yaml": b"- {id: a, q: on}\n- 3\n- {id: b, id: c}\n- {1: 2}\n",
    "m.yml": b"a: {q: 1}\n",
    "s.yaml": b"- {q: 1}\n- {q: a: b}\n",
    "tab.yaml": b"- q: 1\n-\tq:\n\t\tx: 1\n",
    "j.json": b'[{"id": "a"},\n 3,\n {"a": 1, "a": 2},\n {"b": }]\n',
    "o.json": b'{"a": 1}',
    "idtype.jsonl": b'{"id": 1.5}\n{"id": null}\n{"id": [1]}\n{"id": true}\n{"id": "ok"}\n',
    "idbad.csv": b"id,q\n,1\n...,2\n",
    "same.csv": b"id,q\na b,1\na/b,2\na-b,3\n",
}

CASES: dict[str, tuple[str, str]] = {
    "csv-cells": (
        OK + "dataset: {path: c.csv}\n",
        """
tasks/c.csv:3:1: row 2: 1 field, but there are 2 columns
  3 | b
    | ^
tasks/c.csv:4:1: row 3: 3 fields, but there are 2 columns
  4 | c,1,2
    | ^
tasks/c.csv:5:1: row 4: not valid CSV: text after a closing quote; a quote inside of quotes is written twice
  5 | "d"x,1
    | ^
tasks/c.csv:6:1: row 5: not valid CSV: a quote is opened and never closed
  6 | "e,1
    | ^
""",
    ),
    "csv-header": (
        OK + "dataset: {path: h.csv}\n",
        """
tasks/t.yaml:3:17: the header of 'h.csv' (line 1): two columns are called 'id'
  3 | dataset: {path: h.csv}
    |                 ^
""",
    ),
    "csv-empty": (
        OK + "dataset: {path: e.csv}\n",
        """
tasks/t.yaml:3:17: 'e.csv' has no header: its first row names the columns
  3 | dataset: {path: e.csv}
    |                 ^
""",
    ),
    "csv-latin": (
        OK + "dataset: {path: l.csv}\n",
        """
tasks/t.yaml:3:17: 'l.csv' cannot be read: byte 0xe9 of line 2 is not UTF-8. Try: save it as UTF-8
  3 | dataset: {path: l.csv}
    |                 ^
""",
    ),
    "csv-field": (
        ("prompt: 'do {{ row.wht }}'\noracles: [{run: x}]\ndataset: {path: good.csv}\n"),
        """
tasks/t.yaml:1:9: row 1 (good.csv:2): 'row' has no field 'wht'; known: id, q, level
  1 | prompt: 'do {{ row.wht }}'
    |         ^
tasks/t.yaml:1:9: row 2 (good.csv:3): 'row' has no field 'wht'; known: id, q, level
  1 | prompt: 'do {{ row.wht }}'
    |         ^
""",
    ),
    "yaml-rows": (
        OK + "dataset: {path: r.yaml}\n",
        """
tasks/r.yaml:2:3: row 2: a row is a mapping, not a number
  2 | - 3
    |   ^
tasks/r.yaml:3:11: row 3: duplicate key 'id'; the first is on line 3
  3 | - {id: b, id: c}
    |           ^
tasks/r.yaml:4:4: row 4: a key must be text; this one '1' is a number. Try: quotes around it
  4 | - {1: 2}
    |    ^
""",
    ),
    "yaml-map": (
        OK + "dataset: {path: m.yml}\n",
        """
tasks/m.yml:1:1: a dataset is a list of mappings, not a mapping
  1 | a: {q: 1}
    | ^
""",
    ),
    "yaml-syntax": (
        OK + "dataset: {path: s.yaml}\n",
        """
tasks/s.yaml:2:8: not valid YAML: did not find expected ',' or '}' while parsing a flow mapping of line 2
  2 | - {q: a: b}
    |        ^
""",
    ),
    "yaml-tab": (
        OK + "dataset: {path: tab.yaml}\n",
        """
tasks/tab.yaml:2:2: not valid YAML: a tab cannot indent YAML. Try: spaces
  2 | -\tq:
    |  ^
""",
    ),
    "json-rows": (
        OK + "dataset: {path: j.json}\n",
        """
tasks/j.json:2:2: row 2: a row is a JSON object
  2 |  3,
    |  ^
tasks/j.json:3:2: row 3: not valid JSON: duplicate key 'a'
  3 |  {"a": 1, "a": 2},
    |  ^
""",
    ),
    "json-obj": (
        OK + "dataset: {path: o.json}\n",
        """
tasks/o.json:1:1: a JSON dataset is a list of objects
  1 | {"a": 1}
    | ^
""",
    ),
    "strat": (
        OK + "dataset: {path: good.csv, per_stratum: 1}\n",
        """
tasks/t.yaml:3:27: 'per_stratum' needs a 'stratum': the field whose values make the strata
  3 | dataset: {path: good.csv, per_stratum: 1}
    |                           ^
""",
    ),
    "strat2": (
        OK + "dataset: {path: good.csv, stratum: level, per_stratum: 9}\n",
        """
tasks/t.yaml:3:56: per_stratum of 9, but the largest stratum has 1 row: nothing would be left out
  3 | dataset: {path: good.csv, stratum: level, per_stratum: 9}
    |                                                        ^
""",
    ),
    "strat3": (
        OK + "dataset: {path: good.csv, stratum: lvl, per_stratum: 1}\n",
        """
tasks/good.csv:2:1: row 1 has no stratum field 'lvl'; known: id, q, level
tasks/good.csv:3:1: row 2 has no stratum field 'lvl'; known: id, q, level
""",
    ),
    "strat4": (
        OK + "dataset: {path: good.csv, stratum: level}\n",
        """
tasks/t.yaml:3:27: 'stratum' needs a 'per_stratum': how many rows of each are taken
  3 | dataset: {path: good.csv, stratum: level}
    |                           ^
""",
    ),
    "strat5": (
        OK + "dataset: {path: good.csv, stratum: level, per_stratum: 1, sample: 1}\n",
        """
tasks/t.yaml:3:43: 'sample' and 'per_stratum' exclude each other
  3 | dataset: {path: good.csv, stratum: level, per_stratum: 1, sample: 1}
    |                                           ^
""",
    ),
    "strat6": (
        OK + "dataset: {path: good.csv, stratum: '', per_stratum: 0, sample: many, seed: x}\n",
        """
tasks/t.yaml:3:53: 'dataset.per_stratum' must be at least 1, not 0
  3 | dataset: {path: good.csv, stratum: '', per_stratum: 0, sample: many, seed: x}
    |                                                     ^
tasks/t.yaml:3:64: 'dataset.sample' must be a whole number, not text
  3 | dataset: {path: good.csv, stratum: '', per_stratum: 0, sample: many, seed: x}
    |                                                                ^
tasks/t.yaml:3:76: 'dataset.seed' must be a whole number, not text
  3 | dataset: {path: good.csv, stratum: '', per_stratum: 0, sample: many, seed: x}
    |                                                                            ^
""",
    ),
    "text": (
        OK + "dataset: rows.jsonl\n",
        """
tasks/t.yaml:3:10: 'dataset' must be a mapping with a 'path', not text
  3 | dataset: rows.jsonl
    |          ^
""",
    ),
    "keys": (
        OK + "dataset: {file: good.csv}\n",
        """
tasks/t.yaml:3:11: unknown key 'file'; known: id, package, path, per_stratum, sample, seed, stratum
  3 | dataset: {file: good.csv}
    |           ^
""",
    ),
    "dir": (
        OK + "dataset: {path: .}\n",
        """
tasks/t.yaml:3:17: 'tasks' is no dataset: its name must end in .jsonl, .csv, .yaml, .yml or .json, each also with .gz
  3 | dataset: {path: .}
    |                 ^
""",
    ),
    "dir2": (
        OK + "dataset: {path: dir.csv}\n",
        """
tasks/t.yaml:3:17: 'dir.csv' is no regular file
  3 | dataset: {path: dir.csv}
    |                 ^
""",
    ),
    "blank": (
        OK + "dataset: {path: ''}\n",
        """
tasks/t.yaml:3:10: a dataset needs a 'path'
  3 | dataset: {path: ''}
    |          ^
""",
    ),
    "id-type": (
        OK + "dataset: {path: idtype.jsonl}\n",
        """
tasks/idtype.jsonl:1:1: row 1: the id field 'id' must be text or a whole number
tasks/idtype.jsonl:2:1: row 2: the id field 'id' must be text or a whole number
tasks/idtype.jsonl:3:1: row 3: the id field 'id' must be text or a whole number
tasks/idtype.jsonl:4:1: row 4: the id field 'id' must be text or a whole number
""",
    ),
    "id-bad": (
        OK + "dataset: {path: idbad.csv}\n",
        """
tasks/t.yaml:3:10: row 1: the id '' is empty. Try: give the file an id of its own
  3 | dataset: {path: idbad.csv}
    |          ^
tasks/t.yaml:3:10: row 2: the id '' is empty. Try: give the file an id of its own
  3 | dataset: {path: idbad.csv}
    |          ^
""",
    ),
    "unquoted": (
        ("prompt: {{ row.q }}\noracles: [{run: x}]\ndataset: {path: good.csv}\n"),
        """
tasks/t.yaml:1:9: to YAML, '{{' begins a mapping and no text. Try: quotes around it
  1 | prompt: {{ row.q }}
    |         ^
""",
    ),
    "path-row": (
        OK + ("workspace: '{{ row.q }}'\ndataset: {path: good.csv}\n"),
        """
tasks/t.yaml:3:12: '{{ row.q }}' must start with a directory that all rows share
  3 | workspace: '{{ row.q }}'
    |            ^
tasks/t.yaml:3:12: row 1 (good.csv:2): '1' does not exist
  3 | workspace: '{{ row.q }}'
    |            ^
tasks/t.yaml:3:12: row 2 (good.csv:3): '2' does not exist
  3 | workspace: '{{ row.q }}'
    |            ^
""",
    ),
    "tag-row": (
        OK + ("tags: ['{{ row.q }}']\ndataset: {path: good.csv}\n"),
        """
tasks/t.yaml:3:8: row 1 (good.csv:2): the tag '1' is not made of a letter, then letters, digits, '_', '-' and '.'
  3 | tags: ['{{ row.q }}']
    |        ^
tasks/t.yaml:3:8: row 2 (good.csv:3): the tag '2' is not made of a letter, then letters, digits, '_', '-' and '.'
  3 | tags: ['{{ row.q }}']
    |        ^
""",
    ),
    "dup-names": (
        OK
        + ("workspace: {files: {'{{ row.q }}': a, '{{ row.q}}': b}}\ndataset: {path: good.csv}\n"),
        """
tasks/t.yaml:3:53: row 1 (good.csv:2): two names become '1'
  3 | workspace: {files: {'{{ row.q }}': a, '{{ row.q}}': b}}
    |                                                     ^
tasks/t.yaml:3:53: row 2 (good.csv:3): two names become '2'
  3 | workspace: {files: {'{{ row.q }}': a, '{{ row.q}}': b}}
    |                                                     ^
""",
    ),
    "id-clash": (
        OK + "dataset: {path: same.csv}\n",
        """
tasks/same.csv:3:1: row 2: makes the id 'a-b', as row 1 does (same.csv:2)
tasks/same.csv:4:1: row 3: makes the id 'a-b', as row 1 does (same.csv:2)
""",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_message(project: Path, name: str) -> None:
    """Each mistake stands at its place, in the task file or in the dataset, with the row."""
    source, expected = CASES[name]
    (project / "tasks" / "dir.csv").mkdir()
    for other, content in FILES.items():
        (project / "tasks" / other).write_bytes(content)
    file = project / "tasks" / "t.yaml"
    file.write_text(source)
    with pytest.raises(DefinitionError) as caught:
        load_task_file(file, rootdir=project)
    assert str(caught.value) == expected.strip("\n")
