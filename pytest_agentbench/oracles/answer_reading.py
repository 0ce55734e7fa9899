"""What an agent's text gives as its answer: a number, or the letter of a choice. Pure.

The text is an agent's and may be long and hostile: every pattern here takes time in
proportion to it.
"""

from __future__ import annotations

import re
from fractions import Fraction

_DASHES = str.maketrans({"\u2212": "-", "\u2013": "-", "\ufe63": "-", "\uff0d": "-"})
_DIGITS_LIMIT = 400
"""Characters of a number: longer ones are no answer, and slow to calculate with."""
_EXPONENT_LIMIT = 999

_TOKEN = re.compile(
    r"(?P<sign>(?<![^\W_])(?<![)\]}])[-+])?"
    r"(?<![^\W_])(?<![.,:/^])"  # the middle of a word, or of another number
    r"(?:[$€£¥](?P<inner>-)?)?"
    r"(?P<run>\.?[0-9][0-9.,:/^]*+(?:[eE][-+]?[0-9]++)?(?:/[0-9]++)?)"
)
_PLAIN = re.compile(
    r"(?P<top>(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]+)?|\.[0-9]+)"
    r"(?:[eE](?P<exponent>[-+]?[0-9]+))?(?:/(?P<bottom>[0-9]+))?"
)

_GROUPED = re.compile(r"(?:^|[^0-9])[0-9]{1,3}[ _'\u2019\u00a0\u2009\u202f]$")
"""What stands before the 000 of ``1 000`` and ``1_000``."""
_GROUP = re.compile(r"[0-9]{3}(?![0-9])")
_IN_ANOTHER_BASE = re.compile(r"[xXoObB][0-9a-fA-F]")

_OPEN = r"""[ \t*_`"'$(\[{]{0,8}(?:\\boxed\{)?[ \t*_`"'$(\[{]{0,8}"""
_CLOSED = r"""[*_`"'$]{0,4}(?:[.:)\]}]|[ \t]*$)"""
_LETTER = re.compile(rf"{_OPEN}(?P<letter>[A-Za-z]){_CLOSED}")
_STATED = re.compile(
    r"(?i:\banswer[*_]{0,3}[ \t]{0,4}(?:is\b|:|=)[ \t*_]{0,4}:?[ \t]{0,4}"
    r"(?:the[ \t]{1,4})?(?:(?:option|choice)[ \t]{1,4})?)"
    # A small letter may be a word: "the answer is a number".
    rf"{_OPEN}(?P<letter>[A-Z](?![^\W_]|['\u2019])|[a-z](?={_CLOSED}))",
    re.MULTILINE,
)
_WORD_OR_MORE = r"""(?![^\W_]|['\u2019])"""
_FURTHER = re.compile(
    r"""[*_`"'$.:)\]}]{0,6}[ \t]{0,4}(?:"""
    r"(?:,[ \t]{0,4})?(?:(?i:and/or|or|and)\b|[/&|+])[ \t]{0,4}"
    rf"(?:(?i:option|choice)[ \t]{{1,4}})?{_OPEN}"
    # "A" and "I" may be words: "Answer: B, and I am sure".
    rf"(?P<joined>[AI](?![ \t]+[a-z]){_WORD_OR_MORE}|[B-HJ-Z]{_WORD_OR_MORE}|[a-z](?={_CLOSED}))"
    rf"|,[ \t]{{0,4}}{_OPEN}(?P<listed>[A-Za-z])(?=[ \t]*(?:[*.,;:!?)\]}}]|(?:or|and)\b|$))"
    r")",
    re.MULTILINE,
)
"""One more letter in the same breath: "A or B", "(a), (b)"."""


def last_number(text: str) -> Fraction | None:
    """The last number in a text; None where there is none, or where it is not a plain one.

    Decimals with a point, thousands with commas, exponents, fractions of whole numbers,
    a sign, a currency's sign before it, and a unit behind it. Digits within a word are
    no number; what looks like a version, a time, a power, a decimal comma, or digits in
    groups (``1 000``) is not plain.
    """
    text = text.translate(_DASHES)
    found = None
    for found in _TOKEN.finditer(text):  # noqa: B007 - the last one
        pass
    if found is None or _is_part(found, text):
        return None
    return _value(found, found["run"].rstrip(".,:/^"))


def _is_part(found: re.Match[str], text: str) -> bool:
    """Whether what stands right beside a number belongs to it, and makes it another one."""
    run, before = found["run"], text[max(found.start() - 5, 0) : found.start()]
    after = text[found.end() : found.end() + 2]
    return (
        (_GROUP.match(run) is not None and _GROUPED.search(before) is not None)
        or before.endswith("\u00b1")  # ±5 are two numbers
        or (found["sign"] is not None and before.endswith(("-", "+")))  # --5
        or (before[-3:-2].isdecimal() and before.endswith("**"))  # 2**10
        or (run == "0" and _IN_ANOTHER_BASE.match(after) is not None)
        or (not after[:1].isascii() and after[:1].isnumeric())  # 10⁵, 1½
    )


def whole_number_text(text: str) -> Fraction | None:
    """The number that a text is, apart from blanks around it; None where it is not one."""
    found = _TOKEN.fullmatch(text.translate(_DASHES).strip())
    return None if found is None else _value(found, found["run"])


def _value(found: re.Match[str], run: str) -> Fraction | None:
    if len(run) > _DIGITS_LIMIT:
        return None
    plain = _PLAIN.fullmatch(run)
    if plain is None:
        return None
    exponent, bottom = int(plain["exponent"] or 0), int(plain["bottom"] or 1)
    if abs(exponent) > _EXPONENT_LIMIT or not bottom:
        return None
    value = Fraction(plain["top"].replace(",", "")) * Fraction(10) ** exponent / bottom
    return -value if "-" in (found["sign"], found["inner"]) else value


def chosen_letters(text: str) -> set[str]:
    """The letters that a text names as its choice, in upper case; more than one is ambiguous.

    What it states counts ("the answer is B", "Answer: (B)"); without that, the letters that
    stand by themselves at the beginning of a line ("B", "(b)", "B. Paris", "**B**").
    """
    stated = {letter for found in _STATED.finditer(text) for letter in _with_further(found, text)}
    if stated:
        return stated
    lines = [line.strip() for line in text.splitlines()]
    starts = ((_LETTER.match(line), line) for line in lines)
    return {letter for found, line in starts if found for letter in _with_further(found, line)}


def _with_further(first: re.Match[str], text: str) -> set[str]:
    """A letter, and those that are named in one breath with it."""
    letters = {first["letter"].upper()}
    further = _FURTHER.match(text, first.end())
    while further:
        letters.add((further["joined"] or further["listed"]).upper())
        further = _FURTHER.match(text, further.end())
    return letters
