"""Runs traffic.py on logs that it has not seen; writes one JUnit case a log."""

import os
import subprocess
import sys
from xml.sax.saxutils import quoteattr

CASES = {
    "sums and counts": (
        "2025-03-01 ada 1200\n2025-03-01 grace 90\n2025-03-02 ada 300\n",
        "ada              2         1500      750.0\ngrace            1           90       90.0\n",
    ),
    "an average that is rounded": (
        "d u 1\nd u 1\nd u 2\n",
        "u                3            4        1.3\n",
    ),
    "notes": (
        "d ada 10 retried twice\nd ada 5 # slow\n",
        "ada              2           15        7.5\n",
    ),
    "no bytes known": (
        "d ada -\nd ada 30\nd ben - lost\n",
        "ada              2           30       15.0\nben              1            0        0.0\n",
    ),
    "comments": (
        "# one two three\n#d ada 10\nd #ada 10\n",
        "#ada             1           10       10.0\n",
    ),
    "a comment sign after a blank": (
        " # ada 7\n",
        "ada              1            7        7.0\n",
    ),
    "blanks and tabs": (
        "  d\tada \t 10\nd  ada  20  \n",
        "ada              2           30       15.0\n",
    ),
    "lines cut short": (
        "\nd\nd ada\nd ada 1\n   \n",
        "ada              1            1        1.0\nskipped: 4\n",
    ),
    "order": (
        "d bob 1\nd Zed 1\nd alice 1\nd _x 1\nd 9 1\n",
        "9                1            1        1.0\nZed              1            1        1.0\n"
        "_x               1            1        1.0\nalice            1            1        1.0\n"
        "bob              1            1        1.0\n",
    ),
    "long names and large numbers": (
        "d a-very-long-user-name 4000000000\nd a-very-long-user-name 4000000000\n",
        "a-very-long-user-name     2   8000000000 4000000000.0\n",
    ),
    "nothing at all": ("", ""),
    "only comments": ("# nothing\n", ""),
    "no line end at the end": ("d ada 4", "ada              1            4        4.0\n"),
}


def play(log):
    """What the program prints, or what went wrong."""
    done = subprocess.run(
        [sys.executable, "traffic.py"],
        input=log,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=20,
        check=False,
    )
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        return f"exit code {done.returncode}: {last}"
    return done.stdout


def case(name, log, expected):
    got = play(log)
    if got == expected:
        return f"<testcase name={quoteattr(name)}/>"
    message = quoteattr(f"expected {expected!r}, got {got[:400]!r}")
    return f"<testcase name={quoteattr(name)}><failure message={message}/></testcase>"


def main():
    cases = [case(name, log, expected) for name, (log, expected) in CASES.items()]
    failures = sum("<failure" in text for text in cases)
    report = f'<testsuite name="logs" tests="{len(cases)}" failures="{failures}">'
    with open(os.environ["REPORT"], "w", encoding="utf-8") as file:
        file.write(report + "".join(cases) + "</testsuite>")


main()
