"""Read the files of the BooookScore project (summaries, annotations, people's marks), and match annotations to
sentences."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, repeat
from pathlib import Path
from typing import Annotated, Any

from pydantic import AliasChoices, BaseModel, BeforeValidator, Field, TypeAdapter, ValidationError

from redraft.errors import UsageError
from redraft.evaluators.coherence import sentences_of
from redraft.fields import first_error
from redraft.lab.agreement.people import json_of
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
MARKS, PAIRS = "singles", "relations"
"""The fields with the spans, and the pairs of spans, that people have marked in a summary."""
# Separators between types; "n/a" is a single one.
_BETWEEN = re.compile(r"[,;\n]|/(?!a\b)", re.IGNORECASE)


_Texts = Annotated[
    list[str],
    BeforeValidator(
        lambda value: [text for text in (value if isinstance(value, list) else [value]) if text is not None]
    ),
]


@dataclass(frozen=True, slots=True)
class ConfusionVerdict:
    """The verdict on a sentence: whether it is confusing, a reader's questions, and the error types."""

    confusing: bool
    types: tuple[ErrorType, ...] = ()
    unknown: tuple[str, ...] = ()
    """Types that are not in the paper, as written."""
    questions: tuple[str, ...] = ()


CLEAR = ConfusionVerdict(confusing=False)


class _AnnotationEntry(BaseModel):
    """A sentence, a span or a pair of spans with questions and types, under any of the released names."""

    span: str = Field("", validation_alias=AliasChoices("span", "span_a", "sentence"))
    other: str = Field("", validation_alias="span_b")
    questions: _Texts = Field([], validation_alias=AliasChoices("questions", "shared_questions"))
    types: _Texts = Field([], validation_alias=AliasChoices("types", "labels", "shared_labels"))

    @property
    def verdict(self) -> ConfusionVerdict | None:
        """What it says; None if it contradicts itself."""
        questions = [line for text in self.questions if (line := one_line(text))]
        words = [word for text in self.types for part in _BETWEEN.split(text) if (word := one_line(part, _SHOWN))]
        nameless = [word for word in words if mark_of(word) is None]
        confusion = Confusion(id=0, questions=questions, types=words)
        unknown = Confusion(id=0, questions=nameless, types=[]).asked
        if not (confusion.asked or confusion.errors or unknown):
            return CLEAR
        if NO_CONFUSION in confusion.types or len(confusion.asked) + len(unknown) < len(questions) + len(nameless):
            return None
        return ConfusionVerdict(True, tuple(confusion.errors), tuple(dict.fromkeys(unknown)), tuple(confusion.asked))


_LISTED, _BY_SENTENCE = TypeAdapter(list[_AnnotationEntry]), TypeAdapter(dict[str, _AnnotationEntry])


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

    @classmethod
    def read(cls, path: str, data: bytes | None = None) -> Annotations:
        """Return the annotations of a file, or of its content, in either format.

        A file lists every sentence if it numbers its sentences, or if at least half of its entries are empty, as most
        sentences have no error. In a file of confusing sentences only, an empty entry is a slip.
        """
        content = _object(path, data, "annotations", _ANNOTATIONS)
        entries = {key: None if value is None else entries_of(path, key, value) for key, value in content.items()}
        by_sentence = [value for value in content.values() if isinstance(value, dict)]
        marked = any(MARKS in value for value in by_sentence)
        listed = [] if marked else [fields for value in by_sentence for fields in value.values()]
        empty = sum(not (fields.get("questions") or fields.get("types")) for fields in listed)
        every = any("sentence_num" in fields for fields in listed) or 0 < len(listed) <= 2 * empty
        return cls(one_line(Path(path).name), every, entries, marked)

    def place(self, key: str, statements: Sequence[Statement]) -> PlacedAnnotations:
        """Match the annotations of a summary to its sentences; headings do not count as sentences."""
        entries = self.entries.get(key) or ()
        return match_marks(entries, statements) if self.marked else match_to_sentences(entries, statements, self.every)


@dataclass(frozen=True, slots=True)
class Summaries:
    """The texts of a file by id; empty for an id without content."""

    name: str
    texts: Mapping[str, str]

    @classmethod
    def read(cls, path: str, data: bytes | None = None) -> Summaries:
        """Return the summaries of a file, or of its content, sanitized like a document; people's marks have theirs."""
        texts: dict[str, str] = {}
        for key, value in _object(path, data, "summaries", _SUMMARIES).items():
            text = value.get("summary") if isinstance(value, dict) and MARKS in value else value
            if not isinstance(text, str | None):
                raise UsageError(f"{_id(key)} has no text", place=path, hint=_SUMMARIES)
            texts[key] = clean(text or "")
        return cls(one_line(Path(path).name), texts)


def read_references(path: str) -> dict[str, tuple[str, ...]]:
    """Return the reference summaries of a file by id: one text or several for each."""
    references: dict[str, tuple[str, ...]] = {}
    for key, value in _object(path, None, "references", _SUMMARIES).items():
        texts = value if isinstance(value, list) else [value]
        if not all(isinstance(text, str) and text.strip() for text in texts):
            raise UsageError(f"{_id(key)} has no text, or no list of texts", place=path, hint=_SUMMARIES)
        references[key] = tuple(map(clean, texts))
    return references


def annotations_by_system(path: str) -> list[Annotations]:
    """Return the annotations of a file, or those of each system in the `items.json` of an experiment."""
    items = json_of(path)
    if isinstance(items, dict):
        return [Annotations.read(path)]
    by_system: dict[str, dict[str, tuple[AnnotatedSentence, ...]]] = {}
    try:
        for item in items:
            entries = entries_of(path, item["document"], item["confusing"])
            by_system.setdefault(item["system"], {})[item["document"]] = entries
    except (KeyError, TypeError) as error:
        hint = "give what `redraft experiment booookscore -o DIR` wrote"
        raise UsageError("it is not the items.json of an experiment", place=path, hint=hint) from error
    return [Annotations(name, False, entries) for name, entries in by_system.items()]


def entries_of(path: str, key: str, content: Any) -> tuple[AnnotatedSentence, ...]:
    """Return the annotated sentences of one summary, from an object or a list of them, or the spans that people have
    marked in it."""
    is_marked = isinstance(content, dict) and MARKS in content
    try:
        if is_marked:
            entries = [mark for name in (MARKS, PAIRS) for mark in _LISTED.validate_python(content.get(name) or [])]
        elif isinstance(content, list):
            entries = _LISTED.validate_python(content)
        else:
            by_sentence = _BY_SENTENCE.validate_python(content)
            entries = [entry.model_copy(update={"span": sentence}) for sentence, entry in by_sentence.items()]
    except ValidationError as error:
        message = f"{_id(key)}: {one_line(first_error(error), 200)}"
        raise UsageError(message, place=path, hint=_ANNOTATIONS) from error
    if not is_marked and not all(entry.span and {"questions", "types"} & entry.model_fields_set for entry in entries):
        message = f"{_id(key)}: an entry is without questions and types"
        raise UsageError(message, place=path, hint=_ANNOTATIONS)
    annotated: list[AnnotatedSentence] = []
    for entry in entries:
        verdict = entry.verdict
        if not is_marked:
            annotated.append(AnnotatedSentence(entry.span, verdict))
            continue
        # Whoever marks a span finds it confusing, even if they ask nothing.
        confusing = verdict if verdict and verdict.confusing else ConfusionVerdict(confusing=True)
        annotated.append(AnnotatedSentence(" ".join(entry.span.split()), confusing, " ".join(entry.other.split())))
    return tuple(annotated)


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
        raise UsageError(f"an object of {what} was expected", place=path, hint=expected)
    return content


def _id(key: str) -> str:
    return f'the id "{one_line(key, _SHOWN)}"'


@dataclass(frozen=True, slots=True)
class PlacedAnnotations:
    """The annotations of a summary, matched to its sentences.

    A sentence of ours that is annotated in parts counts once per part, and several sentences annotated as one count
    once: these are the units that the annotator judged.
    """

    units: tuple[ConfusionVerdict, ...]
    """One verdict for each sentence as annotated."""
    verdicts: Mapping[int, ConfusionVerdict]
    """The resulting verdicts on our sentences, by number."""
    lost: int
    """The number of annotated sentences that are not in the summary; each counts as one without another verdict."""
    unjudged: int = 0
    undecided: int = 0
    """The number of entries that call a sentence both confusing and not confusing."""


def _bounds(sentences: Sequence[str]) -> list[tuple[int, int]]:
    """Return where each sentence begins and ends in a text that joins them by spaces."""
    ends = accumulate(len(sentence) + 1 for sentence in sentences)
    return [(end - 1 - len(sentence), end - 1) for sentence, end in zip(sentences, ends, strict=True)]


def _overlapped(bounds: Sequence[tuple[int, int]], start: int, end: int) -> list[int]:
    """Return the indexes of the sentences that a span overlaps."""
    return [n for n, (first, last) in enumerate(bounds) if start < last and end > first]


def joined_verdict(first: ConfusionVerdict | None, second: ConfusionVerdict | None) -> ConfusionVerdict | None:
    """Return the combined verdict of two entries on the same words."""
    if first is None or second is None:
        return first or second
    lists = ((*getattr(first, name), *getattr(second, name)) for name in ("types", "unknown", "questions"))
    return ConfusionVerdict(first.confusing or second.confusing, *(tuple(dict.fromkeys(values)) for values in lists))


def match_to_sentences(
    entries: Sequence[AnnotatedSentence], statements: Sequence[Statement], every: bool
) -> PlacedAnnotations:
    """Match entries to sentences by their words, ignoring everything between words.

    Among identical sentences, an entry takes the first one without an entry. Unless every sentence has an entry, the
    others are clear.
    """
    sentences = [words_key(statement.sentence) for statement in statements]
    text, bounds = " ".join(sentences), _bounds(sentences)
    counted = [statement.id for statement in sentences_of(statements)]
    # The sentences that each annotated span overlaps, the largest overlap first, and the verdict on them.
    spans: dict[tuple[int, int], tuple[list[int], ConfusionVerdict | None]] = {}
    lost: list[ConfusionVerdict] = []
    free: dict[str, list[int]] = {}
    for n in reversed(range(len(sentences))):
        free.setdefault(sentences[n], []).append(n)
    for entry in entries:
        key = words_key(entry.sentence)
        if key and free.get(key):
            start, end = bounds[free[key].pop()]
        else:
            match = re.search(rf"(?<!\S){re.escape(key)}(?!\S)", text) if key else None
            start, end = match.span() if match else (0, 0)
        overlaps = _overlapped(bounds, start, end)
        overlaps.sort(key=lambda n: max(start, bounds[n][0]) - min(end, bounds[n][1]))
        numbers = [statements[n].id for n in overlaps if statements[n].id in counted]
        if not numbers:
            lost += [entry.verdict] if entry.verdict else []
            continue
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
    return PlacedAnnotations(tuple(confusions), dict(sorted(verdicts.items())), len(lost), unjudged, undecided)


def match_marks(marks: Sequence[AnnotatedSentence], statements: Sequence[Statement]) -> PlacedAnnotations:
    """Match marks to the sentences where their words occur first, and count as the paper does (footnote 12): the
    sentences of one span are one sentence, and a pair of spans is one."""
    counted = sentences_of(statements)
    sentences = [" ".join(statement.sentence.split()) for statement in counted]
    text, bounds = " ".join(sentences), _bounds(sentences)
    joined: set[int] = set()
    singles: list[tuple[int, ConfusionVerdict]] = []
    pair_verdicts: list[ConfusionVerdict] = []
    verdicts: dict[int, ConfusionVerdict] = {}
    lost = 0
    for mark in marks:
        verdict = mark.verdict or ConfusionVerdict(confusing=True)
        find_second = text.rfind if mark.other == mark.sentence else text.find
        spans = ((mark.sentence, text.find(mark.sentence)), (mark.other, find_second(mark.other)))
        places = [_overlapped(bounds, start, start + len(span)) for span, start in spans if span and start >= 0]
        lost += not places
        for number in chain.from_iterable(places):
            verdicts[number] = joined_verdict(verdicts.get(number), verdict) or verdict
        if mark.other or not places:
            pair_verdicts.append(verdict)
            continue
        first, *following = places[0]
        joined.update(following)
        singles.append((first, verdict))
    units: dict[int, ConfusionVerdict] = {}
    for first, verdict in singles:
        unit = next(n for n in range(first, -1, -1) if n not in joined)
        units[unit] = joined_verdict(units.get(unit), verdict) or verdict
    clear = max(0, len(counted) - len(joined) - len(units) - len(pair_verdicts))
    everything = dict.fromkeys(range(0 if lost else len(counted)), CLEAR) | verdicts
    by_number = {counted[n].id: verdict for n, verdict in sorted(everything.items())}
    return PlacedAnnotations((*units.values(), *pair_verdicts, *repeat(CLEAR, clear)), by_number, lost)
