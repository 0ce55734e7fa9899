"""Prompt templates: what they make of a task, and what is wrong with them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pytest_agentbench.matrix.prompts import TemplateFault, render, template_fault
from pytest_agentbench.model.task import Position, TaskSpec
from pytest_agentbench.model.variant import Variant

TASK = TaskSpec(
    id="fix",
    position=Position(Path("/t.yaml"), 1),
    prompt="Fix <it> & {{ this }}.",
    oracles=(),
    digest="",
    description="a bug",
    tags=("smoke", "python"),
)
VARIANT = Variant("codex-skill", "codex", model="gpt-5", options={"secret": "s"})


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("Use the skill for: {{ task.prompt }}", "Use the skill for: Fix <it> & {{ this }}."),
        ("{{ task.id }}: {{ task['description'] }}\n", "fix: a bug\n"),
        ("{{ task.tags | join(' ') | upper }}", "SMOKE PYTHON"),
        ("{{ variant.name }} {{ variant.agent }} {{ variant.model }}", "codex-skill codex gpt-5"),
        (
            "{% for tag in task.tags if tag != 'smoke' %}{{ loop.index }}{{ tag }}{% endfor %}",
            "1python",
        ),
        ("{% set task = {'x': 1} %}{{ task.x }}", "1"),
        ("{{ range(3) | list }}", "[0, 1, 2]"),
        ("{{ 1.5 }} {{ none }} {{ true }} {{ {'a': 1} }}", "1.5 None True {'a': 1}"),
        ("{% macro m(x) %}<{{ x }}>{% endmacro %}{{ m(task.id) }}", "<fix>"),
    ],
)
def test_what_a_template_makes(template: str, expected: str) -> None:
    """Text of the task comes in as it is: neither escaped nor looked at again."""
    assert template_fault(template) is None
    assert render(template, TASK, VARIANT) == expected


def test_a_variant_without_a_model_has_an_empty_one() -> None:
    """A template can ask whether there is one."""
    template = "{% if variant.model %}m{% else %}none{% endif %}"
    assert render(template, TASK, Variant("a", "noop")) == "none"


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("", (1, "the prompt template is empty")),
        (" \n", (1, "the prompt template is empty")),
        ("a\n{{ task.prompt", (2, "unexpected end of template, expected 'end of print statement'")),
        ("a\n\n{% if x %}", (3, "unexpected end of template")),
        ("{{ task.prompt | uper }}", (1, "no filter named 'uper'")),
        ("{{ tasks }}", (1, "unknown name 'tasks'; did you mean 'task'?")),
        ("\n{{ colour }}", (2, "unknown name 'colour'; known: task, variant")),
        (
            "{% if task.id %}\n{% else %}{{ task.promt }}{% endif %}",
            (2, "unknown name 'task.promt'; did you mean 'prompt'?"),
        ),
        (
            "{{ variant['options'] }}",
            (1, "unknown name 'variant.options'; known: agent, model, name"),
        ),
        ("{{ lipsum() }}", (1, "unknown name 'lipsum'; known: task, variant")),
        (
            "\n{% import 'x' as y %}",
            (2, "a prompt template stands alone: it can take in no other one"),
        ),
    ],
)
def test_what_no_task_can_mend_is_found_at_once(template: str, expected: tuple[int, str]) -> None:
    """Syntax and names are known without a task, in every branch, with the line."""
    fault = template_fault(template)
    assert fault is not None
    assert (fault[0], fault[1].partition(". ")[0]) == expected


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{{ task.description[99:] }}", "the prompt template makes nothing of this task"),
        ("{{ task.tags[7] }}", "the prompt template fails for this task: "),
        ("{{ 1 / 0 }}", "the prompt template fails for this task: division by zero"),
        ("{{ task.prompt + 1 }}", "the prompt template fails for this task: can only concatenate"),
        ("{{ task.prompt.split('x')[5] }}", "the prompt template fails for this task: "),
        ("{{ task.prompt.__class__.mro() }}", "the prompt template fails for this task: access to"),
        ("{{ range(9999999) | list }}", "the prompt template fails for this task: Range too big"),
        (
            "{{ task.tags | map('upper') }}",
            "the prompt template prints a generator, which is no text",
        ),
        (
            "{{ task.prompt.upper }}",
            "the prompt template prints a builtin_function_or_method, which is no text",
        ),
        ("{{ task }}", "the prompt template prints a task, which is no text"),
        ("{{ self }}", "the prompt template prints a templatereference, which is no text"),
        ('a{{ "\\0" }}', "the prompt template makes a text with a NUL character"),
        ('{{ "\\ud800" }}', "the prompt template makes half of a surrogate pair"),
    ],
)
def test_what_fails_for_one_task_says_so(template: str, expected: str) -> None:
    """A template that is right by itself may be wrong for a task."""
    assert template_fault(template) is None
    with pytest.raises(TemplateFault) as caught:
        render(template, TASK, VARIANT)
    assert str(caught.value).startswith(expected)


def test_jinja_is_imported_with_the_first_template() -> None:
    """Projects without templates do not pay for it."""
    program = (
        "import sys\n"
        "from pytest_agentbench.matrix import prompts, expand\n"
        "assert 'jinja2' not in sys.modules\n"
        "prompts.template_fault('x')\n"
        "assert 'jinja2' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
