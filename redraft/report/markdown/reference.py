"""Documents, their questions and their key facts as Markdown."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby

from redraft.domain import Document, DocumentSection, KeyFact, KeyFacts, Pack, Span, Tree, TypedQuestions
from redraft.evaluators.reference.keyfacts import ALL, LEVELS, pruning
from redraft.readers.parts import MATTER, chapters
from redraft.report.markdown.layout import item, joined, line, section, table
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
        own = f", language {line(mark.language)}" if mark.language and not document.language else ""
        words = count(count_words(document.text[mark.start : mark.end]), "word")
        rows.append(("document", f"{line(mark.label)}: {words}{own}"))
    pages = [] if document.members else [mark.label for mark in document.marks if mark.kind == "page"]
    if pages:
        rows.append(("pages", f"{len(dict.fromkeys(pages)):,}, from {line(pages[0])} to {line(pages[-1])}"))
    if times := [mark.label for mark in document.marks if mark.kind == "time"]:
        rows.append(("times", f"from {times[0]} to {times[-1]}"))
    kinds = Counter(mark.kind for mark in document.marks)
    inner = [count(kinds[kind], kind) for kind in ("table", "caption", "note") if kinds[kind]]
    matter = [f"{what} (--skip {kind})" for kind, what in MATTER.items() if kinds[kind]]
    rows += [(name, ", ".join(parts)) for name, parts in (("besides", inner), ("kept", matter)) if parts]
    rows += [("note", line(note)) for note in document.notes]
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
    listed = "\n".join(f"- {name}: {text}" for name, text in rows)
    return joined([listed, table([["chapter", "words", "pages", "section"], *sections])])


def chapter_numbers(document: Document) -> dict[DocumentSection, int]:
    """Return the chapter number of each section; empty if several documents are read as one."""
    return {} if document.members else {chapter.section: chapter.number for chapter in chapters(document)}


def pack_markdown(pack: Pack, document: Document) -> str:
    """Return the questions of a pack, most important first."""
    lines: list[str] = []
    for question in pack.questions:
        span = question.evidence.span
        place = f", {line(place_of(document, span))}" if span else ""
        answer = f"- {line(question.answer)} (weight {question.weight}{place})"
        lines += item(line(question.text), [answer], f"{question.id}.")
    return joined(["\n".join(lines), section("Missing", _missing(pack.missing))])


def _missing(troubles: Sequence[str]) -> Iterator[str]:
    return (f"- missing: {line(trouble, _LONGEST)}" for trouble in troubles)


def origin(questions: Pack | TypedQuestions) -> str:
    """Return the origin of questions."""
    return f"{'imported, ' if questions.imported else ''}by {line(questions.model, _MODEL)}"


def keyfacts_markdown(keyfacts: KeyFacts, document: Document, *, pruned: bool = False) -> str:
    """Return all trees by chunk, then how much was pruned or is missing; `pruned` includes pruned facts."""
    blocks = []
    for chunk, trees in groupby(keyfacts.trees, key=lambda tree: tree.chunk):
        of_chunk = list(trees)
        lines = [part for tree in of_chunk for part in _tree(tree, document, pruned=pruned)]
        blocks.append(section(f"chunk {chunk + 1}: {_stretch(of_chunk[0].span, document)}", lines))
    counted, levels = pruning(keyfacts.trees), (ALL, *LEVELS)
    shares = [counted[level]["share"] for level in levels]
    rows = [[name, *(f"{counted[level][name]:,}" for level in levels)] for name in ("found", "pruned")]
    rows.append(["share pruned", *("–" if share is None else f"{share:.0%}" for share in shares)])
    blocks.append(table([["", *levels], *rows], right=True))
    if not pruned and any(not fact.kept for tree in keyfacts.trees for fact in tree.facts):
        blocks.append("see --pruned for what was pruned, and why")
    return joined([*blocks, section("Missing", _missing(keyfacts.missing))])


def _stretch(span: Span, document: Document) -> str:
    """Return the start and end of a span within the document."""
    last = Span(max(span.start, span.end - 1), span.end)
    ends = [line(chapter_of(document, place), _TITLE) for place in (span, last)]
    titles = " to ".join(dict.fromkeys(filter(None, ends)))
    first, final = (percent_of(document, place.start) for place in (span, last))
    name = document_of(document, span)
    within = f"all documents, {line(name, _TITLE)}" if name else "the document"
    return f"from {first}% to {final}% of {within}{f', {titles}' if titles else ''}"


def _tree(tree: Tree, document: Document, *, pruned: bool) -> Iterator[str]:
    below: dict[int | None, list[KeyFact]] = defaultdict(list)
    for fact in tree.facts:
        if pruned or fact.kept:
            below[fact.parent].append(fact)
    facts = _facts(None, below, document) if below else ["- (no facts kept)"]
    return item(f"{tree.perspective}: {line(tree.query, _LONGEST) or '(no query)'}", facts)


def _facts(parent: int | None, below: dict[int | None, list[KeyFact]], document: Document) -> Iterator[str]:
    """Yield the facts below one, each with those below it."""
    for fact in below[parent]:
        span = fact.evidence.span
        pages = on_pages(pages_of(document, span)) if span else ""
        place = (
            f" ({place_said(document_of(document, span), '', pages, percent_of(document, span.start))})" if span else ""
        )
        objections = [f"- × {said.dimension}: {line(said.reason, _LONGEST)}" for said in fact.objections]
        head = f"{'' if fact.kept else '× '}{line(fact.text, _LONGEST)}{place}"
        yield from item(head, [*objections, *_facts(fact.id, below, document)])


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
