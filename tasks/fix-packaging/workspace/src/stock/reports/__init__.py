"""Reports as text."""

from pathlib import Path


def page(articles):
    template = Path(__file__).with_name("page.txt").read_text(encoding="utf-8")
    return template.format(articles="\n".join(articles))
