"""The trace of a run, round by round, and the difference of two drafts, as Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator

from redraft.domain import GIVEN, REVIEW, Document, Evaluation
from redraft.evaluators.metric_info import got_no_reply
from redraft.report.history.changes import DraftDiff, SentenceChange, changes_between
from redraft.report.history.results import Result, request_outcome
from redraft.report.history.trace import RoundTrace, RunTrace
from redraft.report.markdown.evaluation import (
    brief_finding,
    finding_item,
    glance,
    judge_items,
    judgment_markdown,
    withdrawn_items,
)
from redraft.report.markdown.figures import brief_figures
from redraft.report.markdown.layout import item, joined, line, quoted, section
from redraft.report.markdown.result import BUILDS, chapters_markdown, end_reason, score_items, unanswered_calls
from redraft.settings import GIVEN_STRATEGY
from redraft.text.words import count, enumeration, spaced

_MARKS = {"added": "+", "removed": "−", "changed": "~"}
_OPEN, _CLOSE = {"=": "", "-": "[-", "+": "{+"}, {"=": "", "-": "-]", "+": "+}"}
_FEW, _LONGEST = 5, 400


def trace_markdown(trace: RunTrace, document: Document, *, show_all: bool = False) -> str:
    """Return a run round by round."""
    result, run = trace.result, trace.run
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
    by_draft = {turn.draft.id: turn for turn in trace.rounds}
    for turn in trace.rounds:
        blocks.append(f"## {round_heading(turn, by_draft, forked=forked)}")
        blocks += _round(turn, by_draft.get(turn.round.base or ""), document, result, show_all=show_all)
    blocks.append(section("End", (f"- {part}" for part in _end(trace))))
    return joined([*blocks, chapters_markdown(result) if run.settings.by_chapter else ""])


def drafting_lines(result: Result) -> Iterator[str]:
    """Yield the question of a run that answers one, why the strategy was chosen, if the user named none, and what a
    found settings file set."""
    if result.run.kind == "ask":
        yield f"question: {result.settings.query}"
    yield from filter(None, [str(result.settings.found or ""), result.settings.chosen])


def round_heading(turn: RoundTrace, by_draft: dict[str, RoundTrace], *, forked: bool = False) -> str:
    """Return a round's number, what its draft was made from and for, and whether it was accepted."""
    round_, words = turn.round, count(turn.draft.words, "word")
    if round_.base is None:
        is_given = turn.draft.node == GIVEN and not forked
        return f"round {round_.number} · {'your summary' if is_given else 'the first draft'} · {words}"
    base = by_draft.get(round_.base)
    origin = f"from round {base.round.number}" if base else ""
    names = ["your request" if aim == REVIEW else spaced(aim) for aim in round_.aims]
    aims = f", for {enumeration(names)}" if names else ""
    state = f"{'accepted' if round_.accepted else 'rejected'}: {line(round_.reason, _LONGEST)}"
    verdict = "not judged yet" if round_.accepted is None else state
    return f"round {round_.number} · {origin}{aims} · {words} · {verdict}"


def _round(
    turn: RoundTrace, base: RoundTrace | None, document: Document, result: Result, *, show_all: bool
) -> Iterator[str]:
    round_ = turn.round
    texts = [("why", round_.why), ("instruction to the reviser", round_.instruction)]
    texts += [("judge", reason) for reason in (round_.comparison.reasons if round_.comparison else ())]
    yield "\n".join(f"- {name}: {line(text)}" for name, text in texts if text)
    if base is not None:
        to_fix, answers = _aims(turn)
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
        items += [f"- {summary}"] if (summary := glance(turn.evaluations, result.offline_checked)) else []
        items += [part for evaluation in turn.evaluations.values() for part in _kinds(evaluation)]
    yield section("Judged", items, 3)
    if in_full and turn.evaluations:
        judgment = judgment_markdown(
            turn.evaluations, document, offline_checked=result.offline_checked, show_all=show_all, level=3
        )
        yield judgment.rstrip()
    if is_result:
        yield "\n".join(judge_items(result.judged_by))


def _aims(turn: RoundTrace) -> tuple[list[str], list[str]]:
    """Return the findings that a round was to fix; and the person's requests with their outcome, and the findings that
    the reviser kept or left, with the reason. A request that was answered is among the answers only."""
    answered, items = {answer.finding for answer in turn.round.answers}, list[str]()
    requests = {finding.id for finding in turn.to_fix if finding.metric == REVIEW and finding.kind == "request"}
    to_fix = [f"- {brief_finding(finding)}" for finding in turn.to_fix if finding.id not in requests & answered]
    findings = {finding.id: finding for finding in turn.to_fix}
    for answer in turn.round.answers:
        finding = findings.get(answer.finding)
        if finding and finding.id in requests:
            items.append(f"- {line(request_outcome(finding, answer, turn.round).said)}")
        elif finding and answer.became not in ("fixed", ""):
            reason = quoted(answer.said, _LONGEST) if answer.became == "kept" else line(answer.said, _LONGEST)
            items.append(f"- {answer.became}: {brief_finding(finding)} · {reason or 'no reason was given'}")
    return to_fix, items


def _kinds(evaluation: Evaluation) -> Iterator[str]:
    """Yield the number of findings by kind, the figures that a revision may change, and withdrawn findings."""
    if evaluation.outcome == "measured":
        yield f"- {brief_figures(evaluation)}"
        return
    kinds = Counter(finding.kind for finding in evaluation.findings)
    # All kinds but key sentences are adjectives.
    names = {kind: spaced(kind).replace("sentence", "sentences" if n > 1 else "sentence") for kind, n in kinds.items()}
    parts = [f"{number} {names[kind]}" for kind, number in kinds.most_common()]
    parts += [f"{evaluation.unjudged} without a verdict"] if evaluation.unjudged else []
    if evaluation.outcome == "failed":
        failure = "not judged" if got_no_reply(evaluation) else "no score"
        parts.append(f"{failure}: {line(evaluation.reason, 200)}")
    below = [f"- could not use everything: {line(trouble, 200)}" for trouble in evaluation.missing]
    below += withdrawn_items({"withdrawn": evaluation})
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
    result, run = trace.result, trace.run
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
        for part in item(_change(change), (f"- fixes: {brief_finding(finding)}" for finding in change.answers))
    ]
    fixed, new = (
        [part for number, finding in enumerate(findings, 1) for part in finding_item(finding, document, f"{number}.")]
        for findings in (difference.answered_elsewhere, difference.new)
    )
    return joined(
        [
            f"# round {first} ({count(before.draft.words, 'word')}) -> round {second} ({after.draft.words:,})",
            "\n".join(score_items(after.scores, before.scores, {}, offline_checked)),
            _numbers(difference) if difference.changes or difference.moved else "the drafts are the same",
            "\n".join(changes),
            section(f"Fixed since round {first}, but by no single change", fixed),
            section(f"New in round {second}", new),
        ]
    )
