from receipts import quote, sale


def test_sale():
    assert sale([("Bread", 2, 250)]).splitlines() == [
        "Bread                  2      5.00",
        "----------------------------------",
        "Total                         5.00",
    ]


def test_quote_leaves_out_what_is_not_wanted():
    assert quote([("Bread", 0, 250)]) == "QUOTE"
