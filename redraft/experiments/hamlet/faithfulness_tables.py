"""The tables of HAMLET about faithfulness: by level (5), by summary beside recall (7), and by kind of error (14)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from redraft.evaluators.words import NONE
from redraft.experiments.hamlet.counting import ALL_MODELS, COUNTS, MODELS_MEAN, Tally
from redraft.experiments.hamlet.records import Item
from redraft.experiments.stages import DRAFTING
from redraft.packs.keyfacts import ALL, LEVELS, share
from redraft.reports.tables import Cell, Table, mean

_CARRIED = (*LEVELS, NONE, ALL)
_EXTRINSIC = "out_of_article"
_INTRINSIC = ("relation", "entity", "sentence")


def faithfulness_table(items: Sequence[Item]) -> Table:
    """Table 5: faithfulness by the level of the facts that a sentence carries."""
    tally = Tally(items, "faithfulness")
    rows: list[tuple[Cell, ...]] = []
    for perspective in tally.perspectives:
        own = tally.of(perspective=perspective)
        values = {model: own.of(model=model).values(_CARRIED) for model in own.models}
        for model, found in values.items():
            sentences = own.of(model=model).share(ALL).whole
            rows.append((perspective, model, *found, sentences, *own.of(model=model).counts))
        if len(values) > 1:
            means = [mean(column) for column in zip(*values.values(), strict=True)]
            rows.append((perspective, MODELS_MEAN, *means, own.share(ALL).whole, *own.counts))
    return Table(
        "faithfulness",
        "Faithfulness by the level of the facts that a sentence carries (HAMLET, table 5)",
        "The share of the sentences that the chunk bears out (equation 2), pooled over the sentences of all the"
        " summaries of a row. A sentence that carries facts of several levels counts in each of them; none are those"
        " that carry no key fact.",
        tally.basis,
        ("perspective", "model", *_CARRIED, "sentences", *COUNTS),
        tuple(rows),
    )


def summary_table(items: Sequence[Item]) -> Table:
    """Table 7: what each model's summaries come to on average."""
    recall, faithfulness = Tally(items, "recall"), Tally(items, "faithfulness")
    rows: list[tuple[Cell, ...]] = []
    for model in recall.models:
        stated, borne = recall.of(model=model), faithfulness.of(model=model)
        scores = [mean([one.score for one in tally.measured]) for tally in (stated, borne)]
        both = mean(scores) if None not in scores else None
        words = mean([item.words for item in stated.items])
        counts = (len(stated.measured), len(borne.measured), len(stated.items), stated.failed)
        rows.append((model, *scores, both, words, *_taken(stated.items), *counts, stated.unjudged + borne.unjudged))
    return Table(
        "summaries",
        "Recall and faithfulness by summary (HAMLET, table 7)",
        "The mean over summaries of each summary's own recall and faithfulness, and the mean of the two. What a"
        " summary takes is what drafting it takes on average; where a price is not known, neither is the cost.",
        f"Recall: {recall.basis} Faithfulness: {faithfulness.basis}",
        (
            *("model", "recall", "faithfulness", "mean", "words", "tokens each", "USD each"),
            *("for recall", "for faithfulness", "of", *COUNTS[2:]),
        ),
        tuple(rows),
    )


def _taken(items: Sequence[Item]) -> tuple[Cell, Cell]:
    """The tokens and the money that drafting a summary takes."""
    taken = [one.usage[DRAFTING] for one in items if DRAFTING in one.usage]
    priced = all(one.cost_usd is not None for one in taken)
    tokens = mean([one.prompt_tokens + one.completion_tokens for one in taken])
    return tokens, mean([one.cost_usd for one in taken]) if priced else None


def error_table(items: Sequence[Item]) -> Table:
    """Table 14: what is wrong with the sentences that are not faithful."""
    tally = Tally(items, "faithfulness")
    groups = [(model, tally.of(model=model)) for model in tally.models]
    if len(groups) > 1:
        groups.append((ALL_MODELS, tally))
    return Table(
        "errors",
        "Kinds of unfaithful sentences (HAMLET, tables 12 and 14)",
        "Sentences that the chunk does not bear out, pooled over summaries. Extrinsic is what the chunk does not speak"
        " of (out of article), intrinsic what it says otherwise: as to a relation, an entity, or all of the sentence.",
        tally.basis,
        ("model", "error", "sentences", "of all errors", "of intrinsic errors", *COUNTS),
        tuple((name, *row, *group.counts) for name, group in groups for row in _error_rows(group)),
    )


def _error_rows(tally: Tally) -> list[tuple[Cell, ...]]:
    counts = sum((Counter(one.errors) for one in tally.measured), Counter[str]())
    every, intrinsic = counts.total(), sum(counts[kind] for kind in _INTRINSIC)
    rows: list[tuple[Cell, ...]] = [
        ("extrinsic", counts[_EXTRINSIC], share(counts[_EXTRINSIC], every), None),
        ("intrinsic", intrinsic, share(intrinsic, every), share(intrinsic, intrinsic)),
    ]
    rows += [
        (f"intrinsic: {kind}", counts[kind], share(counts[kind], every), share(counts[kind], intrinsic))
        for kind in _INTRINSIC
    ]
    if disputed := every - intrinsic - counts[_EXTRINSIC]:
        rows.append(("judges disagree", disputed, share(disputed, every), None))
    return rows if tally.measured else [(row[0], None, None, None) for row in rows]
