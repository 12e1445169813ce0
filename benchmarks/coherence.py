"""What is known of the judging of coherence.

    python -m benchmarks.coherence

Two things: BooookScore's published scores, from the released annotations alone, which need the datasets under
$REDRAFT_DATA; and what judging sentence by sentence costs beside judging in batches (benchmarks/batching.py).
"""

from __future__ import annotations

import argparse

from benchmarks.batching import print_costs
from benchmarks.common import DATA, table, use_vocabulary
from redraft.lab.agreement.annotations import read_annotations, read_summaries
from redraft.lab.experiments.booookscore import EXPERIMENT, CoherenceDesign, annotated_outcome, measure_summaries

FOLDER = DATA / "booookscore"
# Table 2 and section 4: the score, the mean tokens and the repeated trigrams in percent, where they are published.
PUBLISHED = {
    "gpt4-2048-hier": ("89.1", "778.6", "4.2"),
    "gpt4-2048-inc": ("82.5", "805.4", "3.4"),
    "gpt4-4096-hier": ("90.8", "-", "-"),
}


def print_published() -> None:
    """The scores from the released files beside the published ones."""
    rows: list[tuple[object, ...]] = [
        ("configuration", "BooookScore", "published", "sd", "tokens", "published", "rep. 3-grams", "published")
    ]
    for name, (score, tokens, trigrams) in PUBLISHED.items():
        summaries = read_summaries(str(FOLDER / "summaries" / f"{name}-cleaned.json"))
        annotations = read_annotations(str(FOLDER / "annotations" / f"{name}.json"))
        found = EXPERIMENT.report(annotated_outcome(measure_summaries(summaries, annotations, CoherenceDesign())))
        scores, lengths = (
            dict(zip(one.columns, one.rows[0], strict=True)) for one in (found.tables[0], found.tables[2])
        )
        rows.append(
            (
                *(name, f"{scores['BooookScore']:.2f}", score, f"{scores['sd']:.4f}"),
                *(f"{lengths['tokens']:.1f}", tokens, f"{lengths['% repeated trigrams']:.2f}", trigrams),
            )
        )
    table(rows)


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    use_vocabulary()
    if FOLDER.is_dir():
        print_published()
    else:
        print("the datasets are not there: only the costs")
    print("\none by one and in batches:", end=" ")
    print_costs()


if __name__ == "__main__":
    main()
