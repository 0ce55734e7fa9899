"""Settings of the command line: paths with YAML values, checked like those of a file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_agentbench.errors import UsageError
from pytest_agentbench.matrix.agentside import is_agent_path
from pytest_agentbench.matrix.layers import ENV_PREFIX, SETTINGS, resolve
from pytest_agentbench.model.task import JsonValue, SettingsLayer
from pytest_agentbench.settings import Assignment
from pytest_agentbench.taskfiles.assignments import known_paths, read_assignments

KNOWN = (
    "known: env.NAME, limits.time, limits.workspace, model, options.NAME, repeats, reveal,"
    " sandbox.build, sandbox.cpus, sandbox.driver, sandbox.env.NAME, sandbox.image,"
    " sandbox.memory, sandbox.mounts, sandbox.network, sandbox.pids, sandbox.platform,"
    " sandbox.pull, sandbox.python, sandbox.read_only, sandbox.scoring, sandbox.user,"
    " sandbox.workdir"
)
BASE = Path("/project")

texts = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\x85\u2028\u2029\ufeff"),
    min_size=1,
)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(1 << 60), 1 << 60) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)


def read(*written: str) -> SettingsLayer:
    """The layer of texts like ``path=value``."""
    return read_assignments(
        [
            Assignment(path, text, f"--agentbench-set={path}={text}", BASE)
            for path, _, text in (one.partition("=") for one in written)
        ]
    )


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("limits.time=5m", 300.0),
        ("limits.workspace=1m", 1 << 20),
        ("repeats=3", 3),
        ("reveal=full", "full"),
        ("sandbox.memory=1g", 1 << 30),
        ("sandbox.cpus=2", 2.0),
        ("sandbox.network=none", "none"),
        ("sandbox.python=.venv/bin/python", "/project/.venv/bin/python"),
        ("sandbox.read_only=[/opt/../opt/tool]", ["/opt/tool"]),
        ("sandbox.env.LANG=C.UTF-8", "C.UTF-8"),
        ("model=gpt-5", "gpt-5"),
        ("env.KEY=${KEY}", "${KEY}"),
        ("options.effort=high", "high"),
        ("options.deep.er=[1, {a: on}]", [1, {"a": "on"}]),
        ("options.text=012", "012"),
        ("options.mapping=a: 1\nb: 2", {"a": 1, "b": 2}),
        ("options.block=|\n  one\n  two", "one\ntwo\n"),
        ("options.nothing=", None),
    ],
)
def test_values_are_read_as_in_a_file(written: str, expected: JsonValue) -> None:
    """Units, our YAML and paths relative to where they were written."""
    assert read(written) == {written.partition("=")[0]: expected}


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("limits.tme=5m", f"unknown setting 'limits.tme'; did you mean 'limits.time'? {KNOWN}"),
        ("colour=red", f"unknown setting 'colour'; {KNOWN}"),
        (
            "limits.time=soon",
            "'limits.time': 'soon' is not a time; write it like 10m, 90s, 1h30m or 500ms",
        ),
        ("limits.time=", "'limits.time' has no value"),
        ("repeats=many", "'repeats' must be a whole number, not text"),
        ("repeats=0", "'repeats' must be at least 1, not 0"),
        ("reveal=ful", "unknown reveal 'ful'; did you mean 'full'?"),
        ("sandbox.driver=dokcer", "unknown sandbox 'dokcer'; did you mean 'docker'?"),
        (
            "sandbox.read_only=/opt",
            "'sandbox.read_only' must be a list, not text. Try: brackets around it",
        ),
        ("sandbox.env.A=1", "'sandbox.env.A' must be text, not a number. Try: quotes around it"),
        ("env.1A=x", "'1A' is not a name for an environment variable"),
        ("env.A.B=x", "'A.B' is not a name for an environment variable"),
        ("model=5", "'model' must be text, not a number. Try: quotes around it"),
        ("model=' '", "'model' is empty"),
        ("options.=x", "'options.' names nothing below 'options'"),
        ("options.a..b=x", "'options.a..b' names nothing below 'options'"),
        ("options.a=[1", "not valid YAML: did not find expected ',' or ']'"),
        ("options.a={a: 1, a: 2}", "duplicate key 'a'"),
    ],
)
def test_what_means_nothing_is_refused(written: str, expected: str) -> None:
    """The message names what was typed, and says what is wanted."""
    with pytest.raises(UsageError) as caught:
        read(written)
    assert str(caught.value) == f"--agentbench-set={written}: {expected}"


def test_bytes_that_are_no_text_are_refused() -> None:
    """What Python could not decode on the command line is spelled out in the message."""
    with pytest.raises(UsageError) as caught:
        read("env.A=\udcff")
    assert str(caught.value) == "--agentbench-set=env.A=\\udcff: holds bytes that are not UTF-8"


def test_plain_text_is_no_yaml() -> None:
    """The value of ``--agentbench-model`` is what was typed."""
    plain = Assignment("model", "4.1", "--agentbench-model=4.1", BASE, plain=True)
    assert read_assignments([plain]) == {"model": "4.1"}


def test_both_sides_know_the_same_paths() -> None:
    """What may be set is what trials are resolved from: no path is accepted and lost."""
    here = {path for path in known_paths() if not is_agent_path(path)}
    assert here == {*SETTINGS, f"{ENV_PREFIX}NAME"}


@given(values)
def test_any_value_survives_the_way_through_yaml(value: JsonValue) -> None:
    """JSON is YAML: what is written as JSON arrives as it was."""
    assert read(f"options.x={json.dumps(value, ensure_ascii=False)}") == {"options.x": value}


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "repeats": st.integers(1, 1000),
            "limits.time": st.integers(1, 10_000),
            "sandbox.pids": st.integers(1, 4096),
            "sandbox.env.A": texts,
            "reveal": st.sampled_from(["verdict", "reasons", "full"]),
        },
    ),
    st.randoms(),
)
def test_what_is_typed_is_what_is_resolved(layer: dict[str, JsonValue], shuffle: object) -> None:
    """In whatever order, each value arrives at its path, from the command line."""
    written = [f"{path}={json.dumps(value, ensure_ascii=False)}" for path, value in layer.items()]
    shuffle.shuffle(written)  # type: ignore[attr-defined]
    resolved = resolve([("command line", read(*written))])
    for path, value in layer.items():
        assert (resolved.values[path], resolved.lineage[path]) == (value, "command line")
