"""Files with odd bytes and odd YAML: what they load as, or their whole message."""

# ruff: noqa: E501 - messages stand here as they are shown

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pytest_agentbench.errors import DefinitionError
from pytest_agentbench.model.task import TaskSpec
from pytest_agentbench.taskfiles.loader import load_task_file

OK = "prompt: p\noracles: [{run: x}]\n"


def load(project: Path, source: str | bytes) -> tuple[TaskSpec, ...]:
    """The tasks of a file with that content."""
    file = project / "tasks" / "t.yaml"
    file.write_bytes(source if isinstance(source, bytes) else source.encode())
    return load_task_file(file, rootdir=project)


def message(project: Path, source: str | bytes) -> str:
    """What is wrong with a file with that content."""
    with pytest.raises(DefinitionError) as caught:
        load(project, source)
    return str(caught.value)


RIGHT: dict[str, tuple[str | bytes, dict[str, object]]] = {
    "mark": (b"\xef\xbb\xbf" + OK.encode(), {"prompt": "p"}),
    "mark-twice": (b"\xef\xbb\xbf" * 2 + OK.encode(), {"prompt": "p"}),
    "mark-in-quotes": ("prompt: 'a\ufeffb'\noracles: [{run: x}]\n", {"prompt": "a\ufeffb"}),
    "no-last-line-end": ("prompt: p\noracles: [{run: x}]", {"prompt": "p"}),
    "crlf-block": (
        "prompt: |\r\n  a\r\n   b\r\n\r\n  c\r\noracles: [{run: x}]\r\n",
        {"prompt": "a\n b\n\nc\n"},
    ),
    "cr-block": ("prompt: |\r  a\r  b\roracles: [{run: x}]\r", {"prompt": "a\nb\n"}),
    "crlf-folded": (
        "prompt: >\r\n  a\r\n  b\r\n\r\n  c\r\noracles: [{run: x}]\r\n",
        {"prompt": "a b\nc\n"},
    ),
    "escaped-cr": ('prompt: "a\\rb\\r\\nc"\noracles: [{run: x}]\n', {"prompt": "a\rb\r\nc"}),
    "tabs-between": ("prompt:\tp\t\noracles:\t[\t{\trun:\tx\t}\t]\n", {"prompt": "p"}),
    "tab-in-text": (
        "prompt: |\n  a\tb\n  \tc\noracles: [{run: x}]\n",
        {"prompt": "a\tb\n\tc\n"},
    ),
    "escaped-control": (
        '{"prompt": "a\\u0007b", "oracles": [{"run": "x"}]}',
        {"prompt": "a\x07b"},
    ),
    "old-line-ends": (
        "prompt: a\x85b\u2028c\u2029d\noracles: [{run: x}]\n",
        {"prompt": "a\x85b\u2028c\u2029d"},
    ),
    "json": ('{"prompt": "a\\/b", "oracles": [{"run": "x"}]}', {"prompt": "a/b"}),
    "yaml-12": ("%YAML 1.2\n---\n" + OK, {"prompt": "p"}),
    "yaml-11-is-12-too": ("%YAML 1.1\n---\n" + OK + "id: on\n", {"id": "on"}),
    "end-of-document": (OK + "...\n# words\n", {"prompt": "p"}),
    "truth-values-of-old": (
        OK + "tags: [yes, on, off, no, y, n]\n",
        {"tags": ("yes", "on", "off", "no", "y", "n")},
    ),
    "norway": (OK + "id: no\n", {"id": "no"}),
    "date": (OK + "id: 2024-01-02\n", {"id": "2024-01-02"}),
    "merge-key-as-value": (OK + "id: <<\n", {"id": "<<"}),
    "equals-sign": (OK + "id: =\n", {"id": "="}),
    "octal": (OK + "repeats: 0o17\n", {"layer": {"repeats": 15}}),
    "hexadecimal": (OK + "repeats: 0x1F\n", {"layer": {"repeats": 31}}),
    "plus": (OK + "repeats: +7\n", {"layer": {"repeats": 7}}),
    "exponent": (OK + "threshold: 1e-6\n", {"threshold": 1e-6}),
    "whole-fraction": (OK + "threshold: 1\n", {"threshold": 1.0}),
    "text-tag": (OK + "id: !!str 12\n", {"id": "12"}),
    "verbatim-tag": (OK + "id: !<tag:yaml.org,2002:str> 12\n", {"id": "12"}),
    "letters-of-the-world": (OK + "id: café-日本-שלום\n", {"id": "café-日本-שלום"}),
    "emoji": (OK + "id: 😀\n", {"id": "😀"}),
    "alias-of-a-text": (
        "prompt: &p Do it.\ndescription: *p\noracles: [{run: x}]\n",
        {"prompt": "Do it.", "description": "Do it."},
    ),
    "merges": (
        OK + "sandbox:\n  <<: [{cpus: 1, pids: 5}, {cpus: 2, network: none}]\n  pids: 9\n",
        {"layer": {"sandbox.cpus": 1.0, "sandbox.network": "none", "sandbox.pids": 9}},
    ),
    "nested-merges": (
        OK + "sandbox:\n  <<: {<<: {cpus: 1, pids: 5}, pids: 7}\n",
        {"layer": {"sandbox.cpus": 1.0, "sandbox.pids": 7}},
    ),
    "merge-of-nothing": (OK + "sandbox: {<<: [], cpus: 1}\n", {"layer": {"sandbox.cpus": 1.0}}),
    "comma-behind": (OK + "tags: [a, b,]\n", {"tags": ("a", "b")}),
    "question-marks": ("? prompt\n: p\n? oracles\n: - ? run\n    : x\n", {"prompt": "p"}),
    "comment-behind": (OK + "id: a # b\n", {"id": "a"}),
    "as-deep-as-may-be": (OK + "gate: " + "{a: " * 98 + "1" + "}" * 98 + "\n", {"gated": True}),
}


@pytest.mark.parametrize("name", RIGHT)
def test_odd_but_right(project: Path, name: str) -> None:
    """What only looks odd loads as it is meant."""
    source, expected = RIGHT[name]
    (task,) = load(project, source)
    assert {key: getattr(task, key) for key in expected} == expected
    assert [(oracle.kind, oracle.expectation) for oracle in task.oracles] == [("run", "x")]


WRONG: dict[str, tuple[str | bytes, str]] = {
    "utf16-le": (
        OK.encode("utf-16-le"),
        """
tasks/t.yaml: is UTF-16 or UTF-32; YAML here is UTF-8. Try: save it as UTF-8
""",
    ),
    "utf16-be": (
        OK.encode("utf-16-be"),
        """
tasks/t.yaml: is UTF-16 or UTF-32; YAML here is UTF-8. Try: save it as UTF-8
""",
    ),
    "utf16-be-mark": (
        b"\xfe\xff" + OK.encode("utf-16-be"),
        """
tasks/t.yaml: is UTF-16 or UTF-32; YAML here is UTF-8. Try: save it as UTF-8
""",
    ),
    "utf32-le": (
        OK.encode("utf-32-le"),
        """
tasks/t.yaml: is UTF-16 or UTF-32; YAML here is UTF-8. Try: save it as UTF-8
""",
    ),
    "utf32-be": (
        OK.encode("utf-32-be"),
        """
tasks/t.yaml: is UTF-16 or UTF-32; YAML here is UTF-8. Try: save it as UTF-8
""",
    ),
    "utf32-le-mark": (
        b"\xff\xfe\0\0" + OK.encode("utf-32-le"),
        """
tasks/t.yaml: is UTF-16 or UTF-32; YAML here is UTF-8. Try: save it as UTF-8
""",
    ),
    "utf32-be-mark": (
        b"\0\0\xfe\xff" + OK.encode("utf-32-be"),
        """
tasks/t.yaml: is UTF-16 or UTF-32; YAML here is UTF-8. Try: save it as UTF-8
""",
    ),
    "mark-only": (
        b"\xef\xbb\xbf",
        """
tasks/t.yaml: is empty, and so no task file
""",
    ),
    "mark-in-the-middle": (
        OK + "\ufeffid: x\n",
        """
tasks/t.yaml:3:2: not valid YAML: did not find expected key while parsing a block mapping of line 1. Try: remove the byte order mark (U+FEFF) from the middle of the file
  3 | \ufffdid: x
    |  ^
""",
    ),
    "mark-in-an-id": (
        OK + "id: a\ufeffb\n",
        """
tasks/t.yaml:3:5: the id 'a\\ufeffb' holds a character that cannot be printed
  3 | id: a\ufffdb
    |     ^
""",
    ),
    "latin-crlf": (
        b"prompt: p\r\nid: caf\xe9\r\n",
        """
tasks/t.yaml:2:8: byte 18 (0xe9) is not UTF-8. Try: save it as UTF-8
  2 | id: caf\ufffd
    |        ^
""",
    ),
    "latin-behind-utf8": (
        "prompt: é\nid: x".encode() + b"\xe9\n",
        """
tasks/t.yaml:2:6: byte 16 (0xe9) is not UTF-8. Try: save it as UTF-8
  2 | id: x\ufffd
    |      ^
""",
    ),
    "cut-utf8": (
        b"prompt: caf\xc3",
        """
tasks/t.yaml:1:12: byte 11 (0xc3) is not UTF-8. Try: save it as UTF-8
  1 | prompt: caf\ufffd
    |            ^
""",
    ),
    "overlong-utf8": (
        b"prompt: a\xc0\x80\n",
        """
tasks/t.yaml:1:10: byte 9 (0xc0) is not UTF-8. Try: save it as UTF-8
  1 | prompt: a\ufffd\ufffd
    |          ^
""",
    ),
    "surrogate-utf8": (
        b"prompt: a\xed\xa0\x80\n",
        """
tasks/t.yaml:1:10: byte 9 (0xed) is not UTF-8. Try: save it as UTF-8
  1 | prompt: a\ufffd\ufffd\ufffd
    |          ^
""",
    ),
    "binary": (
        bytes(range(256)),
        """
tasks/t.yaml:3:115: byte 128 (0x80) is not UTF-8. Try: save it as UTF-8
  3 | …NOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd…
    |                                                    ^
""",
    ),
    "cr-only": (
        OK.replace("\n", "\r") + "promt: x\r",
        """
tasks/t.yaml:3:1: unknown key 'promt'; did you mean 'prompt'?
  3 | promt: x
    | ^
""",
    ),
    "all-line-ends": (
        "prompt: |\r\n  a\r\n  b\rpromt: x\noracles: [{run: x}]\r\n",
        """
tasks/t.yaml:4:1: unknown key 'promt'; did you mean 'prompt'?
  4 | promt: x
    | ^
""",
    ),
    "crlf-columns": (
        OK.replace("\n", "\r\n") + "limits: {tme: 1,\r\n  workspase: 2}\r\n",
        """
tasks/t.yaml:3:10: unknown key 'tme'; did you mean 'time'?
  3 | limits: {tme: 1,
    |          ^
tasks/t.yaml:4:3: unknown key 'workspase'; did you mean 'workspace'?
  4 |   workspase: 2}
    |   ^
""",
    ),
    "tab-first": (
        "\tprompt: p\n",
        """
tasks/t.yaml:1:1: not valid YAML: a tab cannot indent YAML. Try: spaces
  1 | \tprompt: p
    | ^
""",
    ),
    "tab-before-item": (
        "prompt: p\noracles:\n\t- run: x\n",
        """
tasks/t.yaml:3:1: not valid YAML: a tab cannot indent YAML. Try: spaces
  3 | \t- run: x
    | ^
""",
    ),
    "tab-line": (
        "prompt: p\n\t\noracles: [{run: x}]\n",
        """
tasks/t.yaml:2:1: not valid YAML: found a tab character that violates indentation while scanning a plain scalar of line 1. Try: spaces
""",
    ),
    "tab-in-block": (
        "prompt: |\n  a\n\tb\noracles: [{run: x}]\n",
        """
tasks/t.yaml:3:1: not valid YAML: found a tab character where an indentation space is expected while scanning a block scalar of line 1. Try: spaces
  3 | \tb
    | ^
""",
    ),
    "tab-comment": (
        OK + "\t# comment\n",
        """
tasks/t.yaml:3:1: not valid YAML: a tab cannot indent YAML. Try: spaces
  3 | \t# comment
    | ^
""",
    ),
    "tab-in-list": (
        OK + "tags: [\ta,\t1]\n",
        """
tasks/t.yaml:3:12: an item of 'tags' must be text, not a number. Try: quotes around it
  3 | tags: [\ta,\t1]
    |        \t  \t^
""",
    ),
    "tab-behind-colon": (
        "prompt:\tp\noracles:\t[{run: x}]\npromt:\tx\n",
        """
tasks/t.yaml:3:1: unknown key 'promt'; did you mean 'prompt'?
  3 | promt:\tx
    | ^
""",
    ),
    "nul-first": (
        "\0" + OK,
        """
tasks/t.yaml:1:1: the character U+0000 is not allowed in YAML
  1 | \ufffdprompt: p
    | ^
""",
    ),
    "escape": (
        OK + "id: a\x1b[31mb\n",
        """
tasks/t.yaml:3:6: the character U+001B is not allowed in YAML
  3 | id: a\ufffd[31mb
    |      ^
""",
    ),
    "delete": (
        OK + "id: a\x7fb\n",
        """
tasks/t.yaml:3:6: the character U+007F is not allowed in YAML
  3 | id: a\ufffdb
    |      ^
""",
    ),
    "c1": (
        OK + "id: a\x80b\n",
        """
tasks/t.yaml:3:6: the character U+0080 is not allowed in YAML
  3 | id: a\ufffdb
    |      ^
""",
    ),
    "vertical-tab": (
        OK + "id: a\x0bb\n",
        """
tasks/t.yaml:3:6: the character U+000B is not allowed in YAML
  3 | id: a\ufffdb
    |      ^
""",
    ),
    "form-feed": (
        OK + "\x0cid: a\n",
        """
tasks/t.yaml:3:1: the character U+000C is not allowed in YAML
  3 | \ufffdid: a
    | ^
""",
    ),
    "no-character": (
        OK + "id: a\ufffeb\n",
        """
tasks/t.yaml:3:6: the character U+FFFE is not allowed in YAML
  3 | id: a\ufffdb
    |      ^
""",
    ),
    "escaped-nul-in-id": (
        OK + 'id: "a\\0b"\n',
        """
tasks/t.yaml:3:5: the id 'a\\x00b' holds a character that cannot be printed
  3 | id: "a\\0b"
    |     ^
""",
    ),
    "next-line-in-key": (
        OK + "limits: {a\x85b: 1, tme: 2}\n",
        """
tasks/t.yaml:3:10: unknown key 'a\\x85b'; known: time, workspace
  3 | limits: {a\ufffdb: 1, tme: 2}
    |          ^
tasks/t.yaml:3:18: unknown key 'tme'; did you mean 'time'?
  3 | limits: {a\ufffdb: 1, tme: 2}
    |                  ^
""",
    ),
    "next-line-key-twice": (
        OK + "slots: {a\x85b: 1, a\x85b: 1}\n",
        """
tasks/t.yaml:3:9: the slot name 'a\\x85b' holds a blank
  3 | slots: {a\ufffdb: 1, a\ufffdb: 1}
    |         ^
tasks/t.yaml:3:17: duplicate key 'a\\x85b'; the first is on line 3
  3 | slots: {a\ufffdb: 1, a\ufffdb: 1}
    |                 ^
""",
    ),
    "line-separator-in-id": (
        OK + "id: a\u2028b\n",
        """
tasks/t.yaml:3:5: the id 'a\\u2028b' holds a blank
  3 | id: a\ufffdb
    |     ^
""",
    ),
    "paragraph-separator": (
        "prompt: a\u2029b\noracles: [{run: x}]\npromt: x\n",
        """
tasks/t.yaml:3:1: unknown key 'promt'; did you mean 'prompt'?
  3 | promt: x
    | ^
""",
    ),
    "merge-of-null": (
        OK + "sandbox: {<<: }\n",
        """
tasks/t.yaml:3:15: '<<' takes a mapping or a list of mappings
  3 | sandbox: {<<: }
    |               ^
""",
    ),
    "merge-list-of-others": (
        OK + "sandbox: {<<: [{cpus: 1}, 2, x, [{pids: 1}]]}\n",
        """
tasks/t.yaml:3:27: '<<' takes a mapping or a list of mappings
  3 | sandbox: {<<: [{cpus: 1}, 2, x, [{pids: 1}]]}
    |                           ^
tasks/t.yaml:3:30: '<<' takes a mapping or a list of mappings
  3 | sandbox: {<<: [{cpus: 1}, 2, x, [{pids: 1}]]}
    |                              ^
tasks/t.yaml:3:33: '<<' takes a mapping or a list of mappings
  3 | sandbox: {<<: [{cpus: 1}, 2, x, [{pids: 1}]]}
    |                                 ^
""",
    ),
    "merge-twice": (
        OK + "sandbox:\n  <<: {cpus: 1}\n  <<: {cpus: 2}\n",
        """
tasks/t.yaml:5:3: duplicate key '<<'; the first is on line 4. Try: one '<<' with a list of mappings
  5 |   <<: {cpus: 2}
    |   ^
""",
    ),
    "merge-then-key-twice": (
        OK + "sandbox:\n  <<: {cpus: 1}\n  cpus: 2\n  cpus: 3\n",
        """
tasks/t.yaml:6:3: duplicate key 'cpus'; the first is on line 5
  6 |   cpus: 3
    |   ^
""",
    ),
    "merge-of-itself": (
        OK + "sandbox: &s {<<: *s, cpus: 1}\n",
        """
tasks/t.yaml:3:10: an alias leads back to a value that holds it
  3 | sandbox: &s {<<: *s, cpus: 1}
    |          ^
""",
    ),
    "merge-of-undefined": (
        OK + "sandbox: {<<: *x}\n",
        """
tasks/t.yaml:3:15: not valid YAML: found undefined alias
  3 | sandbox: {<<: *x}
    |               ^
""",
    ),
    "merge-of-wrong-keys": (
        OK + "limits: &l {time: 1m}\nsandbox:\n  <<: *l\n",
        """
tasks/t.yaml:3:13: unknown key 'time'; did you mean 'image'?
  3 | limits: &l {time: 1m}
    |             ^
""",
    ),
    "merge-source-on-top": (
        "base: &b {prompt: p}\n<<: *b\noracles: [{run: x}]\n",
        """
tasks/t.yaml:1:1: unknown key 'base'; known: checks, controls, dataset, description, fixtures, gate, id, limits, oracles, prompt, prompt_file, repeats, reveal, sandbox, skip, slots, solution, tags, threshold, workspace, xfail
  1 | base: &b {prompt: p}
    | ^
""",
    ),
    "aliases-of-each-other": (
        OK + "tags: &a [&b [*a, *b]]\n",
        """
tasks/t.yaml:3:7: an alias leads back to a value that holds it
  3 | tags: &a [&b [*a, *b]]
    |       ^
tasks/t.yaml:3:11: an alias leads back to a value that holds it
  3 | tags: &a [&b [*a, *b]]
    |           ^
""",
    ),
    "alias-as-key": (
        OK + "? *x\n: 1\n",
        """
tasks/t.yaml:3:3: not valid YAML: found undefined alias
  3 | ? *x
    |   ^
""",
    ),
    "alias-without-name": (
        OK + "id: *\n",
        """
tasks/t.yaml:3:6: not valid YAML: did not find expected alphabetic or numeric character while scanning an alias of line 3
  3 | id: *
    |      ^
""",
    ),
    "anchor-twice": (
        "prompt: &a p\nid: &a q\ndescription: *a\noracles: [{run: x}]\n",
        """
tasks/t.yaml:2:5: not valid YAML: this anchor is there twice; the first is on line 1
  2 | id: &a q
    |     ^
""",
    ),
    "anchor-of-nothing": (
        OK + "id: &a\n",
        """
tasks/t.yaml:3:5: 'id' has no value
  3 | id: &a
    |     ^
""",
    ),
    "shared-by-two": (
        "prompt: p\noracles:\n  - &o {run: x, wieght: 2}\n  - {<<: *o, name: b, weigt: 1}\n",
        """
tasks/t.yaml:3:17: unknown key 'wieght'; did you mean 'weight'?
  3 |   - &o {run: x, wieght: 2}
    |                 ^
tasks/t.yaml:4:23: unknown key 'weigt'; did you mean 'weight'?
  4 |   - {<<: *o, name: b, weigt: 1}
    |                       ^
""",
    ),
    "duplicate-in-quotes": (
        OK + "'id': a\n\"id\": b\nid: c\n",
        """
tasks/t.yaml:4:1: duplicate key 'id'; the first is on line 3
  4 | "id": b
    | ^
tasks/t.yaml:5:1: duplicate key 'id'; the first is on line 3
  5 | id: c
    | ^
""",
    ),
    "duplicate-escaped": (
        OK + '"\\x69d": a\nid: b\n',
        """
tasks/t.yaml:4:1: duplicate key 'id'; the first is on line 3
  4 | id: b
    | ^
""",
    ),
    "duplicate-nested": (
        OK + "limits:\n  time: 1m\n  'time': 2m\n",
        """
tasks/t.yaml:5:3: duplicate key 'time'; the first is on line 4
  5 |   'time': 2m
    |   ^
""",
    ),
    "duplicate-in-flow": (
        OK + "limits: {time: 1m, time: 2m}\n",
        """
tasks/t.yaml:3:20: duplicate key 'time'; the first is on line 3
  3 | limits: {time: 1m, time: 2m}
    |                    ^
""",
    ),
    "duplicate-in-oracle": (
        "prompt: p\noracles:\n- run: x\n  run: y\n",
        """
tasks/t.yaml:4:3: duplicate key 'run'; the first is on line 3
  4 |   run: y
    |   ^
""",
    ),
    "duplicate-question": (
        OK + "? id\n: a\n? id\n: b\n",
        """
tasks/t.yaml:5:3: duplicate key 'id'; the first is on line 3
  5 | ? id
    |   ^
""",
    ),
    "two-forms-of-one-letter": (
        OK + "slots: {caf\u00e9: 1, cafe\u0301: 2}\n",
        """
tasks/t.yaml:3:18: the slot name 'cafe\u0301' is not in Unicode's composed form (NFC)
  3 | slots: {café: 1, cafe\u0301: 2}
    |                  ^
""",
    ),
    "octal-of-old": (
        OK + "repeats: 012\n",
        """
tasks/t.yaml:3:10: 'repeats' must be a whole number, not the text '012'
  3 | repeats: 012
    |          ^
""",
    ),
    "binary-number": (
        OK + "repeats: 0b1\n",
        """
tasks/t.yaml:3:10: 'repeats' must be a whole number, not the text '0b1'
  3 | repeats: 0b1
    |          ^
""",
    ),
    "underscores": (
        OK + "repeats: 1_0\n",
        """
tasks/t.yaml:3:10: 'repeats' must be a whole number, not the text '1_0'
  3 | repeats: 1_0
    |          ^
""",
    ),
    "sexagesimal": (
        OK + "limits: {time: 10:30}\n",
        """
tasks/t.yaml:3:16: 'limits.time': '10:30' is not a time; write it like 10m, 90s, 1h30m or 500ms
  3 | limits: {time: 10:30}
    |                ^
""",
    ),
    "exponent": (
        OK + "repeats: 1e2\n",
        """
tasks/t.yaml:3:10: 'repeats' must be a whole number, not 100.0
  3 | repeats: 1e2
    |          ^
""",
    ),
    "quoted-number": (
        OK + "repeats: '3'\n",
        """
tasks/t.yaml:3:10: 'repeats' must be a whole number, not the text '3'. Try: no quotes around it
  3 | repeats: '3'
    |          ^
""",
    ),
    "yes-as-truth": (
        "prompt: p\noracles: [{run: x, advisory: yes}, {run: y, advisory: Off}, {run: z}]\n",
        """
tasks/t.yaml:2:30: 'advisory' must be true or false, not text. Try: true
  2 | oracles: [{run: x, advisory: yes}, {run: y, advisory: Off}, {run: z}]
    |                              ^
tasks/t.yaml:2:55: 'advisory' must be true or false, not text. Try: false
  2 | oracles: [{run: x, advisory: yes}, {run: y, advisory: Off}, {run: z}]
    |                                                       ^
""",
    ),
    "true-as-id": (
        OK + "id: true\n",
        """
tasks/t.yaml:3:5: 'id' must be text, not a truth value. Try: quotes around it
  3 | id: true
    |     ^
""",
    ),
    "tilde": (
        OK + "id: ~\n",
        """
tasks/t.yaml:3:5: 'id' has no value
  3 | id: ~
    |     ^
""",
    ),
    "null-list": (
        OK + "tags: null\n",
        """
tasks/t.yaml:3:7: 'tags' has no value
  3 | tags: null
    |       ^
""",
    ),
    "date-time-id": (
        OK + "id: 2024-01-02T10:30:00Z\n",
        """
tasks/t.yaml:3:5: the id '2024-01-02T10:30:00Z' holds ':'
  3 | id: 2024-01-02T10:30:00Z
    |     ^
""",
    ),
    "not-a-number": (
        OK + "threshold: .nan\n",
        """
tasks/t.yaml:3:12: '.nan' is not a usable number. Try: quotes around it, if it is text
  3 | threshold: .nan
    |            ^
""",
    ),
    "minus-infinity": (
        OK + "threshold: -.Inf\n",
        """
tasks/t.yaml:3:12: '-.Inf' is not a usable number. Try: quotes around it, if it is text
  3 | threshold: -.Inf
    |            ^
""",
    ),
    "1e400": (
        OK + "threshold: 1e400\n",
        """
tasks/t.yaml:3:12: '1e400' is not a usable number. Try: quotes around it, if it is text
  3 | threshold: 1e400
    |            ^
""",
    ),
    "large-number": (
        OK + "repeats: 999999999999999999999999999999\n",
        """
tasks/t.yaml:3:10: 'repeats' must be at most 1000, not 999999999999999999999999999999
  3 | repeats: 999999999999999999999999999999
    |          ^
""",
    ),
    "python-object": (
        OK + "id: !!python/object/apply:os.system [echo]\n",
        """
tasks/t.yaml:3:5: unknown tag '!!python/object/apply:os.system'
  3 | id: !!python/object/apply:os.system [echo]
    |     ^
""",
    ),
    "python-name": (
        OK + "id: !!python/name:os.system x\n",
        """
tasks/t.yaml:3:5: unknown tag '!!python/name:os.system'
  3 | id: !!python/name:os.system x
    |     ^
""",
    ),
    "binary-tag": (
        OK + "id: !!binary aGk=\n",
        """
tasks/t.yaml:3:5: unknown tag '!!binary'
  3 | id: !!binary aGk=
    |     ^
""",
    ),
    "omap": (
        OK + "slots: !!omap [gpu: 1]\n",
        """
tasks/t.yaml:3:8: unknown tag '!!omap'
  3 | slots: !!omap [gpu: 1]
    |        ^
""",
    ),
    "timestamp-tag": (
        OK + "id: !!timestamp 2024-01-02\n",
        """
tasks/t.yaml:3:5: unknown tag '!!timestamp'
  3 | id: !!timestamp 2024-01-02
    |     ^
""",
    ),
    "own-tag": (
        OK + "limits: !x {time: 1m}\n",
        """
tasks/t.yaml:3:9: unknown tag '!x'
  3 | limits: !x {time: 1m}
    |         ^
""",
    ),
    "tag-of-a-handle": (
        "%TAG !e! tag:example.org,2024:\n---\n" + OK + "id: !e!x y\n",
        """
tasks/t.yaml:5:5: unknown tag 'tag:example.org,2024:x'
  5 | id: !e!x y
    |     ^
""",
    ),
    "tag-of-no-handle": (
        OK + "id: !e!x y\n",
        """
tasks/t.yaml:3:5: not valid YAML: found undefined tag handle while parsing a node of line 3
  3 | id: !e!x y
    |     ^
""",
    ),
    "wrong-tag": (
        OK + "tags: !!str [a]\n",
        """
tasks/t.yaml:3:7: unknown tag '!!str'
  3 | tags: !!str [a]
    |       ^
""",
    ),
    "right-to-left-override": (
        OK + "id: a\u202eb\n",
        """
tasks/t.yaml:3:5: the id 'a\\u202eb' holds a character that cannot be printed
  3 | id: a\ufffdb
    |     ^
""",
    ),
    "zero-width-space": (
        OK + "id: a\u200bb\n",
        """
tasks/t.yaml:3:5: the id 'a\\u200bb' holds a character that cannot be printed
  3 | id: a\ufffdb
    |     ^
""",
    ),
    "no-break-space": (
        OK + "id: a\u00a0b\n",
        """
tasks/t.yaml:3:5: the id 'a\\xa0b' holds a blank
  3 | id: a\ufffdb
    |     ^
""",
    ),
    "decomposed-id": (
        OK + "id: cafe\u0301\n",
        """
tasks/t.yaml:3:5: the id 'cafe\u0301' is not in Unicode's composed form (NFC)
  3 | id: cafe\u0301
    |     ^
""",
    ),
    "right-to-left-key": (
        OK + "limits: {שלום: 1, tme: 2}\n",
        """
tasks/t.yaml:3:10: unknown key 'שלום'; known: time, workspace
  3 | limits: {שלום: 1, tme: 2}
    |          ^
tasks/t.yaml:3:19: unknown key 'tme'; did you mean 'time'?
  3 | limits: {שלום: 1, tme: 2}
    |                   ^
""",
    ),
    "joined-emoji": (
        OK + "limits: {'👩\u200d👧': 1, tme: 2}\n",
        """
tasks/t.yaml:3:10: unknown key '👩\\u200d👧'; known: time, workspace
  3 | limits: {'👩\ufffd👧': 1, tme: 2}
    |          ^
tasks/t.yaml:3:20: unknown key 'tme'; did you mean 'time'?
  3 | limits: {'👩\ufffd👧': 1, tme: 2}
    |                      ^
""",
    ),
    "combining-letter": (
        OK + "limits: {'e\u0301': 1, tme: 2}\n",
        """
tasks/t.yaml:3:10: unknown key 'e\u0301'; known: time, workspace
  3 | limits: {'e\u0301': 1, tme: 2}
    |          ^
tasks/t.yaml:3:19: unknown key 'tme'; did you mean 'time'?
  3 | limits: {'e\u0301': 1, tme: 2}
    |                  ^
""",
    ),
    "only-a-document": (
        "---\n",
        """
tasks/t.yaml: is empty, and so no task file
""",
    ),
    "only-an-end": (
        "---\n# nothing\n...\n",
        """
tasks/t.yaml: is empty, and so no task file
""",
    ),
    "only-blanks": (
        " \n\n  \n",
        """
tasks/t.yaml: is empty, and so no task file
""",
    ),
    "two-empty-documents": (
        "---\n---\n",
        """
tasks/t.yaml:2:1: a second document starts here; a task file is one YAML document
  2 | ---
    | ^
""",
    ),
    "three-documents": (
        f"{OK}---\n{OK}---\n{OK}",
        """
tasks/t.yaml:3:1: a second document starts here; a task file is one YAML document
  3 | ---
    | ^
""",
    ),
    "text-behind-the-end": (
        OK + "...\nfoo\n",
        """
tasks/t.yaml:4:1: not valid YAML: did not find expected <document start>
  4 | foo
    | ^
""",
    ),
    "document-within-a-block": (
        "prompt: |\n  a\n---\noracles: [{run: x}]\n",
        """
tasks/t.yaml:3:1: a second document starts here; a task file is one YAML document
  3 | ---
    | ^
""",
    ),
    "null-document": (
        "~\n",
        """
tasks/t.yaml:1:1: a task file is a mapping, not nothing
  1 | ~
    | ^
""",
    ),
    "empty-mapping": (
        "{}\n",
        """
tasks/t.yaml:1:1: a task needs a 'prompt' or a 'prompt_file'
  1 | {}
    | ^
tasks/t.yaml:1:1: a task without oracles. Try: add oracles: what the agent left is judged by them
  1 | {}
    | ^
""",
    ),
    "yaml-2": (
        "%YAML 2.0\n---\n" + OK,
        """
tasks/t.yaml:1:1: not valid YAML: found incompatible YAML document
  1 | %YAML 2.0
    | ^
""",
    ),
    "directive-alone": (
        "%YAML 1.2\n" + OK,
        """
tasks/t.yaml:2:1: not valid YAML: did not find expected <document start>
  2 | prompt: p
    | ^
""",
    ),
    "unknown-directive": (
        "%FOO bar\n---\n" + OK,
        """
tasks/t.yaml:1:5: not valid YAML: found unknown directive name while scanning a directive of line 1
  1 | %FOO bar
    |     ^
""",
    ),
    "directive-twice": (
        "%YAML 1.2\n%YAML 1.2\n---\n" + OK,
        """
tasks/t.yaml:2:1: not valid YAML: found duplicate %YAML directive
  2 | %YAML 1.2
    | ^
""",
    ),
    "bracket-open": (
        OK + "tags: [a\n",
        """
tasks/t.yaml:4:1: not valid YAML: did not find expected ',' or ']' while parsing a flow sequence of line 3
""",
    ),
    "brace-open": (
        OK + "limits: {time: 1m\nid: x\n",
        """
tasks/t.yaml:4:3: not valid YAML: did not find expected ',' or '}' while parsing a flow mapping of line 3
  4 | id: x
    |   ^
""",
    ),
    "bracket-too-many": (
        OK + "tags: [a]]\n",
        """
tasks/t.yaml:3:10: not valid YAML: did not find expected key while parsing a block mapping of line 1
  3 | tags: [a]]
    |          ^
""",
    ),
    "comma-twice": (
        OK + "tags: [a,,b]\n",
        """
tasks/t.yaml:3:10: not valid YAML: did not find expected node content while parsing a flow node of line 3
  3 | tags: [a,,b]
    |          ^
""",
    ),
    "unknown-escape": (
        OK + 'id: "a\\qb"\n',
        """
tasks/t.yaml:3:7: not valid YAML: found unknown escape character while parsing a quoted scalar of line 3
  3 | id: "a\\qb"
    |       ^
""",
    ),
    "percent": (
        OK + "id: %x\n",
        """
tasks/t.yaml:3:5: not valid YAML: '%' cannot start a value. Try: put the value in quotes
  3 | id: %x
    |     ^
""",
    ),
    "indented-too-far": (
        "prompt: p\n  oracles: [{run: x}]\n",
        """
tasks/t.yaml:2:10: not valid YAML: mapping values are not allowed in this context. Try: put a value that holds ': ' in quotes, or mend indentation and colons just above
  2 |   oracles: [{run: x}]
    |          ^
""",
    ),
    "indented-too-little": (
        "prompt: p\noracles:\n  - run: x\n weight: 2\n",
        """
tasks/t.yaml:4:2: not valid YAML: did not find expected key while parsing a block mapping of line 1
  4 |  weight: 2
    |  ^
""",
    ),
    "no-blank-behind-colon": (
        "prompt:p\noracles: [{run: x}]\n",
        """
tasks/t.yaml:2:8: not valid YAML: mapping values are not allowed in this context. Try: put a value that holds ': ' in quotes, or mend indentation and colons just above
  2 | oracles: [{run: x}]
    |        ^
""",
    ),
    "block-header": (
        "prompt: |x\n  a\n",
        """
tasks/t.yaml:1:10: not valid YAML: did not find expected comment or line break while scanning a block scalar of line 1
  1 | prompt: |x
    |          ^
""",
    ),
    "placeholder-unquoted": (
        OK + "id: {{ row.id }}\ntags: [{{ row.tag }}]\n",
        """
tasks/t.yaml:3:5: to YAML, '{{' begins a mapping and no text. Try: quotes around it
  3 | id: {{ row.id }}
    |     ^
tasks/t.yaml:4:8: to YAML, '{{' begins a mapping and no text. Try: quotes around it
  4 | tags: [{{ row.tag }}]
    |        ^
""",
    ),
    "json-surrogates": (
        '{"prompt": "\\ud83d\\ude00", "oracles": [{"run": "x"}]}',
        """
tasks/t.yaml:1:15: not valid YAML: found invalid Unicode character escape code while parsing a quoted scalar of line 1. Try: write the character itself
  1 | {"prompt": "\\ud83d\\ude00", "oracles": [{"run": "x"}]}
    |               ^
""",
    ),
    "json-half-a-surrogate": (
        '{"prompt": "\\ud83d", "oracles": [{"run": "x"}]}',
        """
tasks/t.yaml:1:15: not valid YAML: found invalid Unicode character escape code while parsing a quoted scalar of line 1. Try: write the character itself
  1 | {"prompt": "\\ud83d", "oracles": [{"run": "x"}]}
    |               ^
""",
    ),
    "list-as-key": (
        OK + "? [a, b]\n: 1\n",
        """
tasks/t.yaml:3:3: a key must be text; this one is a list. Try: quotes around it
  3 | ? [a, b]
    |   ^
""",
    ),
    "null-as-key": (
        OK + "~: 1\n",
        """
tasks/t.yaml:3:1: a key must be text; this one '~' is nothing. Try: quotes around it
  3 | ~: 1
    | ^
""",
    ),
    "date-as-key": (
        OK + "limits: {2024-01-02: 1}\n",
        """
tasks/t.yaml:3:10: unknown key '2024-01-02'; known: time, workspace
  3 | limits: {2024-01-02: 1}
    |          ^
""",
    ),
    "empty-key": (
        OK + "limits: {'': 1}\n",
        """
tasks/t.yaml:3:10: unknown key ''; known: time, workspace
  3 | limits: {'': 1}
    |          ^
""",
    ),
    "upper-case-key": (
        "Prompt: p\nORACLES: [{run: x}]\n",
        """
tasks/t.yaml:1:1: unknown key 'Prompt'; did you mean 'prompt'?
  1 | Prompt: p
    | ^
tasks/t.yaml:2:1: unknown key 'ORACLES'; did you mean 'oracles'?
  2 | ORACLES: [{run: x}]
    | ^
""",
    ),
    "web-page": (
        "<!DOCTYPE html>\n<html></html>\n",
        """
tasks/t.yaml:1:1: a task file is a mapping, not text
  1 | <!DOCTYPE html>
    | ^
""",
    ),
    "long-line": (
        OK + f"limits: {{x: '{'x' * 1_000_000}', tme: 1}}\n",
        """
tasks/t.yaml:3:10: unknown key 'x'; known: time, workspace
  3 | limits: {x: 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…
    |          ^
tasks/t.yaml:3:1000017: unknown key 'tme'; did you mean 'time'?
  3 | …xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx', tme: 1}
    |                                                                                               ^
""",
    ),
    "long-key": (
        OK + "x" * 2000 + ": 1\n",
        """
tasks/t.yaml:3:2001: not valid YAML: could not find expected ':' while scanning a simple key of line 3
  3 | …xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx: 1
    |                                                                                                   ^
""",
    ),
    "deep-lists": (
        OK + f"tags: {'[' * 10_000}{']' * 10_000}\n",
        """
tasks/t.yaml:3:1006: not valid YAML: exceeded maximum nesting depth while increasing flow level of line 3
  3 | …[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[…
    |                                                    ^
""",
    ),
    "deep-mappings": (
        OK + "gate: " + "{a: " * 10_000 + "1" + "}" * 10_000 + "\n",
        """
tasks/t.yaml:3:4003: not valid YAML: exceeded maximum nesting depth while increasing flow level of line 3
  3 | …: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a…
    |                                                    ^
""",
    ),
    "deep-items": (
        OK + "tags:\n" + "- " * 10_000 + "x\n",
        """
tasks/t.yaml:4:1999: not valid YAML: exceeded maximum nesting depth while increasing block level of line 4
  4 | …- - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - …
    |                                                    ^
""",
    ),
    "a-level-too-deep": (
        OK + "gate: " + "{a: " * 101 + "1" + "}" * 101 + "\n",
        """
tasks/t.yaml:3:404: is nested deeper than 100 levels
  3 | … {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: 1}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}…
    |                                                    ^
""",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_message(project: Path, name: str) -> None:
    """Each odd file that is wrong has its whole message, with its places."""
    source, expected = WRONG[name]
    assert message(project, source) == expected.strip("\n")


def test_shared_oracles_are_two(project: Path) -> None:
    """An entry that stands in two places by an alias makes two oracles of different names."""
    (task,) = load(project, "prompt: p\noracles: [&o {run: x}, *o, {<<: *o, name: third}]\n")
    assert [(oracle.name, oracle.expectation) for oracle in task.oracles] == [
        ("run", "x"),
        ("run-2", "x"),
        ("third", "x"),
    ]
    assert [oracle.position.column for oracle in task.oracles] == [11, 11, 28]


def test_rows_fill_shared_parts_apart(project: Path) -> None:
    """What two places share by an alias is filled for each row, and no row sees another's."""
    (project / "tasks" / "d.jsonl").write_text('{"id": "a", "q": "1"}\n{"id": "b", "q": "2"}\n')
    tasks = load(
        project,
        "prompt: &p 'do {{ row.q }}'\ndescription: *p\n"
        "workspace: {files: &f {'{{ row.q }}': '{{ row.q }}', fixed: x}}\n"
        "oracles: [{run: x, assets: {files: *f}}]\ndataset: {path: d.jsonl}\n",
    )
    assert [(task.prompt, task.description) for task in tasks] == [
        ("do 1", "do 1"),
        ("do 2", "do 2"),
    ]
    for task, number in zip(tasks, "12", strict=True):
        files = {number: number, "fixed": "x"}
        assert dict(task.workspace.tree.files) == files
        assert dict(task.oracles[0].assets.files) == files


@pytest.mark.parametrize("length", [5_000, 1_000_000])
def test_long_values_are_quoted_in_part(project: Path, length: int) -> None:
    """A message quotes the beginning of what is far too long, and still says what is wrong."""
    for source, ending in (
        (OK + f"repeats: {'9' * length}\n", "' is not a usable number"),
        (OK + f"workspace: {'a/' * (length // 2)}b\n", "a/b' does not exist"),
        (OK + f"limits:\n  ? '{'x' * length}'\n  : 1\n", "known: time, workspace"),
    ):
        told = message(project, source)
        assert ending in told
        assert len(told) < 1_200


def test_a_file_that_is_wrong_throughout(project: Path) -> None:
    """Of thousands of problems a hundred are shown, and how many there are besides."""
    with pytest.raises(DefinitionError) as caught:
        load(project, OK + "".join(f"z{number}: x\n" for number in range(1_000)))
    assert len(caught.value.problems) == 1_000
    lines = str(caught.value).split("\n")
    assert (len(lines), lines[-1]) == (301, "and 900 more problems")
    assert lines[297].startswith("tasks/t.yaml:102:1: unknown key 'z99'; known: ")


def test_ten_megabytes(project: Path) -> None:
    """A long file loads; what is wrong at its end has its line."""
    prompt = ("  " + "x" * 98 + "\n") * 100_000
    (task,) = load(project, f"prompt: |\n{prompt}oracles: [{{run: x}}]\n")
    assert len(task.prompt) == 99 * 100_000
    assert message(project, f"prompt: |\n{prompt}oracles: [{{rum: x}}]\n") == (
        "tasks/t.yaml:100002:12: unknown oracle or key 'rum'; did you mean 'run'?\n"
        "  100002 | oracles: [{rum: x}]\n"
        "         |            ^"
    )


def test_a_file_that_is_too_large(project: Path) -> None:
    """Beyond a limit a file is not read at all."""
    file = project / "tasks" / "t.yaml"
    with file.open("wb") as opened:
        opened.truncate((64 << 20) + 1)
    with pytest.raises(DefinitionError) as caught:
        load_task_file(file, rootdir=project)
    assert str(caught.value) == "tasks/t.yaml: larger than 64 MiB"


BOMBS = {
    "aliases": OK
    + "x0: &x0 [a,a,a,a,a,a,a,a,a]\n"
    + "".join(f"x{n + 1}: &x{n + 1} [{','.join([f'*x{n}'] * 9)}]\n" for n in range(40)),
    "merges": OK
    + f"b: &b {{{', '.join(f'k{n}: 1' for n in range(1_000))}}}\nl:\n"
    + "- <<: *b\n" * 50_000,
    "merges-within-merges": OK
    + f"m0: &m0 {{{', '.join(f'k{n}: 1' for n in range(1_000))}}}\n"
    + "".join(f"m{n + 1}: &m{n + 1} {{<<: [*m{n}, {{j{n}: 1}}]}}\n" for n in range(3_000)),
    "keys": OK + "slots:\n" + "".join(f"  k{n}: 1\n" for n in range(100_000)),
    "items": OK + "tags: [" + "a," * 100_000 + "]\n",
}
TRIED = """
import resource, sys
from pathlib import Path
from pytest_agentbench.errors import DefinitionError
from pytest_agentbench.taskfiles.loader import load_task_file

resource.setrlimit(resource.RLIMIT_DATA, (400 << 20, 400 << 20))
resource.setrlimit(resource.RLIMIT_CPU, (40, 40))
try:
    load_task_file(Path("tasks/t.yaml"), rootdir=Path(sys.argv[1]))
except DefinitionError as error:
    print(error)
"""


@pytest.mark.parametrize("name", BOMBS)
def test_bombs(project: Path, name: str) -> None:
    """What a few bytes multiply to is refused in bounded time and memory."""
    (project / "tasks" / "t.yaml").write_text(BOMBS[name])
    done = subprocess.run(
        [sys.executable, "-c", TRIED, str(project)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.stderr, done.returncode) == ("", 0)
    assert done.stdout == (
        "tasks/t.yaml:1:1: holds more than 100,000 values once its aliases are expanded\n"
        "  1 | prompt: p\n"
        "    | ^\n"
    )
