"""What holds for every matrix: how many trials, in which order, and what their lineage says."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_agentbench.matrix.expand import expand
from pytest_agentbench.matrix.order import in_order
from pytest_agentbench.model.task import JsonValue, Position, SettingsLayer, TaskSpec
from pytest_agentbench.model.trial import TrialSpec
from pytest_agentbench.model.variant import Experiment, Variant

VALUES: dict[str, st.SearchStrategy[JsonValue]] = {
    "repeats": st.integers(1, 4),
    "limits.time": st.floats(1, 100),
    "limits.workspace": st.integers(1, 100),
    "reveal": st.sampled_from(["verdict", "reasons", "full"]),
    "sandbox.driver": st.sampled_from(["auto", "local", "bubblewrap"]),
    "sandbox.cpus": st.floats(0.1, 9),
    "sandbox.env.A": st.text(max_size=3),
    "sandbox.env.B": st.text(max_size=3),
}
layers: st.SearchStrategy[dict[str, JsonValue]] = st.fixed_dictionaries({}, optional=VALUES)
SHOWN = {
    "limits.time": lambda trial: trial.limits.time_s,
    "limits.workspace": lambda trial: trial.limits.workspace_bytes,
    "reveal": lambda trial: trial.reveal,
    "sandbox.driver": lambda trial: trial.sandbox.driver,
    "sandbox.cpus": lambda trial: trial.sandbox.cpus,
    "sandbox.env.A": lambda trial: trial.sandbox.env.get("A"),
    "sandbox.env.B": lambda trial: trial.sandbox.env.get("B"),
}


def task(name: str, layer: SettingsLayer) -> TaskSpec:
    """A task with that id and layer."""
    return TaskSpec(name, Position(Path("/tasks/t.yaml"), 1), "p", (), "", layer=layer)


def variant(name: str, layer: SettingsLayer) -> Variant:
    """A variant with that name and layer."""
    return Variant(name, "noop", layer=layer)


matrices = st.tuples(
    st.lists(layers, max_size=4), st.lists(layers, max_size=3), layers, layers, layers
)
Matrix = tuple[
    list[dict[str, JsonValue]],
    list[dict[str, JsonValue]],
    dict[str, JsonValue],
    dict[str, JsonValue],
    dict[str, JsonValue],
]


def trials_of(matrix: Matrix) -> list[TrialSpec]:
    """All trials of a session, as they are collected: task by task."""
    of_tasks, of_variants, defaults, ini, command_line = matrix
    variants = tuple(variant(f"v{9 - n}", layer) for n, layer in enumerate(of_variants))
    return [
        trial
        for n, layer in enumerate(of_tasks)
        for trial in expand(
            task(f"t{9 - n}", layer), Experiment(variants, defaults), command_line, ini=ini
        )
    ]


def nearest(path: str, *from_the_lowest: SettingsLayer) -> JsonValue:
    """What the last layer that has a path says."""
    return next((layer[path] for layer in reversed(from_the_lowest) if path in layer), None)


@settings(deadline=None, max_examples=80)
@given(matrices)
def test_every_task_by_every_variant_as_often_as_asked(matrix: Matrix) -> None:
    """The number of trials is the sum of the repeats of all pairs, and no key is there twice."""
    of_tasks, of_variants, defaults, ini, command_line = matrix
    trials = trials_of(matrix)
    expected = {
        (f"t{9 - t}", f"v{9 - v}"): nearest("repeats", defaults, one, other, ini, command_line) or 1
        for t, one in enumerate(of_tasks)
        for v, other in enumerate(of_variants)
    }
    assert Counter((trial.task.id, trial.variant.name) for trial in trials) == expected
    assert len({trial.key for trial in trials}) == len(trials)


@settings(deadline=None, max_examples=80)
@given(matrices)
def test_repeat_then_task_then_variant(matrix: Matrix) -> None:
    """A session's order is total, keeps the order of files, and sorting again changes nothing."""
    trials = trials_of(matrix)
    ordered = in_order(trials)
    assert Counter(trial.key for trial in ordered) == Counter(trial.key for trial in trials)
    # Tasks and variants are named downwards: their order is that of the files, not of names.
    ranks = [
        (trial.repeat, -int(trial.task.id[1:]), -int(trial.variant.name[1:])) for trial in ordered
    ]
    assert ranks == sorted(set(ranks))
    assert in_order(ordered) == ordered
    first = [trial for trial in ordered if trial.repeat == 1]
    assert list(ordered[: len(first)]) == first


@settings(deadline=None, max_examples=80)
@given(matrices, st.sampled_from(sorted(SHOWN)))
def test_the_lineage_is_true(matrix: Matrix, path: str) -> None:
    """The layer that is named gives the value: without it there, another layer is named."""
    of_tasks, of_variants, defaults, ini, command_line = matrix
    if not of_tasks or not of_variants:
        return
    at = {
        "experiment": defaults,
        "task": of_tasks[0],
        "variant": of_variants[0],
        "ini file": ini,
        "command line": command_line,
    }
    one: Matrix = ([of_tasks[0]], [of_variants[0]], defaults, ini, command_line)
    trial = trials_of(one)[0]
    giver = trial.lineage.get(path, "built-in")
    if giver == "built-in":
        assert not any(path in layer for layer in at.values())
        return
    assert SHOWN[path](trial) == at[giver][path]
    value = at[giver].pop(path)
    without = trials_of(one)[0]
    at[giver][path] = value
    order = list(at)
    assert without.lineage.get(path, "built-in") in ["built-in", *order[: order.index(giver)]]


@settings(deadline=None, max_examples=80)
@given(matrices, st.data())
def test_variants_do_not_see_each_other(matrix: Matrix, data: st.DataObject) -> None:
    """Without some of the variants and tasks, the trials of the others are what they were."""
    of_tasks, of_variants, defaults, ini, command_line = matrix
    names = [f"v{9 - n}" for n in range(len(of_variants))]
    kept = data.draw(st.sets(st.sampled_from(names)) if names else st.just(set()))
    experiment = Experiment(
        tuple(variant(name, layer) for name, layer in zip(names, of_variants, strict=True)),
        defaults,
    )
    fewer = replace(
        experiment, variants=tuple(one for one in experiment.variants if one.name in kept)
    )
    for n, layer in enumerate(of_tasks):
        one = task(f"t{n}", layer)
        all_of_them = expand(one, experiment, command_line, ini=ini)
        assert expand(one, fewer, command_line, ini=ini) == tuple(
            trial for trial in all_of_them if trial.variant.name in kept
        )
