"""The orders of experiments: the settings that each has besides its models, judges and documents.

Options, forms, the body of the API and the docs are made from their fields, and all of them are validated here. A
design is an order with its models and judges. This module loads nothing heavy: the help of commands is made of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BeforeValidator, Field, PlainSerializer, field_validator

from redraft.domain import Document
from redraft.errors import Set, UsageError
from redraft.fields import Settings, field_like, option_of, setting, validated
from redraft.llm.addresses import OPENAI, base_url, key_server, provider_of, server_at
from redraft.settings import (
    NO_KEY,
    DraftConfig,
    FeedbackName,
    JudgeConfig,
    ModelSettings,
    PerspectiveName,
    RefineConfig,
    ReplyForm,
    SimilarityName,
)

O = TypeVar("O", bound=Settings)  # noqa: E741
USUAL_STEPS = "10000:128000:10000"
"""The steps of the thesis: from 10,000 tokens to 128,000 by 10,000."""
SIZES = (1024, 2048, 4096, 8192)
"""The sizes of HAMLET's appendix, in tokens."""
PAPER_GOALS: Mapping[str, float] = {"coverage": 0.6, "consistency": 0.73}
"""The goals of LongSumEval."""
_MIN_TOKENS, _MAX_STEPS = 64, 100
_SPLIT = re.compile(r"[,;\s]+")
_OF_ITS_PLACE = {"base_url", "key_env", "price"}
PublicSettings = Annotated[DraftConfig, PlainSerializer(lambda it: it.model_dump(mode="json", exclude=_OF_ITS_PLACE))]
"""A model's settings. Their JSON is without its server, key and price."""
Goals = Mapping[str, float]
"""Scores by metric."""
typed = partial(setting, environment=False)
"""Declare a field whose option only the command line sets."""


def parse_steps(value: object) -> object:
    """Return the steps of START:STOP:STEP, ending with STOP, or of N,N..."""
    if value == "":
        return None
    try:
        if isinstance(value, str) and ":" in value:
            start, stop, by = (int(word) for word in value.split(":"))
            fitting = 0 < start <= stop <= start + _MAX_STEPS * by
            steps = (*range(start, stop, by), stop) if fitting else ()
        elif isinstance(value, str):
            steps = tuple(sorted({int(word) for word in value.split(",")}))
        else:
            return value
    except ValueError:
        steps = ()
    if not steps or steps[0] < _MIN_TOKENS or len(steps) > _MAX_STEPS or list(steps) != sorted(set(steps)):
        raise ValueError(
            f"{value!r:.60} are not steps: write START:STOP:STEP, such as {USUAL_STEPS}, or N,N...: at most"
            f" {_MAX_STEPS} steps, each of {_MIN_TOKENS} tokens or more"
        )
    return steps


def parse_goals(value: object) -> object:
    """Return the scores by metric that a line such as coverage=0.6,consistency=0.73 has."""
    if not isinstance(value, str):
        return value
    if not value.strip():
        return {}
    pairs = [word.partition("=") for word in value.split(",")]
    try:
        goals = {metric.strip(): float(score) for metric, _, score in pairs}
    except ValueError:
        raise ValueError(f"{value!r:.80} are no scores: write coverage=0.6,consistency=0.73") from None
    if len(goals) < len(pairs):
        raise ValueError(f"{value!r:.80} names a metric twice")
    return goals


def _numbers(value: object) -> object:
    """Split a list of numbers that was typed, such as 100, 200."""
    return [number for number in _SPLIT.split(value) if number] if isinstance(value, str) else value


def _each_once(value: object) -> object:
    return tuple(dict.fromkeys(value)) if isinstance(value, tuple | list) else value


Steps = Annotated[tuple[int, ...] | None, BeforeValidator(parse_steps)]
Score = Annotated[float, Field(ge=0, le=1)]
Thresholds = Annotated[dict[str, Score], BeforeValidator(parse_goals)]
Names = Annotated[tuple[str, ...], BeforeValidator(_each_once)]
ChunkSizes = Annotated[
    tuple[Annotated[int, Field(ge=64)], ...], BeforeValidator(lambda value: _each_once(_numbers(value)))
]
WordLimits = Annotated[
    tuple[Annotated[int, Field(ge=10)], ...], BeforeValidator(lambda value: _each_once(_numbers(value)))
]
PlacesName = Literal["lineage", "tfidf", "embeddings"]
"""How the place of a sentence is found: by the lineage map, or as the most similar paragraph."""


_DRAFTED = "How summaries are drafted: hierarchical, incremental, direct; may be repeated."


def _strategies(default: str, text: str, declare: Callable[..., Any] = typed) -> Any:
    """Declare a field of strategies to compare."""
    return declare((default,), text, "summary", "NAME", "--strategy", said=default, found="strategy")


def _sizes(default: tuple[int, ...], text: str, *options: str, said: str) -> Any:
    """Declare a field of numbers to compare."""
    return setting(default, text, "summary", "N", *options, said=said, found="yes")


class GridOrder(Settings):
    """What a grid compares, and how."""

    strategies: Names = _strategies("hierarchical", _DRAFTED, setting)
    word_limits: WordLimits = _sizes(
        (), "Maximum words in a summary; may be repeated.", "--words", "-w", said="one that fits"
    )
    chunk_sizes: ChunkSizes = _sizes(
        (2048,), "Maximum tokens per chunk; may be repeated.", "--chunk-tokens", said="2048"
    )
    prefer: bool = typed(False, "Also ask the judges which of two summaries is better, in both orders.", "judging")


class LongSumEvalOrder(Settings):
    """How summaries are refined."""

    thresholds: tuple[Thresholds, ...] = typed(
        (dict(PAPER_GOALS),),
        "Refine until these scores are met; may be repeated, to compare thresholds.",
        "refining",
        "METRIC=X,...",
        said="coverage=0.6,consistency=0.73",
    )
    orders: tuple[Literal["paper", "editor"], ...] = typed(
        ("paper", "editor"),
        "How to revise, as --policy of `redraft refine`; may be repeated, to compare policies.",
        "refining",
        "[paper|editor]",
        "--order",
        said="paper, editor",
    )
    feedbacks: tuple[FeedbackName, ...] = setting(
        (),
        "What the reviser is told, as in `redraft refine`; may be repeated, to compare.",
        "refining",
        "[questions|findings|generic]",
        "--feedback",
        said="questions with the order paper, else findings",
        found="yes",
    )
    rounds: int | None = field_like(RefineConfig, "rounds")
    free_length: bool = field_like(RefineConfig, "free_length")
    low: Thresholds = typed(
        {},
        "First drafts with a lower score also get a row of their own.",
        "refining",
        "METRIC=X,...",
        said="the first --thresholds",
    )
    """The scores below which a first draft is low, by metric; if empty, the first thresholds."""

    @field_validator("thresholds", mode="before")
    @classmethod
    def _are_different(cls, value: object) -> object:
        return (
            list({str(threshold): threshold for threshold in value}.values())
            if isinstance(value, list | tuple)
            else value
        )

    _named_once = field_validator("orders", "feedbacks", mode="before")(_each_once)


class HamletOrder(Settings):
    """What queries are asked, and how answers are judged."""

    validator: str | None = field_like(JudgeConfig, "validator")
    perspective: PerspectiveName = field_like(JudgeConfig, "perspective")
    keyfact_chunks: str = setting(
        JudgeConfig().keyfact_chunks,
        "Tokens of a chunk for key facts; N+ also completes the last sentence (4000+).",
        "judging",
        "N|N+",
        found="yes",
    )
    keyfact_overlap: int = field_like(JudgeConfig, "keyfact_overlap")
    full_text: bool = setting(False, "Also verify against the whole document, as FineSurE does.", "judging")
    """Whether faithfulness is also judged against the whole document."""
    queries: int | None = setting(
        None, "Queries of each document, evenly spread.", "summary", "N", said="all", label="maximum queries", ge=1
    )
    seed: int | None = setting(
        None,
        "Choose other queries: a random one from each part of the document, instead of the middle one.",
        "summary",
        "N",
        found="yes",
        ge=0,
    )

    _checked_size = field_validator("keyfact_chunks")(lambda size: JudgeConfig(keyfact_chunks=size).keyfact_chunks)


class ReadingOrder(Settings):
    """How far models read, and how they summarize."""

    steps: Steps = typed(
        None,
        "How many tokens to read at each step: START:STOP:STEP, or N,N...",
        "summary",
        "START:STOP:STEP",
        "--until",
        said=f"{USUAL_STEPS}, or less for a shorter document",
    )
    words: int | None = field_like(DraftConfig, "words")
    embeddings: str | None = field_like(JudgeConfig, "embeddings")


class ContextOrder(ReadingOrder):
    """How growing context is measured."""

    strategies: Names = _strategies("hierarchical", _DRAFTED)
    places: PlacesName = typed(
        "lineage",
        "Where a sentence comes from: by the lineage map; or, as in the thesis, the most similar paragraph by TF-IDF or"
        " --embeddings.",
        "judging",
    )
    facts: bool = typed(
        True, "Whether to compare facts, not just positions.", "judging", None, "--facts/--no-facts", said="on"
    )
    paragraph_facts: bool = typed(
        False,
        "Also compare each fact with those that the judge finds in the paragraph it was traced to.",
        "judging",
        None,
        "--paragraph-facts",
    )
    """Thesis, 5.7.1: its second score, which it does not use."""
    fact_threshold: float | None = typed(
        None,
        "Facts with a higher similarity count as the same.",
        "judging",
        "X",
        said="the measure's own, 0.7 with --embeddings, else 0.5",
        ge=0,
        lt=1,
    )


class QaOrder(ReadingOrder):
    """How questions are asked, and answers compared."""

    strategies: Names = _strategies(
        "direct",
        "What models answer from: everything that was read (direct), or their own summary of it (hierarchical,"
        " incremental); may be repeated.",
    )
    per_third: int = typed(1, "Questions of each type about each third of the document.", "judging", "N", ge=1, le=100)
    at_once: int = typed(
        1,
        "Questions per request: more cost less, but one may give away another's answer.",
        "summary",
        "N",
        ge=1,
        le=100,
    )
    questions_of: str | None = typed(
        None, "Ask the questions of an earlier experiment, by its files.", "judging", "DIR", "--questions-of"
    )
    similarity: SimilarityName = setting(
        "rouge1",
        "How answers are compared with their references: exact, rouge1 or cosine; cosine needs embeddings.",
        "judging",
        "[exact|rouge1|cosine]",
        found="yes",
        rare=True,
    )

    @field_validator("similarity")
    @classmethod
    def _is_a_measure(cls, name: SimilarityName) -> SimilarityName:
        if name == "judge":
            raise ValueError(
                "judge is not a measure, and the judge gives its verdicts anyway: use rouge1, exact or cosine"
            )
        return name


class JudgesOrder(Settings):
    """How judges read existing texts."""

    context_tokens: int | None = field_like(ModelSettings, "context_tokens")
    temperature: float | None = None
    prompts: str = "standard"
    replies: ReplyForm | None = None


class ChunkSizeOrder(JudgesOrder):
    """Which chunks are marked."""

    chunk_sizes: ChunkSizes = typed(
        SIZES, "Chunk sizes to compare, in tokens.", "summary", "N,N...", "--sizes", said=",".join(map(str, SIZES))
    )
    sample_size: int = typed(
        100,
        "Maximum number of chunks per size, drawn at random from all SOURCEs.",
        "summary",
        "N",
        "--sample",
        ge=1,
        le=10_000,
    )
    """The maximum number of chunks of each size, over all documents."""
    seed: int = typed(0, "Seed of the random draw.", "summary", "N")

    _ascending = field_validator("chunk_sizes")(lambda sizes: tuple(sorted(sizes)))


class CoherenceOrder(JudgesOrder):
    """How summaries are proofread."""

    batch: int = field_like(JudgeConfig, "batch")


ORDERS: Mapping[str, type[Settings]] = {
    "grid": GridOrder,
    "longsumeval": LongSumEvalOrder,
    "hamlet": HamletOrder,
    "context": ContextOrder,
    "qa": QaOrder,
    "chunk-size": ChunkSizeOrder,
    "booookscore": CoherenceOrder,
}


@dataclass(frozen=True, slots=True)
class NamedModel:
    """A model by its given name, and its settings."""

    name: str
    settings: PublicSettings


class ModelsDesign(Settings):
    """The models to compare, and their judge."""

    models: tuple[NamedModel, ...]
    judge: NamedModel

    def writer_settings(self, model: str, **changes: object) -> DraftConfig:
        """Return a model's settings with some changes."""
        return self.keyed(find_model(model, self.models), changes)

    def judge_settings(self, **changes: object) -> DraftConfig:
        """Return the judge's settings with some changes."""
        return self.keyed(self.judge, changes)

    def keyed(self, model: NamedModel, changes: Mapping[str, object]) -> DraftConfig:
        """Return a model's settings with some changes, and with the key that its server may get."""
        all_settings = [named_model.settings for named_model in (*self.models, self.judge)]
        return own_key_only(model.settings.model_copy(update=changes), all_settings)


class JudgesDesign(JudgesOrder):
    """The judges of existing texts, and their settings."""

    judges: tuple[str, ...] = ()
    base_url: str | None = Field(default=None, exclude=True)
    own: dict[str, ModelSettings] = Field(default={}, exclude=True)
    """The judges' own settings from the settings file, by name."""

    def judge_settings(self, judge: str, window: int, **more: Any) -> DraftConfig:
        """Return a judge's settings for a context window, with any further settings."""
        return DraftConfig(
            strategy="given",
            context_tokens=self.context_tokens or window,
            temperature=self.temperature,
            prompts=self.prompts,
            replies=self.replies,
            **{"model": judge, "base_url": self.base_url, **more},
        )


def find_model(name: str, choices: tuple[NamedModel, ...]) -> NamedModel:
    """Return the model with this name."""
    return next(model for model in choices if model.name == name)


def own_key_only(settings: DraftConfig, all_settings: list[DraftConfig]) -> DraftConfig:
    """Return the settings without OPENAI_API_KEY, unless they are for the one server of the experiment that gets it."""
    if settings.key_env is not None or provider_of(settings.model) != OPENAI:
        return settings
    keyless = [
        settings_of_model
        for settings_of_model in all_settings
        if settings_of_model.key_env is None and provider_of(settings_of_model.model) == OPENAI
    ]
    home = key_server([base_url(settings_of_model.base_url) for settings_of_model in keyless])
    same = server_at(base_url(settings.base_url)) == home
    return settings if same else settings.model_copy(update={"key_env": NO_KEY})


@dataclass(frozen=True, slots=True)
class Asked:
    """What a door was asked for: the values of settings by name, and the models, judges and documents."""

    values: Mapping[str, Any]
    writers: tuple[NamedModel, ...] = ()
    judges: tuple[NamedModel, ...] = ()
    judging: Callable[[], JudgeConfig] = JudgeConfig
    """Returns how summaries are judged, by these judges."""
    sets: Mapping[str, str] = field(default_factory=dict)
    references: Mapping[str, str] = field(default_factory=dict)
    documents: tuple[Document, ...] = ()
    own: Mapping[str, ModelSettings] = field(default_factory=dict)
    """The settings of judges and validators that have a table of their own, by name."""
    judge_address: str | None = None

    def fields(self, order: type[Settings]) -> dict[str, Any]:
        """Return the values of an order's fields, as far as they are set."""
        return {name: value for name in order.model_fields if (value := self.values.get(name)) not in (None, (), "")}

    def order(self, order: type[O]) -> O:
        """Return an order with these values; raise `UsageError` for what is wrong with them."""
        return validated(order, self.fields(order))

    @property
    def judge(self) -> NamedModel:
        """The only judge; raise `UsageError` if there are several, or none."""
        if len(self.judges) != 1:
            problem = "only one model can judge, so that all are judged alike" if self.judges else "no model judges"
            raise UsageError(problem, field="judges", hint="name one judge")
        return self.judges[0]

    def reading(self, order: type[Settings]) -> dict[str, Any]:
        """Return the fields of a design in which models read more and more of a document."""
        if not self.writers:
            raise UsageError("no model takes part", fix=("name one with ", Set("model")))
        shared = {"references": self.references, "sets": self.sets}
        return {"models": self.writers, "judge": self.judge, **shared, **self.fields(order)}

    def panel(self, order: type[Settings]) -> dict[str, Any]:
        """Return the fields of a design in which judges read existing texts."""
        names = tuple(judge.name for judge in self.judges)
        tables = {name: settings for name, settings in self.own.items() if name in names}
        return {"judges": names, "base_url": self.judge_address, "own": tables, **self.fields(order)}


def option_fields(order: type[Settings]) -> list[str]:
    """Return the names of the fields that are options."""
    return [name for name in order.model_fields if option_of(order, name) is not None]
