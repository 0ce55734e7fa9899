"""What experiment files say that is wrong, each with its whole message."""

# ruff: noqa: E501 - messages as they are

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from pytest_agentbench.errors import DefinitionError
from pytest_agentbench.matrix.prompts import template_fault
from pytest_agentbench.model.task import JsonValue
from pytest_agentbench.pytest_integration.compat import marks_fault
from pytest_agentbench.taskfiles.experiment import load_experiment


def takes_all_but_bad(
    agent: str, options: Mapping[str, JsonValue]
) -> list[tuple[tuple[str | int, ...], str]]:
    """An agent that takes any options but ``bad``."""
    del agent
    return [((key,), "'bad' is not good") for key in options if key == "bad"]


CASES: dict[str, tuple[dict[str, str | bytes], str]] = {
    "overlay": (
        {
            "agentbench.yaml": """
variants:
  gone: {agent: noop, overlay: overlays/skil}
  file: {agent: noop, overlay: overlays/note.txt}
  blank: {agent: noop, overlay: " "}
  all: {agent: noop, overlay: .}
  type: {agent: noop, overlay: [a]}
""",
            "overlays/skill/SKILL.md": "x",
            "overlays/note.txt": "x",
        },
        """
agentbench.yaml:3:32: the overlay 'overlays/skil' does not exist; did you mean 'skill'?
  3 |   gone: {agent: noop, overlay: overlays/skil}
    |                                ^
agentbench.yaml:4:32: the overlay 'overlays/note.txt' is a file, not a directory
  4 |   file: {agent: noop, overlay: overlays/note.txt}
    |                                ^
agentbench.yaml:5:33: the overlay ' ' is empty
  5 |   blank: {agent: noop, overlay: " "}
    |                                 ^
agentbench.yaml:6:31: the overlay '.' holds the experiment file itself
  6 |   all: {agent: noop, overlay: .}
    |                               ^
agentbench.yaml:7:32: 'variants.type.overlay' must be text, not a list
  7 |   type: {agent: noop, overlay: [a]}
    |                                ^
""",
    ),
    "prompt": (
        {
            "agentbench.yaml": """
variants:
  both: {agent: noop, prompt: {template: x, file: prompt.md}}
  none: {agent: noop, prompt: {}}
  text: {agent: noop, prompt: "Do it."}
  typo: {agent: noop, prompt: {templat: x}}
  empty: {agent: noop, prompt: {template: " "}}
  gone: {agent: noop, prompt: {file: promt.md}}
  bytes: {agent: noop, prompt: {file: latin.md}}
  directory: {agent: noop, prompt: {file: prompts}}
""",
            "prompt.md": "x",
            "latin.md": b"\xe9",
            "prompts/a.md": "",
        },
        """
agentbench.yaml:3:23: a prompt has one of: file, template
  3 |   both: {agent: noop, prompt: {template: x, file: prompt.md}}
    |                       ^
agentbench.yaml:4:23: a prompt has one of: file, template
  4 |   none: {agent: noop, prompt: {}}
    |                       ^
agentbench.yaml:5:31: 'variants.text.prompt' must be a mapping, not text
  5 |   text: {agent: noop, prompt: "Do it."}
    |                               ^
agentbench.yaml:6:32: unknown key 'templat'; did you mean 'template'?
  6 |   typo: {agent: noop, prompt: {templat: x}}
    |                                ^
agentbench.yaml:7:43: the prompt template is empty
  7 |   empty: {agent: noop, prompt: {template: " "}}
    |                                           ^
agentbench.yaml:8:38: the prompt file 'promt.md' does not exist; did you mean 'prompt.md'?
  8 |   gone: {agent: noop, prompt: {file: promt.md}}
    |                                      ^
agentbench.yaml:9:39: the prompt file 'latin.md' cannot be read as UTF-8 text
  9 |   bytes: {agent: noop, prompt: {file: latin.md}}
    |                                       ^
agentbench.yaml:10:43: the prompt file 'prompts' is a directory, not a file
  10 |   directory: {agent: noop, prompt: {file: prompts}}
     |                                           ^
""",
    ),
    "templates": (
        {
            "agentbench.yaml": """
variants:
  syntax: {agent: noop, prompt: {template: "{{ task.prompt"}}
  name: {agent: noop, prompt: {template: "{{ tsk.prompt }}"}}
  attribute: {agent: noop, prompt: {template: "{{ task.promt }}"}}
  filter: {agent: noop, prompt: {template: "{{ task.prompt | upperr }}"}}
  chance: {agent: noop, prompt: {template: "{{ task.tags | random }}"}}
  include: {agent: noop, prompt: {template: "{% include 'x' %}"}}
  literal:
    agent: noop
    prompt:
      template: |
        Do this:

        {{ task.prompt }}
          {{ variant.nam }}
  folded:
    agent: noop
    prompt:
      template: >
        Do this:

        {{ variant['secret'] }}
  file: {agent: noop, prompt: {file: wrong.md}}
""",
            "wrong.md": "Do this:\r\n  {% if task %}\r\n{{ task.prompt }}\r\n  {% endfor %}\r\n",
        },
        """
agentbench.yaml:3:44: unexpected end of template, expected 'end of print statement'
  3 |   syntax: {agent: noop, prompt: {template: "{{ task.prompt"}}
    |                                            ^
agentbench.yaml:4:42: unknown name 'tsk'; did you mean 'task'?
  4 |   name: {agent: noop, prompt: {template: "{{ tsk.prompt }}"}}
    |                                          ^
agentbench.yaml:5:47: unknown name 'task.promt'; did you mean 'prompt'?
  5 |   attribute: {agent: noop, prompt: {template: "{{ task.promt }}"}}
    |                                               ^
agentbench.yaml:6:44: no filter named 'upperr'
  6 |   filter: {agent: noop, prompt: {template: "{{ task.prompt | upperr }}"}}
    |                                            ^
agentbench.yaml:7:44: no filter named 'random'
  7 |   chance: {agent: noop, prompt: {template: "{{ task.tags | random }}"}}
    |                                            ^
agentbench.yaml:8:45: a prompt template stands alone: it can take in no other one
  8 |   include: {agent: noop, prompt: {template: "{% include 'x' %}"}}
    |                                             ^
agentbench.yaml:16:11: unknown name 'variant.nam'; did you mean 'name'?
  16 |           {{ variant.nam }}
     |           ^
agentbench.yaml:20:17: unknown name 'variant.secret'; known: agent, model, name (line 2 of the template)
  20 |       template: >
     |                 ^
wrong.md:4:3: encountered unknown tag 'endfor'
  4 |   {% endfor %}
    |   ^
""",
    ),
    "expect-and-tools": (
        {
            "agentbench.yaml": """
variants:
  a:
    agent: noop
    expect: {skills: review, tools: [shell, "", shell], skill: x}
    tools: {allow: [shell, edit], deny: [web, shell, web]}
  b: {agent: noop, expect: [review], tools: {allow: [1]}}
""",
        },
        """
agentbench.yaml:5:45: the tool '' is empty
  5 |     expect: {skills: review, tools: [shell, "", shell], skill: x}
    |                                             ^
agentbench.yaml:5:49: the tool 'shell' is there twice
  5 |     expect: {skills: review, tools: [shell, "", shell], skill: x}
    |                                                 ^
agentbench.yaml:5:57: unknown key 'skill'; did you mean 'skills'?
  5 |     expect: {skills: review, tools: [shell, "", shell], skill: x}
    |                                                         ^
agentbench.yaml:6:47: the tool 'shell' is both allowed and denied
  6 |     tools: {allow: [shell, edit], deny: [web, shell, web]}
    |                                               ^
agentbench.yaml:6:54: the tool 'web' is there twice
  6 |     tools: {allow: [shell, edit], deny: [web, shell, web]}
    |                                                      ^
agentbench.yaml:7:28: 'variants.b.expect' must be a mapping, not a list
  7 |   b: {agent: noop, expect: [review], tools: {allow: [1]}}
    |                            ^
agentbench.yaml:7:54: an item of 'allow' must be text, not a number. Try: quotes around it
  7 |   b: {agent: noop, expect: [review], tools: {allow: [1]}}
    |                                                      ^
""",
    ),
    "baseline": (
        {
            "agentbench.yaml": "variants: {codex: {agent: noop}}\nbaseline: codx\n",
        },
        """
agentbench.yaml:2:11: unknown variant 'codx'; did you mean 'codex'?
  2 | baseline: codx
    |           ^
""",
    ),
    "baseline-without-variants": (
        {
            "agentbench.yaml": "baseline: codex\n",
        },
        """
agentbench.yaml:1:11: unknown variant 'codex'; known: reference
  1 | baseline: codex
    |           ^
""",
    ),
    "suites": (
        {
            "agentbench.yaml": """
variants: {a: {agent: noop}}
suites:
  all: {}
  "a b": {}
  smoke: {select: {marks: smoke and, path: x}, gates: {}}
  empty: {select: {}}
  blank: {select: {marks: " ", paths: [], ids: [""]}}
  far: {select: {paths: [../x.yaml, /y.yaml]}}
  text: {select: smoke}
  gate: {gate: 0.9}
""",
        },
        """
agentbench.yaml:4:3: the suite name 'all' means all tasks
  4 |   all: {}
    |   ^
agentbench.yaml:5:3: the suite name 'a b' holds a blank
  5 |   "a b": {}
    |   ^
agentbench.yaml:6:27: 'smoke and' is no expression of marks: expected not OR left parenthesis OR identifier; got end of input
  6 |   smoke: {select: {marks: smoke and, path: x}, gates: {}}
    |                           ^
agentbench.yaml:6:38: unknown key 'path'; did you mean 'paths'?
  6 |   smoke: {select: {marks: smoke and, path: x}, gates: {}}
    |                                      ^
agentbench.yaml:6:48: unknown key 'gates'; did you mean 'gate'?
  6 |   smoke: {select: {marks: smoke and, path: x}, gates: {}}
    |                                                ^
agentbench.yaml:7:19: 'select' names no condition; without it, a suite is all tasks
  7 |   empty: {select: {}}
    |                   ^
agentbench.yaml:8:27: ' ' is empty
  8 |   blank: {select: {marks: " ", paths: [], ids: [""]}}
    |                           ^
agentbench.yaml:8:39: 'paths' names no pattern
  8 |   blank: {select: {marks: " ", paths: [], ids: [""]}}
    |                                       ^
agentbench.yaml:8:49: the pattern '' is empty
  8 |   blank: {select: {marks: " ", paths: [], ids: [""]}}
    |                                                 ^
agentbench.yaml:9:26: the pattern '../x.yaml' leaves the directory
  9 |   far: {select: {paths: [../x.yaml, /y.yaml]}}
    |                          ^
agentbench.yaml:9:37: the pattern '/y.yaml' is absolute
  9 |   far: {select: {paths: [../x.yaml, /y.yaml]}}
    |                                     ^
agentbench.yaml:10:18: 'suites.text.select' must be a mapping, not text
  10 |   text: {select: smoke}
     |                  ^
agentbench.yaml:11:16: 'suites.gate.gate' must be a mapping, not a number
  11 |   gate: {gate: 0.9}
     |                ^
""",
    ),
    "slots": (
        {
            "agentbench.yaml": "variants: {a: {agent: noop}}\nslots: {'g p u': 1, gpu: 0, tpu: many}\n",
        },
        """
agentbench.yaml:2:9: the slot name 'g p u' holds a blank
  2 | slots: {'g p u': 1, gpu: 0, tpu: many}
    |         ^
agentbench.yaml:2:26: 'slots.gpu' must be at least 1, not 0
  2 | slots: {'g p u': 1, gpu: 0, tpu: many}
    |                          ^
agentbench.yaml:2:34: 'slots.tpu' must be a whole number, not text
  2 | slots: {'g p u': 1, gpu: 0, tpu: many}
    |                                  ^
""",
    ),
    "later": (
        {
            "agentbench.yaml": """variants: {a: {agent: noop, retries: 1, mcp_servers: {}}}
defaults: {retries: 1, model: x}
budget: 5
gate: {}
""",
        },
        """
agentbench.yaml:1:29: 'retries' is not supported yet
  1 | variants: {a: {agent: noop, retries: 1, mcp_servers: {}}}
    |                             ^
agentbench.yaml:1:41: 'mcp_servers' is not supported yet
  1 | variants: {a: {agent: noop, retries: 1, mcp_servers: {}}}
    |                                         ^
agentbench.yaml:2:12: 'retries' is not supported yet
  2 | defaults: {retries: 1, model: x}
    |            ^
agentbench.yaml:2:24: 'model' is not supported yet
  2 | defaults: {retries: 1, model: x}
    |                        ^
agentbench.yaml:3:1: 'budget' is not supported yet
  3 | budget: 5
    | ^
agentbench.yaml:4:1: 'gate' is not supported yet
  4 | gate: {}
    | ^
""",
    ),
    "base-gone": (
        {
            "agentbench.yaml": "extends: bse.yaml\nvariants: {a: {agent: noop}}\n",
            "base.yaml": "variants: {b: {agent: noop}}\n",
        },
        """
agentbench.yaml:1:10: the experiment file 'bse.yaml' does not exist; did you mean 'base.yaml'?
  1 | extends: bse.yaml
    |          ^
""",
    ),
    "base-name-unknown": (
        {
            "agentbench.yaml": "extends: bse\n",
            "experiments/base.yaml": "variants: {b: {agent: noop}}\n",
        },
        """
agentbench.yaml:1:10: unknown experiment 'bse'; did you mean 'base'? known: base
  1 | extends: bse
    |          ^
""",
    ),
    "base-empty-name": (
        {
            "agentbench.yaml": "extends: ''\nvariants: {a: {agent: noop}}\n",
        },
        """
agentbench.yaml:1:10: the experiment file '' is empty
  1 | extends: ''
    |          ^
""",
    ),
    "base-is-directory": (
        {
            "agentbench.yaml": "extends: ./experiments\nvariants: {a: {agent: noop}}\n",
            "experiments/x.yaml": "",
        },
        """
agentbench.yaml:1:10: the experiment file './experiments' is a directory, not a file
  1 | extends: ./experiments
    |          ^
""",
    ),
    "files-in-a-circle": (
        {
            "agentbench.yaml": "extends: one\nvariants: {a: {agent: noop}}\n",
            "experiments/one.yaml": "extends: two.yaml\n",
            "experiments/two.yaml": "extends: ../agentbench.yaml\n",
        },
        """
experiments/two.yaml:1:10: 'extends' goes round in a circle: agentbench.yaml -> experiments/one.yaml -> experiments/two.yaml -> agentbench.yaml
  1 | extends: ../agentbench.yaml
    |          ^
""",
    ),
    "file-of-itself": (
        {
            "agentbench.yaml": "extends: agentbench.yaml\nvariants: {a: {agent: noop}}\n",
        },
        """
agentbench.yaml:1:10: 'extends' goes round in a circle: agentbench.yaml -> agentbench.yaml
  1 | extends: agentbench.yaml
    |          ^
""",
    ),
    "wrong-base": (
        {
            "agentbench.yaml": """extends: base
variants:
  mine: {extends: theirs, options: {good: 1}}
  lost: {extends: thers}
""",
            "experiments/base.yaml": """variants:
  theirs: {agent: noop, options: {bad: 1}}
  x: {agent: nop}
defaults: {limits: {time: soon}}
""",
        },
        """
agentbench.yaml:4:19: unknown variant 'thers'; did you mean 'theirs'?
  4 |   lost: {extends: thers}
    |                   ^
experiments/base.yaml:2:40: 'bad' is not good
  2 |   theirs: {agent: noop, options: {bad: 1}}
    |                                        ^
experiments/base.yaml:3:14: unknown agent 'nop'; did you mean 'noop'?
  3 |   x: {agent: nop}
    |              ^
experiments/base.yaml:4:27: 'defaults.limits.time': 'soon' is not a time; write it like 10m, 90s, 1h30m or 500ms
  4 | defaults: {limits: {time: soon}}
    |                           ^
""",
    ),
    "broken-base": (
        {
            "agentbench.yaml": "extends: base\nvariants: {a: {agent: noop}}\n",
            "experiments/base.yaml": "- a\n",
        },
        """
experiments/base.yaml:1:1: an experiment file is a mapping, not a list
  1 | - a
    | ^
""",
    ),
    "circle-across-files": (
        {
            "agentbench.yaml": "extends: base\nvariants:\n  a: {extends: b}\n",
            "experiments/base.yaml": "variants:\n  a: {agent: noop}\n  b: {extends: a}\n",
        },
        """
agentbench.yaml:3:16: 'extends' goes round in a circle: a -> b -> a
  3 |   a: {extends: b}
    |                ^
experiments/base.yaml:3:16: 'extends' goes round in a circle: b -> a -> b
  3 |   b: {extends: a}
    |                ^
""",
    ),
    "own-name-at-the-bottom": (
        {
            "agentbench.yaml": "extends: base\nvariants:\n  c: {extends: c}\n",
            "experiments/base.yaml": "variants:\n  a: {agent: noop}\n",
        },
        """
agentbench.yaml:3:16: 'extends' goes round in a circle: c -> c
  3 |   c: {extends: c}
    |                ^
""",
    ),
    "tool-in-both-of-one-variant-only": (
        {
            "agentbench.yaml": """variants:
  a: {agent: noop, tools: {allow: [x]}}
  b: {extends: a, tools: {deny: [x]}}
  c: {extends: d}
""",
        },
        """
agentbench.yaml:4:16: unknown variant 'd'; known: a, b
  4 |   c: {extends: d}
    |                ^
""",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_each_mistake_has_its_message(tmp_path: Path, name: str) -> None:
    """All problems come in one message, each with the path, line and column of its own file."""
    files, expected = CASES[name]
    for file, text in files.items():
        path = tmp_path / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(DefinitionError) as caught:
        load_experiment(
            tmp_path,
            None,
            validate_options=takes_all_but_bad,
            check_template=template_fault,
            check_marks=marks_fault,
        )
    assert str(caught.value) == expected.strip("\n")
