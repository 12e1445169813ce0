"""The beginning of a run: its document read, all that is decided before the first call, and its record."""

from __future__ import annotations

from redraft.runs.floor import Floor
from redraft.runs.loading import prepare_and_load
from redraft.runs.preparing import Order, check_judging, record
from redraft.runs.reading import Sources, document_of
from redraft.runs.staff import hire
from redraft.runs.windows import told_window, with_windows
from redraft.settings import Limits, Settings
from redraft.store.runs import Run
from redraft.store.threads import off_loop


async def put_on_record(floor: Floor, source: Sources, settings: Settings, order: Order) -> Run:
    """Record a run of an order, with whoever works on this floor; what is amiss with it is said before it is."""
    store, people, settings = floor.store, floor.people, order.settled(settings)
    document = await off_loop(document_of, store, source)
    settings, order, notes = await off_loop(with_windows, settings, order, told_window, people.objects)
    floor.note(*notes)
    writer = people.objects.get(people.model or "")
    prepared = await prepare_and_load(store, document, settings, order, writer, people.objects)
    # Whatever is amiss with how drafts are judged is said before the first one is paid for.
    await off_loop(check_judging, order, prepared, store)
    limits = floor.limits or Limits()
    asked = (prepared.settings, order.judging, limits, floor.prices)
    await off_loop(hire, *asked, refinement=order.refinement, objects=people.objects)
    run = await off_loop(record, prepared, order, limits, store)
    floor.prepared[run.id] = prepared
    return run
