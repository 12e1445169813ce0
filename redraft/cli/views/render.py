"""Views of results: outcome, usage and tables."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import click

from redraft.cli import hints
from redraft.cli.terminal import echo_json, prose, say, wrapped
from redraft.domain import SHORTENED, Pack, Piece, Totals, TypedQuestions, why_stopped
from redraft.evaluators.metric_info import OFFLINE_CHECK
from redraft.report.history.certificates import UNCHECKED, Certificate
from redraft.report.history.requests import count_unmet
from redraft.runs.model_names import named_in, settings_by_name
from redraft.settings import EXTRACTIVE, GIVEN_STRATEGY, DraftConfig, JudgeConfig, reads_prompts
from redraft.text.columns import columns, padded
from redraft.text.sanitizer import one_line
from redraft.text.words import count as count
from redraft.text.words import dollars, rounded, unanswered
from redraft.text.words import spaced as spaced

if TYPE_CHECKING:
    from redraft.report.history.results import ChapterResult, Result

_TITLE, _CHAPTER = 60, 50
# Kinds of runs without a draft, and what they build.
BUILDS = {"pack": "questions", "keyfacts": "key facts"}
WINNERS = {"a": "A", "b": "B", "tie": "tie", "unsure": "cannot tell"}
# Kinds of runs with an outcome other than a summary.
OTHERWISE = {**BUILDS, "compare": "verdict", "ask": "answer"}


def winner_word(winner: str | None) -> str:
    """Return the result in a few letters, for lists."""
    return "" if winner is None else "tie" if winner == "tie" else f"{WINNERS[winner]} preferred"


def show(content: object, lines: Iterable[str], *, as_json: bool) -> None:
    """Print content to stdout, as JSON or as lines for people."""
    if as_json:
        echo_json(content)
        return
    for line in lines:
        click.echo(line)


def show_list(content: object, lines: Sequence[str], empty: str, *, as_json: bool) -> None:
    """Print a list as JSON or lines; if it is empty, print `empty` to stderr."""
    if lines or as_json:
        show(content, lines, as_json=as_json)
    else:
        say(empty)


def print_outcome(result: Result, output: str | None, *, scores: bool = True, said: str = "") -> None:
    """Print to stderr the outcome, the cost, what is missing and the next step; `said` is the outcome of a run without
    a summary."""
    say("")
    line = said or (_outcome(result, output) if scores else "")
    for one in (*filter(None, [line]), _cost(result, scores), *_warnings(result, scores), *_next(result)):
        say(one)


def in_words(name: str, judging: JudgeConfig) -> str:
    """Return a judge's name, with its model if that is a different one."""
    settings = judging.models.get(name)
    return f"{name} ({settings.model})" if settings and settings.model != name else name


def drafting(result: Result) -> Iterator[str]:
    """Yield why the strategy was chosen, if the user named none, what a found settings file set, and the outcome of
    other drafts."""
    if result.settings.found:
        yield str(result.settings.found)
    if result.settings.chosen:
        yield result.settings.chosen
    yield from (candidate_result.line(len(result.candidates)) for candidate_result in result.candidates)


def roles(result: Result) -> Iterator[str]:
    """Yield the models of a run with their roles, servers and context windows."""
    run, named = result.run, named_in(result.run.judging, result.run.refinement)
    writes = run.settings.strategy != GIVEN_STRATEGY or run.refinement is not None or not named
    everybody: list[tuple[str, str, DraftConfig]] = [("writer", run.settings.model, run.settings)] if writes else []
    everybody += [(role, name, settings_by_name(name, run.settings, run.judging)) for role, name in named]
    for role, name, it in everybody:
        who = in_words(name, run.judging) if run.judging else name
        if reads_prompts(it.model):
            yield f"{role}: {who}{f' at {it.base_url}' if it.base_url else ''}, window {it.context_tokens:,} tokens"


def _outcome(result: Result, output: str | None) -> str:
    """Return the summary's length, its scores and the course of the refinement in one line."""
    parts = [_length(result)] if result.draft else []
    for metric, value in result.scores.items():
        revised = metric in result.initial_scores and result.rounds[1:]
        before = f"{_or_none(result.initial_scores[metric])} -> " if revised else ""
        goal = result.goals.get(metric)
        notes = [f"goal {goal['at_least']:g} {_standing(goal)}"] if goal else []
        notes += [OFFLINE_CHECK] if metric in result.offline_checked else []
        shown = f"{metric} {before}{_or_none(value) if before else score(value)}"
        parts.append(f"{shown} ({', '.join(notes)})" if notes else shown)
    parts += [revisions(result)] if result.rounds[1:] else []
    parts += filter(None, [count_unmet(result.requests)])
    if result.rounds or result.status not in ("done", "stopped"):
        parts.append(end_reason(result))
    line = "; ".join(parts)
    return f"{output}: {line}" if output and result.draft else line


def _length(result: Result) -> str:
    assert result.draft is not None
    first = f"the first {result.tokens:,} tokens of " if result.settings.until is not None else ""
    held = result.run.refinement is not None and not result.run.refinement.free_length
    limit = f" (limit {result.settings.words})" if held and result.settings.words else ""
    return f"{count(result.draft.words, 'word')}{limit} of {first}{one_line(result.title, _TITLE)}"


def revisions(result: Result) -> str:
    """Return the number of revisions and how many were accepted."""
    made = [bool(one.accepted) for one in result.rounds[1:]]
    if len(made) == 1:
        return f"1 revision, {'accepted' if made[0] else 'rejected'}"
    accepted = "all" if all(made) else f"{sum(made)}" if any(made) else "none"
    return f"{len(made)} revisions, {accepted} accepted"


def _cost(result: Result, scores: bool) -> str:
    """Return the models of a run and its usage in one line."""
    judging, model, kind = result.run.judging, result.settings.model, result.run.kind
    writes = kind in ("summarize", "refine", "ask")
    parts = [f"run {result.run.id}", *([_named(model)] if writes else [])]
    if judging:
        names = [_named(in_words(judge, judging), "the ") for judge in judging.judges or (model,)]
        who = "itself" if writes and not judging.judges else ", ".join(names)
        behind = [
            f"{metric} {certificate.agreement.value:.2f}"
            for metric, certificate in result.certificates.items()
            if certificate.agreement
        ]
        checked = f"agreement with people: {', '.join(behind)}" if behind else UNCHECKED
        certified = f" ({checked})" if scores and result.certificates else ""
        parts.append(f"{'asked' if kind in BUILDS else 'judged by'} {who}{certified}")
    return " · ".join([*parts, usage(result.usage)])


def _named(model: str, article: str = "") -> str:
    return f"{article}built-in model" if model == EXTRACTIVE else model


def _warnings(result: Result, scores: bool) -> Iterator[str]:
    """Yield what became of requests, and what went wrong or is missing."""
    yield from (outcome.said for outcome in result.requests)
    if result.oddities:
        yield f"unexpected in replies: {one_line(result.oddities[0], 330)}{_more(result.oddities)}"
    if flawed := len(result.flawed):
        # Each flaw was reported when the text was written.
        see = "" if result.unstored else f": see `{hints.run_command('show', result.run.id, '--pieces')}`"
        yield f"{count(flawed, 'partial summary')} with a flaw{see}"
    if result.gaps:
        chunks = ", ".join(str(gap.chunk + 1) for gap in result.gaps)
        yield f"left out: {result.unit} {chunks} of {result.chunks}"
    if result.run.status == "done" and result.lost:
        yield f"no usable revision in round {', '.join(map(str, result.lost))}"
    for metric, reason in result.unscored.items() if scores else ():
        yield f"no {metric} score: {one_line(reason, 300)}"
    if result.run.status == "done" and result.unsure:
        yield f"undecided: {' and '.join(result.unsure)}"
    elif result.run.status == "done" and result.unjudged and scores:
        items = " and ".join(f"{count(number, 'item')} of {metric}" for metric, number in result.unjudged.items())
        yield f"without a verdict: {items}"
    for what in dict.fromkeys(map(tuple, result.missing.values())):
        metrics = " and ".join(metric for metric, found in result.missing.items() if tuple(found) == what)
        yield f"{metrics} could not use everything: {one_line(what[0], 200)}{_more(what)}"
    cut = result.draft is not None and (result.run.status == "stopped" or result.draft.node == SHORTENED)
    for note in result.draft.notes if result.draft and cut else ():
        yield f"note: {note}"


def _more(those: Sequence[str]) -> str:
    return f" (and {len(those) - 1:,} more)" if len(those) > 1 else ""


def _next(result: Result) -> Iterator[str]:
    """Yield the most useful next step."""
    run, error = result.run, result.run.error or {}
    if result.unstored:
        return
    if run.status == "stopped" and error.get("hint"):
        yield f"{error['hint']}: {hints.resume_hint(run.id, run.limits, error.get('message', ''))}"
    elif run.status != "done" and result.status != "running":
        yield f"Resume: {hints.resume_hint(run.id, run.limits, error.get('message', ''))}"
    elif result.may_gain:
        yield f"Try again: {hints.run_command('resume', run.id)}"
    elif result.unsure or result.unjudged:
        other = "a language model" if result.judges == [EXTRACTIVE] else "another model"
        yield f"Repeat the command with {other} as --judge. Details: {hints.run_command('trace', run.id)}"
    elif run.judging and result.draft:
        yield f"Details: {hints.run_command('trace', run.id)}"
    elif result.settings.model == EXTRACTIVE:
        yield "No language model was used. See `redraft models`."


def certificate_lines(behind: Mapping[str, Certificate]) -> Iterator[str]:
    """Yield who judged, by what, and the agreement with people; metrics with the same certificate share an entry."""
    same: dict[str, list[str]] = {}
    for metric, certificate in behind.items():
        same.setdefault(certificate.line(brief=True), []).append(metric)
    for line, metrics in same.items():
        yield from wrapped(line, f"{' and '.join(metrics)} judged by: ", "  ")


def score_lines(
    scores: Mapping[str, float | None],
    before: Mapping[str, float | None],
    goals: Mapping[str, Mapping[str, object]],
    offline_checked: Collection[str] = (),
) -> list[str]:
    """Return a line per metric: the score, the earlier score if known, whether it is an offline check, and the goal."""
    lines = []
    width = max((len(metric) for metric in scores), default=0)
    for metric, value in scores.items():
        line = f"{metric:<{width}}  "
        line += f"{_or_none(before[metric])} -> {_or_none(value)}" if metric in before else score(value)
        line += f"  {OFFLINE_CHECK}" if metric in offline_checked else ""
        if goal := goals.get(metric):
            line += f"  goal {goal['at_least']:g}: {_standing(goal)}"
        lines.append(line)
    return lines


def _standing(goal: Mapping[str, object]) -> str:
    """Return whether a goal is met; if that is unsure, the share of items with a verdict."""
    if goal["met"] is not None:
        return "met" if goal["met"] else "missed"
    share = goal["judged_share"]
    return f"unsure, {share:.0%} of its items have a verdict" if isinstance(share, float) else "unsure"


def score(value: float | None) -> str:
    """Return a score, or a dash for None. It is rounded down so that it never seems to meet a missed goal."""
    return "-" if value is None else rounded(value)


def _or_none(value: float | None) -> str:
    """Return a score, or "none", because a dash next to an arrow would be unclear."""
    return "none" if value is None else score(value)


def scores(values: Mapping[str, float | None], *, offline_check: bool = False) -> str:
    """Return scores in a few letters, for lists."""
    told = " ".join(f"{metric[:3]} {score(value)}" for metric, value in values.items())
    return f"{told} {OFFLINE_CHECK}" if told and offline_check else told


def end_reason(result: Result) -> str:
    """Return why a run ended, or its status if it has not, or else the round that is shown."""
    if result.round_shown:
        return result.round_shown
    error = one_line((result.run.error or {}).get("message", ""), 200)
    return why_stopped(result.status, result.run.stop_reason, error)


def origin(pack: Pack | TypedQuestions) -> str:
    """Return the origin of a pack."""
    return f"{'imported, ' if pack.imported else ''}by {one_line(pack.model, 40)}"


def usage(totals: Totals) -> str:
    """Return a run's usage in one line."""
    parts = [count(totals.calls, "call")]
    if totals.cached:
        parts.append(f"{totals.cached:,} cached")
    parts.append(f"{totals.prompt_tokens:,} tokens in, {totals.completion_tokens:,} out")
    if totals.cost_usd != 0:
        parts.append("cost unknown" if totals.cost_usd is None else dollars(totals.cost_usd))
    parts += unanswered_calls(totals)
    parts.append(f"{totals.seconds:.1f} s")
    return " · ".join(parts)


def unanswered_calls(totals: Totals) -> Iterator[str]:
    """Yield the unanswered calls, and the amount spent over the limit."""
    yield from unanswered(totals.lost, totals.lost_usd, totals.lost_tokens)
    if totals.over_usd:
        yield overspend(totals.over_usd)


def overspend(usd: float) -> str:
    """Return the amount spent over the limit, and why."""
    return f"{dollars(usd)} over --max-cost, because replies were longer than requested"


def aligned(rows: Sequence[Sequence[str]], *, right: bool = False) -> list[str]:
    """Return rows in aligned columns; with `right`, all but the first column are right-aligned."""
    widths = [max(map(columns, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = enumerate(zip(row, widths, strict=True))
        lines.append("  ".join(padded(*cell, right=right and at > 0) for at, cell in cells).rstrip())
    return lines


def piece_text(piece: Piece) -> str:
    """Return a partial summary with its position."""
    first, last = piece.first_chunk + 1, piece.last_chunk + 1
    chunks = f"chunk {first}" if first == last else f"chunks {first}-{last}"
    flaw = f", not valid: {piece.flaw}" if piece.flaw else ""
    head = f"[level {piece.level}, {chunks}: {piece.words} words, {piece.limit} asked for{flaw}]"
    return f"{head}\n{prose(piece.text)}\n"


def chapter_lines(result: Result) -> Iterator[str]:
    """Yield a line per chapter: the length of its summary, its scores and its run."""
    if result.chapters:
        what = "document" if result.outline.members else "chapter"
        yield f"{count(len(result.chapters), what)}, each with a run of its own:"
        yield from (f"  {line}" for line in aligned([_row(chapter) for chapter in result.chapters]))


def _row(one: ChapterResult) -> list[str]:
    result = one.result
    words = count(result.draft.words, "word") if result and result.draft else ""
    said = "" if result is None else words if words and result.status == "done" else result.status
    page = f"{'pages' if '-' in one.pages else 'page'} {one.pages}" if one.pages else ""
    missed = "goals missed" if result and not all(goal["met"] for goal in result.goals.values()) else ""
    told = scores(result.scores, offline_check=bool(result.offline_checked)) if result else ""
    judged = " ".join(part for part in (told, missed) if part)
    return [result.run.id if result else "-", said or "not begun", judged, page, one_line(one.title, _CHAPTER)]
