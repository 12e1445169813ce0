"""One finding for each error, however many questions hit it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from redraft.domain import Finding
from redraft.evaluators.similarity import is_same
from redraft.text.word_keys import telling

# The metrics whose findings object to the answer to a question about one sentence.
_METRICS = ("coverage", "consistency")


def distinct_errors(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings, in order, with those of one error combined into one; of one metric or of several. Other
    findings stay as they are."""
    groups: list[list[Finding]] = []
    for finding in findings:
        group = next((group for group in groups if any(_is_same_error(finding, other) for other in group)), None)
        if group is None:
            groups.append([finding])
        else:
            group.append(finding)
    return [_combined(group) for group in groups]


def _is_same_error(one: Finding, other: Finding) -> bool:
    """Return whether two findings object to the same claim of a sentence: to the same answer, or by the same words of
    the document."""
    if not (_is_about_claim(one) and _is_about_claim(other) and one.sentence == other.sentence):
        return False
    spans = [finding.evidence.span if finding.evidence else None for finding in (one, other)]
    first, second = spans
    overlap = first is not None and second is not None and first.start < second.end and second.start < first.end
    return overlap or is_same(one.found, other.found)


def _is_about_claim(finding: Finding) -> bool:
    return finding.metric in _METRICS and finding.task in ("correct", "remove") and bool(finding.sentence)


def _combined(group: Sequence[Finding]) -> Finding:
    """Return one finding for an error: the first that says what is right, and with it those that the document corrects
    with other words. It counts as much as the findings of its own metric together."""
    main = next((finding for finding in group if finding.task == "correct"), group[0])
    told, corrected = [main], telling(main.expected)
    for finding in group:
        words = telling(finding.expected)
        if words and words.isdisjoint(corrected):
            told, corrected = [*told, finding], corrected | words
    same_metric = [finding for finding in group if finding.metric == main.metric]
    counts = sum(finding.counts for finding in same_metric)
    return replace(
        main,
        question=" ".join(finding.question for finding in told),
        found="; ".join(finding.found for finding in told),
        expected="; ".join(finding.expected for finding in told),
        value=sum(finding.value * finding.counts for finding in same_metric) / counts,
        weight=max(finding.weight for finding in group),
        counts=counts,
    )
