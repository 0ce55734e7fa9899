"""Experiment files: variants, extends, defaults, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from pytest_agentbench.errors import DefinitionError, UsageError
from pytest_agentbench.model.task import JsonValue
from pytest_agentbench.model.variant import Experiment
from pytest_agentbench.taskfiles.experiment import load_experiment


def no_fault(
    agent: str, options: Mapping[str, JsonValue]
) -> list[tuple[tuple[str | int, ...], str]]:
    """An agent that takes any options but ``bad``, in whatever depth."""
    del agent
    return [(path, "'bad' is not good") for path in _bad(options)]


def _bad(options: Mapping[str, JsonValue]) -> list[tuple[str | int, ...]]:
    found: list[tuple[str | int, ...]] = []
    for key, value in options.items():
        if key == "bad":
            found.append((key,))
        elif isinstance(value, dict):
            found += [(key, *path) for path in _bad(value)]
    return found


def load(root: Path, text: str) -> Experiment:
    """The experiment of ``agentbench.yaml`` with that text."""
    (root / "agentbench.yaml").write_text(text)
    return load_experiment(root, None, validate_options=no_fault)


def test_variants(tmp_path: Path) -> None:
    """Variants keep their file order; each has agent, model, options, environment and a layer."""
    experiment = load(
        tmp_path,
        """
variants:
  z:
    agent: command
    model: m
    options: {run: [x]}
    env: {KEY: "${KEY}"}
    limits: {time: 5m}
    sandbox: {driver: local}
    repeats: 2
  a: {agent: noop}
defaults: {repeats: 3, limits: {time: 1m}, sandbox: {env: {A: b}}}
""",
    )
    z, a = experiment.variants
    assert (z.name, z.agent, z.model) == ("z", "command", "m")
    assert (z.options, z.env) == ({"run": ["x"]}, {"KEY": "${KEY}"})
    assert z.layer == {"repeats": 2, "limits.time": 300.0, "sandbox.driver": "local"}
    assert z.position is not None
    assert (z.position.line, z.position.column) == (3, 3)
    assert (a.name, a.agent, a.model, a.layer) == ("a", "noop", None, {})
    assert experiment.defaults == {
        "repeats": 3,
        "limits.time": 60.0,
        "sandbox.env.A": "b",
    }
    assert (experiment.source, experiment.implicit) == ("agentbench.yaml", False)


def test_extends(tmp_path: Path) -> None:
    """A variant lies over the one it extends: options and environment merge in depth."""
    experiment = load(
        tmp_path,
        """
variants:
  top: {extends: middle, options: {deep: {c: 3}}, env: {B: "2"}, limits: {time: 2m}}
  middle: {extends: base, model: n, options: {deep: {b: 2}, list: [2]}, repeats: 2}
  base:
    agent: command
    model: m
    options: {deep: {a: 1, b: 1}, list: [1, 1]}
    env: {A: "1", B: "1"}
    limits: {time: 1m}
""",
    )
    top = experiment.variants[0]
    assert (top.agent, top.model) == ("command", "n")
    assert top.options == {"deep": {"a": 1, "b": 2, "c": 3}, "list": [2]}
    assert top.env == {"A": "1", "B": "2"}
    assert top.layer == {"repeats": 2, "limits.time": 120.0}


def test_no_file(tmp_path: Path) -> None:
    """Without a file the reference variant runs alone, and the source says why."""
    experiment = load_experiment(tmp_path, None)
    assert [variant.name for variant in experiment.variants] == ["reference"]
    assert experiment.implicit
    assert experiment.source == "no agentbench.yaml: the reference variant alone"


def test_file_with_defaults_only(tmp_path: Path) -> None:
    """A file that names no variants sets defaults for the reference variant."""
    experiment = load(tmp_path, "defaults: {repeats: 2}\n")
    assert [variant.name for variant in experiment.variants] == ["reference"]
    assert experiment.implicit
    assert experiment.defaults == {"repeats": 2}


def test_chosen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bare name means a file of experiments/, anything else a path from here or the root."""
    monkeypatch.chdir(tmp_path.parent)
    (tmp_path / "experiments").mkdir()
    (tmp_path / "experiments" / "wide.yml").write_text("variants: {a: {agent: noop}}\n")
    (tmp_path / "other.yaml").write_text("variants: {b: {agent: noop}}\n")
    for chosen, source in [
        ("wide", "experiments/wide.yml"),
        ("experiments/wide.yml", "experiments/wide.yml"),
        ("other.yaml", "other.yaml"),
        (f"{tmp_path.name}/other.yaml", "other.yaml"),
        (str(tmp_path / "other.yaml"), "other.yaml"),
    ]:
        found = load_experiment(tmp_path, chosen, validate_options=no_fault)
        assert found.source == source, chosen


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        ("wid", "experiment: unknown experiment 'wid'; did you mean 'wide'? known: deep, wide"),
        ("zzz", "experiment: unknown experiment 'zzz'; known: deep, wide"),
        ("gone.yaml", "experiment: there is no file 'gone.yaml'"),
    ],
)
def test_unknown_choice(tmp_path: Path, chosen: str, expected: str) -> None:
    """An unknown name lists the known ones."""
    (tmp_path / "experiments").mkdir()
    for name in ("wide", "deep"):
        (tmp_path / "experiments" / f"{name}.yaml").write_text("variants: {}\n")
    with pytest.raises(UsageError) as caught:
        load_experiment(tmp_path, chosen)
    assert str(caught.value) == expected


def test_two_default_files(tmp_path: Path) -> None:
    """Two default files are an error: one of them would be ignored."""
    (tmp_path / "agentbench.yaml").write_text("")
    (tmp_path / "agentbench.yml").write_text("")
    with pytest.raises(UsageError, match=r"both agentbench\.yaml and agentbench\.yml are there"):
        load_experiment(tmp_path, None)


CASES: dict[str, tuple[str, str]] = {
    "empty": ("", "agentbench.yaml: is empty, and so no experiment file"),
    "list": (
        "- a\n",
        "agentbench.yaml:1:1: an experiment file is a mapping, not a list\n  1 | - a\n    | ^",
    ),
    "no-variant": (
        ("variants: {}\n"),
        """
agentbench.yaml:1:1: 'variants' names no variant
  1 | variants: {}
    | ^
""",
    ),
    "unknown-keys": (
        "varants: {}\nvariants: {a: {agent: noop, agnet: x, sandbox: {drive: x}}}\n",
        """
agentbench.yaml:1:1: unknown key 'varants'; did you mean 'variants'?
  1 | varants: {}
    | ^
agentbench.yaml:2:29: unknown key 'agnet'; did you mean 'agent'?
  2 | variants: {a: {agent: noop, agnet: x, sandbox: {drive: x}}}
    |                             ^
agentbench.yaml:2:49: unknown key 'drive'; did you mean 'driver'?
  2 | variants: {a: {agent: noop, agnet: x, sandbox: {drive: x}}}
    |                                                 ^
""",
    ),
    "agents": (
        ("variants:\n  a: {agent: nop}\n  b: {model: m}\n  c: {extends: a}\n"),
        """
agentbench.yaml:2:14: unknown agent 'nop'; did you mean 'noop'?
  2 |   a: {agent: nop}
    |              ^
agentbench.yaml:3:3: the variant 'b' needs an 'agent', or 'extends' one that has it
  3 |   b: {model: m}
    |   ^
""",
    ),
    "names": (
        ("variants:\n  a-r1: {agent: noop}\n  'b c': {agent: noop}\n"),
        """
agentbench.yaml:2:3: the variant name 'a-r1' ends like a repeat (-r1)
  2 |   a-r1: {agent: noop}
    |   ^
agentbench.yaml:3:3: the variant name 'b c' holds a blank
  3 |   'b c': {agent: noop}
    |   ^
""",
    ),
    "extends": (
        (
            "variants:\n  a: {extends: b}\n  b: {extends: a}\n  c: {extends: c}\n"
            "  d: {extends: bb}\n  e: {extends: a}\n"
        ),
        """
agentbench.yaml:2:16: 'extends' goes round in a circle: a -> b -> a
  2 |   a: {extends: b}
    |                ^
agentbench.yaml:3:16: 'extends' goes round in a circle: b -> a -> b
  3 |   b: {extends: a}
    |                ^
agentbench.yaml:4:16: 'extends' goes round in a circle: c -> c
  4 |   c: {extends: c}
    |                ^
agentbench.yaml:5:16: unknown variant 'bb'; known: a, b, c, e
  5 |   d: {extends: bb}
    |                ^
""",
    ),
    "options-of-the-base": (
        (
            "variants:\n  a: {agent: noop, options: {deep: {bad: 1}}}\n"
            "  b: {extends: a, options: {deep: {good: 1}}}\n"
        ),
        """
agentbench.yaml:2:42: 'bad' is not good
  2 |   a: {agent: noop, options: {deep: {bad: 1}}}
    |                                          ^
""",
    ),
    "values": (
        ("variants: {a: {agent: noop, env: {A: 1, 1B: x}, repeats: 0, model: 5}}\n"),
        """
agentbench.yaml:1:38: 'variants.a.env.A' must be text, not a number. Try: quotes around it
  1 | variants: {a: {agent: noop, env: {A: 1, 1B: x}, repeats: 0, model: 5}}
    |                                      ^
agentbench.yaml:1:41: '1B' is not a name for an environment variable
  1 | variants: {a: {agent: noop, env: {A: 1, 1B: x}, repeats: 0, model: 5}}
    |                                         ^
agentbench.yaml:1:58: 'variants.a.repeats' must be at least 1, not 0
  1 | variants: {a: {agent: noop, env: {A: 1, 1B: x}, repeats: 0, model: 5}}
    |                                                          ^
agentbench.yaml:1:68: 'variants.a.model' must be text, not a number. Try: quotes around it
  1 | variants: {a: {agent: noop, env: {A: 1, 1B: x}, repeats: 0, model: 5}}
    |                                                                    ^
""",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_message(tmp_path: Path, name: str) -> None:
    """Each way to be wrong has its one message, with all the places of the file."""
    source, expected = CASES[name]
    with pytest.raises(DefinitionError) as caught:
        load(tmp_path, source)
    assert str(caught.value) == expected.strip("\n")


def test_options_of_real_agents(tmp_path: Path) -> None:
    """By default the agent's own model judges the options, at the place of the option."""
    (tmp_path / "agentbench.yaml").write_text(
        "variants:\n  a: {agent: noop, options: {speed: 1}}\n"
    )
    with pytest.raises(DefinitionError) as caught:
        load_experiment(tmp_path, None)
    (problem,) = caught.value.problems
    assert (problem.line, problem.column) == (2, 30)
    assert problem.message == "unknown option 'speed'"
