"""Roman numerals from 1 to 3999."""

VALUES = (
    (1000, "M"),
    (900, "CM"),
    (500, "D"),
    (400, "CD"),
    (100, "C"),
    (90, "XC"),
    (50, "L"),
    (40, "XL"),
    (10, "X"),
    (9, "IX"),
    (5, "V"),
    (4, "IV"),
    (1, "I"),
)


def to_roman(number):
    """The numeral of a number, in upper case.

    ValueError for numbers that have none: below 1 and above 3999.
    """
    if not 1 <= number <= 3999:
        raise ValueError(f"no numeral for {number}")
    numeral = ""
    for value, letters in VALUES:
        while number >= value:
            numeral += letters
            number -= value
    return numeral


def from_roman(text):
    """The number of a numeral, in upper or lower case, with blanks around it or not.

    ValueError for everything that `to_roman` never returns: IIII, IC, an empty text.
    """
    numeral = text.strip().upper()
    number, rest = 0, numeral
    for value, letters in VALUES:
        while rest.startswith(letters):
            number += value
            rest = rest[len(letters) :]
    if rest or not 1 <= number <= 3999 or to_roman(number) != numeral:
        raise ValueError(f"no numeral: {text!r}")
    return number
