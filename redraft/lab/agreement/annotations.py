"""Read the files of the BooookScore project (summaries, annotations, people's marks), and match annotations to
sentences."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, chain, repeat
from pathlib import Path
from typing import Any

from redraft.errors import UsageError
from redraft.evaluators.booookscore import sentences_of
from redraft.lab.agreement.people import kind_of
from redraft.prompts.coherence import NO_CONFUSION, Confusion, ErrorType, mark_of
from redraft.prompts.qa import Statement
from redraft.sources import read_file, strict_json
from redraft.text.sanitizer import clean, one_line
from redraft.text.words import words_key

_SUMMARIES = "give a JSON object of summaries, their texts by their ids"
_ANNOTATIONS = (
    "give a JSON object that has, for each summary's id, its sentences with their questions and types, as released by"
    " the BooookScore project"
)
_SHOWN = 60
_NUMBER = "sentence_num"
_FIELDS = frozenset({"questions", "types"})
MARKS = "singles"
"""The field with the spans that people have marked in a summary."""
_MARKED = (
    (MARKS, ("span", ""), "questions", "labels"),
    ("relations", ("span_a", "span_b"), "shared_questions", "shared_labels"),
)
# Separators between types; "n/a" is a single one.
_BETWEEN = re.compile(r"[,;\n]|/(?!a\b)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ConfusionVerdict:
    """The verdict on a sentence: whether it is confusing, a reader's questions, and the error types."""

    confusing: bool
    types: tuple[ErrorType, ...] = ()
    unknown: tuple[str, ...] = ()
    """Types that are not in the paper, as written."""
    questions: tuple[str, ...] = ()


CLEAR = ConfusionVerdict(confusing=False)


@dataclass(frozen=True, slots=True)
class AnnotatedSentence:
    """A sentence as annotated; the verdict is None if the entry says both that it is confusing and that it is not.

    A type without a question also means confusing, and so does a question without a type.
    """

    sentence: str
    verdict: ConfusionVerdict | None
    other: str = ""
    """The second span of a pair that a person has marked."""


@dataclass(frozen=True, slots=True)
class Annotations:
    """The annotations of a file by summary id; None for an id without content."""

    name: str
    every: bool
    """Whether every sentence has an entry: if so, a sentence without one is not judged, otherwise it is not confusing.
    """
    entries: Mapping[str, tuple[AnnotatedSentence, ...] | None]
    marked: bool = False
    """Whether the entries are spans that people have marked, and not sentences."""


@dataclass(frozen=True, slots=True)
class Summaries:
    """The texts of a file by id; empty for an id without content."""

    name: str
    texts: Mapping[str, str]


def read_summaries(path: str, data: bytes | None = None) -> Summaries:
    """Return the summaries of a file, or of its content, sanitized like a document. People's marks come with theirs."""
    texts: dict[str, str] = {}
    for key, found in _object(path, data, "summaries", _SUMMARIES).items():
        text = found.get("summary") if isinstance(found, dict) and MARKS in found else found
        if not isinstance(text, str | None):
            raise UsageError(f"{_id(key)} has {kind_of(text)} where a text was expected", place=path, hint=_SUMMARIES)
        texts[key] = clean(text or "")
    return Summaries(_name(path), texts)


def read_references(path: str) -> dict[str, tuple[str, ...]]:
    """Return the reference summaries of a file by id: one text or several for each."""
    found: dict[str, tuple[str, ...]] = {}
    for key, texts in _object(path, None, "references", _SUMMARIES).items():
        listed = texts if isinstance(texts, list) else [texts]
        if not all(isinstance(one, str) and one.strip() for one in listed):
            raise UsageError(f"{_id(key)} has no text, or no list of texts", place=path, hint=_SUMMARIES)
        found[key] = tuple(map(clean, listed))
    return found


def read_annotations(path: str, data: bytes | None = None) -> Annotations:
    """Return the annotations of a file, or of its content, in either format."""
    content = _object(path, data, "annotations", _ANNOTATIONS)
    for key, sentences in content.items():
        if not isinstance(sentences, dict | None):
            raise UsageError(
                f"{_id(key)} has {kind_of(sentences)} where an object of sentences was expected",
                place=path,
                hint=_ANNOTATIONS,
            )
    marked = any(MARKS in sentences for sentences in content.values() if sentences)
    listed = [sentence for sentences in content.values() for sentence in (sentences or {}).values()]
    every = not marked and lists_every_sentence(listed)
    entries = {
        key: None if sentences is None else entries_of(path, key, sentences) for key, sentences in content.items()
    }
    return Annotations(_name(path), every, entries, marked)


def entries_of(path: str, key: str, sentences: Mapping[str, Any]) -> tuple[AnnotatedSentence, ...]:
    """Return the annotated sentences of one summary, or the spans that people have marked in it."""
    if MARKS in sentences:
        return tuple(_marks(path, key, sentences))
    return tuple(_entry(path, key, *item) for item in sentences.items())


def _marks(path: str, key: str, said: Mapping[str, Any]) -> Iterator[AnnotatedSentence]:
    """Yield people's marks. Whoever marks a span finds it confusing, even if they ask nothing."""
    for name, sides, questions, types in _MARKED:
        listed = said.get(name) or []
        if not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed):
            raise UsageError(f"{_id(key)}: {name} is not a list of marks", place=path, hint=_ANNOTATIONS)
        for one in listed:
            span, other = (" ".join(str(one.get(side) or "").split()) for side in sides)
            entry = _entry(path, key, span, {"questions": one.get(questions), "types": one.get(types)})
            sure = entry.verdict if entry.verdict and entry.verdict.confusing else ConfusionVerdict(confusing=True)
            yield AnnotatedSentence(span, sure, other)


def lists_every_sentence(found: Sequence[Any]) -> bool:
    """Return whether a file lists every sentence.

    Such a file numbers its sentences, or at least half of its entries are empty, as most sentences have no error. In a
    file of confusing sentences only, an empty entry is a slip.
    """
    fields = [one for one in found if isinstance(one, dict)]
    empty = sum(not any(one.get(field) for field in _FIELDS) for one in fields)
    return any(_NUMBER in one for one in fields) or 0 < len(fields) <= 2 * empty


def _entry(path: str, key: str, sentence: str, fields: Any) -> AnnotatedSentence:
    if not isinstance(fields, dict) or not fields.keys() & _FIELDS:
        raise UsageError(
            f"{_id(key)}, {_short(sentence)}: there is {kind_of(fields)} where an object with questions and types was"
            " expected",
            place=path,
            hint=_ANNOTATIONS,
        )
    questions, types = (_texts(path, key, sentence, name, fields.get(name)) for name in ("questions", "types"))
    words = [word for text in types for part in _BETWEEN.split(text) if (word := one_line(part, _SHOWN))]
    nameless = [word for word in words if mark_of(word) is None]
    confusion = Confusion(id=0, questions=questions, types=words)
    unknown = Confusion(id=0, questions=nameless, types=[]).asked
    denied = NO_CONFUSION in confusion.types or len(confusion.asked) + len(unknown) < len(questions) + len(nameless)
    claimed = bool(confusion.asked or confusion.errors or unknown)
    if claimed and denied:
        return AnnotatedSentence(sentence, None)
    verdict = ConfusionVerdict(claimed, tuple(confusion.errors), tuple(dict.fromkeys(unknown)), tuple(confusion.asked))
    return AnnotatedSentence(sentence, verdict if claimed else CLEAR)


def _texts(path: str, key: str, sentence: str, field: str, value: Any) -> list[str]:
    """Return the texts of a field, which may be one, several or none."""
    listed = value if isinstance(value, list) else [value]
    if not all(isinstance(one, str | None) for one in listed):
        raise UsageError(
            f"{_id(key)}, {_short(sentence)}: {field} is {kind_of(value)} where a text or a list of texts was expected",
            place=path,
            hint=_ANNOTATIONS,
        )
    return [line for one in listed if one and (line := one_line(one))]


def _object(path: str, data: bytes | None, what: str, expected: str) -> dict[str, Any]:
    """Return the JSON object of a file; raise if it has no id."""
    try:
        data = read_file(Path(path).expanduser()) if data is None else data
    except OSError as error:
        raise UsageError(f"the {what} cannot be read: {error.strerror}", place=path, hint=expected) from error
    try:
        content = strict_json(data)
    except (ValueError, RecursionError) as error:
        said = one_line(str(error), 200)
        raise UsageError(f"this cannot be read as JSON: {said}", place=path, hint=expected) from error
    if not isinstance(content, dict) or not content:
        found = "an empty object" if isinstance(content, dict) else kind_of(content)
        raise UsageError(f"there is {found} where an object of {what} was expected", place=path, hint=expected)
    return content


def _id(key: str) -> str:
    return f"the id {_short(key)}"


def _short(text: str) -> str:
    return f'"{one_line(text, _SHOWN)}"'


def _name(path: str) -> str:
    return one_line(Path(path).name)


# The number of first words that are looked up before the rest is compared.
_HEAD = 3


@dataclass(frozen=True, slots=True)
class PlacedAnnotations:
    """The annotations of a summary, matched to its sentences.

    A sentence of ours that is annotated in parts counts once per part, and several sentences annotated as one count
    once: these are the units that the annotator judged.
    """

    said: tuple[ConfusionVerdict, ...]
    """One verdict for each sentence as annotated."""
    unjudged: int
    verdicts: Mapping[int, ConfusionVerdict]
    """The resulting verdicts on our sentences, by number."""
    elsewhere: int
    """The number of annotated sentences whose boundaries differ from ours."""
    lost: int
    """The number of annotated sentences that are not in the summary; each counts as one without another verdict."""
    undecided: int
    """The number of entries that call a sentence both confusing and not confusing."""
    marks: tuple[ConfusionVerdict, ...] = ()
    """People's marks, each counted by its own types."""
    unclear: int = 0
    """The number of sentences that may be marked: the marked words occur in others too."""


@dataclass(slots=True)
class _AnnotatedSpan:
    """A span of the summary and the verdict on it."""

    start: int
    end: int
    numbers: list[int]
    """The sentences that the span overlaps, the largest overlap first."""
    verdict: ConfusionVerdict | None


def match_to_sentences(
    entries: Sequence[AnnotatedSentence], statements: Sequence[Statement], *, every: bool
) -> PlacedAnnotations:
    """Match entries to sentences by their words, ignoring everything between words.

    Among identical sentences, an entry takes the first one without an entry. Unless every sentence has an entry, the
    others are clear. Headings do not count as sentences.
    """
    text, counted = _SummaryWords(statements), [statement.id for statement in sentences_of(statements)]
    units, lost, elsewhere = _units(entries, text, frozenset(counted))
    touched = {number for unit in units for number in unit.numbers}
    rest = len(counted) - len(touched)
    # Verdicts on sentences that are not found still count for this summary.
    standing = [verdict for verdict in lost if every or verdict.confusing][:rest]
    confusions = [*(unit.verdict for unit in units if unit.verdict), *standing]
    undecided = sum(unit.verdict is None for unit in units)
    verdicts = _by_number(units)
    if not every:
        confusions += repeat(CLEAR, rest - len(standing))
        verdicts |= {number: CLEAR for number in counted if number not in touched and not lost}
    unjudged = undecided + (rest - len(standing) if every else 0)
    return PlacedAnnotations(
        tuple(confusions), unjudged, dict(sorted(verdicts.items())), elsewhere, len(lost), undecided
    )


def _units(
    entries: Sequence[AnnotatedSentence], text: _SummaryWords, counted: frozenset[int]
) -> tuple[list[_AnnotatedSpan], list[ConfusionVerdict], int]:
    """Return spans that do not overlap, the verdicts on sentences not found, and the number of differing boundaries."""
    units: list[_AnnotatedSpan] = []
    of_number: dict[int, list[_AnnotatedSpan]] = {}
    lost: list[ConfusionVerdict] = []
    elsewhere = 0
    for entry in entries:
        start, end = text.sentence_span(entry.sentence)
        numbers = [number for number in text.overlapping(start, end) if number in counted]
        if not numbers:
            lost += [entry.verdict] if entry.verdict else []
            continue
        elsewhere += not text.is_one_sentence(start, end)
        near = chain.from_iterable(of_number.get(number, ()) for number in numbers)
        if same := next((unit for unit in near if unit.start < end and start < unit.end), None):
            same.verdict = joined_verdict(same.verdict, entry.verdict)
            continue
        units.append(_AnnotatedSpan(start, end, numbers, entry.verdict))
        for number in numbers:
            of_number.setdefault(number, []).append(units[-1])
    return units, lost, elsewhere


def _by_number(units: Sequence[_AnnotatedSpan]) -> dict[int, ConfusionVerdict]:
    """Return verdicts by sentence: a confusing unit marks the sentence it overlaps most, a clear one all of them."""
    found: dict[int, ConfusionVerdict] = {}
    for unit in units:
        if unit.verdict:
            for number in unit.numbers[:1] if unit.verdict.confusing else unit.numbers:
                found[number] = joined_verdict(found.get(number), unit.verdict) or unit.verdict
    return found


def joined_verdict(one: ConfusionVerdict | None, other: ConfusionVerdict | None) -> ConfusionVerdict | None:
    """Return the combined verdict of two entries on the same words."""
    if one is None or other is None:
        return one or other
    return ConfusionVerdict(
        one.confusing or other.confusing,
        tuple(dict.fromkeys((*one.types, *other.types))),
        tuple(dict.fromkeys((*one.unknown, *other.unknown))),
        tuple(dict.fromkeys((*one.questions, *other.questions))),
    )


@dataclass(slots=True)
class _SummaryWords:
    """The words of a summary separated by spaces, and the offset of each of its sentences."""

    statements: Sequence[Statement]
    words: str = field(init=False)
    starts: list[int] = field(init=False)
    free: dict[str, list[int]] = field(init=False)
    """By their words, the indexes of sentences not yet matched to an entry, the first one last."""
    heads: dict[int, dict[str, list[int]]] = field(default_factory=dict)
    """The offsets of word sequences by length, so that a sentence is only compared where its first words occur."""

    def __post_init__(self) -> None:
        keys = [words_key(statement.sentence) for statement in self.statements]
        self.words = " " + "".join(f"{key} " for key in keys)
        self.starts = list(accumulate((len(key) + 1 for key in keys), initial=1))
        self.free = {}
        for at in reversed(range(len(keys))):
            self.free.setdefault(keys[at], []).append(at)

    def sentence_span(self, sentence: str) -> tuple[int, int]:
        """Return the span of a sentence's words; (0, 0) if they do not occur."""
        key = words_key(sentence)
        if free := self.free.get(key):
            start = self.starts[free.pop()]
        else:
            start = next((at for at in self.start_offsets(key) if self.words.startswith(f"{key} ", at)), 0)
        return start, start + len(key) if start else 0

    def start_offsets(self, key: str) -> Sequence[int]:
        """Return the offsets at which the first words of a sentence occur."""
        first = key.split(" ")[:_HEAD] if key else []
        if len(first) not in self.heads:
            starts: dict[str, list[int]] = {}
            words = self.words.split()
            places = accumulate((len(word) + 1 for word in words), initial=1)
            for at, *run in zip(places, *(words[n:] for n in range(len(first))), strict=False):
                starts.setdefault(" ".join(run), []).append(at)
            self.heads[len(first)] = starts
        return self.heads[len(first)].get(" ".join(first), ()) if first else ()

    def overlapping(self, start: int, end: int) -> list[int]:
        """Return the sentences that a span overlaps, the largest overlap first."""
        if not start:
            return []
        first, last = bisect_right(self.starts, start) - 1, bisect_right(self.starts, end - 1) - 1
        begins = self.starts
        places = sorted(range(first, last + 1), key=lambda at: max(start, begins[at]) - min(end, begins[at + 1]))
        return [self.statements[at].id for at in places]

    def is_one_sentence(self, start: int, end: int) -> bool:
        """Return whether a span is exactly one sentence."""
        at = bisect_right(self.starts, start) - 1
        return self.starts[at] == start and self.starts[at + 1] == end + 1


# Shorter words that occur in several places of a summary do not tell where a mark belongs.
_SHORTEST_AMBIGUOUS = 6


@dataclass(frozen=True, slots=True)
class _Place:
    """The sentences that a span overlaps, by index, and those that it may overlap if its words occur elsewhere too."""

    sentences: range
    unclear: frozenset[int]


class _Sentences:
    """The sentences of a summary as one text, in which spans are looked up."""

    def __init__(self, sentences: Sequence[str]) -> None:
        flat = [" ".join(sentence.split()) for sentence in sentences]
        self._text = " ".join(flat)
        self._ends: list[tuple[int, int]] = []
        at = 0
        for sentence in flat:
            self._ends.append((at, at + len(sentence)))
            at += len(sentence) + 1

    def place(self, span: str, *, last: bool = False) -> _Place | None:
        """Return the place of a span, the first or the last if there are several; None if it does not occur."""
        starts = [match.start() for match in re.finditer(re.escape(span), self._text)] if span else []
        found = self._over(starts[-1 if last else 0], span) if starts else []
        if not found:
            return None
        unclear: frozenset[int] = frozenset()
        if len(span.split()) < _SHORTEST_AMBIGUOUS and len(starts) > 1:
            unclear = frozenset(n for start in starts for n in self._over(start, span))
        return _Place(range(found[0], found[-1] + 1), unclear)

    def pair(self, mark: AnnotatedSentence) -> list[_Place]:
        """Return the places of a mark; of a pair of equal spans, the first and the last."""
        spans = (self.place(mark.sentence), self.place(mark.other, last=mark.other == mark.sentence))
        return [place for place in spans if place]

    def _over(self, first: int, span: str) -> list[int]:
        last = first + len(span)
        return [n for n, (start, end) in enumerate(self._ends) if start < last and end > first]


def marked_sentences(sentences: Sequence[str], marks: Sequence[AnnotatedSentence]) -> list[bool]:
    """Return which sentences are marked; a mark that may be on one of several is left out."""
    text = _Sentences(sentences)
    placed = (place for mark in marks for place in text.pair(mark))
    found = {n for place in placed if not place.unclear for n in place.sentences}
    return [n in found for n in range(len(sentences))]


def match_marks(marks: Sequence[AnnotatedSentence], statements: Sequence[Statement]) -> PlacedAnnotations:
    """Match marks to sentences, and count as the paper does (footnote 12): the sentences of one span are one sentence,
    and a pair of spans is one."""
    counted = sentences_of(statements)
    text = _Sentences([statement.sentence for statement in counted])
    joined: set[int] = set()
    singles: list[tuple[int, ConfusionVerdict]] = []
    others: list[ConfusionVerdict] = []
    touched: dict[int, ConfusionVerdict] = {}
    unclear: set[int] = set()
    lost = 0
    for mark in marks:
        verdict = mark.verdict or ConfusionVerdict(confusing=True)
        places = text.pair(mark)
        lost += not places
        for place in places:
            unclear |= place.unclear
            touched |= {n: joined_verdict(touched.get(n), verdict) or verdict for n in place.sentences}
        if not mark.other and places:
            joined |= {*places[0].sentences[1:]}
            singles.append((places[0].sentences[0], verdict))
        else:
            others.append(verdict)
    confusing = _by_unit(singles, joined)
    clear = max(0, len(counted) - len(joined) - len(confusing) - len(others))
    known = range(0 if lost else len(counted))
    verdicts = dict.fromkeys(known, CLEAR) | touched
    return PlacedAnnotations(
        said=(*confusing, *others, *repeat(CLEAR, clear)),
        unjudged=0,
        verdicts={counted[n].id: verdict for n, verdict in sorted(verdicts.items()) if n not in unclear},
        elsewhere=0,
        lost=lost,
        undecided=0,
        marks=tuple(mark.verdict for mark in marks if mark.verdict),
        unclear=len(unclear),
    )


def _by_unit(singles: Sequence[tuple[int, ConfusionVerdict]], joined: set[int]) -> list[ConfusionVerdict]:
    """Return one verdict for each marked sentence, of which several that one span covers are one."""
    units: dict[int, ConfusionVerdict] = {}
    for first, verdict in singles:
        at = first
        while at in joined:
            at -= 1
        units[at] = joined_verdict(units.get(at), verdict) or verdict
    return list(units.values())
