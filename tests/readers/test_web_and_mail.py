"""Web addresses and e-mails as documents; and of a saved page the article is read."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextvars import ContextVar
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path

import pytest

from redraft.errors import DocumentError
from redraft.readers import documents, html, mail
from redraft.readers.documents import load, load_all
from redraft.sources import size_limit
from tests.readers import makers
from tests.readers.webpages import PAGES, SHARE, WebPage, paragraphs, whole, words

PAGE = makers.html("Salt", [("One", ["It was white, and there was much of it."])])


REDIRECTS = {"/loop": "/loop", "/file": "file:///etc/passwd"}


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        is_page = self.path == "/salt"
        self.send_response(302 if self.path in REDIRECTS else 200 if is_page else 404)
        if self.path in REDIRECTS:
            self.send_header("Location", REDIRECTS[self.path])
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(PAGE if is_page else b"")

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def address() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_pages_are_read_within_limits(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    document = load_all([f"{address}/salt"])
    assert (document.title, document.source) == ("Salt", "salt")
    assert "It was white" in document.text
    assert size_limit.get() > len(PAGE)
    monkeypatch.setattr(documents, "size_limit", ContextVar("size_limit", default=10))
    with pytest.raises(DocumentError, match="larger than 10 bytes"):
        load_all([f"{address}/salt"])
    with pytest.raises(DocumentError, match="web address"):
        load("https://example.org/a")


@pytest.mark.parametrize("path", ["/none", "/loop", "/file"])
def test_unfetchable_page_says_how_to_save_it(address: str, path: str) -> None:
    with pytest.raises(DocumentError, match="cannot be fetched") as caught:
        load_all([address + path])
    assert "save the page in your browser" in (caught.value.hint or "")


def test_public_redirect_into_a_private_net_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        documents.socket,
        "getaddrinfo",
        lambda host, _: [(0, 0, 0, "", ("8.8.8.8" if host == "a.org" else "10.0.0.1",))],
    )
    with pytest.raises(OSError, match="redirects to"):
        documents._Redirects().redirect_request(
            documents.Request("http://a.org/"), BytesIO(), 302, "", {}, "http://b.org/"
        )


MAIL = b"""From: Hester Vane <hester@example.org>
To: The Society <society@example.org>
Subject: =?utf-8?q?The_Ledger_=E2=80=94_a_talk?=
Date: Tue, 3 Mar 2026 09:12:00 +0000
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary=x

--x
Content-Type: text/plain; charset=utf-8
Content-Transfer-Encoding: quoted-printable

The caf=C3=A9 was open.

It was late.
--x
Content-Type: application/pdf
Content-Disposition: attachment; filename=a.pdf

abc
--x--
"""


def test_text_of_an_e_mail_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.eml"
    path.write_bytes(MAIL)
    document = load(path)
    assert document.title == "The Ledger \u2014 a talk"
    assert document.text == (
        "# The Ledger \u2014 a talk\n\nFrom: Hester Vane <hester@example.org>\nTo: The Society <society@example.org>\n"
        "Date: Tue, 03 Mar 2026 09:12:00 +0000\n\nThe caf\u00e9 was open.\n\nIt was late."
    )
    assert document.notes == ("left out: 1 attached files (a.pdf)",)
    page = b"Subject: A\nContent-Type: text/html\n\n<p>One</p><p>Two</p>"
    assert mail.read(page, "a.eml").text == "# A\n\nOne\n\nTwo"
    with pytest.raises(DocumentError, match="it has no text"):
        mail.read(b"Content-Type: image/png\n\nabc", "a.eml")


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
