"""How far the built-in judge agrees with people, on data that it was developed on and on data that it was not.

    python -m benchmarks.agreement [--set QAGS] [--documents 20] [--half "held out"]

Reads what is there under $REDRAFT_DATA (by default ../shared/data). Each set is divided by document into two halves, by
a hash of the document's text: the judge was developed on one of them, and the other is held out. Kendall's tau-b is
over all items: one without a score is given the mean. Published for a language model as the judge (LongSumEval): 0.311
on QAGS CNN/DM per summary, 0.683 on SummEval per system. Where systems are compared it is also printed how far people
agree with themselves: the order of systems by people's figures on half of the documents beside that on the others.
"""

from __future__ import annotations

import asyncio
import hashlib
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from statistics import fmean
from tempfile import TemporaryDirectory

import pandas as pd

from benchmarks.common import DATA, options_of, table
from redraft import Store
from redraft.lab.agreement.agree import AgreeDesign
from redraft.lab.agreement.formats import FORMATS
from redraft.lab.agreement.measures import tau_b
from redraft.lab.agreement.people import Dataset, HumanItem
from redraft.lab.agreement.report import columns_of, correlations, judged_frame, system_tau
from redraft.runs.experiment_runner import ExperimentRunner
from redraft.settings import EXTRACTIVE, Limits

HALVES = ("developed on", "held out")
DRAWS = 200
HEAD: list[object] = ["set", "metric", "half", "documents", "summaries", "scored", "agreement", "ours", "bigrams"]


@dataclass(frozen=True)
class Set:
    """A set of annotations, and the metric that is held against it."""

    name: str
    format: str
    paths: tuple[str, ...]
    metric: str
    human: str

    @property
    def is_there(self) -> bool:
        return all((DATA / path).exists() for path in self.paths)

    def read(self) -> Dataset:
        parts = [FORMATS[self.format].read(str(DATA / path)) for path in self.paths]
        return replace(parts[0], name=self.name, items=tuple(item for part in parts for item in part.items))


DOMAINS = ("news", "podcast", "qmsumm", "samsum", "sales_email")
QAGS = Set("QAGS CNN/DM", "qags", ("qags/mturk_cnndm.jsonl",), "consistency", "consistency")
SUMMEVAL = Set("SummEval", "summeval", ("summeval/summaries.jsonl",), "consistency", "consistency")
SUMMEDITS = Set(
    "SummEdits", "summedits", tuple(f"summedits/{name}.jsonl" for name in DOMAINS), "consistency", "consistency"
)
REALSUMM = Set("REALSumm", "realsumm", ("realsumm/documents.jsonl",), "coverage", "recall")
BOOKS = Set(
    "BooookScore", "booookscore", ("booookscore/human/summary-gpt4-4096-hier.json",), "booookscore", "coherence"
)
SETS = (QAGS, SUMMEVAL, SUMMEDITS, REALSUMM, BOOKS)


def is_held_out(item: HumanItem) -> bool:
    return bool(hashlib.sha256(item.source.encode()).digest()[-1] % 2)


def half(dataset: Dataset, name: str, documents: int | None = None) -> Dataset:
    """The items of one half, of the first so many documents of it."""
    items = [item for item in dataset.items if is_held_out(item) == (name == HALVES[1])]
    kept = set(list(dict.fromkeys(item.document for item in items))[:documents])
    return replace(dataset, items=tuple(item for item in items if item.document in kept))


def judged(dataset: Dataset, metric: str, human: str) -> list[pd.DataFrame]:
    """The built-in judge's scores of all items beside people's, then those of the baseline; on a database of its own,
    so that nothing is known beforehand."""
    design = AgreeDesign({dataset.name: dataset}, (metric,), (EXTRACTIVE,), human)
    with TemporaryDirectory() as folder, Store(Path(folder) / "redraft.db") as store:
        outcome = asyncio.run(design.run((), ExperimentRunner(store, Limits(concurrency=4))))
    frame = judged_frame(*design.comparisons, columns_of(outcome.items))
    return [rows for _, rows in frame.groupby("judge", sort=False)]


def per_summary(rows: pd.DataFrame) -> float | None:
    return tau_b(rows["filled"], rows["people"])


def rows_of(which: Set, dataset: Dataset, name: str) -> Iterator[list[object]]:
    """What the table says of one half: by summary, and by system where there are any."""
    ours, plain = judged(dataset, which.metric, which.human)
    scored = int(ours["ours"].notna().sum())
    head = [which.name, which.metric, name, len({item.document for item in dataset.items}), len(ours), scored]
    yield [*head, "per summary", per_summary(ours), per_summary(plain)]
    if "systems" in correlations(ours):
        yield [*head, "per system", system_tau(ours), system_tau(plain)]


def people_beside_themselves(dataset: Dataset, human: str) -> tuple[float, float]:
    """Tau-b of systems by people's figures on one half of the documents with those on the other: for our two halves,
    and the mean of many halves drawn at random."""
    documents = sorted({item.document for item in dataset.items})
    ours = {item.document for item in dataset.items if is_held_out(item)}
    drawn = [set(Random(n).sample(documents, len(documents) // 2)) for n in range(DRAWS)]

    def agreed(half: set[str]) -> float:
        means: list[dict[str, float]] = []
        for inside in (True, False):
            by_system: dict[str, list[float]] = defaultdict(list)
            for item in dataset.items:
                if (item.document in half) == inside and human in item.people:
                    by_system[item.system].append(item.people[human])
            means.append({system: fmean(figures) for system, figures in by_system.items()})
        shared = sorted(means[0].keys() & means[1].keys())
        tau = tau_b([means[0][one] for one in shared], [means[1][one] for one in shared])
        assert tau is not None
        return tau

    return agreed(ours), fmean(map(agreed, drawn))


def main() -> None:
    arguments = options_of(__doc__)
    arguments.add_argument("--set", choices=[one.name for one in SETS], action="append", help="only this set")
    arguments.add_argument("--documents", type=int, help="only so many documents of each half")
    arguments.add_argument("--half", choices=HALVES, help="only this half")
    options = arguments.parse_args()
    there = [one for one in SETS if one.is_there and one.name in (options.set or [one.name])]
    if not there:
        print(f"skipped: {DATA} holds none of the sets; set REDRAFT_DATA to the folder that does")
        sys.exit(0)
    rows: list[list[object]] = [HEAD]
    for which in there:
        for name in HALVES if options.half is None else [options.half]:
            dataset = half(which.read(), name, options.documents)
            rows += rows_of(which, dataset, name)
    table(rows)
    for which in there:
        dataset = which.read()
        if len({item.system for item in dataset.items}) > 1:
            halves, drawn = people_beside_themselves(dataset, which.human)
            print(
                f"{which.name}, people with themselves, per system: {halves:.3f}; of {DRAWS} random halves {drawn:.3f}"
            )


if __name__ == "__main__":
    main()
