"""Whole messages for mistakes in what a task asks for: workspace, oracles, controls, selection."""

# ruff: noqa: E501 - messages stand here as they are shown

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_agentbench.errors import DefinitionError
from pytest_agentbench.taskfiles.loader import load_task_file

OK = "prompt: p\noracles: [{run: x}]\n"

CASES: dict[str, tuple[str, str]] = {
    "workspace-git": (
        OK + "workspace: {git: {url: ../nosuch, ref: 'a..b'}}\n",
        """
tasks/t.yaml:3:24: there is no repository at '../nosuch'
  3 | workspace: {git: {url: ../nosuch, ref: 'a..b'}}
    |                        ^
tasks/t.yaml:3:40: 'a..b' is no branch, tag or commit
  3 | workspace: {git: {url: ../nosuch, ref: 'a..b'}}
    |                                        ^
""",
    ),
    "workspace-git-ref": (
        OK + "workspace: {git: {url: 'https://example.org/x.git', ref: -x}}\n",
        """
tasks/t.yaml:3:58: '-x' is no branch, tag or commit
  3 | workspace: {git: {url: 'https://example.org/x.git', ref: -x}}
    |                                                          ^
""",
    ),
    "workspace-git-keys": (
        OK + "workspace: {git: {path: x}}\n",
        """
tasks/t.yaml:3:19: unknown key 'path'; known: ref, url
  3 | workspace: {git: {path: x}}
    |                   ^
""",
    ),
    "workspace-git-option": (
        OK + "workspace: {git: '--upload-pack=x'}\n",
        """
tasks/t.yaml:3:18: '--upload-pack=x' is no repository: a path or a URL
  3 | workspace: {git: '--upload-pack=x'}
    |                  ^
""",
    ),
    "workspace-patch": (
        OK + "workspace: {patch: nosuch.patch}\n",
        """
tasks/t.yaml:3:20: 'nosuch.patch' does not exist
  3 | workspace: {patch: nosuch.patch}
    |                    ^
""",
    ),
    "workspace-setup": (
        OK + "workspace: {setup: make}\n",
        """
tasks/t.yaml:3:20: 'workspace.setup' must be a list, not text. Try: brackets around it
  3 | workspace: {setup: make}
    |                    ^
""",
    ),
    "workspace-setup-words": (
        OK + "workspace: {setup: ['', [], [make, 1], ' ']}\n",
        """
tasks/t.yaml:3:21: an item of 'setup': the command is empty
  3 | workspace: {setup: ['', [], [make, 1], ' ']}
    |                     ^
tasks/t.yaml:3:25: an item of 'setup' must be a command: text for the shell, or a list of texts
  3 | workspace: {setup: ['', [], [make, 1], ' ']}
    |                         ^
tasks/t.yaml:3:29: an item of 'setup' must be a list of texts; 1 is none
  3 | workspace: {setup: ['', [], [make, 1], ' ']}
    |                             ^
tasks/t.yaml:3:40: an item of 'setup': the command is empty
  3 | workspace: {setup: ['', [], [make, 1], ' ']}
    |                                        ^
""",
    ),
    "workspace-protect": (
        OK + "workspace: {protect: [/etc/passwd, '../x', 'tests/**']}\n",
        """
tasks/t.yaml:3:23: the pattern '/etc/passwd' is absolute. Try: a pattern of paths in the workspace, such as tests/**
  3 | workspace: {protect: [/etc/passwd, '../x', 'tests/**']}
    |                       ^
tasks/t.yaml:3:36: the pattern '../x' leaves the directory. Try: a pattern of paths in the workspace, such as tests/**
  3 | workspace: {protect: [/etc/passwd, '../x', 'tests/**']}
    |                                    ^
""",
    ),
    "limits-workspace": (
        OK + "limits: {workspace: big}\n",
        """
tasks/t.yaml:3:21: 'limits.workspace': 'big' is not a size; write it like 1g, 500m or 64k
  3 | limits: {workspace: big}
    |                     ^
""",
    ),
    "checks-kinds": (
        OK + "checks: [{pytest: x}, {rn: x}, {}, {run: x, files: {a: {exists: true}}}]\n",
        """
tasks/t.yaml:3:11: 'pytest' is an oracle and no check: the agent must not see its files
  3 | checks: [{pytest: x}, {rn: x}, {}, {run: x, files: {a: {exists: true}}}]
    |           ^
tasks/t.yaml:3:24: unknown check or key 'rn'; did you mean 'run'?
  3 | checks: [{pytest: x}, {rn: x}, {}, {run: x, files: {a: {exists: true}}}]
    |                        ^
tasks/t.yaml:3:32: a check needs one of: diff, files, run
  3 | checks: [{pytest: x}, {rn: x}, {}, {run: x, files: {a: {exists: true}}}]
    |                                ^
tasks/t.yaml:3:45: one entry, one kind of check: 'run' and 'files'
  3 | checks: [{pytest: x}, {rn: x}, {}, {run: x, files: {a: {exists: true}}}]
    |                                             ^
""",
    ),
    "checks-keys": (
        OK + "checks: [{run: x, weight: 2, required: false, assets: a, pass_at: 1}]\n",
        """
tasks/t.yaml:3:19: a check has no 'weight': the score is the oracles'
  3 | checks: [{run: x, weight: 2, required: false, assets: a, pass_at: 1}]
    |                   ^
tasks/t.yaml:3:30: a check is required, unless it is 'advisory'
  3 | checks: [{run: x, weight: 2, required: false, assets: a, pass_at: 1}]
    |                              ^
tasks/t.yaml:3:47: a check has no 'assets': it is visible, so its files belong into the workspace
  3 | checks: [{run: x, weight: 2, required: false, assets: a, pass_at: 1}]
    |                                               ^
tasks/t.yaml:3:58: a check has no 'pass_at': it passes or it does not
  3 | checks: [{run: x, weight: 2, required: false, assets: a, pass_at: 1}]
    |                                                          ^
""",
    ),
    "checks-not-alone": (
        ("prompt: p\nchecks: [{run: x}]\n"),
        """
tasks/t.yaml:1:1: a task without oracles. Try: add oracles: what the agent left is judged by them
  1 | prompt: p
    | ^
""",
    ),
    "checks-name-taken": (
        ("prompt: p\nchecks: [{run: x, name: a}]\noracles: [{run: y, name: a}]\n"),
        """
tasks/t.yaml:3:26: duplicate name 'a'; the first is on line 2
  3 | oracles: [{run: y, name: a}]
    |                          ^
""",
    ),
    "needs-unknown": (
        ("prompt: p\noracles: [{run: x, name: hidden}, {run: y, needs: [hiden, z]}]\n"),
        """
tasks/t.yaml:2:52: unknown oracle 'hiden'; did you mean 'hidden'?
  2 | oracles: [{run: x, name: hidden}, {run: y, needs: [hiden, z]}]
    |                                                    ^
tasks/t.yaml:2:59: unknown oracle 'z'; known: hidden
  2 | oracles: [{run: x, name: hidden}, {run: y, needs: [hiden, z]}]
    |                                                           ^
""",
    ),
    "needs-later": (
        ("prompt: p\noracles: [{run: x, needs: b}, {run: y, name: b, needs: b}]\n"),
        """
tasks/t.yaml:2:27: 'b' does not come before: what is needed is judged first
  2 | oracles: [{run: x, needs: b}, {run: y, name: b, needs: b}]
    |                           ^
tasks/t.yaml:2:56: 'b' does not come before: what is needed is judged first
  2 | oracles: [{run: x, needs: b}, {run: y, name: b, needs: b}]
    |                                                        ^
""",
    ),
    "needs-first": (
        ("prompt: p\noracles: [{run: x, needs: a}]\n"),
        """
tasks/t.yaml:2:27: unknown oracle 'a': none comes before
  2 | oracles: [{run: x, needs: a}]
    |                           ^
""",
    ),
    "advisory-required": (
        ("prompt: p\noracles: [{run: x, advisory: true, required: true}, {run: y}]\n"),
        """
tasks/t.yaml:2:36: 'advisory' and 'required' exclude each other
  2 | oracles: [{run: x, advisory: true, required: true}, {run: y}]
    |                                    ^
""",
    ),
    "advisory-all": (
        ("prompt: p\noracles: [{run: x, advisory: true}]\n"),
        """
tasks/t.yaml:2:1: every oracle is advisory: nothing could fail
  2 | oracles: [{run: x, advisory: true}]
    | ^
""",
    ),
    "advisory-threshold": (
        ("prompt: p\nthreshold: 0.5\noracles: [{run: x, advisory: true}]\n"),
        """
tasks/t.yaml:3:1: every oracle is advisory: nothing could fail
  3 | oracles: [{run: x, advisory: true}]
    | ^
""",
    ),
    "pass-at": (
        ("prompt: p\noracles: [{run: x, pass_at: 0}, {run: y, pass_at: 1.5}]\n"),
        """
tasks/t.yaml:2:29: 'pass_at' must be above 0, not 0
  2 | oracles: [{run: x, pass_at: 0}, {run: y, pass_at: 1.5}]
    |                             ^
tasks/t.yaml:2:51: 'pass_at' must be at most 1, not 1.5
  2 | oracles: [{run: x, pass_at: 0}, {run: y, pass_at: 1.5}]
    |                                                   ^
""",
    ),
    "oracle-network": (
        ("prompt: p\noracles: [{run: x, network: true}, {run: y, network: on}]\n"),
        """
tasks/t.yaml:2:29: 'network' must be none or full, not a truth value
  2 | oracles: [{run: x, network: true}, {run: y, network: on}]
    |                             ^
tasks/t.yaml:2:54: unknown network 'on'; known: full, none
  2 | oracles: [{run: x, network: true}, {run: y, network: on}]
    |                                                      ^
""",
    ),
    "oracle-reveal": (
        ("prompt: p\nreveal: all\noracles: [{run: x, reveal: ful}]\n"),
        """
tasks/t.yaml:2:9: unknown reveal 'all'; known: full, reasons, verdict
  2 | reveal: all
    |         ^
tasks/t.yaml:3:28: unknown reveal 'ful'; did you mean 'full'?
  3 | oracles: [{run: x, reveal: ful}]
    |                            ^
""",
    ),
    "control-empty": (
        OK + "controls: [{}, {files: {a: b}}, {patch: a, run: b, fails: run}]\n",
        """
tasks/t.yaml:3:12: a control has one of: copy, files, patch, run, or a 'final'
  3 | controls: [{}, {files: {a: b}}, {patch: a, run: b, fails: run}]
    |            ^
tasks/t.yaml:3:12: a control needs 'fails': the oracle that must refuse it
  3 | controls: [{}, {files: {a: b}}, {patch: a, run: b, fails: run}]
    |            ^
tasks/t.yaml:3:16: a control needs 'fails': the oracle that must refuse it
  3 | controls: [{}, {files: {a: b}}, {patch: a, run: b, fails: run}]
    |                ^
tasks/t.yaml:3:33: a control has one of: copy, files, patch, run, or a 'final'
  3 | controls: [{}, {files: {a: b}}, {patch: a, run: b, fails: run}]
    |                                 ^
""",
    ),
    "control-fails": (
        OK + "controls: [{files: {a: b}, fails: rnu}, {files: {a: b}, fails: x}]\n",
        """
tasks/t.yaml:3:35: unknown oracle 'rnu'; did you mean 'run'?
  3 | controls: [{files: {a: b}, fails: rnu}, {files: {a: b}, fails: x}]
    |                                   ^
tasks/t.yaml:3:64: unknown oracle 'x'; known: run
  3 | controls: [{files: {a: b}, fails: rnu}, {files: {a: b}, fails: x}]
    |                                                                ^
""",
    ),
    "control-names": (
        OK
        + "controls: [{name: a, files: {a: b}, fails: run}, {name: a, files: {a: b}, fails: run}, {name: 'a b', files: {a: b}, fails: run}]\n",
        """
tasks/t.yaml:3:57: duplicate name 'a'; the first is on line 3
  3 | …ls: [{name: a, files: {a: b}, fails: run}, {name: a, files: {a: b}, fails: run}, {name: 'a b', files…
    |                                                    ^
tasks/t.yaml:3:95: the name 'a b' holds a blank
  3 | …{a: b}, fails: run}, {name: a, files: {a: b}, fails: run}, {name: 'a b', files: {a: b}, fails: run}]
    |                                                                    ^
""",
    ),
    "control-paths": (
        OK + "controls: [{copy: ../x, fails: run}, {patch: nosuch, fails: run}]\n",
        """
tasks/t.yaml:3:19: '../x' leaves the task's directory
  3 | controls: [{copy: ../x, fails: run}, {patch: nosuch, fails: run}]
    |                   ^
tasks/t.yaml:3:46: 'nosuch' does not exist
  3 | controls: [{copy: ../x, fails: run}, {patch: nosuch, fails: run}]
    |                                              ^
""",
    ),
    "skip-empty": (
        OK + "skip: ''\n",
        """
tasks/t.yaml:3:7: a skip needs a reason, or conditions below 'unless'
  3 | skip: ''
    |       ^
""",
    ),
    "skip-nothing": (
        OK + "skip: {unless: {}}\n",
        """
tasks/t.yaml:3:8: 'unless' names no condition
  3 | skip: {unless: {}}
    |        ^
""",
    ),
    "skip-keys": (
        OK + "skip: {if: x, unless: {os: linux}}\n",
        """
tasks/t.yaml:3:8: unknown key 'if'; known: reason, unless
  3 | skip: {if: x, unless: {os: linux}}
    |        ^
tasks/t.yaml:3:24: unknown key 'os'; known: arch, command, env, platform
  3 | skip: {if: x, unless: {os: linux}}
    |                        ^
""",
    ),
    "skip-platforms": (
        OK + "skip: {unless: {platform: [Linux, windows], arch: 64}}\n",
        """
tasks/t.yaml:3:28: platform 'Linux' is no value of sys.platform; did you mean 'linux'?
  3 | skip: {unless: {platform: [Linux, windows], arch: 64}}
    |                            ^
tasks/t.yaml:3:35: platform 'windows' is no value of sys.platform; did you mean 'win32'?
  3 | skip: {unless: {platform: [Linux, windows], arch: 64}}
    |                                   ^
tasks/t.yaml:3:51: 'skip.unless.arch' must be text or a list of texts, not a number
  3 | skip: {unless: {platform: [Linux, windows], arch: 64}}
    |                                                   ^
""",
    ),
    "skip-true": (
        OK + "skip: true\n",
        """
tasks/t.yaml:3:7: 'skip' must be a reason or a mapping, not a truth value
  3 | skip: true
    |       ^
""",
    ),
    "xfail-none": (
        OK + "xfail: {variants: []}\n",
        """
tasks/t.yaml:3:9: 'variants' names no variant
  3 | xfail: {variants: []}
    |         ^
""",
    ),
    "xfail-strict": (
        OK + "xfail: {strict: yes}\n",
        """
tasks/t.yaml:3:17: 'xfail.strict' must be true or false, not text. Try: true
  3 | xfail: {strict: yes}
    |                 ^
""",
    ),
    "slots": (
        OK + "slots: {'a b': 1, gpu: 0, cpu: 1.5}\n",
        """
tasks/t.yaml:3:9: the slot name 'a b' holds a blank
  3 | slots: {'a b': 1, gpu: 0, cpu: 1.5}
    |         ^
tasks/t.yaml:3:24: 'slots.gpu' must be at least 1, not 0
  3 | slots: {'a b': 1, gpu: 0, cpu: 1.5}
    |                        ^
tasks/t.yaml:3:32: 'slots.cpu' must be a whole number, not 1.5
  3 | slots: {'a b': 1, gpu: 0, cpu: 1.5}
    |                                ^
""",
    ),
    "slots-list": (
        OK + "slots: [gpu]\n",
        """
tasks/t.yaml:3:8: 'slots' must be a mapping of names to whole numbers, not a list
  3 | slots: [gpu]
    |        ^
""",
    ),
    "gate": (
        OK + "gate: 0.8\n",
        """
tasks/t.yaml:3:7: 'gate' must be a mapping, not a number
  3 | gate: 0.8
    |       ^
""",
    ),
    "hidden-control": (
        OK + ("workspace: workspace\ncontrols: [{copy: workspace, fails: run}]\n"),
        """
tasks/t.yaml:4:19: 'workspace' and the workspace 'workspace' overlap: the agent would see the control
  4 | controls: [{copy: workspace, fails: run}]
    |                   ^
""",
    ),
    "hidden-patch": (
        OK + "workspace: {copy: workspace, patch: workspace/a.patch}\n",
        """
tasks/t.yaml:3:37: 'a.patch' and the workspace 'workspace' overlap: the agent would see the patch
  3 | workspace: {copy: workspace, patch: workspace/a.patch}
    |                                     ^
""",
    ),
    "solution-command": (
        OK + "solution: {run: 'echo 42 > a.txt'}\n",
        """
tasks/t.yaml:3:17: 'run' is the path of a script here, and there is none at 'echo 42 > a.txt'. Try: put the command into a file
  3 | solution: {run: 'echo 42 > a.txt'}
    |                 ^
""",
    ),
    "solution-many": (
        OK + "solution: {patch: a, copy: b}\n",
        """
tasks/t.yaml:3:11: a solution has one of: copy, files, patch, run, or a 'final'
  3 | solution: {patch: a, copy: b}
    |           ^
""",
    ),
    "solution-patch": (
        OK + "solution: {patch: nosuch}\n",
        """
tasks/t.yaml:3:19: 'nosuch' does not exist
  3 | solution: {patch: nosuch}
    |                   ^
""",
    ),
    "answer-kinds": (
        (
            "prompt: p\n"
            "oracles:\n"
            "  - answer: 42\n"
            "  - answer: {}\n"
            "  - answer: {equals: a, regex: b}\n"
            "  - answer: {equal: a}\n"
        ),
        """
tasks/t.yaml:3:13: 'answer' must be a mapping with one of equals, one_of, regex, number, choice
  3 |   - answer: 42
    |             ^
tasks/t.yaml:4:13: 'answer' needs one of: equals, one_of, regex, number, choice
  4 |   - answer: {}
    |             ^
tasks/t.yaml:5:32: 'answer.regex' takes one of equals, one_of, regex, number, choice, not 'equals' and 'regex'
  5 |   - answer: {equals: a, regex: b}
    |                                ^
tasks/t.yaml:6:14: unknown key 'equal'; did you mean 'equals'?
  6 |   - answer: {equal: a}
    |              ^
""",
    ),
    "answer-values": (
        (
            "prompt: p\n"
            "oracles:\n"
            "  - answer: {number: '42'}\n"
            "  - answer: {number: 1, tolerance: -1}\n"
            "  - answer: {equals: a, tolerance: 1}\n"
            "  - answer: {regex: '('}\n"
            "  - answer: {one_of: []}\n"
            "  - answer: {one_of: [a, 1]}\n"
            "  - answer: {choice: ABCD}\n"
            "  - answer: {equals: 3}\n"
        ),
        """
tasks/t.yaml:4:36: 'answer.tolerance' must be a number, 0 or more
  4 |   - answer: {number: 1, tolerance: -1}
    |                                    ^
tasks/t.yaml:5:36: 'tolerance' goes with 'number', not with 'equals'
  5 |   - answer: {equals: a, tolerance: 1}
    |                                    ^
tasks/t.yaml:6:21: 'answer.regex' is no regular expression: missing ), unterminated subpattern at position 0
  6 |   - answer: {regex: '('}
    |                     ^
tasks/t.yaml:7:22: 'answer.one_of' must be a list of texts
  7 |   - answer: {one_of: []}
    |                      ^
tasks/t.yaml:8:26: an item of 'one_of' must be a text; put quotes around it
  8 |   - answer: {one_of: [a, 1]}
    |                          ^
tasks/t.yaml:9:22: 'answer.choice' must be one letter
  9 |   - answer: {choice: ABCD}
    |                      ^
tasks/t.yaml:10:22: 'answer.equals' must be a text; put quotes around it
  10 |   - answer: {equals: 3}
     |                      ^
""",
    ),
    "answer-file": (
        (
            "prompt: p\n"
            "oracles:\n"
            "  - answer: {equals: a, file: ../x}\n"
            "  - {answer: {equals: a}, file: x}\n"
            "  - answer: {equals: a, file: /etc/x}\n"
        ),
        """
tasks/t.yaml:3:31: '../x' must not hold '..'
  3 |   - answer: {equals: a, file: ../x}
    |                               ^
tasks/t.yaml:4:27: unknown key 'file'
  4 |   - {answer: {equals: a}, file: x}
    |                           ^
tasks/t.yaml:5:31: '/etc/x' is absolute; it is relative to the workspace
  5 |   - answer: {equals: a, file: /etc/x}
    |                               ^
""",
    ),
    "diff": (
        (
            "prompt: p\n"
            "oracles:\n"
            "  - diff: {}\n"
            "  - diff: {onyl: [a]}\n"
            "  - diff: {only: ['/a', '../b', '']}\n"
            "  - diff: {max_changed_lines: -1}\n"
            "  - diff: {must_change: 1}\n"
            "  - diff: {max_changed_lines: 1.5, forbid: 3}\n"
            "  - diff: [a]\n"
        ),
        """
tasks/t.yaml:3:11: 'diff' needs one of: only, forbid, must_change, max_changed_lines
  3 |   - diff: {}
    |           ^
tasks/t.yaml:4:12: unknown rule 'onyl'; did you mean 'only'?
  4 |   - diff: {onyl: [a]}
    |            ^
tasks/t.yaml:5:19: an item of 'only' must not begin with '/': it is relative
  5 |   - diff: {only: ['/a', '../b', '']}
    |                   ^
tasks/t.yaml:5:25: an item of 'only' must not have '..' between slashes
  5 |   - diff: {only: ['/a', '../b', '']}
    |                         ^
tasks/t.yaml:5:33: an item of 'only' must not be empty
  5 |   - diff: {only: ['/a', '../b', '']}
    |                                 ^
tasks/t.yaml:6:31: 'diff.max_changed_lines' must be a whole number, 0 or more
  6 |   - diff: {max_changed_lines: -1}
    |                               ^
tasks/t.yaml:7:25: 'diff.must_change' must be a pattern of paths, or a list of such
  7 |   - diff: {must_change: 1}
    |                         ^
tasks/t.yaml:8:31: 'diff.max_changed_lines' must be a whole number, 0 or more
  8 |   - diff: {max_changed_lines: 1.5, forbid: 3}
    |                               ^
tasks/t.yaml:8:44: 'diff.forbid' must be a pattern of paths, or a list of such
  8 |   - diff: {max_changed_lines: 1.5, forbid: 3}
    |                                            ^
tasks/t.yaml:9:11: 'diff' must be a mapping of only, forbid, must_change, max_changed_lines
  9 |   - diff: [a]
    |           ^
""",
    ),
    "diff-only": (
        (
            "prompt: p\n"
            "oracles:\n"
            "  - diff: {only: []}\n"
            "  - diff: {only: shop/**}\n"
            "  - diff: {forbid: [a, a]}\n"
        ),
        """
tasks/t.yaml:3:18: 'diff.only' must be a pattern of paths, or a list of such
  3 |   - diff: {only: []}
    |                  ^
""",
    ),
    "python": (
        (
            "prompt: p\n"
            "oracles:\n"
            "  - python: check\n"
            "  - {python: 'check:run'}\n"
            "  - {python: 'a b:c', assets: {files: {check.py: ''}}}\n"
            "  - {python: 'chek:run', assets: {files: {check.py: ''}}}\n"
            "  - python: 3\n"
            "  - {python: 'check:run', assets: {files: {check.py: ''}}, reprot: 1}\n"
        ),
        """
tasks/t.yaml:3:13: 'python' must be module:function, such as checks:judge
  3 |   - python: check
    |             ^
tasks/t.yaml:3:13: 'python' needs 'assets' beside it: the module lies there
  3 |   - python: check
    |             ^
tasks/t.yaml:4:14: 'python' needs 'assets' beside it: the module lies there
  4 |   - {python: 'check:run'}
    |              ^
tasks/t.yaml:5:14: 'python' must be module:function, such as checks:judge
  5 |   - {python: 'a b:c', assets: {files: {check.py: ''}}}
    |              ^
tasks/t.yaml:6:14: there is no module 'chek'; did you mean 'check'?
  6 |   - {python: 'chek:run', assets: {files: {check.py: ''}}}
    |              ^
tasks/t.yaml:7:13: 'python' must be module:function, such as checks:judge
  7 |   - python: 3
    |             ^
tasks/t.yaml:7:13: 'python' needs 'assets' beside it: the module lies there
  7 |   - python: 3
    |             ^
tasks/t.yaml:8:14: there is no function 'run'; known: none
  8 |   - {python: 'check:run', assets: {files: {check.py: ''}}, reprot: 1}
    |              ^
tasks/t.yaml:8:60: unknown key 'reprot'; known: options; of all oracles: name, advisory, needs, timeout, network, reveal, weight, required, pass_at, assets
  8 |   - {python: 'check:run', assets: {files: {check.py: ''}}, reprot: 1}
    |                                                            ^
""",
    ),
    "python-func": (
        (
            "prompt: p\n"
            "oracles:\n"
            "  - {python: 'check:rnu', assets: {files: {check.py: 'def run(): pass'}}}\n"
        ),
        """
tasks/t.yaml:3:14: there is no function 'rnu'; did you mean 'run'?
  3 |   - {python: 'check:rnu', assets: {files: {check.py: 'def run(): pass'}}}
    |              ^
""",
    ),
    "pytest-lists": (
        (
            "prompt: p\n"
            "oracles:\n"
            "  - {pytest: {files: {test_a.py: 'def test_a(): pass'}}, fail_to_pass: test_a.py, weights: 3}\n"
            "  - {pytest: {files: {test_a.py: ''}}, fail_to_pass: [1, ''], pass_to_pass: []}\n"
            "  - {pytest: {files: {test_a.py: ''}}, fail_to_pas: [a]}\n"
        ),
        """
tasks/t.yaml:3:58: 'fail_to_pass' must be a list of test ids, or a text that is one as JSON
  3 |   - {pytest: {files: {test_a.py: 'def test_a(): pass'}}, fail_to_pass: test_a.py, weights: 3}
    |                                                          ^
tasks/t.yaml:3:83: 'weights' must be a mapping of test ids or patterns to numbers
  3 |   - {pytest: {files: {test_a.py: 'def test_a(): pass'}}, fail_to_pass: test_a.py, weights: 3}
    |                                                                                   ^
tasks/t.yaml:4:55: an item of 'fail_to_pass' must be a test id, such as 'test_calc.py::test_adds'
  4 |   - {pytest: {files: {test_a.py: ''}}, fail_to_pass: [1, ''], pass_to_pass: []}
    |                                                       ^
tasks/t.yaml:4:58: '' is no test id; write it like 'test_calc.py::test_adds'
  4 |   - {pytest: {files: {test_a.py: ''}}, fail_to_pass: [1, ''], pass_to_pass: []}
    |                                                          ^
tasks/t.yaml:4:63: 'pass_to_pass' must list a test; leave it out if there is none
  4 |   - {pytest: {files: {test_a.py: ''}}, fail_to_pass: [1, ''], pass_to_pass: []}
    |                                                               ^
tasks/t.yaml:5:40: unknown key 'fail_to_pas'; did you mean 'fail_to_pass'?
  5 |   - {pytest: {files: {test_a.py: ''}}, fail_to_pas: [a]}
    |                                        ^
""",
    ),
    "pytest-lists2": (
        (
            "prompt: p\n"
            "oracles:\n"
            "  - {pytest: {files: {test_a.py: 'def test_a(): pass'}}, fail_to_pass: ['test_a.py::test_a', 'test_a.py::test_a'], pass_to_pass: ['test_a.py::test_a']}\n"
            "  - {pytest: {files: {test_a.py: 'def test_a(): pass'}}, weights: {'test_a.py::test_a': 0, 'test_b.py::x': -1, 'test_a.py::test_b': a}}\n"
            "  - {pytest: {files: {test_a.py: 'def test_a(): pass'}}, fail_to_pass: ['test_b.py::test_a', 'test_a.py::test_b', '/abs.py::x', '../x.py::y']}\n"
        ),
        """
tasks/t.yaml:3:94: 'test_a.py::test_a' is listed twice
  3 | …a(): pass'}}, fail_to_pass: ['test_a.py::test_a', 'test_a.py::test_a'], pass_to_pass: ['test_a.py::t…
    |                                                    ^
tasks/t.yaml:3:131: 'test_a.py::test_a' is in 'fail_to_pass' too
  3 | …s'}}, fail_to_pass: ['test_a.py::test_a', 'test_a.py::test_a'], pass_to_pass: ['test_a.py::test_a']}
    |                                                                                 ^
tasks/t.yaml:4:89: 'weights.test_a.py::test_a' must be a number above 0, up to a million
  4 | …ef test_a(): pass'}}, weights: {'test_a.py::test_a': 0, 'test_b.py::x': -1, 'test_a.py::test_b': a}}
    |                                                       ^
tasks/t.yaml:4:108: 'weights.test_b.py::x' must be a number above 0, up to a million
  4 | …ef test_a(): pass'}}, weights: {'test_a.py::test_a': 0, 'test_b.py::x': -1, 'test_a.py::test_b': a}}
    |                                                                          ^
tasks/t.yaml:4:133: 'weights.test_a.py::test_b' must be a number above 0, up to a million
  4 | …ef test_a(): pass'}}, weights: {'test_a.py::test_a': 0, 'test_b.py::x': -1, 'test_a.py::test_b': a}}
    |                                                                                                   ^
tasks/t.yaml:5:115: '/abs.py::x' is no test id; write it like 'test_calc.py::test_adds'
  5 | …_a(): pass'}}, fail_to_pass: ['test_b.py::test_a', 'test_a.py::test_b', '/abs.py::x', '../x.py::y']}
    |                                                                          ^
""",
    ),
    "pytest-tree": (
        (
            "prompt: p\n"
            "oracles:\n"
            "  - pytest: {}\n"
            "  - pytest: {files: {}}\n"
            "  - pytest: {file: {a: b}}\n"
            "  - pytest: [a]\n"
            "  - pytest: {files: [a]}\n"
            "  - pytest: {files: {a.txt: x}}\n"
        ),
        """
tasks/t.yaml:3:13: 'pytest' names no files
  3 |   - pytest: {}
    |             ^
tasks/t.yaml:4:13: 'pytest' names no files
  4 |   - pytest: {files: {}}
    |             ^
tasks/t.yaml:5:14: unknown key 'file'; did you mean 'files'?
  5 |   - pytest: {file: {a: b}}
    |              ^
tasks/t.yaml:6:13: 'pytest' must be a path or a mapping, not a list
  6 |   - pytest: [a]
    |             ^
tasks/t.yaml:7:21: 'files' must be a mapping, not a list
  7 |   - pytest: {files: [a]}
    |                     ^
tasks/t.yaml:8:13: 'pytest' holds no test file (test_*.py or *_test.py)
  8 |   - pytest: {files: {a.txt: x}}
    |             ^
""",
    ),
    "run": (
        (
            "prompt: p\n"
            "oracles:\n"
            "  - run: []\n"
            "  - run: ''\n"
            "  - run: [a, 1]\n"
            "  - {run: x, report: {junits: a}}\n"
            "  - {run: '{oracle}/x', assets: note.txt}\n"
            "  - run: ['{oracle}/x']\n"
        ),
        """
tasks/t.yaml:3:10: the command is empty
  3 |   - run: []
    |          ^
tasks/t.yaml:4:10: the command is empty
  4 |   - run: ''
    |          ^
tasks/t.yaml:5:14: an item of 'run' must be a string; put quotes around it
  5 |   - run: [a, 1]
    |              ^
tasks/t.yaml:6:23: unknown report format 'junits'; did you mean 'junit'?
  6 |   - {run: x, report: {junits: a}}
    |                       ^
tasks/t.yaml:7:33: 'note.txt' is a file, not a directory
  7 |   - {run: '{oracle}/x', assets: note.txt}
    |                                 ^
tasks/t.yaml:8:11: '{oracle}' needs 'assets' beside 'run'
  8 |   - run: ['{oracle}/x']
    |           ^
""",
    ),
    "files": (
        (
            "prompt: p\n"
            "oracles:\n"
            "  - files: {}\n"
            "  - files: {a: {exist: true}}\n"
            "  - files: {../a: {exists: true}}\n"
            "  - files: {a: {matches: '('}}\n"
            "  - files: {a: {json_schema: {type: 3}}}\n"
            "  - files: [a]\n"
            "  - files: {a: {contains: 3}}\n"
        ),
        """
tasks/t.yaml:3:12: 'files' names no file
  3 |   - files: {}
    |            ^
tasks/t.yaml:4:17: unknown expectation 'exist'; did you mean 'exists'?
  4 |   - files: {a: {exist: true}}
    |                 ^
tasks/t.yaml:5:19: '../a' must not hold '..'
  5 |   - files: {../a: {exists: true}}
    |                   ^
tasks/t.yaml:6:26: 'files.a.matches' is no regular expression: missing ), unterminated subpattern at position 0
  6 |   - files: {a: {matches: '('}}
    |                          ^
tasks/t.yaml:7:37: 'files.a.json_schema.type' is no valid schema: 3 is not valid under any of the given schemas
  7 |   - files: {a: {json_schema: {type: 3}}}
    |                                     ^
tasks/t.yaml:8:12: 'files' must be a mapping of file names to expectations
  8 |   - files: [a]
    |            ^
tasks/t.yaml:9:27: 'files.a.contains' must be a text, or a list of texts
  9 |   - files: {a: {contains: 3}}
    |                           ^
""",
    ),
    "check-files": (
        (
            "prompt: p\n"
            "checks: [{files: {../a: {exists: true}}}, {run: '', needs: x}, {diff: {}}]\n"
            "oracles: [{run: x}]\n"
        ),
        """
tasks/t.yaml:2:25: '../a' must not hold '..'
  2 | checks: [{files: {../a: {exists: true}}}, {run: '', needs: x}, {diff: {}}]
    |                         ^
tasks/t.yaml:2:49: the command is empty
  2 | checks: [{files: {../a: {exists: true}}}, {run: '', needs: x}, {diff: {}}]
    |                                                 ^
tasks/t.yaml:2:60: unknown oracle 'x'; known: files
  2 | checks: [{files: {../a: {exists: true}}}, {run: '', needs: x}, {diff: {}}]
    |                                                            ^
tasks/t.yaml:2:71: 'diff' needs one of: only, forbid, must_change, max_changed_lines
  2 | checks: [{files: {../a: {exists: true}}}, {run: '', needs: x}, {diff: {}}]
    |                                                                       ^
""",
    ),
    "promt": (
        ("promt: x\noracles: [{run: x}]\n"),
        """
tasks/t.yaml:1:1: unknown key 'promt'; did you mean 'prompt'?
  1 | promt: x
    | ^
""",
    ),
    "oracels": (
        ("prompt: x\noracels: [{run: x}]\n"),
        """
tasks/t.yaml:2:1: unknown key 'oracels'; did you mean 'oracles'?
  2 | oracels: [{run: x}]
    | ^
""",
    ),
    "network-on": (
        OK + "sandbox: {network: on}\n",
        """
tasks/t.yaml:3:20: unknown network 'on'; known: auto, full, none
  3 | sandbox: {network: on}
    |                    ^
""",
    ),
    "needs-types": (
        (
            "prompt: p\n"
            "oracles: [{run: x, name: a}, {run: y, needs: 3}, {run: z, needs: [a, a, 1]}]\n"
        ),
        """
tasks/t.yaml:2:46: 'needs' must be text or a list of texts, not a number
  2 | oracles: [{run: x, name: a}, {run: y, needs: 3}, {run: z, needs: [a, a, 1]}]
    |                                              ^
tasks/t.yaml:2:73: an item of 'needs' must be text, not a number. Try: quotes around it
  2 | oracles: [{run: x, name: a}, {run: y, needs: 3}, {run: z, needs: [a, a, 1]}]
    |                                                                         ^
""",
    ),
    "reveal-type": (
        ("prompt: p\noracles: [{run: x, reveal: 3}]\nreveal: []\n"),
        """
tasks/t.yaml:2:28: 'reveal' must be verdict, reasons or full, not a number
  2 | oracles: [{run: x, reveal: 3}]
    |                            ^
tasks/t.yaml:3:9: 'reveal' must be verdict, reasons or full, not a list
  3 | reveal: []
    |         ^
""",
    ),
    "git-two": (
        OK + "workspace: {git: {url: ../nosuch, ref: 'a..b'}}\n",
        """
tasks/t.yaml:3:24: there is no repository at '../nosuch'
  3 | workspace: {git: {url: ../nosuch, ref: 'a..b'}}
    |                        ^
tasks/t.yaml:3:40: 'a..b' is no branch, tag or commit
  3 | workspace: {git: {url: ../nosuch, ref: 'a..b'}}
    |                                        ^
""",
    ),
    "git-none": (
        OK + "workspace: {git: {}}\n",
        """
tasks/t.yaml:3:13: a git source needs a 'url'
  3 | workspace: {git: {}}
    |             ^
""",
    ),
    "git-types": (
        OK + "workspace: {git: 3}\n",
        """
tasks/t.yaml:3:18: 'workspace.git' must be a path, a URL or a mapping, not a number
  3 | workspace: {git: 3}
    |                  ^
""",
    ),
    "git-types2": (
        OK + "workspace: {git: {url: 3, ref: 1.2}}\n",
        """
tasks/t.yaml:3:24: 'workspace.git.url' must be text, not a number. Try: quotes around it
  3 | workspace: {git: {url: 3, ref: 1.2}}
    |                        ^
tasks/t.yaml:3:32: 'workspace.git.ref' must be text, not a number. Try: quotes around it
  3 | workspace: {git: {url: 3, ref: 1.2}}
    |                                ^
""",
    ),
    "git-empty": (
        OK + "workspace: {git: ''}\n",
        """
tasks/t.yaml:3:18: '' is no repository: a path or a URL
  3 | workspace: {git: ''}
    |                  ^
""",
    ),
    "git-missing": (
        OK + "workspace: {git: ../nosuch}\n",
        """
tasks/t.yaml:3:18: there is no repository at '../nosuch'
  3 | workspace: {git: ../nosuch}
    |                  ^
""",
    ),
    "setup-types": (
        OK + "workspace: {setup: {run: make}, protect: 3, patch: [a]}\n",
        """
tasks/t.yaml:3:20: 'workspace.setup' must be a list, not a mapping
  3 | workspace: {setup: {run: make}, protect: 3, patch: [a]}
    |                    ^
tasks/t.yaml:3:42: 'workspace.protect' must be text or a list of texts, not a number
  3 | workspace: {setup: {run: make}, protect: 3, patch: [a]}
    |                                          ^
tasks/t.yaml:3:52: 'workspace.patch' must be text, not a list
  3 | workspace: {setup: {run: make}, protect: 3, patch: [a]}
    |                                                    ^
""",
    ),
    "protect-types": (
        OK + "workspace: {protect: [1, '']}\n",
        """
tasks/t.yaml:3:23: an item of 'protect' must be text, not a number. Try: quotes around it
  3 | workspace: {protect: [1, '']}
    |                       ^
""",
    ),
    "limits-ws": (
        OK + "limits: {workspace: 0, time: -1}\n",
        """
tasks/t.yaml:3:21: 'limits.workspace' must be a size above 0 and below 8 exabytes
  3 | limits: {workspace: 0, time: -1}
    |                     ^
tasks/t.yaml:3:30: 'limits.time' must be a time above 0 and of a year at most
  3 | limits: {workspace: 0, time: -1}
    |                              ^
""",
    ),
    "limits-ws2": (
        OK + "limits: {workspace: 1.5, time: true}\n",
        """
tasks/t.yaml:3:21: 'limits.workspace' must be a size like 1g, 500m or 64k
  3 | limits: {workspace: 1.5, time: true}
    |                     ^
tasks/t.yaml:3:32: 'limits.time' must be a time like 10m, 90s, 1h30m or 500ms
  3 | limits: {workspace: 1.5, time: true}
    |                                ^
""",
    ),
    "skip-unless-types": (
        OK + "skip: {unless: linux, reason: 3}\n",
        """
tasks/t.yaml:3:16: 'skip.unless' must be a mapping, not text
  3 | skip: {unless: linux, reason: 3}
    |                ^
tasks/t.yaml:3:31: 'skip.reason' must be text, not a number. Try: quotes around it
  3 | skip: {unless: linux, reason: 3}
    |                               ^
""",
    ),
    "skip-cmd": (
        OK + "skip: {unless: {command: [a/b, ''], env: [A-B, ''], arch: ['']}}\n",
        """
tasks/t.yaml:3:27: command 'a/b' is neither the name of a command nor an absolute path
  3 | skip: {unless: {command: [a/b, ''], env: [A-B, ''], arch: ['']}}
    |                           ^
tasks/t.yaml:3:32: command '' is empty
  3 | skip: {unless: {command: [a/b, ''], env: [A-B, ''], arch: ['']}}
    |                                ^
tasks/t.yaml:3:43: env 'A-B' is not a name for an environment variable
  3 | skip: {unless: {command: [a/b, ''], env: [A-B, ''], arch: ['']}}
    |                                           ^
tasks/t.yaml:3:48: env '' is not a name for an environment variable
  3 | skip: {unless: {command: [a/b, ''], env: [A-B, ''], arch: ['']}}
    |                                                ^
tasks/t.yaml:3:60: arch '' is empty
  3 | skip: {unless: {command: [a/b, ''], env: [A-B, ''], arch: ['']}}
    |                                                            ^
""",
    ),
    "xfail-types": (
        OK + "xfail: {reason: 3, variants: [1, ''], strct: true}\n",
        """
tasks/t.yaml:3:17: 'xfail.reason' must be text, not a number. Try: quotes around it
  3 | xfail: {reason: 3, variants: [1, ''], strct: true}
    |                 ^
tasks/t.yaml:3:31: an item of 'variants' must be text, not a number. Try: quotes around it
  3 | xfail: {reason: 3, variants: [1, ''], strct: true}
    |                               ^
tasks/t.yaml:3:39: unknown key 'strct'; did you mean 'strict'?
  3 | xfail: {reason: 3, variants: [1, ''], strct: true}
    |                                       ^
""",
    ),
    "xfail-true": (
        OK + "xfail: true\n",
        """
tasks/t.yaml:3:8: 'xfail' must be a reason or a mapping, not a truth value
  3 | xfail: true
    |        ^
""",
    ),
    "slots-many": (
        OK + "slots: {gpu: 1001, '': 1, -x: 1}\n",
        """
tasks/t.yaml:3:14: 'slots.gpu' must be at most 1000, not 1001
  3 | slots: {gpu: 1001, '': 1, -x: 1}
    |              ^
tasks/t.yaml:3:20: the slot name '' is empty
  3 | slots: {gpu: 1001, '': 1, -x: 1}
    |                    ^
tasks/t.yaml:3:27: the slot name '-x' starts with '-'
  3 | slots: {gpu: 1001, '': 1, -x: 1}
    |                           ^
""",
    ),
    "control-types": (
        OK + "controls: {patch: a}\n",
        """
tasks/t.yaml:3:11: 'controls' must be a list, not a mapping
  3 | controls: {patch: a}
    |           ^
""",
    ),
    "control-types3": (
        OK + "controls: [{patch: 3, fails: 4, name: 5}]\n",
        """
tasks/t.yaml:3:20: 'patch' must be text, not a number. Try: quotes around it
  3 | controls: [{patch: 3, fails: 4, name: 5}]
    |                    ^
tasks/t.yaml:3:30: 'fails' must be text, not a number. Try: quotes around it
  3 | controls: [{patch: 3, fails: 4, name: 5}]
    |                              ^
tasks/t.yaml:3:39: 'name' must be text, not a number. Try: quotes around it
  3 | controls: [{patch: 3, fails: 4, name: 5}]
    |                                       ^
""",
    ),
    "control-unknown": (
        OK + "controls: [{pach: a, fails: run}]\n",
        """
tasks/t.yaml:3:13: unknown key 'pach'; did you mean 'patch'?
  3 | controls: [{pach: a, fails: run}]
    |             ^
""",
    ),
    "control-check": (
        (
            "prompt: p\n"
            "checks: [{run: a, name: lint}]\n"
            "oracles: [{run: x}]\n"
            "controls: [{files: {a: b}, fails: lnt}]\n"
        ),
        """
tasks/t.yaml:4:35: unknown oracle 'lnt'; did you mean 'lint'?
  4 | controls: [{files: {a: b}, fails: lnt}]
    |                                   ^
""",
    ),
    "control-files": (
        OK
        + "controls: [{files: {../a: x}, fails: run}, {files: {}, fails: run}, {patch: workspace, fails: run}]\n",
        """
tasks/t.yaml:3:21: the file name '../a' leaves the directory
  3 | controls: [{files: {../a: x}, fails: run}, {files: {}, fails: run}, {patch: workspace, fails: run}]
    |                     ^
tasks/t.yaml:3:77: 'workspace' is a directory, not a file
  3 | controls: [{files: {../a: x}, fails: run}, {files: {}, fails: run}, {patch: workspace, fails: run}]
    |                                                                             ^
""",
    ),
    "solution-types": (
        OK + "solution: []\n",
        """
tasks/t.yaml:3:11: 'solution' must be a path or a mapping, not a list
  3 | solution: []
    |           ^
""",
    ),
    "solution-blank": (
        OK + "solution: ''\n",
        """
tasks/t.yaml:3:11: '' is empty
  3 | solution: ''
    |           ^
""",
    ),
    "solution-unknown": (
        OK + "solution: {path: a.patch, pach: b}\n",
        """
tasks/t.yaml:3:11: 'a.patch' does not exist
  3 | solution: {path: a.patch, pach: b}
    |           ^
tasks/t.yaml:3:27: unknown key 'pach'; did you mean 'patch'?
  3 | solution: {path: a.patch, pach: b}
    |                           ^
""",
    ),
    "checks-map": (
        OK + "checks: {run: x}\n",
        """
tasks/t.yaml:3:9: 'checks' must be a list, not a mapping
  3 | checks: {run: x}
    |         ^
""",
    ),
    "advisory-type": (
        ("prompt: p\noracles: [{run: x, advisory: yes}, {run: y}]\n"),
        """
tasks/t.yaml:2:30: 'advisory' must be true or false, not text. Try: true
  2 | oracles: [{run: x, advisory: yes}, {run: y}]
    |                              ^
""",
    ),
    "timeout": (
        ("prompt: p\noracles: [{run: x, timeout: 0}, {run: y, timeout: 10min}]\n"),
        """
tasks/t.yaml:2:29: 'timeout' must be a time above 0 and of a year at most
  2 | oracles: [{run: x, timeout: 0}, {run: y, timeout: 10min}]
    |                             ^
tasks/t.yaml:2:51: 'timeout': '10min' is not a time; write it like 10m, 90s, 1h30m or 500ms
  2 | oracles: [{run: x, timeout: 0}, {run: y, timeout: 10min}]
    |                                                   ^
""",
    ),
    "assets": (
        (
            "prompt: p\n"
            "oracles: [{run: x, assets: 3}, {run: y, assets: {file: {}}}, {run: z, assets: nosuch}, {run: q, assets: note.txt}]\n"
        ),
        """
tasks/t.yaml:2:28: 'assets' must be a path or a mapping, not a number
  2 | oracles: [{run: x, assets: 3}, {run: y, assets: {file: {}}}, {run: z, assets: nosuch}, {run: q, asse…
    |                            ^
tasks/t.yaml:2:50: unknown key 'file'; did you mean 'files'?
  2 | oracles: [{run: x, assets: 3}, {run: y, assets: {file: {}}}, {run: z, assets: nosuch}, {run: q, asse…
    |                                                  ^
tasks/t.yaml:2:79: 'nosuch' does not exist
  2 | …: x, assets: 3}, {run: y, assets: {file: {}}}, {run: z, assets: nosuch}, {run: q, assets: note.txt}]
    |                                                                  ^
tasks/t.yaml:2:105: 'note.txt' is a file, not a directory
  2 | …: x, assets: 3}, {run: y, assets: {file: {}}}, {run: z, assets: nosuch}, {run: q, assets: note.txt}]
    |                                                                                            ^
""",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_message(project: Path, name: str) -> None:
    """Each mistake has its message once, at the place where it is to be mended."""
    source, expected = CASES[name]
    (project / "tasks" / "workspace" / "a.patch").write_text("x")
    file = project / "tasks" / "t.yaml"
    file.write_text(source)
    with pytest.raises(DefinitionError) as caught:
        load_task_file(file, rootdir=project)
    assert str(caught.value) == expected.strip("\n")
