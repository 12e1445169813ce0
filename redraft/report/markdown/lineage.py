"""Where the sentences of a summary come from, and a run as a file, as Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from redraft.report.history.lineage import DRIFTS, GIVEN_SAID, Lineage, Origin, origin_note, read_lineage
from redraft.report.history.results import document_read
from redraft.report.history.trace import read_trace
from redraft.report.markdown.layout import item, joined, line, quoted, section
from redraft.report.markdown.trace import trace_markdown
from redraft.store.runs import WITHOUT_SUMMARY
from redraft.store.store import Store
from redraft.text.languages import language_context
from redraft.text.places import on_pages, place_said
from redraft.text.sanitizer import scrubbed
from redraft.text.sentences import is_heading
from redraft.text.vectors import Encoder
from redraft.text.words import count, score

_QUOTE = 200


def lineage_markdown(lineage: Lineage) -> str:
    """Return a draft sentence by sentence, with the places that each comes from."""
    head = f"# run {lineage.run} · {line(lineage.document.title, 60)} · {count(len(lineage.sentences), 'sentence')}"
    wrong = sum(bool(sentence.objections) for sentence in lineage.sentences)
    drifting = sum(bool(sentence.drift) for sentence in lineage.sentences)
    unsupported = sum(sentence.unplaced and sentence.read for sentence in lineage.sentences)
    doubtful = sum(sentence.doubtful for sentence in lineage.sentences)
    numbers = [f"{wrong:,} that judges object to"] if wrong else []
    numbers += [f"{drifting:,} with drift"] if drifting else []
    numbers += [f"{unsupported:,} unsupported"] if unsupported else []
    numbers += [f"{doubtful:,} without matching wording"] if doubtful else []
    more = "" if lineage.embedded else "; embeddings find more"
    note = f"note: sentences that reword the document may have no place{more}" if doubtful else ""
    summary = ", ".join(numbers) or "every sentence has a place in the document"
    return joined([head, summary, note, "\n".join(sentence_items(lineage))])


def sentence_items(lineage: Lineage) -> Iterator[str]:
    """Yield each sentence of a draft with what judges object to in it, the places that it comes from, the texts in
    between, and where these differ."""
    for sentence in lineage.sentences:
        below = [f"- ✗ {line(objection)}" for objection in sentence.objections]
        below += [f"- judge: {_place(origin)}" for origin in sentence.judged]
        for origin in sentence.origins:
            steps = []
            for step in origin.way:
                kind = "" if step.kind in ("piece", "running", "base") else f" ({step.kind})"
                # "draft 2" and "your summary" take no article.
                article = "" if step.said.startswith(("the ", "draft ", GIVEN_SAID)) else "the "
                steps += [f"{article}{line(step.said)}{kind}"] if step.said else []
            way = [f"via {', '.join(steps)}"] if steps else []
            below += item(f"{score(origin.weight)}: {_place(origin)}", way)
        if sentence.invented and not is_heading(sentence.text):
            below.append(f"- {line(origin_note(sentence.invented))}")
        if sentence.drift:
            directly = sentence.direct if sentence.drift != "nowhere" else ()
            places = (f"- {score(origin.weight)}: directly, {_place(origin)}" for origin in directly)
            below += item(f"drift: {DRIFTS[sentence.drift]}", places)
        yield from item(line(sentence.text, 2 * _QUOTE), below, f"{sentence.number}.")


def _place(origin: Origin) -> str:
    document, chapter = line(origin.document, 80), line(origin.chapter, 80)
    return f"{place_said(document, chapter, on_pages(origin.pages), origin.percent)}: {quoted(origin.text, _QUOTE)}"


def run_markdown(store: Store, key: str, *, encoder: Encoder | None = None) -> str:
    """Return a run as Markdown, without paths and user names of this machine: the summary, that of each chapter, what
    `trace --all` shows, and the sources of each sentence.

    Raises a `RunError` if there is no such run, or if it is of a kind that makes no summary.
    """
    trace = read_trace(store, key)
    result = trace.result
    if trace.run.kind in WITHOUT_SUMMARY:
        trace.run.drafted()
    document = document_read(store, trace.run)
    with language_context(document):
        rounds = trace_markdown(trace, document, show_all=True)
    lineage = read_lineage(store, trace.run.id, encoder=encoder) if result.draft else None
    chapters = [
        section(line(chapter.title), [line(chapter.result.summary)])
        for chapter in result.chapters
        if chapter.result and chapter.result.summary
    ]
    blocks = [
        f"# {line(result.title) or 'Untitled'}",
        line(result.summary or "No summary yet."),
        *chapters,
        rounds.rstrip(),
        section("Sources of each sentence", sentence_items(lineage) if lineage else ()),
    ]
    return scrubbed(joined(blocks))
