"""The other tables: what was read, abstention, yes and no, two measures side by side, questions, cost, failures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from redraft.agreement.raters import cohens_kappa
from redraft.domain import Totals
from redraft.experiments.qa.counting import ALL, Tally, lengths
from redraft.experiments.qa.records import ANSWERS, QUESTIONS, VERDICTS, Cell, Item, Subject
from redraft.experiments.stages import DRAFTING
from redraft.packs.keyfacts import share
from redraft.questions import THIRDS, TYPES
from redraft.reports.tables import Cell as TableCell
from redraft.reports.tables import Table

Rows = list[tuple[TableCell, ...]]
_ASKED = "{} of {} questions put have no answer: they failed, were not made, or nothing was said."


def _basis(items: Sequence[Item]) -> str:
    return _ASKED.format(sum(item.response is None for item in items), len(items))


def reading_table(items: Sequence[Item]) -> Table:
    """What models say to questions that have an answer, before they have read it and after."""
    rows: Rows = []
    for model in Tally(items).models:
        for place, name in (("ahead", "not read yet"), ("read", "read")):
            own = [one for one in items if one.model == model and one.place == place and one.question.is_answerable]
            given = [one for one in own if one.given]
            right = sum(one.answered_right is True for one in given)
            wrong = sum(one.answered_right is False for one in given)
            silent = sum(one.response is None for one in own)
            unjudged, abstained = len(given) - right - wrong, sum(one.abstained is True for one in own)
            rows.append((model, name, len(own), right, wrong, unjudged, abstained, silent, share(right, right + wrong)))
    return Table(
        "reading",
        "Answers before and after the paragraph was read",
        "Questions that have an answer. A right answer before its paragraph was read was guessed, known from elsewhere,"
        " or told elsewhere in the document; the share is of the answers with a verdict.",
        _basis(items),
        ("model", "paragraph", "questions", "right", "wrong", "unjudged", "abstained", "no answer", "share right"),
        tuple(rows),
    )


_ABSTENTION: tuple[tuple[str, Callable[[Item], bool]], ...] = (
    ("no answer in the document", lambda one: not one.question.is_answerable),
    ("not read yet", lambda one: one.question.is_answerable and one.place == "ahead"),
    ("read", lambda one: one.question.is_answerable and one.place == "read"),
    (ALL, lambda one: one.place != "cut" or not one.question.is_answerable),
)


def abstention_table(items: Sequence[Item]) -> Table:
    """Whether models say that there is no answer where there is none, and only there."""
    rows: Rows = []
    for model in Tally(items).models:
        for name, belongs in _ABSTENTION:
            own = [one for one in items if one.model == model and one.place and belongs(one)]
            told = [one for one in own if one.response]
            right = sum(bool(one.abstained) for one in told if one.should_abstain)
            missed = sum(not one.abstained for one in told if one.should_abstain)
            wrong = sum(bool(one.abstained) for one in told if not one.should_abstain)
            rows.append(
                (model, name, right, missed, wrong, len(told), len(own) - len(told), share(right, right + missed))
            )
    return Table(
        "abstention",
        "Abstention",
        "Right: it said that there is no answer, where there is none in the document or its paragraph was not read yet."
        " Missed: it answered all the same. Wrong: it said so of a question whose answer it had read. The share is of"
        " those of which it should have said so. Refusals in other words count as abstention.",
        _basis(items),
        ("model", "answer", "right", "missed", "wrong", "of", "no answer", "share right"),
        tuple(rows),
    )


def yes_no_table(items: Sequence[Item]) -> Table:
    """Yes and no apart from their reasons."""
    rows: Rows = []
    for model in Tally(items).models:
        own = [one for one in Tally(items).read.only(model=model, of_type="binary").items if one.given]
        found = Counter((one.yes_no, one.judged_right) for one in own)
        rows += [
            (model, said, found[right, True], found[right, False], found[right, None], _number(found, right))
            for said, right in (("right", True), ("wrong", False))
        ]
    return Table(
        "yes_no",
        "Yes and no, and the reasons given",
        "Questions of yes or no that were answered after their paragraph was read. Whether yes or no is right needs no"
        " judge; whether the reason is, is the judge's verdict. A reason that was not given has none.",
        _basis([one for one in items if one.question.type == "binary"]),
        ("model", "yes or no", "reason right", "reason wrong", "reason without verdict", "of"),
        tuple(rows),
    )


def _number(found: Counter[tuple[bool | None, bool | None]], right: bool) -> int:
    return sum(count for (said, _), count in found.items() if said is right)


_FOUR = ((True, True), (True, False), (False, True), (False, False))


def agreement_table(items: Sequence[Item], threshold: float, measure: str) -> Table:
    """Whether the judge calls right what is alike."""
    rows: Rows = []
    for model in (*Tally(items).models, ALL):
        pairs = [
            (one.similarity > threshold, one.judged_right)
            for one in Tally(items).only(model=model).items
            if one.similarity is not None and one.judged_right is not None
        ]
        found = Counter(pairs)
        both, alike, judged, neither = (found[pair] for pair in _FOUR)
        kappa = cohens_kappa([one for one, _ in pairs], [other for _, other in pairs]) if pairs else None
        rows.append((model, both, alike, judged, neither, len(pairs), share(both + neither, len(pairs)), kappa))
    return Table(
        "agreement",
        "Similarity and verdict beside each other",
        f"Answers, and reasons of yes and no, that have both. Alike is what has a similarity ({measure}) of more than"
        f" {threshold} to the reference. Kappa is Cohen's.",
        _basis(items),
        ("model", "alike and right", "alike, not right", "right, not alike", "neither", "of", "equal", "kappa"),
        tuple(rows),
    )


def question_table(subjects: Sequence[Subject]) -> Table:
    """Which questions there are."""
    rows: Rows = []
    for subject in subjects:
        asked = subject.questions
        found = Counter((one.type, asked.third(one)) for one in asked.questions) if asked else Counter()
        rows += [(subject.document.title, of, *(found[of, third] for third in THIRDS)) for of in TYPES]
    missing = [one for subject in subjects if subject.questions for one in subject.questions.missing]
    lost = sum(subject.questions is None for subject in subjects)
    return Table(
        "questions",
        "Questions by type and third",
        "Each was made from one paragraph of its third. What could not be had: "
        + ("; ".join(missing) or "nothing")
        + ".",
        f"{lost} of {len(subjects)} documents have no questions.",
        ("document", "type", *THIRDS),
        tuple(rows),
    )


def cost_table(subjects: Sequence[Subject], cells: Sequence[Cell]) -> Table:
    """What each stage took."""
    parts: list[tuple[str, str, int | None, list[Totals]]] = [
        (QUESTIONS, "the judge", None, [one.usage[QUESTIONS] for one in subjects if QUESTIONS in one.usage])
    ]
    for model in dict.fromkeys(cell.model for cell in cells):
        for length in lengths({(cell.document, cell.step.number): cell.step.tokens for cell in cells}):
            own = [one for one in cells if one.model == model and (one.document, one.step.number) in length.steps]
            if drafts := [one.drafting for one in own if one.drafting]:
                parts.append((DRAFTING, model, length.tokens, drafts))
            parts.append((ANSWERS, model, length.tokens, [one.usage for one in own if one.usage]))
    parts.append((VERDICTS, "the judge", None, [one.usage[VERDICTS] for one in subjects if VERDICTS in one.usage]))
    everything = [used for *_, some in parts for used in some]
    return Table(
        "cost",
        "What it took",
        "All that was paid for, what failed included. Answers from the cache cost nothing and are counted apart; where"
        " a price is not known, neither is the cost.",
        f"{sum(cell.status == 'done' for cell in cells)} of {len(cells)} times that a model was asked about a document"
        " are done.",
        ("stage", "by", "tokens read", "calls", "cached", "prompt tokens", "reply tokens", "USD"),
        (
            *((stage, by, tokens, *_sums(some)) for stage, by, tokens, some in parts),
            ("total", "", None, *_sums(everything)),
        ),
    )


def _sums(some: Sequence[Totals]) -> tuple[TableCell, ...]:
    unpriced = any(one.cost_usd is None for one in some)
    return (
        sum(one.calls for one in some),
        sum(one.cached for one in some),
        sum(one.prompt_tokens for one in some),
        sum(one.completion_tokens for one in some),
        None if unpriced else sum((one.cost_usd or 0.0 for one in some), 0.0),
    )


def failure_table(subjects: Sequence[Subject], cells: Sequence[Cell]) -> Table:
    """What failed, and why; with what models passed over."""
    titles = {one.document.id: one.document.title for one in subjects}
    rows: Rows = [
        (one.document.title, "the judge", None, failed.stage, failed.code, failed.message)
        for one in subjects
        for failed in one.failures
    ]
    for one in cells:
        where = (titles[one.document], one.model, one.step.tokens)
        if one.failure:
            rows.append((*where, one.failure.stage, one.failure.code, one.failure.message))
        elif one.trouble:
            rows.append((*where, ANSWERS, "passed over", one.trouble))
    missing = sum(cell.status == "not made" for cell in cells)
    return Table(
        "failures",
        "What failed",
        "Repeat the command to try it again; what is done is not done again.",
        f"{sum(cell.failure is not None for cell in cells)} of {len(cells)} times that a model was asked about a"
        f" document failed; {missing} were not made.",
        ("document", "by", "tokens read", "stage", "code", "message"),
        tuple(rows),
    )
