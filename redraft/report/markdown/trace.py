"""A run as Markdown: its outcome in lines, its rounds, the difference of two drafts, the sources of its sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain

from redraft.domain import GIVEN, REVIEW, SHORTENED, UNANSWERED, Document, Evaluation, Piece, Totals, why_stopped
from redraft.evaluators.metric_info import OFFLINE_CHECK, got_no_reply
from redraft.report.history.lineage import DRIFTS, GIVEN_SAID, Lineage, Origin, origin_note, read_lineage
from redraft.report.history.results import Result, count_unmet, document_read, request_outcome
from redraft.report.history.trace import DraftDiff, RoundTrace, RunTrace, SentenceChange, changes_between, read_trace
from redraft.report.markdown.evaluation import (
    brief_figures,
    brief_finding,
    finding_item,
    glance,
    item,
    joined,
    judge_items,
    judgment_markdown,
    quoted,
    section,
    table,
)
from redraft.report.tables import line
from redraft.settings import EXTRACTIVE, GIVEN_STRATEGY, JudgeConfig
from redraft.store.runs import WITHOUT_SUMMARY
from redraft.store.store import Store
from redraft.text.languages import language_context
from redraft.text.places import on_pages, place_said
from redraft.text.sanitizer import one_line, scrubbed
from redraft.text.vectors import Encoder
from redraft.text.words import count, dollars, duration, enumeration, score, spaced

_TITLE, _CHAPTER = 60, 50
BUILDS = {"pack": "questions", "keyfacts": "key facts"}
"""The kinds of runs without a draft, and what they build."""
OTHERWISE = {**BUILDS, "compare": "verdict", "ask": "answer"}
"""The kinds of runs with an outcome other than a summary."""
OVERSPENT = "over the limit, because replies were longer than requested"
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
        more = f" (and {len(result.oddities) - 1:,} more)" if len(result.oddities) > 1 else ""
        yield f"unexpected in replies: {one_line(result.oddities[0], 330)}{more}"
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
    unsure = [spaced(metric) for metric, goal in result.goals.items() if goal["met"] is None]
    if done and unsure:
        yield f"undecided: {enumeration(unsure)}"
    elif done and result.unjudged and scores:
        items = " and ".join(f"{count(number, 'item')} of {spaced(name)}" for name, number in result.unjudged.items())
        yield f"without a verdict: {items}"
    metrics: dict[tuple[str, ...], list[str]] = {}
    for metric, missing in result.missing.items():
        metrics.setdefault(tuple(missing), []).append(spaced(metric))
    for troubles, names in metrics.items():
        yield f"{enumeration(names)} could not use everything: {one_line('; '.join(troubles), 200)}"
    cut = result.draft is not None and (result.run.status == "stopped" or result.draft.node == SHORTENED)
    yield from (f"note: {note}" for note in (result.draft.notes if result.draft and cut else ()))


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
        text = f" {first} -> {second}" if metric in before else f" {score(value)}"
        if metric in before and value is None and before[metric] is None:
            text = ": no score"
        notes = []
        if goal := goals.get(metric):
            state, share = " met" if goal["met"] else " missed", goal["judged_share"]
            if goal["met"] is None:
                state = f" unsure, {share:.0%} of its items have a verdict" if isinstance(share, float) else " unsure"
                if value is None and before.get(metric) is None and not share:
                    text, state = ": not judged", ""
            notes.append(f"goal {goal['at_least']:g}{state}")
        notes += [OFFLINE_CHECK] if metric in offline_checked and value is not None else []
        yield f"- {spaced(metric)}{text}" + (f" ({', '.join(notes)})" if notes else "")


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
    """Return the calls without an answer, with what the budget counts for them, and the amount spent over the limit."""
    counted = f"at most {dollars(totals.lost_usd)}" if totals.lost_usd else f"{totals.lost_tokens:,} tokens"
    lost = [f"{count(totals.lost, 'call')} without an answer (counted as {counted})"] if totals.lost else []
    return [*lost, *([f"{dollars(totals.over_usd)} {OVERSPENT}"] if totals.over_usd else [])]


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


_MARKS = {"added": "+", "removed": "−", "changed": "~"}
_OPEN, _CLOSE = {"=": "", "-": "[-", "+": "{+"}, {"=": "", "-": "-]", "+": "+}"}
_FEW, _LONGEST = 5, 400


def trace_markdown(trace: RunTrace, document: Document, *, show_all: bool = False) -> str:
    """Return a run round by round."""
    result, run = trace.result, trace.result.run
    forked = bool(run.parent) and run.settings.strategy == GIVEN_STRATEGY
    parent = f", {'forked' if forked else 'changed'} from {run.parent}" if run.parent else ""
    about = list(drafting_lines(result))
    if run.refinement:
        goals = ", ".join(f"{spaced(metric)} {goal:g}" for metric, goal in run.refinement.goals.items())
        rounds = count(run.refinement.rounds, "round")
        about.insert(0, f"goals {goals} · policy {run.refinement.policy} · at most {rounds}")
    blocks = [
        f"# run {run.id} · {run.kind}{parent} · {line(result.title, 60)} · {result.status}",
        "\n".join(f"- {line(part)}" for part in about),
    ]
    for turn in trace.rounds:
        blocks.append(f"## {round_heading(turn, forked=forked)}")
        blocks += _round(turn, document, result, show_all=show_all)
    blocks.append("\n".join(judge_items(result.judged_by)))
    blocks.append(section("End", (f"- {part}" for part in _end(trace))))
    return joined([*blocks, chapters_markdown(result) if run.settings.by_chapter else ""])


def drafting_lines(result: Result) -> Iterator[str]:
    """Yield the question of a run that answers one, why the strategy was chosen, if the user named none, and what a
    found settings file set."""
    if result.run.kind == "ask":
        yield f"question: {result.settings.query}"
    yield from filter(None, [str(result.settings.found or ""), result.settings.chosen])


def round_heading(turn: RoundTrace, *, forked: bool = False) -> str:
    """Return a round's number, what its draft was made from and for, and whether it was accepted."""
    round_, words = turn.round, count(turn.draft.words, "word")
    if round_.base is None:
        is_given = turn.draft.node == GIVEN and not forked
        return f"round {round_.number} · {'your summary' if is_given else 'the first draft'} · {words}"
    origin = f"from round {turn.base.round.number}" if turn.base else ""
    names = ["your request" if aim == REVIEW else spaced(aim) for aim in round_.aims]
    aims = f", for {enumeration(names)}" if names else ""
    state = f"{'accepted' if round_.accepted else 'rejected'}: {line(round_.reason, _LONGEST)}"
    verdict = "not judged yet" if round_.accepted is None else state
    return f"round {round_.number} · {origin}{aims} · {words} · {verdict}"


def _round(turn: RoundTrace, document: Document, result: Result, *, show_all: bool) -> Iterator[str]:
    round_, base = turn.round, turn.base
    texts = [("why", round_.why), ("instruction to the reviser", round_.instruction)]
    texts += [("judge", reason) for reason in (round_.comparison.reasons if round_.comparison else ())]
    yield "\n".join(f"- {name}: {line(text)}" for name, text in texts if text)
    if base is not None:
        answered = {answer.finding for answer in round_.answers}
        requests = {finding.id for finding in turn.to_fix if finding.metric == REVIEW and finding.kind == "request"}
        # A request that was answered is among the answers only.
        to_fix = [f"- {brief_finding(finding)}" for finding in turn.to_fix if finding.id not in requests & answered]
        findings, answers = {finding.id: finding for finding in turn.to_fix}, list[str]()
        for answer in round_.answers:
            finding = findings.get(answer.finding)
            if finding and finding.id in requests:
                answers.append(f"- {line(request_outcome(finding, answer, round_).said)}")
            elif finding and answer.became not in ("fixed", ""):
                reason = quoted(answer.said, _LONGEST) if answer.became == "kept" else line(answer.said, _LONGEST)
                answers.append(f"- {answer.became}: {brief_finding(finding)} · {reason or 'no reason was given'}")
        changed = changes_between(base.draft.text, turn.draft.text)
        changes = [f"- {_change(change)}" for change in changed.changes]
        if not show_all:
            to_fix, changes = (
                [*items[:_FEW], f"- ... and {len(items) - _FEW:,} more (see --all)"] if len(items) > _FEW else items
                for items in (to_fix, changes)
            )
        yield section("To fix", to_fix, 3)
        yield section("Answered by the reviser", answers, 3)
        if turn.draft.text == base.draft.text:
            return
        yield section(f"Changed: {_numbers(changed)}", changes, 3)
    is_result = turn.draft.id == result.run.draft
    is_judgment = result.run.kind == "evaluate" or (result.run.kind == "summarize" and result.run.judging is not None)
    in_full = show_all or is_judgment
    items: list[str] = []
    if not is_judgment:
        goals = result.goals if is_result else {}
        items += score_items(turn.scores, base.scores if base else {}, goals, result.offline_checked)
    if not in_full:
        items += [f"- {summary}" for summary in [glance(turn.evaluations, result.offline_checked)] if summary]
        items += chain.from_iterable(map(_kinds, turn.evaluations.values()))
    yield section("Judged", items, 3)
    if in_full and turn.evaluations:
        judgment = judgment_markdown(
            turn.evaluations, document, offline_checked=result.offline_checked, show_all=show_all, level=3
        )
        yield judgment.rstrip()


def _kinds(evaluation: Evaluation) -> Iterator[str]:
    """Yield the number of findings by kind, and the figures that a revision may change."""
    if evaluation.outcome == "measured":
        yield f"- {brief_figures(evaluation)}"
        return
    kinds = Counter(spaced(finding.kind) for finding in evaluation.findings)
    parts = [f"{kind} ({number})" for kind, number in kinds.most_common()]
    parts += [f"{evaluation.unjudged} without a verdict"] if evaluation.unjudged else []
    if evaluation.outcome == "failed":
        failure = "not judged" if got_no_reply(evaluation) else "no score"
        parts.append(f"{failure}: {line(evaluation.reason, 200)}")
    below = [f"- could not use everything: {line(trouble, 200)}" for trouble in evaluation.missing]
    if parts or below:
        yield from item(f"found in {spaced(evaluation.metric)}: {', '.join(parts) or 'nothing'}", below)


def _numbers(difference: DraftDiff) -> str:
    kinds: Counter[str] = Counter(change.kind for change in difference.changes)
    parts = [f"{count(kinds[kind], 'sentence')} {kind}" for kind in _MARKS if kinds[kind]]
    parts += [f"{count(len(difference.moved), 'sentence')} moved"] if difference.moved else []
    return ", ".join([*parts, f"{difference.kept - len(difference.moved) or 'none'} as before"])


def _change(change: SentenceChange) -> str:
    text = change.after or change.before
    if change.kind == "changed":
        text = " ".join(f"{_OPEN[kind]}{words}{_CLOSE[kind]}" for kind, words in change.words)
    return f"{_MARKS[change.kind]} {line(text, 2 * _LONGEST)}"


def _end(trace: RunTrace) -> Iterator[str]:
    result, run = trace.result, trace.result.run
    if run.kind in BUILDS:
        yield f"this run built the {BUILDS[run.kind]} of a document: see `redraft show {run.id}`"
    elif run.kind == "compare" and result.status == "done":
        yield f"this run compared two summaries: see `redraft show {run.id}`"
    elif run.judging is None:
        if run.status != "done":
            yield end_reason(result)
        if run.kind != "ask" and trace.rounds:
            yield "this draft was not judged"
    elif run.refinement and run.status == "done":
        yield f"{end_reason(result)}; the result is the draft of round {trace.number(run.draft)}"
        if run.why:
            yield f"why: {line(run.why)}"
    elif run.status != "done" or run.kind == "compare":
        yield end_reason(result) if run.status != "done" else "no judge gave a verdict in both orders"
    yield from unanswered_calls(result.usage)


def diff_markdown(
    difference: DraftDiff,
    before: RoundTrace,
    after: RoundTrace,
    document: Document,
    offline_checked: Collection[str] = (),
) -> str:
    """Return the differences of two drafts, sentence by sentence."""
    first, second = before.round.number, after.round.number
    changes = [
        part
        for change in difference.changes
        for part in item(
            _change(change), (f"- fixes: {brief_finding(finding, standalone=False)}" for finding in change.answers)
        )
    ]
    fixed, new = (
        [part for number, finding in enumerate(findings, 1) for part in finding_item(finding, document, f"{number}.")]
        for findings in (difference.answered_elsewhere, difference.new)
    )
    also = f"Also counted as fixed ({OFFLINE_CHECK})" if offline_checked else f"Also fixed since round {first}"
    return joined(
        [
            f"# round {first} ({count(before.draft.words, 'word')}) -> round {second} ({after.draft.words:,})",
            "\n".join(score_items(after.scores, before.scores, {}, offline_checked)),
            _numbers(difference) if difference.changes or difference.moved else "the drafts are the same",
            "\n".join(changes),
            section(also, fixed),
            section(f"New in round {second}", new),
        ]
    )


_QUOTE = 200
_WORDING = "matched by wording,"


def lineage_markdown(lineage: Lineage) -> str:
    """Return a draft sentence by sentence, with the places that each comes from."""
    head = f"# run {lineage.run} · {line(lineage.document.title, 60)} · {count(len(lineage.sentences), 'sentence')}"
    doubtful = sum(sentence.doubtful for sentence in lineage.sentences)
    numbers = {
        "that judges object to": sum(bool(sentence.objections) for sentence in lineage.sentences),
        "with drift": sum(bool(sentence.drift) for sentence in lineage.sentences),
        "unsupported": sum(sentence.unplaced and sentence.read for sentence in lineage.sentences),
        "without matching wording": doubtful,
    }
    more = "" if lineage.embedded else "; embeddings find more"
    note = f"note: sentences that reword the document may have no place{more}" if doubtful else ""
    counts = [f"{number:,} {what}" for what, number in numbers.items() if number]
    summary = ", ".join(counts) or "every sentence has a place in the document"
    return joined([head, summary, note, "\n".join(sentence_items(lineage))])


def sentence_items(lineage: Lineage) -> Iterator[str]:
    """Yield each sentence of a draft with what judges object to in it, the places that it comes from, the texts in
    between, and where these differ."""
    for sentence in lineage.sentences:
        below = [f"- ✗ {line(objection)}" for objection in sentence.objections]
        below += [f"- quoted by the judge: {_place(origin)}" for origin in sentence.judged]
        for origin in sentence.origins:
            steps = []
            for step in origin.way:
                kind = "" if step.source.kind in ("piece", "running", "base") else f" ({step.source.kind})"
                # "draft 2" and "your summary" take no article.
                article = "" if step.said.startswith(("the ", "draft ", GIVEN_SAID)) else "the "
                steps += [f"{article}{line(step.said)}{kind}"] if step.said else []
            way = [f"via {', '.join(steps)}"] if steps else []
            below += item(f"{_WORDING} {score(origin.weight)}: {_place(origin)}", way)
        if sentence.invented:
            below.append(f"- {line(origin_note(sentence.invented))}")
        if sentence.drift:
            directly = sentence.direct if sentence.drift != "nowhere" else ()
            places = (f"- {_WORDING} {score(origin.weight)}: directly, {_place(origin)}" for origin in directly)
            below += item(f"drift: {DRIFTS[sentence.drift]}", places)
        yield from item(line(sentence.text, 2 * _QUOTE), below, f"{sentence.number}.")


def _place(origin: Origin) -> str:
    document, chapter = line(origin.document, 80), line(origin.chapter, 80)
    return f"{place_said(document, chapter, on_pages(origin.pages), origin.percent)}: {quoted(origin.text, _QUOTE)}"


def run_markdown(store: Store, key: str, *, encoder: Encoder | None = None) -> str:
    """Return a run as Markdown, without paths and user names of this machine: the summary, that of each chapter, what
    `trace --all` shows, and the sources of each sentence. Raises a `RunError` if there is no such run, or if it is of a
    kind that makes no summary."""
    trace = read_trace(store, key)
    result = trace.result
    if result.run.kind in WITHOUT_SUMMARY:
        result.run.drafted()
    document = document_read(store, result.run)
    with language_context(document):
        rounds = trace_markdown(trace, document, show_all=True)
    lineage = read_lineage(store, result.run.id, encoder=encoder) if result.draft else None
    chapters = [
        section(line(chapter.title), [line(chapter.result.summary)])
        for chapter in result.chapters
        if chapter.result and chapter.result.summary
    ]
    blocks = [
        f"# {line(result.title) or 'Untitled'}",
        line(result.summary or "No summary yet."),
        *chapters,
        rounds.rstrip(),
        section("Sources of each sentence", sentence_items(lineage) if lineage else ()),
    ]
    return scrubbed(joined(blocks))
