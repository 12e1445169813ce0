"""Whether a run that is done may come to more than it did: what it had to leave out is tried again."""

from __future__ import annotations

from redraft.domain import Evaluation, KeyFacts, Pack
from redraft.graphs.policy import unsure
from redraft.history.results import lost_rounds
from redraft.runs.floor import Floor
from redraft.settings import YARDSTICKS
from redraft.store.runs import Run
from redraft.store.store import Store
from redraft.store.threads import off_loop


async def may_gain(floor: Floor, run: Run) -> bool:
    """Whether to work on it again: a chunk was left out, a metric or an item of one has no verdict, a goal is unsure,
    a revision never came, what its scores rest on lacks less now, or any of this is so of a chapter.

    Of a pack with holes these are tried first. A run that was judged by it begins anew only if that has closed some:
    what has been asked before is not asked again, but a person who reviews is.
    """
    if await off_loop(floor.store.runs.gaps, run.id):
        return True
    if await off_loop(lost_rounds, floor.store, run):
        return True
    for chapter in await off_loop(floor.store.chapters.of, run.id):
        part = await off_loop(floor.store.runs.get, chapter.run) if chapter.run else None
        if part is None or part.status != "done" or await may_gain(floor, part):
            return True
    if run.kind in YARDSTICKS.values():
        built = await off_loop(_built, floor.store, run)
        return built is not None and bool(built.missing) and not built.imported
    judged = (await off_loop(floor.store.judgments.of, run.draft)).values() if run.draft and run.judging else ()
    wanted = run.refinement
    reviewed = wanted is not None and wanted.review
    if not reviewed and any(one.outcome == "failed" or one.unjudged for one in judged):
        return True
    if wanted and unsure({one.metric: one for one in judged}, wanted.goals, wanted.judged_share):
        return True
    return await _closed(floor, run, [one for one in judged if one.missing])


def _built(store: Store, run: Run) -> Pack | KeyFacts | None:
    key = getattr(run.judging, run.kind)
    shelf = store.packs if run.kind == "pack" else store.keyfacts
    return shelf.get(key) if key else None


async def _closed(floor: Floor, run: Run, lacking: list[Evaluation]) -> bool:
    """Whether a hole in what these evaluations rest on is closed now."""
    if not lacking:
        return False
    async with floor.visiting(run.id) as foreman:
        assert run.judging is not None
        jury = await off_loop(foreman.jury, run.judging)
        for one in lacking:
            now = await (jury.completed_pack() if "pack" in one.details else jury.completed_keyfacts())
            rested = (one.details.get("pack", one.details.get("keyfacts")), one.missing)
            if (now.id, now.missing) != rested:
                return True
    return False
