"""The order of a run, which is stored whole with it: what the run does, by which settings, within which limits.

There is one class for each kind of run, with the parts that this kind takes. Every door reads its words into an order
with `read_order`; to fork a run or to repeat it with changes is to edit its order.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self, get_args

from pydantic import Field, field_validator, model_validator

from redraft.domain import Finding
from redraft.errors import Set, UsageError, choose
from redraft.fields import Settings, settings_argument, validated
from redraft.settings import (
    DEFAULT_GOALS,
    EXTRACTIVE,
    NEWCOMER,
    USUAL_METRICS,
    DraftConfig,
    JudgeConfig,
    Limits,
    RefineConfig,
    reads_prompts,
)

Kind = Literal["summarize", "evaluate", "refine", "ask", "compare", "pack", "keyfacts"]
"""What a run does: `pack` and `keyfacts` build the questions or the key facts of a document."""
JUDGES_ADDRESS = "judge_base_url"
"""The name in an order of the judges' address, as `base_url` is the writer's."""
# The settings of a new draft: they make no difference to a run that makes none.
_OF_DRAFTS = frozenset({"strategy", "by_chapter", "until"})
# Of each of these a text that is written anew is judged by at least one metric.
_EDITORS_METRICS = (("coverage", "keyfact_recall"), ("consistency", "faithfulness"), (NEWCOMER,))


class AnyOrder(Settings):
    """What the orders of all kinds have: the models and settings of a run, its limits, and what it begins with. The
    latter is stored apart from the order: texts as drafts, findings with them."""

    settings: DraftConfig = Field(default_factory=DraftConfig)
    limits: Limits = Field(default_factory=Limits)
    given: str | None = Field(default=None, exclude=True)
    """The summary to judge, refine or compare."""
    findings: tuple[Finding, ...] = Field(default=(), exclude=True)
    """Findings to fix in the given summary, whatever the metrics find."""
    parent: str | None = Field(default=None, exclude=True)
    """The run whose draft is the given summary."""
    experiment: str | None = Field(default=None, exclude=True)
    """The experiment or the batch that the run belongs to."""
    idle: ClassVar[frozenset[str]] = frozenset()
    """The settings in `settings` that make no difference to such a run if its text is given."""


class Summarize(AnyOrder):
    """Draft a summary, and judge it if there are settings for that."""

    kind: Literal["summarize"] = "summarize"
    judging: JudgeConfig | None = None
    refinement: ClassVar[None] = None


class JudgedOrder(AnyOrder):
    """What is judged or built, and not refined."""

    judging: JudgeConfig
    refinement: ClassVar[None] = None
    idle = _OF_DRAFTS | {"words"}


class Evaluate(JudgedOrder):
    """Judge a summary, new or given."""

    kind: Literal["evaluate"] = "evaluate"
    idle = _OF_DRAFTS


class Refine(AnyOrder):
    """Judge a summary, new or given, and refine it until it meets its goals."""

    kind: Literal["refine"] = "refine"
    judging: JudgeConfig
    refinement: RefineConfig
    idle = _OF_DRAFTS

    @model_validator(mode="after")
    def _judge_what_is_written_anew(self) -> Self:
        """Add the metrics that an editor needs: whatever the goals, a new text is judged for content and for truth."""
        if self.refinement.policy != "paper":
            metrics, models = self.judging.metrics, self.judging.models
            more = [group[0] for group in _EDITORS_METRICS if not set(group) & {*metrics}]
            judges = [models[name].model if name in models else name for name in self.judging.judges]
            if not all(judge == EXTRACTIVE or reads_prompts(judge) for judge in judges):
                # Other judges compare claims, and cannot read as a newcomer.
                more = [name for name in more if name != NEWCOMER]
            judging = self.judging.model_copy(update={"metrics": (*metrics, *more)})
            object.__setattr__(self, "judging", judging)
        return self


class Ask(AnyOrder):
    """Answer a question about a document with citations. The answer is judged where a judge is named."""

    kind: Literal["ask"] = "ask"
    judging: JudgeConfig | None = None
    refinement: ClassVar[None] = None
    idle = _OF_DRAFTS


class Compare(JudgedOrder):
    """Compare two given summaries."""

    kind: Literal["compare"] = "compare"
    other: str | None = Field(default=None, exclude=True)
    """The summary to compare the given one with."""


class Build(JudgedOrder):
    """Build the questions about a document, or its key facts, without judging a draft. The field of `judging` that has
    the name of the kind names them."""

    kind: Literal["pack", "keyfacts"]


class ExperimentPart(JudgedOrder):
    """A part of an experiment, whose kind is the experiment's name. Only the experiment can resume it."""

    kind: str = Field(min_length=1)
    prompts: tuple[Any, ...] = Field(default=(), exclude=True)
    """The prompts of its own requests, each a `Prompt`."""

    @field_validator("kind")
    @classmethod
    def _is_no_other(cls, kind: str) -> str:
        if kind in KINDS:
            raise UsageError(f"no experiment can be named {kind!r}: that is what other runs are for")
        return kind


Order = Summarize | Evaluate | Refine | Compare | Build | Ask | ExperimentPart
_CLASSES: dict[str, type[Order]] = {
    kind: order for order in get_args(Order)[:-1] for kind in get_args(order.model_fields["kind"].annotation)
}
KINDS = tuple(_CLASSES)


def stored_order(fields: Mapping[str, Any]) -> Order:
    """Return the order in the body of a stored run, by its kind. Raises a `ValidationError` for unknown fields."""
    return _CLASSES.get(fields["kind"], ExperimentPart).model_validate(fields)


def order_of_draft(judging: JudgeConfig | None, refinement: RefineConfig | None = None, **parts: Any) -> Order:
    """Return the order for a draft, new or `given`: refine it, judge it, or neither. `parts` are the fields of any
    order."""
    if refinement is not None:
        return Refine(judging=judging or JudgeConfig(), refinement=refinement, **parts)
    if judging is not None and parts.get("given") is not None:
        return Evaluate(judging=judging, **parts)
    return Summarize(judging=judging, **parts)


class OrderParts(Settings):
    """The parts that orders of every kind are made of, such as the defaults of a session or the order of a run that is
    repeated with changes."""

    settings: DraftConfig = Field(default_factory=DraftConfig)
    judging: JudgeConfig = Field(default_factory=JudgeConfig)
    refinement: RefineConfig | None = None
    limits: Limits = Field(default_factory=Limits)

    @classmethod
    def of(cls, order: Order) -> OrderParts:
        """Return the parts of an order, to edit them."""
        judging = order.judging or JudgeConfig()
        return cls(settings=order.settings, judging=judging, refinement=order.refinement, limits=order.limits)

    def edited(self, values: Mapping[str, Any]) -> OrderParts:
        """Return the parts with others in place of those that are named, and with other settings, by the names of their
        fields. A setting that does not exist, or a wrong value, raises `UsageError`."""
        parts: dict[str, Any] = {name: settings_argument(PARTS[name], values.get(name), name) for name in PARTS}
        settings, judging, limits = (parts[name] or getattr(self, name) for name in ("settings", "judging", "limits"))
        refinement = parts["refinement"] or self.refinement
        shares: dict[str, dict[str, Any]] = {name: {} for name in PARTS}
        for name, value in values.items():
            if name not in PARTS:
                shares[part_of(name)]["base_url" if name == JUDGES_ADDRESS else name] = value
        if shares["refinement"]:
            fields = refinement.model_dump() if refinement else {"goals": dict(DEFAULT_GOALS)}
            refinement = validated(RefineConfig, {**fields, **shares["refinement"]})
        asked = {**judging.model_dump(), **shares["judging"]}
        return OrderParts(
            settings=validated(DraftConfig, {**settings.model_dump(exclude_unset=True), **shares["settings"]}),
            judging=validated(JudgeConfig, asked, lambda name: JUDGES_ADDRESS if name == "base_url" else name),
            refinement=refinement,
            limits=validated(Limits, {**limits.model_dump(), **shares["limits"]}),
        )

    def order(self, kind: Kind, *, is_judged: bool = False) -> Order:
        """Return the order of a kind that is made of these parts, with the usual metrics and goals where none are
        named. A new summary is only judged with `is_judged`."""
        parts: dict[str, Any] = {"settings": self.settings, "limits": self.limits}
        judging = self.judging
        match kind:
            case "summarize" if not is_judged:
                return Summarize(**parts)
            case "summarize" | "evaluate":
                metrics = tuple(dict.fromkeys(judging.metrics)) or USUAL_METRICS
                judged = Summarize if kind == "summarize" else Evaluate
                return judged(judging=judging.model_copy(update={"metrics": metrics}), **parts)
            case "refine":
                refinement = self.refinement or RefineConfig(goals=dict(DEFAULT_GOALS))
                metrics = tuple(dict.fromkeys((*judging.metrics, *refinement.goals))) or USUAL_METRICS
                judging = judging.model_copy(update={"metrics": metrics})
                return Refine(judging=judging, refinement=refinement, **parts)
            case "ask":
                panel = judging.model_copy(update={"metrics": ("consistency",)}) if judging.judges else None
                return Ask(judging=panel, **parts)
        parts["judging"] = judging.model_copy(update={"metrics": ()})
        return Compare(**parts) if kind == "compare" else Build(kind=kind, **parts)


AnyParts = Order | OrderParts
"""What has the parts of an order."""
PARTS: Mapping[str, type[Settings]] = {
    "settings": DraftConfig,
    "judging": JudgeConfig,
    "refinement": RefineConfig,
    "limits": Limits,
}
"""The parts of orders, whose fields are their settings."""
PART_OF: dict[str, str] = {}
"""The part that has a setting."""
for _part, _model in PARTS.items():
    for _name in _model.model_fields:
        PART_OF.setdefault(_name, _part)
PART_OF[JUDGES_ADDRESS] = "judging"


def read_order(kind: Kind, values: Mapping[str, Any]) -> Order:
    """Return an order by the names of its settings: `read_order("refine", {"words": 300, "goals": {"coverage": 0.8}})`.
    A setting that does not exist, that the kind does not take, or whose value is wrong raises `UsageError`."""
    is_judged = bool(values.get("metrics"))
    refuse_idle(kind, values, is_judged=is_judged)
    return OrderParts().edited(values).order(kind, is_judged=is_judged)


def part_of(name: str) -> str:
    """Return the part of an order that has a setting; raise `UsageError` for an unknown one."""
    if name in PART_OF:
        return PART_OF[name]
    raise UsageError(f"there is no setting {name!r}", hint=choose(tuple(PART_OF), name))


def refuse_idle(kind: Kind, values: Mapping[str, Any], *, is_judged: bool = False) -> None:
    """Raise `UsageError` for a setting that makes no difference to a run of this kind: one of a part that its order
    does not have, one of judging to a new summary unless that `is_judged`, or one of drafting to a summary that is
    given. Names of no setting are left to `edited`."""
    order = _CLASSES[kind]
    for name, value in values.items():
        part = name if name in PARTS and value is not None else PART_OF.get(name)
        is_unjudged = kind == "summarize" and part == "judging" and not is_judged
        if part and (is_unjudged or name in order.idle or part not in order.model_fields):
            with_judges = (", or add ", Set("metrics"), " or ", Set("goals"), ", so that the summary is judged")
            fix = ("leave it out", *(with_judges if kind == "summarize" else ()))
            call = "build" if kind in ("pack", "keyfacts") else kind
            raise UsageError(f"{name} makes no difference to `{call}`", fix=fix)
