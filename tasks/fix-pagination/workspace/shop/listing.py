"""Texts below a listing."""

from shop.pages import paginate


def footer(articles, number, size=10):
    """The line below a page: where we are, and whether it goes on."""
    page = paginate(articles, number, size)
    more = " - next" if page.has_next else ""
    return f"Page {page.number} of {page.pages}{more}"
