"""The QA experiment: models answer typed questions about a document of which they read more and more (thesis, 6.3)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations, pairwise, product
from math import ceil
from statistics import fmean
from typing import Any, Literal

from redraft.agents.judge import gather_all, wording_of
from redraft.domain import Document, computed
from redraft.errors import PlanError, Set, UsageError
from redraft.evaluators.consistency import Similarity, similarity
from redraft.evaluators.reference.keyfacts import ALL, share
from redraft.events import Notice
from redraft.graphs.prepared import PreparedDocument, tokenizer_of
from redraft.graphs.strategies import strategy_named
from redraft.lab.experiments import frames, questioner
from redraft.lab.experiments.experiment import MAX_LINES, Experiment, NamedFrame
from redraft.lab.experiments.frames import Frame
from redraft.lab.experiments.orders import Asked, QaOrder, Seats
from redraft.lab.experiments.runner import DRAFTING, Cell, GuardedStage, Item, RunBatch, check_work
from redraft.order import ExperimentPart, Summarize
from redraft.prompts.qa import ANSWER_QUESTIONS, JUDGE_ANSWERS, AnswerPair, yes_or_no
from redraft.report.tables import Table, figure, number, plain
from redraft.runs.experiment_runner import ExperimentRunner, Failure, RunWatch
from redraft.runs.prepare import prepare
from redraft.settings import EXTRACTIVE, DraftConfig, JudgeConfig, reads_prompts
from redraft.text.chunks import beginning
from redraft.text.languages import language_context
from redraft.text.vectors import load_encoder
from redraft.text.words import count_words, has_words

QUESTIONS, ANSWERS, VERDICTS = "questions", "answers", "verdicts"
"""The stages of the experiment."""
NO_ANSWER = "The document does not answer this question."
"""What an unanswerable question, or a model that abstains without a word, is taken to say."""
Place = Literal["read", "cut", "ahead"]
"""Whether a question's paragraph was read, was cut by the end of what was read, or lies after it."""
_MAX_LENGTHS, _DIGITS = 13, 6


@dataclass(frozen=True, slots=True)
class QaItem(Item, label="{0.model}, {0.tokens:,} tokens", by="{0.model}", made="made"):
    """One question to one model at one step. A None field does not exist."""

    model: str
    step: int
    tokens: int
    question: questioner.TypedQuestion
    third: questioner.Third
    end: int | None = None
    """The number of characters that were read."""
    made: bool = True
    """Whether the model was asked."""
    response: questioner.Response | None = None
    trouble: str = ""
    """Why a question that was asked has no answer."""
    verdict: questioner.JudgedAnswer | None = None
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
    def third_read(self) -> questioner.Third | None:
        """The third of what was read that the paragraph is in; None if it was not read completely."""
        return questioner.third_of(self.question.paragraph, self.end) if self.end and self.place == "read" else None

    @computed
    def should_abstain(self) -> bool:
        """True if there is nothing to answer from, in the document or in what was read of it."""
        return not self.question.is_answerable or self.place == "ahead"

    @property
    def answer(self) -> questioner.Response | None:
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
        answer, reference = (
            f"{text}: {reason}" if reason else text
            for text, reason in ((response.answer, response.reason), (question.answer, question.reason))
        )
        answer, reference = NO_ANSWER if silent else answer, reference if question.is_answerable else NO_ANSWER
        of_pair = None if pair is None else round(similarity(pair.answer, pair.reference), _DIGITS)
        return replace(self, similarity=of_pair, alike=round(similarity(answer, reference), _DIGITS))


_COLUMNS = ("document", "model", "step", "tokens", "third", "third_read", "place", "correct", "yes_no", "similarity")
_MORE = ("alike", "should_abstain")


def question_frame(items: Sequence[QaItem]) -> Frame:
    """Return the items as a frame, with the length that was read."""
    lengths = group_by_length({(item.document, item.step): item.tokens for item in items})
    rows = []
    for item in items:
        row: dict[str, object] = {name: getattr(item, name) for name in (*_COLUMNS, *_MORE)}
        row |= {"type": item.question.type, "question": (item.document, item.question.id)}
        row |= {"abstained": item.response.abstained if item.response else None}
        row |= {"silent": item.response is None, "answerable": item.question.is_answerable}
        row |= {"unjudged": item.response is not None and item.correct is None}
        rows.append({**row, "tokens": lengths[item.document, item.step]})
    columns = (*_COLUMNS, *_MORE, "abstained", "type", "question", "silent", "answerable", "unjudged")
    return frames.frame_of(rows, columns).rename(columns={"third_read": "third read"})


def group_by_length(read: Mapping[tuple[str, int], int]) -> dict[tuple[str, int], int]:
    """Return for each step of a document the mean length of the steps of about that length. Short documents have other
    steps than long ones, so the nearest groups are merged until there are at most as many as the thesis has steps."""
    steps = [[step for step, length in read.items() if length == tokens] for tokens in sorted({*read.values()})]
    while len(steps) > _MAX_LENGTHS:
        spans = [read[after[-1]] - read[before[0]] for before, after in pairwise(steps)]
        at = spans.index(min(spans))
        steps[at : at + 2] = [steps[at] + steps[at + 1]]
    return {step: round(fmean(read[step_key] for step_key in group)) for group in steps for step in group}


def accuracy_of(chosen: Frame) -> dict[str, Any]:
    """Return an accuracy, its interval, and what it is based on."""
    judged_rows = chosen[chosen["correct"].notna()]
    # A question that several steps have read is resampled with all its answers.
    parts = [(float(sum(group["correct"])), float(len(group))) for _, group in frames.groups(judged_rows, "question")]
    interval = frames.interval_of_share(parts)
    between = (round(interval.low, _DIGITS), round(interval.high, _DIGITS)) if interval else (None, None)
    accuracy = {"accuracy": frames.mean_of(judged_rows["correct"]), **dict(zip(frames.ENDS, between, strict=True))}
    return {**accuracy, **frames.figures("qa", "accuracy", chosen)}


def accuracy_frame(items: Sequence[QaItem], by: Mapping[str, Sequence[object]]) -> Frame:
    """Return the accuracy of each model by some columns, over the questions whose paragraph was read."""
    frame = question_frame(items)
    order: dict[str, Sequence[object]] = {"model": list(frame["model"].unique()), **by}
    if "tokens" in by:
        order["tokens"] = sorted(frame["tokens"].unique())
    return frames.summarize(frame[frame["place"] == "read"], order, accuracy_of)


def similarity_frame(items: Sequence[QaItem]) -> Frame:
    """Return the mean similarity of answers by model, type and third of what was read (table 6.2)."""
    frame = question_frame(items)
    figures = {"similarity": "alike", "yes or no right": "yes_no", "similarity of reasons": "similarity"}

    def rows_of(answers: Frame) -> Iterator[dict[str, object]]:
        for of_type in (*questioner.TYPES, ALL):
            chosen = answers if of_type == ALL else answers[answers["type"] == of_type]
            for name, column in list(figures.items())[: 3 if of_type == "binary" else 1]:
                in_third = [chosen[chosen["third read"] == third][column] for third in questioner.THIRDS]
                thirds = dict(zip(map(str, questioner.THIRDS), map(frames.mean_of, in_third), strict=True))
                every = {ALL: frames.mean_of(chosen[column]), "answers": len(frames.values_of(chosen[column]))}
                yield {"type": of_type, "figure": name, **thirds, **every}

    return frames.by_group(frame[frame["place"] == "read"], ("model",), rows_of)


def difference_frame(items: Sequence[QaItem]) -> Frame:
    """Return how much more often one model is right than another, on the same questions at the same steps."""
    frame, rows = question_frame(items), []
    judged_rows = frame[(frame["place"] == "read") & frame["correct"].notna()].astype({"correct": float})
    models = list(combinations(frame["model"].unique(), 2))
    for names, both in frames.pairs(judged_rows, "model", ["question", "step"], models):
        both["gap"] = both["correct"] - both["correct of second"]
        for of_type in (ALL, *questioner.TYPES):
            chosen = both if of_type == ALL else both[both["type"] == of_type]
            gaps = [fmean(group["gap"]) for _, group in frames.groups(chosen, "question")]
            means = {"difference": frames.mean_of(gaps), **frames.ends(gaps), "questions": len(gaps)}
            rows.append({**names, "type": of_type, **means})
    return frames.frame_of(rows, () if rows else ("first", "second", "type", "difference", *frames.ENDS, "questions"))


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

    return frames.by_group(question_frame(items), ("model",), rows_of)


DIRECT = "direct"
"""The strategy with which a model gets everything that is read at once."""
# A draft needs a word limit; answers have none, and this is the smallest allowed.
_WORDS = 10
# The approximate tokens of a question.
_QUESTION = 40
# The input limit of a model that reads no prompt and so has no window.
_UNBOUNDED = {"context_tokens": 100_000_000}


@dataclass(frozen=True, slots=True)
class QaCell(Cell):
    """A document with its steps, and its questions once it has them."""

    steps: tuple[questioner.ReadingStep, ...]
    questions: questioner.TypedQuestions | None = None


class QaDesign(QaOrder, Seats, Experiment[QaCell, QaItem]):
    """Models answer typed questions as they read more and more. The judge writes these and judges the answers."""

    name = "qa"
    title = "Questions: accuracy by type, place and length"
    item = "one question to one model at one step each"

    @classmethod
    def asked(cls, request: Asked) -> QaDesign:
        """Return the design that was asked for."""
        return cls(**request.reading(QaOrder))

    @property
    def contestants(self) -> dict[str, tuple[str, str]]:
        """Every model with every strategy, by what varies."""
        several = len(self.strategies) > 1
        return {
            f"{model.name}, {strategy}" if several else model.name: (model.name, strategy)
            for model in self.writers
            for strategy in self.strategies
        }

    def answer_settings(self, name: str, step: questioner.ReadingStep) -> DraftConfig:
        """Return the settings with which a contestant answers, and drafts what it answers from. Like a direct summary,
        an answer gets all of its source text at once."""
        model, strategy = self.contestants[name]
        changes: dict[str, object] = {"strategy": strategy, "until": step.until, "words": self.words}
        if strategy == DIRECT:
            unread = not reads_prompts(self.writer_settings(model).model)
            changes |= {"words": _WORDS, **(_UNBOUNDED if unread else {})}
        return self.writer_settings(model, **changes)

    def prepare_step(self, document: Document, name: str, step: questioner.ReadingStep) -> PreparedDocument:
        """Return the document prepared for a contestant's step. Raise if the window has no room for answers."""
        prepared = prepare(document, self.answer_settings(name, step))
        template = prepared.book.template(ANSWER_QUESTIONS)
        prompt_tokens = prepared.tokenizer.count(template) + _QUESTION
        read = ceil(prepared.plan.words * prepared.plan.tokens_per_word)
        if self.contestants[name][1] == DIRECT:
            read = sum(chunk.tokens for chunk in prepared.chunks)
        rates = wording_of(prepared.document.text, prepared.tokenizer)
        needed = read + prompt_tokens + questioner.TYPED_ANSWER.tokens(rates)
        window = prepared.settings.context_tokens
        if needed > window:
            problem = (
                f"{read:,} tokens with question and answer need {needed:,} tokens, more than the window of {window:,}"
            )
            fix = ("use ", Set("context_tokens", needed), " if the model has such a window, or fewer steps with ")
            raise PlanError(problem, fix=(*fix, Set("until")))
        return prepared

    def check(self, runner: ExperimentRunner) -> None:
        """Raise for invalid settings and for unknown names or prices, before anything is paid for."""
        for model in (*self.writers, *self.judges):
            if not (model.settings.model == EXTRACTIVE or reads_prompts(model.settings.model)):
                raise UsageError(f"{model.name} neither asks nor answers questions", hint="name a language model")
        similarity(self.similarity, load_encoder(self.embeddings) if self.embeddings else None)
        step = questioner.ReadingStep(1, 1, None)
        for strategy in self.strategies:
            strategy_named(strategy)
        answering = [self.answer_settings(name, step) for name in self.contestants]
        check_work(runner, *((settings, None) for settings in (*answering, self.judge_settings())))

    @property
    def measure(self) -> str:
        """The name of the measure of similarity."""
        return f"{self.similarity}, {self.embeddings}" if self.embeddings else self.similarity

    async def cells(self, documents: Sequence[Document], runner: ExperimentRunner) -> list[QaCell]:
        """Return the documents with their steps. Raise if no model can answer about the first step of any."""
        await asyncio.to_thread(self.check, runner)
        tokenizer, _ = tokenizer_of(self.judge_settings())
        cells = []
        for document in documents:
            tokens = await asyncio.to_thread(tokenizer.count, document.text)
            steps, note = questioner.plan_steps(self.steps, tokens, count_words(document.text), None)
            about = {"tokens": tokens, "steps": [step.tokens for step in steps], "questions": None}
            cells.append(QaCell(document, steps, about=about))
            if note:
                runner.observer(Notice(f"{document.title} {note}"))
        first = product(cells, self.contestants)
        plans = [partial(self.prepare_step, cell.document, name, cell.steps[0]) for cell, name in first]
        await asyncio.to_thread(check_work, runner, plans=plans)
        return cells

    async def run_cell(self, cell: QaCell, batch: RunBatch) -> tuple[QaCell, list[QaItem]]:
        """Find or build the questions, have them answered at every step, and the answers judged."""
        cell = await self.find_questions(cell, batch)
        if cell.questions is None:
            return cell, []
        pairs = [(name, step) for name in self.contestants for step in cell.steps]
        batch.of += len(pairs)
        answered = await gather_all(self.answer_all(cell, model, step, batch) for model, step in pairs)
        return await self.judge_items(cell, [item for items in answered for item in items], batch)

    def captions(self, _cells: Sequence[QaCell]) -> Mapping[str, object]:
        """Return the measure of similarity."""
        return {"measure": self.measure}

    def frames(self, items: Sequence[QaItem], _cells: Sequence[QaCell]) -> Iterator[NamedFrame]:
        """Yield the tables of accuracy, abstention, similarity and differences."""
        types, thirds = (*questioner.TYPES, ALL), (*questioner.THIRDS, ALL)
        tables: dict[str, Callable[[Sequence[QaItem]], Frame]] = {
            "accuracy": partial(accuracy_frame, by={"type": types}),
            "type_and_third": partial(accuracy_frame, by={"type": types, "third": questioner.THIRDS}),
            "third_and_length": partial(accuracy_frame, by={"tokens": (), "third": thirds}),
            "place_and_length": partial(accuracy_frame, by={"tokens": (), "third read": questioner.THIRDS}),
            "abstention": abstention_frame,
            "similarities": similarity_frame,
            "differences": difference_frame,
        }
        for name, frame in tables.items():
            yield name, frames.by_set(self.sets, items, frame)

    def notes(self, _items: Sequence[QaItem], cells: Sequence[QaCell]) -> Iterator[str]:
        """Return the questions, and how their answers are compared."""
        for cell in cells:
            question_count = len(cell.questions.questions) if cell.questions else 0
            steps = ", ".join(f"{step.tokens:,}" for step in cell.steps)
            yield f"{plain(cell.document.title)}: {question_count} questions, read up to {steps} tokens"
            if cell.questions and cell.questions.missing:
                yield f"questions that could not be made: {plain('; '.join(cell.questions.missing))}"
        yield f"similarity: {self.measure}"

    def headline(self, items: Sequence[QaItem], _: Mapping[str, Table]) -> Iterator[str]:
        """Return the accuracy of each model, by third of the document, and how rightly it abstained."""
        for (model,), frame in list(frames.groups(question_frame(items), "model"))[:MAX_LINES]:
            read = frame[frame["place"] == "read"]
            counts = accuracy_of(read)
            by_third = {third: accuracy_of(read[read["third"] == third])["accuracy"] for third in questioner.THIRDS}
            thirds = ", ".join(f"{third} {figure(number(value), 2)}" for third, value in by_third.items())
            due = frame[frame["should_abstain"].astype(bool) & frame["abstained"].notna()]
            right = int(sum(due["abstained"]))
            yield (
                f"{plain(model)}: accuracy {figure(number(counts['accuracy']), 2)} ({counts['right']} of"
                f" {counts['judged']}; {thirds}); abstained rightly {figure(share(right, len(due)), 2)}"
                f" ({right} of {len(due)})"
            )

    async def find_questions(self, cell: QaCell, batch: RunBatch) -> QaCell:
        """Return the document with its questions. Cached replies make the same questions again."""
        with GuardedStage(QUESTIONS) as stage:
            prepared = await asyncio.to_thread(prepare, cell.document, self.judge_settings())
            judging = JudgeConfig(questions=self.per_third)
            order = ExperimentPart(kind="qa", judging=judging, prompts=questioner.BUILDING)
            async with batch.own_work(prepared, order, QUESTIONS) as (run, judge, _):
                cell = replace(cell, runs={QUESTIONS: run.id})
                document, until = prepared.document, cell.steps[-1].until
                end = len(document.text)
                if until is not None:
                    end = await asyncio.to_thread(beginning, document.text, prepared.tokenizer, until)
                reader = prepared.reader([prepared.settings], prepared.tokenizer)
                summary = self.references.get(document.id, "")
                about_text = (judge, reader, end, self.per_third, batch.runner.observer, summary)
                questions = await questioner.TypedQuestionBuilder(*about_text).build()
                about = {**cell.about, "questions": {"id": questions.id, "missing": questions.missing}}
                cell = replace(cell, questions=questions, about=about)
        return replace(cell, failures=(stage.failure,) if stage.failure else ())

    async def answer_all(self, cell: QaCell, model: str, step: questioner.ReadingStep, batch: RunBatch) -> list[QaItem]:
        """Return the questions with a model's answers at one step."""
        assert cell.questions is not None
        document, runner, questions = cell.document, batch.runner, cell.questions.questions
        settings = self.answer_settings(model, step)
        watch = RunWatch(f"{document.title}, {model}", runner.observer, step=f"{DRAFTING}, {settings.strategy}")
        work = ANSWERS if settings.strategy == DIRECT else f"{ANSWERS}, {settings.strategy}"
        end, runs, responses, trouble, is_made = None, dict[str, str](), dict[int, questioner.Response](), "", False
        async with batch.places:
            with GuardedStage(ANSWERS) as stage:
                prepared = await asyncio.to_thread(self.prepare_step, document, model, step)
                end = prepared.chunks[-1].span.end
                text = document.text[:end]
                if settings.strategy != DIRECT:
                    stage.stage = DRAFTING
                    order_of_draft = Summarize(settings=settings, experiment="qa")
                    text = (await runner.find_or_run(document, order_of_draft, watch)).summary or ""
                    stage.stage = ANSWERS
                asking = JudgeConfig(pack=cell.questions.id)
                order = ExperimentPart(kind="qa", judging=asking, prompts=(ANSWER_QUESTIONS,))
                async with batch.own_work(prepared, order, work) as (run, answering, _):
                    runs[ANSWERS] = run.id
                    texts, label = [question.text for question in questions], f"after {step.tokens} tokens"
                    results = await questioner.answer_from_text(answering, text, texts, label)
                responses = {questions[n].id: response for n, response in results.verdicts.items()}
                trouble, is_made = results.trouble, True
        runs |= {DRAFTING: watch.run} if watch.run else {}
        came: dict[str, Any] = {"end": end, "made": is_made, "trouble": trouble, "runs": runs, "failure": stage.failure}
        items = []
        for question in questions:
            place = (document.id, document.title, model, step.number, step.tokens)
            third = questioner.third_of(question.paragraph, cell.questions.end)
            items.append(QaItem(*place, question, third, response=responses.get(question.id), **came))
        status = "" if is_made else ": failed" if stage.failure else ": not made"
        batch.report_progress(f"{document.title}, {model}, {step.tokens:,} tokens{status}")
        return items

    async def judge_items(self, cell: QaCell, items: Sequence[QaItem], batch: RunBatch) -> tuple[QaCell, list[QaItem]]:
        """Return a document's items, over all models and steps, with their verdicts and similarities."""
        assert cell.questions is not None
        similar = similarity(self.similarity, load_encoder(self.embeddings) if self.embeddings else None)
        with language_context(cell.document):
            items = [item.with_similarities(similar) for item in items]
        pairs = [(place, item.pair) for place, item in enumerate(items) if item.pair]
        if not pairs:
            return cell, items
        with GuardedStage(VERDICTS) as stage:
            prepared = await asyncio.to_thread(prepare, cell.document, self.judge_settings())
            order = ExperimentPart(kind="qa", judging=JudgeConfig(pack=cell.questions.id), prompts=(JUDGE_ANSWERS,))
            async with batch.own_work(prepared, order, VERDICTS) as (run, judge, _):
                cell = replace(cell, runs={**cell.runs, VERDICTS: run.id})
                results = await questioner.judge_pairs(judge, [pair for _, pair in pairs], cell.document)
            for n, (place, _) in enumerate(pairs):
                items[place] = replace(items[place], verdict=results.verdicts.get(n))
        return replace(cell, failures=(*cell.failures, *([stage.failure] if stage.failure else ()))), items


EXPERIMENT = QaDesign
