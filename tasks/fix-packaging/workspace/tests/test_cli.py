from stock.reports import page


def test_page():
    assert "tea" in page(["tea"])
