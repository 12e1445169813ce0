"""The outcome of a run in lines: length, scores, cost, what is missing, and its chapters."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from redraft.domain import SHORTENED, UNANSWERED, Piece, Totals, why_stopped
from redraft.evaluators.metric_info import OFFLINE_CHECK
from redraft.report.history.results import Result, count_unmet
from redraft.report.markdown.layout import line, section, table
from redraft.settings import EXTRACTIVE, JudgeConfig
from redraft.text.places import on_pages
from redraft.text.sanitizer import one_line
from redraft.text.words import count, dollars, duration, enumeration, score, spaced, unanswered

_TITLE, _CHAPTER = 60, 50
BUILDS = {"pack": "questions", "keyfacts": "key facts"}
"""The kinds of runs without a draft, and what they build."""
OTHERWISE = {**BUILDS, "compare": "verdict", "ask": "answer"}
"""The kinds of runs with an outcome other than a summary."""
_THE_BUILT_IN = "the built-in model"


def outcome_line(result: Result, output: str | None = None) -> str:
    """Return the summary's length, its scores and the course of the refinement in one line."""
    parts, draft, is_answer = list[str](), result.draft, result.run.kind == "ask"
    if draft:
        words, title = count(draft.words, "word"), one_line(result.title, _TITLE)
        first = f"the first {result.tokens:,} tokens of " if result.settings.until is not None else ""
        limited = result.run.refinement is not None and not result.run.refinement.free_length
        limit = f" (limit {result.settings.words})" if limited and result.settings.words else ""
        length = f"{words}{limit} of {first}{title}"
        answer = f"not answered by {title}" if draft.node == UNANSWERED else f"answer of {words} from {title}"
        parts.append(answer if is_answer else length)
    before = result.initial_scores if result.rounds[1:] else {}
    items = score_items(result.scores, before, result.goals, result.offline_checked)
    parts += [item.removeprefix("- ") for item in items]
    if len(result.rounds) > 1:
        parts.append(revisions([bool(round_.accepted) for round_ in result.rounds[1:]]))
    parts += filter(None, [count_unmet(result.requests)])
    if result.rounds or result.status not in ("done", "stopped"):
        parts.append(end_reason(result))
    outcome = "; ".join(parts)
    return f"{output}: {outcome}" if output and draft else outcome


def revisions(accepted: Sequence[bool]) -> str:
    """Return the number of revisions and how many were accepted."""
    if len(accepted) == 1:
        return f"1 revision, {'accepted' if accepted[0] else 'rejected'}"
    number = "all" if accepted and all(accepted) else f"{sum(accepted)}" if any(accepted) else "none"
    return f"{len(accepted)} revisions, {number} accepted"


def cost_line(result: Result) -> str:
    """Return the models of a run and its usage in one line; no judge, if none is needed for its metrics."""
    run, model = result.run, result.settings.model
    parts = [f"run {run.id}"]
    writes = {"summarize": "written", "refine": "revised", "ask": "answered"}.get(run.kind, "")
    if writes:
        parts.append(f"{writes} by {_THE_BUILT_IN if model == EXTRACTIVE else model}")
    if run.judging and result.has_judges:
        judges = [with_model(judge, run.judging) for judge in run.judging.judges or (model,)]
        names = ", ".join(_THE_BUILT_IN if judge == EXTRACTIVE else judge for judge in judges)
        who = "the same model" if writes and not run.judging.judges else names
        parts.append(f"{'asked' if run.kind in BUILDS else 'judged by'} {who}")
    return " · ".join([*parts, usage(result.usage)])


def with_model(name: str, judging: JudgeConfig) -> str:
    """Return a judge's name, with its model if that is a different one."""
    settings = judging.models.get(name)
    return f"{name} ({settings.model})" if settings and settings.model != name else name


def warning_lines(result: Result, *, scores: bool = True) -> Iterator[str]:
    """Yield what became of requests, and what went wrong or is missing."""
    yield from (outcome.said for outcome in result.requests)
    if result.oddities:
        yield f"unexpected in replies: {_first(result.oddities, 330)}"
    if flawed := len(result.flawed):
        # Each flaw was reported when the text was written.
        see = "" if result.unstored else f": see `redraft show {result.run.id} --pieces`"
        yield f"{count(flawed, 'partial summary')} with a flaw{see}"
    if result.gaps:
        chunks = ", ".join(str(gap.chunk + 1) for gap in result.gaps)
        unit = "chapter" if result.settings.by_chapter else "chunk"
        yield f"left out: {unit} {chunks} of {result.chunks}"
    done = result.run.status == "done"
    if done and result.lost:
        yield f"no usable revision in round {', '.join(map(str, result.lost))}"
    for metric, reason in result.unscored.items() if scores else ():
        yield f"no {spaced(metric)} score: {one_line(reason, 300)}"
    if done and result.unsure:
        yield f"undecided: {enumeration(map(spaced, result.unsure))}"
    elif done and result.unjudged and scores:
        items = " and ".join(f"{count(number, 'item')} of {spaced(name)}" for name, number in result.unjudged.items())
        yield f"without a verdict: {items}"
    metrics: dict[tuple[str, ...], list[str]] = {}
    for metric, missing in result.missing.items():
        metrics.setdefault(tuple(missing), []).append(spaced(metric))
    for troubles, names in metrics.items():
        yield f"{enumeration(names)} could not use everything: {_first(troubles, 200)}"
    cut = result.draft is not None and (result.run.status == "stopped" or result.draft.node == SHORTENED)
    yield from (f"note: {note}" for note in (result.draft.notes if result.draft and cut else ()))


def _first(texts: Sequence[str], width: int) -> str:
    """Return the first of some texts on one line, and the number of the others."""
    return one_line(texts[0], width) + (f" (and {len(texts) - 1:,} more)" if len(texts) > 1 else "")


def score_items(
    scores: Mapping[str, float | None],
    before: Mapping[str, float | None],
    goals: Mapping[str, Mapping[str, object]],
    offline_checked: Collection[str] = (),
) -> Iterator[str]:
    """Yield an item per metric: the score, the earlier score if known, the goal, and whether it is an offline check."""
    for metric, value in scores.items():
        # Next to an arrow, a dash would be unclear.
        first, second = ("none" if number is None else score(number) for number in (before.get(metric), value))
        text = f"{first} -> {second}" if metric in before else score(value)
        notes = []
        if goal := goals.get(metric):
            state, share = "met" if goal["met"] else "missed", goal["judged_share"]
            if goal["met"] is None:
                state = f"unsure, {share:.0%} of its items have a verdict" if isinstance(share, float) else "unsure"
            notes.append(f"goal {goal['at_least']:g} {state}")
        notes += [OFFLINE_CHECK] if metric in offline_checked else []
        yield f"- {spaced(metric)} {text}" + (f" ({', '.join(notes)})" if notes else "")


def brief_scores(values: Mapping[str, float | None], *, offline_check: bool = False) -> str:
    """Return scores in a few letters, for lists."""
    text = " ".join(f"{metric[:3]} {score(value)}" for metric, value in values.items())
    return f"{text} {OFFLINE_CHECK}" if text and offline_check else text


def end_reason(result: Result) -> str:
    """Return why a run ended, or its status if it has not, or else the round that is shown."""
    error = one_line((result.run.error or {}).get("message", ""), 200)
    return result.round_shown or why_stopped(result.status, result.run.stop_reason, error)


def usage(totals: Totals) -> str:
    """Return a run's usage in one line."""
    parts = [count(totals.calls, "call")]
    parts += [f"{totals.cached:,} cached"] if totals.cached else []
    parts.append(f"{totals.prompt_tokens:,} tokens in, {totals.completion_tokens:,} out")
    if totals.cost_usd != 0:
        parts.append("cost unknown" if totals.cost_usd is None else dollars(totals.cost_usd))
    return " · ".join([*parts, *unanswered_calls(totals), duration(totals.seconds)])


def unanswered_calls(totals: Totals) -> list[str]:
    """Return the unanswered calls, and the amount spent over the limit."""
    over = [overspend(totals.over_usd)] if totals.over_usd else []
    return [*unanswered(totals.lost, totals.lost_usd, totals.lost_tokens), *over]


def overspend(usd: float) -> str:
    """Return the amount spent over the limit, and why."""
    return f"{dollars(usd)} over the limit, because replies were longer than requested"


def pieces_markdown(pieces: Sequence[Piece]) -> str:
    """Return the partial summaries, each under its position."""
    blocks = []
    for piece in pieces:
        first, last = piece.first_chunk + 1, piece.last_chunk + 1
        chunks = f"chunk {first}" if first == last else f"chunks {first}-{last}"
        flaw = f", not valid: {line(piece.flaw)}" if piece.flaw else ""
        text = "\n".join(line(part) for part in piece.text.split("\n"))
        head = f"level {piece.level}, {chunks}: {piece.words} words, {piece.limit} asked for{flaw}"
        blocks.append(f"### {head}\n\n{text}\n\n")
    return "".join(blocks)


def chapters_markdown(result: Result) -> str:
    """Return a row per chapter: the length of its summary, its scores and its run; empty without chapters."""
    rows = [["run", "summary", "scores", "place", "title"]]
    for chapter in result.chapters:
        part = chapter.result
        words = count(part.draft.words, "word") if part and part.draft else ""
        state = "not begun" if part is None else words if words and part.status == "done" else part.status
        scores = [brief_scores(part.scores, offline_check=bool(part.offline_checked))] if part else []
        scores += ["goals missed"] if part and not all(goal["met"] for goal in part.goals.values()) else []
        key, place = part.run.id if part else "–", on_pages(chapter.pages)
        rows.append([key, state, " ".join(filter(None, scores)), place, line(chapter.title, _CHAPTER)])
    what = "document" if result.outline.members else "chapter"
    title = f"{count(len(result.chapters), what)}, each with a run of its own"
    return section(title, filter(None, [table(rows)]))
