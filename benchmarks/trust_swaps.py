"""Copied sentences with a name, a number or a negation exchanged, so that it is known that they are wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from random import Random

from redraft.builtin.names import Detail, details
from redraft.text.word_keys import keys, words
from redraft.text.words import count_words

KINDS = ("name", "number", "negation added", "negation removed")
_VERB = re.compile(
    r"\b(?:was|were|had|is|are|could|would|should|did|came|went|took|made|gave|found|saw|told|knew|said) "
)
_NEGATION = re.compile(r"\b(?:not|never) ")
_SHORTEST_NAME = 4


def swaps(said: Sequence[str], chance: Random, names: Sequence[str] = ()) -> Iterator[tuple[int, str, str]]:
    """For sentences of a text their places, what was exchanged, and what came of it; the names are the text's own."""
    names = names or sorted({name for sentence in said for name in _names(sentence)})
    for at, sentence in enumerate(said):
        if count_words(sentence) > 5:
            for kind, falsified in _swapped(sentence, names, chance):
                yield at, kind, falsified


def _names(sentence: str) -> Iterator[str]:
    for one in details(sentence, words(sentence)):
        name = sentence[one.start : one.end]
        if one.kind == "name" and one.sure and one.first and len(name) >= _SHORTEST_NAME:
            yield name


def _swapped(sentence: str, names: Sequence[str], chance: Random) -> Iterator[tuple[str, str]]:
    """The sentence with another name, another number, and the opposite sense."""
    found = words(sentence)
    known = [detail for detail in details(sentence, found) if detail.sure]
    if named := [detail for detail in known if detail.kind == "name"]:
        detail = chance.choice(named)
        if others := [name for name in names if not _shared(name, sentence, detail)]:
            yield "name", sentence[: detail.start] + chance.choice(others) + sentence[detail.end :]
    figures = [at for d in known if d.kind == "number" for at in range(d.first, d.last + 1) if found[at].key.isdigit()]
    if figures:
        word = found[chance.choice(figures)]
        yield "number", f"{sentence[: word.start]}{int(word.key) + chance.randint(1, 9)}{sentence[word.end :]}"
    if denial := _NEGATION.search(sentence):
        yield "negation removed", sentence[: denial.start()] + sentence[denial.end() :]
    elif verb := _VERB.search(sentence):
        yield "negation added", f"{sentence[: verb.end()]}not {sentence[verb.end() :]}"


def _shared(name: str, sentence: str, detail: Detail) -> bool:
    return bool(set(keys(name)) & set(keys(sentence[detail.start : detail.end])))
