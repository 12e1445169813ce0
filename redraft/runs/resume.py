"""Going on with a stored run: whether that may gain anything, and what is wrong with its checkpoint."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from langgraph.errors import EmptyInputError, InvalidUpdateError

from redraft.domain import KeyFacts, Pack
from redraft.errors import CheckpointError, RunCommand
from redraft.graphs.policy import undecided_metrics
from redraft.report.history.results import lost_rounds
from redraft.runs.open_runs import OpenRuns
from redraft.settings import REFERENCES
from redraft.store.checkpoints import Checkpoints, thread_of
from redraft.store.connection import off_loop
from redraft.store.runs import Run
from redraft.store.shelf import QuestionSets
from redraft.text.sanitizer import one_line

_LONGEST_REASON = 200
# What LangGraph and the nodes of a graph raise of a state that lacks something or has values of other types.
_MALFORMED = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    EmptyInputError,
    InvalidUpdateError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)


@contextmanager
def named_in_errors(run: str, checkpoints: Checkpoints) -> Iterator[None]:
    """Turn the errors of a damaged checkpoint into one that names its run and its file, and says how to go on."""
    cause: Exception
    try:
        with checkpoints.explained():
            yield
        return
    except CheckpointError as error:
        reason, cause = error.message, error
    except _MALFORMED as error:
        reason, cause = f"{type(error).__name__}: {error}", error
    raise CheckpointError(
        f"run {run} cannot continue from its checkpoint: {one_line(reason, _LONGEST_REASON)}",
        place=checkpoints.place,
        fix=(
            f"{checkpoints.remedy.format(thread=thread_of(run))}, then ",
            RunCommand("resume", run),
            ": it starts over, and no answer on record is paid for again",
        ),
    ) from cause


async def may_gain(runs: OpenRuns, run: Run) -> bool:
    """Return whether working on a finished run again may improve it: a chunk was left out, a metric or item has no
    verdict, a goal is unsure, a revision failed, its pack has become more complete, or one of its chapters may gain.
    Holes in its pack are retried first, and a run that was judged by the pack restarts only if some were filled:
    answers come from the cache, but a reviewing person is asked again."""
    gaps, failed_rounds = await off_loop(runs.store.runs.gaps.of, run.id), await off_loop(lost_rounds, runs.store, run)
    if gaps or failed_rounds:
        return True
    for chapter in await off_loop(runs.store.chapters.of, run.id):
        part = await off_loop(runs.store.runs.get, chapter.run) if chapter.run else None
        if part is None or part.status != "done" or await may_gain(runs, part):
            return True
    if run.kind in REFERENCES.values():
        key = getattr(run.judging, run.kind)
        shelf: QuestionSets[Any] = runs.store.packs if run.kind == "pack" else runs.store.keyfacts
        built: Pack | KeyFacts | None = await off_loop(shelf.get, key) if key else None
        return built is not None and bool(built.missing) and not built.imported
    evaluations = (await off_loop(runs.store.judgments.of, run.draft)).values() if run.draft and run.judging else ()
    refinement = run.refinement
    reviewed = refinement is not None and refinement.review
    if not reviewed and any(evaluation.outcome == "failed" or evaluation.unjudged for evaluation in evaluations):
        return True
    if refinement and undecided_metrics(
        {evaluation.metric: evaluation for evaluation in evaluations}, refinement.goals, refinement.judged_share
    ):
        return True

    lacking = [evaluation for evaluation in evaluations if evaluation.missing]
    if run.judging is None or not lacking:
        return False
    async with runs.visiting(run.id) as job_factory:
        reference = (await off_loop(job_factory.panel, run.judging)).reference
        for evaluation in lacking:
            is_pack = "pack" in evaluation.details
            now = await (reference.pack(complete=True) if is_pack else reference.keyfacts(complete=True))
            before = evaluation.details.get("pack", evaluation.details.get("keyfacts"))
            if (now.id, now.missing) != (before, evaluation.missing):
                return True
    return False
