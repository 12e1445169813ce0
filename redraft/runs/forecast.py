"""What a run will ask for at most, before anything is asked or stored: drafting, judging and refining together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import ceil
from typing import Any

from redraft.agents import arbiter, decider, fact_checker
from redraft.agents.examiner import NUMBER, QUESTION
from redraft.agents.referee import PREFERENCE_TOKENS, fits, prompt_tokens
from redraft.agents.reviser import BESIDE
from redraft.domain import Document, Usage
from redraft.evaluators.base import PackPart, statements_of
from redraft.evaluators.catalog import names
from redraft.evaluators.forecast import A_FACT, A_QUESTION, Ahead, Stage
from redraft.evaluators.metric_info import refuse_self_check
from redraft.evaluators.reference import questions as packs
from redraft.graphs.policy import FINDINGS_AT_ONCE, POLICIES
from redraft.llm.prices import PriceTable
from redraft.prompts import factual, qa
from redraft.prompts.arbitration import RULE_ON_FINDINGS
from redraft.prompts.contract import Prompt
from redraft.prompts.decision import DECIDE
from redraft.prompts.revision import REVISE
from redraft.runs.job import reader_of
from redraft.runs.model_names import judging_under
from redraft.runs.model_pool import hire, located, under_settings
from redraft.runs.models import price_of, reasoning_reserve
from redraft.runs.prepare import Prepared, RunSpec, book_for, prepare
from redraft.runs.request import candidate, chapter_of, order_of, settings_of
from redraft.runs.roster import known_window, with_windows
from redraft.settings import (
    EXTRACTIVE,
    BuildKeyfacts,
    BuildQuestions,
    DraftConfig,
    JudgeConfig,
    Limits,
    Role,
    reads_prompts,
)
from redraft.text.passages import WINDOW

# As a rule: a point with its evidence, and a sentence of a summary.
_POINT = 200
_WORDS_A_SENTENCE = 15


@dataclass(frozen=True, slots=True)
class Forecast:
    """The stages, in the order in which they are first come to."""

    stages: tuple[Stage, ...]

    @property
    def calls(self) -> int:
        """Of all stages."""
        return sum(stage.calls for stage in self.stages)

    @property
    def about(self) -> bool:
        """Whether it may come to more than that."""
        return any(stage.about for stage in self.stages)

    @property
    def prompt_tokens(self) -> int:
        """Of all stages."""
        return sum(stage.prompt_tokens for stage in self.stages)

    @property
    def completion_tokens(self) -> int:
        """Of all stages."""
        return sum(stage.completion_tokens for stage in self.stages)


def forecast(prepared: Prepared, order: RunSpec) -> Forecast:
    """The most that judging and refining comes to when nothing is known yet and every reply is valid at once; about so
    much, where nobody can know how many facts or sentences there will be."""
    if order.judging is None:
        return Forecast(tuple(_choice(prepared, None)))
    return Forecast(tuple(_stages(prepared, order, order.judging)))


def _stages(prepared: Prepared, order: RunSpec, how: JudgeConfig) -> Iterator[Stage]:
    """The parts of the pack, each before the first metric that needs it, and all metrics in the order of their list."""
    ahead = _ahead(prepared, order, how)
    listed = names(order.own)
    built = set[PackPart]()
    for metric in sorted(order.evaluators(), key=lambda one: listed.index(one.name)):
        if metric.needs and metric.needs not in built:
            yield from _BUILDING[metric.needs](ahead)
            built.add(metric.needs)
        yield from metric.forecast(ahead)
    if isinstance(order.purpose, BuildQuestions | BuildKeyfacts):
        yield from _BUILDING["questions" if isinstance(order.purpose, BuildQuestions) else "keyfacts"](ahead)
    if order.given is not None and order.other is not None:
        yield _preference(prepared, how, order.given, order.other)
    yield from _choice(prepared, how)
    if ahead.rounds:
        if order.refinement and order.refinement.policy == "agent":
            yield _decisions(ahead)
        if order.refinement and not POLICIES[order.refinement.policy].follows:
            yield from _second_looks(prepared, ahead, how)
        yield _revisions(prepared, ahead)
        if order.refinement and order.refinement.final_comparison and not POLICIES[order.refinement.policy].follows:
            judges = [one for one in judging_under(prepared.settings, how) if reads_prompts(one.model)]
            yield from _comparison(prepared, judges, "comparing first and best", how.repeat, "judge")


def _ahead(prepared: Prepared, order: RunSpec, how: JudgeConfig) -> Ahead:
    settings, plan = prepared.settings, prepared.plan
    words = settings.words or 0
    sentences, counted = ceil(words / _WORDS_A_SENTENCE), order.given is not None and not order.refinement
    if order.given is not None and counted:
        sentences = len(statements_of(order.given))
    judges = judging_under(settings, how)
    return Ahead(
        reader_of(prepared, judges, reading=how.evidence),
        book_for(judges[0], prepared),
        how,
        words=words,
        summary=ceil(words * plan.tokens_per_word),
        sentences=sentences,
        counted=counted,
        rounds=order.refinement.rounds if order.refinement else 0,
        others=settings.drafts - 1,
        query=settings.query,
    )


def _questions(ahead: Ahead) -> Iterator[Stage]:
    stretches = packs.stretches_of(ahead.reader, ahead.quantity.stretch)
    _, each = packs.questions_each(ahead.reader, ahead.quantity, len(stretches))
    parts = [len(packs.parts_of(ahead.reader, one, each)) for one in stretches]
    asked = sum(number * ceil(each / number) for number in parts)
    calls, completion = sum(parts), asked * ahead.needs(QUESTION)
    prompt = ahead.reader.document_tokens + calls * ahead.overhead(qa.ASK_DOCUMENT)
    if len(stretches) > packs.UNRANKED:
        ranking = ceil(asked / packs.ranked_at_once(ahead.reader.window))
        calls += ranking
        prompt += ranking * ahead.overhead(qa.RANK_QUESTIONS) + asked * 2 * A_QUESTION
        completion += asked * ahead.needs(NUMBER)
    yield Stage("asking about the document", calls, prompt, completion)


def _keyfacts(ahead: Ahead) -> Iterator[Stage]:
    """Every tree has as many facts as a reply has room for, as long as facts are as a rule."""
    chunks, perspectives = ahead.chunks, ahead.perspectives
    trees, facts = len(chunks) * perspectives, ahead.facts_a_tree
    growing = max(ahead.overhead(prompt) for prompt in factual.GROWING.values())
    text = sum(one.tokens for one in chunks)
    yield Stage("finding key facts", trees, perspectives * text + trees * growing, trees * ahead.reply_room)

    vetting, each = _vetting(ahead, perspectives * facts), perspectives * facts
    calls = sum(vetting.values())
    prompt = sum(number * (text + len(chunks) * ahead.overhead(kind)) for kind, number in vetting.items())
    prompt += 3 * len(chunks) * each * A_FACT
    completion = len(chunks) * each * (ahead.needs(fact_checker.SUPPORT) + 2 * ahead.needs(fact_checker.OPINION))
    yield Stage("validating key facts", len(chunks) * calls, prompt, completion, "validator", about=True)

    querying = max(ahead.overhead(prompt) for prompt in factual.QUERYING.values())
    prompt = perspectives * text + trees * (querying + facts * A_FACT)
    yield Stage("asking what the trees answer", trees, prompt, trees * fact_checker.QUERY_TOKENS)


def _vetting(ahead: Ahead, facts: int) -> dict[Prompt[Any, Any], int]:
    """How often a chunk is read to validate so many facts, by prompt."""
    opinions = ahead.fact_batches(facts, ahead.needs(fact_checker.OPINION))
    return {
        factual.FACTS_FAITHFUL: ahead.fact_batches(facts, ahead.needs(fact_checker.SUPPORT)),
        factual.FACTS_OBJECTIVE: opinions,
        factual.FACTS_SIGNIFICANT: opinions,
    }


_BUILDING: Mapping[PackPart, Callable[[Ahead], Iterator[Stage]]] = {"questions": _questions, "keyfacts": _keyfacts}


def _preference(prepared: Prepared, how: JudgeConfig, first: str, second: str) -> Stage:
    """Every judge is asked in both orders, with the document where it has room for it."""
    if first.strip() == second.strip():
        return Stage("preference", 0, 0, 0)
    settings, document = prepared.settings, prepared.plan.document_tokens
    needed = prompt_tokens(prepared.book, prepared.tokenizer, first, second)
    judges = judging_under(settings, how)
    windows = [judge.context_tokens if reads_prompts(judge.model) else None for judge in judges]
    asked = [
        needed + document if fits(needed + document, window) else needed for window in windows if fits(needed, window)
    ]
    calls = 2 * how.repeat * len(asked)
    prompt = 2 * how.repeat * (sum(asked) - len(asked) * PREFERENCE_TOKENS)
    return Stage("preference", calls, prompt, calls * PREFERENCE_TOKENS)


def _second_looks(prepared: Prepared, ahead: Ahead, how: JudgeConfig) -> Iterator[Stage]:
    """Before every revision at all of a metric's findings, and after it at what the reviser contests: with the document
    where it fits, else with the places around them."""
    able = [judge for judge in judging_under(prepared.settings, how) if reads_prompts(judge.model)]
    if not able:
        return
    calls = 2 * ahead.rounds
    points = arbiter.AT_ONCE * _POINT + ahead.overhead(RULE_ON_FINDINGS)
    reply = arbiter.AT_ONCE * ahead.needs(arbiter.RULED)
    window, document = able[-1].context_tokens, prepared.plan.document_tokens
    read = document if document + points + reply <= window else min(document, ahead.reader.room)
    yield Stage("second looks", calls, calls * (read + points), calls * reply, about=True)


def _comparison(prepared: Prepared, judges: Sequence[DraftConfig], name: str, times: int, by: Role) -> Iterator[Stage]:
    """Every language model that judges is asked in both orders, with the document where it has room for it."""
    plan = prepared.plan
    needed = prompt_tokens(prepared.book, prepared.tokenizer, "", "") + 2 * ceil(plan.words * plan.tokens_per_word)
    asked = [needed + plan.document_tokens * fits(needed + plan.document_tokens, one.context_tokens) for one in judges]
    calls = 2 * times * len(asked)
    prompt = 2 * times * sum(one - PREFERENCE_TOKENS for one in asked)
    if calls:
        yield Stage(name, calls, prompt, calls * PREFERENCE_TOKENS, by)


def _choice(prepared: Prepared, how: JudgeConfig | None) -> Iterator[Stage]:
    """The best draft so far is compared with each of the others, where they are as good by their scores."""
    by: Role = "writer" if how is None else "judge"
    judges = [one for one in judging_under(prepared.settings, how) if reads_prompts(one.model)]
    times = (prepared.settings.drafts - 1) * (how.repeat if how else 1)
    yield from _comparison(prepared, judges, "comparing drafts", times, by)


def _decisions(ahead: Ahead) -> Stage:
    """Before every revision, and each time as often as passages may be looked up before it."""
    calls = ahead.rounds * (1 + decider.LOOKS)
    attempts = decider.MOST_ATTEMPTS * decider.AN_ATTEMPT
    prompt = ahead.summary + ahead.reader.room + attempts + ahead.overhead(DECIDE)
    return Stage("deciding", calls, calls * prompt, calls * decider.DECISION_TOKENS, "decider")


def _revisions(prepared: Prepared, ahead: Ahead) -> Stage:
    """With the document where it fits, or else the passages around what was found."""
    document, window = prepared.plan.document_tokens, prepared.settings.context_tokens
    prompt = 2 * ahead.summary + FINDINGS_AT_ONCE * _POINT + ahead.overhead(REVISE)
    if prepared.settings.model != EXTRACTIVE and prompt + ahead.summary + document > window:
        # A place may lie on the seam of two passages.
        document = min(document, max(0, window - prompt), FINDINGS_AT_ONCE * 2 * (1 + BESIDE) * WINDOW)
    prompt += document
    return Stage("revising", ahead.rounds, ahead.rounds * prompt, ahead.rounds * ahead.summary, "writer")


@dataclass(frozen=True, slots=True)
class Spending:
    """What drafting and judging come to. `pool` are the settings of whoever does a stage; one judge stands for all."""

    prepared: Prepared
    order: RunSpec
    forecast: Forecast
    pool: Mapping[Role, DraftConfig]
    prices: PriceTable
    notes: tuple[str, ...]
    """What a user should know of it, in sentences."""
    chapters: tuple[Spending, ...] = ()
    """What each chapter comes to, where they are drafted by themselves. All figures are with theirs."""
    others: tuple[Spending, ...] = ()
    """What each draft beside the first one comes to, where there are several. All figures are with theirs, too."""

    @property
    def calls(self) -> int:
        """Of drafting and judging."""
        return self.prepared.plan.calls + self.forecast.calls + sum(one.calls for one in (*self.chapters, *self.others))

    @property
    def prompt_tokens(self) -> int:
        """Of drafting and judging."""
        own = self.prepared.plan.prompt_tokens + self.forecast.prompt_tokens
        return own + sum(one.prompt_tokens for one in (*self.chapters, *self.others))

    @property
    def completion_tokens(self) -> int:
        """Of drafting and judging."""
        own = self.prepared.plan.completion_tokens + self.forecast.completion_tokens
        return own + sum(one.completion_tokens for one in (*self.chapters, *self.others))

    @property
    def reasoning(self) -> int:
        """The tokens that models may use besides, to think."""
        return sum(calls * reasoning_reserve(settings) for settings, calls, _ in self._parts())

    def cost(self, *, with_reasoning: bool) -> float | None:
        """In US dollars; None where nobody knows a price."""
        total = 0.0
        for settings, calls, usage in self._parts():
            price = price_of(settings, self.prices)
            if calls and price is None:
                return None
            if price is not None:
                thinking = calls * reasoning_reserve(settings) if with_reasoning else 0
                total += price.of(Usage(usage.prompt_tokens, usage.completion_tokens + thinking))
        return total

    def _parts(self) -> Iterator[tuple[DraftConfig, int, Usage]]:
        """Drafting, and each stage of judging: under which settings, how many calls, and what they use."""
        it = self.prepared.plan
        yield self.pool["writer"], it.calls, Usage(it.prompt_tokens, it.completion_tokens)
        for stage in self.forecast.stages:
            yield self.pool[stage.by], stage.calls, Usage(stage.prompt_tokens, stage.completion_tokens)
        for part in (*self.chapters, *self.others):
            yield from part._parts()

    def to_json(self) -> dict[str, object]:
        """The contract of `--dry-run --json`."""
        prepared, it, order = self.prepared, self.prepared.plan, self.order
        return {
            "source": {
                "id": prepared.document.id,
                "title": prepared.document.title,
                "tokens": it.document_tokens,
                "words": it.document_words,
                "chunks": it.chunks,
            },
            "model": prepared.settings.model,
            "judges": list(order.judging.judges or (prepared.settings.model,)) if order.judging else [],
            "validator": self.pool["validator"].model if order.judging else None,
            "tokenizer": prepared.tokenizer.name,
            **{name: value for name, value in asdict(it).items() if not name.startswith("document_")},
            "stages": [asdict(stage) for stage in self.forecast.stages],
            "calls": self.calls,
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "reasoning_tokens": self.reasoning,
            "cost_usd": self.cost(with_reasoning=True),
            "warnings": list(prepared.warnings),
        } | ({"chapters": [one.to_json() for one in self.chapters]} if self.chapters else {})


def spending_of(
    source: str | Sequence[str] | Document, settings: DraftConfig, order: RunSpec, prices: PriceTable
) -> Spending:
    """What a run of this order would come to."""
    settings, order = order.settled(settings), with_places(order, settings)
    # Nobody is asked, a server for its window neither.
    settings, order, notes = with_windows(settings, order, known_window)
    prepared = prepare(source, settings, given=order.given)
    # What a limit of cost would refuse is shown all the same.
    refuse_self_check(prepared.settings, order.judging, order.refinement)
    hired = hire(prepared.settings, order.judging, Limits(), prices, refinement=order.refinement)
    told = (*prepared.warnings, *notes)
    chapters = tuple(_of_chapters(prepared, order, prices))
    others = tuple(_of_others(prepared, prices))
    return Spending(prepared, order, forecast(prepared, order), under_settings(hired), prices, told, chapters, others)


def _of_chapters(prepared: Prepared, order: RunSpec, prices: PriceTable) -> Iterator[Spending]:
    for title, span in prepared.chapters:
        chapter = chapter_of(prepared.document, title, span)
        yield spending_of(chapter, settings_of(prepared.settings, chapter), order_of(order), prices)


def _of_others(prepared: Prepared, prices: PriceTable) -> Iterator[Spending]:
    for number in range(2, prepared.settings.drafts + 1):
        one = candidate(prepared.document, prepared.settings, number)
        yield spending_of(prepared.document, one.settings, RunSpec(), prices)


def with_places(order: RunSpec, settings: DraftConfig) -> RunSpec:
    """The order with the addresses of those who judge and decide, where they are only named."""
    if order.judging is None:
        return order
    there = located(order.judging, settings, order.refinement)
    return replace(order, purpose=order.purpose.model_copy(update={"judging": there}))
