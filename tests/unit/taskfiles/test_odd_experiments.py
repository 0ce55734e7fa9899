"""Experiment files with odd bytes and odd YAML: their whole messages."""

# ruff: noqa: E501 - messages stand here as they are shown

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_agentbench.errors import DefinitionError
from pytest_agentbench.taskfiles.experiment import load_experiment

V = "variants: {a: {agent: noop}}\n"

CASES: dict[str, tuple[str | bytes, str]] = {
    "utf16": (
        V.encode("utf-16-le"),
        """
agentbench.yaml: is UTF-16 or UTF-32; YAML here is UTF-8. Try: save it as UTF-8
""",
    ),
    "latin": (
        V.encode() + b"baseline: caf\xe9\n",
        """
agentbench.yaml:2:14: byte 42 (0xe9) is not UTF-8. Try: save it as UTF-8
  2 | baseline: caf\ufffd
    |              ^
""",
    ),
    "only-a-document": (
        "---\n",
        """
agentbench.yaml: is empty, and so no experiment file
""",
    ),
    "two-documents": (
        V + "---\n" + V,
        """
agentbench.yaml:2:1: a second document starts here; an experiment file is one YAML document
  2 | ---
    | ^
""",
    ),
    "nul": (
        V + "baseline: a\0b\n",
        """
agentbench.yaml:2:12: the character U+0000 is not allowed in YAML
  2 | baseline: a\ufffdb
    |            ^
""",
    ),
    "duplicate-variant": (
        "variants:\n  a: {agent: noop}\n  'a': {agent: noop}\n",
        """
agentbench.yaml:3:3: duplicate key 'a'; the first is on line 2
  3 |   'a': {agent: noop}
    |   ^
""",
    ),
    "duplicate-suite": (
        V + "suites:\n  s: {}\n  s: {}\n",
        """
agentbench.yaml:4:3: duplicate key 's'; the first is on line 3
  4 |   s: {}
    |   ^
""",
    ),
    "number-as-name": (
        "variants:\n  a: {agent: noop}\n  1: {agent: noop}\n  true: {agent: noop}\n  ~: {agent: noop}\n",
        """
agentbench.yaml:3:3: a key must be text; this one '1' is a number. Try: quotes around it
  3 |   1: {agent: noop}
    |   ^
agentbench.yaml:4:3: a key must be text; this one 'true' is a truth value. Try: quotes around it
  4 |   true: {agent: noop}
    |   ^
agentbench.yaml:5:3: a key must be text; this one '~' is nothing. Try: quotes around it
  5 |   ~: {agent: noop}
    |   ^
""",
    ),
    "merge-twice": (
        "variants:\n  a: &a {agent: noop}\n  b:\n    <<: *a\n    <<: *a\n",
        """
agentbench.yaml:5:5: duplicate key '<<'; the first is on line 4. Try: one '<<' with a list of mappings
  5 |     <<: *a
    |     ^
""",
    ),
    "variant-of-nothing": (
        "variants:\n  a:\n  b: noop\n  c: []\n",
        """
agentbench.yaml:2:5: 'variants.a' has no value
  2 |   a:
    |     ^
agentbench.yaml:3:6: 'variants.b' must be a mapping, not text
  3 |   b: noop
    |      ^
agentbench.yaml:4:6: 'variants.c' must be a mapping, not a list
  4 |   c: []
    |      ^
""",
    ),
    "variants-as-list": (
        "variants: [{agent: noop}]\n",
        """
agentbench.yaml:1:11: 'variants' must be a mapping, not a list
  1 | variants: [{agent: noop}]
    |           ^
""",
    ),
    "truth-of-old": (
        V + "defaults: {sandbox: {network: on}}\n",
        """
agentbench.yaml:2:31: unknown network 'on'; known: auto, full, none
  2 | defaults: {sandbox: {network: on}}
    |                               ^
""",
    ),
    "octal": (
        V + "defaults: {repeats: 010}\n",
        """
agentbench.yaml:2:21: 'defaults.repeats' must be a whole number, not the text '010'
  2 | defaults: {repeats: 010}
    |                     ^
""",
    ),
    "infinite": (
        V + "defaults: {sandbox: {cpus: .inf}}\n",
        """
agentbench.yaml:2:28: '.inf' is not a usable number. Try: quotes around it, if it is text
  2 | defaults: {sandbox: {cpus: .inf}}
    |                            ^
""",
    ),
    "own-tag": (
        "variants: !v {a: {agent: noop}}\n",
        """
agentbench.yaml:1:11: unknown tag '!v'
  1 | variants: !v {a: {agent: noop}}
    |           ^
""",
    ),
    "unquoted-template": (
        "variants:\n  a: {agent: noop, model: {{ model }}}\n",
        """
agentbench.yaml:2:27: to YAML, '{{' begins a mapping and no text. Try: quotes around it
  2 |   a: {agent: noop, model: {{ model }}}
    |                           ^
""",
    ),
    "tab": (
        "variants:\n\ta: {agent: noop}\n",
        """
agentbench.yaml:2:1: not valid YAML: a tab cannot indent YAML. Try: spaces
  2 | \ta: {agent: noop}
    | ^
""",
    ),
    "decomposed": (
        "variants: {cafe\u0301: {agent: noop}}\n",
        """
agentbench.yaml:1:12: the variant name 'cafe\u0301' is not in Unicode's composed form (NFC)
  1 | variants: {cafe\u0301: {agent: noop}}
    |            ^
""",
    ),
    "zero-width": (
        "variants: {a\u200bb: {agent: noop}}\nbaseline: ab\n",
        """
agentbench.yaml:1:12: the variant name 'a\\u200bb' holds a character that cannot be printed
  1 | variants: {a\ufffdb: {agent: noop}}
    |            ^
agentbench.yaml:2:11: unknown variant 'ab'; did you mean 'a\\u200bb'?
  2 | baseline: ab
    |           ^
""",
    ),
    "overlay-out": (
        "variants: {a: {agent: noop, overlay: ~/x}}\n",
        """
agentbench.yaml:1:38: the overlay '~/x' does not exist
  1 | variants: {a: {agent: noop, overlay: ~/x}}
    |                                      ^
""",
    ),
    "overlay-nul": (
        'variants: {a: {agent: noop, overlay: "a\\0b"}}\n',
        """
agentbench.yaml:1:38: the overlay 'a\\x00b' holds a NUL character
  1 | variants: {a: {agent: noop, overlay: "a\\0b"}}
    |                                      ^
""",
    ),
    "base-with-nul": (
        V + 'extends: "a\\0b"\n',
        """
agentbench.yaml:2:10: unknown experiment 'a\\x00b'; known: none, experiments/ holds no YAML file
  2 | extends: "a\\0b"
    |          ^
""",
    ),
    "crlf": (
        "variants:\r\n  a: {agent: noop,\r\n    agnet: x}\r\n",
        """
agentbench.yaml:3:5: unknown key 'agnet'; did you mean 'agent'?
  3 |     agnet: x}
    |     ^
""",
    ),
    "control-environment": (
        'variants:\n  a: {agent: noop, env: {"A\\0": x, B: "\\0", \'\': x, C=D: x}}\n',
        """
agentbench.yaml:2:26: 'A\\x00' is not a name for an environment variable
  2 |   a: {agent: noop, env: {"A\\0": x, B: "\\0", '': x, C=D: x}}
    |                          ^
agentbench.yaml:2:36: 'B' holds a NUL character
  2 |   a: {agent: noop, env: {"A\\0": x, B: "\\0", '': x, C=D: x}}
    |                                    ^
agentbench.yaml:2:45: '' is not a name for an environment variable
  2 |   a: {agent: noop, env: {"A\\0": x, B: "\\0", '': x, C=D: x}}
    |                                             ^
agentbench.yaml:2:52: 'C=D' is not a name for an environment variable
  2 |   a: {agent: noop, env: {"A\\0": x, B: "\\0", '': x, C=D: x}}
    |                                                    ^
""",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_message(tmp_path: Path, name: str) -> None:
    """Each odd file that is wrong has its whole message, with its places."""
    source, expected = CASES[name]
    (tmp_path / "agentbench.yaml").write_bytes(
        source if isinstance(source, bytes) else source.encode()
    )
    with pytest.raises(DefinitionError) as caught:
        load_experiment(tmp_path, None)
    assert str(caught.value) == expected.strip("\n")


def test_odd_but_right(tmp_path: Path) -> None:
    """Words that meant something once are names; merged variants are two, in file order."""
    (tmp_path / "agentbench.yaml").write_bytes(
        "\ufeffvariants:\r\n  no: &n {agent: noop, model: 2024-01-02, repeats: 0x2}\r\n"
        "  on: {<<: *n, model: 日本}\r\n  '1': *n\r\n  012: {extends: on}\r\n"
        "baseline: no\r\n".encode()
    )
    experiment = load_experiment(tmp_path, None)
    assert [(one.name, one.model, dict(one.layer)) for one in experiment.variants] == [
        ("no", "2024-01-02", {"repeats": 2}),
        ("on", "日本", {"repeats": 2}),
        ("1", "2024-01-02", {"repeats": 2}),
        ("012", "日本", {"repeats": 2}),
    ]
    assert experiment.baseline == "no"


NO_FILES: dict[str, tuple[Callable[[Path], object], str]] = {
    "pipe": (os.mkfifo, "experiment: there is no file './agentbench.yaml'"),
    "device": (
        lambda place: place.symlink_to("/dev/zero"),
        "experiment: there is no file './agentbench.yaml'",
    ),
    "unreadable": (
        lambda place: place.symlink_to("/proc/self/mem"),
        "agentbench.yaml: cannot be read: Input/output error",
    ),
}
TRIED = """
import sys
from pathlib import Path
from pytest_agentbench.errors import AgentbenchError
from pytest_agentbench.taskfiles.experiment import load_experiment

try:
    load_experiment(Path(sys.argv[1]), "./agentbench.yaml")
except AgentbenchError as error:
    print(error)
"""


@pytest.mark.parametrize("name", NO_FILES)
def test_experiment_file_that_is_none(tmp_path: Path, name: str) -> None:
    """Whatever stands where the named file should, it is told at once."""
    make, expected = NO_FILES[name]
    make(tmp_path / "agentbench.yaml")
    told = subprocess.run(
        [sys.executable, "-c", TRIED, str(tmp_path)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (told.stdout.replace(f"{tmp_path}/", ""), told.stderr) == (f"{expected}\n", "")
