"""What leaves the harness as text: without secrets, and harmless to whoever shows it.

The one chokepoint: what is stored or shown passes through ``Redactor``, and text
that an agent or an oracle wrote passes through ``printable`` before it reaches a
terminal, an XML file or another process.

Pure: strings and bytes in, strings and bytes out.
"""

from __future__ import annotations

import base64
import json
import re
from typing import TYPE_CHECKING
from urllib.parse import quote, quote_plus

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MARK = "[redacted]"

MIN_SECRET_LENGTH = 6
"""Shorter values (``true``, ``8080``, ``en``) occur everywhere by chance: replacing
them would riddle every report with marks, and the marks would tell nobody a secret
apart from a word."""

_MIN_LINE_LENGTH = 16

_LAST_CONTROL = 0x9F


class Redactor:
    """Replaces secrets, and their usual encodings, by ``[redacted]``.

    A guard against accidents (a tool that prints its environment, a request that
    is logged), not against an agent that wants to smuggle a secret out: that one
    can always spell it backwards.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        forms = {form for secret in secrets for form in _forms(secret)}
        # The longest first: where one secret begins another, no tail may stay behind.
        ordered = sorted(forms, key=lambda form: (-len(form), form))
        self._texts = tuple(ordered)
        self._bytes = tuple(_encoded(form) for form in ordered)

    def text(self, text: str) -> str:
        """``text`` without the secrets."""
        for form in self._texts:
            text = text.replace(form, MARK)
        return text

    def bytes(self, data: bytes) -> bytes:
        """``data`` without the secrets in UTF-8; all other bytes stay as they are."""
        mark = MARK.encode()
        for form in self._bytes:
            data = data.replace(form, mark)
        return data


def _forms(secret: str) -> Iterator[str]:
    for value in {secret, secret.strip()}:
        if len(value) >= MIN_SECRET_LENGTH:
            yield value
            yield json.dumps(value)[1:-1]
            yield json.dumps(value, ensure_ascii=False)[1:-1]
            raw = _encoded(value)
            yield quote(raw)
            yield quote(raw, safe="")
            yield quote_plus(raw)
            yield from _base64_forms(raw)
    lines = [line.strip() for line in secret.splitlines()]
    if len(lines) > 1:
        # A key of several lines is shown indented, or with other line ends, as often as not.
        yield from (line for line in lines if len(line) >= _MIN_LINE_LENGTH)


def _encoded(text: str) -> bytes:
    """UTF-8, with the raw bytes that an environment variable may hold put back."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def _base64_forms(raw: bytes) -> Iterator[str]:
    """The secret in base64 by itself, and as it looks within something longer.

    ``user:secret`` in a Basic header is encoded as one: the secret then starts at
    any of three places in a group of three bytes. The characters that it shares
    with its neighbours are left out.
    """
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        yield encode(raw).decode().rstrip("=")
        for shift in range(3):
            whole = encode(bytes(shift) + raw).decode().rstrip("=")
            shared_tail = 1 if (shift + len(raw)) % 3 else 0
            core = whole[(0, 2, 3)[shift] : len(whole) - shared_tail]
            if len(core) >= MIN_SECRET_LENGTH:
                yield core


_ESCAPE_SEQUENCES = re.compile(
    r"\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)"  # strings with an end: titles, links
    r"|\x1b\[[0-?]*[ -/]*[@-~]"  # colours, cursor movements
    r"|\x1b[ -/]*[0-~]"  # two or three characters: character sets, resets
)

_UNPRINTABLE = re.compile(
    "["
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # controls but tab and line feed
    "\u2028\u2029"  # line ends for some readers only
    "\u202a-\u202e\u2066-\u2069"  # text that shows in another order than it has
    "\ud800-\udfff\ufffe\uffff"  # no characters, forbidden in XML and UTF-8
    "]"
)


def printable(text: str, limit: int | None = None) -> str:
    r"""``text`` made safe for terminals, XML and worker channels, at most ``limit`` characters.

    Escape sequences are dropped, line ends become line feeds, and what no reader
    may get raw (controls but tab and line feed, lone surrogates, changes of
    direction) is spelled out as ``\x07`` or ``\udc80``.
    """
    if not (text.isascii() and text.isprintable()):
        text = _ESCAPE_SEQUENCES.sub("", text)
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        text = _UNPRINTABLE.sub(_spell_out, text)
    if limit is not None and len(text) > limit:
        return text[: max(limit - 3, 0)] + "..."[:limit]
    return text


def _spell_out(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\x{code:02x}" if code <= _LAST_CONTROL else f"\\u{code:04x}"
