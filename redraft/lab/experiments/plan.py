"""Who takes part in an experiment, and what it comes to before anything is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from math import ceil
from typing import Any

from redraft.domain import Document, Usage
from redraft.llm.addresses import OPENAI, base_url, key_server, provider_of, server_at
from redraft.llm.prices import PriceTable
from redraft.report.tables import Cell, Table
from redraft.runs.dry_run import Stage, dry_run
from redraft.runs.experiment_runner import ExperimentRunner
from redraft.runs.model_pool import assign_models
from redraft.runs.models import price_of, reasoning_reserve, resolve
from redraft.runs.prepare import Prepared, RunSpec, prepare
from redraft.settings import NO_KEY, DraftConfig, JudgeConfig, ModelSettings, PackPart, Refine, ReplyForm

DRAFTING, JUDGING = "drafting", "judging"


_OF_ITS_PLACE = {"base_url", "key_env", "price"}


@dataclass(frozen=True, slots=True)
class NamedModel:
    """A model by the name that it was given, and the settings under which it works."""

    name: str
    settings: DraftConfig

    def to_json(self) -> dict[str, object]:
        """The settings as programs read them, but for where the model is and what it costs there."""
        return self.settings.model_dump(mode="json", exclude=_OF_ITS_PLACE)


@dataclass(frozen=True, slots=True)
class JudgesDesign:
    """By whom, and how, something is judged that is there already."""

    judges: tuple[str, ...] = ()
    _: KW_ONLY
    base_url: str | None = None
    context_tokens: int | None = None
    temperature: float | None = None
    prompts: str = "standard"
    replies: ReplyForm | None = None
    own: Mapping[str, ModelSettings] = field(default_factory=dict)
    """What the settings file has under the names of judges."""

    def reading(self, judge: str, window: int, **more: Any) -> DraftConfig:
        """How a judge reads in a window, with what else there is to say of it."""
        return DraftConfig(
            strategy="given",
            context_tokens=self.context_tokens or window,
            temperature=self.temperature,
            prompts=self.prompts,
            replies=self.replies,
            **{"model": judge, "base_url": self.base_url, **more},
        )


@dataclass(frozen=True, slots=True)
class ModelsDesign:
    """Models that are compared, and the one that judges them."""

    models: tuple[NamedModel, ...]
    judge: NamedModel

    def writing(self, model: str, **changes: object) -> DraftConfig:
        """How a model works, with some of its settings changed."""
        return self._keyed(configured(model, self.models), changes)

    def judging(self, **changes: object) -> DraftConfig:
        """How the judge works, with some of its settings changed."""
        return self._keyed(self.judge, changes)

    def _keyed(self, one: NamedModel, changes: Mapping[str, object]) -> DraftConfig:
        return keyed(one.settings.model_copy(update=changes), [it.settings for it in (*self.models, self.judge)])


def configured(name: str, choices: Iterable[NamedModel]) -> NamedModel:
    """The one of this name."""
    return next(one for one in choices if one.name == name)


def keyed(one: DraftConfig, everyone: Iterable[DraftConfig]) -> DraftConfig:
    """The settings without OPENAI_API_KEY, unless they are for the one server of the experiment that gets it."""
    if one.key_env is not None or provider_of(one.model) != OPENAI:
        return one
    wanting = [it for it in everyone if it.key_env is None and provider_of(it.model) == OPENAI]
    home = key_server([base_url(it.base_url) for it in wanting])
    return one if server_at(base_url(one.base_url)) == home else one.model_copy(update={"key_env": NO_KEY})


def judged_by(judging: JudgeConfig, name: str, settings: DraftConfig) -> JudgeConfig:
    """The judging by the model that these settings are of. One that draws its replies in a way of its own is named with
    it: a run gives a judge who has no name there what the prompts have, in place of what a writer has."""
    if settings.temperature is None and settings.top_p is None:
        return judging
    of_it = {one: getattr(settings, one) for one in ModelSettings.model_fields}
    models = {**judging.models, name: ModelSettings.model_validate(of_it)}
    return judging.model_copy(update={"judges": (name,), "models": models})


def check_models(runner: ExperimentRunner, *choices: tuple[DraftConfig, JudgeConfig | None]) -> None:
    """Refuse a name or a price that nobody knows, before anything is paid for."""
    for settings, judging in choices:
        assign_models(resolve(settings), judging, runner.limits, runner.prices)


USUAL_REPLY = 0.6
"""Which share of their room replies take as a rule."""
USUAL_ROUNDS = 1
"""How many revisions a draft goes through as a rule."""
BUILT = ("asking about the document", "finding key facts", "validating key facts", "asking what the trees answer")
"""The stages of a dry run that build what a document's summaries are judged by, which is done once."""
_WORDS_A_SENTENCE = 15

Told = tuple[int, int, int]
"""Calls, and the tokens of prompts and replies."""


@dataclass(frozen=True, slots=True)
class PlanStep:
    """One kind of work of one model on one document."""

    document: str
    name: str
    model: DraftConfig
    times: int
    calls: int
    usage: Usage
    expected_calls: int | None = None
    """How often somebody is asked as a rule, where that is known."""
    expected: Usage | None = None

    def cost(self, prices: PriceTable) -> float | None:
        """What it costs at most, thinking included; None where the price is not known."""
        return cost_of(self.model, self.calls, self.usage, prices)

    def likely_cost(self, prices: PriceTable) -> float | None:
        """What it costs as a rule, where thinking takes as much of its room as replies do of theirs; None where nothing
        is known of that, or of the price."""
        if self.expected is None or self.expected_calls is None:
            return None
        return cost_of(self.model, self.expected_calls, self.expected, prices, USUAL_REPLY)


def cost_of(model: DraftConfig, calls: int, usage: Usage, prices: PriceTable, thought: float = 1) -> float | None:
    """What so many calls cost, in which so much is thought of what may be; None where the price is not known."""
    price = price_of(model, prices)
    thinking = ceil(thought * calls * reasoning_reserve(model))
    used = Usage(usage.prompt_tokens, usage.completion_tokens + thinking)
    return None if price is None else price.of(used)


def table_of(steps: Sequence[PlanStep], about: str, prices: PriceTable) -> Table:
    """The steps with their sum. `about` says what an item is."""
    likely = any(step.expected is not None for step in steps)
    rows: list[tuple[Cell, ...]] = [
        (
            *(one.document, one.name, one.model.model, one.times, one.calls),
            *(one.usage.prompt_tokens, one.usage.completion_tokens, one.cost(prices)),
            *((one.expected_calls, one.likely_cost(prices)) if likely else ()),
        )
        for one in steps
    ]
    sums = [sum(step.calls for step in steps)]
    sums += [sum(step.usage.prompt_tokens for step in steps), sum(step.usage.completion_tokens for step in steps)]
    expected = (
        sum(step.expected_calls or 0 for step in steps),
        _total([step.likely_cost(prices) for step in steps]),
    )
    total = _total([step.cost(prices) for step in steps])
    return Table(
        "plan",
        "What it comes to",
        f"{about} Replies that must be asked for again come on top, and so do those in which a model thinks; their"
        " price is in USD, for all of the room for thinking, or for as much of it as expected.",
        "Nothing was asked and nothing stored; what is known already costs nothing.",
        (
            *("document", "step", "model", "times", "calls", "prompt tokens", "reply tokens", "USD"),
            *(("expected calls", "expected USD") if likely else ()),
        ),
        (*rows, ("total", "", "", None, *sums, total, *(expected if likely else ()))),
    )


def _total(costs: Sequence[float | None]) -> float | None:
    return None if None in costs else sum(cost or 0.0 for cost in costs)


def told(stages: Iterable[Stage]) -> list[Told]:
    """What stages of a dry run come to."""
    return [(one.calls, one.prompt_tokens, one.completion_tokens) for one in stages]


def step_of(
    document: Document,
    name: str,
    model: DraftConfig,
    times: int,
    stages: Sequence[Told],
    likely: Sequence[Told] | None = None,
) -> PlanStep:
    """A step of so much at most, and as a rule of what is likely, with replies that are shorter than their room."""
    calls, prompt, completion = sums(stages)
    usual_calls, usual_prompt, usual_completion = sums(stages if likely is None else likely)
    expected = Usage(usual_prompt, ceil(USUAL_REPLY * usual_completion))
    return PlanStep(document.title, name, model, times, calls, Usage(prompt, completion), usual_calls, expected)


def planned(prepared: Prepared) -> Told:
    """What drafting a summary comes to."""
    return prepared.plan.calls, prepared.plan.prompt_tokens, prepared.plan.completion_tokens


def building_steps(
    document: Document, parts: Iterable[PackPart], judge: DraftConfig, building: Callable[[PackPart], RunSpec]
) -> Iterator[PlanStep]:
    """What a judge does to build what a document's summaries are judged by."""
    for part in parts:
        stages = dry_run(prepare(document, judge), building(part)).stages
        yield step_of(document, f"building {part}", judge, 1, told(stages))


def refining_steps(
    document: Document,
    name: str,
    writer: DraftConfig,
    judge: DraftConfig,
    texts: Sequence[str],
    refining: Callable[[str], RunSpec],
) -> Iterator[PlanStep]:
    """The revisions of some drafts by a writer, and the verdicts of a judge between them."""
    work: list[tuple[Prepared, RunSpec, RunSpec]] = []
    for text in texts:
        most = refining(text)
        assert isinstance(most.purpose, Refine)
        fewer = most.purpose.refinement.model_copy(update={"rounds": min(USUAL_ROUNDS, most.purpose.refinement.rounds)})
        usual = replace(most, purpose=most.purpose.model_copy(update={"refinement": fewer}))
        work.append((prepare(document, writer, given=text), most, usual))
    for by, model in (("writer", writer), ("judge", judge)):
        stages, likely = (
            told(
                stage
                for prepared, *orders in work
                for stage in dry_run(prepared, orders[at]).stages
                if (stage.by == "writer") is (by == "writer") and stage.name not in BUILT
            )
            for at in (0, 1)
        )
        yield step_of(document, f"{name}: {by}", model, len(texts), stages, likely)


def sums(stages: Sequence[Told]) -> Told:
    """Calls and tokens of several stages together."""
    return sum(one[0] for one in stages), sum(one[1] for one in stages), sum(one[2] for one in stages)


def a_text(words: int) -> str:
    """A text of so many words, in sentences as long as they are as a rule: a summary that is not written yet."""
    last = _WORDS_A_SENTENCE - 1
    said = {0: "Word", last: "word."}
    return " ".join(said.get(n % _WORDS_A_SENTENCE, "word") for n in range(words))
