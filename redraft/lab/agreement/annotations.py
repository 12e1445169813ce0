"""Reading the files of the BooookScore project: summaries, and annotations in both formats that it has released.

One format lists the sentences of a summary that confuse, the other every sentence. Which one a file has, its entries
tell.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from redraft.errors import UsageError
from redraft.prompts.coherence import NO_CONFUSION, Confusion, ErrorType, mark_of
from redraft.sources import read_file
from redraft.text.cleaning import clean, one_line

_SUMMARIES = "give a JSON object of summaries, their texts by their ids"
_ANNOTATIONS = (
    "give a JSON object that has, for each summary's id, its sentences with their questions and types, as the"
    " BooookScore project has released them"
)
_SHOWN = 60
_NUMBER = "sentence_num"
_FIELDS = frozenset({"questions", "types"})
# Names of types stand side by side; "n/a" is none of several.
_BETWEEN = re.compile(r"[,;\n]|/(?!a\b)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ConfusionVerdict:
    """What is said of a sentence: whether it confuses, what a reader would ask, and of which types that is."""

    confusing: bool
    types: tuple[ErrorType, ...] = ()
    unknown: tuple[str, ...] = ()
    """Types that the paper does not have, as they are written."""
    questions: tuple[str, ...] = ()


CLEAR = ConfusionVerdict(confusing=False)


@dataclass(frozen=True, slots=True)
class AnnotatedSentence:
    """A sentence as it was annotated. There is no verdict where the entry says that it confuses, and that it does not.

    A type without a question confuses too, and so does a question without a type.
    """

    sentence: str
    verdict: ConfusionVerdict | None


@dataclass(frozen=True, slots=True)
class Annotations:
    """What a file says of summaries, by their ids; None where it has an id with nothing under it."""

    name: str
    every: bool
    """Whether every sentence has an entry: then one without is not judged. Otherwise it does not confuse."""
    entries: Mapping[str, tuple[AnnotatedSentence, ...] | None]


@dataclass(frozen=True, slots=True)
class Summaries:
    """The texts of a file by their ids; empty where the file has nothing under an id."""

    name: str
    texts: Mapping[str, str]


def read_summaries(path: str) -> Summaries:
    """The summaries of a file, as harmless as a document is once it is read."""
    texts: dict[str, str] = {}
    for key, text in _object(path, "summaries", _SUMMARIES).items():
        if not isinstance(text, str | None):
            raise UsageError(f"{_id(key)} has {_kind(text)} where a text was expected", place=path, hint=_SUMMARIES)
        texts[key] = clean(text or "")
    return Summaries(_name(path), texts)


def read_annotations(path: str) -> Annotations:
    """The annotations of a file in either format."""
    content = _object(path, "annotations", _ANNOTATIONS)
    for key, sentences in content.items():
        if not isinstance(sentences, dict | None):
            raise UsageError(
                f"{_id(key)} has {_kind(sentences)} where an object of sentences was expected",
                place=path,
                hint=_ANNOTATIONS,
            )
    every = lists_every_sentence([one for sentences in content.values() for one in (sentences or {}).values()])
    entries = {
        key: None if sentences is None else entries_of(path, key, sentences) for key, sentences in content.items()
    }
    return Annotations(_name(path), every, entries)


def entries_of(path: str, key: str, sentences: Mapping[str, Any]) -> tuple[AnnotatedSentence, ...]:
    """What is said of the sentences of one summary."""
    return tuple(_entry(path, key, *item) for item in sentences.items())


def lists_every_sentence(found: Sequence[Any]) -> bool:
    """A file of every sentence numbers them, or has as many entries that hold nothing as others, which is what most
    sentences come to. In a file of the sentences that confuse, such an entry is a slip."""
    fields = [one for one in found if isinstance(one, dict)]
    empty = sum(not any(one.get(field) for field in _FIELDS) for one in fields)
    return any(_NUMBER in one for one in fields) or 0 < len(fields) <= 2 * empty


def _entry(path: str, key: str, sentence: str, fields: Any) -> AnnotatedSentence:
    if not isinstance(fields, dict) or not fields.keys() & _FIELDS:
        raise UsageError(
            f"{_id(key)}, {_short(sentence)}: there is {_kind(fields)} where an object with questions and types was"
            " expected",
            place=path,
            hint=_ANNOTATIONS,
        )
    questions, types = (_texts(path, key, sentence, name, fields.get(name)) for name in ("questions", "types"))
    words = [word for text in types for part in _BETWEEN.split(text) if (word := one_line(part, _SHOWN))]
    nameless = [word for word in words if mark_of(word) is None]
    said = Confusion(id=0, questions=questions, types=words)
    unknown = Confusion(id=0, questions=nameless, types=[]).asked
    denied = NO_CONFUSION in said.types or len(said.asked) + len(unknown) < len(questions) + len(nameless)
    claimed = bool(said.asked or said.errors or unknown)
    if claimed and denied:
        return AnnotatedSentence(sentence, None)
    found = ConfusionVerdict(claimed, tuple(said.errors), tuple(dict.fromkeys(unknown)), tuple(said.asked))
    return AnnotatedSentence(sentence, found if claimed else CLEAR)


def _texts(path: str, key: str, sentence: str, field: str, value: Any) -> list[str]:
    """The texts of a field, which may be one, several or none."""
    listed = value if isinstance(value, list) else [value]
    if not all(isinstance(one, str | None) for one in listed):
        raise UsageError(
            f"{_id(key)}, {_short(sentence)}: {field} is {_kind(value)} where a text or a list of texts was expected",
            place=path,
            hint=_ANNOTATIONS,
        )
    return [line for one in listed if one and (line := one_line(one))]


def _object(path: str, what: str, expected: str) -> dict[str, Any]:
    """The JSON object in a file, with at least one id in it."""
    try:
        data = read_file(Path(path).expanduser())
    except OSError as error:
        raise UsageError(f"the {what} cannot be read: {error.strerror}", place=path, hint=expected) from error
    try:
        content = json.loads(data.decode("utf-8-sig"), object_pairs_hook=_once, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        said = one_line(str(error), 200)
        raise UsageError(f"this cannot be read as JSON: {said}", place=path, hint=expected) from error
    if not isinstance(content, dict) or not content:
        found = "an empty object" if isinstance(content, dict) else _kind(content)
        raise UsageError(f"there is {found} where an object of {what} was expected", place=path, hint=expected)
    return content


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object in which no name stands twice: nobody could tell which of the two is meant."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"{_short(name)} stands twice in one object")
        found[name] = value
    return found


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number")


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "true or false", type(None): "nothing"}
    return names.get(type(value), "a number")


def _id(key: str) -> str:
    return f"the id {_short(key)}"


def _short(text: str) -> str:
    return f'"{one_line(text, _SHOWN)}"'


def _name(path: str) -> str:
    return one_line(Path(path).name)
