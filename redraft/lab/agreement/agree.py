"""The comparison of judges with people: sweeps over settings, and every item of the sets judged by every judge."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal, InvalidOperation
from itertools import product
from math import prod
from typing import Annotated

from pydantic import Field

from redraft.batches.request import sampled_plan
from redraft.domain import Document
from redraft.errors import UsageError
from redraft.evaluators.consistency import Consistency, similarity
from redraft.evaluators.coverage import Coverage
from redraft.evaluators.metric_info import MIN_SHARE
from redraft.evaluators.statistics import mean
from redraft.lab.agreement import report
from redraft.lab.agreement.people import Dataset, HumanItem
from redraft.lab.agreement.report import CAPTIONS, READ, SIMILARITY, AgreeItem, RatedSet, Setting
from redraft.lab.declared import Row, declared, make_table
from redraft.lab.doctor.controls import judged_entries, verdicts_on
from redraft.lab.experiments.experiment import Experiment, NamedFrame
from redraft.lab.experiments.orders import PublicJudging, PublicSettings
from redraft.lab.experiments.runner import JUDGING, Cell, RunBatch, RunOutcome, check_work
from redraft.llm.budget import PriceTable
from redraft.order import Evaluate, OrderParts
from redraft.readers.documents import parse
from redraft.report.tables import Table, figure, number, plain
from redraft.runs.dry_run import RunPlan, StageUsage
from redraft.runs.experiment_runner import ExperimentRunner, Failure
from redraft.runs.models import assign_models, resolve, with_addresses
from redraft.runs.prepare import prepare
from redraft.settings import DraftConfig, JudgeConfig
from redraft.text.languages import language_context
from redraft.text.vectors import Encoder, load_encoder

ASKED = ("questions", "claims", "top_k", "stretch_tokens", "second_look", "batch", "repeat", "perspective")
"""Settings that change the requests to the judge; no request is made twice."""
_IDLE: Mapping[str, tuple[str, ...]] = {Coverage.name: (*READ, "claims"), Consistency.name: ("questions",)}
"""What makes no difference to a metric, and is not swept for it where there are several."""
_BY_JUDGE = "judge"
_MAX, _MAX_LINES = 200, 6
Sweep = Mapping[str, tuple[str, ...]]
"""The values of each setting, in the order given."""


def combined(sweep: Sweep, names: Sequence[str]) -> list[Setting]:
    """Return all combinations of these settings, as far as they are swept; one empty one if none is."""
    swept = [name for name in sweep if name in names]
    return [tuple(zip(swept, row, strict=True)) for row in product(*(sweep[name] for name in swept))]


def swept_judging(sweep: Sweep, base: JudgeConfig, setting: Setting) -> JudgeConfig:
    """Return the judge configuration of a combination, for all its readings; raise if one is not possible. The judge is
    asked for likeness if a reading needs it."""
    for changes in [*((*setting, *reading) for reading in combined(sweep, READ)), setting]:
        try:
            config = JudgeConfig.model_validate(base.model_dump() | dict(changes))
        except ValueError as error:
            written = ", ".join(f"{name}={value}" for name, value in changes)
            raise UsageError(f"--sweep: {written} is not possible", hint=str(error).splitlines()[-2].strip()) from error
    if not any(name in sweep for name in READ):
        return config
    by_judge = _BY_JUDGE in sweep.get(SIMILARITY, (base.similarity,))
    return config.model_copy(update={SIMILARITY: _BY_JUDGE if by_judge else base.similarity, "second_look": False})


def parse_sweep(words: Iterable[str]) -> Sweep:
    """Parse a sweep, such as `similarity=exact,rouge1` or `threshold=0.2:0.7:0.1` (from, to, step)."""
    values: dict[str, tuple[str, ...]] = {}
    for word in words:
        name, _, listed = word.partition("=")
        name = name.strip().replace("-", "_")
        if name not in (*READ, *ASKED):
            raise UsageError(f"--sweep: {name!r} cannot be swept", hint=f"choose from {', '.join((*READ, *ASKED))}")
        if name in values:
            raise UsageError(f"--sweep: {name} is given twice", hint="give all its values at once, with commas")
        swept = [value for part in listed.split(",") for value in _values(word, part.strip()) if value]
        if not swept:
            raise UsageError(f"--sweep: {word!r} has no values", hint="write NAME=VALUE,VALUE or NAME=FROM:TO:STEP")
        values[name] = tuple(dict.fromkeys(swept))
    if prod(map(len, values.values())) > _MAX:
        raise UsageError(f"--sweep: that is more than {_MAX} combinations", hint="leave some values out")
    return values


def _values(word: str, part: str) -> Iterable[str]:
    if ":" not in part:
        return [part]
    try:
        first, last, step = map(Decimal, part.split(":"))
    except (ValueError, InvalidOperation):
        raise UsageError(f"--sweep: {word!r} is not a range", hint="write FROM:TO:STEP, as in 0.2:0.7:0.1") from None
    if not (first <= last and step > 0 and (last - first) / step < _MAX):
        raise UsageError(f"--sweep: {word!r} has no end", hint="write FROM:TO:STEP, as in 0.2:0.7:0.1")
    return [str(first + n * step) for n in range(int((last - first) / step) + 1)]


def rescored(item: AgreeItem, reading: Setting, judging: JudgeConfig, encoder: Encoder | None) -> AgreeItem:
    """Return an item by the same answers under another similarity or threshold (LongSumEval, algorithm 1)."""
    if not reading:
        return item
    item, evaluation = replace(item, setting=(*item.setting, *reading)), item.evaluation
    if evaluation is None or not isinstance(evaluation.details.get("claims"), list):
        return item
    # Its values were checked with the sweep.
    config = judging.model_copy(update=dict(reading))
    threshold, likeness = float(config.threshold), similarity(config.similarity, encoder)
    by_judge, claims = config.similarity == _BY_JUDGE, judged_entries(evaluation, "claims")
    points = [claim["likeness"] if by_judge else likeness(claim["found"], claim["expected"]) for claim in claims]
    is_enough = len(points) >= MIN_SHARE * (evaluation.judged + evaluation.unjudged)
    score = mean([like if like > threshold else 0.0 for like in points]) if is_enough else None
    return replace(item, evaluation=replace(evaluation, score=score))


Judging = tuple[Setting, JudgeConfig, list[Setting]]
"""What needs requests of its own: a setting, its configuration with one judge and one metric, and how the answers are
read."""


@dataclass(frozen=True, slots=True)
class AgreeCell(Cell):
    """A document of a set, whose title is the key: its items are judged in sequence, so that a request that two of
    them share is only made by the first."""

    rated: Sequence[tuple[int, HumanItem]]
    """Its items, and their places in the set."""
    judgings: Sequence[Judging]


@dataclass(frozen=True, slots=True)
class AgreeDesign(Experiment[AgreeCell, AgreeItem]):
    """Judges compared with people on sets of summaries that people rated."""

    name = "agree"
    title = "Agreement with people"
    item = "one summary, by one judge under one setting"
    has_lists = False
    sets: Annotated[Mapping[str, Dataset], Field(exclude=True)]
    """The sets by their titles."""
    metrics: tuple[str, ...]
    judges: tuple[str, ...]
    human: str = ""
    """The field of the human judgments in the only set, of which all tables are made. Without it there is an overview
    of all sets by the metrics that their people's figures measure."""
    settings: PublicSettings = field(default_factory=DraftConfig)
    judging: PublicJudging = field(default_factory=JudgeConfig)
    sweep: Sweep = field(default_factory=dict)

    def taking_part(self) -> Mapping[str, Sequence[str]]:
        """Return the names of the judges."""
        return {"judged by": self.judges}

    @property
    def run_settings(self) -> DraftConfig:
        """The settings of a run that judges a given text."""
        return self.settings.model_copy(update={"strategy": "given"})

    @property
    def comparisons(self) -> list[RatedSet]:
        """What is compared: each set by each metric that its people's figures measure."""
        comparisons = [
            RatedSet(title, dataset, metric, self.human or dataset.field(metric, None))
            for title, dataset in self.sets.items()
            for metric in self.metrics
            if self.human or dataset.measured(metric)
        ]
        if not comparisons:
            message = f"no file has people's figures on {' or '.join(self.metrics)}"
            raise UsageError(message, hint="name another --metric, or other files")
        return comparisons

    def judgings(self, metric: str) -> list[Judging]:
        """Return every combination that needs new requests: each judge under each setting. Raise for a sweep that is
        not possible, that makes no difference, or that conflicts with other settings."""
        idle = () if self.human else _IDLE.get(metric, ())
        sweep = {name: values for name, values in self.sweep.items() if name not in idle}
        if any(name in sweep for name in READ):
            if metric != Consistency.name:
                raise UsageError(f"--sweep: neither similarity nor threshold makes a difference to {metric}")
            if self.judging.repeat > 1 or "repeat" in sweep or "second_look" in sweep:
                raise UsageError("--sweep: similarity and threshold are swept over the first answers of one judging")
        judgings = []
        for judge in self.judges:
            base = self.judging.model_copy(update={"metrics": (metric,), "judges": (judge,)})
            for setting in combined(sweep, ASKED):
                parts = OrderParts(settings=self.run_settings, judging=swept_judging(sweep, base, setting))
                judgings.append((setting, with_addresses(parts).judging, combined(sweep, READ)))
        return judgings

    async def cells(self, _: Sequence[Document], runner: ExperimentRunner) -> list[AgreeCell]:
        """Return the documents of all sets."""
        cells, comparisons = list[AgreeCell](), self.comparisons
        judgings = {metric: self.judgings(metric) for metric in dict.fromkeys(pair.metric for pair in comparisons)}
        check_work(runner, *((self.run_settings, config) for some in judgings.values() for _, config, _ in some))
        for title, dataset in self.sets.items():
            rated: dict[str, list[tuple[int, HumanItem]]] = {}
            for at, item in enumerate(dataset.items):
                rated.setdefault(item.document, []).append((at, item))
            own = [judging for pair in comparisons if pair.set == title for judging in judgings[pair.metric]]
            documents = await asyncio.to_thread(dataset_documents, dataset)
            cells += [AgreeCell(documents[name], items, own, key=title) for name, items in rated.items() if own]
        return cells

    async def run_cell(self, cell: AgreeCell, batch: RunBatch) -> tuple[AgreeCell, list[AgreeItem]]:
        """Have every item of a document judged under every setting. Items with the same text are judged once."""
        batch.of += len(cell.judgings) * len({item.text for _, item in cell.rated})
        encoder = load_encoder(self.judging.embeddings) if self.judging.embeddings else None
        items: list[AgreeItem] = []
        for setting, config, readings in cell.judgings:
            (metric,), (judge,), runs = config.metrics, config.judges, dict[str, RunOutcome]()
            for at, person in cell.rated:
                if person.text not in runs:
                    order = Evaluate(judging=config, given=person.text, experiment=self.name)
                    run = (JUDGING, JUDGING, cell.document, self.run_settings, order, f"{person.id} by {judge}")
                    runs[person.text] = await batch.run(*run)
                head = (person.document, cell.document.title, cell.key, metric, at, person)
                item = runs[person.text].recorded(AgreeItem(*head, judge, setting), JUDGING)
                if (result := runs[person.text].result) is not None:
                    evaluation = result.evaluations[metric]
                    is_lost = evaluation.outcome == "failed" and not evaluation.judged and not evaluation.unjudged
                    failure = Failure(JUDGING, "judging", evaluation.reason) if is_lost else None
                    sentences = verdicts_on(evaluation, person.sentences)
                    item = replace(item, evaluation=evaluation, sentences=sentences, failure=failure)
                with language_context(cell.document):
                    items += [rescored(item, reading, config, encoder) for reading in readings]
        return cell, items

    def frames(self, items: Sequence[AgreeItem], _cells: Sequence[AgreeCell]) -> Iterator[NamedFrame]:
        """Yield the tables of the only comparison, or the overview."""
        pairs = [(pair, (pair.set, pair.metric)) for pair in self.comparisons]
        compared = [(pair, [item for item in items if (item.set, item.metric) == key]) for pair, key in pairs]
        yield from report.comparison_frames(*compared[0]) if self.human else report.overview_frames(compared)

    def captions(self, _cells: Sequence[AgreeCell]) -> Mapping[str, object]:
        """Return what people were asked, and what the baselines are called."""
        best = next(iter(self.sets.values())).fields.get(self.human)
        return {**CAPTIONS, "human": self.human, "best": best}

    def notes(self, _items: Sequence[AgreeItem], _cells: Sequence[AgreeCell]) -> Iterator[str]:
        """Return what is compared, and how much of it could be read."""
        for title, dataset, metric, human in self.comparisons:
            size, documents = len(dataset.items), len({item.document for item in dataset.items})
            yield f"{plain(title)}: {metric} beside people's {plain(human)}, {size} items of {documents} documents"
        for title, dataset in self.sets.items():
            if dataset.troubles:
                yield f"entries of {plain(title)} that could not be read: {len(dataset.troubles)}"

    def headline(self, _items: Sequence[AgreeItem], tables: Mapping[str, Table]) -> Iterator[str]:
        """Return how far the first judges agree with people."""
        for row in tables["agreement"].records[:_MAX_LINES] if self.human else ():
            tau, low, high = (figure(number(row[name])) for name in ("tau-b", "95% from", "95% to"))
            span = f"[{low}, {high}] over {row['summaries']} of {row['of']} summaries"
            yield f"{plain(str(row['judge']))}: tau-b {tau} {span}"

    def plan(self, _documents: Sequence[Document], prices: PriceTable) -> Table:
        """Return the calls of each judge under each setting that needs new requests. Dry runs of items of different
        sizes stand for all others."""
        rows: list[Row] = []
        columns = declared("tables")["agree"]["plan"]["columns"]
        for title, dataset, metric, _ in self.comparisons:
            documents = dataset_documents(dataset)
            for setting, config, _ in self.judgings(metric):
                plans: dict[tuple[object, ...], RunPlan] = {}
                sums = [0.0, 0.0, 0.0]
                for item in dataset.items:
                    prepared = prepare(documents[item.document], self.run_settings, given=item.text)
                    order = Evaluate(judging=config, given=item.text, experiment=self.name)
                    like, share = sampled_plan(prepared, order, plans)
                    sizes = (like.calls, like.prompt_tokens, like.completion_tokens)
                    sums = [total + share * size for total, size in zip(sums, sizes, strict=True)]
                calls, prompt, reply = map(round, sums)
                parts = OrderParts(settings=resolve(self.run_settings), judging=config)
                roles = {role.role: role for role in reversed(assign_models(parts, prices))}
                judge = roles.get("judge", roles["writer"])
                step = StageUsage("", calls, prompt, reply, settings=judge.settings, price=judge.price)
                head = (*(() if self.human else (title, metric)), *config.judges, ", ".join(map(" ".join, setting)))
                rows.append((*head, calls, prompt, reply, step.cost(step.reasoning_tokens)))
        basis = "No model was called and nothing was stored; cached answers cost nothing."
        return make_table("agree", "plan", basis, rows, columns=columns if self.human else ("set", "metric", *columns))


def dataset_documents(dataset: Dataset) -> dict[str, Document]:
    """Return the documents by the names that the items use."""
    texts = {item.document: item.source for item in reversed(dataset.items)}
    return {name: parse(text.encode(), name=f"{name}.txt") for name, text in texts.items()}
