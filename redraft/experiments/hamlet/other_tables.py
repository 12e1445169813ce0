"""The tables about documents, money and failures: sizes of trees (HAMLET, 8), pruning (C), cost, what went wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from redraft.domain import KeyFact, Perspective, Totals, Tree
from redraft.experiments.hamlet.records import KEYFACTS, Item, Subject
from redraft.experiments.stages import DRAFTING, JUDGING
from redraft.packs.keyfacts import ALL, LEVELS, ORPHANED, UNJUDGED, share
from redraft.reports.tables import Cell, Table, mean

_DIMENSIONS = ("faithfulness", "objectivity", "significance", ORPHANED, UNJUDGED)
_BOTH = "both"


def size_table(subjects: Sequence[Subject], perspectives: Sequence[Perspective]) -> Table:
    """Table 8: how many facts the documents have."""
    known = [subject for subject in subjects if subject.keyfacts]
    rows: list[tuple[Cell, ...]] = [
        (subject.document.title, perspective, subject.tokens, *_sizes([subject], perspective))
        for subject in known
        for perspective in perspectives
    ]
    for perspective in perspectives if len(known) > 1 else ():
        total = _sizes(known, perspective)
        tokens = sum(subject.tokens for subject in known)
        rows.append(("total", perspective, tokens, *total))
        rows.append(("mean", perspective, tokens / len(known), *(number / len(known) for number in total)))
    return Table(
        "sizes",
        "Documents and their trees (HAMLET, table 8)",
        "Key facts that passed validation. A document has at most one tree for each chunk and perspective; queries are"
        " the trees that one came back for.",
        _documents(subjects),
        ("document", "perspective", "tokens", "trees", "queries", *LEVELS, "facts", "unjudged"),
        tuple(rows),
    )


def _sizes(subjects: Iterable[Subject], perspective: Perspective) -> tuple[int, ...]:
    trees = [tree for subject in subjects for tree in _trees(subject, (perspective,))]
    kept = [fact for tree in trees for fact in tree.kept]
    levels = Counter(fact.level for fact in kept)
    queries = sum(bool(tree.query) for tree in trees)
    unjudged = sum(_objected(fact, UNJUDGED) for tree in trees for fact in tree.facts)
    return (len(trees), queries, *(levels[level] for level in LEVELS), len(kept), unjudged)


def pruning_table(subjects: Sequence[Subject], perspectives: Sequence[Perspective]) -> Table:
    """Appendix C: how many facts did not pass validation, and why."""
    groups: list[tuple[str, Sequence[Perspective]]] = [(one, (one,)) for one in perspectives]
    if len(groups) > 1:
        groups.append((_BOTH, perspectives))
    rows: list[tuple[Cell, ...]] = []
    for name, chosen in groups:
        facts = [fact for subject in subjects for tree in _trees(subject, chosen) for fact in tree.facts]
        for level in (*LEVELS, ALL):
            found = [fact for fact in facts if level in (fact.level, ALL)]
            gone = sum(not fact.kept for fact in found)
            reasons = [sum(_objected(fact, dimension) for fact in found) for dimension in _DIMENSIONS]
            rows.append((name, level, len(found), gone, share(gone, len(found)), *reasons))
    return Table(
        "pruning",
        "Key facts that did not pass validation (HAMLET, appendix C)",
        "Pooled over the facts of all documents. A fact may fail in several dimensions; one that hangs from a pruned"
        " fact is orphaned, and one that nobody gave a verdict on is unjudged.",
        _documents(subjects),
        ("perspective", "level", "found", "pruned", "share", *_DIMENSIONS),
        tuple(rows),
    )


def cost_table(subjects: Sequence[Subject], items: Sequence[Item]) -> Table:
    """What each step takes, by itself and in all."""
    found = [subject for subject in subjects if subject.keyfacts]
    rows = [_cost_row(KEYFACTS, "", [one.usage for one in found], [one.usage for one in subjects])]
    for stage in (DRAFTING, JUDGING):
        for model in dict.fromkeys(item.model for item in items):
            own = [item for item in items if item.model == model]
            done = [item.usage.get(stage) for item in own if item.status == "done"]
            rows.append(_cost_row(stage, model, done, [item.usage.get(stage) for item in own]))
    paid = [one.usage for one in subjects] + [one for item in items for one in item.usage.values()]
    rows.append(("total", "", None, *_cost_row("", "", [], paid)[3:]))
    done_, failed = (sum(item.status == status for item in items) for status in ("done", "failed"))
    return Table(
        "cost",
        "What it takes",
        "Means for one document (key facts), or for one summary that was drafted and judged; and all that was paid for,"
        " what failed included. Answers from the cache cost nothing and are counted apart; where a price is not known,"
        " neither is the cost.",
        f"{_documents(subjects)} Rests on {done_} of {len(items)} items; {failed} failed.",
        (
            "step",
            "summaries by",
            "done",
            "calls",
            "cached",
            "prompt tokens",
            "reply tokens",
            "USD",
            "all calls",
            "all USD",
        ),
        tuple(rows),
    )


def _cost_row(step: str, model: str, done: Sequence[Totals | None], paid: Sequence[Totals | None]) -> tuple[Cell, ...]:
    each, every = ([one for one in some if one is not None] for some in (done, paid))
    return (
        step,
        model,
        len(each),
        mean([one.calls for one in each]),
        mean([one.cached for one in each]),
        mean([one.prompt_tokens for one in each]),
        mean([one.completion_tokens for one in each]),
        None if _unpriced(each) else mean([one.cost_usd for one in each]),
        sum(one.calls for one in every),
        None if _unpriced(every) else sum((one.cost_usd or 0.0 for one in every), 0.0),
    )


def _unpriced(some: Iterable[Totals]) -> bool:
    return any(one.cost_usd is None for one in some)


def failure_table(subjects: Sequence[Subject], items: Sequence[Item]) -> Table:
    """What failed, and why."""
    rows: list[tuple[Cell, ...]] = [
        (one.document.title, None, None, "", one.failure.stage, one.failure.code, one.failure.message)
        for one in subjects
        if one.failure
    ]
    rows += [
        (one.title, one.chunk, one.perspective, one.model, one.failure.stage, one.failure.code, one.failure.message)
        for one in items
        if one.failure
    ]
    missing = sum(item.status == "not made" for item in items)
    return Table(
        "failures",
        "What failed",
        "Repeat the command to try it again; what is done is not done again.",
        f"{_documents(subjects)} {sum(item.failure is not None for item in items)} of {len(items)} items failed;"
        f" {missing} were not made.",
        ("document", "chunk", "perspective", "model", "stage", "code", "message"),
        tuple(rows),
    )


def _trees(subject: Subject, perspectives: Sequence[Perspective]) -> list[Tree]:
    trees = subject.keyfacts.trees if subject.keyfacts else ()
    return [tree for tree in trees if tree.perspective in perspectives]


def _objected(fact: KeyFact, dimension: str) -> bool:
    return any(one.dimension == dimension for one in fact.objections)


def _documents(subjects: Sequence[Subject]) -> str:
    known = [subject.keyfacts for subject in subjects if subject.keyfacts]
    failed = sum(subject.failure is not None for subject in subjects)
    unjudged = sum(_objected(fact, UNJUDGED) for found in known for tree in found.trees for fact in tree.facts)
    missing = sum(len(found.missing) for found in known)
    return (
        f"Rests on {len(known)} of {len(subjects)} document{'s' * (len(subjects) != 1)}; {failed} failed;"
        f" {unjudged} facts without a verdict; {missing} parts of trees that could not be had."
    )
