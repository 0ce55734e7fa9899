"""Experiments that extend others, and what a variant says of overlay, prompt and tools."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_agentbench.model.variant import Expectation, Experiment, ToolPolicy
from pytest_agentbench.taskfiles.experiment import load_experiment

BASE = """\
variants:
  one: {agent: command, model: m, options: {run: [one]}}
  two: {agent: noop}
  three: {extends: one, options: {run: [three]}}
defaults: {repeats: 2, limits: {time: 1m}, sandbox: {python: .venv/bin/python}}
baseline: one
suites:
  smoke: {select: {marks: smoke}}
  wide: {gate: {min_pass_rate: 0.5}}
slots: {gpu: 2, port: 4}
"""


def load(root: Path, files: dict[str, str]) -> Experiment:
    """The default experiment of a project with those files."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return load_experiment(root, None)


@pytest.mark.parametrize("extends", ["base", "experiments/base.yaml", "./experiments/base.yaml"])
def test_what_a_base_file_says_holds_where_nothing_nearer_does(
    tmp_path: Path, extends: str
) -> None:
    """Defaults lie over the base's, what has its name replaces it, the rest stays."""
    experiment = load(
        tmp_path,
        {
            "experiments/base.yaml": BASE,
            "agentbench.yaml": f"extends: {extends}\n"
            "variants:\n  two: {agent: command, options: {run: [two]}}\n"
            "  four: {extends: one}\n"
            "defaults: {repeats: 5}\n"
            "suites: {smoke: {select: {ids: [fix-*]}}}\n"
            "slots: {gpu: 1}\n",
        },
    )
    assert [one.name for one in experiment.variants] == ["one", "two", "three", "four"]
    assert [one.options for one in experiment.variants] == [
        {"run": ["one"]},
        {"run": ["two"]},
        {"run": ["three"]},
        {"run": ["one"]},
    ]
    assert experiment.defaults == {
        "repeats": 5,
        "limits.time": 60.0,
        "sandbox.python": str(tmp_path / "experiments/.venv/bin/python"),
    }
    assert experiment.baseline == "one"
    assert [(suite.name, suite.marks, suite.ids) for suite in experiment.suites] == [
        ("smoke", "", ("fix-*",)),
        ("wide", "", ()),
    ]
    assert experiment.suites[1].gate == {"min_pass_rate": 0.5}
    assert experiment.gated
    assert experiment.slots == {"gpu": 1, "port": 4}
    assert [path.name for path in experiment.files] == ["base.yaml", "agentbench.yaml"]
    positions = [one.position for one in experiment.variants if one.position]
    assert [position.path.name for position in positions] == [
        "base.yaml",
        "agentbench.yaml",
        "base.yaml",
        "agentbench.yaml",
    ]


def test_a_base_s_variants_build_on_the_nearer_ones(tmp_path: Path) -> None:
    """A variant of the base that extends a replaced one extends what replaced it."""
    experiment = load(
        tmp_path,
        {
            "experiments/base.yaml": BASE,
            "agentbench.yaml": "extends: base\n"
            "variants: {one: {agent: command, model: new, options: {run: [x], prompt: arg}}}\n",
        },
    )
    three = experiment.variants[2]
    assert (three.name, three.model) == ("three", "new")
    assert three.options == {"run": ["three"], "prompt": "arg"}


def test_a_variant_may_extend_the_base_s_of_its_own_name(tmp_path: Path) -> None:
    """Over two files down, its own name means the next one below."""
    experiment = load(
        tmp_path,
        {
            "experiments/bottom.yaml": "variants: {a: {agent: command, options: {run: [x]}}}\n",
            "experiments/middle.yaml": "extends: bottom\nvariants: {b: {agent: noop}}\n",
            "agentbench.yaml": "extends: middle\nvariants: {a: {extends: a, model: m}}\n",
        },
    )
    a = experiment.variants[0]
    assert (a.agent, a.model, a.options) == ("command", "m", {"run": ["x"]})


def test_a_base_without_variants_leaves_the_reference_alone(tmp_path: Path) -> None:
    """Two files that set defaults only: the reference runs."""
    experiment = load(
        tmp_path,
        {
            "experiments/base.yaml": "defaults: {repeats: 2}\n",
            "agentbench.yaml": "extends: base\nbaseline: reference\n",
        },
    )
    assert [one.name for one in experiment.variants] == ["reference"]
    assert (experiment.implicit, experiment.baseline) == (True, "reference")
    assert not experiment.gated


def test_overlay_and_prompt_are_beside_the_file_that_names_them(tmp_path: Path) -> None:
    """Paths are relative to their own file, also in a base file; a template keeps its line ends."""
    (tmp_path / "overlays" / "skill").mkdir(parents=True)
    (tmp_path / "experiments" / "near").mkdir(parents=True)
    (tmp_path / "experiments" / "p.md").write_bytes(b"\xef\xbb\xbfDo:\r\n{{ task.prompt }}\r\n")
    experiment = load(
        tmp_path,
        {
            "experiments/base.yaml": "variants:\n"
            "  a: {agent: noop, overlay: ../overlays/skill, prompt: {file: p.md}}\n"
            "  b: {agent: noop, overlay: near}\n",
            "agentbench.yaml": "extends: base\n"
            "variants:\n  c: {extends: a, prompt: {template: 'x {{ task.id }}'}}\n",
        },
    )
    a, b, c = experiment.variants
    assert a.overlay == c.overlay == tmp_path / "overlays/skill"
    assert b.overlay == tmp_path / "experiments/near"
    assert (a.prompt_template, b.prompt_template) == ("Do:\n{{ task.prompt }}\n", None)
    assert c.prompt_template == "x {{ task.id }}"


def test_tools_and_expectations_are_replaced_as_a_whole(tmp_path: Path) -> None:
    """Unlike options, they do not merge; an empty mapping takes them away."""
    experiment = load(
        tmp_path,
        {
            "agentbench.yaml": """
variants:
  a: {agent: noop, tools: {allow: [x, y], deny: z}, expect: {skills: review, tools: [x]}}
  b: {extends: a}
  c: {extends: a, tools: {deny: [y]}, expect: {tools: x}}
  d: {extends: a, tools: {allow: []}, expect: {}}
"""
        },
    )
    a, b, c, d = experiment.variants
    assert a.tools == b.tools == ToolPolicy(("x", "y"), ("z",))
    assert a.expect == b.expect == Expectation(("review",), ("x",))
    assert (c.tools, c.expect) == (ToolPolicy(None, ("y",)), Expectation((), ("x",)))
    assert (d.tools, d.expect) == (ToolPolicy(()), Expectation())


def test_suites(tmp_path: Path) -> None:
    """A suite has its criteria and its place; a gate is kept as it is written."""
    experiment = load(
        tmp_path,
        {
            "agentbench.yaml": """
variants: {a: {agent: noop}}
suites:
  smoke:
    select: {marks: smoke and not slow, paths: [tasks/shop/**], ids: "fix-*"}
    gate: {anything: [goes]}
  everything: {}
"""
        },
    )
    smoke, everything = experiment.suites
    assert (smoke.marks, smoke.paths, smoke.ids) == (
        "smoke and not slow",
        ("tasks/shop/**",),
        ("fix-*",),
    )
    assert smoke.gate == {"anything": ["goes"]}
    assert smoke.position is not None
    assert (smoke.position.line, smoke.position.column) == (4, 3)
    assert (everything.marks, everything.paths, everything.ids) == ("", (), ())
    assert everything.gate is None
