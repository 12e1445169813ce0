"""Whether the built-in judge can be believed: false accusations, verdicts that hold, and planted errors that it finds.

    python -m benchmarks.trust [--only accusations|verdicts|kinds|swaps]

Reads squality, summedits and qags under $REDRAFT_DATA (by default ../shared/data); a set that is absent is left out.
The rules were chosen on one half of QAGS (by a hash of the document) and on the texts of examples/; SummEdits and
SQuALITY were looked at for the kinds of false accusation only, no threshold was fitted to them. How far it agrees with
people is in `benchmarks.agreement`.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from random import Random
from statistics import fmean

from benchmarks.agreement import DOMAINS, HALVES, QAGS, half
from benchmarks.common import SAMPLE, json_lines, options_of, stories, table
from redraft.builtin.judge import SourceText
from redraft.builtin.prose import Detail, details
from redraft.llm.nli import ClaimAnswer
from redraft.text.sentences import sentences_in
from redraft.text.word_keys import keys, words
from redraft.text.words import count_words

DIFFERS, ABSENT = "differs", "absent"
"""What the document has in another way, and what it does not have."""
KINDS = ("name", "number", "negation added", "negation removed")
_VERB = re.compile(
    r"\b(?:was|were|had|is|are|could|would|should|did|came|went|took|made|gave|found|saw|told|knew|said) "
)
_NEGATION = re.compile(r"\b(?:not|never) ")
_SHORTEST_NAME = 4


def checks(document: str, sentences: Sequence[str]) -> list[ClaimAnswer]:
    """What the built-in model says of each sentence, with all of the document before it."""
    source = SourceText((document,))
    return [source.check(sentence) for sentence in sentences]


def kind_of(checked: ClaimAnswer) -> str:
    """The kind of a fault; empty without one."""
    return {"supported": "", "absent": ABSENT}.get(checked.verdict, DIFFERS)


def summedits() -> Iterator[tuple[str, str, bool]]:
    """The documents of SummEdits with each summary, most of which have one small edit, and whether it is consistent."""
    for domain in DOMAINS:
        documents = {entry["id"]: entry["text"] for entry in json_lines(f"summedits/{domain}.documents.jsonl")}
        for entry in json_lines(f"summedits/{domain}.jsonl"):
            yield documents[entry["document"]], entry["summary"], bool(entry["consistent"])


def accusations() -> None:
    """People's summaries, and those of SummEdits that are consistent: which share of their sentences is accused."""
    people = [
        (story["document"], response["response_text"])
        for story in stories()
        for response in story["questions"][0]["responses"]
    ]
    consistent = [(document, summary) for document, summary, is_consistent in summedits() if is_consistent]
    rows: list[list[object]] = [["no false accusations", "sentences", "accused", "share"]]
    for name, pairs in (("SQuALITY, people's summaries", people), ("SummEdits, consistent", consistent)):
        faults = [
            bool(kind_of(checked)) for document, text in pairs for checked in checks(document, sentences_in(text))
        ]
        rows.append([name, len(faults), sum(faults), sum(faults) / max(1, len(faults))])
    table(rows)


def verdicts() -> None:
    """SummEdits: how many of the summaries that are accused are inconsistent, and how many of those are accused."""
    counts: Counter[tuple[str, bool]] = Counter()
    for document, summary, consistent in summedits():
        faults = {kind_of(checked) for checked in checks(document, sentences_in(summary))} - {""}
        counts.update((kind, consistent) for kind in (*faults, *(("any",) if faults else ()), "all"))
    rows: list[list[object]] = [["verdicts that hold", "summaries", "inconsistent", "share"]]
    for kind in (DIFFERS, ABSENT, "any", "all"):
        whole = counts[kind, True] + counts[kind, False]
        rows.append([kind, whole, counts[kind, False], counts[kind, False] / max(1, whole)])
    table(rows)


def kinds() -> None:
    """QAGS: of the sentences by what is said of them, how many people find supported: a fault, or the share of word
    pairs that the document has, by quarters."""
    rows: list[list[object]] = [["kinds of verdicts, QAGS", "half", "sentences", "supported", "share"]]
    for name in HALVES if QAGS.is_there else ():
        people: dict[str, list[bool]] = defaultdict(list)
        for item in half(QAGS.read(), name).items:
            for checked, label in zip(checks(item.source, item.sentences), item.labels, strict=True):
                if label is not None:
                    people[kind_of(checked) or f"{min(3, int((checked.share or 0) * 4))}/4 of the pairs"].append(label)
        rows += [[kind, name, len(labels), sum(labels), fmean(labels)] for kind, labels in sorted(people.items())]
    table(rows)


def swapped() -> None:
    """Copied sentences with a name, number or negation exchanged."""
    texts = [(SAMPLE.stem, SAMPLE.read_text("utf-8"))]
    texts += [(f"story {n}", story["document"]) for n, story in enumerate(stories()) if n % 5 == 0]
    found: Counter[tuple[str, bool]] = Counter()
    copied = accused = 0
    for name, text in texts:
        sentences, source = sentences_in(text), SourceText((text,))
        for _, kind, sentence in swaps(sentences, Random(name)):
            found[kind, bool(kind_of(source.check(sentence)))] += 1
        copied += len(sentences)
        accused += sum(bool(kind_of(source.check(sentence))) for sentence in sentences)
    rows: list[list[object]] = [["swaps in copied sentences", "sentences", "found"]]
    rows += [[kind, found[kind, True] + found[kind, False], found[kind, True]] for kind in KINDS]
    table([*rows, ["none, accused", copied, accused]])


def swaps(texts: Sequence[str], chance: Random, names: Sequence[str] = ()) -> Iterator[tuple[int, str, str]]:
    """For sentences of a text their places, what was exchanged, and what came of it; the names are the text's own."""
    names = names or sorted({name for sentence in texts for name in _names(sentence)})
    for at, sentence in enumerate(texts):
        if count_words(sentence) > 5:
            for kind, falsified in _swapped(sentence, names, chance):
                yield at, kind, falsified


def _names(sentence: str) -> Iterator[str]:
    for detail in details(sentence, words(sentence)):
        name = sentence[detail.start : detail.end]
        if detail.kind == "name" and detail.sure and detail.first and len(name) >= _SHORTEST_NAME:
            yield name


def _swapped(sentence: str, names: Sequence[str], chance: Random) -> Iterator[tuple[str, str]]:
    """The sentence with another name, another number, and the opposite sense."""
    parts = words(sentence)
    sure = [detail for detail in details(sentence, parts) if detail.sure]
    if named := [detail for detail in sure if detail.kind == "name"]:
        detail = chance.choice(named)
        if others := [name for name in names if not _shared(name, sentence, detail)]:
            yield "name", sentence[: detail.start] + chance.choice(others) + sentence[detail.end :]
    figures = [at for d in sure if d.kind == "number" for at in range(d.first, d.last + 1) if parts[at].key.isdigit()]
    if figures:
        word = parts[chance.choice(figures)]
        yield "number", f"{sentence[: word.start]}{int(word.key) + chance.randint(1, 9)}{sentence[word.end :]}"
    if denial := _NEGATION.search(sentence):
        yield "negation removed", sentence[: denial.start()] + sentence[denial.end() :]
    elif verb := _VERB.search(sentence):
        yield "negation added", f"{sentence[: verb.end()]}not {sentence[verb.end() :]}"


def _shared(name: str, sentence: str, detail: Detail) -> bool:
    return bool(set(keys(name)) & set(keys(sentence[detail.start : detail.end])))


PARTS: dict[str, Callable[[], None]] = {
    "accusations": accusations,
    "verdicts": verdicts,
    "kinds": kinds,
    "swaps": swapped,
}


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--only", choices=PARTS, help="only this part")
    only = parser.parse_args().only
    for name, part in PARTS.items():
        if only in (None, name):
            part()
            print()


if __name__ == "__main__":
    main()
