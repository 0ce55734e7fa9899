from __future__ import annotations

from pathlib import Path

import pytest

from pytest_agentbench.model.run import Change, ChangeKind, Changes, Entry, EntryKind
from pytest_agentbench.model.task import JsonValue, OracleSpec, Position
from pytest_agentbench.oracles.diff import DiffOracle
from pytest_agentbench.oracles.diff_judging import Rules, judge

FILE = Entry(EntryKind.FILE)
DIRECTORY = Entry(EntryKind.DIRECTORY)


def added(path: str, entry: Entry = FILE) -> Change:
    return Change(path.encode(), ChangeKind.ADDED, entry)


def changed(path: str, entry: Entry = FILE) -> Change:
    return Change(path.encode(), ChangeKind.MODIFIED, entry)


def removed(path: str) -> Change:
    return Change(path.encode(), ChangeKind.DELETED, None)


def left(
    *changes: Change,
    lines: dict[str, tuple[int, int]] | None = None,
    dropped: dict[str, str] | None = None,
) -> Changes:
    """Changes, each of one line unless ``lines`` says otherwise."""
    counts = {change.path: (1, 0) for change in changes}
    if lines is not None:
        counts = {path.encode(): count for path, count in lines.items()}
    return Changes(Path("/nowhere"), changes, dropped=dropped or {}, lines=counts)


def broken(rules: Rules, changes: Changes) -> tuple[str, ...]:
    return judge(rules, changes).broken


def test_only_and_forbid() -> None:
    """Every change lies where it may, and none where it must not."""
    rules = Rules(only=("shop/**", "*.md"), forbid=("**/secret.py",))
    assert broken(rules, left(changed("shop/a.py"), added("shop/b/c.py"), changed("x.md"))) == ()
    assert broken(rules, left(changed("shop/a.py"), added("tests/t.py"), removed("b.txt"))) == (
        "2 changed paths are not among 'only': tests/t.py (added), b.txt (deleted)",
    )
    assert broken(rules, left(changed("shop/secret.py"))) == (
        "1 changed path is forbidden: shop/secret.py (modified)",
    )


def test_nothing_changed() -> None:
    """Nothing is outside and nothing forbidden; but what must change has not."""
    assert broken(Rules(only=("a",), forbid=("b",), max_changed_lines=0), left()) == ()
    assert broken(Rules(must_change=("a*", "b")), left()) == (
        "nothing changed that matches 'a*', 'b'",
    )


def test_must_change_wants_each_pattern() -> None:
    """One change may serve several patterns, but each needs one."""
    rules = Rules(must_change=("docs/**", "**/*.md"))
    assert broken(rules, left(changed("docs/a.md"))) == ()
    assert broken(rules, left(changed("docs/a.txt"))) == ("nothing changed that matches '**/*.md'",)
    assert broken(rules, left(removed("docs/a.md"))) == ()


def test_many_paths_are_cut_off() -> None:
    """A reason names three, details twenty."""
    found = judge(Rules(forbid=("**",)), left(*(added(f"f{index:02}") for index in range(30))))
    assert found.broken == (
        "30 changed paths are forbidden: f00 (added), f01 (added), f02 (added), …",
    )
    assert found.details["changed_paths"] == 30
    listed = found.details["forbidden"]
    assert isinstance(listed, list)
    assert len(listed) == 20


def test_directories_are_not_judged_for_themselves() -> None:
    """A directory that is new or gone is no change beside the files in it."""
    rules = Rules(only=("new/deep/a.py", "old/deep/b.py"), max_changed_lines=2)
    changes = left(
        added("empty", DIRECTORY),
        added("new", DIRECTORY),
        added("new/deep", DIRECTORY),
        added("new/deep/a.py"),
        removed("old"),
        removed("old/deep"),
        removed("old/deep/b.py"),
        lines={"new/deep/a.py": (1, 0), "old/deep/b.py": (0, 1)},
    )
    assert broken(rules, changes) == ()


def test_what_takes_the_place_of_something_counts() -> None:
    """A file that became a directory is gone; a directory that became a file is replaced."""
    rules = Rules(forbid=("a", "b"))
    assert broken(rules, left(changed("a", DIRECTORY), added("a/x"))) != ()
    assert broken(rules, left(changed("b"), removed("b/x"))) != ()


def test_a_removed_empty_directory_counts() -> None:
    """It cannot be told from a file."""
    assert broken(Rules(forbid=("gone",)), left(removed("gone"))) != ()


def test_the_repository_itself_is_left_out() -> None:
    """What a commit changes in ``.git`` is no change, and its lines are none; names like it are."""
    commit = [changed(".git/index"), added(".git/logs/HEAD"), added(".git", DIRECTORY)]
    lines = {".git/logs/HEAD": (500, 0), "a.py": (1, 1)}
    rules = Rules(only=("a.py",), max_changed_lines=2, ignore=())
    assert broken(rules, left(*commit, changed("a.py"), lines=lines)) == ()
    assert broken(rules, left(added(".github/x"))) != ()
    assert broken(rules, left(added("sub/.git/x"))) != ()


def test_byproducts_are_ignored_unless_the_author_says_otherwise() -> None:
    """Who runs tests leaves caches, with binary files in them."""
    caches = [
        added("shop/__pycache__", DIRECTORY),
        added("shop/__pycache__/a.pyc"),
        added(".pytest_cache/v/lastfailed"),
        added(".mypy_cache/x"),
        added(".ruff_cache/x"),
    ]
    changes = left(*caches, lines={})
    assert broken(Rules(only=("shop/a.py",), max_changed_lines=0), changes) == ()
    strict = judge(Rules(only=("shop/a.py",), ignore=()), changes)
    assert strict.details["changed_paths"] == 4
    assert strict.broken != ()
    assert broken(Rules(must_change=("**/*.pyc",)), changes) != ()


def test_lines_are_added_plus_removed() -> None:
    """A changed line counts twice, as in a diff."""
    changes = left(changed("a"), added("b"), lines={"a": (2, 3), "b": (4, 0)})
    assert judge(Rules(max_changed_lines=9), changes).summary == "2 changed paths, 9 changed lines"
    assert broken(Rules(max_changed_lines=9), changes) == ()
    assert broken(Rules(max_changed_lines=8), changes) == ("9 changed lines, more than 8",)


def test_unknown_lines_pass_no_bound() -> None:
    """A file that is binary or large has not changed by zero lines."""
    changes = left(changed("a"), added("b.bin"), lines={"a": (2, 3)})
    found = judge(Rules(max_changed_lines=9), changes)
    assert found.broken == (
        (
            "the changed lines of 1 file are not known "
            "(it is binary, large or one of very many): b.bin"
        ),
    )
    assert found.details["changed_lines"] is None
    assert found.details["uncounted"] == ["b.bin"]
    assert broken(Rules(max_changed_lines=4), changes) == ("at least 5 changed lines, more than 4",)
    assert broken(Rules(only=("**",)), changes) == ()


def test_lines_that_nobody_counted_pass_no_bound() -> None:
    """Also where there is no count at all."""
    assert broken(Rules(max_changed_lines=9), left(removed("a"), lines={})) != ()


def test_symlinks_have_no_lines() -> None:
    """They count as paths only."""
    link = added("link", Entry(EntryKind.SYMLINK))
    assert broken(Rules(max_changed_lines=0), left(link, lines={})) == ()
    assert broken(Rules(forbid=("link",)), left(link)) != ()


def test_what_is_not_carried_is_a_change_all_the_same() -> None:
    """A socket or a link out of the workspace obeys 'only' and 'forbid', and serves no need."""
    changes = left(dropped={"out": "a symlink out of the workspace: /etc", "a/s": "a socket"})
    assert broken(Rules(only=("a/**",)), changes) == (
        "1 changed path is not among 'only': out (not carried)",
    )
    assert broken(Rules(forbid=("a/*",)), changes) != ()
    assert broken(Rules(must_change=("out",)), changes) != ()


def test_names_that_are_no_text_are_shown_and_judged() -> None:
    """Undecodable and unprintable names are spelled out, in one line."""
    odd = Change(b"a\xff\n", ChangeKind.ADDED, FILE)
    assert broken(Rules(forbid=("a??",)), left(odd)) == (
        "1 changed path is forbidden: a\\xff (added)",
    )


def of(table: JsonValue) -> list[tuple[tuple[str | int, ...], str]]:
    return DiffOracle().validate(OracleSpec("diff", "d", Position(Path("t.yaml"), 1), table))


@pytest.mark.parametrize(
    "table",
    [
        {"only": "shop/**"},
        {"only": ["a", "b/**"], "forbid": ["c"], "must_change": ["a"], "max_changed_lines": 0},
        {"forbid": ["**"], "ignore": []},
    ],
)
def test_good_rules(table: JsonValue) -> None:
    """Patterns alone or in a list; nothing may be ignored."""
    assert of(table) == []


@pytest.mark.parametrize(
    ("table", "at", "message"),
    [
        ([], (), "must be a mapping of only, forbid, must_change, max_changed_lines"),
        ({}, (), "needs one of: only, forbid, must_change, max_changed_lines"),
        ({"ignore": ["x"]}, (), "needs one of: only, forbid, must_change, max_changed_lines"),
        (
            {"max_lines": 3, "only": ["a"]},
            ("max_lines",),
            "unknown rule 'max_lines'; did you mean 'max_changed_lines'?",
        ),
        ({"only": []}, ("only",), "must be a pattern of paths, or a list of such"),
        ({"forbid": {"a": 1}}, ("forbid",), "must be a pattern of paths, or a list of such"),
        ({"only": ["a", 3]}, ("only", 1), "must be a text"),
        ({"only": "/a"}, ("only",), "must not begin with '/': it is relative"),
        ({"only": ["a", ""]}, ("only", 1), "must not be empty"),
        (
            {"must_change": ["shop/"]},
            ("must_change", 0),
            "must not end with '/'; what is below a directory is 'shop/**'",
        ),
        (
            {"only": ["a"], "ignore": ["../b"]},
            ("ignore", 0),
            "must not have '..' between slashes",
        ),
        (
            {"max_changed_lines": -1},
            ("max_changed_lines",),
            "must be a whole number, 0 or more",
        ),
        (
            {"max_changed_lines": True},
            ("max_changed_lines",),
            "must be a whole number, 0 or more",
        ),
        (
            {"max_changed_lines": "80"},
            ("max_changed_lines",),
            "must be a whole number, 0 or more",
        ),
    ],
)
def test_bad_rules(table: JsonValue, at: tuple[str | int, ...], message: str) -> None:
    """Each fault is told with its place."""
    assert of(table) == [(("diff", *at), message)]
