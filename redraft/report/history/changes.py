"""The sentence-by-sentence difference of two drafts, and the findings that each change answered."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from math import log
from typing import Literal, NamedTuple

from redraft.domain import REVIEW, Finding, computed
from redraft.evaluators.metric_info import metric_info
from redraft.report.history.trace import RoundTrace
from redraft.text.sentences import sentences_in

Kind = Literal["added", "removed", "changed"]
Piece = tuple[Literal["=", "-", "+"], str]
"""Words in both sentences, only in the first, or only in the second."""

# Sentences that share half of their words, weighted by rarity, count as one that was changed.
_LIKE = 0.5
# Words in more sentences than `_COMMON` do not help to find a match; only `_CANDIDATES` matches are compared.
_COMMON = 32
_CANDIDATES = 8
# Sentences with more words than this are not compared word by word.
_LONG = 400
# A sentence contains an answer if it has this share of the answer's words.
_HOLDS = 0.6
_NOBODY = -1
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
        return changed_words(self.before, self.after)


@dataclass(frozen=True, slots=True)
class DraftDiff:
    """What changed between two drafts."""

    changes: tuple[SentenceChange, ...]
    kept: int
    moved: tuple[str, ...]
    answered_elsewhere: tuple[Finding, ...] = ()
    """The findings that are gone without a change to credit."""
    new: tuple[Finding, ...] = ()


def difference(before: RoundTrace, after: RoundTrace) -> DraftDiff:
    """Return what changed between the drafts of two rounds, and what became of the findings on the first.

    The turns belong to one `redraft.Trace`, in either order of rounds. A finding counts as answered only if its metric
    judged both drafts.
    """
    changed = changes_between(before.draft.text, after.draft.text)
    successors = {change.before: change.after for change in changed.changes if change.before}
    open_still = {_complaint(one, one.sentence) for one in after.findings}
    known = {(one.kind, *_complaint(one, successors.get(one.sentence, one.sentence))) for one in before.findings}
    gone = [
        finding
        for finding in before.findings
        if finding.metric in _judged(after)
        and _complaint(finding, successors.get(finding.sentence, finding.sentence)) not in open_still
    ]
    come = [
        finding
        for finding in after.findings
        if finding.metric in _judged(before) and (finding.kind, *_complaint(finding, finding.sentence)) not in known
    ]
    answered: dict[int, list[Finding]] = defaultdict(list)
    thanks = _Credits(changed.changes, after)
    for finding in gone:
        answered[thanks.of(finding)].append(finding)
    changes = tuple(replace(change, answers=tuple(answered[n])) for n, change in enumerate(changed.changes))
    return replace(changed, changes=changes, answered_elsewhere=tuple(answered[_NOBODY]), new=tuple(come))


def _complaint(finding: Finding, sentence: str) -> tuple[str, ...]:
    """Return a key of what a finding is about: a question of the document, or a claim of `sentence`, which may have
    changed since."""
    info = metric_info(finding.metric)
    if info is not None and info.aim == "content":
        return finding.metric, finding.question or finding.expected or finding.explanation
    return finding.metric, sentence, finding.question, finding.explanation


def _judged(turn: RoundTrace) -> list[str]:
    """Return the metrics that judged the draft. Without a verdict, nothing is known of a metric's earlier findings."""
    said = turn.evaluations.items()
    return [
        name for name, evaluation in said if (evaluation.outcome != "failed" or evaluation.judged) and name != REVIEW
    ]


class _Credits:
    """Credits changes with the findings that are gone."""

    def __init__(self, changes: Sequence[SentenceChange], after: RoundTrace) -> None:
        self._changes = changes
        self._by_old = {change.before: n for n, change in reversed(list(enumerate(changes))) if change.before}
        self._by_new = {change.after: n for n, change in reversed(list(enumerate(changes))) if change.after}
        self._words = [_words(change.after) for change in changes]
        self._weights = _weights(self._words)
        self._resting = _resting_on(after)

    def of(self, finding: Finding) -> int:
        """Return the index of the change to credit: that of the sentence the finding is about, or else one that the
        judges or the words point to; `_NOBODY` without any."""
        about = self._by_old.get(finding.sentence, _NOBODY)
        if about != _NOBODY and self._changes[about].after:
            return about
        for sentence in self._resting.get(finding.question or finding.expected, ()):
            if sentence in self._by_new:
                return self._by_new[sentence]
        return about if about != _NOBODY else self._holding(finding)

    def _holding(self, finding: Finding) -> int:
        """Return the index of the change that added the answer, or else its evidence; `_NOBODY` if none did."""
        for wanted in (finding.expected, finding.evidence.text if finding.evidence else ""):
            looked_for = _words(wanted)
            shares = [_share(looked_for, words, self._weights) for words in self._words]
            if max(shares, default=0.0) >= _HOLDS:
                return shares.index(max(shares))
        return _NOBODY


def _resting_on(turn: RoundTrace) -> dict[str, list[str]]:
    """Return the sentences that answer the document's questions or state its key facts, according to the judges."""
    texts = dict(enumerate(sentences_in(turn.draft.text), 1))
    resting: dict[str, list[str]] = {}
    for evaluation in turn.evaluations.values():
        for item, items in (("question", "questions"), ("fact", "facts")):
            judged = evaluation.details.get(items)
            for one in judged if isinstance(judged, list) else []:
                resting[one[item]] = [texts[number] for number in one["sentences"] if number in texts]
    return resting


def changes_between(before: str, after: str) -> DraftDiff:
    """Return the sentences added, removed or changed, in the order of the later draft. Takes near-linear time."""
    old, new = (sentences_in(text) for text in (before, after))
    places = {key: at for at, key in enumerate(_numbered(new))}
    kept = {at: places[key] for at, key in enumerate(_numbered(old)) if key in places}
    gone = [at for at in range(len(old)) if at not in kept]
    come = sorted(set(range(len(new))) - set(kept.values()))
    pairs = _pairs(old, new, gone, come)
    changes = [(at, 1, 0, SentenceChange("changed", old[pairs[at]], new[at])) for at in come if at in pairs]
    changes += [(at, 1, 0, SentenceChange("added", "", new[at])) for at in come if at not in pairs]
    following, paired = _next_kept(kept, len(old), len(new)), set(pairs.values())
    changes += [(following[at], 0, at, SentenceChange("removed", old[at], "")) for at in gone if at not in paired]
    in_order = _rising([kept[at] for at in sorted(kept)])
    moved = tuple(new[at] for at in sorted(set(kept.values()) - in_order))
    return DraftDiff(tuple(change for *_, change in sorted(changes, key=lambda one: one[:3])), len(kept), moved)


def _numbered(sentences: Sequence[str]) -> Iterator[tuple[str, int]]:
    """Yield each sentence with the number of equal ones before it, which distinguishes repeats in linear time."""
    seen: Counter[str] = Counter()
    for sentence in sentences:
        yield sentence, seen[sentence]
        seen[sentence] += 1


def _next_kept(kept: Mapping[int, int], old: int, new: int) -> list[int]:
    """Return, for each sentence of the earlier draft, the index in the later one of the next sentence in both."""
    following = [new] * old
    for at in range(old - 2, -1, -1):
        following[at] = kept.get(at + 1, following[at + 1])
    return following


def _rising(numbers: Sequence[int]) -> set[int]:
    """Return the longest increasing subsequence of distinct numbers: its sentences kept their place."""
    ends: list[int] = []
    tails: list[int] = []
    before: dict[int, int | None] = {}
    for number in numbers:
        at = bisect_left(ends, number)
        before[number] = tails[at - 1] if at else None
        ends[at : at + 1] = [number]
        tails[at : at + 1] = [number]
    chain: set[int] = set()
    last = tails[-1] if tails else None
    while last is not None:
        chain.add(last)
        last = before[last]
    return chain


class _Likeness(NamedTuple):
    """The similarity of two sentences, and their positions."""

    score: float
    old: int
    new: int


def _pairs(old: Sequence[str], new: Sequence[str], gone: Sequence[int], come: Sequence[int]) -> dict[int, int]:
    """Map new sentences to the old ones they were changed from: most similar first, each sentence in one pair."""
    words = {("old", at): _words(old[at]) for at in gone} | {("new", at): _words(new[at]) for at in come}
    weights = _weights(list(words.values()))
    holding: dict[str, list[int]] = defaultdict(list)
    for at in come:
        for word in words["new", at]:
            holding[word].append(at)
    likenesses = []
    for at in gone:
        mine = words["old", at]
        shared = Counter(other for word in mine if len(holding[word]) <= _COMMON for other in holding[word])
        for other, _ in shared.most_common(_CANDIDATES):
            likenesses.append(_Likeness(_likeness(mine, words["new", other], weights), at, other))
    pairs: dict[int, int] = {}
    taken: set[int] = set()
    for likeness in sorted(likenesses, key=lambda one: (-one.score, abs(one.old - one.new), one.old)):
        if likeness.score >= _LIKE and likeness.old not in taken and likeness.new not in pairs:
            pairs[likeness.new] = likeness.old
            taken.add(likeness.old)
    return pairs


def _words(sentence: str) -> Counter[str]:
    return Counter(_WORD.findall(sentence.casefold()))


def _weights(sentences: Sequence[Mapping[str, int]]) -> dict[str, float]:
    """Return the weight of each word: the rarer, the higher."""
    counts = Counter(word for sentence in sentences for word in sentence)
    return {word: log(1 + len(sentences) / count) for word, count in counts.items()}


def _likeness(one: Counter[str], other: Counter[str], weights: Mapping[str, float]) -> float:
    """Return the Dice similarity of two weighted sentences: twice their shared words over the words of both."""
    common = sum(weights[word] * count for word, count in (one & other).items())
    return 2 * common / sum(weights[word] * count for word, count in (one + other).items())


def _share(wanted: Counter[str], there: Counter[str], weights: Mapping[str, float]) -> float:
    """Return the weighted share of the wanted words that are there; a word without a weight counts as the rarest."""
    rarest = max(weights.values(), default=1.0)
    total = sum(weights.get(word, rarest) for word in wanted)
    return sum(weights[word] for word in wanted if word in there) / total if total else 0.0


def changed_words(before: str, after: str) -> list[Piece]:
    """Return the words that two sentences share, and those that were removed and added."""
    old, new = before.split(), after.split()
    if max(len(old), len(new)) > _LONG:
        return _pieces([("-", old), ("+", new)])
    found: list[tuple[Literal["=", "-", "+"], list[str]]] = []
    for kind, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            found.append(("=", old[a:b]))
        else:
            found += [("-", old[a:b]), ("+", new[c:d])]
    return _pieces(found)


def _pieces(found: Sequence[tuple[Literal["=", "-", "+"], list[str]]]) -> list[Piece]:
    return [(kind, " ".join(words)) for kind, words in found if words]
