"""Tasks × variants × repeats, and their order."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_agentbench.matrix.expand import Expansion, expand, repeats_lowered, trials
from pytest_agentbench.matrix.order import SessionOrder, in_order
from pytest_agentbench.model.outcome import Reason
from pytest_agentbench.model.task import JsonValue, Position, SandboxSpec, SettingsLayer, TaskSpec
from pytest_agentbench.model.trial import Exclusion
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


def test_the_ini_file_lies_below_the_command_line() -> None:
    """Both lie over the variant, each is named in the lineage."""
    experiment = Experiment((variant("a", {"limits.time": 3, "repeats": 3}),))
    ini: SettingsLayer = {"limits.time": 4, "repeats": 1, "sandbox.driver": "local"}
    (trial,) = expand(task("t"), experiment, {"limits.time": 5}, ini=ini)
    assert (trial.limits.time_s, trial.sandbox.driver) == (5.0, "local")
    lineage = trial.lineage
    assert [lineage[path] for path in ("repeats", "limits.time", "sandbox.driver")] == [
        "ini file",
        "command line",
        "ini file",
    ]


def test_settings_of_the_agent_change_every_variant() -> None:
    """Model and environment are replaced, options merged in depth, and the lineage says by whom."""
    one = Variant(
        "one", "noop", model="m", options={"deep": {"a": 1, "b": 2}, "list": [1]}, env={"A": "1"}
    )
    two = Variant("two", "noop")
    command_line: SettingsLayer = {
        "model": "n",
        "options.deep.b": 3,
        "options.deep.c.d": 4,
        "options.list": [],
        "env.B": "2",
    }
    first, second = expand(
        task("t"), Experiment((one, two)), command_line, ini={"env.B": "0", "env.C": "3"}
    )
    assert first.variant == Variant(
        "one",
        "noop",
        model="n",
        options={"deep": {"a": 1, "b": 3, "c": {"d": 4}}, "list": []},
        env={"A": "1", "B": "2", "C": "3"},
    )
    assert second.variant == Variant(
        "two",
        "noop",
        model="n",
        options={"deep": {"b": 3, "c": {"d": 4}}, "list": []},
        env={"B": "2", "C": "3"},
    )
    ours = {
        path: layer
        for path, layer in first.lineage.items()
        if path.startswith(("model", "options.", "env."))
    }
    assert ours == {
        "model": "command line",
        "options.deep": "variant",
        "options.deep.b": "command line",
        "options.deep.c.d": "command line",
        "options.list": "command line",
        "env.A": "variant",
        "env.B": "command line",
        "env.C": "ini file",
    }
    assert "options.deep" not in second.lineage, "no variant has given it"


def test_a_template_that_fails_is_a_fault_of_its_trials_alone() -> None:
    """Each variant's template is rendered by itself; the others' prompts stay the task's."""
    plain = variant("plain")
    wrapped = replace(variant("wrapped"), prompt_template="Please: {{ task.prompt }}")
    broken = replace(variant("broken"), prompt_template="{{ task.tags[5] }}")
    empty = replace(variant("empty"), prompt_template="{{ task.description }}")
    trials = expand(task("t"), Experiment((plain, wrapped, broken, empty)), {})
    assert [trial.prompt for trial in trials] == ["p", "Please: p", "p", "p"]
    assert [trial.rendered for trial in trials] == [None, "Please: p", None, None]
    faults = [trial.fault for trial in trials]
    assert faults[:2] == [None, None]
    assert str(faults[2]).startswith("variant broken: the prompt template fails for this task: ")
    assert faults[3] == "variant empty: the prompt template makes nothing of this task"


def test_exclusions_are_asked_for_each_variant_s_walls() -> None:
    """Whoever decides is told the sandbox that the trial would have."""
    asked = []

    def exclude(walls: SandboxSpec) -> Exclusion | None:
        asked.append(walls.driver)
        return Exclusion(Reason.PLATFORM, "no") if walls.driver == "local" else None

    experiment = Experiment((variant("a"), variant("b", {"sandbox.driver": "local"})))
    trials = expand(task("t", {"repeats": 2}), experiment, {}, exclusion=exclude)
    assert asked == ["auto", "local"]
    assert [(trial.parameter, trial.exclusion is not None) for trial in trials] == [
        ("a-r1", False),
        ("b-r1", True),
        ("a-r2", False),
        ("b-r2", True),
    ]


def test_lowered_repeats() -> None:
    """Only a command line that takes a repeat away from some variant has lowered them."""
    experiment = Experiment((variant("a", {"repeats": 3}), variant("b")), {"repeats": 2})
    assert [
        repeats_lowered(task("t"), experiment, layer, {})
        for layer in ({}, {"repeats": 4}, {"repeats": 3}, {"repeats": 2})
    ] == [False, False, False, True]
    configured = {"repeats": 1}
    assert not repeats_lowered(task("t"), experiment, {"repeats": 1}, configured)
    assert repeats_lowered(task("t", {"repeats": 5}), Experiment((variant("b"),)), configured, {})


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


def test_trials_are_made_when_asked_for() -> None:
    """What is made late is what ``expand`` makes at once; a head tells the same of each."""
    experiment = Experiment((variant("a"), variant("b", {"repeats": 3})))
    at_once = expand(task("t", {"repeats": 2}), experiment, {})
    late = trials(task("t", {"repeats": 2}), experiment, {})
    assert tuple(late) == at_once == late[:]
    assert (late[-1], late[1:3]) == (at_once[-1], at_once[1:3])
    heads = [late.head(index) for index in range(len(late))]
    assert [head.key for head in heads] == [trial.key for trial in at_once]
    assert list(map(SessionOrder(heads).key, heads)) == list(
        map(SessionOrder(at_once).key, at_once)
    )


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


PATHS = ("repeats", "limits.time", "model", "env.A", "options.x", "options.y.z")
LAYERS = ("experiment", "task", "variant", "ini file", "command line")
numbers = st.dictionaries(st.sampled_from(PATHS), st.integers(1, 9), max_size=len(PATHS))


@settings(deadline=None, max_examples=100)
@given(st.fixed_dictionaries(dict.fromkeys(LAYERS, numbers)), st.randoms())
def test_the_nearest_layer_wins_and_is_named(
    given_layers: dict[str, dict[str, int]], shuffle: random.Random
) -> None:
    """For every path, in whatever order its layers were filled, also for what is the agent's."""
    layers: dict[str, dict[str, JsonValue]] = {}
    for name, layer in given_layers.items():
        agents = name not in ("experiment", "task")
        pairs = [(path, value) for path, value in layer.items() if path in PATHS[:2] or agents]
        shuffle.shuffle(pairs)
        layers[name] = {p: str(v) if p in ("model", "env.A") else v for p, v in pairs}
    own = layers["variant"]
    one = Variant(
        "v",
        "noop",
        model=own.get("model"),  # type: ignore[arg-type]
        options={
            **({"x": own["options.x"]} if "options.x" in own else {}),
            **({"y": {"z": own["options.y.z"]}} if "options.y.z" in own else {}),
        },
        env={"A": str(own["env.A"])} if "env.A" in own else {},
        layer={path: own[path] for path in PATHS[:2] if path in own},
    )
    trials = expand(
        task("t", layers["task"]),
        Experiment((one,), layers["experiment"]),
        layers["command line"],
        ini=layers["ini file"],
    )
    trial = trials[-1]
    y = trial.variant.options.get("y", {})
    found: dict[str, object] = {
        "repeats": len(trials),
        "limits.time": trial.limits.time_s,
        "model": trial.variant.model,
        "env.A": trial.variant.env.get("A"),
        "options.x": trial.variant.options.get("x"),
        "options.y.z": y.get("z") if isinstance(y, dict) else None,
    }
    for path in PATHS:
        setters = [(name, layers[name][path]) for name in LAYERS if path in layers[name]]
        if setters:
            name, value = setters[-1]
            assert found[path] == value
            shown = "options.y" if (path, name) == ("options.y.z", "variant") else path
            assert trial.lineage[shown] == name
        else:
            assert trial.lineage.get(path, "built-in") == "built-in"


def test_tasks_share_what_they_have_in_common() -> None:
    """Tasks with equal settings share them; other settings, and what is a task's own, differ."""
    experiment = Experiment((variant("a"), variant("b", {"limits.time": 5.0})))
    expansion = Expansion(experiment, {})
    first, second = (expansion.trials(task(name, {"repeats": 2})) for name in ("t", "u"))
    assert first.columns is second.columns
    assert [trial.key for trial in second] == ["u[a-r1]", "u[b-r1]", "u[a-r2]", "u[b-r2]"]
    other = expansion.trials(task("v", {"repeats": 2, "limits.time": 7.0}))
    assert [trial.limits.time_s for trial in other[:2]] == [7.0, 5.0]
    out = Exclusion(Reason.SKIP, "not here")
    left_out = expansion.trials(task("w", {"repeats": 2}), exclusion=lambda _: out)
    assert {trial.exclusion for trial in left_out} == {out}
    assert {trial.exclusion for trial in first} == {None}
