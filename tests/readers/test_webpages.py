"""Of a saved page the article is read."""

from __future__ import annotations

from collections import Counter

import pytest

from redraft.readers import html
from tests.readers.webpages import PAGES, SHARE, WebPage, paragraphs, whole, words


def shares(page: WebPage) -> tuple[float, float]:
    """Return which share of the words that are read is wanted, and which share of the wanted words is read."""
    got, wanted = Counter(words(html.read(page.html.encode(), "x.html").text)), Counter(words(" ".join(page.wanted)))
    both = (got & wanted).total()
    return both / got.total(), both / wanted.total()


@pytest.mark.parametrize("name", PAGES)
def test_the_article_is_read_and_little_else(name: str) -> None:
    precision, recall = shares(PAGES[name]())
    assert precision >= 0.98
    assert recall == 1


def test_structure_stays_and_omissions_are_noted() -> None:
    text = html.read(PAGES["recipe"]().html.encode(), "x.html").text
    assert "## Ingredients\n\n- 3 litres of sea water\n- 1 wide pan\n" in text
    assert "## Method\n\n1. Boil the brine.\n2. Skim off the scum.\n" in text
    assert "Year | Salt | Ships\n1900 | 40 casks | 3 ships\n" in html.read(PAGES["tables"]().html.encode(), "x").text
    omissions = {name: html.read(PAGES[name]().html.encode(), "x.html").notes[0] for name in ("news", "recipe")}
    assert "56 words outside the main content, 1 share bars (8 words), 1 advertisements (18 words)" in omissions["news"]
    assert "1 cookie banners" in omissions["recipe"]
    assert "1 comments" in omissions["recipe"]
    reading = html.read(PAGES["teasers"]().html.encode(), "x.html")
    assert [heading.title for heading in reading.headings] == ["The bridge at Wickmouth"]
    assert "2 boxes of links" in reading.notes[0]


@pytest.mark.parametrize(
    "body",
    [
        "<div class='comments'>{}</div>",  # a page of nothing but comments
        "<div class='page has-sidebar nav-open'>{}</div>",
        "<div id='share-price-history'>{}</div>",
        "<section class='social history'>{}</section>",
    ],
)
def test_a_name_alone_makes_no_clutter(body: str) -> None:
    omissions = paragraphs()[3]
    text = html.read(whole(body.format(f"<p>{omissions}</p>") + SHARE).encode(), "x.html").text
    assert text == omissions
