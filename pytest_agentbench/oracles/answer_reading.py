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


def last_number(text: str) -> Fraction | None:
    """The last number in a text; None where there is none, or where it is not a plain one.

    Decimals with a point, thousands with commas, exponents, fractions of whole numbers,
    a sign, a currency's sign before it, and a unit behind it. Digits within a word are
    no number; what looks like a version, a time, a power or a decimal comma is not plain.
    """
    found = None
    for found in _TOKEN.finditer(text.translate(_DASHES)):  # noqa: B007 - the last one
        pass
    return None if found is None else _value(found, found["run"].rstrip(".,:/^"))


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
    stated = {found["letter"].upper() for found in _STATED.finditer(text)}
    if stated:
        return stated
    starts = (_LETTER.match(line.strip()) for line in text.splitlines())
    return {found["letter"].upper() for found in starts if found}
