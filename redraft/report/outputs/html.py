"""A paper as a page: one file, no script, nothing fetched, its notes at its end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby

from redraft.report.history.citations import Cited
from redraft.report.outputs.paper import Block, Note, Paper, Words
from redraft.text.sanitizer import clean, one_line

_STYLE = """
:root { color-scheme: light dark; --quiet: #5b6470; --line: #d5dae0; --link: #1a5fb4; --ground: #fff; --ink: #1c2127; }
@media (prefers-color-scheme: dark) {
  :root { --quiet: #a0a9b4; --line: #3b424a; --link: #8ab8f0; --ground: #16191d; --ink: #e4e7eb; }
}
body { margin: 0 auto; max-width: 42rem; padding: 2.5rem 1.25rem 4rem; background: var(--ground); color: var(--ink);
  font: 1.0625rem/1.6 Georgia, "Times New Roman", serif; overflow-wrap: anywhere; }
h1, h2, h3, h4, h5, h6 { line-height: 1.25; margin: 2rem 0 .5rem; text-wrap: balance; }
h1 { font-size: 1.75rem; margin-top: 0; } h2 { font-size: 1.3rem; } h3 { font-size: 1.1rem; }
h4, h5, h6 { font-size: 1rem; }
p, ul, ol { margin: 0 0 1rem; } a { color: var(--link); }
sup { line-height: 0; font-size: .72em; unicode-bidi: isolate; } sup a { text-decoration: none; padding: 0 .12em; }
sup a:hover, sup a:focus { text-decoration: underline; }
.notes { margin-top: 3rem; border-top: 1px solid var(--line); padding-top: .5rem; font-size: .9rem; line-height: 1.5; }
.notes h2 { font-size: 1rem; margin: .75rem 0; } .notes li { margin-bottom: .5rem; } .notes p { margin: 0; }
.notes .place { color: var(--quiet); }
:target { background: color-mix(in srgb, var(--link) 14%, transparent); }
footer { margin-top: 2rem; border-top: 1px solid var(--line); padding-top: .75rem; color: var(--quiet);
  font-size: .85rem; line-height: 1.5; } footer p { margin: 0; }
@media print { body { max-width: none; padding: 0; } .back { display: none; } a { color: inherit; } }
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def html(paper: Paper) -> str:
    """The page."""
    blocks = paper.blocks
    notes = [one for block in blocks for one in block.pieces if isinstance(one, Note)]
    language = f' lang="{escape(paper.language)}"' if paper.language else ""
    lines = [
        "<!doctype html>",
        f'<html{language} dir="{"rtl" if paper.is_rtl else "ltr"}">',
        "<head>",
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{_text(one_line(paper.title))}</title>",
        f"<style>{_STYLE}</style>",
        "</head>",
        "<body>",
        "<main>",
        f'<h1 dir="auto">{_text(one_line(paper.title))}</h1>',
        *_body(blocks),
        "</main>",
        *_notes(notes),
        *_footer(paper.about),
        "</body>",
        "</html>",
    ]
    return "\n".join(lines) + "\n"


def _body(blocks: Sequence[Block]) -> Iterator[str]:
    for (kind, numbered), group in groupby(blocks, lambda one: (one.kind, bool(one.number))):
        if kind == "item":
            name = "ol" if numbered else "ul"
            yield f"<{name}>"
            yield from (f'<li dir="auto"{_value(one)}>{_inline(one)}</li>' for one in group)
            yield f"</{name}>"
        else:
            for one in group:
                name = f"h{max(2, one.level)}" if kind == "heading" else "p"
                yield f'<{name} dir="auto">{_inline(one)}</{name}>'


def _value(item: Block) -> str:
    return f' value="{int(item.number[:-1])}"' if item.number else ""


def _inline(block: Block) -> str:
    return "".join(_piece(one) for one in block.pieces)


def _piece(one: Words | Note) -> str:
    if isinstance(one, Words):
        return f"<strong>{_text(one.text)}</strong>" if one.strong else _text(one.text)
    at = one.number
    return f'<sup><a id="mark-{at}" href="#note-{at}" role="doc-noteref">{at}</a></sup>'


def _notes(notes: Sequence[Note]) -> Iterator[str]:
    """Where each sentence stands; names and quotations in their own direction, and what is ours around them in its."""
    if not notes:
        return
    yield '<section class="notes" role="doc-endnotes" lang="en" dir="ltr">'
    yield "<h2>Where it stands in the document</h2>"
    yield "<ol>"
    for note in notes:
        places = "".join(
            f'<p><span class="place">{_whereabouts(one)}:</span>'
            f' <q{_in_language(one)} dir="auto">{_text(one.quote)}</q>{back}</p>'
            for one, back in zip(note.places, _backs(note), strict=True)
        )
        yield f'<li id="note-{note.number}">{places}</li>'
    yield "</ol>"
    yield "</section>"


def _whereabouts(cited: Cited) -> str:
    return ", ".join(f"<bdi{_in_language(cited)}>{_text(one)}</bdi>" for one in cited.whereabouts)


def _in_language(cited: Cited) -> str:
    """What is quoted is in the language of its document, whatever the summary is in."""
    return f' lang="{escape(cited.language)}"'


def _backs(note: Note) -> list[str]:
    """The way back to the text, behind the last of a note's places."""
    back = f' <a class="back" href="#mark-{note.number}" role="doc-backlink" aria-label="Back to the text">↩</a>'
    return [""] * (len(note.places) - 1) + [back]


def _footer(about: Sequence[str]) -> Iterator[str]:
    if about:
        yield '<footer lang="en" dir="ltr">'
        yield from (f'<p dir="auto">{_text(one)}</p>' for one in about)
        yield "</footer>"


def _text(said: str) -> str:
    return escape(clean(said))
