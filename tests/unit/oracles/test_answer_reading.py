from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_agentbench.oracles.answer_reading import (
    chosen_letters,
    last_number,
    whole_number_text,
)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("42", "42"),
        ("The answer is 42.", "42"),
        ("First 7, then 42!", "42"),
        ("#### 1,000", "1000"),
        ("$1,234,567.50", "1234567.5"),
        ("-3", "-3"),
        ("x = \u22123", "-3"),
        ("-$5", "-5"),
        ("€-5", "-5"),
        ("+7", "7"),
        ("(-3)", "-3"),
        ("10-3", "3"),
        ("1–5", "5"),
        (".5", "0.5"),
        ("5.", "5"),
        ("1e5", "100000"),
        ("2.5E-3", "0.0025"),
        ("3/4", "3/4"),
        ("42kg", "42"),
        ("50%", "50"),
        ("**42**", "42"),
        (r"\boxed{42}", "42"),
        ("$42$", "42"),
        ("_42_", "42"),
        ("x2 is 7", "7"),
        ("on 2024-01-05", "5"),
        ("in 2024 300 people", "300"),
        ("7, 100", "100"),
        ("**-5**", "-5"),
        ("0 is it", "0"),
    ],
)
def test_the_last_number_is_found(text: str, number: str) -> None:
    """Signs, separators, currencies, units and markup are read as people mean them."""
    assert last_number(text) == Fraction(number)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "forty-two",
        "NaN",
        "-inf",
        "Infinity",
        "\u0664\u0662",
        "x2",
        "v1.2.3",
        "1.2.3",
        "12,34",
        "1,2345",
        "12:30",
        "10^5",
        "1/2/2024",
        "1/0",
        "1e1000",
        "9" * 401,
        "7 or v 1.2.3",
        "1_000",
        "1 000",
        "1 000 000",
        "1\u00a0000",
        "12'345",
        "0x10",
        "0b1",
        "10\u2075",
        "1\u00bd",
        "\u00b15",
        "--5",
        "+-5",
        "2**10",
    ],
)
def test_what_is_no_plain_number(text: str) -> None:
    """What could be read in two ways, or is not finite, is no number."""
    assert last_number(text) is None


@pytest.mark.parametrize(
    ("text", "number"),
    [("42", 42), (" 1,000\n", 1000), ("-2.5", Fraction(-5, 2)), ("1/3", Fraction(1, 3))],
)
def test_texts_that_are_numbers(text: str, number: Fraction) -> None:
    """An author's number may be a text, as a dataset's row has it."""
    assert whole_number_text(text) == number


@pytest.mark.parametrize("text", ["", "42.", "42 apples", "the 42", "1 2", "nan", "1e9999"])
def test_texts_that_are_no_numbers(text: str) -> None:
    """Nothing may stand beside an author's number."""
    assert whole_number_text(text) is None


@given(st.integers() | st.decimals(allow_nan=False, allow_infinity=False, places=3))
def test_numbers_are_read_as_they_are_printed(number: object) -> None:
    """What Python prints is read back exactly, with thousands separators too."""
    assert last_number(f"so it is {number}.") == Fraction(str(number))
    assert last_number(f"{number:,}") == Fraction(str(number))


@pytest.mark.parametrize(
    "text",
    [
        "B",
        "b",
        " (B) ",
        "[b]",
        "B.",
        "B)",
        "B: Paris",
        "B) Paris",
        "**B**",
        "**B.** Paris",
        "`B`",
        r"$\boxed{B}$",
        "Answer: B",
        "answer: b",
        "**Answer:** B",
        "Answer: **B**",
        "ANSWER: (B), because A is a city",
        "The correct answer is: B",
        "The answer is option B",
        "the answer is the choice (b).",
        "I think it is this one.\n\nB",
        "A) Rome\nB) Paris\nAnswer: B",
        "The answer is B. So: answer = B",
        "Answer: B and I am sure",
        "Answer: B, A is wrong",
        "Answer: B, or a city",
    ],
)
def test_letters_that_are_chosen(text: str) -> None:
    """The forms in which a choice is named."""
    assert chosen_letters(text) == {"B"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Paris",
        "B is wrong",
        "A good question",
        "the answer is a city",
        "the answer is not B",
        "Answer: Because",
        "Answer: I'd say B",
        "BB",
        "1",
    ],
)
def test_texts_that_choose_nothing(text: str) -> None:
    """A letter in passing is no choice."""
    assert chosen_letters(text) == set()


@pytest.mark.parametrize(
    "text",
    [
        "A\nB",
        "A) Rome\nB) Paris",
        "The answer is A. No: the answer is B.",
        "Answer: A or B",
        "Answer: A, B",
        "Answer: A/B",
        "Answer: (A) and (B)",
        "Answer: **A** or **B**",
        "(a) or (b)",
        "A), B)",
        "the answer is A and/or option B",
    ],
)
def test_ambiguous_choices(text: str) -> None:
    """Two letters are two letters, whichever comes last."""
    assert chosen_letters(text) == {"A", "B"}


@pytest.mark.parametrize(
    "piece",
    [
        "1",
        "1,",
        "1,234",
        " ",
        "answer",
        "answer is ",
        "(*",
        "\n",
        "1e",
        "1/",
        "$",
        "1.1",
        "-",
        "B ",
        "A or ",
        "answer is A, ",
        "1 000 ",
    ],
)
def test_hostile_texts_come_to_an_end(piece: str) -> None:
    """A megabyte of whatever is read in time; a search that goes back would take hours."""
    text = piece * (1_000_000 // len(piece))
    last_number(text)
    chosen_letters(text)
