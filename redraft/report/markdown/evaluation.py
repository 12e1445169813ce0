"""A judgment of a draft as Markdown: at a glance, by metric, and each sentence with all that speaks against it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Literal

from redraft.domain import REVIEW, Document, Evaluation, Finding
from redraft.evaluators.metric_info import OFFLINE_CHECK, UNSUPPORTED, got_no_reply, withdrawn
from redraft.llm.claim_judge import claim_in
from redraft.prompts.qa import sentence_in
from redraft.report.markdown.figures import brief_figures, details, panel
from redraft.report.markdown.layout import QUOTE, item, joined, line, named, quoted, section, shortened
from redraft.text.places import place_of
from redraft.text.sanitizer import one_line
from redraft.text.words import count, enumeration, score, spaced

SHOWN = 10
"""The number of sentences or points listed before the rest is left to `--all`."""
_ITEMS = {
    "coverage": "question",
    "consistency": "claim",
    "keyfact_recall": "fact",
    "faithfulness": "sentence",
    "booookscore": "sentence",
}
KEY_SENTENCE = "key sentence"
Group = Literal["wrong", "missing", "unclear"]
Groups = dict[Group, dict[str, list[Finding]]]
"""The findings on a draft: what is wrong or unclear, each by sentence, and what is missing, by point."""


def grouped_findings(evaluations: Mapping[str, Evaluation]) -> Groups:
    """Return the findings of all metrics by what they are about."""
    groups: Groups = {"wrong": {}, "missing": {}, "unclear": {}}
    for name, evaluation in evaluations.items():
        for finding in evaluation.findings if name != REVIEW else ():
            if finding.task == "add":
                groups["missing"].setdefault(_about(finding), []).append(finding)
            else:
                group: Group = "wrong" if finding.task in ("correct", "remove") else "unclear"
                about = finding.sentence or finding.question or finding.expected or finding.explanation
                groups[group].setdefault(about, []).append(finding)
    return groups


def glance(evaluations: Mapping[str, Evaluation], offline_checked: Collection[str]) -> str:
    """Return in one line how many sentences are wrong or unclear, and how many points are missing; empty if nothing was
    judged. What only an offline check judged may be wrong all the same."""
    numbers = {name: len(findings) for name, findings in grouped_findings(evaluations).items()}
    parts = [f"{count(numbers['wrong'], 'sentence')} wrong"] if numbers["wrong"] else []
    parts += [f"{count(numbers['missing'], 'point')} missing"] if numbers["missing"] else []
    parts += [f"{numbers['unclear']:,} unclear"] if numbers["unclear"] else []
    if not parts and any(evaluation.judged for evaluation in evaluations.values()):
        parts = ["nothing found wrong, missing or unclear"]
        if {"consistency", "faithfulness"} & {*offline_checked}:
            parts = ["the offline check found nothing wrong, but cannot tell whether reworded sentences are true"]
    return ", ".join(parts)


def judgment_markdown(
    evaluations: Mapping[str, Evaluation],
    document: Document | None,
    *,
    offline_checked: Collection[str] = (),
    show_all: bool = False,
    rest: str = "see --all",
    level: int = 2,
) -> str:
    """Return a judgment: what is wrong at a glance, a line for each metric, and the findings. `show_all` adds the parts
    of each score and all findings; `rest` says where else they are. Without a document no places are named."""
    groups = grouped_findings(evaluations)
    lines = [
        part
        for name, evaluation in evaluations.items()
        for part in item(metric_line(evaluation, offline_checked=name in offline_checked), panel(evaluation))
    ]
    blocks = [glance(evaluations, offline_checked), "\n".join(lines)]
    for name, evaluation in evaluations.items() if show_all else ():
        parts = [part for part in details(evaluation, judges_key_sentences(evaluation)) if part]
        blocks += [f"{'#' * level} {spaced(name)}", *parts] if parts else []
    for group, findings in groups.items():
        items: list[str] = []
        for number, (about, same) in enumerate([*findings.items()][: None if show_all else SHOWN], 1):
            if group == "missing" or not same[0].sentence:
                # The other findings on a missing point say the same.
                items += finding_item(same[0], document, f"{number}.")
            else:
                below = [part for finding in same for part in item(*_objection(finding, document))]
                items += item(quoted(about), below, f"{number}.")
        if not show_all and len(findings) > SHOWN:
            items.append(f"- ... and {len(findings) - SHOWN:,} more ({rest})")
        blocks.append(section(group.capitalize(), items, level))
    gone = list(withdrawn_items(evaluations))
    blocks.append(
        section("Withdrawn", gone, level) if show_all else f"{count(len(gone), 'finding')} withdrawn" * bool(gone)
    )
    return joined(blocks)


def metric_line(evaluation: Evaluation, *, offline_checked: bool = False) -> str:
    """Return a metric's score, or why it has none, or its figures, in one line."""
    if evaluation.outcome == "measured":
        return brief_figures(evaluation)
    if evaluation.outcome != "scored":
        failed = evaluation.outcome == "failed" and not got_no_reply(evaluation)
        state = "has no score" if failed else spaced(evaluation.outcome)
        return f"{spaced(evaluation.metric)} {state}: {line(evaluation.reason, 300)}"
    what = KEY_SENTENCE if judges_key_sentences(evaluation) else _ITEMS.get(evaluation.metric, "item")
    verdicts = f"{count(evaluation.judged, what)} judged"
    verdicts += f", {evaluation.unjudged:,} without a verdict" if evaluation.unjudged else ""
    note = f" ({OFFLINE_CHECK})" if offline_checked else ""
    findings = count(len(evaluation.findings), "finding")
    return f"{spaced(evaluation.metric)} {score(evaluation.score)}{note}: {verdicts}, {findings}"


def judges_key_sentences(evaluation: Evaluation) -> bool:
    """Return whether an evaluation looks for key sentences in place of answers."""
    questions = evaluation.details.get("questions")
    return isinstance(questions, list) and bool(questions) and bool(sentence_in(str(questions[0].get("question"))))


def withdrawn_items(evaluations: Mapping[str, Evaluation]) -> Iterator[str]:
    """Yield the findings that a second look overruled, with the words of the document."""
    for name, evaluation in evaluations.items():
        for gone in withdrawn(evaluation):
            about = line(gone.finding.question or gone.finding.sentence, QUOTE)
            yield f"- {spaced(name)}: {about} · the document says so: {quoted(gone.ruling.quote)}"


def finding_item(
    finding: Finding, document: Document | None, mark: str = "-", *, standalone: bool = True
) -> Iterator[str]:
    """Yield a finding as a list item, with the sentence that it is about if the item is `standalone`; its place is
    named if there is a document."""
    head, below = _objection(finding, document)
    # Where the whole sentence is wrong, it is what the summary says.
    standalone = standalone and bool(finding.sentence) and finding.sentence != finding.found
    return item(head, [*named([("sentence", quoted(finding.sentence) if standalone else "")]), *below], mark)


def _objection(finding: Finding, document: Document | None) -> tuple[str, list[str]]:
    """Return a finding in one line, and what the summary and the document say."""
    expected = "nothing about it" if finding.kind == UNSUPPORTED else ""
    if finding.expected:
        expected = "" if _is_missing(finding) else line(finding.expected, QUOTE)
    parts = [
        ("summary says", line(finding.found, QUOTE) if finding.found != finding.sentence else ""),
        ("document says" if finding.question else "reason", expected),
        ("missing", line(finding.missing, QUOTE)),
    ]
    if finding.evidence and finding.evidence.text:
        span = finding.evidence.span
        place = line(place_of(document, span)) if document and span else ""
        if _is_missing(finding) and one_line(finding.expected) == one_line(finding.evidence.text):
            parts.append(("place", place))
        else:
            parts.append(("evidence", f"{quoted(finding.evidence.text)}{f' ({place})' if place else ''}"))
    return f"{spaced(finding.metric)}, {_kind(finding)}: {line(_about(finding), QUOTE)}", list(named(parts))


def brief_finding(finding: Finding) -> str:
    """Return a finding in one line."""
    quote = f"“{finding.sentence}”" if finding.sentence and not finding.question else ""
    about = f"{_kind(finding)}: {line(shortened(quote or _about(finding), 120))}"
    if _is_missing(finding) or not finding.expected:
        return about
    return f"{about} -> {line(shortened(finding.expected, 80))}"


def _kind(finding: Finding) -> str:
    """Return the kind of a finding; if judges differ, with the number of judges that report it."""
    votes, judges = finding.said_by or (0, 0)
    return f"{spaced(finding.kind)} ({votes} of {judges} judges)" if votes < judges else spaced(finding.kind)


def _about(finding: Finding) -> str:
    """Return the subject of a finding: its question, what is missing, or else the explanation."""
    if _is_missing(finding):
        return finding.expected
    # The question whether a sentence is so would only repeat the sentence.
    return finding.explanation if claim_in(finding.question) else finding.question or finding.explanation


def _is_missing(finding: Finding) -> bool:
    """Return whether `expected` is itself what the summary lacks, rather than the answer to a question."""
    return finding.task == "add" and not finding.question and bool(finding.expected)


def judge_items(judged_by: Mapping[str, str]) -> Iterator[str]:
    """Yield who judged, and by what; metrics with the same judges share an item."""
    metrics: dict[str, list[str]] = {}
    for metric, who in judged_by.items():
        metrics.setdefault(who, []).append(spaced(metric))
    return (f"- {enumeration(names)} judged by: {line(who)}" for who, names in metrics.items())
