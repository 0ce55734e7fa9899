import pytest

from shop.pages import paginate


def test_first_page():
    assert paginate(list(range(30)), 1).items == list(range(10))


def test_page_size_is_checked():
    with pytest.raises(ValueError):
        paginate([1, 2], 1, size=0)
