"""The LongSumEval experiment: what refining by questions and answers gains, by subset (table III), round and order."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Annotated, Any

import pandas as pd
from pydantic import Field, PlainSerializer

from redraft.domain import Document, computed
from redraft.errors import Set, UsageError
from redraft.evaluators.catalog import check_goals, metrics
from redraft.lab.experiments import frames
from redraft.lab.experiments.experiment import MAX_LINES, Experiment, NamedFrame
from redraft.lab.experiments.frames import Frame
from redraft.lab.experiments.grid import GridSummary, draft_summary
from redraft.lab.experiments.orders import Asked, LongSumEvalOrder, NamedModel, PublicJudging, Seats
from redraft.lab.experiments.runner import DRAFTING, Cell, Item, RunBatch, Used, check_work
from redraft.lab.experiments.sources import ExistingSummaries, read_existing_summaries
from redraft.order import Refine
from redraft.report.history.results import Result
from redraft.report.tables import Table, figure, number, plain
from redraft.runs.experiment_runner import ExperimentRunner
from redraft.settings import RefineConfig
from redraft.store.store import Store
from redraft.text.words import count_words

REFINING, ALL = "refining", "all"


_LABEL = "{0.system}: refining by {0.writer} to {0.thresholds}, {0.way.policy}, {0.way.feedback}"
_IN_ITEMS = PlainSerializer(lambda way: {"goals": way.goals, "policy": way.policy, "feedback": way.feedback})


@dataclass(frozen=True, slots=True)
class BestScores:
    """The scores of the best draft after a round."""

    round: int
    scores: Mapping[str, float | None]
    revised: bool = False
    """True if this round made a revision."""
    accepted: bool = False


@dataclass(frozen=True, slots=True)
class RefinedSummary(Item, label=_LABEL, by="{0.writer}", made="rounds"):
    """One summary refined in one way, or why it was not."""

    system: str
    """The system that wrote the first draft."""
    number: int
    writer: str
    """The model that refines it."""
    way: Annotated[RefineConfig, _IN_ITEMS]
    """The thresholds to reach, the order, and the feedback that the reviser gets."""
    rounds: tuple[BestScores, ...] = ()
    """The best drafts from the first on; empty if it is not done."""
    stop: str | None = None
    words: tuple[int, int] | None = None
    """The words of the first and the last draft."""
    taken: Used | None = None

    @property
    def thresholds(self) -> str:
        """The thresholds as a line of text."""
        return ", ".join(f"{metric} {goal:g}" for metric, goal in self.way.goals.items())

    @computed
    def revisions(self) -> int:
        """The number of revisions."""
        return sum(scores.revised for scores in self.rounds)

    def score(self, metric: str, after: int | None = None) -> float | None:
        """Return the score after a round or at the end; a round after the last has the final score."""
        scores = [best.scores for best in self.rounds if after is None or best.round <= after]
        return scores[-1].get(metric) if scores else None

    def meets(self, after: int | None = None) -> bool | None:
        """Return True if all goals are met; None if a score is missing."""
        scores = [(self.score(metric, after), goal) for metric, goal in self.way.goals.items()]
        met = [None if score is None else score >= goal for score, goal in scores]
        return None if None in met else all(met)


class LongSumEvalDesign(LongSumEvalOrder, Seats, Experiment[Cell, RefinedSummary]):
    """Every writer refines every summary in every way, from the same first draft."""

    name = "longsumeval"
    title = "LongSumEval: refining by questions and answers"
    item = "one draft refined in one way each"
    judging: PublicJudging
    """The judging of summaries, with the judge by name."""
    ready: ExistingSummaries = Field(default={}, exclude=True)
    strangers: int = Field(default=0, exclude=True)
    """The number of existing summaries of documents outside the experiment."""

    @classmethod
    def asked(cls, request: Asked) -> LongSumEvalDesign:
        """Return the design that was asked for; the first drafts are the models' own, or those of `summaries`."""
        if not request.writers:
            raise UsageError("there is no model to refine with", fix=("name one with ", Set("model")))
        ready, strangers = read_existing_summaries(request.values.get("summaries", ()), request.documents)
        fields = {**request.fields(LongSumEvalOrder), "ready": ready, "strangers": strangers}
        design = cls(writers=request.writers, judges=(request.judge,), judging=request.judging(), **fields)
        check_goals(design.metrics, metrics(design.metrics))
        return design

    @property
    def ways(self) -> list[RefineConfig]:
        """Every combination of thresholds, order and feedback."""
        shared: dict[str, Any] = {} if self.rounds is None else {"rounds": self.rounds}
        shared["free_length"] = self.free_length
        return [
            RefineConfig(goals=goals, policy=policy, feedback=feedback, **shared)
            for goals in self.thresholds
            for policy in self.orders
            for feedback in self.feedbacks or (RefineConfig(goals={}, policy=policy).feedback_name,)
        ]

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics by which summaries are scored, however they are refined."""
        return tuple(dict.fromkeys(metric for goals in self.thresholds for metric in goals))

    async def cells(self, documents: Sequence[Document], runner: ExperimentRunner) -> list[Cell]:
        """Return the documents. Raise if a name or a price is unknown, before anything is paid for."""
        writers = [(self.keyed(writer.settings), self.judging) for writer in self.writers]
        check_work(runner, *writers, (self.judge_settings(), None))
        return list(map(Cell, documents))

    async def run_cell(self, cell: Cell, batch: RunBatch) -> tuple[Cell, list[RefinedSummary]]:
        """Refine all drafts of a document, in turn, since refinements start from the same drafts."""
        document = cell.document
        judging = self.judging.model_copy(update={"judges": (), "models": {}, "base_url": None})
        cell = await batch.judging_pack(cell, self.metrics, judging, self)
        items = []
        for writer in self.writers:
            drafts = [
                GridSummary(document.id, document.title, system, number, text, writer.settings.words)
                for system, texts in self.ready.items()
                for number, text in enumerate(texts.get(document.id, ()), 1)
            ]
            if not self.ready:
                settings = self.keyed(writer.settings)
                drafts = [await draft_summary(document, writer.name, settings, self.name, batch)]
            for draft in drafts:
                runs = {f"{DRAFTING} {draft.system}": run for run in draft.runs.values()}
                cell = replace(cell, runs={**runs, **cell.runs})
                items += [await self.refine_draft(cell, draft, writer, way, batch) for way in self.ways]
        return cell, items

    def frames(self, items: Sequence[RefinedSummary], _cells: Sequence[Cell]) -> Iterator[NamedFrame]:
        """Yield the tables; ways to refine are compared where there are several."""
        frame = refined_frame(items, self.metrics)
        yield "gains", gain_frame(frame, self)
        yield "rounds", round_frame(frame.loc[[bool(item.rounds) for item in frame["summary"]]])
        yield "thresholds", threshold_frame(frame, self.metrics)
        if len(self.ways) > len(self.thresholds):
            yield "orders", order_frame(frame, self.metrics)

    def notes(self, items: Sequence[RefinedSummary], _cells: Sequence[Cell]) -> Iterator[str]:
        """Return who wrote what was refined, and what was left out."""
        yield f"first drafts by: {'; '.join(map(plain, dict.fromkeys(item.system for item in items)))}"
        if self.strangers:
            yield f"ready-made summaries of documents that are not part of the experiment: {self.strangers}"

    def headline(self, _items: Sequence[RefinedSummary], tables: Mapping[str, Table]) -> Iterator[str]:
        """Return the gains over all summaries."""
        for record in [record for record in tables["gains"].records if record["subset"] == ALL][:MAX_LINES]:
            first, last, gain = (figure(number(record[name]), 2) for name in ("initial", "refined", "change %"))
            who = f"{plain(str(record['drafts by']))}, {record['thresholds']}, {record['order']}, {record['feedback']}"
            yield f"{who}: {record['metric']} {first} → {last} ({gain}%)"

    async def refine_draft(
        self, cell: Cell, draft: GridSummary, writer: NamedModel, way: RefineConfig, batch: RunBatch
    ) -> RefinedSummary:
        """Return a draft that a writer has refined in one way, or why it was not."""
        document, runner = cell.document, batch.runner
        of_draft = (document.id, document.title, draft.system, draft.number)
        summary = RefinedSummary(*of_draft, writer.name, way, failure=draft.failure)
        if draft.text is None:
            return summary
        batch.of += 1
        settings = self.keyed(writer.settings).model_copy(update={"strategy": "given", "words": draft.limit})
        judging = self.judging.model_copy(update={"metrics": self.metrics, **cell.ids})
        order = Refine(judging=judging, refinement=way, given=draft.text, experiment=self.name)
        step = summary.label.removeprefix(f"{draft.system}: ")
        outcome = await batch.run(REFINING, step, document, settings, order, summary.label)
        summary = outcome.recorded(summary, REFINING)
        if (result := outcome.result) is None:
            return summary
        scores = await asyncio.to_thread(best_scores, runner.store, result)
        totals = await batch.usage([result.run.id])
        lengths = (count_words(draft.text), count_words(result.summary or ""))
        return replace(summary, rounds=tuple(scores), stop=result.run.stop_reason, words=lengths, taken=totals)


def best_scores(store: Store, result: Result) -> list[BestScores]:
    """Return the scores after each round; a rejected revision leaves them as they were."""
    rounds: list[BestScores] = []
    assert result.run.judging is not None
    names = result.run.judging.metrics
    for refinement_round in result.rounds:
        number, accepted = refinement_round.number, bool(refinement_round.accepted)
        scores = dict(rounds[-1].scores) if rounds else {}
        if number == 0 or accepted:
            evaluations = store.judgments.of(refinement_round.draft)
            scores = {name: evaluations[name].score if name in evaluations else None for name in names}
        rounds.append(BestScores(number, scores, number > 0, accepted and number > 0))
    return rounds


_HEAD = ("drafts by", "refined by", "thresholds", "order", "feedback")


def refined_frame(items: Sequence[RefinedSummary], metrics: Sequence[str]) -> Frame:
    """Return a row for each refinement and metric: the first and the last score, and the summary itself."""
    rows = []
    for item, metric in product(items, metrics):
        row: dict[str, object] = {"document": item.document, "drafts by": item.system, "number": item.number}
        row |= {"refined by": item.writer, "thresholds": item.thresholds, "order": item.way.policy}
        row |= {"feedback": item.way.feedback, "metric": metric, "summary": item}
        rows.append({**row, "initial": item.score(metric, 0), "refined": item.score(metric)})
    return frames.frame_of(rows, (*_HEAD, "document", "number", "metric", "summary", "initial", "refined"))


def _both(frame: Frame, first: str, last: str) -> Frame:
    """Return the rows that have two scores, with the gain from the first to the last."""
    scored_rows = frame[frame[first].notna() & frame[last].notna()]
    return scored_rows.assign(gain=scored_rows[last] - scored_rows[first])


def gain_frame(refined: Frame, design: LongSumEvalDesign) -> Frame:
    """Return the gain of each way, over all drafts and over those with a low first score (table III)."""

    def rows_of(frame: Frame) -> Iterator[dict[str, object]]:
        subsets = {ALL: frame}
        for metric, goal in design.thresholds[0].items():
            firsts = frame["summary"].map(lambda item, metric=metric: item.score(metric, 0))
            subsets[f"{metric} < {goal:g}"] = frame[pd.to_numeric(firsts) < goal]
        for (subset, chosen), metric in product(subsets.items(), design.metrics):
            of_metric = chosen[chosen["metric"] == metric]
            gains = frames.figures("longsumeval", "gains", _both(of_metric, "initial", "refined"))
            yield {"subset": subset, "metric": metric, **gains, "of": len(of_metric)}

    return frames.by_group(refined, _HEAD, rows_of)


def round_frame(refined: Frame) -> Frame:
    """Return the mean scores of the best drafts after each round; a finished summary keeps its scores."""

    def rows_of(of_metric: Frame) -> Iterator[dict[str, object]]:
        metric, summaries = of_metric["metric"].iloc[0], list(of_metric["summary"])
        before: float | None = None
        for after in range(1 + max(best.round for item in summaries for best in item.rounds)):
            scores = pd.Series([item.score(metric, after) for item in summaries], index=of_metric.index, dtype=object)
            both = _both(of_metric.assign(score=scores), "initial", "score")
            score = frames.mean_of(both["score"])
            in_round = [best for item in summaries for best in item.rounds if best.round == after]
            gains, scored = (list(frames.document_means(both, name).values()) for name in ("gain", "score"))
            yield {
                "round": after,
                "score": frames.mean_of(scored),
                **frames.ends(scored),
                "gain": frames.mean_of(gains),
                **dict(zip(("gain from", "gain to"), frames.ends(gains).values(), strict=True)),
                "step": None if score is None or before is None else score - before,
                "revised": sum(best.revised for best in in_round),
                "taken": sum(best.accepted for best in in_round),
                "meet all": sum(item.meets(after) is True for item in summaries),
                "summaries": len(both),
                "of": len(of_metric),
            }
            before = score

    return frames.by_group(refined, (*_HEAD, "metric"), rows_of)


def threshold_frame(refined: Frame, metrics: Sequence[str]) -> Frame:
    """Return how many drafts meet all thresholds before and after each way, and what that takes."""

    def rows_of(frame: Frame) -> Iterator[dict[str, object]]:
        summaries = list(frame.drop_duplicates(["number", "document"])["summary"])
        done, both = [item for item in summaries if item.rounds], _both(frame, "initial", "refined")
        gains = {metric: frames.document_means(both[both["metric"] == metric], "gain") for metric in metrics}
        met, cost = [item.meets() for item in done], frames.spent_each(item.taken for item in done)
        yield {
            **{f"gain in {metric}": frames.mean_of(means.values()) for metric, means in gains.items()},
            "met at first": sum(item.meets(0) is True for item in done),
            "met at last": met.count(True),
            "open": met.count(None),
            "revisions": frames.mean_of(item.revisions for item in done),
            "words gained": frames.mean_of(item.words[1] - item.words[0] for item in done if item.words),
            "calls": frames.mean_of(item.taken.calls for item in done if item.taken),
            "tokens": cost["tokens each"],
            "USD": cost["USD each"],
            "summaries": len(done),
            "of": len(summaries),
        }

    return frames.by_group(refined, _HEAD, rows_of)


def order_frame(refined: Frame, metrics: Sequence[str]) -> Frame:
    """Return the differences between ways to refine the same drafts to the same thresholds."""

    def rows_of(of_drafts: Frame) -> Iterator[dict[str, object]]:
        for sides, merged in frames.pairs(of_drafts, "way", ["document", "number", *_HEAD[:2], "metric"]):
            for metric in metrics:
                of_metric = merged[merged["metric"] == metric]
                both = _both(of_metric, "refined of second", "refined")
                yield {**sides, "metric": metric, **frames.figures("longsumeval", "orders", both), "of": len(of_metric)}

    return frames.by_group(refined.assign(way=refined["order"] + ", " + refined["feedback"]), _HEAD[:3], rows_of)


EXPERIMENT = LongSumEvalDesign
