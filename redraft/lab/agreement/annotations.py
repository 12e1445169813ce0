"""Read the files of the BooookScore project (summaries, annotations, people's marks), and match annotations to
sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
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
_FIELDS = ("questions", "types")
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
    for key, value in _object(path, data, "summaries", _SUMMARIES).items():
        text = value.get("summary") if isinstance(value, dict) and MARKS in value else value
        if not isinstance(text, str | None):
            raise UsageError(f"{_id(key)} has {kind_of(text)} where a text was expected", place=path, hint=_SUMMARIES)
        texts[key] = clean(text or "")
    return Summaries(one_line(Path(path).name), texts)


def read_references(path: str) -> dict[str, tuple[str, ...]]:
    """Return the reference summaries of a file by id: one text or several for each."""
    references: dict[str, tuple[str, ...]] = {}
    for key, value in _object(path, None, "references", _SUMMARIES).items():
        texts = value if isinstance(value, list) else [value]
        if not all(isinstance(text, str) and text.strip() for text in texts):
            raise UsageError(f"{_id(key)} has no text, or no list of texts", place=path, hint=_SUMMARIES)
        references[key] = tuple(map(clean, texts))
    return references


def read_annotations(path: str, data: bytes | None = None) -> Annotations:
    """Return the annotations of a file, or of its content, in either format."""
    content = _object(path, data, "annotations", _ANNOTATIONS)
    for key, sentences in content.items():
        # The released annotations by LLaMA 2 are lists of the confusing sentences.
        if isinstance(sentences, list) and all(isinstance(entry, dict) and "span" in entry for entry in sentences):
            content[key] = sentences = {str(entry["span"]): entry for entry in sentences}
        if not isinstance(sentences, dict | None):
            message = f"{_id(key)} has {kind_of(sentences)} where an object of sentences was expected"
            raise UsageError(message, place=path, hint=_ANNOTATIONS)
    marked = any(MARKS in sentences for sentences in content.values() if sentences)
    every = not marked and lists_every_sentence(
        [fields for sentences in content.values() for fields in (sentences or {}).values()]
    )
    entries = {
        key: None if sentences is None else entries_of(path, key, sentences) for key, sentences in content.items()
    }
    return Annotations(one_line(Path(path).name), every, entries, marked)


def lists_every_sentence(entries: Sequence[Any]) -> bool:
    """Return whether a file lists every sentence.

    Such a file numbers its sentences, or at least half of its entries are empty, as most sentences have no error. In a
    file of confusing sentences only, an empty entry is a slip.
    """
    objects = [entry for entry in entries if isinstance(entry, dict)]
    empty = sum(not any(entry.get(name) for name in _FIELDS) for entry in objects)
    return any("sentence_num" in entry for entry in objects) or 0 < len(objects) <= 2 * empty


def entries_of(path: str, key: str, sentences: Mapping[str, Any]) -> tuple[AnnotatedSentence, ...]:
    """Return the annotated sentences of one summary, or the spans that people have marked in it."""
    if MARKS not in sentences:
        return tuple(_entry(path, key, sentence, fields) for sentence, fields in sentences.items())
    entries: list[AnnotatedSentence] = []
    for name, spans, questions, types in _MARKED:
        marks = sentences.get(name) or []
        if not isinstance(marks, list) or not all(isinstance(mark, dict) for mark in marks):
            raise UsageError(f"{_id(key)}: {name} is not a list of marks", place=path, hint=_ANNOTATIONS)
        for mark in marks:
            span, second_span = (" ".join(str(mark.get(side) or "").split()) for side in spans)
            verdict = _entry(path, key, span, {"questions": mark.get(questions), "types": mark.get(types)}).verdict
            # Whoever marks a span finds it confusing, even if they ask nothing.
            confusing = verdict if verdict and verdict.confusing else ConfusionVerdict(confusing=True)
            entries.append(AnnotatedSentence(span, confusing, second_span))
    return tuple(entries)


def _entry(path: str, key: str, sentence: str, fields: Any) -> AnnotatedSentence:
    """Return an annotated sentence; raise if its questions and types are not texts."""
    place = f"{_id(key)}, {_short(sentence)}"
    if not isinstance(fields, dict) or not any(name in fields for name in _FIELDS):
        expected = "an object with questions and types was expected"
        raise UsageError(f"{place}: there is {kind_of(fields)} where {expected}", place=path, hint=_ANNOTATIONS)
    lines: dict[str, list[str]] = {}
    for name in _FIELDS:
        value = fields.get(name)
        texts = value if isinstance(value, list) else [value]
        if not all(isinstance(text, str | None) for text in texts):
            expected = "a text or a list of texts was expected"
            raise UsageError(f"{place}: {name} is {kind_of(value)} where {expected}", place=path, hint=_ANNOTATIONS)
        lines[name] = [line for text in texts if text and (line := one_line(text))]
    questions = lines["questions"]
    words = [word for text in lines["types"] for part in _BETWEEN.split(text) if (word := one_line(part, _SHOWN))]
    nameless = [word for word in words if mark_of(word) is None]
    confusion = Confusion(id=0, questions=questions, types=words)
    unknown = Confusion(id=0, questions=nameless, types=[]).asked
    denied = NO_CONFUSION in confusion.types or len(confusion.asked) + len(unknown) < len(questions) + len(nameless)
    if not (confusion.asked or confusion.errors or unknown):
        return AnnotatedSentence(sentence, CLEAR)
    verdict = ConfusionVerdict(True, tuple(confusion.errors), tuple(dict.fromkeys(unknown)), tuple(confusion.asked))
    return AnnotatedSentence(sentence, None if denied else verdict)


def _object(path: str, data: bytes | None, what: str, expected: str) -> dict[str, Any]:
    """Return the JSON object of a file; raise if it has no id."""
    try:
        content = strict_json(read_file(Path(path).expanduser()) if data is None else data)
    except OSError as error:
        raise UsageError(f"the {what} cannot be read: {error.strerror}", place=path, hint=expected) from error
    except (ValueError, RecursionError) as error:
        message = f"this cannot be read as JSON: {one_line(str(error), 200)}"
        raise UsageError(message, place=path, hint=expected) from error
    if not isinstance(content, dict) or not content:
        kind = "an empty object" if isinstance(content, dict) else kind_of(content)
        raise UsageError(f"there is {kind} where an object of {what} was expected", place=path, hint=expected)
    return content


def _id(key: str) -> str:
    return f"the id {_short(key)}"


def _short(text: str) -> str:
    return f'"{one_line(text, _SHOWN)}"'


@dataclass(frozen=True, slots=True)
class PlacedAnnotations:
    """The annotations of a summary, matched to its sentences.

    A sentence of ours that is annotated in parts counts once per part, and several sentences annotated as one count
    once: these are the units that the annotator judged.
    """

    said: tuple[ConfusionVerdict, ...]
    """One verdict for each sentence as annotated."""
    verdicts: Mapping[int, ConfusionVerdict]
    """The resulting verdicts on our sentences, by number."""
    lost: int
    """The number of annotated sentences that are not in the summary; each counts as one without another verdict."""
    unjudged: int = 0
    elsewhere: int = 0
    """The number of annotated sentences whose boundaries differ from ours."""
    undecided: int = 0
    """The number of entries that call a sentence both confusing and not confusing."""
    marks: tuple[ConfusionVerdict, ...] = ()
    """People's marks, each counted by its own types."""
    unclear: int = 0
    """The number of sentences that may be marked: the marked words occur in others too."""


class _Lines:
    """Sentences as one text, in which spans are looked up."""

    def __init__(self, sentences: Sequence[str]) -> None:
        self.sentences = sentences
        self._text = " ".join(sentences)
        ends = accumulate(len(sentence) + 1 for sentence in sentences)
        self.bounds = [(end - 1 - len(sentence), end - 1) for sentence, end in zip(sentences, ends, strict=True)]

    def starts(self, span: str, *, whole_words: bool = False) -> list[int]:
        """Return where a span occurs."""
        pattern = rf"(?<!\S){re.escape(span)}(?!\S)" if whole_words else re.escape(span)
        return [match.start() for match in re.finditer(pattern, self._text)] if span else []

    def overlapping(self, start: int, end: int) -> list[int]:
        """Return the indexes of the sentences that a span overlaps."""
        return [n for n, (first, last) in enumerate(self.bounds) if start < last and end > first]


def joined_verdict(first: ConfusionVerdict | None, second: ConfusionVerdict | None) -> ConfusionVerdict | None:
    """Return the combined verdict of two entries on the same words."""
    if first is None or second is None:
        return first or second
    lists = ((*getattr(first, name), *getattr(second, name)) for name in ("types", "unknown", "questions"))
    return ConfusionVerdict(first.confusing or second.confusing, *(tuple(dict.fromkeys(values)) for values in lists))


def match_to_sentences(
    entries: Sequence[AnnotatedSentence], statements: Sequence[Statement], *, every: bool
) -> PlacedAnnotations:
    """Match entries to sentences by their words, ignoring everything between words.

    Among identical sentences, an entry takes the first one without an entry. Unless every sentence has an entry, the
    others are clear. Headings do not count as sentences.
    """
    lines = _Lines([words_key(statement.sentence) for statement in statements])
    counted = [statement.id for statement in sentences_of(statements)]
    # The sentences that each annotated span overlaps, the largest overlap first, and the verdict on them.
    spans: dict[tuple[int, int], tuple[list[int], ConfusionVerdict | None]] = {}
    lost: list[ConfusionVerdict] = []
    used_numbers: set[int] = set()
    elsewhere = 0
    for entry in entries:
        start, end = _place(lines, words_key(entry.sentence), used_numbers)
        overlaps = sorted(
            lines.overlapping(start, end), key=lambda n: max(start, lines.bounds[n][0]) - min(end, lines.bounds[n][1])
        )
        numbers = [statements[n].id for n in overlaps if statements[n].id in counted]
        if not numbers:
            lost += [entry.verdict] if entry.verdict else []
            continue
        elsewhere += (start, end) not in lines.bounds
        same = next((span for span in spans if span[0] < end and start < span[1]), (start, end))
        of_same, verdict = spans.get(same, (numbers, None))
        spans[same] = of_same, joined_verdict(verdict, entry.verdict)
    touched = {number for numbers, _ in spans.values() for number in numbers}
    rest = len(counted) - len(touched)
    # Verdicts on sentences that are not in the summary still count for it.
    counted_verdicts = [verdict for verdict in lost if every or verdict.confusing][:rest]
    confusions = [*(verdict for _, verdict in spans.values() if verdict), *counted_verdicts]
    undecided = sum(verdict is None for _, verdict in spans.values())
    verdicts: dict[int, ConfusionVerdict] = {}
    for numbers, verdict in spans.values():
        # A confusing span marks the sentence that it overlaps most, a clear one all of them.
        for number in (numbers[:1] if verdict.confusing else numbers) if verdict else ():
            verdicts[number] = joined_verdict(verdicts.get(number), verdict) or CLEAR
    unjudged = undecided + (rest - len(counted_verdicts) if every else 0)
    if not every:
        confusions += repeat(CLEAR, rest - len(counted_verdicts))
        verdicts |= {number: CLEAR for number in counted if number not in touched and not lost}
    by_number = dict(sorted(verdicts.items()))
    return PlacedAnnotations(tuple(confusions), by_number, len(lost), unjudged, elsewhere, undecided)


def _place(lines: _Lines, key: str, used_numbers: set[int]) -> tuple[int, int]:
    """Return the span of a sentence's words, of the first such sentence without an entry; (0, 0) if there is none."""
    free = (n for n, sentence in enumerate(lines.sentences) if key and sentence == key and n not in used_numbers)
    if (number := next(free, None)) is not None:
        used_numbers.add(number)
        return lines.bounds[number]
    start = next(iter(lines.starts(key, whole_words=True)), None)
    return (0, 0) if start is None else (start, start + len(key))


# Shorter words that occur in several places of a summary do not tell where a mark belongs.
_SHORTEST_AMBIGUOUS = 6


def _marked_places(
    sentences: Sequence[str], marks: Sequence[AnnotatedSentence]
) -> Iterator[list[tuple[list[int], frozenset[int]]]]:
    """Yield the places of each mark, of a pair of equal spans the first and the last: the indexes of the sentences that
    a span overlaps, and of those that it may overlap if its words occur elsewhere too."""
    lines = _Lines([" ".join(sentence.split()) for sentence in sentences])
    for mark in marks:
        places = []
        for span, last in ((mark.sentence, False), (mark.other, mark.other == mark.sentence)):
            of_each = [lines.overlapping(start, start + len(span)) for start in lines.starts(span)]
            if of_each and (overlapped := of_each[-1 if last else 0]):
                is_ambiguous = len(span.split()) < _SHORTEST_AMBIGUOUS and len(of_each) > 1
                places.append((overlapped, frozenset(chain(*of_each) if is_ambiguous else ())))
        yield places


def marked_sentences(sentences: Sequence[str], marks: Sequence[AnnotatedSentence]) -> list[bool]:
    """Return which sentences are marked; a mark that may be on one of several is left out."""
    places = chain.from_iterable(_marked_places(sentences, marks))
    marked = {n for overlapped, unclear in places if not unclear for n in overlapped}
    return [n in marked for n in range(len(sentences))]


def match_marks(marks: Sequence[AnnotatedSentence], statements: Sequence[Statement]) -> PlacedAnnotations:
    """Match marks to sentences, and count as the paper does (footnote 12): the sentences of one span are one sentence,
    and a pair of spans is one."""
    counted = sentences_of(statements)
    joined: set[int] = set()
    singles: list[tuple[int, ConfusionVerdict]] = []
    pair_verdicts: list[ConfusionVerdict] = []
    verdicts: dict[int, ConfusionVerdict] = {}
    unclear: set[int] = set()
    lost = 0
    for mark, places in zip(marks, _marked_places([line.sentence for line in counted], marks), strict=True):
        verdict = mark.verdict or ConfusionVerdict(confusing=True)
        lost += not places
        for overlapped, ambiguous in places:
            unclear |= ambiguous
            verdicts |= {n: joined_verdict(verdicts.get(n), verdict) or verdict for n in overlapped}
        if mark.other or not places:
            pair_verdicts.append(verdict)
            continue
        first, *following = places[0][0]
        joined.update(following)
        singles.append((first, verdict))
    units: dict[int, ConfusionVerdict] = {}
    for first, verdict in singles:
        unit = next(n for n in range(first, -1, -1) if n not in joined)
        units[unit] = joined_verdict(units.get(unit), verdict) or verdict
    clear = max(0, len(counted) - len(joined) - len(units) - len(pair_verdicts))
    everything = dict.fromkeys(range(0 if lost else len(counted)), CLEAR) | verdicts
    return PlacedAnnotations(
        (*units.values(), *pair_verdicts, *repeat(CLEAR, clear)),
        {counted[n].id: verdict for n, verdict in sorted(everything.items()) if n not in unclear},
        lost,
        marks=tuple(mark.verdict for mark in marks if mark.verdict),
        unclear=len(unclear),
    )
