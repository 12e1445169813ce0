"""Key-fact recall: the share of the document's key facts that the summary states, by level (HAMLET, eq. 1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from redraft.agents.evidence import EvidenceReader
from redraft.agents.judge import Attempt, Entries, EntryBudget, ItemResults, Judge, ask_all, first_error, gather_all
from redraft.domain import Evaluation, Finding
from redraft.evaluators.base import (
    Case,
    Evaluator,
    PanelVotes,
    Votes,
    bin_of,
    conciseness,
    mean_evaluation,
    panel_votes,
    votes_of,
)
from redraft.evaluators.reference.keyfacts import ALL, LEVELS, ListedFact, fact_batches, items_of
from redraft.evaluators.statistics import mean, total
from redraft.prompts.contract import UNSURE
from redraft.prompts.factual import ALIGN_FACTS, FACT_PROMPTS, AlignInput, Fact
from redraft.prompts.qa import Statement
from redraft.text.words import words_key

STATED, MISSING = "stated", "missing"
ALIGNMENT = EntryBudget(frame=48)
"""What an entry of a reply needs."""


FactAlignment = tuple[bool | None, frozenset[int]]
"""Whether a summary states a fact, None if the judge cannot tell; and the numbers of the sentences that do."""


async def align_facts(
    judge: Judge, statements: Sequence[Statement], facts: Sequence[str], reader: EvidenceReader
) -> ItemResults[FactAlignment]:
    """Return whether the summary states each fact, and in which sentences; a long summary is read in parts."""

    async def align_part(part: Sequence[Statement]) -> ItemResults[FactAlignment]:
        ids = {statement.id for statement in part}

        async def ask(numbers: Sequence[int], attempt: Attempt) -> Entries[FactAlignment]:
            listed = [Fact(id=n + 1, fact=facts[n]) for n in numbers]
            align_input = AlignInput(sentences=list(part), facts=listed)
            reply = await judge.ask_items(ALIGN_FACTS, align_input, numbers, ALIGNMENT, "aligned", attempt)
            entries: list[tuple[int, FactAlignment]] = []
            for alignment in reply.value.facts:
                # Only the answer counts, as in the paper; the sentences are optional.
                stated = None if alignment.stated == UNSURE else alignment.stated == "yes"
                sentences = frozenset(ids.intersection(alignment.sentences) if stated else ())
                entries.append((alignment.id - 1, (stated, sentences)))
            return reply, entries

        batches = fact_batches(len(facts), judge.reply_tokens, ALIGNMENT.tokens(judge.wording))
        return await ask_all(batches, ask)

    parts = await gather_all(align_part(part) for part in reader.parts(statements))
    verdicts: dict[int, FactAlignment] = {}
    undecided: dict[int, FactAlignment] = {}
    for n in range(len(facts)):
        alignments = [part.verdicts[n] for part in parts if n in part.verdicts]
        stated = any(stated_there for stated_there, _ in alignments)
        sentences = frozenset[int]().union(*(numbers for _, numbers in alignments))
        # A summary lacks a fact only if every part was read and none left it open.
        settled = stated or [stated_there for stated_there, _ in alignments] == [False] * len(parts)
        (verdicts if settled else undecided)[n] = (stated, sentences)
    return ItemResults(verdicts, first_error(parts), undecided)


async def align(case: Case, items: Sequence[ListedFact]) -> PanelVotes[FactAlignment]:
    """Compare all facts with the summary, once per judge."""

    async def judged(judge: Judge, facts: Sequence[ListedFact]) -> Votes[FactAlignment]:
        texts = [listed.fact.text for listed in facts]
        # A fact that several trees share is asked about once.
        place = {text: n for n, text in enumerate(dict.fromkeys(texts))}
        results = await align_facts(judge, case.statements, list(place), case.reader)
        aligned = {n: results.verdicts[place[text]] for n, text in enumerate(texts) if place[text] in results.verdicts}
        alignments = ItemResults(aligned, results.trouble)
        return votes_of(alignments, lambda alignment: (STATED, 1.0) if alignment[0] else (MISSING, 0.0))

    return await panel_votes(case, items, STATED, judged)


def stating(aligned: PanelVotes[FactAlignment], fact: int) -> list[int]:
    """Return the numbers of the sentences that state a fact according to the majority, in order."""
    if fact not in aligned.items or aligned.items[fact].verdict != STATED:
        return []
    return sorted({number for _, numbers in aligned.answers(fact) for number in numbers})


Shares = dict[str, dict[str, float | int | None]]


@dataclass(frozen=True, slots=True)
class KeyfactRecall(Evaluator):
    """Compares the key facts of the document with a summary, or those of the tree whose query it answers."""

    name = "keyfact_recall"
    title = "Key fact recall"
    meaning = "How many of the document's key facts the summary states, from 0 to 1."
    version = 3
    prompts = FACT_PROMPTS
    item = "fact"
    aim = "content"
    needs = uses = "keyfacts"
    heeds_query = True

    async def evaluate(self, case: Case) -> Evaluation:
        """Score the draft, and find the missing facts: roots first, then branches, then leaves."""
        if not case.statements:
            return self.not_applicable("the summary has no sentence")
        items = items_of(case.trees)
        if not items:
            no_tree = "no key facts answer the run's query: only a query of the key facts has facts of its own"
            nothing = "the document has no key facts from this perspective"
            return self.not_applicable(nothing if case.query is None else no_tree)
        aligned = await align(case, items)
        stated = {number for n in aligned.items for number in stating(aligned, n)}
        values = {n: item.value for n, item in aligned.items.items()}
        groups: dict[str, list[str]] = {
            "by_perspective": [item.tree.perspective for item in items],
            "by_position": [bin_of(item.tree.position) for item in items],
        }
        by_group: dict[str, dict[str, Shares]] = {}
        for name, names in groups.items():
            numbers = {
                group: [n for n, of_fact in enumerate(names) if of_fact == group] for group in sorted(set(names))
            }
            by_group[name] = {group: recalls(items, values, chosen) for group, chosen in numbers.items()}
        return mean_evaluation(
            self,
            aligned,
            findings=_findings(items, aligned),
            held=[statement.sentence for statement in case.statements if statement.id in stated],
            details={
                "query": case.query,
                "by_level": recalls(items, values, range(len(items))),
                "along_path": recalls(items, along_path(items, values), range(len(items))),
                **by_group,
                "gap": gaps(by_group["by_position"]),
                "conciseness": conciseness(case.statements, stated),
                "facts": [_shown(n, item, aligned) for n, item in enumerate(items)],
            },
        )


def recalls(items: Sequence[ListedFact], values: Mapping[int, float], chosen: Iterable[int]) -> Shares:
    """Equation 1 for each level and overall, over the chosen facts with a verdict. A fact counts 1 if stated, 0 if
    missing, and where judges differ the share that finds it stated."""
    numbers = [n for n in chosen if n in values]
    levels = {ALL: numbers} | {level: [n for n in numbers if items[n].fact.level == level] for level in LEVELS}
    return {
        level: {
            "recall": mean([values[n] for n in of_level]),
            "stated": total(values[n] for n in of_level),
            "judged": len(of_level),
        }
        for level, of_level in levels.items()
    }


def along_path(items: Sequence[ListedFact], values: Mapping[int, float]) -> dict[int, float]:
    """Return the values of the facts as far as all facts above them are stated; a fact with an open one is left out."""
    path_values: dict[tuple[int, str, int], float] = {}
    result: dict[int, float] = {}
    for n, item in enumerate(items):  # depth first: what is above a fact precedes it
        tree = (item.tree.chunk, item.tree.perspective)
        above = 1.0 if item.fact.parent is None else path_values.get((*tree, item.fact.parent))
        if n in values and above is not None:
            result[n] = path_values[*tree, item.fact.id] = min(values[n], above)
    return result


def gaps(by_position: Mapping[str, Shares]) -> dict[str, float | None]:
    """Return by level the difference in recall between the best and the worst fifth of the document. Fifths without
    facts of a level are skipped; None where fewer than two have any."""
    gap_of: dict[str, float | None] = {}
    for level in (ALL, *LEVELS):
        recall_of_fifths = [value for bin_ in by_position.values() if (value := bin_[level]["recall"]) is not None]
        gap_of[level] = max(recall_of_fifths) - min(recall_of_fifths) if len(recall_of_fifths) > 1 else None
    return gap_of


def _shown(n: int, item: ListedFact, aligned: PanelVotes[FactAlignment]) -> dict[str, object]:
    return {
        "chunk": item.tree.chunk,
        "perspective": item.tree.perspective,
        "id": item.fact.id,
        "level": item.fact.level,
        "fact": item.fact.text,
        **aligned.shown(n),
        "sentences": stating(aligned, n),
    }


def _findings(items: Sequence[ListedFact], aligned: PanelVotes[FactAlignment]) -> list[Finding]:
    order = sorted(aligned.items, key=lambda n: (LEVELS.index(items[n].fact.level), n))
    missing = aligned.disputed_items(order)
    # A fact that several trees share is added once.
    first_places = set({words_key(items[n].fact.text): n for n in reversed(missing)}.values())
    return [
        Finding(
            KeyfactRecall.name,
            f"missing {items[n].fact.level}",
            "add",
            "The summary does not state this key fact.",
            expected=items[n].fact.text,
            evidence=items[n].fact.evidence,
            said_by=aligned.items[n].said_by,
            value=aligned.items[n].value,
        )
        for n in missing
        if n in first_places
    ]
