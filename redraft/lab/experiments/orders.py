"""The orders of experiments: the settings that each has besides its models, judges and documents.

Options, forms, the body of the API and the docs are made from their fields, and all of them are validated here. A
design is an order with its models and judges. This module loads nothing heavy: the help of commands is made of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, PlainSerializer, field_validator

from redraft.domain import Document
from redraft.errors import Set, UsageError
from redraft.fields import Settings, field_like, setting
from redraft.lab.declared import declared
from redraft.llm.addresses import OPENAI, base_url, key_server, provider_of, server_at
from redraft.settings import EXTRACTIVE, NO_KEY, DraftConfig, FeedbackName, JudgeConfig, ModelSettings, RefineConfig

USUAL_STEPS = "10000:128000:10000"
"""The steps of the thesis: from 10,000 tokens to 128,000 by 10,000."""
SIZES = (1024, 2048, 4096, 8192)
"""The sizes of HAMLET's appendix, in tokens."""
PAPER_GOALS: Mapping[str, float] = {"coverage": 0.6, "consistency": 0.73}
"""The goals of LongSumEval."""
_MIN_TOKENS, _MAX_STEPS = 64, 100
_SPLIT = re.compile(r"[,;\s]+")


def _without(*names: str) -> PlainSerializer:
    """Return the JSON of settings without some of them."""
    return PlainSerializer(lambda settings: settings.model_dump(mode="json", exclude={*names}))


PublicSettings = Annotated[DraftConfig, _without("base_url", "key_env", "price")]
"""A model's settings. Their JSON is without its server, key and price."""
PublicJudging = Annotated[JudgeConfig, _without("judges", "models", "base_url")]
"""How summaries are judged. Its JSON is without the judges, which designs name themselves."""


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


def _each_once(value: object) -> object:
    """Return the values of a list without repetitions; a list that was typed, such as 100, 200, is split."""
    if isinstance(value, str):
        value = [word for word in _SPLIT.split(value) if word]
    return tuple(dict.fromkeys(value)) if isinstance(value, tuple | list) else value


Steps = Annotated[tuple[int, ...] | None, BeforeValidator(parse_steps)]
Score = Annotated[float, Field(ge=0, le=1)]
Thresholds = Annotated[dict[str, Score], BeforeValidator(parse_goals)]
Names = Annotated[tuple[str, ...], BeforeValidator(_each_once)]
ChunkSizes = Annotated[tuple[Annotated[int, Field(ge=64)], ...], BeforeValidator(_each_once)]
WordLimits = Annotated[tuple[Annotated[int, Field(ge=10)], ...], BeforeValidator(_each_once)]


def option(experiment: str, name: str, default: Any, **bounds: Any) -> Any:
    """Declare a field that is also an option, with the words that `options.toml` has for it. Only the command line sets
    it, unless the entry says otherwise."""
    entry: dict[str, Any] = {"environment": False, **declared("options")[experiment][name], **bounds}
    names, metavar, description = entry.pop("names", ()), entry.pop("metavar", None), entry.pop("text")
    return setting(default, entry.pop("section"), metavar, *names, description=description, **entry)


class GridOrder(Settings):
    """What a grid compares, and how."""

    strategies: Names = option("grid", "strategies", ("hierarchical",))
    word_limits: WordLimits = option("grid", "word_limits", ())
    chunk_sizes: ChunkSizes = option("grid", "chunk_sizes", (2048,))
    prefer: bool = option("grid", "prefer", default=False)


class LongSumEvalOrder(Settings):
    """How summaries are refined."""

    thresholds: tuple[Thresholds, ...] = option("longsumeval", "thresholds", (dict(PAPER_GOALS),))
    orders: tuple[Literal["paper", "editor"], ...] = option("longsumeval", "orders", ("paper", "editor"))
    feedbacks: tuple[FeedbackName, ...] = option("longsumeval", "feedbacks", ())
    rounds: int | None = field_like(RefineConfig, "rounds")
    free_length: bool = field_like(RefineConfig, "free_length")

    _different = field_validator("thresholds", mode="before")(
        lambda value: list({str(part): part for part in value}.values()) if isinstance(value, list | tuple) else value
    )
    _named_once = field_validator("orders", "feedbacks", mode="before")(_each_once)


class HamletOrder(Settings):
    """What queries are asked, and how answers are judged."""

    full_text: bool = option("hamlet", "full_text", default=False)
    """Whether faithfulness is also judged against the whole document."""
    queries: int | None = option("hamlet", "queries", None, ge=1)


class ReadingOrder(Settings):
    """How far models read, and how they summarize, and what is known of the documents."""

    references: dict[str, str] = Field(default={}, exclude=True)
    """The reference summaries by document id: a baseline, and what the judge has in view as it asks."""
    sets: dict[str, str] = Field(default={})
    """The dataset of each document, by id, where tables tell datasets apart."""
    steps: Steps = option("reading", "steps", None)
    words: int | None = field_like(DraftConfig, "words")
    embeddings: str | None = field_like(JudgeConfig, "embeddings")


class ContextOrder(ReadingOrder):
    """How growing context is measured."""

    strategies: Names = option("context", "strategies", ("hierarchical",))
    places: Literal["lineage", "tfidf", "embeddings"] = option("context", "places", "lineage")
    """How the place of a sentence is found: by the lineage map, or as the most similar paragraph."""
    facts: bool = option("context", "facts", default=True)
    paragraph_facts: bool = option("context", "paragraph_facts", default=False)
    """Thesis, 5.7.1: its second score."""


class QaOrder(ReadingOrder):
    """How questions are asked, and answers compared."""

    strategies: Names = option("qa", "strategies", ("direct",))
    per_third: int = option("qa", "per_third", 1, ge=1, le=100)
    similarity: Literal["exact", "rouge1", "cosine"] = option("qa", "similarity", "rouge1")


class ChunkSizeOrder(Settings):
    """Which chunks are marked."""

    chunk_sizes: ChunkSizes = option("chunk-size", "chunk_sizes", SIZES)
    sample_size: int = option("chunk-size", "sample_size", 100, ge=1, le=10_000)
    """The maximum number of chunks of each size, over all documents."""

    _ascending = field_validator("chunk_sizes")(lambda sizes: tuple(sorted(sizes)))


ORDERS: Mapping[str, type[Settings]] = {
    "grid": GridOrder,
    "longsumeval": LongSumEvalOrder,
    "hamlet": HamletOrder,
    "context": ContextOrder,
    "qa": QaOrder,
    "chunk-size": ChunkSizeOrder,
}


@dataclass(frozen=True, slots=True)
class NamedModel:
    """A model by its given name, and its settings."""

    name: str
    settings: PublicSettings


class Seats(Settings):
    """The models that take part in an experiment."""

    name: ClassVar[str]
    """The name in its runs, and the command that repeats it."""
    title: ClassVar[str]
    item: ClassVar[str]
    """What an item is, in words."""
    writers: tuple[NamedModel, ...] = ()
    judges: tuple[NamedModel, ...] = ()
    """Those that judge what these write; the first also builds what it is judged by."""

    @property
    def judge(self) -> NamedModel:
        """The first judge."""
        return self.judges[0]

    def taking_part(self) -> Mapping[str, Sequence[str]]:
        """Return the names of the models."""
        seats = {"models": self.writers, "judged by": self.judges}
        return {role: [model.name for model in models] for role, models in seats.items()}

    def writer_settings(self, name: str, **changes: object) -> DraftConfig:
        """Return a writer's settings with some changes."""
        return self.keyed(next(model.settings for model in self.writers if model.name == name), **changes)

    def judge_settings(self, **changes: object) -> DraftConfig:
        """Return the first judge's settings with some changes."""
        return self.keyed(self.judge.settings, **changes)

    def keyed(self, settings: DraftConfig, **changes: object) -> DraftConfig:
        """Return the settings of one of the models with some changes, and without OPENAI_API_KEY unless they are for
        the one server of the experiment that gets it."""
        settings = settings.model_copy(update=changes)
        seated = [settings, *(model.settings for model in (*self.writers, *self.judges))]
        takes_usual_key = [config.key_env is None and provider_of(config.model) == OPENAI for config in seated]
        home = key_server([base_url(config.base_url) for config in compress(seated[1:], takes_usual_key[1:])])
        if not takes_usual_key[0] or server_at(base_url(settings.base_url)) == home:
            return settings
        return settings.model_copy(update={"key_env": NO_KEY})

    def judging_by(self, judging: JudgeConfig, judge: NamedModel) -> JudgeConfig:
        """Return the judging by a judge in a run that has its settings. Only one with sampling settings is named: a
        model that judges under no name of its own is sampled as the prompts have it."""
        settings = self.keyed(judge.settings)
        if settings.model == EXTRACTIVE or (settings.temperature is None and settings.top_p is None):
            return judging
        fields = {name: getattr(settings, name) for name in ModelSettings.model_fields}
        models = {**judging.models, judge.name: ModelSettings.model_validate(fields)}
        return judging.model_copy(update={"judges": (judge.name,), "models": models})


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

    def fields(self, order: type[Settings]) -> dict[str, Any]:
        """Return the values of an order's fields, as far as they are set."""
        return {name: value for name in order.model_fields if (value := self.values.get(name)) not in (None, (), "")}

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
        return {"writers": self.writers, "judges": (self.judge,), **self.fields(order), **shared}
