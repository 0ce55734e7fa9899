"""Splits long lists into pages."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Page:
    """One page of a listing; `number` counts from 1."""

    number: int
    pages: int
    items: list

    @property
    def has_next(self):
        return self.number < self.pages


def page_count(total, size):
    """How many pages `total` articles need with `size` on each."""
    return total // size


def paginate(articles, number, size=10):
    """Page `number` of `articles`."""
    if size < 1:
        raise ValueError("a page holds at least one article")
    pages = page_count(len(articles), size)
    if not 1 <= number <= pages:
        raise IndexError(f"no page {number}; there are {pages}")
    start = (number - 1) * size
    return Page(number, pages, articles[start : start + size])
