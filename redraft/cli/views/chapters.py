"""How runs by chapter look: a line on each chapter."""

from __future__ import annotations

from collections.abc import Iterator

from redraft.cli.views.render import aligned, count, scores
from redraft.history.results import ChapterResult, Result
from redraft.text.cleaning import one_line
from redraft.text.places import starts_of

_TITLE = 50


def lines(result: Result) -> Iterator[str]:
    """A line for each chapter: how long its summary is, how good, and which run has made it."""
    if result.chapters:
        what = "document" if starts_of(result.outline) else "chapter"
        yield f"{count(len(result.chapters), what)}, each with a run of its own:"
        yield from (f"  {line}" for line in aligned([_row(one) for one in result.chapters]))


def _row(one: ChapterResult) -> list[str]:
    done = one.result
    said = "" if done is None else done.status if done.draft is None or done.status != "done" else _words(done)
    page = f"{'pages' if '-' in one.pages else 'page'} {one.pages}" if one.pages else ""
    missed = "goals missed" if done and not all(goal["met"] for goal in done.goals.values()) else ""
    told = scores(done.scores, self_check=bool(done.self_checked)) if done else ""
    judged = " ".join(part for part in (told, missed) if part)
    return [done.run.id if done else "-", said or "not begun", judged, page, one_line(one.title, _TITLE)]


def _words(done: Result) -> str:
    return count(done.draft.words if done.draft else 0, "word")
