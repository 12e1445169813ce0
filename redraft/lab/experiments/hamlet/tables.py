"""The tables of HAMLET (4 to 8, 12 to 14, section 5.2 and appendix C), its cost, and its report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from statistics import StatisticsError, correlation
from typing import Literal

from redraft.domain import KeyFact, Perspective, Totals, Tree, record_json
from redraft.evaluators.metric_info import NONE
from redraft.evaluators.reference.keyfacts import ALL, LEVELS, ORPHANED, UNJUDGED, share
from redraft.lab.experiments.legacy import (
    AGAIN,
    Experiment,
    Row,
    average_fields,
    common_pairs,
    distinct,
    group_by,
    models_and_judge,
    more_line,
    sum_fields,
    table,
    tokens_and_price,
    where,
)
from redraft.lab.experiments.hamlet.experiment import (
    FIFTHS,
    FULL_TEXT,
    HAMLET,
    KEYFACTS,
    LEVEL_COLUMNS,
    LEVEL_KEYS,
    WHOLE,
    HamletDesign,
    HamletItem,
    HamletOutcome,
    HamletScore,
    HamletSubject,
    PooledShare,
    hamlet,
)
from redraft.lab.experiments.plan import DRAFTING, JUDGING
from redraft.lab.experiments.published import COLUMNS, SharePair, difference_cells, interval_caption
from redraft.lab.experiments.runner import by_status, failure_cells
from redraft.report.tables import Table, figure, mean, number, plain, unmarked

MODELS_MEAN, ALL_MODELS = "mean of models", "all models"
COUNTS = ("items", "of", "failed", "unjudged")
"""The columns that say what a row is based on: scored items, of how many, failures and missing verdicts."""
_CARRIED = (*LEVELS, NONE, ALL)
_EXTRINSIC, _INTRINSIC = "out_of_article", ("relation", "entity", "sentence")
_DIMENSIONS = ("faithfulness", "objectivity", "significance", ORPHANED, UNJUDGED)
_MIN_PAIRS = 3
_MAX_MODELS = 6
Metric = Literal["recall", "faithfulness"]


def _score(item: HamletItem, metric: Metric) -> HamletScore | None:
    score: HamletScore | None = getattr(item, metric)
    return score if score is not None and score.score is not None else None


@dataclass(frozen=True, slots=True)
class HamletTally:
    """Some items with their scores by one metric."""

    items: Sequence[HamletItem]
    metric: Metric

    @property
    def scores(self) -> list[HamletScore]:
        """The scores of the items that have one."""
        return [found for item in self.items if (found := _score(item, self.metric)) is not None]

    @property
    def counts(self) -> tuple[int, int, int, int]:
        """The cells of the columns `COUNTS`."""
        scores, failed = self.scores, sum(item.failure is not None for item in self.items)
        return len(scores), len(self.items), failed, sum(score.unjudged for score in scores)

    def share(self, level: str) -> PooledShare:
        """Return equation 1 or 2 over all the facts, or the sentences, of these items together."""
        shares = [score.levels[level] for score in self.scores if level in score.levels]
        return PooledShare(sum(share.part for share in shares), sum(share.whole for share in shares))

    def values(self, levels: Iterable[str]) -> list[float | None]:
        """Return the shares by level."""
        return [self.share(level).value for level in levels]

    def where(self, **wanted: object) -> HamletTally:
        """Return the items with these attributes."""
        return HamletTally(where(self.items, **wanted), self.metric)

    @property
    def perspectives(self) -> Iterator[tuple[Perspective, HamletTally]]:
        """The items of each perspective."""
        for perspective in sorted(distinct(self.items, "perspective")):
            yield perspective, self.where(perspective=perspective)

    def models(self, every: str = "") -> dict[str, HamletTally]:
        """Return the items of each model, and if there are several, those of all models under the name `every`."""
        found = {model: self.where(model=model) for model in distinct(self.items, "model")}
        return found | ({every: self} if every and len(found) > 1 else {})

    @property
    def basis(self) -> str:
        """What a table is based on, in a sentence or two."""
        scored, asked, failed, unjudged = self.counts
        nothing = sum(item.nothing for item in self.items)
        silent = sum(item.failure is None for item in self.items) - scored - nothing * (self.metric == "faithfulness")
        left = f", {silent} without a score" if silent > 0 else ""
        left += f", {nothing} answered NOTHING" if nothing else ""
        return (
            f"Based on {scored} of {asked} item{'s' * (asked != 1)}; {failed} failed{left}; {unjudged} of"
            f" {self.share(ALL).whole + unjudged} verdicts are missing."
        )


def _by_model(
    models: Mapping[str, HamletTally], values: Callable[[HamletTally], list[float | None]]
) -> dict[str, list[float | None]]:
    """Return the values of each model, and their means under the name of the models' mean."""
    found = {model: values(tally) for model, tally in models.items() if model != MODELS_MEAN}
    return found | {MODELS_MEAN: [mean(column) for column in zip(*found.values(), strict=True)]}


_recall, _faithfulness = partial(HamletTally, metric="recall"), partial(HamletTally, metric="faithfulness")


def _on_recall(items: Sequence[HamletItem]) -> str:
    return _recall(items).basis


def _on_faithfulness(items: Sequence[HamletItem]) -> str:
    return _faithfulness(items).basis


@table(
    "summaries",
    "Recall and faithfulness by summary (HAMLET, table 7)",
    "Means over summaries of their recall and faithfulness, and the mean of the two. Tokens and USD are the mean"
    " cost of drafting a summary; where a price is unknown, so is the cost. Nothing: answers that the document does"
    " not help, which have recall 0 and no sentence to verify.",
    ("model", "recall", "faithfulness", "mean", "words", "tokens each", "USD each", "for recall", "for faithfulness",
     "of", *COUNTS[2:], "nothing"),
    lambda items: f"Recall: {_on_recall(items)} Faithfulness: {_on_faithfulness(items)}",
)  # fmt: skip
def summary_table(items: Sequence[HamletItem]) -> Iterator[Row]:
    for model, hamlet_items in group_by(items, "model").items():
        tallies = (_recall(hamlet_items), _faithfulness(hamlet_items))
        scores = [mean([score.score for score in tally.scores]) for tally in tallies]
        both = mean(scores) if None not in scores else None
        taken = tokens_and_price([hamlet_item.usage.get(DRAFTING) for hamlet_item in hamlet_items])
        (recalls, _, _, open_), (verdicts, of, failed, unjudged) = (tally.counts for tally in tallies)
        words = mean([item.words for item in hamlet_items])
        nothing = sum(item.nothing for item in hamlet_items)
        yield (model, *scores, both, words, *taken, recalls, verdicts, of, failed, open_ + unjudged, nothing)


@table(
    "recall",
    "Recall by perspective, model, position and level (HAMLET, table 13)",
    "The share of key facts that the summaries state (equation 1), pooled over the facts of all summaries in a"
    " row; position is where the facts are in the document. The mean of models weights all models equally.",
    ("perspective", "model", "position", *LEVEL_COLUMNS, "facts", *COUNTS),
    _on_recall,
)
def recall_table(items: Sequence[HamletItem]) -> Iterator[Row]:
    for perspective, hamlet_tally in _recall(items).perspectives:
        models = hamlet_tally.models(MODELS_MEAN)
        for model, tally in models.items():
            for place in (*FIFTHS, ALL):
                there = {name: one.where(bin=place) for name, one in models.items()}
                values = _by_model(there, lambda some: some.values(LEVEL_KEYS))[model]
                found = tally.where(bin=place)
                yield (perspective, model, place, *values, found.share(ALL).whole, *found.counts)


@table(
    "gaps",
    "Recall gap between positions (HAMLET, table 4)",
    "Recall in the best fifth of the documents minus that in the worst, each pooled over its facts: the smaller"
    " the gap, the less the position matters. Fifths without facts do not count; with fewer than two there is no"
    " gap.",
    ("perspective", "model", *LEVEL_COLUMNS, *COUNTS),
    _on_recall,
)
def gap_table(items: Sequence[HamletItem]) -> Iterator[Row]:
    for perspective, hamlet_tally in _recall(items).perspectives:
        models = hamlet_tally.models(MODELS_MEAN)
        gaps = _by_model(models, _gaps)
        for model, tally in models.items():
            yield (perspective, model, *gaps[model], *tally.counts)


def _gaps(tally: HamletTally) -> list[float | None]:
    fifths = [tally.where(bin=fifth).values(LEVEL_KEYS) for fifth in FIFTHS]
    known = [[value for value in level if value is not None] for level in zip(*fifths, strict=True)]
    return [max(values) - min(values) if len(values) > 1 else None for values in known]


@table(
    "faithfulness",
    "Faithfulness by level of the facts in a sentence (HAMLET, table 5)",
    "The share of sentences that the chunk supports (equation 2), pooled over the sentences of all summaries in a"
    " row. A sentence with facts of several levels counts for each level; none are sentences without a key fact.",
    ("perspective", "model", *_CARRIED, "sentences", *COUNTS),
    _on_faithfulness,
)
def faithfulness_table(items: Sequence[HamletItem]) -> Iterator[Row]:
    for perspective, hamlet_tally in _faithfulness(items).perspectives:
        models = hamlet_tally.models(MODELS_MEAN)
        values = _by_model(models, lambda some: some.values(_CARRIED))
        for model, tally in models.items():
            yield (perspective, model, *values[model], tally.share(ALL).whole, *tally.counts)


@table(
    "errors",
    "Kinds of unfaithful sentences (HAMLET, tables 12 and 14)",
    "Sentences that the chunk does not support, pooled over summaries. Extrinsic: the chunk does not mention it"
    " (out of article). Intrinsic: the chunk contradicts a relation, an entity, or the whole sentence. The mean of"
    " models, as in the paper, weights all models equally; all models are pooled.",
    ("model", "error", "sentences", "of all errors", "of intrinsic errors", *COUNTS),
    _on_faithfulness,
)
def error_table(items: Sequence[HamletItem]) -> Iterator[Row]:
    for model, tally in _faithfulness(items).models(ALL_MODELS).items():
        for row in _error_rows(tally):
            yield (model, *(row if tally.scores else (row[0], None, None, None)), *tally.counts)
    models = _faithfulness(items).models()
    for rows in zip(*map(_error_rows, models.values()), strict=False) if len(models) > 1 else ():
        means = [mean([number(row[at]) for row in rows]) for at in (2, 3)]
        yield (MODELS_MEAN, rows[0][0], None, *means, *_faithfulness(items).counts)


def _error_rows(tally: HamletTally) -> Iterator[Row]:
    counts = sum((Counter(score.errors) for score in tally.scores), Counter[str]())
    every, intrinsic, extrinsic = counts.total(), sum(counts[kind] for kind in _INTRINSIC), counts[_EXTRINSIC]
    yield ("extrinsic", extrinsic, share(extrinsic, every), None)
    yield ("intrinsic", intrinsic, share(intrinsic, every), share(intrinsic, intrinsic))
    for kind in _INTRINSIC:
        yield (f"intrinsic: {kind}", counts[kind], share(counts[kind], every), share(counts[kind], intrinsic))
    if disputed := every - intrinsic - extrinsic:
        yield ("judges disagree", disputed, share(disputed, every), None)


@table(
    "length",
    "Summary length and recall (HAMLET, section 5.2)",
    "Pearson's correlation between the length of a summary in words and its recall; a summary is left out of a"
    " level at which its tree has no fact.",
    ("model", "level", "correlation", "note", "summaries", *COUNTS),
    _on_recall,
)
def length_table(items: Sequence[HamletItem]) -> Iterator[Row]:
    tally = _recall(items)
    models = tally.models()
    for name, group in {ALL_MODELS: tally, **(models if len(models) > 1 else {})}.items():
        for column, level in zip(LEVEL_COLUMNS, LEVEL_KEYS, strict=True):
            value, pairs, why = _correlation(group.items, level)
            yield (name, column, value, why, pairs, *group.counts)


def _correlation(items: Sequence[HamletItem], level: str) -> tuple[float | None, int, str]:
    """Return Pearson's coefficient and the number of summaries; without a coefficient, also the reason."""
    pairs = [
        (item.words, value)
        for item in items
        if item.recall and item.words is not None and level in item.recall.levels
        if (value := item.recall.levels[level].value) is not None
    ]
    if len(pairs) < _MIN_PAIRS:
        return None, len(pairs), f"n/a: fewer than {_MIN_PAIRS} summaries"
    lengths, recalls = zip(*pairs, strict=True)
    try:
        return correlation(lengths, recalls), len(pairs), ""
    except StatisticsError:
        same = "lengths" if len(set(lengths)) == 1 else "recalls"
        return None, len(pairs), f"n/a: all {same} are the same"


@table(
    "differences",
    "Differences between models by level (HAMLET, table 6)",
    "Recall or faithfulness of the first model minus that of the second, each pooled over the facts or sentences of the"
    f" queries for which both have a score; sentences of level none have no key fact. {interval_caption('queries')}",
    ("first", "second", "metric", "level", *COLUMNS, "queries", "documents", "drawn"),
    _on_recall,
)
def difference_table(items: Sequence[HamletItem]) -> Iterator[Row]:
    metrics: tuple[tuple[Metric, Sequence[str]], ...] = (("recall", LEVEL_KEYS), ("faithfulness", _CARRIED))
    for first, second in combinations(distinct(items, "model"), 2):
        for metric, levels in metrics:
            pairs = common_pairs(*(_by_query(where(items, model=model), metric) for model in (first, second)))
            for level in levels:
                share_pairs = [
                    SharePair(str(query[0]), _part(score, level), _part(other, level)) for query, score, other in pairs
                ]
                yield (first, second, metric, level, *difference_cells(share_pairs, "queries"))


def _by_query(items: Sequence[HamletItem], metric: Metric) -> dict[tuple[object, ...], HamletScore]:
    """Return the scores of one model, by document and query."""
    return {
        (item.document, item.chunk, item.perspective, item.query): found
        for item in items
        if (found := _score(item, metric)) is not None
    }


def _part(score: HamletScore, level: str) -> tuple[float, float]:
    pooled_share = score.levels.get(level)
    return (float(pooled_share.part), float(pooled_share.whole)) if pooled_share else (0.0, 0.0)


def _documents(subjects: Sequence[HamletSubject]) -> str:
    key_facts = [subject.keyfacts for subject in subjects if subject.keyfacts]
    failed = sum(subject.failure is not None for subject in subjects)
    unjudged = sum(_objected(fact, UNJUDGED) for facts in key_facts for tree in facts.trees for fact in tree.facts)
    missing = sum(len(facts.missing) for facts in key_facts)
    return (
        f"Based on {len(key_facts)} of {len(subjects)} document{'s' * (len(subjects) != 1)}; {failed} failed;"
        f" {unjudged} facts without a verdict; {missing} parts of trees could not be made."
    )


def _objected(fact: KeyFact, dimension: str) -> bool:
    return any(objection.dimension == dimension for objection in fact.objections)


def _trees(subjects: Iterable[HamletSubject], perspectives: Sequence[Perspective]) -> list[Tree]:
    trees = [tree for subject in subjects if subject.keyfacts for tree in subject.keyfacts.trees]
    return [tree for tree in trees if tree.perspective in perspectives]


@table(
    "sizes",
    "Documents and their trees (HAMLET, table 8)",
    "Key facts that passed validation. A document has at most one tree for each chunk and perspective; queries"
    " are the trees with a query.",
    ("document", "perspective", "tokens", "trees", "queries", *LEVELS, "facts", "unjudged"),
    lambda subjects, _: _documents(subjects),
)
def size_table(subjects: Sequence[HamletSubject], perspectives: Sequence[Perspective]) -> Iterator[Row]:
    hamlet_subjects = [subject for subject in subjects if subject.keyfacts]
    for subject in hamlet_subjects:
        for perspective in perspectives:
            yield (subject.document.title, perspective, subject.tokens, *_sizes([subject], perspective))
    for perspective in perspectives if len(hamlet_subjects) > 1 else ():
        total = (sum(subject.tokens for subject in hamlet_subjects), *_sizes(hamlet_subjects, perspective))
        yield ("total", perspective, *total)
        yield ("mean", perspective, *(number / len(hamlet_subjects) for number in total))


def _sizes(subjects: Sequence[HamletSubject], perspective: Perspective) -> tuple[int, ...]:
    trees = _trees(subjects, (perspective,))
    facts = [fact for tree in trees for fact in tree.kept]
    levels = Counter(fact.level for fact in facts)
    unjudged = sum(_objected(fact, UNJUDGED) for tree in trees for fact in tree.facts)
    queries = sum(bool(tree.query) for tree in trees)
    return (len(trees), queries, *(levels[level] for level in LEVELS), len(facts), unjudged)


@table(
    "pruning",
    "Key facts that did not pass validation (HAMLET, appendix C)",
    "Pooled over the facts of all documents. A fact may fail in several dimensions; a fact below a pruned one is"
    " orphaned, and a fact without a verdict is unjudged.",
    ("perspective", "level", "found", "pruned", "share", *_DIMENSIONS),
    lambda subjects, _: _documents(subjects),
)
def pruning_table(subjects: Sequence[HamletSubject], perspectives: Sequence[Perspective]) -> Iterator[Row]:
    groups: dict[str, Sequence[Perspective]] = {perspective: (perspective,) for perspective in perspectives}
    for name, chosen in (groups | ({"both": perspectives} if len(groups) > 1 else {})).items():
        facts = [fact for tree in _trees(subjects, chosen) for fact in tree.facts]
        for level in LEVEL_KEYS:
            key_facts = [fact for fact in facts if level in (fact.level, ALL)]
            gone = sum(not fact.kept for fact in key_facts)
            reasons = [sum(_objected(fact, dimension) for fact in key_facts) for dimension in _DIMENSIONS]
            yield (name, level, len(key_facts), gone, share(gone, len(key_facts)), *reasons)


def _cost_basis(subjects: Sequence[HamletSubject], items: Sequence[HamletItem]) -> str:
    done, failed = (sum(item.status == status for item in items) for status in ("done", "failed"))
    return f"{_documents(subjects)} Based on {done} of {len(items)} items; {failed} failed."


@table(
    "cost",
    "Cost",
    "Means per document (key facts) or per drafted and judged summary; and everything that was paid for,"
    " including failures. Cached answers cost nothing and are counted separately; where a price is unknown, so is"
    " the cost.",
    ("step", "summaries by", "done", "calls", "cached", "prompt tokens", "reply tokens", "USD", "all calls", "all USD"),
    _cost_basis,
)
def cost_table(subjects: Sequence[HamletSubject], items: Sequence[HamletItem]) -> Iterator[Row]:
    found = [subject.usage for subject in subjects if subject.keyfacts]
    yield (KEYFACTS, "", *_cost(found, [hamlet_subject.usage for hamlet_subject in subjects]))
    for stage in (DRAFTING, JUDGING):
        for model, hamlet_items in group_by(items, "model").items():
            done = [item.usage.get(stage) for item in hamlet_items if item.status == "done"]
            yield (stage, model, *_cost(done, [item.usage.get(stage) for item in hamlet_items]))
    paid = [hamlet_subject.usage for hamlet_subject in subjects] + [
        totals for item in items for totals in item.usage.values()
    ]
    yield ("total", "", None, *_cost([], paid)[1:])


def _cost(done: Sequence[Totals | None], paid: Sequence[Totals | None]) -> Row:
    return (sum(totals is not None for totals in done), *average_fields(done), *sum_fields(paid, ("calls",)))


def _failure_basis(subjects: Sequence[HamletSubject], items: Sequence[HamletItem]) -> str:
    failed, missing = (sum(item.status == status for item in items) for status in ("failed", "not made"))
    return f"{_documents(subjects)} {failed} of {len(items)} items failed; {missing} were not made."


@table(
    "failures",
    "What failed",
    AGAIN,
    ("document", "chunk", "perspective", "model", "stage", "code", "message"),
    _failure_basis,
)
def failure_table(subjects: Sequence[HamletSubject], items: Sequence[HamletItem]) -> Iterator[Row]:
    for subject in subjects:
        if subject.failure:
            yield (subject.document.title, None, None, "", *failure_cells(subject.failure))
    for item in items:
        if item.failure:
            yield (item.title, item.chunk, item.perspective, item.model, *failure_cells(item.failure))


@table(
    "judges",
    "Judges of the same summaries (HAMLET, table 3, without people)",
    "Means over the summaries that all of them have judged, by the same key facts. Full text: faithfulness against the"
    " whole document, as in FineSurE. `agree read --experiment` compares their verdicts with people's.",
    ("judge", "reference", "recall", "faithfulness", "summaries", "of"),
    lambda items, judge, names: _on_recall(items),  # noqa: ARG005  (of the table)
)
def judge_table(items: Sequence[HamletItem], judge: str, names: Sequence[str]) -> Iterator[Row]:
    everyone = [{"": (item.recall, item.faithfulness), **item.second} for item in items]
    whole = [
        one
        for one in everyone
        if all(
            name in one and all(hamlet_score and hamlet_score.score is not None for hamlet_score in one[name])
            for name in names
        )
    ]
    for name in names:
        means = [
            mean([score.score if score else None for score in column])
            for column in zip(*(one[name] for one in whole), strict=True)
        ]
        full = name.endswith(f", {FULL_TEXT}")
        who = name.removesuffix(f", {FULL_TEXT}") or judge
        yield (who, FULL_TEXT if full else "chunk", *(means or (None, None)), len(whole), len(items))


@table(
    "chunks",
    "Chunk size, down to recall and faithfulness",
    "For every size of chunks its own key facts, queries and summaries. Recall and faithfulness are pooled; the gap is"
    " the mean of models of the recall gap between fifths; all other tables are about the first size.",
    (
        "size",
        "trees",
        "facts",
        "pruned",
        *(f"recall {column}" for column in LEVEL_COLUMNS),
        "faithfulness",
        "gap",
        *COUNTS,
    ),
    lambda subjects, items, perspectives: f"{_documents(subjects)} {_on_recall(items)}",  # noqa: ARG005  (of the table)
)
def chunk_table(
    subjects: Sequence[HamletSubject], items: Sequence[HamletItem], perspectives: Sequence[Perspective]
) -> Iterator[Row]:
    for size in distinct(subjects, "size"):
        trees, hamlet_items = _trees(where(subjects, size=size), perspectives), where(items, size=size)
        facts, tally = [fact for tree in trees for fact in tree.facts], _recall(hamlet_items)
        pruned = sum(not fact.kept for fact in facts)
        gap = mean([_gaps(hamlet_tally)[-1] for hamlet_tally in tally.models().values()])
        shares = (*tally.values(LEVEL_KEYS), _faithfulness(hamlet_items).share(ALL).value)
        yield (size, len(trees), len(facts) - pruned, share(pruned, len(facts)), *shares, gap, *tally.counts)


def _tables(outcome: HamletOutcome) -> Iterator[Table]:
    design, perspectives = outcome.design, outcome.design.perspectives
    subjects = where(outcome.subjects, size=design.sizes[0])
    items = where(outcome.items, size=design.sizes[0])
    for of_items in (summary_table, recall_table, gap_table, faithfulness_table, error_table, length_table):
        yield of_items(items)
    yield cost_table(subjects, items)
    yield size_table(subjects, perspectives)
    yield pruning_table(subjects, perspectives)
    if len(design.judge_roles) > 1:
        yield judge_table(items, design.judge.name, list(design.judge_roles))
    if len(design.sizes) > 1:
        yield chunk_table(outcome.subjects, outcome.items, perspectives)
    if len(design.models) > 1:
        yield difference_table(items)
    yield failure_table(outcome.subjects, outcome.items)


def _settings(outcome: HamletOutcome) -> Mapping[str, object]:
    return {
        **record_json(outcome.design),
        "documents": [record_json(subject) for subject in outcome.subjects],
        "certificates": [record_json(certificate) for certificate in outcome.certificates],
    }


def _headline(outcome: HamletOutcome, tables: Sequence[Table]) -> Iterator[str]:
    hamlet_items = where(outcome.items, size=outcome.design.sizes[0])
    models, gaps = group_by(hamlet_items, "model"), next(one for one in tables if one.name == "gaps")
    for model, items in list(models.items())[:_MAX_MODELS]:
        by_place = [number(row[gaps.columns.index(WHOLE)]) for row in gaps.rows if row[1] == model]
        gap = max((one for one in by_place if one is not None), default=None)
        stated, borne = _recall(items).share(ALL), _faithfulness(items).share(ALL)
        yield (
            f"{plain(model)}: recall {figure(stated.value, 2)} of {stated.whole:,} key facts, faithful"
            f" {figure(borne.value, 2)} of {borne.whole:,} sentences, largest gap between fifths {figure(gap, 2)}"
        )
    yield from more_line(len(models), _MAX_MODELS, "models")
    yield _counted(outcome)


def _counted(outcome: HamletOutcome) -> str:
    return f"items: {len(outcome.items)} (queries × models): {by_status(outcome.items)}"


def _about(outcome: HamletOutcome) -> Iterator[str]:
    design, settings = outcome.design, outcome.design.models[0].settings
    yield f"models: {', '.join(plain(model.name) for model in design.models)}"
    yield f"judge: {plain(design.judge.name)}; key facts validated by {plain(design.validator or design.judge.name)}"
    yield from (
        f"{certificate.metric} is judged by {unmarked(certificate.line())}" for certificate in outcome.certificates
    )
    documents = dict.fromkeys(subject.document for subject in outcome.subjects)
    yield f"documents: {', '.join(plain(document.title) for document in documents)}"
    yield f"chunks for key facts, in tokens: {', '.join(design.sizes)}"
    limit = f"at most {settings.words} words" if settings.words else "as long as suits the document"
    yield f"summaries: {settings.strategy}, {limit}, each of the whole document and answering one query"
    yield _counted(outcome)
    if lost := len(outcome.lost):
        yield f"documents without key facts, and so without items: {lost} of {len(outcome.subjects)}"
    if gaps := sum(item.gaps > 0 for item in outcome.items):
        yield f"summaries that leave out chunks the model could not summarize: {gaps}"
    yield (
        "each row says how many items it is based on, out of how many, how many failed, and how many verdicts are"
        " missing (unjudged); – means not measured"
    )


EXPERIMENT: Experiment[HamletDesign, HamletOutcome] = Experiment(
    HAMLET,
    "HAMLET: recall and faithfulness by level, perspective and position",
    run=hamlet,
    is_some=lambda outcome: any(item.status == "done" for item in outcome.items),
    about=_about,
    settings=_settings,
    tables=_tables,
    items=lambda outcome: outcome.items,
    headline=_headline,
    who=models_and_judge,
)
