"""Documents, their questions and key facts, lists of runs and calls, and comparisons of summaries, as Markdown."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import groupby
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from redraft.builtin.facade import IDENTITY
from redraft.domain import Document, KeyFact, KeyFacts, Pack, Span
from redraft.evaluators.metric_info import PREFERENCE
from redraft.evaluators.reference.keyfacts import ALL, LEVELS, pruning
from redraft.prompts.coherence import ASPECTS
from redraft.readers.parts import MATTER
from redraft.report.history.judges import judged_by, query_in_words
from redraft.report.history.summaries import RunSummary, SummaryComparison
from redraft.report.markdown.evaluation import decimal, item, joined, percent, section, table
from redraft.report.markdown.trace import OTHERWISE, brief_scores
from redraft.report.tables import line
from redraft.text.places import chapter_of, document_of, on_pages, pages_of, percent_of, place_of, place_said
from redraft.text.words import count, count_words, dollars, duration, spaced

if TYPE_CHECKING:
    from redraft.report.dossier.contents import CallDetails, CallEntry

WINNERS = {"a": "A", "b": "B", "tie": "tie", "unsure": "cannot tell"}
_TIES = {"leaning_a": "leaning to A", "leaning_b": "leaning to B", "order_decides": "by the order"}
_REASON, _JUDGE, _SHOWN = 300, 50, 6

_STAGES = {
    "Drafting": {
        *("begin", "compress", "merge", "merge_onward", "outline"),
        *("summarize_chunk", "summarize_whole", "tidy", "update"),
    },
    "Questions and key facts": {
        *("ask_document", "ask_typed", "rank_questions", "facts_faithful", "facts_objective", "facts_significant"),
        *("keyfacts_analytical", "keyfacts_narrative", "query_analytical", "query_narrative"),
    },
    "Refining": {"decide", "edit", "criticize", "revise", "rule_on_findings", "choose_draft"},
}


def stage(prompt: str) -> str:
    """Return the stage of a run that a prompt belongs to."""
    return next((name for name, prompts in _STAGES.items() if prompt in prompts), "Judging")


def comparison_markdown(comparison: SummaryComparison, names: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return a comparison: the winner and the votes by aspect, or why there is no verdict; both summaries' statistics,
    reservations and the judges' answers. `names` are the names of models for people."""
    result, preference = comparison.result, comparison.preference
    blocks, both = [f"no verdict: {line(preference.reason, _REASON)}"], (comparison.a, comparison.b)
    if preference.outcome != "failed":
        votes = [["aspect", "better", "A", "B", "tie", "no verdict", "ties"]]
        for aspect in ASPECTS:
            numbers = comparison.aspects[aspect]
            ties = [f"{numbers[name]} {says}" for name, says in _TIES.items() if numbers.get(name)]
            columns = [f"{numbers.get(name, 0):,}" for name in ("a", "b", "tie", "unjudged")]
            votes.append([aspect, WINNERS.get(numbers["winner"], "–"), *columns, " and ".join(ties)])
        blocks = [table(votes if any(row[-1] for row in votes[1:]) else [row[:-1] for row in votes])]
    rows = [
        ["", "A", "B"],
        ["words", *(f"{summary.words:,}" for summary in both)],
        ["sentences", *(f"{summary.sentences:,}" for summary in both)],
    ]
    if all(figures := [summary.statistics for summary in both]):
        rows.append(["compression", *(decimal(parts["compression"]["tokens"], 1) for parts in figures)])
        for name, key in (("new trigrams", "novel_ngrams"), ("repeated trigrams", "repeated_ngrams")):
            rows.append([name, *(percent(parts[key]["3"]) for parts in figures)])
    blocks += [table(rows), "\n".join(f"- {note}" for note in _reservations(comparison))]
    if not comparison.same:
        blocks.append(f"judged by: {line(judged_by(result.run, result.evaluations, names)[PREFERENCE])}")
    verdicts: list[str] = []
    judgings = [judging for judging in comparison.judgings if judging["a_first"] or judging["b_first"]]
    for judging in judgings[:_SHOWN]:
        name = str(judging["judge"])
        judge = "built-in model" if name == IDENTITY else line(names.get(name, name), _JUDGE)
        # The judges' answers in each order refer to the first and the second summary.
        for key, which in (("a_first", "A is the first"), ("b_first", "B is the first")):
            answer = judging[key]
            winners = [f"{aspect} {WINNERS[answer[aspect]]}" for aspect in ASPECTS] if answer else ["no verdict"]
            reason = line(answer["reason"], _REASON) if answer else ""
            verdicts += item(f"{judge}, {which}: {', '.join(winners)}", [reason] if reason else [])
    if (more := len(judgings) - _SHOWN) > 0:
        verdicts.append(f"- ... and {count(more, 'judging')} more (--json has them all)")
    return joined([*blocks, section("Verdicts", verdicts)])


def _reservations(comparison: SummaryComparison) -> Iterator[str]:
    """Yield the reservations about a verdict."""
    preference = comparison.preference
    if comparison.same:
        yield "A and B are the same text; no model was asked"
    if comparison.same or preference.outcome == "failed":
        return
    by_order = {aspect: comparison.aspects[aspect]["order_decides"] for aspect in ASPECTS}
    if biased := [f"{aspect} in {number:,}" for aspect, number in by_order.items() if number]:
        yield (
            f"warning: in {count(preference.judged, 'judging')} the order decides {', '.join(biased)}. A judge"
            " that always names the first, or the second, has no preference; it counts as a tie."
        )
    if preference.unjudged:
        trouble = line(str(preference.details.get("trouble", "")), _REASON)
        yield f"{count(preference.unjudged, 'judging')} without a verdict: {trouble}"
    if not preference.details["document_read"]:
        any_read = any(judging["document_read"] for judging in comparison.judgings)
        who = "not every judge has read the document" if any_read else "no judge has read the document"
        yield f"{who}: with the summaries it does not fit the window"


_MODEL, _TITLE, _SHORT_ID, _LONG_TITLE, _LONGEST, _LONG_MODEL = 30, 40, 8, 60, 400, 40
_ROLES = {"user": "prompt", "assistant": "rejected reply", "schema": "schema of the reply"}


def records_table(records: Iterable[Mapping[str, str]]) -> str:
    """Return records under their names, without columns that are empty."""
    rows = list(records)
    names = [name for name in (rows[0] if rows else ()) if any(row[name] for row in rows)]
    return table([names, *([row[name] for name in names] for row in rows)])


def runs_markdown(runs: Sequence[RunSummary], now: datetime, *, brief: bool = False) -> str:
    """Return a row for each run; `brief` has fewer columns: a question stands in place of the title."""
    rows = []
    for run in runs:
        outcome, is_answer = brief_scores(run.scores, offline_check=run.offline_check), run.kind == "ask"
        if run.kind == "compare":
            preferred = run.preferred and f"{WINNERS[run.preferred]} preferred"
            outcome = "tie" if run.preferred == "tie" else preferred or ""
        row = {
            "run": run.run,
            "when (UTC)": when(run.created, now),
            "status": run.status,
            "kind": run.kind,
            "scores": outcome,
            "title": line(run.query if brief and is_answer else run.title, _TITLE),
            "question": line(run.query, _TITLE) if is_answer and not brief else "",
            "words": "" if run.kind in OTHERWISE or run.words is None else str(run.words),
            "model": "" if brief else line(run.model, _MODEL),
            "drafted": "" if brief else run.strategy,
        }
        rows.append(row)
    return joined([records_table(rows)])


def packs_markdown(packs: Sequence[Mapping[str, Any]], now: datetime) -> str:
    """Return a row for the questions and key facts of each document."""
    names = {"questions": "question", "keyfacts": "key fact"}
    rows = (
        {
            # A prefix of this length always identifies a pack.
            "id": pack["pack"][:_SHORT_ID],
            "when (UTC)": when(pack["created"], now),
            "what": count(pack["keyfacts" if pack["kind"] == "keyfacts" else "questions"], names[pack["kind"]]),
            "model": line(pack["model"], _MODEL),
            "origin": "imported" if pack["imported"] else "built",
            "title": line(pack["title"], _TITLE),
        }
        for pack in packs
    )
    return joined([records_table(rows)])


def when(created: str, now: datetime) -> str:
    """Return the day with the time, or with the year if it is not the current one."""
    then = datetime.fromisoformat(created)
    return f"{then:%b %d %H:%M}" if then.year == now.year else f"{then:%b %d %Y}"


def calls_markdown(calls: Sequence[CallEntry], run: str) -> str:
    """Return the calls of a run by stage."""
    stages: dict[str, list[dict[str, str]]] = defaultdict(list)
    for call in calls:
        row = {
            "call": str(call.number),
            "what": line(call.label) or spaced(call.prompt),
            "tokens": f"{call.prompt_tokens:,} tokens in, {call.completion_tokens:,} out",
            "time": "cached" if call.borrowed else duration(call.seconds),
            "outcome": "" if call.outcome == "ok" else spaced(call.outcome),
        }
        stages[stage(call.prompt)].append(row)
    blocks = [section(f"{name}: {count(len(rows), 'call')}", [records_table(rows)]) for name, rows in stages.items()]
    return joined(blocks or [f"run {run} made no calls of its own"])


def call_markdown(call: CallDetails, run: str) -> str:
    """Return a call with all that was sent and received."""
    attempt = f" · attempt {call.attempt} of {call.attempts}" if call.attempts > 1 else ""
    cached = f" ({call.cached_tokens:,} cached by the provider)" if call.cached_tokens else ""
    cost = "cost unknown" if call.cost_usd is None else dollars(call.cost_usd)
    outcome = (call.error or call.finish_reason) if call.outcome == "ok" else spaced(call.outcome)
    tokens = f"{call.prompt_tokens:,} tokens in{cached}, {call.completion_tokens:,} out"
    about = [
        f"prompt {line(call.prompt)} · model {line(call.model)}{attempt}",
        f"{tokens} · {cost} · {duration(call.seconds)} · {line(outcome)}",
    ]
    about += [line(call.error)] if call.error else []
    if call.borrowed:
        sender = f"run {call.made_by}" if call.made_by else "a run that has been deleted"
        about.append(f"answered from the cache: {sender} sent this prompt and paid for the reply")
    texts = [(_ROLES[message.role], message.text) for message in call.messages]
    if not texts:
        about.append("This call was made before prompts were stored with their contents. Its template:")
        texts = [("template", call.prompt_text or "The template is not stored either.")]
    texts.append(("reply", "No reply was received." if call.reply is None else call.reply))
    head = f"# call {call.number} of run {run} · {stage(call.prompt)} · {line(call.label) or spaced(call.prompt)}"
    return joined([head, "\n".join(f"- {part}" for part in about), *(_fenced(*pair) for pair in texts)])


def _fenced(title: str, text: str) -> str:
    """Return a text as it is, in a fence that is longer than any in it."""
    with suppress(ValueError):
        text = json.dumps(json.loads(text), ensure_ascii=False, indent=2)
    fence = "`" * 3
    while fence in text:
        fence += "`"
    return f"## {title}\n\n{fence}\n{text}\n{fence}"


def document_markdown(document: Document, about: Mapping[str, Any]) -> str:
    """Return a document's size, structure and notes, and its sections with their numbers for `--chapters`; `about` is
    what `read --json` prints of it."""
    language = f", language {line(document.language)}" if document.language else ""
    rows = [
        ("title", line(document.title)),
        ("file", f"{line(document.source)}, {document.encoding}{language}"),
        ("text", f"{count(about['words'], 'word')}, {about['characters']:,} characters"),
    ]
    for mark in document.members:
        language = f", language {line(mark.language)}" if mark.language and not document.language else ""
        words = count(count_words(document.text[mark.start : mark.end]), "word")
        rows.append(("document", f"{line(mark.label)}: {words}{language}"))
    pages = [] if document.members else [mark.label for mark in document.marks if mark.kind == "page"]
    if pages:
        rows.append(("pages", f"{len(dict.fromkeys(pages)):,}, from {line(pages[0])} to {line(pages[-1])}"))
    if times := [mark.label for mark in document.marks if mark.kind == "time"]:
        rows.append(("times", f"from {times[0]} to {times[-1]}"))
    kinds = Counter(mark.kind for mark in document.marks)
    rows += [
        ("besides", ", ".join(count(kinds[kind], kind) for kind in ("table", "caption", "note") if kinds[kind])),
        ("kept", ", ".join(f"{what} (--skip {kind})" for kind, what in MATTER.items() if kinds[kind])),
        *(("note", line(note)) for note in document.notes),
    ]
    sections = [["chapter", "words", "pages", "section"]]
    for part in about["sections"]:
        title = f"{'› ' * min(part['level'] - 1, 6)}{line(part['title'], _LONG_TITLE)}"
        sections.append([str(part["chapter"] or ""), f"{part['words']:,}", line(part["pages"]), title])
    return joined(["\n".join(f"- {name}: {text}" for name, text in rows if text), table(sections)])


def pack_markdown(pack: Pack, document: Document) -> str:
    """Return the questions of a pack, most important first."""
    lines: list[str] = []
    for question in pack.questions:
        span = question.evidence.span
        place = f", {line(place_of(document, span))}" if span else ""
        answer = f"- {line(question.answer)} (weight {question.weight}{place})"
        lines += item(line(question.text), [answer], f"{question.id}.")
    missing = section("Missing", (f"- missing: {line(trouble, _LONGEST)}" for trouble in pack.missing))
    return joined(["\n".join(lines), missing])


def yardstick_line(built: Pack | KeyFacts) -> str:
    """Return in one line how many questions a pack has, or key facts, and which models wrote, or found and validated
    them."""
    imported = "imported, " if built.imported else ""
    if isinstance(built, Pack):
        return f"pack {built.id}: {count(built.items, 'question')}, {imported}by {line(built.model, _LONG_MODEL)}"
    builder, validator = (line(name, _LONG_MODEL) for name in (built.builder, built.validator))
    by = "and validated" if built.builder == built.validator else f"by {builder}, validated"
    facts = f"{count(built.items, 'key fact')} in {count(len(built.trees), 'tree')}"
    return f"key facts {built.id}: {facts}, {imported}found {by} by {validator}"


def keyfacts_markdown(keyfacts: KeyFacts, document: Document, *, pruned: bool = False) -> str:
    """Return all trees by chunk, then how much was pruned or is missing; `pruned` includes pruned facts."""
    blocks = []
    for chunk, group in groupby(keyfacts.trees, key=lambda tree: tree.chunk):
        trees = list(group)
        lines: list[str] = []
        for tree in trees:
            facts = [fact for fact in tree.facts if pruned or fact.kept]
            below = _facts(None, facts, document) if facts else ["- (no facts kept)"]
            query = query_in_words(tree.query)
            lines += item(f"{tree.perspective}: {line(query, _LONGEST) or '(no query)'}", below)
        first = trees[0].span
        last = Span(max(first.start, first.end - 1), first.end)
        titles = dict.fromkeys(line(chapter_of(document, place), _LONG_TITLE) for place in (first, last))
        chapters_ = f", {' to '.join(filter(None, titles))}" if any(titles) else ""
        name = line(document_of(document, first), _LONG_TITLE)
        within = f"{f'all documents, {name}' if name else 'the document'}{chapters_}"
        start, end = (percent_of(document, place.start) for place in (first, last))
        blocks.append(section(f"chunk {chunk + 1}: from {start}% to {end}% of {within}", lines))
    counts, levels = pruning(keyfacts.trees), (ALL, *LEVELS)
    shares = [counts[level]["share"] for level in levels]
    rows = [[name, *(f"{counts[level][name]:,}" for level in levels)] for name in ("found", "pruned")]
    rows.append(["share pruned", *("–" if share is None else f"{share:.0%}" for share in shares)])
    blocks.append(table([["", *levels], *rows], right=True))
    if not pruned and any(not fact.kept for tree in keyfacts.trees for fact in tree.facts):
        blocks.append("see --pruned for what was pruned, and why")
    blocks.append(section("Missing", (f"- missing: {line(trouble, _LONGEST)}" for trouble in keyfacts.missing)))
    return joined(blocks)


def _facts(parent: int | None, facts: Sequence[KeyFact], document: Document) -> Iterator[str]:
    """Yield the facts below one, each with those below it."""
    for fact in facts:
        if fact.parent != parent:
            continue
        place, span = "", fact.evidence.span
        if span:
            pages = on_pages(pages_of(document, span))
            place = f" ({place_said(document_of(document, span), '', pages, percent_of(document, span.start))})"
        objections = [f"- × {objection.dimension}: {line(objection.reason, _LONGEST)}" for objection in fact.objections]
        head = f"{'' if fact.kept else '× '}{line(fact.text, _LONGEST)}{place}"
        yield from item(head, [*objections, *_facts(fact.id, facts, document)])
