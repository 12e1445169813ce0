"""Which items of a file are judged, what people's figures they are held against, and what that costs at most."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from random import Random

from redraft.domain import Document, Usage
from redraft.errors import UsageError
from redraft.lab.agreement.formats.catalog import FORMATS
from redraft.lab.agreement.formats.format import Format
from redraft.lab.agreement.people import Dataset
from redraft.lab.agreement.trial import AgreementDesign, JudgeSetting, documents_of
from redraft.llm.prices import PriceTable
from redraft.report.reports.tables import Table
from redraft.runs.forecast import forecast
from redraft.runs.model_pool import hire, under_settings
from redraft.runs.models import price_of, reasoning_reserve, resolve
from redraft.runs.prepare import prepare
from redraft.settings import Limits

_SEED = 0


def format_named(name: str) -> Format:
    """The format of this name."""
    if name not in FORMATS:
        raise UsageError(f"--format: there is no format {name!r}", hint=f"there are {', '.join(FORMATS)}")
    return FORMATS[name]


def human_field(dataset: Dataset, metric: str, named: str | None) -> str:
    """What people were asked: the field that is named, or the one that is about what the metric measures."""
    there = list(dataset.fields)
    if named is not None:
        if named not in there:
            raise UsageError(f"--human: people were not asked about {named!r}", hint=f"there are {', '.join(there)}")
        return named
    meant = [name for name, field in dataset.fields.items() if metric in field.metrics]
    if meant or len(there) == 1:
        return (meant or there)[0]
    raise UsageError(
        f"people were asked about {', '.join(there)}, and nobody can tell which of it {metric} measures",
        hint=f"say which: --human {there[0]}",
    )


def chosen(dataset: Dataset, most: int | None) -> Dataset:
    """All items, or about so many: those of documents that are drawn at random, the last of them in part."""
    if most is None or most >= len(dataset.items):
        return dataset
    documents = sorted({item.document for item in dataset.items})
    order = {name: at for at, name in enumerate(Random(_SEED).sample(documents, len(documents)))}
    kept = sorted(range(len(dataset.items)), key=lambda n: (order[dataset.items[n].document], n))[:most]
    return replace(dataset, items=tuple(dataset.items[n] for n in sorted(kept)))


def plan_table(dataset: Dataset, design: AgreementDesign, prices: PriceTable) -> Table:
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


def _asked(dataset: Dataset, way: JudgeSetting, documents: Mapping[str, Document]) -> tuple[int, Usage]:
    calls, prompt, reply = 0, 0, 0
    for item in dataset.items:
        prepared = prepare(documents[item.document], way.settings, given=item.text)
        found = forecast(prepared, way.order(item))
        calls, prompt, reply = calls + found.calls, prompt + found.prompt_tokens, reply + found.completion_tokens
    return calls, Usage(prompt, reply)
