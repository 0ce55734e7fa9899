"""Tasks × variants × repeats, and their order."""

from __future__ import annotations

import random
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_agentbench.matrix.expand import expand
from pytest_agentbench.matrix.order import SessionOrder, in_order
from pytest_agentbench.model.task import Position, SettingsLayer, TaskSpec
from pytest_agentbench.model.variant import Experiment, Variant


def task(name: str, layer: SettingsLayer | None = None) -> TaskSpec:
    """A task with that id and layer."""
    return TaskSpec(
        id=name,
        position=Position(Path("/tasks") / f"{name}.yaml", 1),
        prompt="p",
        oracles=(),
        digest="",
        layer=layer or {},
    )


def variant(name: str, layer: SettingsLayer | None = None) -> Variant:
    """A variant with that name and layer."""
    return Variant(name, "noop", layer=layer or {})


def test_order_and_layers() -> None:
    """Trials come by repeat, then by variant; each layer lies over the ones before it."""
    experiment = Experiment(
        (variant("z"), variant("a", {"repeats": 1, "limits.time": 3})),
        {"repeats": 2, "limits.time": 1, "sandbox.driver": "local"},
    )
    trials = expand(task("t", {"limits.time": 2}), experiment, {"sandbox.driver": "auto"})
    assert [trial.key for trial in trials] == ["t[z-r1]", "t[a-r1]", "t[z-r2]"]
    assert [trial.limits.time_s for trial in trials] == [2.0, 3.0, 2.0]
    assert {trial.sandbox.driver for trial in trials} == {"auto"}
    lineage = trials[1].lineage
    assert [lineage[path] for path in ("repeats", "limits.time", "sandbox.driver")] == [
        "variant",
        "variant",
        "command line",
    ]
    assert trials[0].lineage["limits.time"] == "task"
    assert trials[0].lineage["repeats"] == "experiment"


def test_no_variants() -> None:
    """Without variants there are no trials."""
    assert expand(task("t"), Experiment(()), {}) == ()


repeats = st.lists(st.integers(1, 5), max_size=4)


@settings(deadline=None, max_examples=60)
@given(repeats)
def test_every_trial_once(counts: list[int]) -> None:
    """Each variant is tried as often as it says, counted from 1, no key twice."""
    variants = [variant(f"v{index}", {"repeats": count}) for index, count in enumerate(counts)]
    trials = expand(task("t"), Experiment(tuple(variants)), {})
    assert len({trial.key for trial in trials}) == len(trials) == sum(counts)
    for one, count in zip(variants, counts, strict=True):
        assert [t.repeat for t in trials if t.variant is one] == list(range(1, count + 1))


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(1, 3), max_size=4), st.integers(1, 3), st.randoms())
def test_session_order(counts: list[int], columns: int, shuffle: random.Random) -> None:
    """A session tries every task once, with all variants, before it tries one twice."""
    experiment = Experiment(tuple(variant(f"v{9 - index}") for index in range(columns)))
    collected = [
        trial
        for index, count in enumerate(counts)
        for trial in expand(task(f"t{9 - index}", {"repeats": count}), experiment, {})
    ]
    order = SessionOrder(collected)
    mixed = list(collected)
    shuffle.shuffle(mixed)
    assert tuple(sorted(mixed, key=order.key)) == in_order(collected)
    keys = [order.key(trial) for trial in in_order(collected)]
    assert keys == sorted(set(keys))
    assert [key[0] for key in keys] == sorted(key[0] for key in keys)
