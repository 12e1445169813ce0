"""A dossier as Markdown: the summary with its sources, findings, scores and rounds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from redraft.domain import Evaluation, Finding
from redraft.evaluators.metric_info import OFFLINE_CHECK
from redraft.report.dossier.build import reason_of
from redraft.report.dossier.contents import Dossier, FindingHistory
from redraft.report.history.results import ChapterResult, Result
from redraft.report.markdown.evaluation import Where, finding_item, withdrawn_items
from redraft.report.markdown.layout import item, joined, line, section
from redraft.report.markdown.lineage import origin_items
from redraft.report.markdown.result import score_items
from redraft.report.markdown.trace import reason_items, round_heading
from redraft.settings import COMPUTED
from redraft.text.places import on_pages, place_said
from redraft.text.sanitizer import scrubbed
from redraft.text.words import count, count_words, score, spaced


def dossier_markdown(dossier: Dossier) -> str:
    """Return everything about a run but its calls, prompts and partial summaries."""
    where = _places_of(dossier)
    open_findings = [history for history in dossier.findings if history.state == "open"]
    by_number = {history.number: history for history in dossier.findings}
    sentences = (
        part
        for sentence in dossier.sentences
        for part in item(
            line(sentence.text),
            [
                *origin_items(sentence),
                *_findings([by_number[number] for number in dossier.findings_on(sentence.number)], where),
            ],
            f"{sentence.number}.",
        )
    )
    summary = " ".join(f"{line(sentence.text)} [{sentence.number}]" for sentence in dossier.sentences)
    result = dossier.result
    scores = (_score(result, judged) for name, judged in result.evaluations.items() if name not in COMPUTED)
    missing = [history for history in open_findings if not history.sentence]
    closed = [history for history in dossier.findings if history.state != "open"]
    blocks = [f"# {line(dossier.document.title) or 'Untitled'}", _about(dossier), dossier.holds]
    blocks.append(section("Summary", [summary or "No summary yet."]))
    if result.chapters:
        blocks += ["## Chapters", *map(_chapter, result.chapters)]
    blocks += [
        section("Scores", scores),
        section("Sentence by sentence", sentences),
        section("Not in the summary", _findings(missing, where)),
    ]
    if len(dossier.rounds) > 1:
        blocks += ["## Rounds", *_rounds(dossier), section("Closed findings", _findings(closed, where))]
    return scrubbed(joined([*blocks, section("What is not in this file", (f"- {line(p)}" for p in dossier.left_out))]))


def _places_of(dossier: Dossier) -> Where:
    def where(finding: Finding) -> str:
        evidence, place = finding.evidence, finding.place
        if evidence is None or evidence.span is None or place is None:
            return ""
        percent = 100 * evidence.span.start // max(1, len(dossier.document.text))
        return place_said(place.document, place.chapter, on_pages(place.pages), percent, dossier.part)

    return where


def _about(dossier: Dossier) -> str:
    result, run, model = dossier.result, dossier.result.run, line(dossier.result.settings.model)
    words, part = result.draft.words if result.draft else 0, f" (only {dossier.part})" if dossier.part else ""
    of_words = count(count_words(dossier.document.text), "word")
    parts = [f"run {run.id}", result.status, f"{count(words, 'word')} of {of_words}{part}"]
    if run.settings.strategy != "given" or run.parent:
        parts.append(f"by {model}")
    else:
        parts.append(f"your summary, revised by {model}" if run.refinement else "your summary")
    parts += [f"judged by {', '.join(map(line, dossier.judges))}"] if dossier.judges else []
    return " · ".join(parts)


def _chapter(chapter: ChapterResult) -> str:
    result = chapter.result
    parts = [on_pages(chapter.pages)] if chapter.pages else []
    if result is None:
        parts.append("not started")
    else:
        words = count(result.draft.words if result.draft else 0, "word")
        parts += [words, result.status, f"run {result.run.id}"]
        parts += [f"{spaced(metric)} {score(value)}" for metric, value in result.scores.items()]
        parts += [OFFLINE_CHECK] if result.scores and result.offline_checked else []
    text = line(result.summary) if result and result.summary else "No summary yet."
    return f"### {line(chapter.title)}\n\n{' · '.join(parts)}\n\n{text}"


def _score(result: Result, evaluation: Evaluation) -> str:
    certificate, refinement = result.certificates.get(evaluation.metric), result.run.refinement
    goal = refinement.goals.get(evaluation.metric) if refinement else None
    check = f" ({OFFLINE_CHECK})" if certificate and certificate.offline_check else ""
    judged = f"{count(evaluation.judged, 'item')} judged"
    judged += f", {evaluation.unjudged:,} without a verdict" if evaluation.unjudged else ""
    name = f"{spaced(evaluation.metric)} {score(evaluation.score)}{check}"
    aim = f", goal {score(goal)}" if goal is not None else ""
    basis = reason_of(evaluation) if evaluation.score is None else certificate.line() if certificate else ""
    return f"- {name}{aim}: {judged}; {line(basis)}"


def _findings(histories: Sequence[FindingHistory], where: Where) -> Iterator[str]:
    for history in histories:
        yield from finding_item(history.finding, where, f"- **f{history.number}**", apart=history.sentence is None)
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
