"""Faithfulness: the share of the summary's sentences that the document supports, by level (HAMLET, eq. 2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from redraft.agents.evidence import (
    CitedPlace,
    EvidenceBatch,
    EvidenceQuery,
    EvidenceReader,
    EvidenceSearch,
    document_fields,
)
from redraft.agents.judge import Attempt, Entries, EntryBudget, ItemResults, Judge
from redraft.domain import Evaluation, Finding, Span
from redraft.evaluators.base import (
    DISPUTED,
    Case,
    ConfiguredMetric,
    PanelVotes,
    Votes,
    mean_evaluation,
    panel_votes,
    votes_of,
)
from redraft.evaluators.keyfact_recall import align, stating
from redraft.evaluators.metric_info import NONE
from redraft.evaluators.reference.keyfacts import ALL, LEVELS, ListedFact, items_of
from redraft.evaluators.statistics import mean, total
from redraft.prompts.contract import UNSURE, Unsure
from redraft.prompts.factual import FACT_PROMPTS, VERIFY_SENTENCES, Category, VerifyInput
from redraft.prompts.qa import Statement
from redraft.text.sanitizer import one_line

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


_Verdicts = PanelVotes[SentenceVerdict]


@dataclass(frozen=True, slots=True)
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
        panel = await panel_votes(case, case.statements, SUPPORTED, partial(_votes, case, within))
        case = await case.with_part()
        levels = await _levels(case, items_of(case.trees))
        wrong = Counter(item.verdict for item in panel.items.values() if item.verdict != SUPPORTED)
        values = {n: item.value for n, item in panel.items.items()}
        return mean_evaluation(
            self,
            panel,
            # The unsupported sentences: those that most judges object to first, then in order.
            findings=[_finding(case.statements[n], n, panel) for n in panel.disputed_items()],
            details={
                "errors": dict(sorted(wrong.items())),
                "by_level": by_level(values, levels) if levels is not None else None,
                "sentences": [_shown(n, statement, panel, levels) for n, statement in enumerate(case.statements)],
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


async def _votes(
    case: Case, within: Span | None, judge: Judge, statements: Sequence[Statement]
) -> Votes[SentenceVerdict]:
    results = await verify_sentences(judge, statements, case.reader, within)
    # The paper compares an answer to a query only with the chunk of the query.
    if within is None or case.reader.reading != "whole":
        # "Not in the document" is a verdict only after the whole document was read.
        results = results.decided(lambda verdict: verdict.category != NOT_SAID or verdict.is_from_whole)
    return votes_of(results, lambda verdict: (str(verdict.category), float(verdict.category == SUPPORTED)))


async def _levels(case: Case, items: Sequence[ListedFact]) -> dict[int, set[str]] | None:
    """Return the levels of the facts in each sentence; None where no fact was aligned."""
    aligned = await align(case, items) if items else None
    if aligned is None or not aligned.items:
        return None
    place = {statement.id: n for n, statement in enumerate(case.statements)}
    levels: dict[int, set[str]] = {n: set() for n in place.values()}
    for fact in aligned.items:
        for number in stating(aligned, fact):
            levels[place[number]].add(items[fact].fact.level)
    return levels


def _finding(statement: Statement, n: int, panel: _Verdicts) -> Finding:
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


def _shown(n: int, statement: Statement, panel: _Verdicts, levels: Mapping[int, set[str]] | None) -> dict[str, object]:
    verdicts = panel.answers(n)
    entry: dict[str, object] = {
        "id": statement.id,
        **panel.shown(n),
        "reason": verdicts[0].reason if verdicts else "",
        "place": verdicts[0].place if verdicts else None,
    }
    if levels is not None:
        entry["levels"] = [level for level in LEVELS if level in levels[n]] or [NONE]
    return entry


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
    judge: Judge,
    reader: EvidenceReader,
    spans: Sequence[Span],
    sentences: list[Statement],
    label: str,
    attempt: Attempt,
) -> Entries[SentenceVerdict]:
    """Ask for the errors of some sentences according to some places of the document."""
    verify_input = VerifyInput(**document_fields(reader, spans), sentences=sentences)
    numbers = [statement.id - 1 for statement in sentences]
    reply = await judge.ask_items(VERIFY_SENTENCES, verify_input, numbers, VERIFICATION, label, attempt)
    entries: list[tuple[int, SentenceVerdict]] = []
    for entry in reply.value.sentences:
        reason, evidence = one_line(entry.reason, _LONGEST_REASON), reader.quoted(entry.quote, spans)
        entries.append((entry.id - 1, SentenceVerdict(category=entry.category, reason=reason, evidence=evidence)))
    return Entries.of(reply, entries)
