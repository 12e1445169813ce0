"""The stored settings of a batch, opening a batch, and its estimated cost."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from math import log
from typing import Annotated, Any

from pydantic import PlainSerializer, TypeAdapter
from pydantic.dataclasses import dataclass as record

from redraft.batches.queue import Batch, Batches, BatchItemRow
from redraft.batches.sources import add_items, documents_in
from redraft.domain import DEFERRED, Document, content_id, record_json
from redraft.errors import RedraftError, UsageError
from redraft.graphs.prepared import PreparedDocument
from redraft.llm.budget import PriceTable
from redraft.order import Order, order_of_draft
from redraft.readers.documents import load
from redraft.readers.parts import Selection
from redraft.report.tables import Cell, Table
from redraft.runs.dry_run import Estimate, PlannedCalls, RunPlan, plan_run, total_cost
from redraft.runs.model_settings import OwnPlaces
from redraft.runs.models import known_window
from redraft.runs.order import SessionOrder
from redraft.runs.prepare import prepare_run
from redraft.settings import DraftConfig, JudgeConfig, Limits, RefineConfig
from redraft.store.store import Store
from redraft.text.words import count_words

BATCH = "batch"
"""The experiment name under which the runs of a batch are stored."""
_NAME_LENGTH = 8


@record(frozen=True, slots=True, config=DEFERRED)
class BatchRequest:
    """How each document is read, summarized, judged and refined."""

    settings: Annotated[DraftConfig, PlainSerializer(lambda config: config.model_dump(mode="json", exclude_unset=True))]
    """Unset ones are not stored, but determined for each run."""
    judging: JudgeConfig | None = None
    refinement: RefineConfig | None = None
    reading: Selection = field(default_factory=Selection)

    @property
    def order(self) -> Order:
        """Return what each run is to do."""
        return order_of_draft(self.judging, self.refinement, settings=self.settings, experiment=BATCH)

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> BatchRequest:
        """Return stored settings."""
        return TypeAdapter(cls).validate_python(stored)


def budget_key_of(batch: str) -> str:
    """Return the name of the budget that all workers of a batch share."""
    return content_id(f"{BATCH}\n{batch}")


def open_batch(
    store: Store,
    sources: Sequence[str | BatchItemRow],
    request: BatchRequest,
    limits: Limits,
    *,
    folder: str,
    name: str | None,
    left_out: Sequence[str] = (),
) -> Batch:
    """Open a batch of these documents, or open it again: what failed or was set aside is tried anew.

    `left_out` says which files could not be read, and why: it is stored beside the settings, and is none of them.
    """
    stored = record_json(request)
    if name is None:
        # The same command is the same batch.
        keys = [source if isinstance(source, str) else source.document or source.source for source in sources]
        settings = {key: value for key, value in stored["settings"].items() if key != "found"}
        name = content_id(json.dumps([{**stored, "settings": settings}, keys, folder], sort_keys=True))[:_NAME_LENGTH]
    stored |= {"left_out": list(left_out)} if left_out else {}
    batch = Batches(store).open(Batch(name, stored, limits.model_dump(mode="json"), folder))
    add_items(store, name, sources)
    return batch


def open_again(store: Store, name: str, places: OwnPlaces, limits: Limits | None = None) -> Batch:
    """Open a batch that there is, for what is left of it; what failed or was set aside is tried anew.

    It keeps what is asked of it, and its folder, if they name only `places` of the user's own. Other limits replace its
    own.
    """
    batch = Batches(store).get(name)
    request = BatchRequest.from_json(batch.asked)
    places.check(f"of batch {name}", request.order)
    return Batches(store).open(batch if limits is None else replace(batch, limits=limits.model_dump(mode="json")))


class BatchEstimate(Estimate):
    """The estimated cost of all documents of a batch."""

    documents: int
    troubles: dict[str, int]
    """Why documents cannot be read, and how many."""
    left_out: tuple[str, ...] = ()
    """The files that cannot be read, and why."""

    def table(self) -> Table:
        """Return the estimate as a table."""
        rows: list[tuple[Cell, ...]] = [
            ("documents", self.documents),
            ("words", self.words),
            ("chunks", self.chunks),
            ("calls", self.calls),
            ("prompt tokens", self.prompt_tokens),
            ("reply tokens", self.completion_tokens),
            ("reasoning tokens, at most", self.reasoning_tokens),
            ("USD, without reasoning", self.cost_usd),
            ("USD, at most", self.max_cost_usd),
        ]
        rows += [(f"cannot be read: {message}", n) for message, n in self.troubles.items()]
        return Table(
            "plan",
            "Estimated cost",
            "Estimate, if nothing is cached.",
            "No model was called and nothing was stored. Retries are not included.",
            ("what", "all documents"),
            tuple(rows),
        )


_ALIKE = 1.2
"""The largest ratio of lengths of documents of similar size."""


def sampled_plan(
    prepared: PreparedDocument,
    order: Order,
    plans: dict[tuple[object, ...], RunPlan],
    prices: PriceTable | None = None,
) -> tuple[RunPlan, float]:
    """Return the plan for a document of similar size that is drafted alike, and the ratio of this document's tokens to
    that one's. Of many documents only the first of each size is planned by a dry run; `plans` has those made so far."""
    plan = prepared.plan
    sizes = (plan.document_tokens, count_words(order.given or "") + 1)
    key = (plan.strategy, len(prepared.chapters), *(int(log(size, _ALIKE)) for size in sizes))
    if key not in plans:
        plans[key] = plan_run(prepared, order, SessionOrder(prices=prices))
    return plans[key], plan.document_tokens / plans[key].source.tokens


def estimate(sources: Sequence[str | Document], request: BatchRequest, prices: PriceTable) -> BatchEstimate:
    """Return the estimated cost of all documents, read one after the other. Of documents of similar size, one is
    planned by a dry run, and the others count in proportion to their tokens."""
    sums: dict[str, Any] = dict.fromkeys(("documents", "words", "chunks", *PlannedCalls.model_fields), 0)
    costs: list[float | None] = []
    dearest: list[float | None] = []
    plans: dict[tuple[object, ...], RunPlan] = {}
    troubles: Counter[str] = Counter()
    unpriced: dict[str, None] = {}
    for source in documents_in(sources):
        try:
            document = load(source, selection=request.reading) if isinstance(source, str) else source
            prepared, order = prepare_run(document, request.order, known_window)
            like, share = sampled_plan(prepared, order, plans, prices)
        except UsageError:
            raise
        except RedraftError as error:
            troubles[error.message] += 1
            continue
        figures = {"documents": 1, "words": prepared.plan.document_words, "chunks": prepared.plan.chunks}
        figures |= {name: round(share * getattr(like, name)) for name in PlannedCalls.model_fields}
        sums = {name: sums[name] + value for name, value in figures.items()}
        costs.append(like.cost_usd and share * like.cost_usd)
        dearest.append(like.max_cost_usd and share * like.max_cost_usd)
        unpriced |= dict.fromkeys(like.unpriced)
    sums |= {"cost_usd": total_cost(costs), "max_cost_usd": total_cost(dearest)}
    return BatchEstimate(**sums, unpriced=tuple(unpriced), troubles=dict(troubles.most_common()))
