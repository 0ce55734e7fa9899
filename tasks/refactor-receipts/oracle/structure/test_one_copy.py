"""There is one function for a line, all use it, and the tests were left alone."""

import ast
import hashlib
from pathlib import Path

import pytest

import receipts

SOURCE = Path("receipts.py")
TESTS_SHA256 = "67784f28689af3f6f6f05c0ff5f8b58b883432820f413a7271edf99a7040d607"


def function(name):
    tree = ast.parse(SOURCE.read_text(encoding="utf-8"))
    found = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == name]
    assert len(found) == 1, f"receipts.py defines {name}() {len(found)} times"
    return found[0]


def test_article_line_formats_one_line():
    assert receipts.article_line("Bread", 2, 500) == "Bread                  2      5.00"
    assert receipts.article_line("Television set, large", 3, -5) == "Television set, lar~   3     -0.05"


def test_article_line_takes_three_arguments():
    arguments = function("article_line").args
    assert [a.arg for a in arguments.args] == ["name", "quantity", "cents"]


@pytest.mark.parametrize("name", ["sale", "refund", "quote"])
def test_receipt_calls_article_line(name, monkeypatch):
    """Another layout, changed in the one place, shows up in each receipt."""
    monkeypatch.setattr(receipts, "article_line", lambda name, quantity, cents: "<line>")
    assert "<line>" in getattr(receipts, name)([("Bread", 2, 250)]).splitlines()


def test_names_are_shortened_in_one_place():
    ends = [n for n in ast.walk(ast.parse(SOURCE.read_text(encoding="utf-8")))
            if isinstance(n, ast.Constant) and n.value == "~"]
    assert len(ends) <= 1


def test_visible_tests_were_left_alone():
    assert hashlib.sha256(Path("tests/test_receipts.py").read_bytes()).hexdigest() == TESTS_SHA256
