"""Whether the built-in judge can be believed: false accusations, verdicts that hold, swaps that are found, people.

    python -m benchmarks.trust [--only accusations|verdicts|kinds|swaps|agreement|recall]

Reads squality, summedits, qags, summeval and realsumm under $REDRAFT_DATA (by default ../shared/data). The rules were
chosen on the halves "developed on" of QAGS and REALSumm (by a hash of the document) and on the texts of examples/;
SummEdits, SQuALITY and SummEval were looked at for the kinds of false accusation only, no threshold was fitted to them.
Correlations are Kendall's tau-b, for recall Pearson's
and Spearman's as well.
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from random import Random
from statistics import fmean

from scipy.stats import kendalltau, pearsonr, spearmanr

from benchmarks.agreement import HALVES, HEAD, QAGS, SUMMEVAL, half, judged, rows_of
from benchmarks.common import SAMPLE, stories, table
from benchmarks.trust_sets import realsumm, references, summedits
from benchmarks.trust_swaps import KINDS, swaps
from redraft.builtin.check import Checked, SourceText
from redraft.builtin.judge import align_facts
from redraft.prompts.factual import AlignInput, Fact
from redraft.prompts.qa import Statement
from redraft.text.sentences import sentences_in

KINDS_OF_FAULTS = ("differs", "absent")
"""What the document has in another way, and what it does not have."""


def checks(document: str, sentences: Sequence[str]) -> list[Checked]:
    """What the built-in model says of each sentence, with all of the document before it."""
    source = SourceText((document,))
    return [source.check(sentence) for sentence in sentences]


def kind_of(checked: Checked) -> str:
    """The kind of a fault; empty without one."""
    return "" if checked.fault is None else "absent" if checked.fault.kind == "absent" else "differs"


def accusations() -> None:
    """People's summaries, and those of SummEdits that are consistent: which share of their sentences is accused."""
    rows: list[list[object]] = [["no false accusations", "sentences", "accused", "share"]]
    sets = (
        ("SQuALITY, people's summaries", list(references())),
        ("SummEdits, consistent", [(one.document, one.summary) for one in summedits() if one.consistent]),
    )
    for name, pairs in sets:
        kinds = [kind_of(one) for document, text in pairs for one in checks(document, sentences_in(text))]
        accused = sum(map(bool, kinds))
        rows.append([name, len(kinds), accused, accused / max(1, len(kinds))])
    table(rows)


def verdicts() -> None:
    """SummEdits: how many of the summaries that are accused are inconsistent, and how many of those are found."""
    right: Counter[tuple[str, bool]] = Counter()
    edits: Counter[tuple[str, bool]] = Counter()
    for one in summedits():
        said = {kind_of(checked) for checked in checks(one.document, sentences_in(one.summary))} - {""}
        for kind in KINDS_OF_FAULTS:
            right[kind, one.consistent] += kind in said
        found = bool(said)
        for kind in (f"domain {one.domain}", *one.edits) if not one.consistent else ():
            edits[kind, found] += 1
    rows: list[list[object]] = [["verdicts that hold", "summaries", "inconsistent", "share"]]
    for kind in KINDS_OF_FAULTS:
        whole = right[kind, True] + right[kind, False]
        rows.append([kind, whole, right[kind, False], right[kind, False] / max(1, whole)])
    table(rows)
    rows = [["inconsistent by edit", "summaries", "found", "share"]]
    for kind in sorted({kind for kind, _ in edits}):
        whole = edits[kind, True] + edits[kind, False]
        rows.append([kind, whole, edits[kind, True], edits[kind, True] / whole])
    table(rows)


def kinds() -> None:
    """QAGS: of the sentences by what is said of them, how many people find supported: a fault, or the share of word
    pairs that the document has, by quarters."""
    rows: list[list[object]] = [["kinds of verdicts, QAGS", "half", "sentences", "supported", "share"]]
    if not QAGS.is_there:
        return
    for name in HALVES:
        people: dict[str, list[bool]] = defaultdict(list)
        for item in half(QAGS.read(), name).items:
            for checked, label in zip(checks(item.source, item.sentences), item.labels, strict=True):
                if label is not None:
                    people[kind_of(checked) or f"{min(3, int(checked.share * 4))}/4 of the pairs"].append(label)
        rows += [[kind, name, len(said), sum(said), fmean(said)] for kind, said in sorted(people.items())]
    table(rows)


def swapped() -> None:
    """Copied sentences with a name, number or negation exchanged."""
    rows: list[list[object]] = [["swaps in copied sentences", *KINDS, "copied, accused"]]
    texts = [(SAMPLE.stem, SAMPLE.read_text("utf-8"))]
    texts += [(f"story {n}", story["document"]) for n, story in enumerate(stories()) if n % 5 == 0]
    whole: Counter[tuple[str, bool]] = Counter()
    for name, text in texts:
        found: Counter[tuple[str, bool]] = Counter()
        said, source = sentences_in(text), SourceText((text,))
        for _, kind, sentence in swaps(said, Random(name)):
            found[kind, bool(source.check(sentence).fault)] += 1
        accused = sum(bool(source.check(sentence).fault) for sentence in said)
        whole += found
        rows.append([name, *(_of(found, kind) for kind in KINDS), accused])
    rows.append(["all", *(_of(whole, kind) for kind in KINDS), ""])
    table(rows)


def _of(found: Counter[tuple[str, bool]], kind: str) -> str:
    number = found[kind, True] + found[kind, False]
    return f"{found[kind, True]}/{number} = {found[kind, True] / number:.3f}" if number else "-"


def agreement() -> None:
    """Consistency beside people's over all items, as `redraft agree` has it; by halves it is in `agreement`."""
    rows: list[list[object]] = [HEAD]
    for which in (QAGS, SUMMEVAL):
        if which.is_there:
            dataset = which.read()
            with judged(dataset, which.metric, which.human) as (outcome, _):
                rows += rows_of(which, dataset, outcome, "both")
    table(rows)


def recall() -> None:
    """Recall of people's key facts beside the share that people found, by system."""
    ours: list[float] = []
    people: list[float] = []
    systems: list[str] = []
    for one in realsumm():
        facts = [Fact(id=n, fact=fact) for n, fact in enumerate(one.facts)]
        for system, summary, found in one.summaries:
            sentences = [Statement(id=n, sentence=sentence) for n, sentence in enumerate(sentences_in(summary))]
            said = Counter(each.stated for each in align_facts(AlignInput(sentences=sentences, facts=facts)).facts)
            ours.append(said["yes"] / max(1, len(facts)))
            people.append(found)
            systems.append(system)
    means: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for system, own, theirs in zip(systems, ours, people, strict=True):
        means[system].append((own, theirs))
    pairs = [tuple(map(fmean, zip(*one, strict=True))) for one in means.values()]
    first, second = zip(*pairs, strict=True)
    rows: list[list[object]] = [["recall, REALSumm", "systems", "Pearson", "Spearman", "tau-b"]]
    figures = [float(measure(first, second).statistic) for measure in (pearsonr, spearmanr, kendalltau)]
    rows.append(["per system", len(means), *figures])
    table(rows)


PARTS: dict[str, Callable[[], None]] = {
    "accusations": accusations,
    "verdicts": verdicts,
    "kinds": kinds,
    "swaps": swapped,
    "agreement": agreement,
    "recall": recall,
}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--only", choices=PARTS, help="only this part")
    only = arguments.parse_args().only
    for name, part in PARTS.items():
        if only in (None, name):
            part()
            print()


if __name__ == "__main__":
    main()
