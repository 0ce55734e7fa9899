from __future__ import annotations

import re
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_agentbench.model.globs import matches, pattern_fault


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("a.py", "a.py"),
        ("*.py", "a.py"),
        ("*.py", ".py"),
        ("*", ".hidden"),
        ("a?c", "abc"),
        ("[abc].py", "b.py"),
        ("[a-c].py", "b.py"),
        ("[!a-c].py", "d.py"),
        ("[[]x[]]", "[x]"),
        ("[*]", "*"),
        ("[^]", "^"),
        ("shop/**", "shop/a.py"),
        ("shop/**", "shop/sub/a.py"),
        ("**", "a"),
        ("**", "a/b/c"),
        ("**/a.py", "a.py"),
        ("**/a.py", "x/y/a.py"),
        ("shop/**/a.py", "shop/a.py"),
        ("shop/**/a.py", "shop/x/y/a.py"),
        ("**/test_*.py", "x/test_y.py"),
        ("**/x/**/y", "x/x/a/y/y"),
        ("**/**", "a"),
        ("a/**/**", "a/b"),
        ("*/x", "é/x"),
        ("?.py", "é.py"),
        ("a*", "a\nb"),
        ("{{x}}", "{{x}}"),
    ],
)
def test_paths_that_match(pattern: str, path: str) -> None:
    """Stars stay within a name, double stars go over directories, dots are ordinary."""
    assert pattern_fault(pattern) is None
    assert matches(pattern, path.encode())


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("a.py", "x/a.py"),
        ("a.py", "a_py"),
        ("*.py", "x/a.py"),
        ("*.py", "a.PY"),
        ("*.py", "a.py\n"),
        ("a?c", "a/c"),
        ("a?c", "ac"),
        ("a[!b]c", "a/c"),
        ("[!a-c].py", "a.py"),
        ("shop/**", "shop"),
        ("shop/**", "shopping/a"),
        ("shop/**", "x/shop/a"),
        ("**/a.py", "xa.py"),
        ("shop/**/a.py", "shop/x/b.py"),
        ("shop/*/a.py", "shop/a.py"),
        ("shop/*/a.py", "shop/x/y/a.py"),
        ("**/x/y", "x/x/z/y"),
        ("a/**/**", "a"),
        ("a/b", "a"),
        ("a", "a/b"),
        ("é", "e\u0301"),
    ],
)
def test_paths_that_do_not_match(pattern: str, path: str) -> None:
    """The whole path counts, and case does."""
    assert pattern_fault(pattern) is None
    assert not matches(pattern, path.encode())


def test_names_that_are_no_text() -> None:
    """A byte that is no UTF-8 counts as one character."""
    assert matches("?.py", b"\xff.py")
    assert matches("*/x", b"\xff\xfe/x")
    assert not matches("a.py", b"\xff.py")


@pytest.mark.parametrize(
    ("pattern", "fault"),
    [
        ("", "must not be empty"),
        ("a\0", "must not hold a NUL character"),
        ("/etc/*", "must not begin with '/': it is relative"),
        ("!a", "must not begin with '!': a pattern does not take back another one"),
        ("shop/", "must not end with '/'; what is below a directory is 'shop/**'"),
        ("a\\*", "must not hold a backslash; a special character stands for itself in '[…]'"),
        ("*.{py,pyi}", "must not hold alternatives in braces; write a pattern for each"),
        ("a//b", "must not have '' between slashes"),
        ("./a", "must not have '.' between slashes"),
        ("../a", "must not have '..' between slashes"),
        ("shop**", "must have '**' only by itself between slashes, such as '**/*.py'"),
        ("**.py", "must have '**' only by itself between slashes, such as '**/*.py'"),
        ("***", "must have '**' only by itself between slashes, such as '**/*.py'"),
        ("[ab", "must close each '['; the bracket itself is '[[]'"),
        ("[]", "must close each '['; the bracket itself is '[[]'"),
        ("[!]", "must close each '['; the bracket itself is '[[]'"),
        ("a[b/c]d", "must close each '['; the bracket itself is '[[]'"),
        ("[^ab]", "must negate a set by '!', as in '[!abc]'"),
        ("x[a][z-b]", "must not have the range 'z-b', which is empty"),
    ],
)
def test_what_is_no_pattern(pattern: str, fault: str) -> None:
    """What other pattern languages know and this one does not is refused, not misread."""
    assert pattern_fault(pattern) == fault


def test_hard_names_take_no_time() -> None:
    """Many stars against a long name that nearly matches come to an end."""
    pattern = "**/*a*a*a*a*a*a*b/**/a/**/a/**/b"
    assert not matches(pattern, b"/".join([b"a" * 255] * 8 + [b"a"] * 1000))


_NAMES = st.lists(st.sampled_from(["a", "b", "ab", "ba"]), min_size=1, max_size=5)
_PARTS = st.lists(st.sampled_from(["a", "b", "*", "a*", "?", "**"]), min_size=1, max_size=5)


@given(_PARTS, _NAMES)
def test_agrees_with_a_plain_translation(parts: list[str], names: list[str]) -> None:
    """The bounded search finds what a backtracking regular expression finds."""
    words = {"*": "[^/]*", "a*": "a[^/]*", "?": "[^/]"}
    regex = ""
    for part in parts[:-1]:
        regex += "(?:[^/]+/)*" if part == "**" else words.get(part, part) + "/"
    regex += "(?:[^/]+/)*[^/]+" if parts[-1] == "**" else words.get(parts[-1], parts[-1])
    expected = re.fullmatch(regex, "/".join(names)) is not None
    assert matches("/".join(parts), "/".join(names).encode()) is expected


@given(st.text(alphabet="a/*?[]!-\\{},^é\0", max_size=12))
def test_every_text_is_a_pattern_or_has_a_fault(text: str) -> None:
    """What has no fault can be matched with."""
    if pattern_fault(text) is None:
        for path in map("/".join, product("ab", "ba")):
            matches(text, path.encode())
