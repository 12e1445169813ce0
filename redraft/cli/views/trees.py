"""How key facts look: the trees of a document, and how much of them was pruned."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby

from redraft.cli import terminal
from redraft.cli.views import render
from redraft.domain import Document, KeyFact, KeyFacts, Span, Tree
from redraft.evaluators.reference.keyfacts import ALL, LEVELS, pruning
from redraft.text.cleaning import one_line
from redraft.text.places import chapter_of, document_of, on_pages, pages_of, percent_of, place_said

_TWIG, _LAST_TWIG, _TRUNK, _AIR = "├─ ", "└─ ", "│  ", "   "
_LONGEST = 400
_TITLE = 60


def keyfacts_lines(keyfacts: KeyFacts, document: Document, *, pruned: bool) -> Iterator[str]:
    """All trees chunk by chunk, then how much was pruned and what is missing; `pruned` shows what was pruned too."""
    for chunk, trees in groupby(keyfacts.trees, key=lambda tree: tree.chunk):
        of_chunk = list(trees)
        yield from terminal.wrapped(f"chunk {chunk + 1}: {_stretch(of_chunk[0].span, document)}", "", "  ")
        for tree in of_chunk:
            yield from _tree(tree, document, pruned=pruned)
        yield ""
    yield from _pruning(keyfacts.trees)
    if not pruned and any(not fact.kept for tree in keyfacts.trees for fact in tree.facts):
        yield "--pruned shows what was pruned, and why"
    for trouble in keyfacts.missing:
        yield from terminal.wrapped(f"missing: {one_line(trouble, _LONGEST)}", "", "  ")


def _stretch(span: Span, document: Document) -> str:
    """From where to where in the document."""
    last = Span(max(span.start, span.end - 1), span.end)
    ends = [one_line(chapter_of(document, one), _TITLE) for one in (span, last)]
    chapters = f", {' to '.join(dict.fromkeys(end for end in ends if end))}" if any(ends) else ""
    first, final = (percent_of(document, one.start) for one in (span, last))
    named = document_of(document, span)
    within = f"all documents, {one_line(named, _TITLE)}" if named else "the document"
    return f"from {first} % to {final} % of {within}{chapters}"


def _tree(tree: Tree, document: Document, *, pruned: bool) -> Iterator[str]:
    query = one_line(tree.query, _LONGEST) or "(no query)"
    yield from terminal.wrapped(f"{tree.perspective}: {query}", "  ", "    ")
    below: dict[int | None, list[KeyFact]] = defaultdict(list)
    for fact in tree.facts:
        if pruned or fact.kept:
            below[fact.parent].append(fact)
    if not below:
        yield f"  {_LAST_TWIG}(nothing was kept)"
    yield from _facts(below[None], below, document, "  ")


def _facts(
    facts: Sequence[KeyFact], below: dict[int | None, list[KeyFact]], document: Document, indent: str
) -> Iterator[str]:
    """Facts of one level, and under each those that it stands above."""
    for fact in facts:
        last = fact is facts[-1]
        further = indent + (_AIR if last else _TRUNK)
        under = further + (_TRUNK if below[fact.id] else _AIR)
        yield from terminal.wrapped(_said(fact, document), indent + (_LAST_TWIG if last else _TWIG), under)
        for objection in fact.objections:
            yield from terminal.wrapped(
                f"× {objection.dimension}: {one_line(objection.reason, _LONGEST)}", under, under
            )
        yield from _facts(below[fact.id], below, document, further)


def _said(fact: KeyFact, document: Document) -> str:
    span = fact.evidence.span
    place = f" ({_where(document, span)})" if span else ""
    return f"{'' if fact.kept else '× '}{one_line(fact.text, _LONGEST)}{place}"


def _where(document: Document, span: Span) -> str:
    named = document_of(document, span), "", on_pages(pages_of(document, span))
    return place_said(*named, percent_of(document, span.start))


def _pruning(trees: Sequence[Tree]) -> Iterator[str]:
    counted = pruning(trees)
    levels = (ALL, *LEVELS)
    shares = [counted[level]["share"] for level in levels]
    yield from render.aligned(
        [
            ("", *levels),
            *((name, *(f"{counted[level][name]:,}" for level in levels)) for name in ("found", "pruned")),
            ("", *("-" if share is None else f"{share:.0%}" for share in shares)),
        ]
    )


def measure(keyfacts: KeyFacts) -> str:
    """How many facts and trees there are, in a few words."""
    facts = sum(len(tree.kept) for tree in keyfacts.trees)
    return f"{render.count(facts, 'key fact')} in {render.count(len(keyfacts.trees), 'tree')}"


def by_whom(keyfacts: KeyFacts) -> str:
    """Where they come from."""
    origin = "imported, " if keyfacts.imported else ""
    if keyfacts.builder == keyfacts.validator:
        return f"{origin}found and validated by {one_line(keyfacts.builder, 40)}"
    return f"{origin}found by {one_line(keyfacts.builder, 40)}, validated by {one_line(keyfacts.validator, 40)}"
