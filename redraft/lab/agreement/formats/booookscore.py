"""BooookScore (Chang et al., 2024): which sentences of a summary confuse, by marks that people made in it, or by
annotations of sentences in either format of the project. The books are not needed: coherence is the summary's own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from redraft.errors import UsageError
from redraft.evaluators.base import statements_of
from redraft.evaluators.booookscore import sentences_of
from redraft.lab.agreement.annotations import AnnotatedSentence as Annotated
from redraft.lab.agreement.annotations import entries_of, lists_every_sentence
from redraft.lab.agreement.entries import FileEntry, Library, UnreadableError, list_at, mapping, text_at
from redraft.lab.agreement.formats.format import Format
from redraft.lab.agreement.people import Field, HumanItem
from redraft.lab.agreement.sentence_match import place

# Words that stand in several places of a summary, and are fewer, say nothing of where a mark is.
_SHORTEST_AMBIGUOUS = 6
_MARKS = "singles"


def _parts(entry: FileEntry) -> Iterator[FileEntry]:
    """The summaries of a file; of annotations by sentence whether all of them are listed shows in all of the file."""
    summaries = mapping(entry.content)
    sentences = [one for each in summaries.values() if isinstance(each, Mapping) for one in each.values()]
    every = lists_every_sentence(sentences)
    for name, one in summaries.items():
        yield FileEntry(str(name), {"said": one or {}, "name": name, "every": every})


def _items(entry: FileEntry, known: Library) -> list[HumanItem]:
    said, name = mapping(entry.content["said"]), str(entry.content["name"])
    summary = text_at(said, "summary") if _MARKS in said else known.get(name, "")
    if not summary:
        raise UnreadableError("its summary is not there: name the file of summaries with --documents")
    statements = statements_of(summary)
    counted = sentences_of(statements)
    sentences = tuple(one.sentence for one in counted)
    if _MARKS in said:
        labels: tuple[bool | None, ...] = tuple(not marked for marked in _marked(sentences, said))
    else:
        verdicts = place(_annotated(name, said), statements, every=entry.content["every"]).verdicts
        labels = tuple(not verdicts[one.id].confusing if one.id in verdicts else None for one in counted)
    clear = [label for label in labels if label is not None]
    if not clear:
        raise UnreadableError("no sentence of the summary is judged")
    people = {"coherence": sum(clear) / len(clear)}
    return [HumanItem("", name, summary, people, source=summary, sentences=sentences, labels=labels)]


def _annotated(name: str, said: Mapping[str, Any]) -> tuple[Annotated, ...]:
    try:
        return entries_of(name, name, said)
    except UsageError as error:
        raise UnreadableError(error.message) from error


def _marked(sentences: tuple[str, ...], said: Mapping[str, Any]) -> list[bool]:
    """Whether a mark overlaps each of the sentences."""
    flat = " ".join(" ".join(sentences).split())
    found, at = [False] * len(sentences), 0
    ends: list[tuple[int, int]] = []
    for sentence in sentences:
        start = flat.index(" ".join(sentence.split()), at)
        at = start + len(" ".join(sentence.split()))
        ends.append((start, at))
    for text in _marks(said):
        first = flat.find(text)
        unclear = len(text.split()) < _SHORTEST_AMBIGUOUS and flat.count(text) > 1
        for n, (start, end) in enumerate(ends):
            if first >= 0 and not unclear and start < first + len(text) and end > first:
                found[n] = True
    return found


def _marks(said: Mapping[str, Any]) -> Iterator[str]:
    yield from (" ".join(text_at(mapping(one), "span").split()) for one in list_at(said, _MARKS))
    for one in said.get("relations") or ():
        for side in ("span_a", "span_b"):
            yield " ".join(text_at(mapping(one), side).split())


BOOOOKSCORE = Format(
    "booookscore",
    "BooookScore",
    {"coherence": Field(1.0, ("booookscore",))},
    _items,
    parts=_parts,
    needs_documents=False,
)
