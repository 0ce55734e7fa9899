"""Durations and sizes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_agentbench.taskfiles.units import seconds, size_bytes


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10m", 600.0),
        ("90s", 90.0),
        ("1h30m", 5400.0),
        ("500ms", 0.5),
        ("1.5h", 5400.0),
        ("1m 30s", 90.0),
        (5, 5.0),
        (0.25, 0.25),
    ],
)
def test_seconds(text: object, expected: float) -> None:
    """Times are written with units, or as a bare number of seconds."""
    assert seconds(text) == expected


@pytest.mark.parametrize(
    "text", ["", "m", "10", "10 x", "-5s", "1s1h", "1e3s", "0", 0, -1, "999999h", True, None, []]
)
def test_no_seconds(text: object) -> None:
    """All else is no time; a text without a unit neither."""
    with pytest.raises(ValueError, match="time"):
        seconds(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1g", 1 << 30),
        ("500m", 500 << 20),
        ("64k", 65536),
        ("1.5K", 1536),
        ("2GiB", 2 << 30),
        (7, 7),
    ],
)
def test_sizes(text: object, expected: int) -> None:
    """Sizes count in powers of 1024, or are a bare number of bytes."""
    assert size_bytes(text) == expected


@pytest.mark.parametrize("text", ["", "g", "1x", "-1m", "0", "9999999t", 1.5, True, None])
def test_no_sizes(text: object) -> None:
    """All else is no size."""
    with pytest.raises(ValueError, match="size"):
        size_bytes(text)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 99), st.integers(0, 99), st.integers(0, 99))
def test_parts_add_up(hours: int, minutes: int, whole: int) -> None:
    """The parts of a time are added."""
    expected = hours * 3600 + minutes * 60 + whole
    if expected:
        assert seconds(f"{hours}h{minutes}m{whole}s") == expected
