"""Views of a summary's lineage: its sentences and their source passages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from redraft.cli.terminal import wrapped
from redraft.cli.views.render import aligned, count
from redraft.report.history.lineage import DRIFTS, Lineage, LineageStep, Origin, TracedSentence, origin_note
from redraft.report.history.lost import Loss, Losses, describe_loss
from redraft.report.history.trace import GIVEN_SAID
from redraft.text.places import on_pages, place_said
from redraft.text.sanitizer import one_line
from redraft.text.sentences import is_heading

_QUOTE = 200
_MARGIN = " " * 6
_LATER = " " * 8
OTHERWISE_SAID = "sentences that reword the document may have no place"
OTHERWISE_STATED = "reworded content may be listed as lost, or have no place"
"""The note shown if no judge has checked the sentences without a source passage, some of which are paraphrases."""


def lines(found: Lineage | Losses) -> Iterator[str]:
    """Yield the sources of sentences, or what was lost."""
    return _lost(found) if isinstance(found, Losses) else _traced(found)


def _traced(lineage: Lineage) -> Iterator[str]:
    """Yield a draft sentence by sentence."""
    title = one_line(lineage.document.title, 60)
    drifting = sum(1 for traced_sentence in lineage.sentences if traced_sentence.drift)
    yield (
        f"run {lineage.run} · {title} · {count(len(lineage.sentences), 'sentence')},"
        f" {drifting or 'none'} with drift, {_unborne(lineage, '{} unsupported')}"
    )
    yield from _notes(lineage, OTHERWISE_SAID)
    for sentence in lineage.sentences:
        yield ""
        yield from wrapped(one_line(sentence.text, 2 * _QUOTE), f"{sentence.number:>4}  ")
        yield from _origins(sentence)


def _unborne(lineage: Lineage, invented: str) -> str:
    """Return how many sentences have no source passage: those that a judge did not find in the document, and unchecked
    ones."""
    doubtful, sure = len(lineage.doubtful), len(lineage.invented)
    told = [invented.format(sure or "none")] if sure or not doubtful else []
    return ", ".join([*told, *([f"{doubtful:,} without matching wording"] if doubtful else [])])


def _notes(lineage: Lineage, otherwise: str) -> Iterator[str]:
    if lineage.doubtful:
        more = "" if lineage.embedded else "; --set embeddings=MODEL finds more"
        yield from wrapped(f"{otherwise}{more}", "note: ", "  ")


def _origins(sentence: TracedSentence) -> Iterator[str]:
    for origin in sentence.judged:
        said = f"{_where(origin)}: “{one_line(origin.text, _QUOTE)}”"
        yield from wrapped(said, f"{_MARGIN}judge ", " " * 12)
    for origin in sentence.origins:
        yield from _place(origin)
        if stops := [_stop(stop) for stop in origin.way if stop.said]:
            yield from wrapped(f"via {', '.join(stops)}", _LATER, _LATER)
    if sentence.invented and not is_heading(sentence.text):
        yield from wrapped(origin_note(sentence.invented), _MARGIN, _LATER)
    if sentence.drift:
        yield from wrapped(f"drift: {DRIFTS[sentence.drift]}", _MARGIN, _LATER)
        if sentence.drift != "nowhere":
            for origin in sentence.direct:
                yield from _place(origin, "directly, ")


def _place(origin: Origin, how: str = "") -> Iterator[str]:
    said = f"{how}{_where(origin)}: “{one_line(origin.text, _QUOTE)}”"
    yield from wrapped(said, f"{_MARGIN}{origin.weight:.2f}  ", " " * 12)


def _where(it: Origin | Loss) -> str:
    return place_said(one_line(it.document, 80), one_line(it.chapter, 80), on_pages(it.pages), it.percent)


def _stop(stop: LineageStep) -> str:
    told = "" if stop.kind in ("piece", "running", "base") else f" ({stop.kind})"
    # "draft 2" takes no article.
    the = "" if stop.said.startswith(("the ", "draft ")) else "the "
    return f"{the}{stop.said}{told}"


def _lost(losses: Losses) -> Iterator[str]:
    """Yield what a summary lacks, by the step that lost it, and what was invented on the way."""
    lineage, lost = losses.lineage, losses.lost
    known = len(losses.kept) + len(lost)
    yield (
        f"run {lineage.run} · {one_line(lineage.document.title, 60)} · {losses.by}: {len(losses.kept):,} of {known:,}"
        f" in the summary, {len(lost):,} lost, {_unborne(lineage, '{} invented')}"
    )
    judged, known = len(losses.judged), len(losses.kept) + len(losses.lost)
    yield from _notes(lineage, OTHERWISE_SAID if judged == known else OTHERWISE_STATED)
    yield from wrapped(_who_says(judged, known), "note: ", "  ")
    if lost:
        yield ""
        yield from _table("first third", losses.by_step)
    if lineage.unplaced:
        yield ""
        yield from _table("first third of the summary", losses.invented_by_step)
    for number, loss in enumerate(lost, 1):
        yield ""
        yield from wrapped(one_line(loss.fact.text, _QUOTE), f"{number:>4}  ")
        step = describe_loss(loss)
        yield from wrapped(step if loss.said == GIVEN_SAID else f"{step}: {loss.said}", _MARGIN, _LATER)
        if losses.judged and loss.fact.text not in losses.judged:
            yield f"{_MARGIN}matched by wording, not by a judge"
        evidence = f": “{one_line(loss.fact.evidence.text, _QUOTE)}”" if loss.fact.evidence.text else ""
        yield from wrapped(f"{_where(loss)}{evidence}", _MARGIN, _LATER)
    for sentence in lineage.unplaced:
        yield ""
        yield from wrapped(one_line(sentence.text, _QUOTE), "   +  ", _MARGIN)
        invented = "invented: " if sentence.read else ""
        yield from wrapped(f"{invented}{origin_note(sentence.invented)}", _MARGIN, _LATER)


def _who_says(judged: int, known: int) -> str:
    """Return how it was determined which known facts the summary states: by a judge or by wording."""
    if not judged:
        return "matched by wording, because no judge has decided which of them the summary states"
    if judged == known:
        return "a judge decided which of them the summary states"
    return f"a judge decided for {judged:,} of them whether the summary states them; the others were matched by wording"


def _table(first: str, by_step: Mapping[str, Sequence[int]]) -> Iterator[str]:
    """Yield how much was lost or added in each step, by thirds."""
    rows = [(said, *map(str, thirds), str(sum(thirds))) for said, thirds in by_step.items()]
    yield from aligned([("", first, "second", "last", "all"), *rows], right=True)
