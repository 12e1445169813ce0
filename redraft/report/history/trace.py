"""A run round by round, and the sentence-by-sentence difference of two drafts with the findings that it answered."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from math import log
from typing import Annotated, Any, Literal

from pydantic import Field

from redraft.domain import REVIEW, Draft, Evaluation, Finding, Round, computed, record_json
from redraft.errors import RunError
from redraft.evaluators.metric_info import metric_named
from redraft.report.history.judges import listed
from redraft.report.history.results import (
    Result,
    evaluations_of,
    findings_in,
    read_result,
    request_outcomes,
    scores_in,
)
from redraft.store.store import Store
from redraft.text.sentences import sentences_in


@dataclass(frozen=True, slots=True)
class RoundTrace:
    """One round: its draft, the evaluations of it, and the findings on its base that it was to fix."""

    round: Round
    draft: Draft
    evaluations: Annotated[Mapping[str, Evaluation], Field(exclude=True)]
    to_fix: tuple[Finding, ...]
    base: Annotated[RoundTrace | None, Field(exclude=True)] = field(default=None, repr=False)
    """The round whose draft it revises; None for the first draft."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings on the draft."""
        return findings_in(self.evaluations)

    @computed
    def scores(self) -> dict[str, float | None]:
        """The draft's scores by metric; None if it could not be scored."""
        return scores_in(self.evaluations)

    @computed
    def metrics(self) -> dict[str, dict[str, Any]]:
        """The evaluations by metric as JSON, each with its findings."""
        return {name: record_json(evaluation) for name, evaluation in self.evaluations.items()}


@dataclass(frozen=True, slots=True)
class RunTrace:
    """A run with its rounds. A run without refinement has one round; a run without a draft, or one that compares two,
    has none."""

    result: Result
    rounds: tuple[RoundTrace, ...]

    @computed
    def policy(self) -> str | None:
        """The policy that chose what each round was to fix; None without refinement."""
        return self.result.run.refinement.policy if self.result.run.refinement else None

    def turn(self, number: int) -> RoundTrace:
        """Return the round with this number. Raises a `RunError` that lists the rounds if there is none."""
        for turn in self.rounds:
            if turn.round.number == number:
                return turn
        numbers = ", ".join(str(turn.round.number) for turn in self.rounds) or "none yet"
        raise RunError(f"run {self.result.run.id} has no round {number}", hint=f"its rounds are: {numbers}")

    def number(self, draft: str | None) -> int | None:
        """Return the number of the round that made a draft; None if no round did."""
        return next((turn.round.number for turn in self.rounds if turn.draft.id == draft), None)


def read_trace(store: Store, key: str) -> RunTrace:
    """Return the rounds of a run, finished or not. Raises a `RunError` if there is no run with this id."""
    result = read_result(store, key)
    run, rounds = result.run, list(result.rounds)
    if not rounds and run.draft is not None and run.kind != "compare":
        rounds = [Round(0, run.draft)]
    turns: dict[str, RoundTrace] = {}
    for round_ in rounds:
        evaluations = evaluations_of(store, run, round_.draft, result.outline, REVIEW)
        base = turns.get(round_.base or "")
        findings = {finding.id: finding for finding in (base.findings if base else ())}
        to_fix = tuple(findings[key] for key in round_.findings if key in findings)
        turns[round_.draft] = RoundTrace(round_, store.runs.draft(round_.draft), evaluations, to_fix, base)
    return RunTrace(result, tuple(turns.values()))


def result_at_round(store: Store, result: Result, number: int) -> Result:
    """Return the result as it would be with the draft of a round. Raises a `RunError` if there is no such round."""
    trace = read_trace(store, result.run.id)
    result.run.drafted()
    turn = trace.turn(number)
    last = trace.rounds[-1].round.number
    of_round = replace(result, draft=turn.draft, evaluations=turn.evaluations)
    if number == last:
        return of_round
    # What came later, and how the run ended, is no part of this round.
    rounds = tuple(round_ for round_ in result.rounds if round_.number <= number)
    return replace(
        of_round,
        run=replace(result.run, stop_reason=None, why=""),
        rounds=rounds,
        round_shown=f"round {number} of {last}",
        lost=tuple(lost for lost in result.lost if lost <= number),
        requests=tuple(request_outcomes(store, rounds)),
    )


Kind = Literal["added", "removed", "changed"]
Piece = tuple[Literal["=", "-", "+"], str]
"""Words in both sentences, only in the first, or only in the second."""

# Sentences that share half of their words, weighted by rarity, count as one that was changed.
_MIN_SIMILARITY = 0.5
# Words in more sentences than `_COMMON` do not help to find a match; only `_CANDIDATES` matches are compared.
_COMMON = 32
_CANDIDATES = 8
# Sentences with more words than this are not compared word by word.
_LONG = 400
_WORD = re.compile(r"\w+", re.UNICODE)


@dataclass(frozen=True, slots=True)
class SentenceChange:
    """A sentence that was added, removed or changed, and the findings on the earlier draft that this answered."""

    kind: Kind
    before: str
    after: str
    answers: tuple[Finding, ...] = ()

    @computed
    def words(self) -> list[Piece]:
        """The words that were kept, removed and added."""
        old, new = self.before.split(), self.after.split()
        codes = [("replace", 0, len(old), 0, len(new))]
        if max(len(old), len(new)) <= _LONG:
            codes = [*SequenceMatcher(None, old, new, autojunk=False).get_opcodes()]
        pieces: list[Piece] = []
        for kind, a, b, c, d in codes:
            pieces += [("=", " ".join(old[a:b]))] if kind == "equal" else [("-", " ".join(old[a:b]))]
            pieces += [("+", " ".join(new[c:d]))] if kind != "equal" else []
        return [piece for piece in pieces if piece[1]]


@dataclass(frozen=True, slots=True)
class DraftDiff:
    """What changed between two drafts."""

    changes: tuple[SentenceChange, ...]
    kept: int
    moved: tuple[str, ...]
    answered_elsewhere: tuple[Finding, ...] = ()
    """The findings that are gone without a change to credit."""
    new: tuple[Finding, ...] = ()

    @property
    def credited(self) -> dict[str, SentenceChange | None]:
        """The findings that are gone, by their ids, with the change to credit, if any."""
        answered = {finding.id: change for change in self.changes for finding in change.answers}
        return {finding.id: None for finding in self.answered_elsewhere} | answered


def difference(before: RoundTrace, after: RoundTrace) -> DraftDiff:
    """Return what changed between the drafts of two rounds, and what became of the findings on the first.

    The rounds belong to one `redraft.RunTrace`, in either order. A finding counts as answered only if its metric
    judged both drafts. The change of its sentence is credited, or else that of a sentence which, according to the
    judges, answers its question or states its fact.
    """
    diff = changes_between(before.draft.text, after.draft.text)
    successors = {change.before: change.after for change in diff.changes if change.before}
    complaints = {
        finding.id: _complaint(finding, successors.get(finding.sentence, finding.sentence))
        for finding in before.findings
    }
    open_complaints = {_complaint(finding, finding.sentence) for finding in after.findings}
    earlier = {(finding.kind, *complaints[finding.id]) for finding in before.findings}
    old = {change.before: n for n, change in reversed([*enumerate(diff.changes)]) if change.before}
    new = {change.after: n for n, change in reversed([*enumerate(diff.changes)]) if change.after}
    # The sentences that answer each question or state each key fact, according to the judges.
    texts, sentences = dict(enumerate(sentences_in(after.draft.text), 1)), dict[str, list[str]]()
    for evaluation in after.evaluations.values():
        for name, items in (("question", "questions"), ("fact", "facts")):
            for judged_item in listed({evaluation.metric: evaluation}, evaluation.metric, items):
                sentences[judged_item[name]] = [texts[number] for number in judged_item["sentences"] if number in texts]
    answers: dict[int | None, list[Finding]] = defaultdict(list)
    for finding in before.findings:
        if finding.metric not in _judging_metrics(after) or complaints[finding.id] in open_complaints:
            continue
        change = old.get(finding.sentence)
        if change is None or not diff.changes[change].after:
            item = finding.question or finding.expected
            # A key sentence that is missing may be added literally.
            change = next((new[sentence] for sentence in (*sentences.get(item, ()), item) if sentence in new), change)
        answers[change].append(finding)
    return replace(
        diff,
        changes=tuple(replace(change, answers=tuple(answers[n])) for n, change in enumerate(diff.changes)),
        answered_elsewhere=tuple(answers[None]),
        new=tuple(
            finding
            for finding in after.findings
            if finding.metric in _judging_metrics(before)
            and (finding.kind, *_complaint(finding, finding.sentence)) not in earlier
        ),
    )


def _complaint(finding: Finding, sentence: str) -> tuple[str, ...]:
    """Return a key of what a finding is about: a question of the document, or a claim of `sentence`, which may have
    changed since."""
    metric = metric_named(finding.metric)
    if metric is not None and metric.aim == "content":
        return finding.metric, finding.question or finding.expected or finding.explanation
    return finding.metric, sentence, finding.question, finding.explanation


def _judging_metrics(turn: RoundTrace) -> list[str]:
    """Return the metrics that judged the draft. Without a verdict, nothing is known of a metric's earlier findings."""
    return [
        name
        for name, evaluation in turn.evaluations.items()
        if (evaluation.outcome != "failed" or evaluation.judged) and name != REVIEW
    ]


def changes_between(before: str, after: str) -> DraftDiff:
    """Return the sentences added, removed or changed, in the order of the later draft. Takes near-linear time."""
    old, new = sentences_in(before), sentences_in(after)
    # Numbering equal sentences makes each unique.
    old_numbered, new_numbered = [*_numbered(old)], [*_numbered(new)]
    positions = {sentence: position for position, sentence in enumerate(new_numbered)}
    same = {n: positions[sentence] for n, sentence in enumerate(old_numbered) if sentence in positions}
    removed = [n for n in range(len(old)) if n not in same]
    added = sorted(set(range(len(new))) - set(same.values()))
    pairs = _pairs(old, new, removed, added)
    changes = [
        ((n, 1, 0), SentenceChange("changed" if n in pairs else "added", old[pairs[n]] if n in pairs else "", new[n]))
        for n in added
    ]
    # A removed sentence stands before the next one that is in both drafts.
    following, rewritten = len(new), set(pairs.values())
    for n in reversed(range(len(old))):
        if n in same:
            following = same[n]
        elif n not in rewritten:
            changes.append(((following, 0, n), SentenceChange("removed", old[n], "")))
    changes.sort(key=lambda placed: placed[0])
    blocks = SequenceMatcher(None, old_numbered, new_numbered, autojunk=False).get_matching_blocks()
    in_order = {n for block in blocks for n in range(block.b, block.b + block.size)}
    moved = tuple(new[n] for n in sorted(set(same.values()) - in_order))
    return DraftDiff(tuple(change for _, change in changes), len(same), moved)


def _numbered(sentences: Sequence[str]) -> Iterator[tuple[str, int]]:
    """Yield each sentence with the number of equal ones before it."""
    counts: Counter[str] = Counter()
    for sentence in sentences:
        yield sentence, counts[sentence]
        counts[sentence] += 1


def _pairs(old: Sequence[str], new: Sequence[str], removed: Sequence[int], added: Sequence[int]) -> dict[int, int]:
    """Map added sentences to the removed ones they were changed from: most similar first, each sentence in one pair.

    The similarity is Dice's: twice the words that two sentences share over the words of both, each by its rarity.
    """
    old_words, new_words = (
        {n: Counter(_WORD.findall(sentences[n].casefold())) for n in numbers}
        for sentences, numbers in ((old, removed), (new, added))
    )
    counts = Counter(word for words in (*old_words.values(), *new_words.values()) for word in words)
    rarity = {word: log(1 + (len(removed) + len(added)) / number) for word, number in counts.items()}

    sentences_with: dict[str, list[int]] = defaultdict(list)
    for n, words in new_words.items():
        for word in words:
            sentences_with[word].append(n)
    similarities = []
    for n, words in old_words.items():
        lists = (sentences_with[word] for word in words if len(sentences_with[word]) <= _COMMON)
        for m, _ in Counter(m for sentences in lists for m in sentences).most_common(_CANDIDATES):
            shared, total = (
                sum(rarity[word] * number for word, number in counted.items())
                for counted in (words & new_words[m], words + new_words[m])
            )
            similarities.append((-2 * shared / total, abs(n - m), n, m))
    pairs: dict[int, int] = {}
    paired: set[int] = set()
    for similarity, _, n, m in sorted(similarities):
        if -similarity >= _MIN_SIMILARITY and n not in paired and m not in pairs:
            pairs[m] = n
            paired.add(n)
    return pairs
