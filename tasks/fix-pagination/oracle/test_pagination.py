"""What the shop needs from its pages."""

import pytest

from shop.listing import footer
from shop.pages import paginate


@pytest.mark.parametrize(
    ("total", "size", "pages"),
    [(25, 10, 3), (20, 10, 2), (10, 10, 1), (1, 10, 1), (11, 10, 2), (7, 1, 7), (3, 2, 2)],
)
def test_number_of_pages(total, size, pages):
    assert paginate(list(range(total)), 1, size).pages == pages


@pytest.mark.parametrize("total", [1, 9, 10, 11, 19, 20, 25, 30, 101])
def test_every_article_is_on_one_page(total):
    articles = list(range(total))
    seen, number = [], 1
    while True:
        page = paginate(articles, number)
        assert page.items, f"page {number} is empty"
        seen += page.items
        if not page.has_next:
            break
        number += 1
    assert seen == articles


@pytest.mark.parametrize(("total", "number"), [(25, 4), (20, 3), (10, 2), (25, 0), (25, -1), (0, 2)])
def test_missing_page_is_an_index_error(total, number):
    with pytest.raises(IndexError):
        paginate(list(range(total)), number)


def test_empty_category_has_one_empty_page():
    page = paginate([], 1)
    assert (page.number, page.pages, page.items, page.has_next) == (1, 1, [], False)


def test_size_is_still_checked():
    with pytest.raises(ValueError):
        paginate([1], 1, size=0)


def test_footer_of_the_last_page():
    assert footer(list(range(25)), 3) == "Page 3 of 3"
    assert footer(list(range(25)), 2) == "Page 2 of 3 - next"
