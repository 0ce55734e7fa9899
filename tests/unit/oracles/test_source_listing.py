from __future__ import annotations

import textwrap

import pytest

from pytest_agentbench.oracles.test_sources import is_test_file, list_tests


def listed(source: str, name: str = "test_a.py") -> dict[str, str]:
    found = list_tests({name: textwrap.dedent(source).encode()})
    return {test.removeprefix(f"{name}::"): mark for test, mark in found.items()}


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("test_a.py", True),
        ("sub/dir/test_a.py", True),
        ("a_test.py", True),
        ("test.py", False),
        ("testing.py", False),
        ("conftest.py", False),
        ("test_a.txt", False),
        ("test_dir/helper.py", False),
    ],
)
def test_which_files_hold_tests(name: str, answer: bool) -> None:  # noqa: FBT001
    """File names are taken as pytest takes them by default."""
    assert is_test_file(name) is answer


def test_functions_and_methods() -> None:
    """Functions, coroutines and methods named test…, in classes named Test…, nested ones too."""
    assert listed("""
        import shop
        def test_plain(): ...
        async def test_async(): ...
        def helper(): ...
        class TestPages:
            def test_one(self): ...
            def setup_method(self): ...
            class TestInner:
                def test_two(self): ...
            class Data:
                def test_three(self): ...
        class Pages:
            def test_four(self): ...
        class TestWithConstructor:
            def __init__(self): ...
            def test_five(self): ...
        """) == {
        "test_plain": "run",
        "test_async": "run",
        "TestPages::test_one": "run",
        "TestPages::TestInner::test_two": "run",
    }


def test_parametrized_functions_are_listed_once() -> None:
    """Parameters are not known from the source: the function stands for all of them."""
    assert listed("""
        import pytest
        @pytest.mark.parametrize("n", range(3))
        def test_n(n): ...
        """) == {"test_n": "run"}


def test_unittest_classes() -> None:
    """A TestCase is one whatever its name, with a constructor too."""
    assert listed("""
        import unittest
        from unittest import TestCase
        class Pages(unittest.TestCase):
            def __init__(self, *args): ...
            def test_one(self): ...
            @unittest.skip("later")
            def test_two(self): ...
            @unittest.expectedFailure
            def test_three(self): ...
        class More(TestCase):
            def test_four(self): ...
            @unittest.skipIf(True, "never")
            def test_five(self): ...
            @unittest.skipIf(False, "always")
            def test_six(self): ...
        """) == {
        "Pages::test_one": "run",
        "Pages::test_two": "skip",
        "Pages::test_three": "xfail",
        "More::test_four": "run",
        "More::test_five": "skip",
        "More::test_six": "run",
    }


@pytest.mark.parametrize(
    ("decorator", "mark"),
    [
        ("@pytest.mark.skip", "skip"),
        ("@pytest.mark.skip('why')", "skip"),
        ("@pytest.mark.skip(reason='why')", "skip"),
        ("@mark.skip", "skip"),
        ("@pytest.mark.skipif(True, reason='why')", "skip"),
        ("@pytest.mark.skipif(condition=1, reason='why')", "skip"),
        ("@pytest.mark.skipif(False, reason='why')", "run"),
        ("@pytest.mark.skipif(sys.platform == 'win32', reason='why')", "run"),
        ("@pytest.mark.skipif('True')", "run"),
        ("@pytest.mark.xfail", "xfail"),
        ("@pytest.mark.xfail(reason='why', strict=True)", "xfail"),
        ("@pytest.mark.xfail(raises=ValueError)", "xfail"),
        ("@pytest.mark.xfail(True)", "xfail"),
        ("@pytest.mark.xfail(False)", "run"),
        ("@pytest.mark.xfail(condition=compute())", "run"),
        ("@pytest.mark.slow", "run"),
    ],
)
def test_marks_that_are_certain(decorator: str, mark: str) -> None:
    """Only what holds in every run is taken from a mark; a condition to compute is not."""
    source = f"{decorator}\ndef test_a(): ...\n"
    assert listed(source) == {"test_a": mark}


def test_marks_of_modules_and_classes() -> None:
    """``pytestmark`` and a class's marks hold for what lies below them."""
    assert listed("""
        import pytest
        pytestmark = [pytest.mark.slow, pytest.mark.xfail]
        def test_a(): ...
        @pytest.mark.skip
        class TestB:
            def test_b(self): ...
        """) == {"test_a": "xfail", "TestB::test_b": "skip"}


def test_what_opts_out_is_not_listed() -> None:
    """``__test__ = False`` and fixtures named like tests are no tests."""
    assert (
        listed("""
        import pytest
        class TestBase:
            __test__ = False
            def test_a(self): ...
        @pytest.fixture
        def test_data(): ...
        """)
        == {}
    )


def test_files_are_listed_in_order_and_others_left_alone() -> None:
    """Several files, sorted; helpers and data are not looked into."""
    files = {
        "z/test_z.py": b"def test_z(): ...",
        "test_a.py": b"def test_a(): ...",
        "helper.py": b"def test_h(): ...\n(",
        "data.bin": b"\0\xff",
    }
    assert list(list_tests(files)) == ["test_a.py::test_a", "z/test_z.py::test_z"]


@pytest.mark.parametrize(
    "source", [b"def test_a(:", b"\0", b"# coding: none-such\n", b"x = '\xff'"]
)
def test_a_file_that_is_no_python_is_named(source: bytes) -> None:
    """The error says which file it is."""
    with pytest.raises(SyntaxError) as caught:
        list_tests({"sub/test_a.py": source})
    assert caught.value.filename == "sub/test_a.py"
