"""Key-fact recall, the share of the document's key facts that the summary states, and faithfulness, the share of the
summary's sentences that the document supports, both by level (HAMLET, eqs. 1 and 2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from redraft.agents.evidence import CitedPlace, EvidenceBatch, EvidenceQuery, EvidenceReader, EvidenceSearch
from redraft.agents.judge import Attempt, Entries, EntryBudget, ItemResults, Judge, ask_all, in_parts
from redraft.domain import Evaluation, Finding, Span
from redraft.evaluators.base import (
    DISPUTED,
    Case,
    ConfiguredMetric,
    Evaluator,
    PanelVotes,
    Votes,
    bin_of,
    conciseness,
    mean_evaluation,
    panel_votes,
    votes_of,
)
from redraft.evaluators.metric_info import NONE
from redraft.evaluators.reference.keyfacts import ALL, LEVELS, ListedFact, fact_batches, items_of
from redraft.evaluators.statistics import mean, total
from redraft.prompts.contract import UNSURE, Unsure
from redraft.prompts.factual import ALIGN_FACTS, FACT_PROMPTS, VERIFY_SENTENCES, AlignInput, Category, Fact, VerifyInput
from redraft.prompts.qa import Statement
from redraft.text.sanitizer import one_line
from redraft.text.words import words_key

STATED, MISSING = "stated", "missing"
ALIGNMENT = EntryBudget(frame=48)
"""What an entry of a reply needs."""


FactAlignment = tuple[bool | None, frozenset[int]]
"""Whether a summary states a fact, None if the judge cannot tell; and the numbers of the sentences that do."""


async def align_facts(
    judge: Judge, statements: Sequence[Statement], facts: Sequence[str], reader: EvidenceReader
) -> ItemResults[list[FactAlignment]]:
    """Return what of the summary states each fact; a long summary is read in parts."""

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

    readings = map(align_part, reader.parts(statements))
    return await in_parts(readings, len(facts), lambda alignment: alignment[0])


async def align(case: Case, items: Sequence[ListedFact]) -> PanelVotes[list[FactAlignment]]:
    """Compare all facts with the summary, once per judge."""

    async def judged(judge: Judge, facts: Sequence[ListedFact]) -> Votes[list[FactAlignment]]:
        texts = [listed.fact.text for listed in facts]
        # A fact that several trees share is asked about once.
        place = {text: n for n, text in enumerate(dict.fromkeys(texts))}
        results = await align_facts(judge, case.statements, list(place), case.reader)
        aligned = {n: results.verdicts[place[text]] for n, text in enumerate(texts) if place[text] in results.verdicts}
        results = ItemResults(aligned, results.trouble)
        return votes_of(results, lambda stating: (STATED, 1.0) if stating else (MISSING, 0.0))

    return await panel_votes(case, items, STATED, judged)


def stating(aligned: PanelVotes[list[FactAlignment]], fact: int) -> list[int]:
    """Return the numbers of the sentences that state a fact according to the majority, in order."""
    if fact not in aligned.items or aligned.items[fact].verdict != STATED:
        return []
    return sorted({number for alignments in aligned.answers(fact) for _, numbers in alignments for number in numbers})


Shares = dict[str, dict[str, float | int | None]]


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

        def by_group(names: Sequence[str]) -> dict[str, Shares]:
            return {
                group: recalls(items, {n: value for n, value in values.items() if names[n] == group})
                for group in sorted(set(names))
            }

        by_position = by_group([bin_of(item.tree.position) for item in items])
        return mean_evaluation(
            self,
            aligned,
            findings=_missing_facts(items, aligned),
            held=[statement.sentence for statement in case.statements if statement.id in stated],
            details={
                "query": case.query,
                "by_level": recalls(items, values),
                "along_path": recalls(items, along_path(items, values)),
                "by_perspective": by_group([item.tree.perspective for item in items]),
                "by_position": by_position,
                "gap": gaps(by_position),
                "conciseness": conciseness(case.statements, stated),
                "facts": [
                    {
                        "chunk": item.tree.chunk,
                        "perspective": item.tree.perspective,
                        "id": item.fact.id,
                        "level": item.fact.level,
                        "fact": item.fact.text,
                        **aligned.shown(n),
                        "sentences": stating(aligned, n),
                    }
                    for n, item in enumerate(items)
                ],
            },
        )


def recalls(items: Sequence[ListedFact], values: Mapping[int, float]) -> Shares:
    """Equation 1 for each level and overall, over the facts with a value. A fact counts 1 if stated, 0 if missing, and
    where judges differ the share that finds it stated."""
    levels = {ALL: [*values]} | {level: [n for n in values if items[n].fact.level == level] for level in LEVELS}
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


def _missing_facts(items: Sequence[ListedFact], aligned: PanelVotes[list[FactAlignment]]) -> list[Finding]:
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


SUPPORTED = "none"
"""The category of a sentence without errors."""
NOT_SAID = "out_of_article"
"""The category of a sentence that the document does not mention."""
VERIFICATION = EntryBudget(frame=38, words=36, sentences=1)
"""What an entry of a reply needs."""
# Sentences are checked against shared passages: fewer at once leave less to read past.
_SENTENCES_NEAR = 12
_LONGEST_REASON = 400
_WHAT_IS_WRONG = {
    NOT_SAID: "The document does not say this.",
    "entity": "A name, number or pronoun differs from the document.",
    "relation": "The document describes this relation differently.",
    "sentence": "The document contradicts all of this.",
}
_OTHERWISE = "The judges do not agree on what is wrong with this."


class SentenceVerdict(CitedPlace):
    """The error of a sentence, as stored, with the closest place in the document."""

    category: Category | Unsure
    reason: str


class Faithfulness(ConfiguredMetric):
    """Judges every sentence against the document, or against the chunk whose query the summary answers. Key facts are
    not built for it; if available, the score is also given by level of the facts in each sentence."""

    name = "faithfulness"
    meaning = "How many sentences of the summary the document supports, from 0 to 1."
    version = 5
    prompts = FACT_PROMPTS
    item = "sentence"
    aim = "truth"
    uses = "keyfacts"
    begins_without = True
    heeds_query = True

    async def evaluate(self, case: Case) -> Evaluation:
        """Score the draft, and find each unsupported sentence with the closest evidence."""
        if not case.statements:
            return self.not_applicable("the summary has no sentence")
        in_chunk = case.query is not None and self.judging.verify_against == "chunk"
        trees = (await case.with_part()).trees if in_chunk else ()
        within = trees[0].span if trees else None
        # The paper compares an answer to a query only with the chunk of the query. Otherwise "not in the document" is a
        # verdict only after the whole document was read.
        all_settled = within is not None and case.reader.reading == "whole"

        async def votes(judge: Judge, statements: Sequence[Statement]) -> Votes[SentenceVerdict]:
            results = await verify_sentences(judge, statements, case.reader, within)
            settled = results.decided(
                lambda verdict: all_settled or verdict.category != NOT_SAID or verdict.is_from_whole
            )
            return votes_of(settled, lambda verdict: (str(verdict.category), float(verdict.category == SUPPORTED)))

        panel = await panel_votes(case, case.statements, SUPPORTED, votes)
        case = await case.with_part()
        items = items_of(case.trees)
        aligned = await align(case, items)
        # The levels of the facts in each sentence; nothing where no fact was aligned.
        levels: dict[int, set[str]] = {n: set() for n in range(len(case.statements))} if aligned.items else {}
        for fact in aligned.items:
            for number in stating(aligned, fact):
                levels[number - 1].add(items[fact].fact.level)
        wrong = Counter(item.verdict for item in panel.items.values() if item.verdict != SUPPORTED)
        values = {n: item.value for n, item in panel.items.items()}
        entries: list[dict[str, object]] = []
        for n, statement in enumerate(case.statements):
            verdict = next(iter(panel.answers(n)), None)
            cited = {"reason": verdict.reason, "place": verdict.place} if verdict else {"reason": "", "place": None}
            entries.append({"id": statement.id, **panel.shown(n), **cited})
            if levels:
                entries[-1]["levels"] = [level for level in LEVELS if level in levels[n]] or [NONE]
        return mean_evaluation(
            self,
            panel,
            # The unsupported sentences: those that most judges object to first, then in order.
            findings=[_error_finding(case.statements[n], n, panel) for n in panel.disputed_items()],
            details={
                "errors": dict(sorted(wrong.items())),
                "by_level": by_level(values, levels) if levels else None,
                "sentences": entries,
            },
        )


def by_level(values: Mapping[int, float], levels: Mapping[int, set[str]]) -> dict[str, dict[str, float | int | None]]:
    """Equation 2: the share of faithful sentences among those that state facts of a level, or none. `levels` has an
    entry for every sentence; a sentence with facts of several levels counts in each."""
    result: dict[str, dict[str, float | int | None]] = {}
    for level in (ALL, *LEVELS, NONE):
        group = [value for n, value in values.items() if level == ALL or level in (levels.get(n) or {NONE})]
        result[level] = {"faithfulness": mean(group), "faithful": total(group), "judged": len(group)}
    return result


def _error_finding(statement: Statement, n: int, panel: PanelVotes[SentenceVerdict]) -> Finding:
    poll = panel.items[n]
    kind = poll.objection
    if 2 * poll.counts[kind] <= poll.objections:
        kind = DISPUTED
    objections = [vote.answer for vote in poll.votes if vote.answer and vote.verdict != SUPPORTED]
    verdict = max(objections, key=lambda answer: (kind in (DISPUTED, answer.category), bool(answer.evidence)))
    # Only a contradicting quotation offers a replacement.
    otherwise = bool(verdict.evidence) and verdict.category != NOT_SAID
    read = verdict.scope.description if verdict.scope else ""
    return Finding(
        Faithfulness.name,
        kind,
        "correct" if otherwise else "remove",
        f"Not found in {read}." if kind == NOT_SAID and read else _WHAT_IS_WRONG.get(kind, _OTHERWISE),
        sentence=statement.sentence,
        expected=verdict.reason,
        evidence=verdict.evidence,
        said_by=poll.said_by,
        read=read,
        value=poll.value,
    )


async def verify_sentences(
    judge: Judge, statements: Sequence[Statement], reader: EvidenceReader, within: Span | None
) -> ItemResults[SentenceVerdict]:
    """Return the error of each sentence according to the document, or to the part `within` it."""

    async def ask(reading: EvidenceBatch, attempt: Attempt) -> Entries[SentenceVerdict]:
        batch = [statements[n].model_copy(update={"id": n + 1}) for n in reading.numbers]
        label = "read more for" if reading.wide else "verified"
        return await verify_batch(judge, reader, reading.spans, batch, label, attempt)

    each = VERIFICATION.tokens(judge.wording)
    fitting = max(1, judge.reply_tokens // each)
    sought = [EvidenceQuery(f"{statement.before} “{statement.sentence}”") for statement in statements]
    search = EvidenceSearch(
        *(reader, sought, each, min(fitting, _SENTENCES_NEAR), fitting, ask),
        silent=lambda verdict: verdict.category != SUPPORTED,
        objects=lambda verdict: bool(verdict.evidence) and verdict.category not in (SUPPORTED, NOT_SAID, UNSURE),
        unsure=lambda verdict: verdict.category == UNSURE,
        within=within,
    )
    items = [[reader.name, within, statement.before, statement.sentence] for statement in statements]
    results = await judge.verdicts(VERIFY_SENTENCES, SentenceVerdict, items, search.verdicts)
    return results.decided(lambda verdict: verdict.category != UNSURE)


async def verify_batch(
    judge: Judge, reader: EvidenceReader, spans: Sequence[Span], batch: list[Statement], label: str, attempt: Attempt
) -> Entries[SentenceVerdict]:
    """Ask for the errors of some sentences according to some places of the document."""
    verify_input = VerifyInput(**reader.fields(spans), sentences=batch)
    numbers = [statement.id - 1 for statement in batch]
    reply = await judge.ask_items(VERIFY_SENTENCES, verify_input, numbers, VERIFICATION, label, attempt)
    entries: list[tuple[int, SentenceVerdict]] = []
    for entry in reply.value.sentences:
        reason, evidence = one_line(entry.reason, _LONGEST_REASON), reader.quoted(entry.quote, spans)
        entries.append((entry.id - 1, SentenceVerdict(category=entry.category, reason=reason, evidence=evidence)))
    return reply, entries
