"""The QA experiment: models answer typed questions about a document of which they read more and more."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from math import ceil
from typing import Annotated, Literal, NamedTuple

from pydantic import Field, PlainSerializer

from redraft.agents.accounts import gather_all
from redraft.agents.judge import Judge
from redraft.domain import Document, QuestionType, Third, Totals, TypedQuestion, TypedQuestions, computed, third_of
from redraft.errors import BudgetError, PlanError, Set, UsageError
from redraft.evaluators.similarity import Similarity, similarity
from redraft.events import Notice, StageStarted
from redraft.graphs.strategies import strategy_named
from redraft.lab.experiments.context.records import ReadingStep, plan_steps
from redraft.lab.experiments.plan import DRAFTING, ModelsDesign, TitledDocument, check_models, find_model
from redraft.lab.experiments.qa.questioner import (
    BUILDING,
    PER_THIRD,
    TYPED_ANSWER,
    JudgedAnswer,
    Questioner,
    Response,
    TypedQuestionBuilder,
)
from redraft.lab.experiments.runner import (
    GuardedStage,
    RunBatch,
    Used,
    judge_on_document,
    open_part,
    refuse_if_none_fits,
    run_usage,
    status_of,
)
from redraft.prompts.qa import ANSWER_QUESTIONS, JUDGE_ANSWERS, AnswerPair, yes_or_no
from redraft.runs.experiment_runner import ExperimentRunner, Failure, RunWatch
from redraft.runs.job import reader_of, wording
from redraft.runs.models import ModelPool, tokenizer_of
from redraft.runs.prepare import PreparedDocument, RunSpec, prepare
from redraft.settings import (
    EXTRACTIVE,
    DraftConfig,
    ExperimentPart,
    JudgeConfig,
    SimilarityName,
    reads_prompts,
)
from redraft.store.connection import off_loop
from redraft.store.runs import Run
from redraft.text.chunks import beginning
from redraft.text.languages import language_context
from redraft.text.vectors import load_encoder
from redraft.text.words import count_words, has_words

QA = "qa"
"""The experiment's name in its runs, and the command that repeats it."""
DIRECT = "direct"
"""The strategy with which a model gets everything that is read at once."""
# A draft needs a word limit; answers have none, and this is the smallest allowed.
_WORDS = 10
# The approximate tokens of a question.
_QUESTION = 40
# The input limit of a model that reads no prompt and so has no window.
_UNBOUNDED = {"context_tokens": 100_000_000}


class QaContestant(NamedTuple):
    """A model, and what it answers from: everything that is read, or its own summary of that by a strategy."""

    name: str
    model: str
    strategy: str


@dataclass(frozen=True, slots=True)
class QaDesign(ModelsDesign):
    """Everything but the documents and the limits. The judge writes the questions and judges the answers."""

    strategies: tuple[str, ...] = (DIRECT,)
    words: int | None = None
    """The word limit of a summary to answer from; by default what suits the text read."""
    steps: tuple[int, ...] | None = None
    per_third: int = PER_THIRD
    at_once: int = 1
    """The number of questions per request. With one, no question can reveal anything about another."""
    similarity: SimilarityName = "rouge1"
    embeddings: str | None = None
    references: Annotated[Mapping[str, str], Field(exclude=True)] = field(default_factory=dict)
    """The summaries that the judge has in view as it asks, by document id."""
    sets: Mapping[str, str] = field(default_factory=dict)
    """The dataset of each document, by id, where tables tell datasets apart."""

    @property
    def contestants(self) -> tuple[QaContestant, ...]:
        """Every model with every strategy, named by what varies."""
        several = len(self.strategies) > 1
        return tuple(
            QaContestant(f"{model.name}, {strategy}" if several else model.name, model.name, strategy)
            for model in self.models
            for strategy in self.strategies
        )

    def contestant(self, name: str) -> QaContestant:
        """Return the contestant with this name."""
        return next(qa_contestant for qa_contestant in self.contestants if qa_contestant.name == name)

    def step_plan(self, document: Document) -> tuple[int, tuple[ReadingStep, ...], str]:
        """Return the tokens of a document, its steps, and a note on them."""
        tokenizer, _ = tokenizer_of(self.judge_settings())
        tokens = tokenizer.count(document.text)
        return tokens, *plan_steps(self.steps, tokens, count_words(document.text), None)

    def answer_settings(self, name: str, step: ReadingStep) -> DraftConfig:
        """Return the settings with which a contestant answers, and drafts what it answers from. Like a direct summary,
        an answer gets all of its source text at once."""
        contestant = self.contestant(name)
        changes: dict[str, object] = {"strategy": contestant.strategy, "until": step.until, "words": self.words}
        if contestant.strategy == DIRECT:
            unread = not reads_prompts(find_model(contestant.model, self.models).settings.model)
            changes |= {"words": _WORDS, **(_UNBOUNDED if unread else {})}
        return self.writer_settings(contestant.model, **changes)

    def prepare_step(self, document: Document, name: str, step: ReadingStep) -> PreparedDocument:
        """Return the document prepared for a contestant's step. Raise if the window has no room for answers."""
        prepared_document = prepare(document, self.answer_settings(name, step))
        asked = (
            prepared_document.tokenizer.count(prepared_document.book.template(ANSWER_QUESTIONS))
            + self.at_once * _QUESTION
        )
        read = self.before(name, prepared_document)
        needed, window = (
            read + asked + self.at_once * TYPED_ANSWER.tokens(wording(prepared_document)),
            prepared_document.settings.context_tokens,
        )
        if needed > window:
            raise PlanError(
                f"{read:,} tokens with question and answer need {needed:,} tokens, more than the window of {window:,}",
                fix=(
                    "use ",
                    Set("context_tokens", needed),
                    " if the model has such a window, or fewer steps with ",
                    Set("until"),
                ),
            )
        return prepared_document

    def before(self, name: str, made: PreparedDocument) -> int:
        """Return the maximum number of tokens that a contestant answers from."""
        if self.contestant(name).strategy == DIRECT:
            return sum(chunk.tokens for chunk in made.chunks)
        return ceil(made.plan.words * made.plan.tokens_per_word)

    def questions_spec(self) -> RunSpec:
        """Return the spec of a run that builds typed questions about a document."""
        return RunSpec(ExperimentPart(kind=QA, judging=JudgeConfig(questions=self.per_third)), prompts=BUILDING)

    def answer_spec(self, questions: str) -> RunSpec:
        """Return the spec of a run that answers the questions with this id."""
        return RunSpec(ExperimentPart(kind=QA, judging=JudgeConfig(pack=questions)), prompts=(ANSWER_QUESTIONS,))

    def verdict_spec(self, questions: str) -> RunSpec:
        """Return the spec of a run that judges the answers to the questions with this id."""
        return RunSpec(ExperimentPart(kind=QA, judging=JudgeConfig(pack=questions)), prompts=(JUDGE_ANSWERS,))

    def similarity_measure(self) -> Similarity:
        """Return the measure of similarity between two answers."""
        return similarity(self.similarity, load_encoder(self.embeddings) if self.embeddings else None)

    def check(self, runner: ExperimentRunner) -> None:
        """Raise for invalid settings and for unknown names or prices, before anything is paid for."""
        for model in (*self.models, self.judge):
            if not (model.settings.model == EXTRACTIVE or reads_prompts(model.settings.model)):
                raise UsageError(f"{model.name} neither asks nor answers questions", hint="name a language model")
        if self.similarity == "judge":
            raise UsageError("--similarity judge is not a measure: the judge gives its verdicts anyway")
        self.similarity_measure()
        step = ReadingStep(1, 1, None)
        for strategy in self.strategies:
            strategy_named(strategy)
        answering = [self.answer_settings(contestant.name, step) for contestant in self.contestants]
        check_models(runner, *((settings, None) for settings in (*answering, self.judge_settings())))


QUESTIONS, ANSWERS, VERDICTS = "questions", "answers", "verdicts"
"""The stages of the experiment."""
Place = Literal["read", "cut", "ahead"]
"""Whether a question's paragraph was read, was cut by the end of what was read, or lies after it."""


def _listed(questions: TypedQuestions | None) -> dict[str, object] | None:
    return {"id": questions.id, "missing": questions.missing} if questions else None


@dataclass(frozen=True, slots=True)
class QaSubject:
    """A document with its steps, and its questions once it has them."""

    document: TitledDocument
    tokens: int
    steps: tuple[ReadingStep, ...]
    questions: Annotated[TypedQuestions | None, PlainSerializer(_listed)] = None
    runs: Mapping[str, str] = field(default_factory=dict)
    """The judge's runs by stage."""
    usage: Mapping[str, Used] = field(default_factory=dict)
    failures: tuple[Failure, ...] = ()


@dataclass(frozen=True, slots=True)
class QaCell:
    """One model at one step of one document: its answers by question number, or why there are none."""

    document: str
    model: str
    """The contestant's name: the model, and what it answers from if that varies."""
    step: ReadingStep
    end: int | None = None
    """The number of characters that were read."""
    responses: Mapping[int, Response] = field(default_factory=dict)
    trouble: str = ""
    """The reason why a question has no answer in a cell that is done."""
    run: str | None = None
    usage: Totals | None = None
    draft: str | None = None
    """The run that made the summary it answers from, if any."""
    drafting: Totals | None = None
    """The usage of that run."""
    failure: Failure | None = None
    done: bool = False

    @property
    def status(self) -> str:
        """The status: `done`, `failed` or `not made`."""
        return status_of(self.failure, done=self.done)


@dataclass(frozen=True, slots=True)
class QaItem:
    """One question to one model at one step. A None field does not exist."""

    document: str
    title: str
    model: str
    step: int
    tokens: int
    question: TypedQuestion
    third: Third
    end: int | None
    """The number of characters that were read."""
    run: str | None
    status: str
    response: Response | None = None
    verdict: JudgedAnswer | None = None
    """The verdict on the answer, or on the reason of a yes-or-no question."""
    similarity: float | None = None
    alike: float | None = None
    """The similarity of all that was said to all of the reference, as the thesis compares answers of every type."""
    draft: str | None = None
    """The run that made the summary it is answered from, if any."""

    @property
    def name(self) -> tuple[str, int]:
        """The key of the question among those of all documents."""
        return self.document, self.question.id

    @property
    def type(self) -> QuestionType:
        """The type of the question."""
        return self.question.type

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
    def given(self) -> Response | None:
        """The answer; None without a response or if the model abstained."""
        return self.response if self.response and not self.response.abstained else None

    @computed
    def yes_no(self) -> bool | None:
        """True if the yes or no is right, whatever the reason; None for other or unanswered questions."""
        if self.question.type != "binary" or self.given is None:
            return None
        return yes_or_no(self.given.answer) == self.question.answer

    @property
    def judged_right(self) -> bool | None:
        """The judge's verdict on the answer or the reason; None without one."""
        return self.verdict.right if self.verdict else None

    @property
    def answered_right(self) -> bool | None:
        """True if a given answer is right: by its yes or no, or by the judge."""
        return self.yes_no if self.question.type == "binary" else self.judged_right

    @computed
    def correct(self) -> bool | None:
        """True if the model handled a question correctly whose paragraph it has read; None if unknown."""
        if self.response is None or self.place != "read":
            return None
        if not self.question.is_answerable:
            return self.response.abstained
        return False if self.response.abstained else self.answered_right

    @property
    def pair(self) -> AnswerPair | None:
        """The pair to judge: an answer with its reference, or a reason with its own; None if there is neither."""
        if self.given is None or not self.question.is_answerable:
            return None
        of_reason = self.question.type == "binary"
        said = self.given.reason if of_reason else self.given.answer
        reference = self.question.reason if of_reason else self.question.answer
        return AnswerPair(id=1, question=self.question.text, reference=reference, answer=said) if said else None

    def with_similarities(self, similarity: Similarity) -> QaItem:
        """Return the item with the similarities of the answer to the reference."""
        pair, response = self.pair, self.response
        if response is None:
            return self
        answer = (
            NO_ANSWER
            if response.abstained and not has_words(response.answer)
            else _in_full(response.answer, response.reason)
        )
        question = self.question
        reference = _in_full(question.answer, question.reason) if question.is_answerable else NO_ANSWER
        return replace(
            self,
            similarity=None if pair is None else round(similarity(pair.answer, pair.reference), _DIGITS),
            alike=round(similarity(answer, reference), _DIGITS),
        )


NO_ANSWER = "The document does not answer this question."
"""What an unanswerable question, or a model that abstains without a word, is taken to say."""
_DIGITS = 6


def _in_full(answer: str, reason: str) -> str:
    """Return an answer with its reason, if it has one."""
    return f"{answer}: {reason}" if reason else answer


def question_items(subject: QaSubject, cell: QaCell) -> list[QaItem]:
    """Return the questions of a document as put to one model at one step."""
    if (questions := subject.questions) is None:
        return []
    return [
        QaItem(
            document=subject.document.id,
            title=subject.document.title,
            model=cell.model,
            step=cell.step.number,
            tokens=cell.step.tokens,
            question=question,
            third=questions.third(question),
            end=cell.end,
            run=cell.run,
            status=cell.status,
            draft=cell.draft,
            response=cell.responses.get(question.id),
        )
        for question in questions.questions
    ]


@dataclass(frozen=True, slots=True)
class QaOutcome:
    """The outcome of the experiment."""

    design: QaDesign
    subjects: tuple[QaSubject, ...]
    cells: tuple[QaCell, ...]
    items: tuple[QaItem, ...]
    stopped: BudgetError | None = None

    @property
    def complete(self) -> bool:
        """True if nothing failed and nothing is missing."""
        made = all(cell.status == "done" for cell in self.cells)
        return self.stopped is None and made and not any(subject.failures for subject in self.subjects)


async def qa(documents: Sequence[Document], design: QaDesign, runner: ExperimentRunner) -> QaOutcome:
    """Run what is not done yet, within the limits. A failure is recorded and does not stop the rest."""
    await asyncio.to_thread(design.check, runner)
    runner.share_budget(QA, repr(design), *(document.id for document in documents))
    plans = [
        partial(_first_step, one, contestant.name, design) for one in documents for contestant in design.contestants
    ]
    await asyncio.to_thread(refuse_if_none_fits, plans)
    runner.observer(StageStarted("typed questions", 0))
    subjects = await gather_all(_subject(document, design, runner) for document in documents)
    runner.observer(StageStarted("answers", 0))
    wanted = [
        (subject, QaCell(subject.document.id, contestant.name, step))
        for subject in subjects
        if subject.questions
        for contestant in design.contestants
        for step in subject.steps
    ]
    batch = RunBatch(runner, len(wanted))
    cells = await gather_all(
        batch.run_task(
            f"{subject.document.title}, {cell.model}, {cell.step.tokens:,} tokens",
            partial(_answered, subject, cell, design, runner),
        )
        for subject, cell in wanted
    )
    runner.observer(StageStarted("verdicts", 0))
    judged = await gather_all(
        _judged(subject, [cell for cell in cells if cell.document == subject.document.id], design, runner)
        for subject in subjects
    )
    qa_items = tuple(item for _, items in judged for item in items)
    return QaOutcome(design, tuple(subject for subject, _ in judged), tuple(cells), qa_items, runner.stopped)


def _first_step(document: Document, name: str, design: QaDesign) -> PreparedDocument:
    return design.prepare_step(document, name, design.step_plan(document)[1][0])


@asynccontextmanager
async def _at_work(
    document: Document, settings: DraftConfig, order: RunSpec, runner: ExperimentRunner, step: str
) -> AsyncIterator[tuple[Run, PreparedDocument, ModelPool]]:
    """Open a new or resumed run of a part of the experiment, with its models. Cached replies are reused."""
    prepared = await asyncio.to_thread(prepare, document, settings)
    if runner.stopped is not None and await runner.open_own_run(document, prepared.settings, order) is None:
        raise runner.stopped
    run = await runner.open_run(prepared, order)
    async with open_part(run, prepared, None, runner, step) as pool:
        yield run, prepared, pool


async def _subject(document: Document, design: QaDesign, runner: ExperimentRunner) -> QaSubject:
    """Return the document with its questions: imported, built before or built now."""
    tokens, steps, said = await asyncio.to_thread(design.step_plan, document)
    if said:
        runner.observer(Notice(f"{document.title} {said}"))
    subject = QaSubject(document, tokens, steps)
    if imported := runner.store.typed.imported(document.id):
        return replace(subject, questions=imported)
    with GuardedStage(QUESTIONS) as stage:
        async with _at_work(document, design.judge_settings(), design.questions_spec(), runner, QUESTIONS) as (
            run,
            prepared,
            pool,
        ):
            subject = replace(subject, runs={QUESTIONS: run.id})
            questions = await _questions(
                judge_on_document(pool.writer, prepared, runner), prepared, steps, design, runner
            )
            subject = replace(subject, questions=questions)
    subject = replace(subject, failures=(stage.failure,) if stage.failure else ())
    return _used(subject, runner)


async def _questions(
    judge: Judge, prepared: PreparedDocument, steps: Sequence[ReadingStep], design: QaDesign, runner: ExperimentRunner
) -> TypedQuestions:
    """Return the stored questions, or build new ones about everything that any step reads."""
    document, until = prepared.document, steps[-1].until
    end = len(document.text)
    if until is not None:
        end = await asyncio.to_thread(beginning, document.text, prepared.tokenizer, until)
    reader = reader_of(prepared, [prepared.settings], prepared.tokenizer)
    summary = design.references.get(document.id, "")
    builder = TypedQuestionBuilder(judge, reader, end, design.per_third, runner.observer, summary)
    if questions := await off_loop(runner.store.typed.find, document.id, builder.key):
        return questions
    built = await builder.build()
    await off_loop(runner.store.typed.add, built, builder.key)
    return await off_loop(runner.store.typed.find, document.id, builder.key) or built


async def _answered(subject: QaSubject, cell: QaCell, design: QaDesign, runner: ExperimentRunner) -> QaCell:
    assert subject.questions is not None
    questions, settings = subject.questions.questions, design.answer_settings(cell.model, cell.step)
    order, document = design.answer_spec(subject.questions.id), subject.document
    watch = RunWatch(f"{document.title}, {cell.model}", runner.observer, step=f"{DRAFTING}, {settings.strategy}")
    step = ANSWERS if settings.strategy == DIRECT else f"{ANSWERS}, {settings.strategy}"
    with GuardedStage(ANSWERS) as stage:
        read = await asyncio.to_thread(design.prepare_step, document, cell.model, cell.step)
        cell = replace(cell, end=read.chunks[-1].span.end)
        text = document.text[: cell.end]
        if settings.strategy != DIRECT:
            stage.stage = DRAFTING
            text = (await runner.find_or_run(document, settings, RunSpec(experiment=QA), watch)).summary or ""
            stage.stage = ANSWERS
        async with _at_work(document, settings, order, runner, step) as (run, prepared, pool):
            cell, judge = replace(cell, run=run.id), judge_on_document(pool.writer, prepared, runner)
            label = f"after {cell.step.tokens} tokens"
            results = await Questioner(judge).answer(
                text, [question.text for question in questions], design.at_once, label
            )
        responses = {questions[n].id: response for n, response in sorted(results.verdicts.items())}
        cell = replace(cell, responses=responses, trouble=results.trouble, done=True)
    totals, drafted = run_usage(runner, cell.run), run_usage(runner, watch.run)
    return replace(cell, usage=totals, draft=watch.run, drafting=drafted, failure=stage.failure)


async def _judged(
    subject: QaSubject, cells: Sequence[QaCell], design: QaDesign, runner: ExperimentRunner
) -> tuple[QaSubject, list[QaItem]]:
    """Return a document's items, over all models and steps, with their verdicts and similarities."""
    similar = design.similarity_measure()
    with language_context(subject.document):
        items = [item.with_similarities(similar) for cell in cells for item in question_items(subject, cell)]
    pairs = [(at, item.pair) for at, item in enumerate(items) if item.pair]
    if not pairs or subject.questions is None:
        return subject, items
    order = design.verdict_spec(subject.questions.id)
    with GuardedStage(VERDICTS) as stage:
        async with _at_work(subject.document, design.judge_settings(), order, runner, VERDICTS) as (
            run,
            prepared,
            pool,
        ):
            subject = replace(subject, runs={**subject.runs, VERDICTS: run.id})
            questioner = Questioner(judge_on_document(pool.writer, prepared, runner))
            results = await questioner.verdicts([pair for _, pair in pairs], subject.document)
        for n, (at, _) in enumerate(pairs):
            items[at] = replace(items[at], verdict=results.verdicts.get(n))
    subject = replace(subject, failures=(*subject.failures, *([stage.failure] if stage.failure else ())))
    return _used(subject, runner), items


def _used(subject: QaSubject, runner: ExperimentRunner) -> QaSubject:
    return replace(subject, usage={stage: runner.store.calls.totals(run) for stage, run in subject.runs.items()})
