"""Variants chosen by name, and the one that is made of an agent."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_agentbench.errors import UsageError
from pytest_agentbench.matrix.columns import alone, chosen, column_name
from pytest_agentbench.model.variant import Experiment, Variant
from pytest_agentbench.taskfiles.names import variant_fault

EXPERIMENT = Experiment(
    tuple(Variant(name, "noop") for name in ("reference", "codex", "codex-skill", "z[1]")),
    {"repeats": 2},
    "agentbench.yaml",
    baseline="codex",
)


@pytest.mark.parametrize(
    ("patterns", "names", "baseline"),
    [
        (["codex"], ["codex"], "codex"),
        (["codex*"], ["codex", "codex-skill"], "codex"),
        (["codex-*", "reference"], ["reference", "codex-skill"], None),
        (["codex", "*"], ["reference", "codex", "codex-skill", "z[1]"], "codex"),
        (["z[[]1]"], ["z[1]"], None),
    ],
)
def test_patterns_keep_the_order_of_the_file(
    patterns: list[str], names: list[str], baseline: str | None
) -> None:
    """Whatever the order of patterns; a baseline that does not run is none."""
    found = chosen(EXPERIMENT, patterns, where="--agentbench-variant")
    assert [variant.name for variant in found.variants] == names
    assert (found.baseline, found.defaults) == (baseline, {"repeats": 2})


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("codx", "no variant 'codx' in agentbench.yaml; did you mean 'codex'? known: "),
        ("q*", "no variant 'q*' in agentbench.yaml; known: "),
        ("CODEX", "no variant 'CODEX' in agentbench.yaml; known: "),
    ],
)
def test_a_pattern_that_fits_nothing_is_refused(pattern: str, expected: str) -> None:
    """One of several is enough: somebody wanted something by it."""
    with pytest.raises(UsageError) as caught:
        chosen(EXPERIMENT, ["codex", pattern], where="--agentbench-variant")
    known = "reference, codex, codex-skill, z[1]"
    assert str(caught.value) == f"--agentbench-variant: {expected}{known}"


def test_a_pattern_without_a_file_to_choose_from() -> None:
    """The message says why there is so little."""
    bare = Experiment(
        (Variant("reference", "reference"),),
        source="no agentbench.yaml: the reference variant alone",
        implicit=True,
    )
    with pytest.raises(UsageError) as caught:
        chosen(bare, ["codex"], where="--agentbench-variant")
    assert str(caught.value) == (
        "--agentbench-variant: no variant 'codex' (no agentbench.yaml: the reference variant"
        " alone); known: reference"
    )


def test_one_agent_alone_keeps_what_lies_below_variants() -> None:
    """Defaults hold, variants and baseline do not; the source says what runs."""
    said = "--agentbench-agent codex"
    found = alone(EXPERIMENT, "codex", "gpt-5", said=said)
    assert found.variants == (Variant("codex-gpt-5", "codex"),)
    assert (found.defaults, found.baseline, found.implicit) == ({"repeats": 2}, None, False)
    assert found.source == f"{said}, in place of the variants of agentbench.yaml"
    bare = alone(Experiment((), implicit=True, source="none"), "codex", None, said=said)
    assert (bare.source, bare.implicit) == (said, False)


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (None, "command"),
        ("gpt-5", "command-gpt-5"),
        ("openrouter/vendor:free", "command-openrouter-vendor-free"),
        ("deepseek-r1", "command-deepseek_r1"),
        ("a b[c]@", "command-a-b-c"),
    ],
)
def test_names_of_such_variants(model: str | None, expected: str) -> None:
    """What ids may not hold becomes a dash; an end like a repeat's gets an underscore."""
    assert column_name("command", model) == expected


@given(st.text())
def test_any_model_makes_a_name(model: str) -> None:
    """No model is refused for how it is called."""
    assert variant_fault(column_name("command", model)) is None
