"""Web pages as sites make them and browsers save them, each with the text of its article."""

# ruff: noqa: E501 - markup has long lines

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from html import escape
from typing import NamedTuple

from tests.support import SAMPLE


class WebPage(NamedTuple):
    """A page, and the paragraphs of it that are wanted; all other words are those of the site."""

    html: str
    wanted: tuple[str, ...]


COOKIES = """<div id="cookie-banner" class="cc-window cookie-consent" role="dialog" aria-label="Cookies"><p>We and our 812
partners use cookies to store and access information on your device, and to show you personalised advertising.</p>
<a class="cc-btn">Accept all</a> <a class="cc-btn">Manage my choices</a></div>"""
SHARE = """<div class="social-share share-buttons"><span>Share this</span><ul><li><a href="https://facebook.example">Share on
Facebook</a></li><li><a href="https://x.example">Post on X</a></li><li><a href="mailto:">Email a friend</a></li></ul></div>"""
ADVERT = """<div class="ad-slot advertisement" data-ad="1"><span>Advertisement</span><p>Buy a new mattress today and sleep well
tomorrow, only at Sleepwell and for a short time only.</p></div>"""
SIGN_UP = """<div class="newsletter-signup"><h3>Get our newsletter</h3><p>Join 40,000 readers who get the best of our
stories by post each Friday.</p><form><input type="email"><button>Subscribe</button></form></div>"""
COMMENTS = """<section id="comments" class="comments-area"><h2>3 comments</h2><ol class="comment-list"><li class="comment"><b>
oldsalt77</b><p>First! Great read, I visited the place with my uncle in 1988 and it smelled of weed.</p><a>Reply</a></li>
<li class="comment"><b>Mira</b><p>There is a typo in the second line, please fix it when you can.</p><a>Reply</a></li>
<li class="comment"><b>bot</b><p>Earn money from home with this one trick that banks hate.</p></li></ol></section>"""
RELATED = """<aside class="related-posts"><h3>You may also like</h3><ul><li><a href="/a">Ten beaches to see before you
retire</a></li><li><a href="/b">What your boat says of you</a></li><li><a href="/c">The oyster is back</a></li></ul></aside>"""
MENU = """<div class="site-nav menu-wrap"><ul><li><a href="/">Home</a></li><li><a href="/news">News</a></li><li><a
href="/sport">Sport</a></li><li><a href="/weather">Weather</a></li><li><a href="/about">About us</a></li></ul></div>"""
FOOT = """<div id="footer" class="site-footer"><p>Copyright 2026 Example Media Limited. All rights reserved. Registered
office: 1 Long Lane.</p><a href="/terms">Terms</a> <a href="/privacy">Privacy policy</a></div>"""
SCRIPT = "<script>window.dataLayer=[];function t(){document.write('<p>tracked by a script</p>')}</script>"


@cache
def paragraphs() -> tuple[str, ...]:
    """Paragraphs of the sample book."""
    text = SAMPLE.read_text("utf-8").replace("*", "")
    return tuple(" ".join(one.split()) for one in text.split("\n\n") if len(one) > 120 and not one.startswith("#"))


def texts(start: int, count: int) -> tuple[str, ...]:
    return paragraphs()[start : start + count]


def p(texts: tuple[str, ...]) -> str:
    return "\n".join(f"<p>{escape(text)}</p>" for text in texts)


def whole(body: str, title: str = "A page", head: str = "") -> str:
    return f"<!DOCTYPE html><html lang=en><head><meta charset=utf-8><title>{title}</title>{head}</head><body>{body}</body></html>"


def news() -> WebPage:
    article, title = texts(0, 8), "The Long Bank breaks again"
    body = f"""{COOKIES}<header class="masthead"><a href=/>The Daily Tide</a>{MENU}</header><main><article><h1>{title}</h1>
    <div class="byline">By Ada Quill</div>{SHARE}{p(article[:4])}{ADVERT}{p(article[4:])}{SIGN_UP}{RELATED}</article></main>
    <footer>{FOOT}</footer>{SCRIPT}"""
    return WebPage(whole(body, f"{title} | The Daily Tide"), (title, "By Ada Quill", *article))


def recipe() -> WebPage:
    intro, steps = texts(21, 2), ("Boil the brine.", "Skim off the scum.", "Rake the salt on to boards and let it dry.")
    goods = ("3 litres of sea water", "1 wide pan", "2 spoons of patience")
    body = f"""{MENU}{COOKIES}<div class="recipe-card"><h1>Grey salt</h1>{p(intro)}{ADVERT}<h2>Ingredients</h2><ul>
    {"".join(f"<li>{text}</li>" for text in goods)}</ul><h2>Method</h2><ol>{"".join(f"<li>{text}</li>" for text in steps)}</ol>
    </div>{SHARE}{COMMENTS}{FOOT}"""
    return WebPage(whole(body, "Grey salt"), ("Grey salt", *intro, "Ingredients", *(f"- {text}" for text in goods), "Method",
                                              *(f"{at}. {text}" for at, text in enumerate(steps, 1))))  # fmt: skip


def forum() -> WebPage:
    """The posts of a thread are the text, and not comments on one."""
    article = texts(24, 5)
    posts = "".join(f'<div class="post"><div class="author">user{at}</div><div class="postbody"><p>{text}</p></div><a>Quote</a></div>'
                    for at, text in enumerate(article))  # fmt: skip
    body = f"{MENU}<h1>Why did the bank break?</h1><div class='thread'>{posts}</div>{FOOT}"
    names = (f"user{at}" for at in range(len(article)))
    return WebPage(whole(body, "Why did the bank break?"), ("Why did the bank break?", *names, *article))


def tables() -> WebPage:
    article = texts(38, 2)
    rows = tuple((str(1900 + at), f"{40 + at} casks", f"{at + 3} ships") for at in range(12))
    grid = "".join(f"<tr><td>{'<td>'.join(row)}</tr>" for row in rows)
    body = f"""{MENU}<div id="content"><h1>Salt by the year</h1><p>{article[0]}</p><table><tr><th>Year<th>Salt<th>Ships</tr>{grid}</table>
    <p>{article[1]}</p></div>{FOOT}"""
    return WebPage(
        whole(body),
        ("Salt by the year", article[0], "Year | Salt | Ships", *(" | ".join(row) for row in rows), article[1]),
    )


TEASERS = ("Storm closes bridge", "Ferry fares to rise in spring", "Oyster thieves caught at dawn")


def teasers() -> WebPage:
    """Boxes of links within an article and after it, with names that say nothing."""
    article, title = texts(75, 7), "The bridge at Wickmouth"
    heads = "".join(f"<h4><a href=/{at}>{text}</a></h4><time>{at} March</time>" for at, text in enumerate(TEASERS))
    items = "".join(f"<li><a href=/{at}><span>{at}</span> {text}</a></li>" for at, text in enumerate(TEASERS))
    body = f"""<main><h1>{title}</h1>{p(article[:4])}<h2>Read next</h2><ul>{items}</ul>{p(article[4:])}<div class=css-77>
    <h2>Most viewed: Storm closes bridge</h2>{heads}</div></main>"""
    return WebPage(whole(body, title), (title, *article))


PAGES: Mapping[str, Callable[[], WebPage]] = {make.__name__: make for make in (news, recipe, forum, tables, teasers)}


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())
