from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_agentbench.model.task import JsonValue
from pytest_agentbench.oracles.files_judging import miss, same_json


@pytest.mark.parametrize(
    ("key", "wanted", "text"),
    [
        ("equals", "a\nb\n", "a\nb\n"),
        ("equals", "a\nb\n", "a\r\nb\r\n"),
        ("equals", "a\r\nb", "a\rb"),
        ("equals", "", ""),
        ("contains", "Usage", "# Usage\n"),
        ("contains", ["a", "b\nc"], "b\r\nc a"),
        ("matches", "^version: 2$", "name: x\nversion: 2\n"),
        ("matches", r"(?s)a.*z", "a\n\nz"),
        ("json_schema", {"type": "object", "required": ["a"]}, '{"a": 1}'),
        ("json_schema", {"$defs": {"n": {"type": "integer"}}, "$ref": "#/$defs/n"}, "3"),
        ("json", {"a": 1}, '{"a": 1.0, "b": 2}'),
        ("json", {"a.b.1.c": [True, None]}, '{"a": {"b": [0, {"c": [true, null]}]}}'),
    ],
)
def test_expectations_that_are_met(key: str, wanted: JsonValue, text: str) -> None:
    """Each kind of expectation on a text that meets it; ends of line are LF on both sides."""
    assert miss(key, wanted, text) is None


@pytest.mark.parametrize(
    ("key", "wanted", "text", "why"),
    [
        ("equals", "a\nb\n", "a\nc\n", "line 2 is 'c' instead of 'b'"),
        ("equals", "a\n", "a\nb\n", "line 2 is 'b' instead of ''"),
        ("equals", "a", "a\n", "goes on after line 1, where it should end"),
        ("equals", "a\nb\nc", "a\nb", "ends after line 2 instead of line 3"),
        ("contains", "Usage", "usage", "does not contain 'Usage'"),
        ("contains", ["a", "x", "y"], "a", "does not contain 'x'"),
        ("contains", "x" * 100, "", f"does not contain '{'x' * 59}…"),
        ("matches", "^b", "ab", "does not match '^b'"),
        ("json_schema", {"type": "object"}, "[]", "$: [] is not of type 'object'"),
        (
            "json_schema",
            {"properties": {"a": {"maximum": 3}}},
            '{"a": 4}',
            "$.a: 4 is greater than the maximum of 3",
        ),
        ("json_schema", {}, "nope", "is not JSON: Expecting value: line 1 column 1 (char 0)"),
        ("json", {"a": 1}, "", "is not JSON: Expecting value: line 1 column 1 (char 0)"),
        ("json", {"a": 1}, '{"a": NaN}', "is not JSON: NaN is no JSON number"),
        ("json", {"a": 1}, "[" * 100_000, "is JSON that is nested too deep"),
        ("json", {"a": 1}, "{}", "has no a"),
        ("json", {"a.2": 1}, '{"a": [1, 2]}', "has no a.2"),
        ("json", {"a.-1": 2}, '{"a": [1, 2]}', "has no a.-1"),
        ("json", {"a.b": 1}, '{"a": "b"}', "has no a.b"),
        ("json", {"a": 1}, '{"a": true}', "a is true instead of 1"),
        ("json", {"a": 1}, '{"a": "1"}', 'a is "1" instead of 1'),
        ("json", {"a": [1]}, '{"a": [1, 2]}', "a is [1, 2] instead of [1]"),
        ("json", {"a": {"b": 1}}, '{"a": {"b": 1, "c": 2}}', ('a is {"b": 1, "c": 2} instead of '
         '{"b": 1}')),
    ],
)  # fmt: skip
def test_expectations_that_are_not_met(key: str, wanted: JsonValue, text: str, why: str) -> None:
    """Each kind of miss says what is there, and what should be."""
    if key == "json" and why.startswith('a is "1"'):
        why = "a is '1' instead of 1"
    assert miss(key, wanted, text) == why


def test_schemas_never_reach_for_the_network() -> None:
    """A reference to elsewhere is a miss, not a download."""
    why = miss("json_schema", {"$ref": "https://example.invalid/schema.json"}, "{}")
    assert why is not None
    assert why.startswith("cannot be held against the schema: ")
    assert "example.invalid" in why


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(json_values)
def test_a_value_is_itself(value: JsonValue) -> None:
    """Equality of JSON values is reflexive."""
    assert same_json(value, value)


@given(json_values, json_values)
def test_equality_is_never_wider_than_pythons(one: JsonValue, other: JsonValue) -> None:
    """What Python holds for different is different; equality is symmetric."""
    assert same_json(one, other) == same_json(other, one)
    if same_json(one, other):
        assert one == other


@pytest.mark.parametrize("pair", [(1, True), (0, False), ([1], [True]), ({"a": 0}, {"a": False})])
def test_true_is_no_number(pair: tuple[JsonValue, JsonValue]) -> None:
    """Python's ``True == 1`` does not hold in JSON, at any depth."""
    assert not same_json(*pair)
