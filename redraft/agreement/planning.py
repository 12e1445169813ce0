"""What it comes to at most to hold judges against people, before anything is asked."""

from __future__ import annotations

from collections.abc import Mapping

from redraft.agreement.people import Dataset
from redraft.agreement.trial import Design, Way, documents_of
from redraft.domain import Document, Usage
from redraft.models.prices import PriceTable
from redraft.reports.tables import Table
from redraft.runs.forecast import forecast
from redraft.runs.opening import price_of, reasoning_reserve, resolve
from redraft.runs.preparing import prepare
from redraft.runs.staff import hire, under_settings
from redraft.settings import Limits


def plan_table(dataset: Dataset, design: Design, prices: PriceTable) -> Table:
    """The calls of each judge under each setting that is asked about anew."""
    design.sweep.check(design.metric, design.judging)
    documents = documents_of(dataset)
    rows: list[tuple[str | int | float | None, ...]] = []
    for way in design.ways:
        calls, used = _asked(dataset, way, documents)
        model = under_settings(hire(resolve(way.settings), way.judging, Limits(), None))["judge"]
        price = price_of(model, prices)
        thinking = Usage(used.prompt_tokens, used.completion_tokens + calls * reasoning_reserve(model))
        setting = ", ".join(f"{name} {value}" for name, value in way.setting)
        cost = None if price is None else price.of(thinking)
        rows.append((way.judge, setting, calls, used.prompt_tokens, used.completion_tokens, cost))
    return Table(
        "plan",
        "What it comes to at most",
        "Every item is judged once by every judge under every setting that asks otherwise; similarity and threshold ask"
        " nothing. A pack of questions and key facts are built once for each document and counted for each item:"
        " mostly it comes to less. Prices are in USD.",
        "Nothing was asked and nothing stored; what is known already costs nothing.",
        ("judge", "setting", "calls", "prompt tokens", "reply tokens", "USD"),
        tuple(rows),
    )


def _asked(dataset: Dataset, way: Way, documents: Mapping[str, Document]) -> tuple[int, Usage]:
    calls, prompt, reply = 0, 0, 0
    for item in dataset.items:
        prepared = prepare(documents[item.document], way.settings, given=item.text)
        found = forecast(prepared, way.order(item))
        calls, prompt, reply = calls + found.calls, prompt + found.prompt_tokens, reply + found.completion_tokens
    return calls, Usage(prompt, reply)
