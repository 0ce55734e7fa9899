"""What leaves the harness as text: without secrets, and harmless to whoever shows it.

The one chokepoint: what is stored or shown passes through ``Redactor``, and text
that an agent or an oracle wrote passes through ``printable`` before it reaches a
terminal, an XML file or another process. What counts as a secret is in ``credentials``.

Pure: strings and bytes in, strings and bytes out.
"""

from __future__ import annotations

import base64
import html
import json
import re
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import quote, quote_plus

from pytest_agentbench.credentials import MIN_SECRET_LENGTH, is_opaque, is_trivial, within

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_T = TypeVar("_T")

MARK = "[redacted]"

_MIN_LINE_LENGTH = 16
_LEAST_WRAPPED = 16
"""Shorter forms are not looked for across the ends of lines."""
_SHORT_TEXT = 1 << 16
_LEAST_PART = 4
"""Characters of a secret beside a place where something was cut that are taken for its part."""
_LEAST_END = 8
"""The same at the ends of a text, which may have been cut there without a mark."""

_LEAST_PIECE = 16
_GRAM = 8
"""Each piece of that length, wherever it begins, holds so many characters from a multiple of it."""

_LAST_CONTROL = 0x9F

_BREAK = r"['\"]?(?:(?:\\r)?\\n|\r?\n)[ \t]*(?:[+>|-][ \t]*)?(?:b?['\"])?"
"""An end of line within something long: that of a base64 tool or a terminal, one within a JSON
string, one in a patch, one that Python makes of a long text that it shows."""
_CUT = r"…|\[\.\.\. [\d,]+ bytes left out \.\.\.\]|\.{3,}"
"""Where something was left out: what it cut may be a secret."""

# JavaScript's encodeURIComponent and encodeURI leave more alone than Python's quote does.
_URL_SAFE = ("/", "", "!'()*", ";,/?:@&=+$!*'()#")


class Redactor:
    """Replaces secrets, and their usual encodings, by ``[redacted]``.

    Also where the ends of lines lie within them, and what is left of one that was cut. A
    guard against accidents (a tool that prints its environment, a request that is
    logged), not against an agent that wants to smuggle a secret out: that one can always
    spell it backwards.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        whole = {secret for one in secrets for secret in (one, *within(one))}
        forms = {form for secret in whole for form in _forms(secret)}
        self._forms = sorted(forms)

    def text(self, text: str) -> str:
        """``text`` without the secrets."""
        return self._in_text.cleaned(text) if self._forms else text

    def bytes(self, data: bytes) -> bytes:
        """``data`` without the secrets in UTF-8; all other bytes stay as they are."""
        if not self._forms:
            return data
        # One character for each byte: then all is found that is found in a text.
        return self._in_bytes.cleaned(data.decode("latin-1")).encode("latin-1")

    def tree(self, value: _T) -> _T:
        """A JSON value without the secrets, in its keys and texts."""
        return _mapped(value, self.text) if self._forms else value

    @cached_property
    def _in_text(self) -> _Search:
        return _Search(self._forms, _CUT)

    @cached_property
    def _in_bytes(self) -> _Search:
        forms = [_encoded(form).decode("latin-1") for form in self._forms]
        return _Search(forms, _CUT.encode().decode("latin-1"))


@lru_cache(maxsize=64)
def redactor_of(secrets: frozenset[str]) -> Redactor:
    """The redactor of these secrets; the same one for trials that share them."""
    return Redactor(secrets)


class _Search:
    """Finds forms in a text: as they are, broken over lines, and cut."""

    def __init__(self, forms: Iterable[str], cut: str) -> None:
        # The longest first: where one secret begins another, no tail may stay behind.
        self._forms = sorted(set(forms), key=lambda form: (-len(form), form))
        self._longest = len(self._forms[0])
        self._cut = re.compile(cut)
        self._wrapped: dict[str, re.Pattern[str]] = {}

    def cleaned(self, text: str) -> str:
        """The text without them."""
        for form in self._forms:
            if form in text:
                text = text.replace(form, MARK)
        # Most long texts hold neither end of any form, and are looked at once more only.
        begun = [form for form in self._forms if form[:_LEAST_PART] in text]
        ended = [form for form in self._forms if form[-_LEAST_PART:] in text]
        likely = self._forms if len(text) < _SHORT_TEXT else {*begun, *ended}
        text = self._without_pieces(self._without_wrapped(text, likely))
        return self._without_parts(text, begun, ended) if begun or ended else text

    def _without_wrapped(self, text: str, likely: Iterable[str]) -> str:
        long = [form for form in likely if len(form) >= _LEAST_WRAPPED]
        if not long or ("\n" not in text and "\\n" not in text):
            return text
        joined = (re.sub(r"\s+|(?:\\r)?\\n", "", text), re.sub(_BREAK, "", text))
        for form in sorted(long, key=len, reverse=True):
            if any(form in one for one in joined):
                text = self._pattern(form).sub(MARK, text)
        return text

    def _pattern(self, form: str) -> re.Pattern[str]:
        if form not in self._wrapped:
            self._wrapped[form] = re.compile(f"(?:{_BREAK})?".join(map(re.escape, form)))
        return self._wrapped[form]

    def _without_pieces(self, text: str) -> str:
        """Without any longer piece of an opaque form: one line of a wrapped one, shown alone."""
        index, step = self._index, _GRAM
        pieces = []
        end = 0
        for place in range(0, len(text) - step + 1, step):
            found = index.get(text[place : place + step])
            if found is None or place < end:
                continue
            start, stop = max(
                (_common(text, place, form, at) for form, at in found),
                key=lambda span: span[1] - span[0],
            )
            if stop - start >= _LEAST_PIECE:
                pieces += [text[end:start], MARK]
                end = stop
        return "".join([*pieces, text[end:]]) if pieces else text

    @cached_property
    def _index(self) -> dict[str, list[tuple[str, int]]]:
        """Where in opaque forms some characters in a row stand."""
        index: dict[str, list[tuple[str, int]]] = {}
        for form in self._forms:
            if len(form) > _LEAST_PIECE and is_opaque(form):
                for at in range(len(form) - _GRAM + 1):
                    index.setdefault(form[at : at + _GRAM], []).append((form, at))
        return index

    def _without_parts(self, text: str, begun: list[str], ended: list[str]) -> str:
        """What is left of a secret where something was cut: half of one is still half of one."""
        pieces = []
        start = 0
        for cut in self._cut.finditer(text):
            pieces += [text[start : cut.start()], cut.group()]
            start = cut.end()
        pieces.append(text[start:])
        last = len(pieces) - 1
        for place in range(0, len(pieces), 2):
            head = _LEAST_PART if place else _LEAST_END
            tail = _LEAST_PART if place != last else _LEAST_END
            piece = self._without_head(pieces[place], ended, head)
            pieces[place] = self._without_tail(piece, begun, tail)
        return "".join(pieces)

    def _without_head(self, text: str, forms: list[str], least: int) -> str:
        """Without the end of a form that the text begins with."""
        bare = text.lstrip()
        window = bare[: self._longest]
        for form in forms:
            if form[-least:] in window:
                for count in range(min(len(form) - 1, len(window)), least - 1, -1):
                    if window.startswith(form[-count:]):
                        return text[: len(text) - len(bare)] + MARK + bare[count:]
        return text

    def _without_tail(self, text: str, forms: list[str], least: int) -> str:
        """Without the beginning of a form that the text ends with."""
        bare = text.rstrip()
        window = bare[-self._longest :]
        for form in forms:
            if form[:least] in window:
                for count in range(min(len(form) - 1, len(window)), least - 1, -1):
                    if window.endswith(form[:count]):
                        return bare[:-count] + MARK + text[len(bare) :]
        return text


def _common(text: str, place: int, form: str, at: int) -> tuple[int, int]:
    """From where to where around a place a text is what a form is around another one."""
    start, stop = place, place + _GRAM
    back, ahead = at, at + _GRAM
    while start and back and text[start - 1] == form[back - 1]:
        start, back = start - 1, back - 1
    while stop < len(text) and ahead < len(form) and text[stop] == form[ahead]:
        stop, ahead = stop + 1, ahead + 1
    return start, stop


def _mapped(value: _T, change: Callable[[str], str]) -> _T:
    changed: object = value
    if isinstance(value, str):
        changed = change(value)
    elif isinstance(value, dict):
        changed = {change(str(name)): _mapped(one, change) for name, one in value.items()}
    elif isinstance(value, list):
        changed = [_mapped(one, change) for one in value]
    return changed  # type: ignore[return-value]


def _forms(secret: str) -> Iterator[str]:
    for value in {secret, secret.strip(), " ".join(secret.split())}:
        if len(value) >= MIN_SECRET_LENGTH and not is_trivial(value):
            yield from _spellings(value)
    lines = [line.strip() for line in secret.splitlines()]
    if len(lines) > 1:
        # A key of several lines is shown indented, or with other line ends, as often as not.
        yield from (line for line in lines if len(line) >= _MIN_LINE_LENGTH)


def _spellings(value: str) -> Iterator[str]:
    """One secret as programs write it."""
    yield value
    yield json.dumps(value)[1:-1]
    yield json.dumps(value, ensure_ascii=False)[1:-1]
    yield repr(value)[1:-1]
    yield value.encode("unicode_escape").decode("ascii")
    yield html.escape(value)
    yield html.escape(value, quote=False)
    raw = _encoded(value)
    yield repr(raw)[2:-1]
    for safe in _URL_SAFE:
        yield from _both_cases(quote(raw, safe=safe))
    yield from _both_cases(quote_plus(raw))
    yield from (raw.hex(), raw.hex().upper())
    yield from _base64_forms(raw)


def _both_cases(quoted: str) -> Iterator[str]:
    """``%2F`` is ``%2f`` where others have encoded it."""
    yield quoted
    yield re.sub("%[0-9A-F]{2}", lambda found: found.group().lower(), quoted)


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
