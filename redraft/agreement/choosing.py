"""Which items of a file are judged, and which of people's figures they are held against."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from redraft.agreement.formats.catalog import FORMATS
from redraft.agreement.formats.format import Format
from redraft.agreement.people import Dataset
from redraft.errors import UsageError

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
