"""Requests for runs, the fields of forms for them, the resulting settings, and plans that wait for confirmation."""

from __future__ import annotations

import json
import secrets
import time
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from functools import cache
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Generic, Literal, NamedTuple, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, create_model, model_validator
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from redraft import plugins
from redraft.batches.request import BatchRequest
from redraft.domain import Document
from redraft.errors import UsageError
from redraft.evaluators.catalog import check_goals, metrics, with_rubrics
from redraft.evaluators.consistency import similarity
from redraft.fields import Section, field_like, option_of, validated
from redraft.graphs.strategies import STRATEGIES
from redraft.llm.addresses import shown_name
from redraft.order import Order, OrderParts, Summarize
from redraft.prompts.book import SETS
from redraft.readers.parts import Selection, select
from redraft.settings import (
    AUTO,
    DEFAULT_GOALS,
    EXTRACTIVE,
    USUAL_METRICS,
    DraftConfig,
    JudgeConfig,
    Limits,
    ModelSettings,
    RefineConfig,
    RubricSettings,
)
from redraft.store.store import Store
from redraft.studio.doors import NotFound
from redraft.text.words import dollars

SETTINGS: tuple[type[BaseModel], ...] = (DraftConfig, JudgeConfig, RefineConfig)
# A request never sets the address or key of a model; the language was detected when the document was read.
_NEVER = frozenset({"base_url", "key_env", "source_language"})
_APART = frozenset({"strategy", "model", "metrics", "judges", "goals", "words", "query", "rounds", "review"})
"""Fields that the studio's forms have outside the groups."""
_OF_MODELS = frozenset({"validator", "confirm", "decider"})
_GROUPS: Mapping[Section, tuple[str, str]] = {
    "summary": ("Summary", "summarize evaluate refine"),
    "model": ("Model", "summarize evaluate refine"),
    "judging": ("Judging", "evaluate refine"),
    "refining": ("Refining", "refine"),
}
"""The groups of a form: the title, and the kinds of runs it applies to."""
_ENDS = ("ge", "gt", "le", "lt")


class FormField(NamedTuple):
    """A field of a form."""

    name: str
    label: str
    help: str
    kind: Literal["number", "text", "choice"]
    default: str
    choices: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None
    whole: bool = True


class ControlGroup(NamedTuple):
    """Fields that belong together."""

    title: str
    kinds: str
    """The kinds of runs it applies to."""
    controls: tuple[FormField, ...]

    def changed(self, values: Mapping[str, object]) -> int:
        """Return the number of fields that are filled in."""
        return sum(values.get(field.name) not in (None, "") for field in self.controls)


def named_fields(model: type[BaseModel]) -> tuple[str, ...]:
    """Return the names of the fields that a request can set."""
    return tuple(name for name in model.model_fields if name not in _NEVER and option_of(model, name) is not None)


def optional_fields(models: Iterable[type[BaseModel]], base: type[BaseModel] = BaseModel) -> dict[str, Any]:
    """Return these fields of some models that a request of the kind `base` lacks, as optional fields of it."""
    fields: dict[str, Any] = {}
    for model in models:
        for name in (name for name in named_fields(model) if name not in {*fields, *base.model_fields}):
            field = copy(model.model_fields[name])
            field.default = None
            field._attributes_set = {**field._attributes_set, "default": None}  # pydantic copies a field by these
            annotation: Any = model.model_fields[name].annotation
            fields[name] = (annotation | None, field)
    return fields


@cache
def groups(models: Sequence[str] = (), apart: frozenset[str] = frozenset()) -> tuple[ControlGroup, ...]:
    """Return the groups of fields, without those that a form has `apart`; `models` are the choices for validator and
    decider."""
    by_section: dict[Section, list[FormField]] = {section: [] for section in _GROUPS}
    for model in SETTINGS:
        for name in named_fields(model):
            field, option = model.model_fields[name], option_of(model, name)
            if name in _APART | apart or option is None:
                continue
            annotation: Any = field.annotation
            ends = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)
            kind = next(value for value in ends if value is not type(None))
            default = _default(field) if kind is bool else option.default or _default(field)
            help_text = field.description or ""
            choices: tuple[str, ...] = ()
            if get_origin(kind) is Literal:
                choices = tuple(map(str, get_args(kind)))
            elif name == "prompts":
                help_text, choices = "The set of prompts; simple is for weak models.", SETS
            elif kind is bool or name in _OF_MODELS:
                choices = ("true", "false") if kind is bool else tuple(models)
            form: dict[str, Any] = {"kind": "choice" if choices or name in _OF_MODELS else "text", "choices": choices}
            if form["kind"] == "text" and kind in (int, float) and name not in ("questions", "claims"):
                values = ((end, getattr(bound, end, None)) for bound in field.metadata for end in _ENDS)
                bounds = {end: value for end, value in values if value is not None}
                form |= {"kind": "number", "whole": kind is int}
                form |= {"least": bounds.get("ge", bounds.get("gt")), "most": bounds.get("le", bounds.get("lt"))}
            label = option.label or name.replace("_", " ")
            by_section[option.section].append(FormField(name, label, help_text, default=default, **form))
    return tuple(ControlGroup(*_GROUPS[section], tuple(fields)) for section, fields in by_section.items())


def _default(field: FieldInfo) -> str:
    value = field.default
    if value in (None, (), PydanticUndefined):
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)


Models = Mapping[str, ModelSettings]
_OF_REQUESTS = frozenset({"strategy", "model", "metrics", "judges", "goals"})
"""The fields of settings that requests define themselves."""
_DRAFTING, _JUDGING, _REFINING = (
    {*named_fields(model)} - _OF_REQUESTS for model in (DraftConfig, JudgeConfig, RefineConfig)
)

PLANNED_APART = (_DRAFTING | _JUDGING | _REFINING) - {"words", "query", "rounds", "review"}
"""The settings that a plan does not show elsewhere."""

if TYPE_CHECKING:

    class RunSettings(BaseModel):
        """The settings that a request can have, by their names."""

        def __getattr__(self, name: str) -> Any: ...

else:
    _names, _usual = tuple[str, ...], "the usual ones of its kind."
    _model = "`extractive`, the name of a model in redraft.toml, or a model found on this machine."
    _chosen = {
        "model": (str, Field(EXTRACTIVE, description=_model)),
        "judges": (_names, Field((), description="Models that judge; several decide by majority.")),
        "metrics": (_names, Field((), description=f"The metrics that judge. Default: those of the goals, or {_usual}")),
        "goals": (dict[str, float], Field(default_factory=dict, description=f"The least scores. Default: {_usual}")),
        "words": (Annotated[int | None, Field(le=1_000_000)], field_like(DraftConfig, "words")),
        "query": (Annotated[str | None, Field(max_length=2000)], field_like(DraftConfig, "query")),
    }
    RunSettings = create_model("RunSettings", **optional_fields(SETTINGS) | _chosen)


def read_rubrics(value: object) -> object:
    """Return the rubrics that a form names, each on a line of its own; JSON text can also define levels."""
    if not isinstance(value, str):
        return value
    if value.lstrip().startswith("{"):
        return json.loads(value)
    lines = [line.partition(":") for line in value.splitlines() if line.strip()]
    if wrong := next((name for name, _, text in lines if not text.strip()), None):
        raise ValueError(f"{wrong.strip()!r:.80} has no text; write for example plain_tone: No legal terms")
    return {name.strip(): {"requirement": text.strip()} for name, _, text in lines}


def rubric_lines(value: object) -> str:
    """Return the text that `read_rubrics` reads, for a form."""
    if not isinstance(value, Mapping):
        return str(value or "")
    rubrics = {name: validated(RubricSettings, dict(settings)) for name, settings in value.items()}
    stated = {
        name: rubric_settings.model_dump(mode="json", exclude_defaults=True)
        for name, rubric_settings in rubrics.items()
    }
    if any(settings.keys() - {"requirement"} for settings in stated.values()):
        return json.dumps(stated, ensure_ascii=False)
    return "\n".join(f"{name}: {settings['requirement']}" for name, settings in stated.items())


class SettingsBody(RunSettings):
    """Settings of a request. All are optional, with the usual defaults of runs."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    rubrics: Annotated[dict[str, RubricSettings], BeforeValidator(read_rubrics)] = Field(default_factory=dict)
    """Your own requirements by name. Judges score how far a summary meets each."""
    max_cost: float | None = Field(default=None, gt=0)
    """Stop before it costs more US dollars."""
    dry_run: bool = Field(default=False, exclude=True)
    """Only return the plan: no model is called and nothing is stored."""

    @model_validator(mode="before")
    @classmethod
    def drop_nulls(cls, values: Any) -> Any:
        """Drop null values."""
        return (
            {name: value for name, value in values.items() if value is not None} if isinstance(values, dict) else values
        )

    def said(self, names: set[str]) -> dict[str, Any]:
        """Return the settings of the request that are among `names`."""
        values: dict[str, Any] = self.model_dump(include=names, exclude_none=True)
        return values


class RunBody(SettingsBody):
    """A request for a run. Its document is `document`, `text`, or a file of the request."""

    document: str | None = Field(default=None, max_length=64)
    """The id of a document in the database, or its first characters."""
    text: str | None = None
    """The text of the document."""
    title: str = Field(default="", max_length=300)
    """The title of the document, with `text`."""
    parent: str | None = Field(default=None, max_length=64)
    """The run of this document that this one repeats with changes."""
    chapters: str = Field(default="", max_length=200)
    """The chapters to read, such as 1-3 or 2,5-. Default: all."""
    kind: Literal["summarize", "evaluate", "refine"] = "summarize"
    """Draft a summary; draft and judge it; or redraft it until it meets its goals."""
    summary: str | None = Field(default=None, max_length=2_000_000)
    """Your own summary, to be judged or refined instead of a draft. A form can send it as a file, `summary_file`."""
    strategy: str = AUTO
    judge: str | None = None
    """The model that judges. Default: the one that writes. `judges` are more of them; several decide by majority."""
    rubric_goal: float = Field(default=0.75, ge=0, le=1)
    """The goal of each of `rubrics` that `goals` does not name, with kind refine."""


class BatchBody(RunBody):
    """A request for a batch: each document gets a run of its own."""

    documents: tuple[str, ...] = Field(default=(), max_length=200)
    """The ids of documents in the database."""
    name: str = Field(default="", max_length=60)
    """What to call the batch. Default: made from its settings and documents."""


AskedT = TypeVar("AskedT", bound=SettingsBody)


class Startable(NamedTuple, Generic[AskedT]):
    """What can be started: a run, a batch or an experiment, with the whole documents."""

    asked: AskedT
    documents: tuple[Document, ...]
    left_out: tuple[str, ...] = ()
    """The files that cannot be read, and why."""


StartableRuns = Startable[RunBody]


def texts_of(startable: StartableRuns) -> tuple[Document, ...]:
    """Return the documents of runs, or the chosen chapters of each."""
    if not startable.asked.chapters:
        return startable.documents
    return tuple(select(document, Selection(startable.asked.chapters, skip=())) for document in startable.documents)


def batch_of(body: RunBody, models: Models) -> BatchRequest:
    """Return the settings of a batch. Raise UsageError for what applies to one document."""
    if body.summary is not None:
        hint = "choose one document, or leave your summary out"
        raise UsageError("your own summary belongs to one document, and there are several", hint=hint)
    order = order_of(body, models)
    if order.refinement is not None and order.refinement.review:
        raise UsageError(
            "you can be asked before each revision of one summary only, and there are several documents",
            hint="leave that out; a summary of the batch can be refined with it afterwards",
        )
    return BatchRequest(order.settings, order.judging, order.refinement)


def order_of(body: RunBody, models: Models) -> Order:
    """Return what a run is to do. Raise UsageError if the request is contradictory."""
    judged_by = [name for name in ("rubrics", "judge", "judges", "metrics") if getattr(body, name)]
    choose = "choose evaluate or refine"
    if body.kind == "summarize" and (stray := ["summary"] * (body.summary is not None) + judged_by):
        raise UsageError(f"{stray[0]} does not apply to kind summarize", hint=f"{choose}, or leave it out")
    if body.kind != "refine" and body.goals:
        raise UsageError("goals only apply to kind refine", hint="choose refine, or leave the goals out")
    if body.kind == "summarize" and (stray := [*body.said(_JUDGING | _REFINING)]):
        raise UsageError(f"{stray[0]} does not apply to kind summarize", hint=choose)
    settings = settings_of(body, models, body.model, strategy=body.strategy)
    if body.kind == "summarize":
        return Summarize(settings=settings)
    rubric_goals = dict.fromkeys(body.rubrics, body.rubric_goal)
    goals = {**rubric_goals, **body.goals} or DEFAULT_GOALS
    judges = tuple(dict.fromkeys([*([body.judge] if body.judge else ()), *body.judges]))
    metric_names = tuple(dict.fromkeys([*body.metrics, *rubric_goals, *(goals if body.kind == "refine" else ())]))
    judging = judging_of(body, models, metric_names, () if judges == (body.model,) else judges)
    refining = {"goals": goals, **body.said(_REFINING)} if body.kind == "refine" else {}
    order = OrderParts(settings=settings, judging=judging).edited(refining).order(body.kind)
    goals = order.refinement.goals if order.refinement else {}
    check_goals(goals, metrics((*judging.metrics, *goals), with_rubrics(judging, ())))
    return order.model_copy(update={"given": body.summary})


def settings_of(body: SettingsBody, models: Models, model: str, *, strategy: str, **changes: object) -> DraftConfig:
    """Return the settings of a model that writes: those of the request override those of the model."""
    if strategy not in strategies():
        raise UsageError(f"there is no strategy {strategy!r}", hint=f"choose from: {', '.join(strategies())}")
    prompts = body.said({"prompts"}).get("prompts", SETS[0])
    if prompts not in SETS:
        raise UsageError(f"there is no set of prompts {prompts!r:.80}", hint=f"choose from: {', '.join(SETS)}")
    fields = own_settings(known_model(model, models)) if model != EXTRACTIVE else {}
    return validated(DraftConfig, {"strategy": strategy, **fields, **body.said(_DRAFTING), **changes})


def own_settings(table: ModelSettings) -> dict[str, Any]:
    """Return the settings in a model's table in redraft.toml."""
    return {name: getattr(table, name) for name in table.model_fields_set if getattr(table, name) is not None}


def writer_settings(name: str, models: Models) -> dict[str, Any]:
    """Return what a run's settings say of its model, for another model."""
    fields = own_settings(known_model(name, models)) if name != EXTRACTIVE else {"model": EXTRACTIVE}
    usual = DraftConfig()
    return {
        field: getattr(usual, field) for field in ModelSettings.model_fields if field in DraftConfig.model_fields
    } | fields


def known_model(name: str, models: Models) -> ModelSettings:
    """Return a model by name. Requests cannot give an address, so no document or key is sent to one."""
    if name not in models:
        choices = ", ".join((EXTRACTIVE, *models))
        raise UsageError(
            f"there is no model {name!r}", hint=f"choose from: {choices}; the page “Models” shows how to add more"
        )
    return models[name]


def names_of(models: Models) -> dict[str, str]:
    """Return the names of models for people, by their names here and by those that their servers are asked for, as far
    as these are theirs alone."""
    labels = {name: shown_name(settings.model, settings.base_url) for name, settings in models.items()}
    served = [settings.model for settings in models.values()]
    return {
        settings.model: labels[name] for name, settings in models.items() if served.count(settings.model) == 1
    } | labels


def judging_of(body: SettingsBody, models: Models, metrics: tuple[str, ...], judges: tuple[str, ...]) -> JudgeConfig:
    """Return the settings of judging, with the judges."""
    named_models = (
        *judges,
        *(name_of_role for name in ("validator", "decider") if (name_of_role := getattr(body, name))),
    )
    tables = {name: known_model(name, models) for name in named_models if name != EXTRACTIVE}
    values = {"metrics": metrics or USUAL_METRICS, "judges": judges, "models": tables, **body.said(_JUDGING)}
    values["rubrics"] = {name: rubric_settings for name, rubric_settings in body.rubrics.items() if name in metrics}
    judging = validated(JudgeConfig, values)
    if judging.embeddings is None:
        similarity(judging.similarity, None)
    return judging


def limits_of(usual: Limits, max_cost: float | None, max_calls: int | None = None) -> Limits:
    """Return the limits of a run, a batch or an experiment: its own, but never above those of the studio."""
    changes = {}
    for name, limit in (("max_cost", max_cost), ("max_calls", max_calls)):
        bounds = [bound for bound in (limit, getattr(usual, name)) if bound is not None]
        changes[name] = min(bounds) if bounds else None
    return validated(Limits, {**usual.model_dump(), **changes})


def refuse_unpriced(models: Sequence[str], limits: Limits) -> None:
    """Refuse models without a price where the cost has a limit, which could not be kept."""
    if models and limits.max_cost is not None:
        raise UsageError(
            f"the price of {' and '.join(models)} is unknown,"
            f" so the limit of {dollars(limits.max_cost, exact=True)} cannot be kept",
            hint="add the price, such as price = { prompt = 0.25, completion = 2.0 } for US dollars per million tokens,"
            " to its table in redraft.toml and restart the studio; or leave the limit of cost out",
        )


def document_named(store: Store, key: str) -> Document:
    """Return the document with this id, or with the only id that starts with it."""
    rows = store.connection.rows("SELECT id FROM documents")
    keys = [str(row["id"]) for row in rows if key and str(row["id"]).startswith(key)]
    if len(keys) != 1:
        raise NotFound(f"{'more than one' if keys else 'no'} document has an id that starts with {key!r}")
    return store.documents.get(keys[0])


def strategies() -> tuple[str, ...]:
    """Return the names of all strategies, and `auto`, which chooses one."""
    return (AUTO, *STRATEGIES, *plugins.names("strategies"))


T = TypeVar("T")
_MAX, _SECONDS = 16, 3600.0


class ExpiringItems(Generic[T]):
    """Items under unguessable keys, for an hour. The oldest is dropped when there are too many."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, tuple[float, T]] = OrderedDict()

    def keep(self, thing: T) -> str:
        """Store an item, and return its key."""
        key = secrets.token_urlsafe(12)
        self._kept[key] = (time.monotonic(), thing)
        while len(self._kept) > _MAX:
            self._kept.popitem(last=False)
        return key

    def look(self, key: str) -> T:
        """Return the item with this key; raise UsageError if it has expired."""
        since, thing = self._kept.get(key, (float("-inf"), None))
        if thing is None or time.monotonic() - since > _SECONDS:
            raise UsageError("this plan has expired", hint="fill in the form again")
        return thing

    def take(self, key: str) -> T:
        """Return the item with this key, and remove it."""
        thing = self.look(key)
        del self._kept[key]
        return thing
