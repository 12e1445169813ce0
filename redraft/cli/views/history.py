"""Views of a run's history: rounds, drafts and key-fact trees."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby

from redraft.cli import hints, terminal
from redraft.cli.views import figures, render
from redraft.domain import GIVEN, REVIEW, Document, Finding, KeyFact, KeyFacts, PointAnswer, Round, Span, Tree
from redraft.evaluators.metric_info import got_no_reply, withdrawn
from redraft.evaluators.reference.keyfacts import ALL, LEVELS, pruning
from redraft.report.history.changes import DraftDiff, SentenceChange, changes_between
from redraft.report.history.requests import request_outcome
from redraft.report.history.results import Result
from redraft.report.history.trace import RoundTrace, RunTrace
from redraft.settings import GIVEN_STRATEGY
from redraft.text.places import chapter_of, document_of, on_pages, pages_of, percent_of, place_said
from redraft.text.sanitizer import one_line

_MARKS = {"added": "+ ", "removed": "- ", "changed": "~ "}
_OPEN, _CLOSE = {"=": "", "-": "[-", "+": "{+"}, {"=": "", "-": "-]", "+": "+}"}
_FEW = 5
_LONGEST = 400


def trace_lines(trace: RunTrace, document: Document, *, show_all: bool) -> Iterator[str]:
    """Yield a run round by round."""
    result, run = trace.result, trace.run
    forked = bool(run.parent) and run.settings.strategy == GIVEN_STRATEGY
    parent = f", {'forked' if forked else 'changed'} from {run.parent}" if run.parent else ""
    yield f"run {run.id} · {run.kind}{parent} · {one_line(result.title, 60)} · {result.status}"
    if run.refinement:
        goals = ", ".join(f"{metric} {least:g}" for metric, least in run.refinement.goals.items())
        yield f"goals {goals} · policy {run.refinement.policy} · at most {render.count(run.refinement.rounds, 'round')}"
    for line in render.drafting(result):
        yield from terminal.wrapped(line)
    by_draft = {turn.draft.id: turn for turn in trace.rounds}
    for turn in trace.rounds:
        yield ""
        yield from terminal.wrapped(_heading(turn, by_draft, forked=forked))
        yield from _round(turn, by_draft.get(turn.round.base or ""), document, result, show_all=show_all)
    yield ""
    yield from _end(trace)
    if result.usage.calls or result.usage.cached:
        yield f"Prompts and replies: {hints.run_command('trace', run.id, '--calls')}"


def _heading(turn: RoundTrace, by_draft: dict[str, RoundTrace], *, forked: bool) -> str:
    made = turn.round
    words = render.count(turn.draft.words, "word")
    if made.base is None:
        given = turn.draft.node == GIVEN and not forked
        return f"round {made.number} · {'your summary' if given else 'the first draft'} · {words}"
    base = by_draft.get(made.base)
    origin = f"from round {base.round.number}" if base else ""
    aims = f", for {' and '.join(made.aims)}" if made.aims else ""
    if made.accepted is None:
        verdict = "not judged yet"
    else:
        verdict = f"{'accepted' if made.accepted else 'rejected'}: {one_line(made.reason, 200)}"
    return f"round {made.number} · {origin}{aims} · {words} · {verdict}"


def _round(
    turn: RoundTrace, base: RoundTrace | None, document: Document, result: Result, *, show_all: bool
) -> Iterator[str]:
    few = None if show_all else _FEW
    yield from _reasons(turn.round)
    if base is not None:
        told = {answer.finding for answer in turn.round.answers}
        yield from _listed(
            "to fix", [finding for finding in turn.to_fix if not (_is_request(finding) and finding.id in told)], few
        )
        yield from _answered(turn)
        if turn.draft.text == base.draft.text:
            return
        yield from _changes(changes_between(base.draft.text, turn.draft.text), few)
    goals = result.goals if turn.draft.id == result.run.draft else {}
    if result.run.kind != "evaluate":
        for line in render.score_lines(turn.scores, base.scores if base else {}, goals, result.offline_checked):
            yield f"  {line}"
    if show_all or result.run.kind == "evaluate":
        shown = None if show_all else figures.SHOWN
        for name, evaluation in turn.evaluations.items():
            behind = turn.certificates.get(name)
            checked = behind is not None and behind.offline_check
            lines = figures.evaluation(evaluation, document, offline_checked=checked, shown=shown, rest="see --all")
            yield from terminal.indented(lines)
    else:
        yield from _found(turn)
        yield from _withdrawn(turn)
    if turn.draft.id == result.run.draft:
        yield from terminal.indented(render.certificate_lines(result.certificates))


def _reasons(round_: Round) -> Iterator[str]:
    """Yield why a model chose what to change, its instruction, and why judges prefer the draft or its base."""
    said = [("why", round_.why), ("instruction to the reviser", round_.instruction)]
    said += [("judge", reason) for reason in (round_.comparison.reasons if round_.comparison else ())]
    for name, text in said:
        if text:
            yield from terminal.wrapped(one_line(text), f"  {name}: ")


def _answered(turn: RoundTrace) -> Iterator[str]:
    """Yield the findings that were not simply fixed, with the reviser's reason."""
    known = {finding.id: finding for finding in turn.to_fix}
    for answer in turn.round.answers:
        if answer.finding in known and _is_request(known[answer.finding]):
            yield from _request(known[answer.finding], answer, turn.round)
            continue
        if answer.became in ("fixed", "") or answer.finding not in known:
            continue
        said = f"“{answer.said}”" if answer.became == "kept" else answer.said or "no reason was given"
        about = f"{answer.became}: {figures.brief_finding(known[answer.finding])} · {one_line(said, _LONGEST)}"
        yield from terminal.wrapped(about, "    ")


def _is_request(finding: Finding) -> bool:
    """Return whether a finding is a request in a person's words, rather than one of a file."""
    return finding.metric == REVIEW and finding.kind == "request"


def _request(finding: Finding, answer: PointAnswer, made: Round) -> Iterator[str]:
    """Yield whether a person's request was met."""
    outcome = request_outcome(finding, answer, made)
    met = "met, as far as the reviser reports" if outcome.met else "the reviser did not say whether it met this"
    said = f"not met: {outcome.reason}" if outcome.met is False else met
    yield from terminal.wrapped(f"request: {one_line(finding.explanation, _LONGEST)} · {said}", "    ")


def _withdrawn(turn: RoundTrace) -> Iterator[str]:
    """Yield the findings that a second look overruled."""
    for name, evaluation in turn.evaluations.items():
        for gone in withdrawn(evaluation):
            about = one_line(gone.finding.question or gone.finding.sentence, 120)
            quote = one_line(gone.ruling.quote, _LONGEST)
            yield from terminal.wrapped(f"{name}: {about} · the document says so: “{quote}”", "  withdrawn: ")


def _found(turn: RoundTrace) -> Iterator[str]:
    """Yield the number of findings by kind, and the figures that a revision may change."""
    for name, evaluation in turn.evaluations.items():
        if evaluation.outcome == "measured":
            yield from terminal.wrapped(figures.brief_line(evaluation), "  ", "    ")
            continue
        kinds = Counter(finding.kind for finding in evaluation.findings)
        parts = [f"{number} {render.spaced(kind)}" for kind, number in kinds.most_common()]
        if evaluation.unjudged:
            parts.append(f"{evaluation.unjudged} without a verdict")
        if evaluation.outcome == "failed":
            parts.append(
                f"{'not judged' if got_no_reply(evaluation) else 'no score'}: {one_line(evaluation.reason, 200)}"
            )
        if parts:
            yield f"  found in {name}: {', '.join(parts)}"
        for trouble in evaluation.missing:
            yield from terminal.wrapped(f"{name} could not use everything: {one_line(trouble, 200)}", "  ", "    ")


def _listed(title: str, those: Sequence[Finding], few: int | None) -> Iterator[str]:
    if those:
        yield f"  {title}:"
        for finding in those[:few]:
            yield from terminal.wrapped(figures.brief_finding(finding), "    · ")
        yield from _rest(len(those), few)


def _changes(found: DraftDiff, few: int | None) -> Iterator[str]:
    yield f"  changed: {_numbers(found)}"
    for change in found.changes[:few]:
        yield from terminal.wrapped(_text(change), f"    {_MARKS[change.kind]}")
    yield from _rest(len(found.changes), few)


def _rest(number: int, few: int | None) -> Iterator[str]:
    if few is not None and number > few:
        yield f"    ... and {number - few:,} more (see --all)"


def _numbers(found: DraftDiff) -> str:
    kinds: Counter[str] = Counter(change.kind for change in found.changes)
    parts = [f"{render.count(kinds[kind], 'sentence')} {kind}" for kind in _MARKS if kinds[kind]]
    if found.moved:
        parts.append(f"{render.count(len(found.moved), 'sentence')} moved")
    return ", ".join([*parts, f"{found.kept - len(found.moved) or 'none'} as before"])


def _text(change: SentenceChange) -> str:
    if change.kind == "changed":
        return one_line(" ".join(f"{_OPEN[kind]}{words}{_CLOSE[kind]}" for kind, words in change.words), 2 * _LONGEST)
    return one_line(change.after or change.before, _LONGEST)


def _end(trace: RunTrace) -> Iterator[str]:
    result, run = trace.result, trace.run
    if run.kind in render.BUILDS:
        yield f"this run built the {render.BUILDS[run.kind]} of a document: see {hints.run_command('show', run.id)}"
    elif run.kind == "compare":
        yield f"this run compared two summaries: see {hints.run_command('show', run.id)}"
    elif run.judging is None:
        yield "this draft was not judged"
        if trace.rounds:
            yield f"Refine it: {hints.run_command('fork', run.id, '--round', '0')}"
    elif run.refinement and result.status == "done":
        best = trace.number(run.draft)
        yield f"{render.end_reason(result)}; the result is the draft of round {best}"
        if run.why:
            yield from terminal.wrapped(one_line(run.why), "  why: ")
    elif result.status != "done":
        yield render.end_reason(result)
        if result.status != "running":
            yield f"Resume: {hints.resume_hint(run.id, run.limits, (run.error or {}).get('message', ''))}"
    yield from render.unanswered_calls(result.usage)
    if len(trace.rounds) > 1:
        yield f"Changes by sentence: {hints.run_command('diff', run.id)}"


def diff_lines(found: DraftDiff, before: RoundTrace, after: RoundTrace, document: Document) -> Iterator[str]:
    """Yield the differences of two drafts, sentence by sentence."""
    one, other = before.round.number, after.round.number
    yield f"round {one} ({render.count(before.draft.words, 'word')}) -> round {other} ({after.draft.words:,})"
    checked = [name for name, certificate in after.certificates.items() if certificate.offline_check]
    for line in render.score_lines(after.scores, before.scores, {}, checked):
        yield f"  {line}"
    yield f"  {_numbers(found)}" if found.changes or found.moved else "  the drafts are the same"
    for change in found.changes:
        yield ""
        yield from terminal.wrapped(_text(change), _MARKS[change.kind])
        for finding in change.answers:
            yield from terminal.wrapped(figures.brief_finding(finding), "    fixes · ")
    yield from _apart(f"fixed since round {one}, but by no single change", found.answered_elsewhere, document)
    yield from _apart(f"new in round {other}", found.new, document)


def _apart(title: str, those: Sequence[Finding], document: Document) -> Iterator[str]:
    if those:
        yield f"\n{title}:"
        for number, finding in enumerate(those, 1):
            yield from figures.numbered(number, finding, document)


_TWIG, _LAST_TWIG, _TRUNK, _AIR = "├─ ", "└─ ", "│  ", "   "
_TITLE = 60


def keyfacts_lines(keyfacts: KeyFacts, document: Document, *, pruned: bool) -> Iterator[str]:
    """Yield all trees by chunk, then how much was pruned or is missing; `pruned` includes pruned facts."""
    for chunk, trees in groupby(keyfacts.trees, key=lambda tree: tree.chunk):
        of_chunk = list(trees)
        yield from terminal.wrapped(f"chunk {chunk + 1}: {_stretch(of_chunk[0].span, document)}", "", "  ")
        for tree in of_chunk:
            yield from _tree(tree, document, pruned=pruned)
        yield ""
    yield from _pruning(keyfacts.trees)
    if not pruned and any(not fact.kept for tree in keyfacts.trees for fact in tree.facts):
        yield "see --pruned for what was pruned, and why"
    for trouble in keyfacts.missing:
        yield from terminal.wrapped(f"missing: {one_line(trouble, _LONGEST)}", "", "  ")


def _stretch(span: Span, document: Document) -> str:
    """Return the start and end of a span within the document."""
    last = Span(max(span.start, span.end - 1), span.end)
    ends = [one_line(chapter_of(document, one), _TITLE) for one in (span, last)]
    chapters = f", {' to '.join(dict.fromkeys(end for end in ends if end))}" if any(ends) else ""
    first, final = (percent_of(document, one.start) for one in (span, last))
    named = document_of(document, span)
    within = f"all documents, {one_line(named, _TITLE)}" if named else "the document"
    return f"from {first}% to {final}% of {within}{chapters}"


def _tree(tree: Tree, document: Document, *, pruned: bool) -> Iterator[str]:
    query = one_line(tree.query, _LONGEST) or "(no query)"
    yield from terminal.wrapped(f"{tree.perspective}: {query}", "  ", "    ")
    below: dict[int | None, list[KeyFact]] = defaultdict(list)
    for fact in tree.facts:
        if pruned or fact.kept:
            below[fact.parent].append(fact)
    if not below:
        yield f"  {_LAST_TWIG}(no facts kept)"
    yield from _facts(below[None], below, document, "  ")


def _facts(
    facts: Sequence[KeyFact], below: dict[int | None, list[KeyFact]], document: Document, indent: str
) -> Iterator[str]:
    """Yield the facts of one level, each with the facts below it."""
    for fact in facts:
        last = fact is facts[-1]
        further = indent + (_AIR if last else _TRUNK)
        under = further + (_TRUNK if below[fact.id] else _AIR)
        yield from terminal.wrapped(_said(fact, document), indent + (_LAST_TWIG if last else _TWIG), under)
        for objection in fact.objections:
            yield from terminal.wrapped(
                f"× {objection.dimension}: {one_line(objection.reason, _LONGEST)}", under, under
            )
        yield from _facts(below[fact.id], below, document, further)


def _said(fact: KeyFact, document: Document) -> str:
    span = fact.evidence.span
    place = f" ({_where(document, span)})" if span else ""
    return f"{'' if fact.kept else '× '}{one_line(fact.text, _LONGEST)}{place}"


def _pruning(trees: Sequence[Tree]) -> Iterator[str]:
    counted = pruning(trees)
    levels = (ALL, *LEVELS)
    shares = [counted[level]["share"] for level in levels]
    yield from render.aligned(
        [
            ("", *levels),
            *((name, *(f"{counted[level][name]:,}" for level in levels)) for name in ("found", "pruned")),
            ("", *("-" if share is None else f"{share:.0%}" for share in shares)),
        ]
    )


def measure(keyfacts: KeyFacts) -> str:
    """Return the numbers of facts and trees."""
    facts = sum(len(tree.kept) for tree in keyfacts.trees)
    return f"{render.count(facts, 'key fact')} in {render.count(len(keyfacts.trees), 'tree')}"


def fact_models(keyfacts: KeyFacts) -> str:
    """Return which models found and validated the facts."""
    origin = "imported, " if keyfacts.imported else ""
    if keyfacts.builder == keyfacts.validator:
        return f"{origin}found and validated by {one_line(keyfacts.builder, 40)}"
    return f"{origin}found by {one_line(keyfacts.builder, 40)}, validated by {one_line(keyfacts.validator, 40)}"


def _where(document: Document, span: Span) -> str:
    named = document_of(document, span), "", on_pages(pages_of(document, span))
    return place_said(*named, percent_of(document, span.start))
