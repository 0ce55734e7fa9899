"""Oracles on words, on changes and on listed tests, as authors and users meet them."""

from __future__ import annotations

import json

import pytest

from projects import Project

PAGES = """\
tags: [smoke]
prompt: Fix paginate() in shop/pages.py, and say how many lines you changed.
workspace:
  files:
    shop/__init__.py: ""
    shop/pages.py: "PAGE = 2\\n"
    notes.txt: "keep\\n"
checks:
  - diff: {forbid: [notes.txt]}
    name: notes-kept
oracles:
  - diff: {only: ["shop/**"], must_change: [shop/pages.py], max_changed_lines: 4}
    name: small
  - answer: {number: 2, after: "ANSWER:"}
    name: said
"""

RIGHT = '[{write: {path: shop/pages.py, text: "PAGE = 3\\n"}}, {final: "Done. ANSWER: 2"}]'


def without_defaults(project: Project) -> None:
    for name in ("add", "greet"):
        (project.pytester.path / f"tasks/{name}.yaml").unlink()


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        (
            '[{final: "ANSWER: 2"}]',
            "small: nothing changed that matches 'shop/pages.py'",
        ),
        (
            RIGHT.replace("ANSWER: 2", "ANSWER: 3"),
            "said: the number in the answer '3' is wrong",
        ),
        (
            '[{write: {path: shop/pages.py, text: "PAGE = 3\\n"}}]',
            "said: the agent gave no final message",
        ),
        (
            RIGHT.replace("[{", '[{write: {path: README.md, text: "x\\n"}}, {', 1),
            "small: 1 changed path is not among 'only': README.md (added)",
        ),
        (
            RIGHT.replace("[{", '[{write: {path: notes.txt, text: "x\\n"}}, {', 1),
            ("notes-kept: 1 changed path is forbidden: notes.txt (modified) (and 1 more)"),
        ),
    ],
    ids=["idle", "wrong", "silent", "outside", "check"],
)
def test_a_wrong_answer_fails_beside_a_right_one(project: Project, steps: str, reason: str) -> None:
    """Two tasks with the same oracles: each is judged by what its own agent did and said."""
    without_defaults(project)
    project.write("tasks/good.yaml", PAGES)
    project.write("tasks/bad.yaml", PAGES)
    project.script(good=RIGHT, bad=steps)
    project.run().assert_outcomes(passed=1, failed=1)
    records = project.records()
    assert records["good[bot-r1]"]["outcome"] == "passed"
    bad = records["bad[bot-r1]"]
    assert (bad["outcome"], bad["message"]) == ("failed", reason)


ROW_TASK = """\
dataset: {path: rows.jsonl, id: instance_id}
prompt: "{{ row.problem_statement }}"
workspace:
  files: {calc.py: "def add(a, b):\\n    return a - b\\n"}
oracles:
  - pytest: {files: {tests/test_calc.py: "{{ row.tests }}"}}
    fail_to_pass: "{{ row.FAIL_TO_PASS }}"
    pass_to_pass: "{{ row.PASS_TO_PASS }}"
solution:
  files: {calc.py: "def add(a, b):\\n    return a + b\\n"}
"""

TESTS = """\
import calc
def test_adds(): assert calc.add(2, 3) == 5
def test_zero(): assert calc.add(2, 0) == 2
def test_hopeless(): assert False
"""


def row(name: str, to_pass: object, to_keep: object) -> dict[str, object]:
    return {
        "instance_id": name,
        "problem_statement": "Add.",
        "tests": TESTS,
        "FAIL_TO_PASS": to_pass,
        "PASS_TO_PASS": to_keep,
    }


def test_rows_list_their_tests(project: Project) -> None:
    """A list, or JSON in a text, as published rows have it; a bad id is an error, not a failure."""
    without_defaults(project)
    ids = [f"tests/test_calc.py::test_{name}" for name in ("adds", "zero", "hopeless")]
    rows = [
        row("list", ids[:1], ids[1:2]),
        row("text", json.dumps(ids[:1]), json.dumps([])),
        row("hopeless", ids[2:], ids[:2]),
        row("misspelt", ["tests/test_calc.py::test_ads"], []),
    ]
    project.write("tasks/rows.jsonl", "".join(json.dumps(each) + "\n" for each in rows))
    project.write("tasks/rows.yaml", ROW_TASK)
    project.run().assert_outcomes(passed=2, failed=1, errors=1)
    records = project.records()
    found = {key: (record["outcome"], record["reason"]) for key, record in records.items()}
    assert found == {
        "list[reference-r1]": ("passed", None),
        "text[reference-r1]": ("passed", None),
        "hopeless[reference-r1]": ("failed", "oracle"),
        "misspelt[reference-r1]": ("error", "oracle_error"),
    }
    assert (
        "lists 1 test that is not there: 'tests/test_calc.py::test_ads' "
        "(did you mean 'tests/test_calc.py::test_adds'?)"
    ) in records["misspelt[reference-r1]"]["message"]


def test_mistakes_in_entries_are_told_at_collection(project: Project) -> None:
    """Each with its place, in one message, and nothing is run."""
    without_defaults(project)
    project.write(
        "tasks/bad.yaml",
        "prompt: x\n"
        "oracles:\n"
        "  - diff: {onyl: [a], max_changed_lines: many}\n"
        "  - answer: {number: many}\n"
        "  - pytest: {files: {test_a.py: ''}}\n"
        "    fail_to_pass: [test_b]\n"
        "    weights: 3\n",
    )
    result = project.run()
    result.assert_outcomes(errors=1)
    out = result.stdout.str()
    start, end = out.index("tasks/bad.yaml:3:12"), out.index("=== short test summary")
    assert out[start:end].rstrip("=").splitlines() == [
        "tasks/bad.yaml:3:12: unknown rule 'onyl'; did you mean 'only'?",
        "  3 |   - diff: {onyl: [a], max_changed_lines: many}",
        "    |            ^",
        "tasks/bad.yaml:3:42: 'diff.max_changed_lines' must be a whole number, 0 or more",
        "  3 |   - diff: {onyl: [a], max_changed_lines: many}",
        "    |                                          ^",
        (
            "tasks/bad.yaml:4:22: 'answer.number' must be a number, or a text that is one or ends "
            "in '#### NUMBER'"
        ),
        "  4 |   - answer: {number: many}",
        "    |                      ^",
        ("tasks/bad.yaml:6:20: 'test_b' is no test id; write it like 'test_calc.py::test_adds'"),
        "  6 |     fail_to_pass: [test_b]",
        "    |                    ^",
        "tasks/bad.yaml:7:5: 'weights' must be a mapping of test ids or patterns to numbers",
        "  7 |     weights: 3",
        "    |     ^",
    ]
