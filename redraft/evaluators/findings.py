"""Findings of several metrics together: one for each error, and what remains of an evaluation without some of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from redraft.domain import Evaluation, Finding, Ruling, record_json
from redraft.evaluators.metric_info import WEIGHED, WITHDRAWN, WithdrawnFinding, withdrawn
from redraft.evaluators.similarity import is_same
from redraft.text.word_keys import telling

# The metrics whose findings object to the answer to a question about one sentence.
_METRICS = ("coverage", "consistency")
# The share of content words that two questions about the same thing have in common.
_ALIKE = 0.5


def distinct_errors(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings, in order, with those of one error combined into one; of one metric or of several. Other
    findings stay as they are."""
    groups: list[list[Finding]] = []
    for finding in findings:
        group = next((group for group in groups if any(_is_same_error(finding, member) for member in group)), None)
        if group is None:
            groups.append([finding])
        else:
            group.append(finding)
    combined: list[Finding] = []
    for group in groups:
        # The first that says what is right, and with it those that the document corrects with other words.
        main = next((finding for finding in group if finding.task == "correct"), group[0])
        distinct, corrected = [main], telling(main.expected)
        for finding in group:
            words = telling(finding.expected)
            if words and words.isdisjoint(corrected):
                distinct, corrected = [*distinct, finding], corrected | words
        # It counts as much as the findings of its own metric together.
        same_metric = [finding for finding in group if finding.metric == main.metric]
        counts = sum(finding.counts for finding in same_metric)
        combined.append(
            replace(
                main,
                question=" ".join(finding.question for finding in distinct),
                found="; ".join(finding.found for finding in distinct),
                expected="; ".join(finding.expected for finding in distinct),
                value=sum(finding.value * finding.counts for finding in same_metric) / counts,
                weight=max(finding.weight for finding in group),
                counts=counts,
            )
        )
    return combined


def _is_same_error(finding: Finding, earlier: Finding) -> bool:
    """Return whether two findings object to the same claim of a sentence: to the same answer, or by the same words of
    the document."""
    both = (finding, earlier)
    if not all(objection.metric in _METRICS and objection.task in ("correct", "remove") for objection in both):
        return False
    if not finding.sentence or finding.sentence != earlier.sentence:
        return False
    first, second = (objection.evidence.span if objection.evidence else None for objection in both)
    overlap = first is not None and second is not None and first.overlaps(second)
    return overlap or is_same(finding.found, earlier.found)


def without_overruled(evaluation: Evaluation, rulings: Mapping[str, Ruling]) -> Evaluation:
    """Return the evaluation without the findings that `rulings`, by finding id, overrule."""
    gone = [finding for finding in evaluation.findings if finding.id in rulings and rulings[finding.id].overruled]
    if not gone:
        return evaluation
    findings = [*withdrawn(evaluation), *(WithdrawnFinding(finding, rulings[finding.id]) for finding in gone)]
    return replace(
        without_findings(evaluation, gone), details={**evaluation.details, WITHDRAWN: list(map(record_json, findings))}
    )


def without_findings(evaluation: Evaluation, gone: Sequence[Finding]) -> Evaluation:
    """Return the evaluation without some of its findings; their items count in full."""
    findings = tuple(finding for finding in evaluation.findings if finding not in gone)
    if evaluation.score is None or not evaluation.judged:
        return replace(evaluation, findings=findings)
    lost = sum(finding.counts * (1 - finding.value) for finding in gone)
    weighed = evaluation.details.get(WEIGHED)
    gain = lost / (weighed if isinstance(weighed, int) else evaluation.judged)
    return replace(evaluation, score=min(1.0, evaluation.score + gain), findings=findings)


def without_conflicts(evaluations: Mapping[str, Evaluation]) -> dict[str, Evaluation]:
    """Return the evaluations of a draft that change because two findings conflict: where one wants removed what another
    wants added, and the latter quotes the document, the former is withdrawn and its item counts as supported."""
    findings = [finding for evaluation in evaluations.values() for finding in evaluation.findings]
    additions = [finding for finding in findings if finding.task == "add" and finding.evidence]
    changed: dict[str, Evaluation] = {}
    for name, evaluation in evaluations.items():
        removals = [finding for finding in evaluation.findings if finding.task == "remove"]
        dropped = [remove for remove in removals if any(_conflict(remove, add) for add in additions)]
        if dropped:
            changed[name] = without_findings(evaluation, dropped)
    return changed


def _conflict(remove: Finding, add: Finding) -> bool:
    """Return whether one finding wants removed what the other wants in the summary."""
    if not add.question or not remove.question:
        return is_same(add.expected, remove.found or remove.sentence)
    if not is_same(add.expected, remove.found):
        return False
    added, removed = telling(add.question), telling(remove.question)
    return is_same(add.question, remove.question) or len(added & removed) >= _ALIKE * len(added | removed) > 0
