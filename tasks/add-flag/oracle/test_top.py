"""The word counter, driven as people drive it."""

import subprocess
import sys

import pytest

TEXT = "pear apple fig pear fig apple plum pear quince date"
ALL = ["     3 pear", "     2 apple", "     2 fig", "     1 date", "     1 plum", "     1 quince"]


def tally(*arguments, stdin=TEXT):
    return subprocess.run(
        [sys.executable, "tally.py", *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


def printed(*arguments, stdin=TEXT):
    done = tally(*arguments, stdin=stdin)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("flag", [["--top", "3"], ["--top=3"], ["-t", "3"], ["-t3"]])
def test_first_lines_only(flag):
    assert printed(*flag) == ALL[:3]


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 6])
def test_top_is_a_prefix_of_the_whole(count):
    """Ties are cut where the whole list would be cut: in alphabetical order."""
    assert printed("--top", str(count)) == ALL[:count]


def test_ties_are_alphabetical():
    assert printed("--top", "2", stdin="zoo yak ant bee zoo yak ant bee") == ["     2 ant", "     2 bee"]


def test_more_than_there_are():
    assert printed("--top", "50") == ALL


@pytest.mark.parametrize("value", ["0", "-1", "two", "1.5", ""])
def test_wrong_numbers_are_usage_errors(value):
    done = tally(f"--top={value}")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.strip()


def test_without_the_flag_nothing_changes():
    assert printed() == ALL


def test_files_still_work(tmp_path):
    first, second = tmp_path / "a.txt", tmp_path / "b.txt"
    first.write_text("one two two")
    second.write_text("Two three")
    assert printed("-t", "2", str(first), str(second)) == ["     3 two", "     1 one"]


def test_help_names_the_flag():
    assert "--top" in tally("--help").stdout
