"""The items of the QA experiment and their frames: accuracy, similarity, abstention, and differences between models."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from statistics import fmean
from typing import ClassVar, Literal

from redraft.domain import computed
from redraft.evaluators.reference.keyfacts import ALL, share
from redraft.evaluators.similarity import Similarity
from redraft.lab.experiments.experiment import Item
from redraft.lab.experiments.frames import (
    ENDS,
    Frame,
    by_group,
    ends,
    frame_of,
    groups,
    interval_of_share,
    mean_of,
    summarize,
    values_of,
)
from redraft.lab.experiments.questioner import JudgedAnswer, Response
from redraft.lab.experiments.typed_questions import THIRDS, TYPES, Third, TypedQuestion, third_of
from redraft.prompts.qa import AnswerPair, yes_or_no
from redraft.report.tables import Cell
from redraft.runs.experiment_runner import Failure
from redraft.text.words import has_words

QUESTIONS, ANSWERS, VERDICTS = "questions", "answers", "verdicts"
"""The stages of the experiment."""
NO_ANSWER = "The document does not answer this question."
"""What an unanswerable question, or a model that abstains without a word, is taken to say."""
Place = Literal["read", "cut", "ahead"]
"""Whether a question's paragraph was read, was cut by the end of what was read, or lies after it."""
_MAX_LENGTHS, _DIGITS = 13, 6


@dataclass(frozen=True, slots=True)
class QaItem(Item):
    """One question to one model at one step. A None field does not exist."""

    label_form: ClassVar[str] = "{0.model}, {0.tokens:,} tokens"
    by_field: ClassVar[str] = "model"
    made_field: ClassVar[str] = "made"
    model: str
    step: int
    tokens: int
    question: TypedQuestion
    third: Third
    end: int | None = None
    """The number of characters that were read."""
    made: bool = True
    """Whether the model was asked."""
    response: Response | None = None
    trouble: str = ""
    """Why a question that was asked has no answer."""
    verdict: JudgedAnswer | None = None
    """The verdict on the answer, or on the reason of a yes-or-no question."""
    similarity: float | None = None
    alike: float | None = None
    """The similarity of all that was said to all of the reference, as the thesis compares answers of every type."""

    @property
    def failures(self) -> Iterable[Failure]:
        """What failed, and why there is no answer."""
        if self.failure is not None:
            yield self.failure
        elif self.response is None and self.trouble:
            yield Failure(ANSWERS, "passed over", self.trouble)

    @property
    def verdicts(self) -> tuple[int, int]:
        """The numbers of verdicts that were given, and that are missing."""
        is_judged = self.verdict is not None and self.verdict.right is not None
        return (0, 0) if self.pair is None else (int(is_judged), int(not is_judged))

    @computed
    def place(self) -> Place | None:
        """Whether the paragraph was read, was cut or lies ahead; None if nothing was read."""
        if self.end is None:
            return None
        start, end = self.question.paragraph
        return "read" if end <= self.end else "ahead" if start >= self.end else "cut"

    @computed
    def third_read(self) -> Third | None:
        """The third of what was read that the paragraph is in; None if it was not read completely."""
        return third_of(self.question.paragraph, self.end) if self.end and self.place == "read" else None

    @computed
    def should_abstain(self) -> bool:
        """True if there is nothing to answer from, in the document or in what was read of it."""
        return not self.question.is_answerable or self.place == "ahead"

    @property
    def abstained(self) -> bool | None:
        """True if the model said that there is no answer; None without a response."""
        return self.response.abstained if self.response else None

    @property
    def answer(self) -> Response | None:
        """The answer; None without a response or if the model abstained."""
        return self.response if self.response and not self.response.abstained else None

    @computed
    def yes_no(self) -> bool | None:
        """True if the yes or no is right, whatever the reason; None for other or unanswered questions."""
        if self.question.type != "binary" or self.answer is None:
            return None
        return yes_or_no(self.answer.answer) == self.question.answer

    @computed
    def correct(self) -> bool | None:
        """True if the model handled a question correctly whose paragraph it has read; None if unknown."""
        if self.response is None or self.place != "read":
            return None
        if self.response.abstained or not self.question.is_answerable:
            return self.response.abstained and not self.question.is_answerable
        judged_right = self.verdict.right if self.verdict else None
        return self.yes_no if self.question.type == "binary" else judged_right

    @property
    def pair(self) -> AnswerPair | None:
        """The pair to judge: an answer with its reference, or a reason with its own; None if there is neither."""
        if self.answer is None or not self.question.is_answerable:
            return None
        of_reason = self.question.type == "binary"
        text = self.answer.reason if of_reason else self.answer.answer
        reference = self.question.reason if of_reason else self.question.answer
        return AnswerPair(id=1, question=self.question.text, reference=reference, answer=text) if text else None

    def with_similarities(self, similarity: Similarity) -> QaItem:
        """Return the item with the similarities of the answer to the reference."""
        pair, response, question = self.pair, self.response, self.question
        if response is None:
            return self
        silent = response.abstained and not has_words(response.answer)
        answer = NO_ANSWER if silent else _in_full(response.answer, response.reason)
        reference = _in_full(question.answer, question.reason) if question.is_answerable else NO_ANSWER
        return replace(
            self,
            similarity=None if pair is None else round(similarity(pair.answer, pair.reference), _DIGITS),
            alike=round(similarity(answer, reference), _DIGITS),
        )


def _in_full(answer: str, reason: str) -> str:
    """Return an answer with its reason, if it has one."""
    return f"{answer}: {reason}" if reason else answer


_COLUMNS = ("document", "model", "step", "tokens", "third", "third_read", "place", "correct", "yes_no", "similarity",
            "alike", "should_abstain", "abstained")  # fmt: skip


def question_frame(items: Sequence[QaItem]) -> Frame:
    """Return the items as a frame, with the length that was read."""
    lengths = group_by_length({(item.document, item.step): item.tokens for item in items})
    rows = []
    for item in items:
        row: dict[str, object] = {name: getattr(item, name) for name in _COLUMNS}
        row |= {"type": item.question.type, "question": (item.document, item.question.id)}
        row |= {"silent": item.response is None, "answerable": item.question.is_answerable}
        rows.append({**row, "tokens": lengths[item.document, item.step]})
    return frame_of(rows, (*_COLUMNS, "type", "question", "silent", "answerable")).rename(
        columns={"third_read": "third read"}
    )


def group_by_length(read: Mapping[tuple[str, int], int]) -> dict[tuple[str, int], int]:
    """Return for each step of a document the mean length of the steps of about that length. Short documents have other
    steps than long ones, so the nearest groups are merged until there are at most as many as the thesis has steps."""
    steps = [[step for step, length in read.items() if length == tokens] for tokens in sorted({*read.values()})]
    while len(steps) > _MAX_LENGTHS:
        spans = [read[after[-1]] - read[before[0]] for before, after in pairwise(steps)]
        at = spans.index(min(spans))
        steps[at : at + 2] = [steps[at] + steps[at + 1]]
    return {step: round(fmean(read[step_key] for step_key in group)) for group in steps for step in group}


def accuracy_of(chosen: Frame) -> dict[str, Cell]:
    """Return an accuracy, its interval, and what it is based on."""
    judged_rows = chosen[chosen["correct"].notna()]
    # A question that several steps have read is resampled with all its answers.
    parts = [(float(sum(group["correct"])), float(len(group))) for _, group in groups(judged_rows, "question")]
    interval, silent = interval_of_share(parts), int(sum(chosen["silent"]))
    between = (round(interval.low, _DIGITS), round(interval.high, _DIGITS)) if interval else (None, None)
    return {
        "accuracy": mean_of(judged_rows["correct"]),
        **dict(zip(ENDS, between, strict=True)),
        "right": int(sum(judged_rows["correct"])),
        "judged": len(judged_rows),
        "unjudged": len(chosen) - len(judged_rows) - silent,
        "no answer": silent,
        "of": len(chosen),
        "similarity": mean_of(chosen["similarity"]),
    }


def accuracy_frame(items: Sequence[QaItem], by: Mapping[str, Sequence[object]]) -> Frame:
    """Return the accuracy of each model by some columns, over the questions whose paragraph was read."""
    frame = question_frame(items)
    order: dict[str, Sequence[object]] = {"model": list(frame["model"].unique()), **by}
    if "tokens" in by:
        order["tokens"] = sorted(frame["tokens"].unique())
    return summarize(frame[frame["place"] == "read"], order, accuracy_of)


def similarity_frame(items: Sequence[QaItem]) -> Frame:
    """Return the mean similarity of answers by model, type and third of what was read (table 6.2)."""
    frame = question_frame(items)
    figures = {"similarity": "alike", "yes or no right": "yes_no", "similarity of reasons": "similarity"}

    def rows_of(answers: Frame) -> Iterator[dict[str, object]]:
        for of_type in (*TYPES, ALL):
            chosen = answers if of_type == ALL else answers[answers["type"] == of_type]
            for name, column in list(figures.items())[: 3 if of_type == "binary" else 1]:
                in_third = [chosen[chosen["third read"] == third][column] for third in THIRDS]
                thirds = dict(zip(map(str, THIRDS), map(mean_of, in_third), strict=True))
                every = {ALL: mean_of(chosen[column]), "answers": len(values_of(chosen[column]))}
                yield {"type": of_type, "figure": name, **thirds, **every}

    return by_group(frame[frame["place"] == "read"], ("model",), rows_of)


def difference_frame(items: Sequence[QaItem]) -> Frame:
    """Return how much more often one model is right than another, on the same questions at the same steps."""
    frame = question_frame(items)
    judged_rows = frame[(frame["place"] == "read") & frame["correct"].notna()].astype({"correct": float})
    rows = []
    for first, second in combinations(frame["model"].unique(), 2):
        sides = [judged_rows[judged_rows["model"] == model] for model in (first, second)]
        both = sides[0].merge(sides[1][["question", "step", "correct"]], on=["question", "step"])
        both["gap"] = both["correct_x"] - both["correct_y"]
        for of_type in (ALL, *TYPES):
            chosen = both if of_type == ALL else both[both["type"] == of_type]
            gaps = [fmean(group["gap"]) for _, group in groups(chosen, "question")]
            means = {"difference": mean_of(gaps), **ends(gaps), "questions": len(gaps)}
            rows.append({"first": first, "second": second, "type": of_type, **means})
    return frame_of(rows, () if rows else ("first", "second", "type", "difference", *ENDS, "questions"))


def abstention_frame(items: Sequence[QaItem]) -> Frame:
    """Return how often each model said that there is no answer, rightly, wrongly, or not at all."""

    def rows_of(frame: Frame) -> Iterator[dict[str, object]]:
        answerable, place = frame["answerable"].astype(bool), frame["place"]
        cases = {
            "no answer in the document": ~answerable,
            "not read yet": answerable & (place == "ahead"),
            "read": answerable & (place == "read"),
            ALL: (place != "cut") | ~answerable,
        }
        for name, case in cases.items():
            chosen = frame[case & place.notna()]
            answered_rows = chosen[chosen["abstained"].notna()]
            due, abstained = answered_rows["should_abstain"].astype(bool), answered_rows["abstained"].astype(bool)
            right, missed, wrong = (int(sum(flags)) for flags in (due & abstained, due & ~abstained, ~due & abstained))
            counts = {"right": right, "missed": missed, "wrong": wrong, "of": len(answered_rows)}
            silent = {"no answer": len(chosen) - len(answered_rows), "share right": share(right, right + missed)}
            yield {"answer": name, **counts, **silent}

    return by_group(question_frame(items), ("model",), rows_of)
