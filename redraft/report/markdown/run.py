"""A run as a file of Markdown: its summary, its rounds with all findings, and the sources of its sentences."""

from __future__ import annotations

from redraft.report.history.lineage import read_lineage
from redraft.report.history.results import document_read
from redraft.report.history.trace import read_trace
from redraft.report.markdown.layout import joined, line, section
from redraft.report.markdown.lineage import sentence_items
from redraft.report.markdown.trace import trace_markdown
from redraft.store.runs import WITHOUT_SUMMARY
from redraft.store.store import Store
from redraft.text.languages import language_context
from redraft.text.sanitizer import scrubbed
from redraft.text.vectors import Encoder


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
