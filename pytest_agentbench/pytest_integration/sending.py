"""Reports on their way from an xdist worker: half a character would end the whole session."""

from __future__ import annotations


def sendable(value: object) -> object:
    r"""Report data whose texts are all UTF-8: a lone surrogate is spelled out as ``\udc80``.

    A test that shows what an agent said, or a fixture that reads what it left, may put
    one into its message.
    """
    match value:
        case str():
            plain = value.isascii()
            return value if plain else value.encode("utf-8", "backslashreplace").decode()
        case dict():
            return {sendable(key): sendable(one) for key, one in value.items()}
        case list():
            return [sendable(one) for one in value]
        case tuple():
            return tuple(sendable(one) for one in value)
        case _:
            return value
