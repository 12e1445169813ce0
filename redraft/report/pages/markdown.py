"""A dossier as Markdown: what can be read without a browser."""

from __future__ import annotations

from collections.abc import Iterator

from redraft.evaluators.metric_info import SELF_CHECK
from redraft.report.dossier.contents import Dossier, FindingEntry, PlaceEntry, RoundEntry, SentenceEntry
from redraft.report.history.lineage import came_up
from redraft.report.pages.formatting import capitalized, certainty, many, score, shortened, spaced
from redraft.report.tables import unmarked
from redraft.settings import FIGURES
from redraft.text.places import on_pages, place_said


def dossier_markdown(dossier: Dossier) -> str:
    """The summary with its sources, findings, scores and rounds. What documents and models say is no markup in it."""
    return "\n\n".join(_blocks(dossier)) + "\n"


def _blocks(dossier: Dossier) -> Iterator[str]:
    run = dossier.run
    yield f"# {unmarked(dossier.document.title) or 'Untitled'}"
    facts = [
        f"run {run.id}",
        run.status,
        f"{many(dossier.words, 'word')} of {many(dossier.document.words, 'word')}",
        f"written by {unmarked(run.model)}",
    ]
    if run.judges:
        facts.append(f"judged by {', '.join(map(unmarked, run.judges))}")
    yield " · ".join(facts)
    yield dossier.holds
    yield "## Summary"
    yield " ".join(f"{unmarked(one.text)} [{one.number}]" for one in dossier.sentences) or "There is none yet."
    yield from _chapters(dossier)
    yield from _scores(dossier)
    yield "## Sentence by sentence"
    by_number = {one.number: one for one in dossier.findings}
    for sentence in dossier.sentences:
        yield "\n".join(_sentence(sentence, [by_number[number] for number in sentence.findings]))
    yield from _findings("Not in the summary", [f for f in dossier.findings if f.state == "open" and not f.sentence])
    if len(dossier.rounds) > 1:
        yield "## Rounds"
        yield "\n".join(_round(one) for one in dossier.rounds)
        if dossier.compared:
            yield unmarked(capitalized(dossier.compared))
        yield from _findings("What holds no more", [one for one in dossier.findings if one.state != "open"])
    yield "## What is not in here"
    yield "\n".join(f"- {unmarked(one)}" for one in dossier.left_out)


def _chapters(dossier: Dossier) -> Iterator[str]:
    for number, one in enumerate(dossier.chapters):
        if not number:
            yield "## Chapters"
        yield f"### {unmarked(one.title)}"
        told = [on_pages(one.pages), many(one.words, "word"), one.status, f"run {one.run}" if one.run else ""]
        told += [f"{spaced(metric)} {score(value)}" for metric, value in one.scores.items()]
        told += [SELF_CHECK] if one.scores and one.self_check else []
        yield " · ".join(filter(None, told))
        yield unmarked(one.summary) or "There is no summary of it yet."


def _scores(dossier: Dossier) -> Iterator[str]:
    shown = [one for one in dossier.scores if one.metric not in FIGURES]
    if not shown:
        return
    yield "## Scores"
    for one in shown:
        goal = "" if one.goal is None else f", goal {score(one.goal)}"
        without = f", {one.unjudged} without a verdict" if one.unjudged else ""
        behind = unmarked(one.stands_on if one.score is not None else one.reason)
        itself = f" ({SELF_CHECK})" if one.self_check else ""
        judged = f"{many(one.judged, 'item')} judged{without}"
        yield f"- {spaced(one.metric)} {score(one.score)}{itself}{goal}: {judged}; {behind}"


def _sentence(one: SentenceEntry, findings: list[FindingEntry]) -> Iterator[str]:
    yield f"**{one.number}** {unmarked(one.text)}\n"
    for rank, source in enumerate(one.sources, 1):
        through = f", by way of {many(len(source.way) - 1, 'text')}" if len(source.way) > 1 else ""
        said = unmarked(shortened(source.place.text))
        yield f"{rank}. {_where(source.place)}, {certainty(source)}{through}: “{said}”"
    if one.invented:
        yield f"- {came_up(one.invented)}"
    if one.drift:
        yield f"- {capitalized(one.drift)}"
    for finding in findings:
        yield _finding(finding)


def _where(place: PlaceEntry) -> str:
    named = unmarked(place.document), unmarked(place.chapter), unmarked(on_pages(place.pages))
    return place_said(*named, place.percent)


def _findings(title: str, those: list[FindingEntry]) -> Iterator[str]:
    if those:
        yield f"## {title}"
        yield "\n".join(map(_finding, those))


def _finding(one: FindingEntry) -> str:
    parts = [f"- **f{one.number}** {spaced(one.kind)} ({spaced(one.metric)}): {one.explanation}"]
    told = (("question", one.question), ("the summary says", one.found), ("the document says", one.expected))
    parts += [f"{name}: {unmarked(text)}" for name, text in told if text]
    if one.said:
        where = f" ({_where(one.evidence)})" if one.evidence else ""
        parts.append(f"evidence{where}: “{unmarked(shortened(one.said))}”")
    for became in one.aimed:
        taken = ", refused" if became.taken is False else ""
        said = f", {became.became}: {unmarked(became.words)}" if became.became in ("kept", "left") else ""
        parts.append(f"round {became.round}{taken}: {'mended' if became.gone else 'still there'}{said}")
    return "; ".join(parts)


def _round(one: RoundEntry) -> str:
    verdict = {True: "taken", False: "refused", None: "not judged yet"}[one.taken]
    scores = ", ".join(f"{spaced(metric)} {score(value)}" for metric, value in one.scores.items())
    scores += f" ({SELF_CHECK})" if one.self_check else ""
    origin = "the first draft" if one.base is None else f"from round {one.base}"
    reason = f": {unmarked(one.reason)}" if one.reason else ""
    gone = [f"; withdrawn: {unmarked(it.question or it.sentence)} (“{unmarked(it.quote)}”)" for it in one.withdrawn]
    return f"- round {one.number}, {origin}, {many(one.words, 'word')}, {verdict}{reason}; {scores}{''.join(gone)}"
