"""A dossier as Markdown: the summary with its sources, findings, scores and rounds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from redraft.domain import Finding
from redraft.evaluators.metric_info import OFFLINE_CHECK
from redraft.report.dossier.contents import Dossier, FindingHistory, Score
from redraft.report.history.results import ChapterResult
from redraft.report.markdown.evaluation import Where, finding_item, withdrawn_items
from redraft.report.markdown.layout import item, joined, line, section
from redraft.report.markdown.lineage import origin_items
from redraft.report.markdown.result import brief_scores, score_items
from redraft.report.markdown.trace import reason_items, round_heading
from redraft.settings import COMPUTED
from redraft.text.places import on_pages, place_said
from redraft.text.sanitizer import scrubbed
from redraft.text.words import count, score, spaced


def dossier_markdown(dossier: Dossier) -> str:
    """Return everything about a run but its calls, prompts and partial summaries."""
    where = _places_of(dossier)
    lines: list[str] = []
    for sentence in dossier.sentences:
        numbers = dossier.findings_on(sentence.number)
        findings = _findings([history for history in dossier.findings if history.number in numbers], where)
        lines += item(line(sentence.text), [*origin_items(sentence), *findings], f"{sentence.number}.")
    summary = " ".join(f"{line(sentence.text)} [{sentence.number}]" for sentence in dossier.sentences)
    missing = [history for history in dossier.findings if history.state == "open" and not history.sentence]
    closed = [history for history in dossier.findings if history.state != "open"]
    blocks = [
        f"# {line(dossier.document.title) or 'Untitled'}",
        _about(dossier),
        dossier.holds,
        section("Summary", [summary or "No summary yet."]),
        section("Chapters", [joined(map(_chapter, dossier.chapters)).rstrip()] if dossier.chapters else []),
        section("Scores", (_score(metric) for metric in dossier.scores if metric.metric not in COMPUTED)),
        section("Sentence by sentence", lines),
        section("Not in the summary", _findings(missing, where)),
    ]
    if len(dossier.rounds) > 1:
        blocks += ["## Rounds", *_rounds(dossier), section("Closed findings", _findings(closed, where))]
    left_out = section("What is not in this file", (f"- {line(part)}" for part in dossier.left_out))
    return scrubbed(joined([*blocks, left_out]))


def _places_of(dossier: Dossier) -> Where:
    def where(finding: Finding) -> str:
        evidence, place = finding.evidence, finding.place
        if evidence is None or evidence.span is None or place is None:
            return ""
        percent = 100 * evidence.span.start // max(1, dossier.document.characters)
        return place_said(place.document, place.chapter, on_pages(place.pages), percent, dossier.document.part)

    return where


def _about(dossier: Dossier) -> str:
    run, document = dossier.run, dossier.document
    part = f" (only {document.part})" if document.part else ""
    parts = [f"run {run.id}", run.status, f"{count(dossier.words, 'word')} of {count(document.words, 'word')}{part}"]
    if run.strategy != "given" or run.parent:
        parts.append(f"by {line(run.model)}")
    else:
        parts.append(f"your summary, revised by {line(run.model)}" if run.refinement else "your summary")
    parts += [f"judged by {', '.join(map(line, run.judges))}"] if run.judges else []
    return " · ".join(parts)


def _chapter(chapter: ChapterResult) -> str:
    result = chapter.result
    parts = [on_pages(chapter.pages)] if chapter.pages else []
    if result is None:
        parts.append("not started")
    else:
        words = count(result.draft.words if result.draft else 0, "word")
        scores = brief_scores(result.scores, offline_check=bool(result.offline_checked))
        parts += filter(None, [words, result.status, f"run {result.run.id}", scores])
    text = line(result.summary) if result and result.summary else "No summary yet."
    return f"### {line(chapter.title)}\n\n{' · '.join(parts)}\n\n{text}"


def _score(metric: Score) -> str:
    name = f"{spaced(metric.metric)} {score(metric.score)}{f' ({OFFLINE_CHECK})' if metric.offline_check else ''}"
    goal = f", goal {score(metric.goal)}" if metric.goal is not None else ""
    verdicts = f"{count(metric.judged, 'item')} judged"
    verdicts += f", {metric.unjudged:,} without a verdict" if metric.unjudged else ""
    return f"- {name}{goal}: {verdicts}; {line(metric.reason if metric.score is None else metric.stands_on)}"


def _findings(histories: Sequence[FindingHistory], where: Where) -> Iterator[str]:
    for history in histories:
        yield from finding_item(history.finding, where, f"- **f{history.number}**", standalone=history.sentence is None)
        for outcome in history.aimed:
            state = "fixed" if outcome.gone else "not fixed"
            became = f", {outcome.became}: {line(outcome.words)}" if outcome.became in ("kept", "left") else ""
            rejected = ", rejected" if outcome.taken is False else ""
            yield f"  - round {outcome.round}{rejected}: {state}{became}"


def _rounds(dossier: Dossier) -> Iterator[str]:
    by_draft = {turn.draft.id: turn for turn in dossier.rounds}
    for turn in dossier.rounds:
        checked = turn.scores if dossier.offline_check else ()
        lines = [*reason_items(turn.round), *score_items(turn.scores, {}, {}, checked)]
        yield section(round_heading(turn, by_draft), [*lines, *withdrawn_items(turn.evaluations)], 3)
