"""Durations and sizes as people write them. Pure."""

from __future__ import annotations

import re

_DURATION = re.compile(
    r"(?:(?P<h>\d+(?:\.\d+)?)h)?(?:(?P<m>\d+(?:\.\d+)?)m)?"
    r"(?:(?P<s>\d+(?:\.\d+)?)s)?(?:(?P<ms>\d+)ms)?"
)
_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_SIZE = re.compile(r"(?P<number>\d+(?:\.\d+)?)(?P<unit>[kmgt]?)(?:i?b)?", re.IGNORECASE)
_BYTES = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}

LONGEST_S = 366 * 24 * 3600.0
"""Longer times overflow some clocks, and nobody waits for them."""


def seconds(value: object) -> float:
    """Seconds of ``10m``, ``90s``, ``1h30m``, ``500ms``; a bare number is seconds.

    Raises ``ValueError`` with a message for people.
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        found = float(value)
    elif isinstance(value, str):
        match = _DURATION.fullmatch(value.replace(" ", ""))
        if match is None or not match[0]:
            raise ValueError(f"{value!r} is not a time; write it like 10m, 90s, 1h30m or 500ms")
        found = sum(float(part) * _SECONDS[unit] for unit, part in match.groupdict("0").items())
    else:
        # pydantic makes no problem of a TypeError.
        raise ValueError(  # noqa: TRY004
            "must be a time like 10m, 90s, 1h30m or 500ms"
        )
    if not 0 < found <= LONGEST_S:
        raise ValueError("must be a time above 0 and of a year at most")
    return found


def size_bytes(value: object) -> int:
    """Bytes of ``1g``, ``500m``, ``64k`` (powers of 1024); a bare number is bytes.

    Raises ``ValueError`` with a message for people.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        found = value
    elif isinstance(value, str):
        match = _SIZE.fullmatch(value.replace(" ", ""))
        if match is None:
            raise ValueError(f"{value!r} is not a size; write it like 1g, 500m or 64k")
        found = int(float(match["number"]) * _BYTES[match["unit"].lower()])
    else:
        raise ValueError("must be a size like 1g, 500m or 64k")  # noqa: TRY004 - as above
    if not 0 < found < 1 << 63:
        raise ValueError("must be a size above 0 and below 8 exabytes")
    return found
