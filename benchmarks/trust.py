"""Whether the built-in judge can be believed: false accusations, verdicts that hold, swaps that are found, people.

    python -m benchmarks.trust [--only accusations|verdicts|kinds|swaps|agreement|recall|story]

Reads squality, summedits, qags, summeval and realsumm under $REDRAFT_DATA (by default ../shared/data). The rules were
chosen on the halves "developed on" of QAGS and REALSumm (by a hash of the document) and on the texts of examples/;
SummEdits, SQuALITY and SummEval were looked at for the kinds of false accusation only, no threshold was fitted to them.
An item without a score is given the mean of those that have one. Correlations are Kendall's tau-b, for recall Pearson's
and Spearman's as well.
"""

from __future__ import annotations

import argparse
import importlib.util
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from random import Random
from statistics import fmean

from redraft.builtin.facts import align_facts
from redraft.builtin.support import SentenceSupport, checker_for
from scipy.stats import kendalltau, pearsonr, spearmanr

from benchmarks.agreement import HALVES, HEAD, QAGS, SUMMEVAL, half, judged, rows_of
from benchmarks.common import SAMPLE, stories, table
from benchmarks.trust_sets import realsumm, references, summedits
from benchmarks.trust_swaps import KINDS, swaps
from redraft.evaluators.metric_info import MIN_SHARE
from redraft.prompts.factual import AlignInput, Fact
from redraft.prompts.qa import Statement
from redraft.text.sentences import sentences_in

ACCUSING = ("contradicted", "absent")


def held(document: str, sentences: Sequence[str]) -> list[SentenceSupport]:
    """What the judge makes of each sentence, with all of the document before it."""
    ground = checker_for((document,))
    return [ground.check(sentence) for sentence in sentences]


def filled(scores: Sequence[float | None]) -> list[float]:
    """The scores, the mean of those that there are in the place of the others."""
    mean = fmean([one for one in scores if one is not None])
    return [mean if one is None else one for one in scores]


def accusations() -> None:
    """People's summaries, and those of SummEdits that are consistent: which share of their sentences is accused."""
    rows: list[list[object]] = [["no false accusations", "sentences", "accused", "share"]]
    sets = (
        ("SQuALITY, people's summaries", list(references())),
        ("SummEdits, consistent", [(one.document, one.summary) for one in summedits() if one.consistent]),
    )
    for name, pairs in sets:
        verdicts = [one.verdict for document, text in pairs for one in held(document, sentences_in(text))]
        accused = sum(verdict in ACCUSING for verdict in verdicts)
        rows.append([name, len(verdicts), accused, accused / max(1, len(verdicts))])
    table(rows)


def verdicts() -> None:
    """SummEdits: how many of the summaries that are accused are inconsistent, and how many of those are found."""
    right: Counter[tuple[str, bool]] = Counter()
    edits: Counter[tuple[str, bool]] = Counter()
    for one in summedits():
        said = {each.verdict for each in held(one.document, sentences_in(one.summary))}
        for verdict in ACCUSING:
            right[verdict, one.consistent] += verdict in said
        found = bool(said.intersection(ACCUSING))
        for kind in (f"domain {one.domain}", *one.edits) if not one.consistent else ():
            edits[kind, found] += 1
    rows: list[list[object]] = [["verdicts that hold", "summaries", "inconsistent", "share"]]
    for verdict in ACCUSING:
        whole = right[verdict, True] + right[verdict, False]
        rows.append([verdict, whole, right[verdict, False], right[verdict, False] / max(1, whole)])
    table(rows)
    rows = [["inconsistent by edit", "summaries", "found", "share"]]
    for kind in sorted({kind for kind, _ in edits}):
        whole = edits[kind, True] + edits[kind, False]
        rows.append([kind, whole, edits[kind, True], edits[kind, True] / whole])
    table(rows)


def kinds() -> None:
    """QAGS: of the sentences of which the judge says so, how many people find supported. What it says of fewer than
    nine in ten to be so, or not to be, is no verdict: "in part" counts for a share, and "open" for nothing."""
    rows: list[list[object]] = [["kinds of verdicts, QAGS", "half", "sentences", "supported", "share"]]
    if not QAGS.is_there:
        return
    for name in HALVES:
        people: dict[str, list[bool]] = defaultdict(list)
        for item in half(QAGS.read(), name).items:
            for one, label in zip(held(item.source, item.sentences), item.labels, strict=True):
                if label is not None:
                    people[one.verdict].append(label)
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
        said = sentences_in(text)
        for _, kind, sentence in swaps(said, Random(name)):
            found[kind, held(text, [sentence])[0].verdict in ACCUSING] += 1
        accused = sum(one.verdict in ACCUSING for one in held(text, said))
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
    ours: list[float | None] = []
    people: list[float] = []
    systems: list[str] = []
    for one in realsumm():
        facts = [Fact(id=n, fact=fact) for n, fact in enumerate(one.facts)]
        for system, summary, found in one.summaries:
            sentences = [Statement(id=n, sentence=sentence) for n, sentence in enumerate(sentences_in(summary))]
            said = Counter(each.stated for each in align_facts(AlignInput(sentences=sentences, facts=facts)).facts)
            told = said["yes"] + said["no"]
            ours.append(said["yes"] / told if told and told >= MIN_SHARE * len(facts) else None)
            people.append(found)
            systems.append(system)
    means: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for system, own, theirs in zip(systems, filled(ours), people, strict=True):
        means[system].append((own, theirs))
    pairs = [tuple(map(fmean, zip(*one, strict=True))) for one in means.values()]
    first, second = zip(*pairs, strict=True)
    rows: list[list[object]] = [["recall, REALSumm", "systems", "without a score", "Pearson", "Spearman", "tau-b"]]
    figures = [float(measure(first, second).statistic) for measure in (pearsonr, spearmanr, kendalltau)]
    rows.append(["per system", len(means), f"{sum(one is None for one in ours)} of {len(ours)}", *figures])
    table(rows)


def story() -> None:
    """What refining does to stories, where that is measured."""
    if importlib.util.find_spec("benchmarks.trust_story") is None:
        print("skipped: there is no benchmarks.trust_story")
        return
    importlib.import_module("benchmarks.trust_story").main()


PARTS: dict[str, Callable[[], None]] = {
    "accusations": accusations,
    "verdicts": verdicts,
    "kinds": kinds,
    "swaps": swapped,
    "agreement": agreement,
    "recall": recall,
    "story": story,
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
