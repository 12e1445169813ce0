"""Where the sentences of a summary come from, and what it lost on the way, as Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from redraft.report.history.lineage import DRIFTS, Lineage, LineageStep, Origin, TracedSentence, origin_note
from redraft.report.history.lost import Loss, Losses
from redraft.report.history.texts import GIVEN_SAID
from redraft.report.markdown.layout import item, joined, line, quoted, section, table
from redraft.text.places import on_pages, place_said
from redraft.text.sentences import is_heading
from redraft.text.words import count, score

_QUOTE = 200


def lineage_markdown(lineage: Lineage) -> str:
    """Return a draft sentence by sentence, with the places that each comes from."""
    head = f"# run {lineage.run} · {line(lineage.document.title, 60)} · {count(len(lineage.sentences), 'sentence')}"
    drifting = sum(bool(sentence.drift) for sentence in lineage.sentences)
    numbers = [f"{drifting:,} with drift"] if drifting else []
    numbers += _unplaced(lineage, "unsupported")
    note = _note(lineage, "sentences that reword the document may have no place")
    summary = ", ".join(numbers) or "every sentence has a place in the document"
    return joined([head, summary, note, "\n".join(sentence_items(lineage))])


def sentence_items(lineage: Lineage) -> Iterator[str]:
    """Yield each sentence of a draft with the places that it comes from."""
    for sentence in lineage.sentences:
        yield from item(line(sentence.text, 2 * _QUOTE), _origins(sentence), f"{sentence.number}.")


def _unplaced(lineage: Lineage, word: str) -> list[str]:
    """Return how many sentences have no place in the document: those that a judge did not find there, and unchecked
    ones."""
    parts = [f"{len(lineage.invented):,} {word}"] if lineage.invented else []
    return parts + ([f"{len(lineage.doubtful):,} without matching wording"] if lineage.doubtful else [])


def _note(lineage: Lineage, text: str) -> str:
    more = "" if lineage.embedded else "; embeddings find more"
    return f"note: {text}{more}" if lineage.doubtful else ""


def _origins(sentence: TracedSentence) -> Iterator[str]:
    """Yield the places that a sentence comes from, with the texts in between, and where these differ."""
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
    return f"{_where(origin)}: {quoted(origin.text, _QUOTE)}"


def _where(place: Origin | Loss) -> str:
    return place_said(line(place.document, 80), line(place.chapter, 80), on_pages(place.pages), place.percent)


def _step(step: LineageStep) -> str:
    kind = "" if step.kind in ("piece", "running", "base") else f" ({step.kind})"
    # "draft 2" and "your summary" take no article.
    article = "" if step.said.startswith(("the ", "draft ", GIVEN_SAID)) else "the "
    return f"{article}{line(step.said)}{kind}"


def losses_markdown(losses: Losses) -> str:
    """Return what a summary lacks, by the step that lost it, and what was invented on the way."""
    lineage, facts, decided = losses.lineage, len(losses.kept) + len(losses.lost), len(losses.judged)
    numbers = [f"{losses.by}: {len(losses.kept):,} of {facts:,} in the summary", f"{len(losses.lost):,} lost"]
    reworded = "sentences that reword the document may have no place"
    basis = "a judge decided which of them the summary states"
    if decided != facts:
        reworded = "reworded content may be listed as lost, or have no place"
        basis = "matched by wording, because no judge has decided which of them the summary states"
        if decided:
            wording = "the others were matched by wording"
            basis = f"a judge decided for {decided:,} of them whether the summary states them; {wording}"
    lost = (part for number, loss in enumerate(losses.lost, 1) for part in _loss(number, loss, losses))
    unplaced = (
        part
        for sentence in lineage.unplaced
        for part in item(
            line(sentence.text, _QUOTE),
            [f"- {'invented: ' if sentence.read else ''}{line(origin_note(sentence.invented))}"],
        )
    )
    rows = [[line(step), *map(str, thirds), str(sum(thirds))] for step, thirds in losses.by_step.items()]
    return joined(
        [
            f"# run {lineage.run} · {line(lineage.document.title, 60)}",
            ", ".join([*numbers, *_unplaced(lineage, "invented")]),
            _note(lineage, reworded),
            f"note: {basis}",
            table([["lost", "first third", "second", "last", "all"], *rows], right=True),
            section("Lost", lost),
            section("In the summary without a place in the document", unplaced),
        ]
    )


def _loss(number: int, loss: Loss, losses: Losses) -> Iterator[str]:
    step = loss.description
    evidence = f": {quoted(loss.fact.evidence.text, _QUOTE)}" if loss.fact.evidence.text else ""
    below = [f"- {step if loss.said == GIVEN_SAID else f'{step}: {line(loss.said)}'}"]
    if losses.judged and loss.fact.text not in losses.judged:
        below.append("- matched by wording, not by a judge")
    return item(line(loss.fact.text, _QUOTE), [*below, f"- {_where(loss)}{evidence}"], f"{number}.")
