"""The tables of the coherence experiment: scores, types, lengths, agreement, cost, exclusions and failures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from statistics import fmean

from redraft.domain import record_json
from redraft.evaluators.booookscore import UNTYPED
from redraft.evaluators.consensus import RESAMPLES, SEED
from redraft.evaluators.reference.keyfacts import ALL
from redraft.evaluators.similarity import rouge_l
from redraft.lab.agreement.annotations import Annotations, ConfusionVerdict
from redraft.lab.agreement.measures import class_scores, cohens_kappa, correlate, percent_agreement, spread_of_mean
from redraft.lab.experiments.booookscore.experiment import (
    BOOOOKSCORE,
    CoherenceItem,
    CoherenceOutcome,
    ConfusingSentence,
    Summary,
    System,
    SystemJudgment,
    judge_summaries,
)
from redraft.lab.experiments.legacy import AGAIN, ENDS, Experiment, Row, table
from redraft.prompts.coherence import ERROR_TYPES
from redraft.report.tables import Table, figure, mean, plain, unmarked
from redraft.store.connection import storable
from redraft.text.tokens import ESTIMATE

_OTHER = "another type"
_MAX_SYSTEMS = 8
_ASIDE = {
    "silent": "summaries for which the annotations list no sentence",
    "textless": "annotated summaries that are not in the file of summaries",
    "elsewhere": "annotated sentences that begin or end differently from ours",
    "lost": "annotated sentences that are not in the summary",
    "undecided": "entries that call a sentence both confusing and not confusing, which count as not judged",
    "unknown": "types that the paper does not define",
    "unclear": "sentences that may be marked: the words occur in others too",
}
"""What did not match between annotations and summaries."""


def _basis(systems: Sequence[System]) -> str:
    readings = [judgment for system in systems for judgment in system.readings.values()]
    scored, failed = (
        sum(judgment.score is not None for judgment in readings),
        sum(judgment.failure is not None for judgment in readings),
    )
    failures = f" {failed} failed completely or partly;" if any(system.run for system in systems) else ""
    open_ = sum(judgment.unjudged for judgment in readings)
    said = f"{open_:,} sentences were not judged and do not count" if open_ else "every sentence was judged"
    return f"Based on {scored} of {len(readings)} items (one summary and one system each);{failures} {said}."


def _on_systems(outcome: CoherenceOutcome) -> str:
    return _basis(outcome.systems)


def _on_judges(outcome: CoherenceOutcome) -> str:
    return _basis(outcome.judges)


def _scores(system: System) -> list[float]:
    return [score for judgment in system.readings.values() if (score := judgment.score) is not None]


def _unjudged(system: System) -> int:
    return sum(judgment.unjudged for judgment in system.readings.values())


@table(
    "scores",
    "BooookScore (table 2)",
    "Mean over summaries of the share of judged sentences that are not confusing (equation 1): BooookScore on a scale"
    " of 0 to 100, score of 0 to 1. Where people marked spans, the sentences of a span are one sentence, and so is a"
    " pair of spans (footnote 12). The other figures (0 to 1) are the standard deviation of that mean over"
    f" {RESAMPLES:,} resamples of the summaries (appendix G), and the interval that contains 95% of them.",
    ("system", "BooookScore", "score", "sd", *ENDS, "summaries", "of", "sentences", "judged", "unjudged", "confused"),
    _on_systems,
)
def score_table(outcome: CoherenceOutcome) -> Iterator[Row]:
    for system in outcome.systems:
        scores, readings, unjudged = _scores(system), list(system.readings.values()), _unjudged(system)
        score, spread = mean(scores), spread_of_mean(scores)
        done = sum(len(judgment.said) for judgment in readings)
        confused = sum(judgment.confused for judgment in readings) if done else None
        between = (spread.sd, spread.low, spread.high) if spread else (None, None, None)
        counts = (len(scores), len(readings), done + unjudged, done, unjudged, confused)
        yield (system.name, _percent(score), score, *between, *counts)


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


@table(
    "types",
    "Types of confusion (table 1 and figure 4)",
    "In how many sentences each type occurs, and in how many of 100 judged sentences. A sentence may have several"
    " types. Where people marked spans: how many marks have it, for 100 sentences.",
    ("system", "type", "sentences", "% of sentences"),
    _on_systems,
)
def type_table(outcome: CoherenceOutcome) -> Iterator[Row]:
    for system in outcome.systems:
        readings = system.readings.values()
        verdicts = [verdict for reading in readings for verdict in (reading.marks or reading.said)]
        whole = sum(reading.sentences or len(reading.said) for reading in readings)
        for kind, number in _types(verdicts, whole=True).items() if verdicts else ():
            yield (system.name, kind, number, 100 * number / whole)


def _types(said: Sequence[ConfusionVerdict], *, whole: bool) -> dict[str, int]:
    """Return the number of sentences of each type; with `whole`, also the paper's types that none has."""
    confusing = [verdict for verdict in said if verdict.confusing]
    found: Counter[str] = Counter(kind for verdict in confusing for kind in verdict.types)
    found[_OTHER] = sum(bool(verdict.unknown) for verdict in confusing)
    found[UNTYPED] = sum(not verdict.types and not verdict.unknown for verdict in confusing)
    kinds = (*ERROR_TYPES, _OTHER, UNTYPED)
    return {kind: found[kind] for kind in kinds if found[kind] or (whole and kind in ERROR_TYPES)}


def _judgeable(outcome: CoherenceOutcome) -> list[Summary]:
    return [summary for summary in outcome.summaries if summary.sentences]


def _how_long(outcome: CoherenceOutcome) -> str:
    counted = "an estimate, slightly too high" if outcome.tokenizer == ESTIMATE else "the paper's"
    return (
        "Means over summaries. Repeated trigrams: the share of a summary's distinct sequences of three words or"
        f" marks, in lower case, that occur more than once. Tokens are counted by {outcome.tokenizer}: {counted}."
    )


@table(
    "lengths",
    "Lengths and repetition (table 2)",
    _how_long,
    ("summaries", "tokens", "words", "sentences", "% repeated trigrams"),
    lambda it: f"Based on {len(_judgeable(it))} of {len(it.summaries)} summaries, all that contain a sentence.",
)
def length_table(outcome: CoherenceOutcome) -> Iterator[Row]:
    summaries = _judgeable(outcome)
    lengths = [(summary.tokens, summary.words, len(summary.sentences)) for summary in summaries]
    means = [mean([length[at] for length in lengths]) for at in range(3)]
    yield (len(summaries), *means, _percent(mean([summary.repeated_trigrams for summary in summaries])))


_PARTS = 5


@table(
    "by_length",
    "BooookScore by length (figure 3)",
    f"The summaries of each system in {_PARTS} parts of equal size, from the shortest to the longest, and all of them"
    " with Pearson's and Kendall's (tau-b) correlation between length in tokens and score.",
    ("system", "part", "summaries", "tokens", "score", *ENDS, "Pearson", "tau"),
    _on_systems,
)
def by_length_table(outcome: CoherenceOutcome) -> Iterator[Row]:
    for system in outcome.systems:
        pairs = sorted(
            (summary.tokens, score)
            for summary in outcome.summaries
            if (score := system.readings[summary.id].score) is not None
        )
        if len(pairs) < 2 * _PARTS:
            continue
        ends = [len(pairs) * part // _PARTS for part in range(_PARTS + 1)]
        for part, (start, end) in enumerate(pairwise(ends), 1):
            yield (system.name, part, *_part(pairs[start:end]), None, None)
        lengths, scores = [float(one) for one, _ in pairs], [score for _, score in pairs]
        both = correlate(lengths, scores, [str(n) for n in range(len(pairs))])
        yield (system.name, ALL, *_part(pairs), both.pearson, both.tau)


def _part(pairs: Sequence[tuple[int, float]]) -> Row:
    scores = [score for _, score in pairs]
    spread = spread_of_mean(scores)
    between = (spread.low, spread.high) if spread else (None, None)
    return (len(pairs), mean([tokens for tokens, _ in pairs]), mean(scores), *between)


@table(
    "references",
    "ROUGE-L against references (table 5)",
    "ROUGE-L F1 of a summary's and a reference's stems, times 100: the mean over summaries of the mean over their"
    " references, and of the best of them.",
    ("summaries", "references", "ROUGE-L", "of the best reference"),
    lambda it: f"Based on {len(_compared(it))} of {len(it.summaries)} summaries, all that have text and a reference.",
)
def reference_table(outcome: CoherenceOutcome) -> Iterator[Row]:
    compared = _compared(outcome)
    found = [[rouge_l(summary.text, other) for other in others] for summary, others in compared]
    figures = [_percent(mean([value(each) for each in found])) for value in (fmean, max)]
    yield (len(compared), sum(len(others) for _, others in compared), *figures)


def _compared(outcome: CoherenceOutcome) -> list[tuple[Summary, Sequence[str]]]:
    known = outcome.references or {}
    return [(summary, known[summary.id]) for summary in _judgeable(outcome) if known.get(summary.id)]


@table(
    "agreement",
    "Judges compared with the annotations",
    "Over the sentences judged by both: the share of equal verdicts and Cohen's kappa; the share of sentences"
    " confusing to the judge that are confusing by the (first) annotations too (precision), and the reverse (recall).",
    ("judge", "sentences", "equal", "kappa", "precision", "recall", "confused", "by the annotations"),
    lambda it: _basis(it.systems[1:]),
)
def agreement_table(outcome: CoherenceOutcome) -> Iterator[Row]:
    for judge in outcome.systems[1:]:
        pairs = [
            (reading.verdicts[number].confusing, other.confusing)
            for key, reading in outcome.systems[0].readings.items()
            for number, other in judge.readings[key].verdicts.items()
            if number in reading.verdicts
        ]
        if not pairs:
            yield (judge.name, 0, None, None, None, None, 0, 0)
            continue
        theirs, ours = [one for one, _ in pairs], [other for _, other in pairs]
        scores, kappa = class_scores(ours, theirs), cohens_kappa(theirs, ours)
        counts = (scores.precision, scores.recall, sum(ours), scores.there)
        yield (judge.name, len(pairs), percent_agreement(pairs), kappa, *counts)


@table(
    "cost",
    "Cost",
    "Over all repetitions of the command. Cached answers cost nothing; where a price is unknown, so is the cost."
    " Some of the prompt tokens were read from the provider's own cache.",
    ("judge", "sentences", "calls", "cached", "prompt tokens", "of them cached", "reply tokens", "USD"),
    _on_judges,
)
def cost_table(outcome: CoherenceOutcome) -> Iterator[Row]:
    for judge in outcome.judges:
        if totals := judge.usage:
            tokens = (totals.prompt_tokens, totals.cached_prompt_tokens, totals.completion_tokens)
            done = sum(len(judgment.said) for judgment in judge.readings.values())
            yield (judge.name, done, totals.calls, totals.cached, *tokens, totals.cost_usd)


@table("failures", "What failed", AGAIN, ("judge", "code", "message", "summaries", "the first", "unjudged"), _on_judges)
def failure_table(outcome: CoherenceOutcome) -> Iterator[Row]:
    alike: dict[tuple[str, str, str], list[tuple[str, int]]] = {}
    for judge in outcome.judges:
        for key, judgment in judge.readings.items():
            if judgment.failure:
                what = (judge.name, judgment.failure.code, judgment.failure.message)
                alike.setdefault(what, []).append((key, judgment.unjudged))
    for what, some in alike.items():
        yield (*what, len(some), some[0][0], sum(open_ for _, open_ in some))


def _tables(outcome: CoherenceOutcome) -> Iterator[Table]:
    """Yield the tables, without those that must be empty for this outcome."""
    yield score_table(outcome)
    yield type_table(outcome)
    yield length_table(outcome)
    if outcome.references is not None:
        yield reference_table(outcome)
    by_length = by_length_table(outcome)
    yield from (by_length,) if by_length.rows else ()
    if outcome.annotations and len(outcome.systems) > 1:
        yield agreement_table(outcome)
    if outcome.judges:
        yield cost_table(outcome)
        yield failure_table(outcome)


def _settings(outcome: CoherenceOutcome) -> Mapping[str, object]:
    annotations = outcome.annotations
    return {
        "summaries": outcome.file.name,
        "annotations": annotations.name if annotations else None,
        "format": _format(annotations) if annotations else None,
        "beside": [one.name for one in outcome.beside],
        "references": outcome.references is not None,
        "judges": list(outcome.design.judges),
        "certificates": [record_json(judge.certificate) for judge in outcome.judges if judge.certificate],
        "batch": outcome.design.batch if outcome.judges else None,
        "tokenizer": outcome.tokenizer,
        "resamples": RESAMPLES,
        "seed": SEED,
    }


def _about(outcome: CoherenceOutcome) -> Iterator[str]:
    summaries, judges = outcome.summaries, outcome.judges
    sentences = sum(len(summary.sentences) for summary in summaries)
    yield f"summaries: {len(summaries)} of {plain(outcome.file.name)}, with {sentences:,} sentences"
    for known, system in zip(outcome.annotated, outcome.systems, strict=False):
        yield f"annotations: {plain(known.name)}, which lists {_format(known)}"
        yield from (f"{_ASIDE[key]}: {number}" for key, number in system.aside.items() if number)
    if judges:
        batch = outcome.design.batch
        at_once = "one sentence" if batch == 1 else f"{batch} sentences"
        yield f"judges: {', '.join(plain(judge.name) for judge in judges)}; {at_once} at once"
    yield from (f"judged by {unmarked(judge.certificate.line())}" for judge in judges if judge.certificate)


def _headline(outcome: CoherenceOutcome, _: Sequence[Table]) -> Iterator[str]:
    for system in outcome.systems[:_MAX_SYSTEMS]:
        scores, left = _scores(system), _unjudged(system)
        spread = spread_of_mean(scores)
        between = f" (95% from {100 * spread.low:.1f} to {100 * spread.high:.1f})" if spread else ""
        yield (
            f"{plain(system.name)}: BooookScore {figure(_percent(mean(scores)))}{between}, over {len(scores)} of"
            f" {len(system.readings)} summaries{f'; {left:,} sentences were not judged' if left else ''}"
        )
    if (more := len(outcome.systems) - _MAX_SYSTEMS) > 0:
        yield f"and {more} more"


def _format(annotations: Annotations) -> str:
    if annotations.marked:
        return "what people marked"
    return "every sentence" if annotations.every else "the confusing sentences"


def _item(system: System, summary: Summary) -> CoherenceItem:
    reading = system.readings[summary.id]
    texts = {statement.id: statement.sentence for statement in summary.sentences}
    return CoherenceItem(
        system=system.name,
        run=system.run,
        id=storable(summary.id),
        status=_status(summary, reading),
        score=reading.score,
        sentences=len(reading.said) + reading.unjudged,
        judged=len(reading.said),
        unjudged=reading.unjudged,
        confused=reading.confused,
        types=_types(reading.marks or reading.said, whole=False),
        tokens=summary.tokens,
        words=summary.words,
        repeated_trigrams=summary.repeated_trigrams,
        confusing=tuple(
            ConfusingSentence(number, texts[number], (*verdict.types, *verdict.unknown), tuple(verdict.questions))
            for number, verdict in reading.verdicts.items()
            if verdict.confusing
        ),
        failure=reading.failure,
    )


def _status(summary: Summary, reading: SystemJudgment) -> str:
    if not summary.sentences:
        return "not applicable"
    if reading.said:
        return "scored"
    if reading.failure:
        return "failed"
    return "unjudged" if reading.made else "not made"


EXPERIMENT: Experiment[CoherenceOutcome, CoherenceOutcome] = Experiment(
    BOOOOKSCORE,
    "BooookScore: how confusing summaries are",
    run=lambda _, measured, runner: judge_summaries(measured, runner),
    is_some=lambda outcome: any(judgment.said for judge in outcome.judges for judgment in judge.readings.values()),
    about=_about,
    settings=_settings,
    tables=_tables,
    items=lambda outcome: [_item(system, one) for system in outcome.systems for one in outcome.summaries],
    headline=_headline,
)
"""The experiment; its design is a measured file of summaries, with its annotations if any."""
