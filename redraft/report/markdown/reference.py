"""Documents, their questions and their key facts as Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby

from redraft.domain import Document, DocumentSection, KeyFact, KeyFacts, Pack, Span
from redraft.evaluators.reference.keyfacts import ALL, LEVELS, pruning
from redraft.readers.parts import MATTER, chapters
from redraft.report.history.quotes import query_in_words
from redraft.report.markdown.layout import item, joined, line, named, section, table
from redraft.text.places import chapter_of, document_of, on_pages, pages_of, percent_of, place_of, place_said
from redraft.text.words import count, count_words

_TITLE, _LONGEST, _MODEL = 60, 400, 40


def document_markdown(document: Document) -> str:
    """Return a document's size, structure and notes, and its sections with their numbers for `--chapters`."""
    language = f", language {line(document.language)}" if document.language else ""
    rows = [
        ("title", line(document.title)),
        ("file", f"{line(document.source)}, {document.encoding}{language}"),
        ("text", f"{count(count_words(document.text), 'word')}, {len(document.text):,} characters"),
    ]
    for mark in document.members:
        language = f", language {line(mark.language)}" if mark.language and not document.language else ""
        words = count(count_words(document.text[mark.start : mark.end]), "word")
        rows.append(("document", f"{line(mark.label)}: {words}{language}"))
    pages = [] if document.members else [mark.label for mark in document.marks if mark.kind == "page"]
    if pages:
        rows.append(("pages", f"{len(dict.fromkeys(pages)):,}, from {line(pages[0])} to {line(pages[-1])}"))
    if times := [mark.label for mark in document.marks if mark.kind == "time"]:
        rows.append(("times", f"from {times[0]} to {times[-1]}"))
    kinds = Counter(mark.kind for mark in document.marks)
    rows += [
        ("besides", ", ".join(count(kinds[kind], kind) for kind in ("table", "caption", "note") if kinds[kind])),
        ("kept", ", ".join(f"{what} (--skip {kind})" for kind, what in MATTER.items() if kinds[kind])),
        *(("note", line(note)) for note in document.notes),
    ]
    numbers = chapter_numbers(document)
    sections = [
        [
            str(numbers.get(part, "")),
            f"{count_words(document.text[slice(*part.span)]):,}",
            line(pages_of(document, part.span)),
            f"{'› ' * min(part.level - 1, 6)}{line(part.title, _TITLE)}",
        ]
        for part in document.sections
    ]
    return joined(["\n".join(named(rows)), table([["chapter", "words", "pages", "section"], *sections])])


def chapter_numbers(document: Document) -> dict[DocumentSection, int]:
    """Return the chapter number of each section; empty if several documents are read as one."""
    return {} if document.members else {section: number for number, section in chapters(document)}


def pack_markdown(pack: Pack, document: Document) -> str:
    """Return the questions of a pack, most important first."""
    lines: list[str] = []
    for question in pack.questions:
        span = question.evidence.span
        place = f", {line(place_of(document, span))}" if span else ""
        answer = f"- {line(question.answer)} (weight {question.weight}{place})"
        lines += item(line(question.text), [answer], f"{question.id}.")
    missing = section("Missing", (f"- missing: {line(trouble, _LONGEST)}" for trouble in pack.missing))
    return joined(["\n".join(lines), missing])


def origin(questions: Pack) -> str:
    """Return the origin of questions."""
    return f"{'imported, ' if questions.imported else ''}by {line(questions.model, _MODEL)}"


def keyfacts_markdown(keyfacts: KeyFacts, document: Document, *, pruned: bool = False) -> str:
    """Return all trees by chunk, then how much was pruned or is missing; `pruned` includes pruned facts."""
    blocks = []
    for chunk, group in groupby(keyfacts.trees, key=lambda tree: tree.chunk):
        trees = list(group)
        lines: list[str] = []
        for tree in trees:
            facts = [fact for fact in tree.facts if pruned or fact.kept]
            below = _facts(None, facts, document) if facts else ["- (no facts kept)"]
            query = query_in_words(tree.query)
            lines += item(f"{tree.perspective}: {line(query, _LONGEST) or '(no query)'}", below)
        blocks.append(section(f"chunk {chunk + 1}: {_stretch(trees[0].span, document)}", lines))
    counts, levels = pruning(keyfacts.trees), (ALL, *LEVELS)
    shares = [counts[level]["share"] for level in levels]
    rows = [[name, *(f"{counts[level][name]:,}" for level in levels)] for name in ("found", "pruned")]
    rows.append(["share pruned", *("–" if share is None else f"{share:.0%}" for share in shares)])
    blocks.append(table([["", *levels], *rows], right=True))
    if not pruned and any(not fact.kept for tree in keyfacts.trees for fact in tree.facts):
        blocks.append("see --pruned for what was pruned, and why")
    blocks.append(section("Missing", (f"- missing: {line(trouble, _LONGEST)}" for trouble in keyfacts.missing)))
    return joined(blocks)


def _stretch(span: Span, document: Document) -> str:
    """Return the start and end of a span within the document."""
    last = Span(max(span.start, span.end - 1), span.end)
    titles = dict.fromkeys(line(chapter_of(document, place), _TITLE) for place in (span, last))
    chapters_ = f", {' to '.join(filter(None, titles))}" if any(titles) else ""
    name = document_of(document, span)
    within = f"all documents, {line(name, _TITLE)}" if name else "the document"
    return f"from {percent_of(document, span.start)}% to {percent_of(document, last.start)}% of {within}{chapters_}"


def _facts(parent: int | None, facts: Sequence[KeyFact], document: Document) -> Iterator[str]:
    """Yield the facts below one, each with those below it."""
    for fact in facts:
        if fact.parent != parent:
            continue
        place, span = "", fact.evidence.span
        if span:
            pages = on_pages(pages_of(document, span))
            place = f" ({place_said(document_of(document, span), '', pages, percent_of(document, span.start))})"
        objections = [f"- × {objection.dimension}: {line(objection.reason, _LONGEST)}" for objection in fact.objections]
        head = f"{'' if fact.kept else '× '}{line(fact.text, _LONGEST)}{place}"
        yield from item(head, [*objections, *_facts(fact.id, facts, document)])


def measure(keyfacts: KeyFacts) -> str:
    """Return the numbers of facts and trees."""
    facts = sum(len(tree.kept) for tree in keyfacts.trees)
    return f"{count(facts, 'key fact')} in {count(len(keyfacts.trees), 'tree')}"


def fact_models(keyfacts: KeyFacts) -> str:
    """Return which models found and validated the facts."""
    imported = "imported, " if keyfacts.imported else ""
    builder, validator = (line(name, _MODEL) for name in (keyfacts.builder, keyfacts.validator))
    same = keyfacts.builder == keyfacts.validator
    return f"{imported}found {'and validated' if same else f'by {builder}, validated'} by {validator}"
