"""QAGS (Wang et al., 2020): for each sentence of a summary three people's yes or no to whether the article bears it
out."""

from __future__ import annotations

from statistics import fmean

from redraft.agreement.entries import Entry, Library, UnreadableError, list_at, mapping, text_at
from redraft.agreement.formats.format import Format
from redraft.agreement.people import Field, Item


def _items(entry: Entry, _: Library) -> list[Item]:
    content = mapping(entry.content)
    article = text_at(content, "article")
    parts = [mapping(one) for one in list_at(content, "summary_sentences")]
    if not parts:
        raise UnreadableError("the summary has no sentence")
    votes = [[_is_yes(vote) for vote in list_at(one, "responses")] for one in parts]
    if not all(votes):
        raise UnreadableError("nobody has voted on one of the sentences")
    labels = tuple(2 * sum(vote) > len(vote) for vote in votes)
    sentences = tuple(text_at(one, "sentence") for one in parts)
    people = {"consistency": fmean(labels)}
    return [Item("", "", " ".join(sentences), people, source=article, sentences=sentences, labels=labels, votes=votes)]


def _is_yes(vote: object) -> bool:
    said = mapping(vote).get("response")
    if said not in ("yes", "no"):
        raise UnreadableError(f"a response is {said!r:.40} where yes or no was expected")
    return bool(said == "yes")


QAGS = Format(
    "qags",
    "QAGS",
    {"consistency": Field(1.0, ("consistency", "faithfulness"))},
    _items,
)
