"""Settings resolved from layers."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_agentbench.errors import UsageError
from pytest_agentbench.matrix.layers import SETTINGS, resolve
from pytest_agentbench.model.task import JsonValue, Limits, SandboxSpec

VALUES = {
    "repeats": st.integers(1, 1000),
    "limits.time": st.floats(0.001, 1e6),
    "limits.workspace": st.integers(1, 1 << 40),
    "reveal": st.sampled_from(["verdict", "reasons", "full"]),
    "sandbox.driver": st.sampled_from(["auto", "local"]),
    "sandbox.network": st.sampled_from(["auto", "none", "full"]),
    "sandbox.memory": st.integers(1, 1 << 40),
    "sandbox.cpus": st.floats(0.01, 64),
    "sandbox.pids": st.integers(1, 4096),
    "sandbox.python": st.just("/usr/bin/python3"),
    "sandbox.read_only": st.lists(st.just("/opt")),
    "sandbox.env.A": st.text(),
    "sandbox.env.B": st.text(),
}
layers = st.lists(
    st.tuples(st.text(min_size=1), st.fixed_dictionaries({}, optional=VALUES)), max_size=5
)


def test_built_in() -> None:
    """Without layers the built-in values hold, and say so."""
    resolved = resolve([])
    assert resolved.limits == Limits()
    assert resolved.sandbox == SandboxSpec()
    assert resolved.repeats == 1
    assert resolved.lineage == dict.fromkeys(SETTINGS, "built-in")


def test_all_settings() -> None:
    """Each path arrives where a trial looks for it."""
    resolved = resolve(
        [
            (
                "task",
                {
                    "repeats": 2,
                    "limits.time": 5,
                    "limits.workspace": 6,
                    "reveal": "full",
                    "sandbox.driver": "local",
                    "sandbox.network": "none",
                    "sandbox.memory": 1,
                    "sandbox.cpus": 2,
                    "sandbox.pids": 3,
                    "sandbox.python": "/p",
                    "sandbox.read_only": ["/a"],
                    "sandbox.env.X": "y",
                },
            )
        ]
    )
    assert resolved.limits == Limits(5.0, 6)
    assert (resolved.repeats, resolved.reveal) == (2, "full")
    assert resolved.sandbox == SandboxSpec(
        "local", "none", 1, 2.0, 3, {"X": "y"}, Path("/p"), (Path("/a"),)
    )


@settings(deadline=None, max_examples=60)
@given(layers)
def test_last_layer_wins(given_layers: list[tuple[str, dict[str, object]]]) -> None:
    """Each value is that of the last layer that sets it, and its lineage names that layer."""
    resolved = resolve(given_layers)  # type: ignore[arg-type]
    for path in VALUES:
        setters = [(name, layer[path]) for name, layer in given_layers if path in layer]
        if setters:
            assert (resolved.lineage[path], resolved.values[path]) == setters[-1]
        elif path in SETTINGS:
            assert resolved.lineage[path] == "built-in"
        else:
            assert path not in resolved.values
    assert resolved.values.keys() == resolved.lineage.keys()


@settings(deadline=None, max_examples=60)
@given(layers, layers)
def test_layers_compose(
    low: list[tuple[str, dict[str, JsonValue]]], high: list[tuple[str, dict[str, JsonValue]]]
) -> None:
    """Resolving is laying over: what the high layers set does not depend on the low ones."""
    both, only = resolve([*low, *high]), resolve(high)
    for path, name in only.lineage.items():
        if name != "built-in":
            assert both.values[path] == only.values[path]


@pytest.mark.parametrize(
    ("layer", "expected"),
    [
        ({"limits.tme": 1}, "x: unknown setting 'limits.tme'; did you mean 'limits.time'?"),
        (
            {"sandbox.env.": "a"},
            "x: unknown setting 'sandbox.env.'; did you mean 'sandbox.env.NAME'?",
        ),
        ({"repeats": True}, "x: repeats must be a whole number from 1 to 1000, not True"),
        ({"repeats": 0}, "x: repeats must be a whole number from 1 to 1000, not 0"),
        ({"limits.time": "5m"}, "x: limits.time must be seconds above 0, not '5m'"),
        ({"limits.time": float("nan")}, "x: limits.time must be seconds above 0, not nan"),
        (
            {"sandbox.network": "lan"},
            "x: sandbox.network must be one of auto, full, none, not 'lan'",
        ),
        ({"sandbox.env.A": 1}, "x: sandbox.env.A must be text, not 1"),
    ],
)
def test_wrong_layers(layer: dict[str, object], expected: str) -> None:
    """A path that is not known and a value of the wrong type name their layer."""
    with pytest.raises(UsageError) as caught:
        resolve([("x", layer)])  # type: ignore[list-item]
    assert str(caught.value) == expected
