"""Where the sentences of a summary come from, as Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from redraft.report.history.lineage import DRIFTS, Lineage, LineageStep, Origin, TracedSentence, origin_note
from redraft.report.history.texts import GIVEN_SAID
from redraft.report.markdown.layout import item, joined, line, quoted
from redraft.text.places import on_pages, place_said
from redraft.text.sentences import is_heading
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
    """Yield each sentence of a draft with the places that it comes from."""
    for sentence in lineage.sentences:
        yield from item(line(sentence.text, 2 * _QUOTE), _origins(sentence), f"{sentence.number}.")


def _origins(sentence: TracedSentence) -> Iterator[str]:
    """Yield what judges object to in a sentence, the places that it comes from, the texts in between, and where these
    differ."""
    yield from (f"- ✗ {line(objection)}" for objection in sentence.objections)
    yield from (f"- judge: {_place(origin)}" for origin in sentence.judged)
    for origin in sentence.origins:
        steps = [_step(step) for step in origin.way if step.said]
        yield from item(f"{score(origin.weight)}: {_place(origin)}", [f"via {', '.join(steps)}"] if steps else [])
    if sentence.invented and not is_heading(sentence.text):
        yield f"- {line(origin_note(sentence.invented))}"
    if sentence.drift:
        directly = sentence.direct if sentence.drift != "nowhere" else ()
        below = (f"- {score(origin.weight)}: directly, {_place(origin)}" for origin in directly)
        yield from item(f"drift: {DRIFTS[sentence.drift]}", below)


def _place(origin: Origin) -> str:
    document, chapter = line(origin.document, 80), line(origin.chapter, 80)
    return f"{place_said(document, chapter, on_pages(origin.pages), origin.percent)}: {quoted(origin.text, _QUOTE)}"


def _step(step: LineageStep) -> str:
    kind = "" if step.kind in ("piece", "running", "base") else f" ({step.kind})"
    # "draft 2" and "your summary" take no article.
    article = "" if step.said.startswith(("the ", "draft ", GIVEN_SAID)) else "the "
    return f"{article}{line(step.said)}{kind}"
