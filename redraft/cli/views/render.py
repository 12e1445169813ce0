"""How results look: what a run came to, what it took, and tables."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import click

from redraft.cli import hints
from redraft.cli.terminal import json_text, prose, say, wrapped
from redraft.domain import STOPS, Pack, Piece, Totals
from redraft.evaluators.metric_info import SELF_CHECK
from redraft.questions import TypedQuestions
from redraft.runs.model_names import named_in, under_name
from redraft.settings import EXTRACTIVE, GIVEN_STRATEGY, DraftConfig, JudgeConfig, reads_prompts
from redraft.text.columns import columns, padded
from redraft.text.places import starts_of
from redraft.text.sanitizer import one_line
from redraft.text.words import count as count
from redraft.text.words import rounded
from redraft.text.words import spaced as spaced

if TYPE_CHECKING:
    from redraft.report.history.certificates import Certificate
    from redraft.report.history.results import ChapterResult, Result

_TITLE, _CHAPTER = 60, 50
# Runs that make no draft, and what they build instead.
BUILDS = {"pack": "questions", "keyfacts": "key facts"}
# Runs that come to something else than a summary, and to what.
OTHERWISE = {**BUILDS, "compare": "verdict", "ask": "answer"}
_GO_ON = {"killed": "it was killed", "interrupted": "it was interrupted", "waiting": "it waits for your answer"}


def echo_json(content: object) -> None:
    """Print what programs read to stdout."""
    click.echo(json_text(content))


def show(content: object, lines: Iterable[str], *, as_json: bool) -> None:
    """Print to stdout what programs read, or the lines for people."""
    if as_json:
        echo_json(content)
        return
    for line in lines:
        click.echo(line)


def show_list(content: object, lines: Sequence[str], empty: str, *, as_json: bool) -> None:
    """Print a list, as JSON or in lines; where there is none, `empty` goes to stderr."""
    if lines or as_json:
        show(content, lines, as_json=as_json)
    else:
        say(empty)


def closing(result: Result, output: str | None, *, scores: bool = True) -> None:
    """Say on stderr what was done, by whom, for how much, how good it is, and what is missing."""
    say("")
    if output and result.summary is not None:
        say(f"written to {output}")
    for line in (*_by_whom(result), *(_outcome(result) if scores else ()), *_odd(result), *_missing(result, scores)):
        say(line)


def in_words(name: str, judging: JudgeConfig) -> str:
    """Somebody who judges, with the model where that is not what they are called by."""
    own = judging.models.get(name)
    return f"{name} ({own.model})" if own and own.model != name else name


def drafting(result: Result) -> Iterator[str]:
    """Why the summary was drafted as it was, where nobody has said how, and what became of other drafts."""
    if result.settings.chosen:
        yield result.settings.chosen
    yield from (one.said(len(result.candidates)) for one in result.candidates)


def roles(result: Result) -> Iterator[str]:
    """Everybody who has worked on a run, with where they are and what they have room for."""
    run, named = result.run, named_in(result.run.judging, result.run.refinement)
    writes = run.settings.strategy != GIVEN_STRATEGY or run.refinement is not None or not named
    everybody: list[tuple[str, str, DraftConfig]] = [("writer", run.settings.model, run.settings)] if writes else []
    everybody += [(role, name, under_name(name, run.settings, run.judging)) for role, name in named]
    for role, name, it in everybody:
        who = in_words(name, run.judging) if run.judging else name
        if reads_prompts(it.model):
            yield f"{role}: {who}{f' at {it.base_url}' if it.base_url else ''}, window {it.context_tokens:,} tokens"


def _by_whom(result: Result) -> Iterator[str]:
    judging = result.run.judging
    if result.settings.model == EXTRACTIVE:
        chosen = result.run.kind in ("summarize", "ask")
        yield f"model: extractive (built in, no LLM){': every sentence is taken from the document' if chosen else ''}"
    if judging and judging.judges:
        who = ", ".join(in_words(one, judging) for one in judging.judges)
        yield f"{'asked' if result.run.kind in BUILDS else 'judged by'} {who}"
    words = result.draft.words if result.draft else 0
    what = "" if result.run.kind in BUILDS else f"{count(words, 'word')} of "
    what = "two summaries of " if result.run.kind == "compare" else what
    what += f"the first {result.tokens:,} tokens of " if result.settings.until is not None else ""
    yield f"run {result.run.id}: {what}{one_line(result.title, _TITLE)} · {usage(result.usage)}"


def _outcome(result: Result) -> Iterator[str]:
    """The scores, how they came about, and where to see more of it."""
    yield from score_lines(result.scores, result.initial_scores, result.goals, result.self_checked)
    yield from certificate_lines(result.certificates)
    if revisions := result.rounds[1:]:
        taken = sum(bool(made.accepted) for made in revisions)
        of_them = f"{taken or 'none'} of them taken" if len(revisions) > 1 else "taken" if taken else "not taken"
        yield f"{count(len(revisions), 'revision')}, {of_them}; {why_stopped(result)}"
    elif result.rounds:
        yield why_stopped(result)
    if result.run.judging and result.draft:
        yield f"more about it: {hints.about('trace', result.run.id)}"


def _odd(result: Result) -> Iterator[str]:
    if odd := result.oddities:
        more = f" (and {len(odd) - 1:,} more)" if len(odd) > 1 else ""
        yield f"odd replies: {one_line(odd[0], 200)}{more}"


def _missing(result: Result, scores: bool) -> Iterator[str]:
    if flawed := len(result.flawed):
        # Each was named when it was written.
        where = f"`{hints.about('show', result.run.id, '--pieces')}` tells of each"
        yield f"{count(flawed, 'partial summary')} kept with a flaw: {where}"
    resume = f"`{hints.about('resume', result.run.id)}`"
    if result.gaps:
        chunks = ", ".join(str(gap.chunk + 1) for gap in result.gaps)
        yield f"left out: {result.unit} {chunks} of {result.chunks}; {resume} tries again"
    if result.run.status == "done" and result.lost:
        rounds = ", ".join(map(str, result.lost))
        yield f"no revision came back in round {rounds}; {resume} tries again"
    for metric, reason in result.unscored.items() if scores else ():
        yield f"no score of {metric}: {one_line(reason, 300)}"
    if result.run.status == "done" and result.unsure:
        unsure = " and ".join(result.unsure)
        yield f"not sure of {unsure}: {resume} asks again for what has no verdict; another --judge may say more"
    elif result.run.status == "done" and result.unjudged and scores:
        items = " and ".join(f"{count(number, 'item')} of {metric}" for metric, number in result.unjudged.items())
        yield f"without a verdict: {items}; {resume} asks again"
    for what in dict.fromkeys(map(tuple, result.missing.values())):
        metrics = " and ".join(metric for metric, found in result.missing.items() if tuple(found) == what)
        more = f" (and {len(what) - 1:,} more)" if len(what) > 1 else ""
        yield f"missing in what {metrics} rests on: {one_line(what[0], 200)}{more}; {resume} tries again"
    if result.run.status == "stopped":
        for note in result.draft.notes if result.draft else ():
            yield f"note: {note}"
        error = result.run.error or {}
        go_on = hints.resuming(result.run.id, result.run.limits, error.get("message", ""))
        yield f"{error.get('hint', '')}: {go_on}"


def certificate_lines(behind: Mapping[str, Certificate]) -> Iterator[str]:
    """A line for each score: what stands behind it."""
    for metric, one in behind.items():
        yield from wrapped(one.line(), f"{metric} is judged by: ", "  ")


def score_lines(
    scores: Mapping[str, float | None],
    before: Mapping[str, float | None],
    goals: Mapping[str, Mapping[str, object]],
    self_checked: Collection[str] = (),
) -> list[str]:
    """A line for each metric: the score, what it was before where that is known, whether the built-in model gives it to
    itself, and the goal."""
    lines = []
    width = max((len(metric) for metric in scores), default=0)
    for metric, value in scores.items():
        line = f"{metric:<{width}}  "
        line += f"{_or_none(before[metric])} -> {_or_none(value)}" if metric in before else score(value)
        line += f"  {SELF_CHECK}" if metric in self_checked else ""
        if goal := goals.get(metric):
            line += f"  goal {goal['at_least']:g}: {_standing(goal)}"
        lines.append(line)
    return lines


def _standing(goal: Mapping[str, object]) -> str:
    """Whether a goal is met; where that is not sure, on which share of the items there is a verdict."""
    if goal["met"] is not None:
        return "met" if goal["met"] else "missed"
    share = goal["judged_share"]
    return f"unsure, {share:.0%} of its items have a verdict" if isinstance(share, float) else "unsure"


def score(value: float | None) -> str:
    """A score; a dash where there is none. It is rounded down, so that none looks like a goal that it misses."""
    return "-" if value is None else rounded(value)


def _or_none(value: float | None) -> str:
    """A score beside an arrow, where a dash could not be told from it."""
    return "none" if value is None else score(value)


def scores(values: Mapping[str, float | None], *, self_check: bool = False) -> str:
    """Scores in few letters, for lists."""
    told = " ".join(f"{metric[:3]} {score(value)}" for metric, value in values.items())
    return f"{told} {SELF_CHECK}" if told and self_check else told


def why_stopped(result: Result) -> str:
    """Why a run goes no further, or how it stands."""
    run = result.run
    if result.status == "running":
        return "it is at work"
    if result.status in _GO_ON:
        return f"{_GO_ON[result.status]}: {hints.resuming(run.id, run.limits, (run.error or {}).get('message', ''))}"
    reason = STOPS.get(run.stop_reason or "", "")
    if result.status == "failed":
        return f"it failed: {one_line((run.error or {}).get('message', ''), 200)}"
    return f"it stopped because {reason}" if run.stop_reason != "cancelled" else "it was stopped by you"


def origin(pack: Pack | TypedQuestions) -> str:
    """Where a pack comes from."""
    return f"{'imported, ' if pack.imported else ''}by {one_line(pack.model, 40)}"


def usage(totals: Totals) -> str:
    """One line on what a run used."""
    parts = [count(totals.calls, "call")]
    if totals.cached:
        parts.append(f"{totals.cached:,} from the cache")
    parts.append(f"{totals.prompt_tokens:,} tokens in, {totals.completion_tokens:,} out")
    if totals.cost_usd != 0:
        parts.append("cost unknown" if totals.cost_usd is None else f"${totals.cost_usd:.4f}")
    parts += besides(totals)
    parts.append(f"{totals.seconds:.1f} s")
    return " · ".join(parts)


def besides(totals: Totals) -> Iterator[str]:
    """The calls that were never answered: what a budget counts for them, or without a price their own tokens. And what
    was spent beyond the limit."""
    if totals.lost:
        counted = f"at most as ${totals.lost_usd:.4f}" if totals.lost_usd else f"as {totals.lost_tokens:,} tokens"
        yield f"{count(totals.lost, 'call')} without an answer, counted {counted}"
    if totals.over_usd:
        yield over(totals.over_usd)


def over(usd: float) -> str:
    """What was spent beyond the limit, and how that can be."""
    return f"${usd:.4f} more than --max-cost: replies were longer than they were allowed to be"


def aligned(rows: Sequence[Sequence[str]], *, right: bool = False) -> list[str]:
    """Return rows in aligned columns, all but the first one at the `right` where they are numbers."""
    widths = [max(map(columns, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = enumerate(zip(row, widths, strict=True))
        lines.append("  ".join(padded(*cell, right=right and at > 0) for at, cell in cells).rstrip())
    return lines


def piece_text(piece: Piece) -> str:
    """A partial summary for people: where it stands, then its text."""
    first, last = piece.first_chunk + 1, piece.last_chunk + 1
    chunks = f"chunk {first}" if first == last else f"chunks {first}-{last}"
    flaw = f", not valid: {piece.flaw}" if piece.flaw else ""
    head = f"[level {piece.level}, {chunks}: {piece.words} of at most {piece.limit} words{flaw}]"
    return f"{head}\n{prose(piece.text)}\n"


def chapter_lines(result: Result) -> Iterator[str]:
    """A line for each chapter: how long its summary is, how good, and which run has made it."""
    if result.chapters:
        what = "document" if starts_of(result.outline) else "chapter"
        yield f"{count(len(result.chapters), what)}, each with a run of its own:"
        yield from (f"  {line}" for line in aligned([_row(one) for one in result.chapters]))


def _row(one: ChapterResult) -> list[str]:
    done = one.result
    words = count(done.draft.words, "word") if done and done.draft else ""
    said = "" if done is None else words if words and done.status == "done" else done.status
    page = f"{'pages' if '-' in one.pages else 'page'} {one.pages}" if one.pages else ""
    missed = "goals missed" if done and not all(goal["met"] for goal in done.goals.values()) else ""
    told = scores(done.scores, self_check=bool(done.self_checked)) if done else ""
    judged = " ".join(part for part in (told, missed) if part)
    return [done.run.id if done else "-", said or "not begun", judged, page, one_line(one.title, _CHAPTER)]
