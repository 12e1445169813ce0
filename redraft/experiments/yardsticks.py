"""What the summaries of a document are judged by: questions and key facts, the same for everything that is compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from redraft.domain import Document
from redraft.evaluators.catalog import metrics
from redraft.experiments.work import RunBatch
from redraft.runs.experiment_runner import Failure
from redraft.runs.prepare import Order
from redraft.settings import YARDSTICKS, Judging, PackPart, Settings

PART_NAMES: Mapping[PackPart, str] = {"questions": "questions", "keyfacts": "key facts"}


@dataclass(slots=True)
class Yardstick:
    """What the summaries of one document are judged by, and the runs that were made for that."""

    by: dict[str, str | None]
    """The ids of its questions and key facts, by the names of the settings that have them."""
    failures: list[Failure] = field(default_factory=list)
    runs: list[str] = field(default_factory=list)
    lacking: set[PackPart] = field(default_factory=set)


def parts_for(names: Iterable[str]) -> list[PackPart]:
    """What has to be known of a document before its summaries can be judged by some metrics."""
    wanted = {one.needs for one in metrics(tuple(names)) if one.needs}
    return [part for part in YARDSTICKS if part in wanted]


async def yardstick(
    document: Document,
    parts: Iterable[PackPart],
    judging: Judging,
    settings: Settings,
    building: Callable[[PackPart], Order],
    batch: RunBatch,
) -> Yardstick:
    """What a document's summaries are judged by: named in the judging, imported, built before, or built now."""
    store, found = batch.bench.store, Yardstick({name: getattr(judging, name) for name in YARDSTICKS.values()})
    imported = {"questions": store.packs.imported(document.id), "keyfacts": store.keyfacts.imported(document.id)}
    for part in parts:
        name, said = YARDSTICKS[part], PART_NAMES[part]
        if found.by[name] is None and (there := imported[part]) is not None:
            found.by[name] = there.id
        if found.by[name] is not None:
            continue
        made = await batch.made(said, f"{document.title}: {said}", document, settings, building(part))
        found.runs += [made.run] if made.run else []
        found.failures += [made.failure] if made.failure else []
        found.by[name] = getattr(made.result.run.judging, name) if made.result else None
        found.lacking |= set() if found.by[name] else {part}
    return found
