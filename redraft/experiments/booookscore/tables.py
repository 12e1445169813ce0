"""The tables of the experiment on coherence: scores, types, lengths, agreement, cost, and what did not go smoothly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from redraft.agreement.annotations import Verdict
from redraft.agreement.classes import of_class
from redraft.agreement.raters import cohens_kappa, equal_share
from redraft.evaluators.booookscore import UNTYPED
from redraft.evaluators.resampling import RESAMPLES, SEED, spread_of_mean
from redraft.experiments.booookscore.scoring import CoherenceOutcome, Reading, Summary, System
from redraft.prompts.coherence import ERROR_TYPES
from redraft.reports.report import Report
from redraft.reports.tables import Cell, Table, figure, mean, plain, unmarked
from redraft.store.connection import storable
from redraft.text.tokens import ESTIMATE

_OTHER = "another type"
_MOST_SYSTEMS = 8
_ASIDE = {
    "textless": ("annotated summaries that the file of summaries does not have", "not at all"),
    "elsewhere": ("annotated sentences that begin or end elsewhere than ours", "as they are annotated"),
    "lost": ("annotated sentences that the summary does not have", "each for one that nothing else is said of"),
    "undecided": ("entries that say of a sentence that it confuses and that it does not", "as not judged"),
    "unknown": ("types that the paper does not have", f'as "{_OTHER}"'),
}


def coherence_report(outcome: CoherenceOutcome) -> Report:
    """The report of the experiment. Tables that this outcome cannot have anything in are left out."""
    design, annotations, judges = outcome.design, outcome.annotations, outcome.judges
    tables = [_score_table(outcome), _type_table(outcome), _length_table(outcome)]
    if annotations and judges:
        tables.append(_agreement_table(outcome.systems[0], judges))
    if annotations or any(not one.sentences for one in outcome.summaries):
        tables.append(_aside_table(outcome))
    if judges:
        tables += [_cost_table(judges), _failure_table(judges)]
    return Report(
        "booookscore",
        "BooookScore: how far summaries confuse their readers",
        tuple(_about(outcome)),
        {
            "summaries": outcome.file.name,
            "annotations": annotations.name if annotations else None,
            "format": _format(outcome) if annotations else None,
            "judges": list(design.judges),
            "certificates": [judge.certificate.to_json() for judge in outcome.judges if judge.certificate],
            "batch": design.batch if judges else None,
            "tokenizer": outcome.tokenizer,
            "resamples": RESAMPLES,
            "seed": SEED,
        },
        tuple(tables),
        [_item(system, one) for system in outcome.systems for one in outcome.summaries],
        tuple(_headline(outcome)),
    )


def _about(outcome: CoherenceOutcome) -> Iterator[str]:
    summaries, annotations, judges = outcome.summaries, outcome.annotations, outcome.judges
    sentences = sum(len(one.sentences) for one in summaries)
    yield f"summaries: {len(summaries)} of {plain(outcome.file.name)}, with {sentences:,} sentences"
    if annotations:
        yield f"annotations: {plain(annotations.name)}, which lists {_format(outcome)}"
    if judges:
        batch = outcome.design.batch
        at_once = "one sentence" if batch == 1 else f"{batch} sentences"
        yield f"judges: {', '.join(plain(judge.name) for judge in judges)}; {at_once} at once"
    yield from (f"judged by {unmarked(judge.certificate.line())}" for judge in judges if judge.certificate)
    if outcome.stopped is not None:
        yield f"stopped: {plain(outcome.stopped.message)}; the same command with a higher limit goes on"


def _headline(outcome: CoherenceOutcome) -> Iterator[str]:
    """The score of each system, with its interval."""
    for system in outcome.systems[:_MOST_SYSTEMS]:
        readings = list(system.readings.values())
        scores = [score for one in readings if (score := one.score) is not None]
        spread = spread_of_mean(scores)
        between = f" (95% from {100 * spread.low:.1f} to {100 * spread.high:.1f})" if spread else ""
        score = mean(scores)
        said = figure(None if score is None else 100 * score)
        left = sum(one.unjudged for one in readings)
        yield (
            f"{plain(system.name)}: BooookScore {said}{between}, over {len(scores)} of {len(readings)} summaries"
            f"{f'; {left:,} sentences were not judged' if left else ''}"
        )
    if (more := len(outcome.systems) - _MOST_SYSTEMS) > 0:
        yield f"and {more} more"
    if outcome.stopped is not None:
        yield f"stopped: {plain(outcome.stopped.message)}"


def _format(outcome: CoherenceOutcome) -> str:
    assert outcome.annotations is not None
    return "every sentence" if outcome.annotations.every else "the sentences that confuse"


def _score_table(outcome: CoherenceOutcome) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for system in outcome.systems:
        readings = list(system.readings.values())
        scores = [score for one in readings if (score := one.score) is not None]
        score, spread = mean(scores), spread_of_mean(scores)
        judged, unjudged = sum(len(one.said) for one in readings), sum(one.unjudged for one in readings)
        rows.append(
            (
                system.name,
                None if score is None else 100 * score,
                score,
                *((spread.sd, spread.low, spread.high) if spread else (None, None, None)),
                len(scores),
                len(readings),
                judged + unjudged,
                judged,
                unjudged,
                sum(one.confused for one in readings) if judged else None,
            )
        )
    return Table(
        "scores",
        "BooookScore (table 2)",
        "The mean over summaries of the share of their judged sentences that do not confuse (equation 1): as"
        " BooookScore from 0 to 100, as score from 0 to 1. The other figures from 0 to 1 are the standard deviation of"
        f" that mean over {RESAMPLES:,} resamples of the summaries (appendix G), and the interval that holds 95 % of"
        " these.",
        _basis(outcome.systems),
        (
            *("system", "BooookScore", "score", "sd", "95% from", "95% to"),
            *("summaries", "of", "sentences", "judged", "unjudged", "confused"),
        ),
        tuple(rows),
    )


def _basis(systems: Sequence[System]) -> str:
    scored = sum(one.score is not None for system in systems for one in system.readings.values())
    whole = sum(len(system.readings) for system in systems)
    failed = sum(one.failure is not None for system in systems for one in system.readings.values())
    failures = f" {failed} failed, wholly or in part;" if any(system.run for system in systems) else ""
    open_ = sum(one.unjudged for system in systems for one in system.readings.values())
    judged = f"{open_:,} sentences were not judged, and count for nothing" if open_ else "every sentence was judged"
    return f"Rests on {scored} of {whole} items, one summary before one system each;{failures} {judged}."


def _type_table(outcome: CoherenceOutcome) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for system in outcome.systems:
        said = [one for reading in system.readings.values() for one in reading.said]
        types = _types(said, whole=True) if said else {}
        rows += [(system.name, kind, number, 100 * number / len(said)) for kind, number in types.items()]
    return Table(
        "types",
        "Types of confusion (table 1 and figure 4)",
        "In how many sentences each occurs, and in how many of 100 that were judged. A sentence may have several.",
        _basis(outcome.systems),
        ("system", "type", "sentences", "% of sentences"),
        tuple(rows),
    )


def _types(said: Sequence[Verdict], *, whole: bool) -> dict[str, int]:
    """How many sentences have each type; the paper's types also where none has them, if all are wanted."""
    confusing = [one for one in said if one.confusing]
    found: Counter[str] = Counter(kind for one in confusing for kind in one.types)
    found[_OTHER] = sum(bool(one.unknown) for one in confusing)
    found[UNTYPED] = sum(not one.types and not one.unknown for one in confusing)
    kinds = (*ERROR_TYPES, _OTHER, UNTYPED)
    return {kind: found[kind] for kind in kinds if found[kind] or (whole and kind in ERROR_TYPES)}


def _length_table(outcome: CoherenceOutcome) -> Table:
    known = [one for one in outcome.summaries if one.sentences]
    repeats = mean([one.repeated_trigrams for one in known])
    counted = "estimated, and rather too many" if outcome.tokenizer == ESTIMATE else "the paper's"
    return Table(
        "lengths",
        "Lengths and repetition (table 2)",
        "Means over summaries. Of a summary's different runs of three words and marks in lower case, repeated trigrams"
        f" are the share that occurs more than once. Tokens are counted by {outcome.tokenizer}: {counted}.",
        f"Rests on {len(known)} of {len(outcome.summaries)} summaries, all that have a sentence.",
        ("summaries", "tokens", "words", "sentences", "% repeated trigrams"),
        (
            (
                len(known),
                mean([one.tokens for one in known]),
                mean([one.words for one in known]),
                mean([len(one.sentences) for one in known]),
                None if repeats is None else 100 * repeats,
            ),
        ),
    )


def _agreement_table(annotations: System, judges: Sequence[System]) -> Table:
    return Table(
        "agreement",
        "Judges beside the annotations",
        "Over the sentences that both have judged: the share of equal verdicts, and Cohen's kappa; how many of the"
        " sentences that confuse by the judge do so by the annotations (precision), and the other way round (recall).",
        _basis(judges),
        ("judge", "sentences", "equal", "kappa", "precision", "recall", "confused", "by the annotations"),
        tuple((judge.name, *_agreement(annotations, judge)) for judge in judges),
    )


def _agreement(annotations: System, judge: System) -> tuple[Cell, ...]:
    pairs = [
        (reading.verdicts[number].confusing, other.confusing)
        for key, reading in annotations.readings.items()
        for number, other in judge.readings[key].verdicts.items()
        if number in reading.verdicts
    ]
    theirs, ours = [one for one, _ in pairs], [other for _, other in pairs]
    if not pairs:
        return (0, None, None, None, None, 0, 0)
    found = of_class(ours, theirs)
    equal = equal_share(pairs)
    return (len(pairs), equal, cohens_kappa(theirs, ours), found.precision, found.recall, sum(ours), found.there)


def _aside_table(outcome: CoherenceOutcome) -> Table:
    rows: list[tuple[Cell, ...]] = []
    if empty := sum(not one.sentences for one in outcome.summaries):
        rows.append((outcome.file.name, "summaries without a sentence", "not at all: they have no score", empty))
    if annotations := outcome.annotations:
        aside = outcome.systems[0].aside
        how = "not at all: they have no score" if annotations.every else "as without confusion"
        noted = {"silent": ("summaries that the annotations list no sentence of", how), **_ASIDE}
        rows += [(annotations.name, *text, aside[key]) for key, text in noted.items() if aside.get(key)]
    return Table(
        "aside",
        "What did not fit, and how it counts",
        "Sentences are found by their words, whatever stands between these.",
        f"Rests on {len(outcome.summaries)} summaries.",
        ("file", "what", "how it counts", "number"),
        tuple(rows),
    )


def _cost_table(judges: Sequence[System]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for judge in judges:
        if used := judge.usage:
            tokens = (used.prompt_tokens, used.cached_prompt_tokens, used.completion_tokens)
            judged = sum(len(one.said) for one in judge.readings.values())
            rows.append((judge.name, judged, used.calls, used.cached, *tokens, used.cost_usd))
    return Table(
        "cost",
        "What it took",
        "Over all repetitions of the command. Answers from the cache cost nothing; where a price is not known, neither"
        " is the cost. Of the prompt tokens the provider has read some from its own cache.",
        _basis(judges),
        ("judge", "sentences", "calls", "cached", "prompt tokens", "of them cached", "reply tokens", "USD"),
        tuple(rows),
    )


def _failure_table(judges: Sequence[System]) -> Table:
    alike: dict[tuple[str, str, str], list[tuple[str, int]]] = {}
    for judge in judges:
        for key, one in judge.readings.items():
            if one.failure:
                what = (judge.name, one.failure.code, one.failure.message)
                alike.setdefault(what, []).append((key, one.unjudged))
    return Table(
        "failures",
        "What failed",
        "Repeat the command to try it again; what is done is not done again.",
        _basis(judges),
        ("judge", "code", "message", "summaries", "the first", "unjudged"),
        tuple((*what, len(some), some[0][0], sum(open_ for _, open_ in some)) for what, some in alike.items()),
    )


def _item(system: System, summary: Summary) -> dict[str, object]:
    """One summary before one system."""
    reading = system.readings[summary.id]
    texts = {one.id: one.sentence for one in summary.sentences}
    return {
        "system": system.name,
        "id": storable(summary.id),
        "status": _status(summary, reading),
        "score": reading.score,
        "sentences": len(reading.said) + reading.unjudged,
        "judged": len(reading.said),
        "unjudged": reading.unjudged,
        "confused": reading.confused,
        "types": _types(reading.said, whole=False),
        "tokens": summary.tokens,
        "words": summary.words,
        "repeated_trigrams": summary.repeated_trigrams,
        "confusing": [
            {"number": number, "sentence": texts[number], **_said(one)}
            for number, one in reading.verdicts.items()
            if one.confusing
        ],
        "failure": asdict(reading.failure) if reading.failure else None,
    }


def _said(one: Verdict) -> dict[str, object]:
    return {"types": [*one.types, *one.unknown], "questions": list(one.questions)}


def _status(summary: Summary, reading: Reading) -> str:
    if not summary.sentences:
        return "not applicable"
    if reading.said:
        return "scored"
    if reading.failure:
        return "failed"
    return "unjudged" if reading.made else "not made"
