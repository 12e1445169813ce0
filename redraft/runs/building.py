"""Building what summaries of a document are judged by: its questions, or its key facts."""

from __future__ import annotations

from redraft.events import StageStarted
from redraft.runs.floor import Floor
from redraft.store.runs import Run
from redraft.store.threads import off_loop


async def build(floor: Floor, run: Run) -> None:
    """Ask for what is not known yet; the run's judging names what it came to."""
    assert run.judging is not None
    async with floor.at_work(run.id) as job:
        jury = job.judges
        if run.kind == "pack":
            floor.observe(StageStarted("questions about the document", 0))
            built = {"pack": (await jury.completed_pack()).id}
        else:
            floor.observe(StageStarted("key facts of the document", 0))
            built = {"keyfacts": (await jury.completed_keyfacts()).id}
        await off_loop(floor.store.runs.set_judging, run.id, run.judging.model_copy(update=built))
    await floor.finish(run.id, "", "complete")
