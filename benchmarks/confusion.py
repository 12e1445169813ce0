"""Whether what the built-in judge finds confusing in a summary is confusing, and what it leaves open.

    python -m benchmarks.confusion

By construction: into summaries by people (SQuALITY) and by GPT-4 (BooookScore) one fault each is planted, of which it
is known where it stands. A finding there is right, one anywhere else that the summary did not have before is wrong.
By people: what one of BooookScore's annotators marked overlaps the sentence. The halves are by a hash of the document;
the rules were chosen on the first. Reads squality and booookscore under $REDRAFT_DATA (by default ../shared/data).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.common import DATA
from benchmarks.trust_sets import references
from benchmarks.trust_swaps import swaps
from redraft.builtin.coherence.confusion import Doubt, doubts
from redraft.prompts.coherence import ErrorType
from redraft.text.sentences import worded
from redraft.text.wording import carries, is_negation, is_number, words

FOLDER = Path("booookscore")
PEOPLE = FOLDER / "human" / "summary-gpt4-4096-hier.json"
GPT4 = FOLDER / "annotations" / "gpt4-4096-hier.json"
HALVES = ("chosen on", "held out")

# A mark of one word that stands in several places says not which sentence is meant.
_SHORTEST_AMBIGUOUS = 2
_SHORTEST_CUT = 8
_FEWEST = 4
# The words are those of this benchmark, not the judge's, so that what it does not know counts against it.
_PRONOUN = re.compile(r"(?:He|She|They|It|His|Her|Their|Its)\b")
_NAMED = re.compile(r"[a-z,] [A-Z]|\b[Hh](?:e|im|is|er)\b|\b[Ss]he\b")
_JOINING = re.compile(r"(?:But|And|So|Yet|However|Instead|Therefore|Moreover|Furthermore|Additionally|Nevertheless)\b")


@dataclass(frozen=True)
class Sentence:
    """A sentence of a summary that people annotated: what they and the judge found in it, and whether GPT-4 did."""

    book: str
    text: str
    labels: frozenset[str]
    doubts: tuple[Doubt, ...]
    marked: bool


@dataclass(frozen=True)
class Planted:
    """A summary with one fault, and the sentence that has it."""

    fault: str
    sentences: tuple[str, ...]
    at: int


def is_held_out(document: str) -> bool:
    """In which half a document is."""
    return hashlib.sha256(document.encode()).digest()[0] % 2 == 1


def intact(data: Path) -> Iterator[tuple[str, bool, tuple[str, ...]]]:
    """Summaries as they were written: of which set, in which half, and their sentences."""
    for document, text in references():
        yield "by people", is_held_out(document), tuple(worded(text))
    for name in ("gpt4-2048-hier", "gpt4-2048-inc", "gpt4-4096-hier"):
        texts = json.loads((data / FOLDER / "summaries" / f"{name}-cleaned.json").read_text("utf-8"))
        for book, text in texts.items():
            yield "by GPT-4", is_held_out(book), tuple(worded(text or ""))


def planted(said: Sequence[str], strange: str, chance: Random) -> Iterator[Planted]:
    """A summary with one fault of each kind; `strange` begins with a pronoun that is about another summary's people."""
    at = chance.randrange(len(said) - 2)
    to = chance.randrange(at + 2, len(said) + 1)

    def after(fault: str, sentence: str) -> Planted:
        return Planted(fault, (*said[:to], sentence, *said[to:]), to)

    yield after("said again", said[at])
    if dropped := _dropped(said[at], chance):
        yield after("said again, a word less", dropped)
    for _, kind, falsified in swaps([said[at]], chance):
        if kind != "name":  # another may well have done the same
            yield after(f"said otherwise: {kind}", falsified)
    yield from _cut(said, chance)
    yield from _put_in(said, strange, chance)
    written = said[at].split()
    if len(written) > _SHORTEST_CUT:
        n = chance.randrange(1, len(written) - 1)
        doubled = " ".join([*written[: n + 1], *written[n:]])
        yield Planted("a word doubled", (*said[:at], doubled, *said[at + 1 :]), at)
    if len(written := said[-1].split()) > _SHORTEST_CUT:
        cut = " ".join(written[: chance.randrange(_SHORTEST_CUT, len(written))])
        yield Planted("cut short", (*said[:-1], cut), len(said) - 1)


def _cut(said: Sequence[str], chance: Random) -> Iterator[Planted]:
    for fault, pattern in (("begins with a pronoun", _PRONOUN), ("begins with a joining word", _JOINING)):
        if starts := [n for n in range(2, len(said)) if pattern.match(said[n])]:
            yield Planted(fault, tuple(said[chance.choice(starts) :]), 0)


def _put_in(said: Sequence[str], strange: str, chance: Random) -> Iterator[Planted]:
    anywhere = range(1, len(said))
    nameless = [n for n in anywhere if not any(map(_NAMED.search, said[max(0, n - 2) : n]))]
    for fault, places in (
        ("a pronoun of another summary", anywhere),
        ("the same, behind sentences without a name", nameless),
    ):
        if places:
            n = chance.choice(places)
            yield Planted(fault, (*said[:n], strange, *said[n:]), n)


def _dropped(sentence: str, chance: Random) -> str:
    """A sentence without one of its words that is no name, number or negation."""
    found = [
        word
        for word in words(sentence)
        if word.start and sentence[word.start].islower() and carries(word.key) and not is_number(word.key)
    ]
    found = [word for word in found if not is_negation(word.key)]
    if len(found) <= _SHORTEST_CUT // 2:
        return ""
    word = chance.choice(found)
    return sentence[: word.start].rstrip() + sentence[word.end :]


def by_construction(data: Path) -> Iterator[str]:
    """Faults that are found, and by type of finding how many are right."""
    seen: Counter[tuple[str, bool, bool]] = Counter()
    right: Counter[tuple[str, bool, bool]] = Counter()
    texts = [one for one in intact(data) if len(one[2]) > _FEWEST]
    strangers = [found for _, _, said in texts if (found := next(filter(_PRONOUN.match, said[2:]), ""))]
    for n, (of, half, said) in enumerate(texts):
        known = {text for text, own in _found(said) if own}
        for one in planted(said, strangers[(n + len(strangers) // 2) % len(strangers)], Random(n)):
            verdicts = _found(one.sentences)
            if len(verdicts) != len(one.sentences):
                continue  # the fault has moved the end of a sentence
            seen[f"{of}, {one.fault}", half, bool(verdicts[one.at][1])] += 1
            for at, (text, own) in enumerate(verdicts):
                for doubt in own if at == one.at or text not in known else ():
                    right[f"{of}, {doubt.type}", half, at == one.at] += 1
    for title, counted in (("fault planted: found", seen), ("finding: right", right)):
        yield _row(title, *HALVES)
        for name in sorted({name for name, _, _ in counted}):
            halves = [(counted[name, half, True], counted[name, half, False]) for half in (False, True)]
            yield _row(name, *(_share(yes, yes + no) for yes, no in halves))


def _found(said: Sequence[str]) -> list[tuple[str, tuple[Doubt, ...]]]:
    """The sentences of a summary, as they are taken apart again, with what confuses in each."""
    summary = "\n\n".join(said)
    return list(zip(worded(summary), doubts(summary), strict=True))


def on_intact(data: Path) -> Iterator[str]:
    """What is found in summaries as they were written, most of it there to be found."""
    count: Counter[tuple[str, ErrorType]] = Counter()
    whole: Counter[str] = Counter()
    for of, _, said in intact(data):
        for own in doubts("\n\n".join(said)):
            whole[of] += 1
            count.update((of, doubt.type) for doubt in own)
    for of in whole:
        kinds = ", ".join(f"{number} {kind}" for (its, kind), number in sorted(count.items()) if its == of)
        yield f"  nothing planted, {of}: {whole[of]:,} sentences, found: {kinds or 'nothing'}"


@cache
def annotated(data: Path) -> tuple[Sentence, ...]:
    """All sentences of the summaries that people annotated."""
    people = json.loads((data / PEOPLE).read_text("utf-8"))
    gpt4 = json.loads((data / GPT4).read_text("utf-8"))
    found: list[Sentence] = []
    for book, entry in sorted(people.items()):
        summary, marks = entry["summary"], gpt4.get(book) or {}
        for text, labels, own in zip(worded(summary), labels_of(summary, entry), doubts(summary), strict=True):
            found.append(Sentence(book, text, labels, own, _is_marked(text, marks)))
    return tuple(found)


def labels_of(summary: str, entry: Mapping[str, Any]) -> list[frozenset[str]]:
    """What people found in each sentence of a summary: the labels of all marks that overlap it."""
    flat = " ".join(summary.split())
    spans: list[tuple[int, int]] = []
    at = 0
    for text in worded(summary):
        start = flat.index(text, at)
        at = start + len(text)
        spans.append((start, at))
    found: list[set[str]] = [set() for _ in spans]
    for text, labels in _marks(entry):
        first = flat.find(text)
        unclear = len(text.split()) < _SHORTEST_AMBIGUOUS and flat.count(text) > 1
        for number, (start, end) in enumerate(spans):
            if first >= 0 and not unclear and start < first + len(text) and end > first:
                found[number].update(labels)
    return [frozenset(labels) for labels in found]


def _marks(entry: Mapping[str, Any]) -> Iterator[tuple[str, Sequence[str]]]:
    for single in entry["singles"]:
        yield " ".join(single["span"].split()), single["labels"]
    for relation in entry["relations"]:
        for side in ("span_a", "span_b"):
            yield " ".join(relation[side].split()), relation["shared_labels"]


def _is_marked(text: str, marks: Mapping[str, Any]) -> bool:
    """Whether GPT-4 found a sentence confusing, however it was cut."""
    for sentence in marks:
        known = " ".join(sentence.split())
        if known == text or (min(len(known), len(text)) > 30 and (known in text or text in known)):
            return True
    return False


def by_people(data: Path) -> Iterator[str]:
    """What people marked of what is found, and of what is left open."""
    of = annotated(data)
    marked = sum(bool(one.labels) for one in of)
    yield f"{len({one.book for one in of})} books, {len(of):,} sentences, {_share(marked, len(of))} marked by people"
    yield _row("marked by people, of", *HALVES)
    kinds = sorted({doubt.type for one in of for doubt in one.doubts})
    groups: dict[str, list[Sentence]] = {
        kind: [one for one in of if kind in (doubt.type for doubt in one.doubts)] for kind in kinds
    }
    groups["what is left open"] = [one for one in of if not one.doubts]
    groups["what GPT-4 finds"] = [one for one in of if one.marked]
    for name, group in groups.items():
        halves = [[one for one in group if is_held_out(one.book) == half] for half in (False, True)]
        yield _row(name, *(_share(sum(bool(one.labels) for one in half), len(half)) for half in halves))


def report(data: Path) -> Iterator[str]:
    """The figures, as lines to print."""
    yield from by_construction(data)
    yield from on_intact(data)
    yield ""
    yield from by_people(data)


def _row(name: str, *cells: str) -> str:
    return f"  {name:<45}" + "".join(f"{cell:>22}" for cell in cells)


def _share(part: int, whole: int) -> str:
    return f"{part} of {whole:,} ({part / whole:.3f})" if whole else "-"


def main() -> None:
    if not (DATA / PEOPLE).is_file():
        print(f"skipped: {DATA} holds no {PEOPLE}; set REDRAFT_DATA to the folder that does")
        return
    print(*report(DATA), sep="\n")


if __name__ == "__main__":
    main()
