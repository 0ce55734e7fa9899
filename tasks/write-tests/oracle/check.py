"""Runs the agent's tests on roman.py as it is, or on versions with one fault each."""

import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ORIGINAL_SHA256 = "43756125770a24f9ef27a08a438f0b14d4c4af2266a157809c0fd7d08580b966"

FAULTS = {
    "4 is IIII": ('    (4, "IV"),\n', ""),
    "9 is VIIII": ('    (9, "IX"),\n', ""),
    "40 is wrong": ('(40, "XL")', '(40, "LX")'),
    "90 is XCX": ('(90, "XC")', '(90, "XCX")'),
    "400 is CCCC": ('    (400, "CD"),\n', ""),
    "500 is lost": ('    (500, "D"),\n', ""),
    "900 is wrong": ('(900, "CM")', '(900, "DM")'),
    "0 is accepted": ("if not 1 <= number <= 3999:\n        raise", "if not 0 <= number <= 3999:\n        raise"),
    "3999 is refused": ("if not 1 <= number <= 3999:\n        raise", "if not 1 <= number < 3999:\n        raise"),
    "4000 is accepted": ("if not 1 <= number <= 3999:\n        raise", "if not 1 <= number <= 4000:\n        raise"),
    "what has no numeral gets another one's": (
        "        raise ValueError(f\"no numeral for {number}\")",
        "        number = max(1, min(number, 3999))",
    ),
    "lower case is refused": (".strip().upper()", ".strip()"),
    "blanks are refused": (".strip().upper()", ".upper()"),
    "numerals are lower case": ("    return numeral\n", "    return numeral.lower()\n"),
    "IIII is accepted": (" or to_roman(number) != numeral", ""),
    "an empty text is 0": (
        "    number, rest = 0, numeral\n",
        "    number, rest = 0, numeral\n    if not numeral:\n        return 0\n",
    ),
    "what follows is ignored": (
        "    if rest or not 1 <= number <= 3999 or to_roman(number) != numeral:",
        "    if not 1 <= number <= 3999 or not numeral.startswith(to_roman(number)):",
    ),
    "off by one": ("    return number\n", "    return number + 1\n"),
}

def outcome(source):
    """The exit code of the agent's tests with this roman.py, and how many tests ran."""
    with tempfile.TemporaryDirectory() as place:
        Path(place, "roman.py").write_text(source, encoding="utf-8")
        Path(place, "test_roman.py").write_bytes(Path("test_roman.py").read_bytes())
        try:
            done = subprocess.run(
                [sys.executable, "-B", "-m", "unittest", "test_roman"],
                cwd=place,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=20,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return 1, "the tests did not end"
    return done.returncode, done.stderr


def original(source):
    code, said = outcome(source)
    if code != 0:
        return "the tests fail on roman.py as it is: " + said.strip()[-500:]
    if "Ran 0 tests" in said:
        return "there are no tests"
    return None


def faults(source):
    """Writes the share of faults that were caught; none where the original fails too."""
    missed = []
    for name, (old, new) in FAULTS.items():
        assert source.count(old) == 1, f"{name}: the fault fits {source.count(old)} times"
        if outcome(source.replace(old, new))[0] == 0:
            missed.append(name)
    caught = 0 if outcome(source)[0] else len(FAULTS) - len(missed)
    Path(os.environ["REPORT"]).write_text(f"{caught / len(FAULTS)}\n", encoding="utf-8")
    if missed:
        print("not caught: " + "; ".join(missed))


def main():
    source = Path("roman.py").read_bytes()
    if hashlib.sha256(source).hexdigest() != ORIGINAL_SHA256:
        return "roman.py was changed"
    if not Path("test_roman.py").is_file():
        return "there is no test_roman.py"
    return (original if sys.argv[1] == "original" else faults)(source.decode())


sys.exit(main())
