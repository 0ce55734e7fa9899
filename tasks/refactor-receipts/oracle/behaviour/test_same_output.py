"""The three receipts, character by character."""

import inspect

import pytest

import receipts

ITEMS = [
    ("Bread", 2, 250),
    ("Twenty characters ok", 1, 99),
    ("Twenty-one characters", 10, 1_05),
    ("Bag", 0, 10),
    ("Television set, large, black", 3, 129_999),
]

SALE = """\
Bread                  2      5.00
Twenty characters ok   1      0.99
Twenty-one characte~  10     10.50
Bag                    0      0.00
Television set, lar~   3   3899.97
----------------------------------
Total                      3916.46"""

REFUND = """\
REFUND
Bread                  2     -5.00
Twenty characters ok   1     -0.99
Twenty-one characte~  10    -10.50
Bag                    0      0.00
Television set, lar~   3  -3899.97
----------------------------------
Total                     -3916.46"""

QUOTE = """\
QUOTE
Bread                  2      5.00
Twenty characters ok   1      0.99
Twenty-one characte~  10     10.50
Television set, lar~   3   3899.97"""


def test_sale_is_unchanged():
    assert receipts.sale(ITEMS) == SALE


def test_refund_is_unchanged():
    assert receipts.refund(ITEMS) == REFUND


def test_quote_is_unchanged():
    assert receipts.quote(ITEMS) == QUOTE


def test_empty_receipts_are_unchanged():
    total = "Total                         0.00"
    assert receipts.sale([]) == f"{'-' * 34}\n{total}"
    assert receipts.refund([]) == f"REFUND\n{'-' * 34}\n{total}"
    assert receipts.quote([]) == "QUOTE"


@pytest.mark.parametrize("name", ["sale", "refund", "quote"])
def test_signatures_are_unchanged(name):
    assert list(inspect.signature(getattr(receipts, name)).parameters) == ["items"]
