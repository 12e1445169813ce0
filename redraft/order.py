"""The order of a run: what it is to do, by which settings, within which limits. Every door reads its words into one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from redraft.errors import Choose, Set, UsageError
from redraft.fields import Settings, validated
from redraft.settings import (
    DEFAULT_GOALS,
    SUMMARIZE,
    USUAL_METRICS,
    Ask,
    BuildKeyfacts,
    BuildQuestions,
    Compare,
    DraftConfig,
    Evaluate,
    JudgeConfig,
    Limits,
    Purpose,
    Refine,
    RefineConfig,
)

Kind = Literal["summarize", "evaluate", "refine", "ask", "compare", "pack", "keyfacts"]
"""What a run does: `pack` and `keyfacts` build the questions or the key facts of a document."""
PARTS: Mapping[str, type[Settings]] = {
    "settings": DraftConfig,
    "judging": JudgeConfig,
    "refinement": RefineConfig,
    "limits": Limits,
}
"""The parts of an order, whose fields are its settings."""
JUDGES_ADDRESS = "judge_base_url"
"""The name in an order of the judges' address, as `base_url` is the writer's."""
_OF_DRAFTS = frozenset({"strategy", "by_chapter", "until", "drafts"})
_OF_REFINING = frozenset(RefineConfig.model_fields)
_OF_JUDGING = frozenset(JudgeConfig.model_fields) - frozenset(DraftConfig.model_fields) | {JUDGES_ADDRESS}
_IDLE: Mapping[Kind, frozenset[str]] = {
    "summarize": _OF_JUDGING | _OF_REFINING,
    "evaluate": _OF_DRAFTS | _OF_REFINING,
    "refine": _OF_DRAFTS,
    "ask": _OF_DRAFTS | _OF_REFINING,
    **dict.fromkeys(("compare", "pack", "keyfacts"), _OF_DRAFTS | _OF_REFINING | {"words"}),
}
"""The settings that make no difference to a run; to `evaluate` and `refine`, where they get a summary to work on."""


class Order(Settings):
    """What a run is to do: `Order(kind="refine").edited({"words": 300, "goals": {"coverage": 0.8}})`.

    Doors read text into settings by name and edit an order by them: the command line and its settings files, Python,
    the input of a graph, the API with its forms, and the tools of language models. What is wrong raises a `UsageError`
    here.
    """

    kind: Kind = "summarize"
    settings: DraftConfig = Field(default_factory=DraftConfig)
    judging: JudgeConfig = Field(default_factory=JudgeConfig)
    refinement: RefineConfig | None = None
    limits: Limits = Field(default_factory=Limits)

    def edited(self, values: Mapping[str, Any], *, kind: Kind | None = None) -> Order:
        """Return the order with other settings, by the names of their fields. A setting that does not exist, or that
        its kind does not take, raises `UsageError`."""
        kind = kind or self.kind
        shares: dict[str, dict[str, Any]] = {part: {} for part in PARTS}
        for name, value in values.items():
            part = part_of(name)
            shares[part]["base_url" if name == JUDGES_ADDRESS else name] = value
        if shares["refinement"] or (kind == "refine" and self.refinement is None):
            fields = self.refinement.model_dump() if self.refinement else {"goals": dict(DEFAULT_GOALS)}
            refinement: RefineConfig | None = validated(RefineConfig, {**fields, **shares["refinement"]})
        else:
            refinement = self.refinement
        judging = {**self.judging.model_dump(), **shares["judging"]}
        drafting = {**self.settings.model_dump(exclude_unset=True), **shares["settings"]}
        return Order(
            kind=kind,
            settings=validated(DraftConfig, drafting),
            judging=validated(JudgeConfig, judging, _judging_name),
            refinement=refinement,
            limits=validated(Limits, {**self.limits.model_dump(), **shares["limits"]}),
        )

    @property
    def purpose(self) -> Purpose:
        """Return what the run does, with the usual metrics and goals where none are named."""
        judging, bare = self.judging, self.judging.model_copy(update={"metrics": ()})
        match self.kind:
            case "evaluate":
                metrics = tuple(dict.fromkeys(judging.metrics)) or USUAL_METRICS
                return Evaluate(judging=judging.model_copy(update={"metrics": metrics}))
            case "refine":
                refinement = self.refinement or RefineConfig(goals=dict(DEFAULT_GOALS))
                metrics = tuple(dict.fromkeys((*judging.metrics, *refinement.goals))) or USUAL_METRICS
                return Refine(judging=judging.model_copy(update={"metrics": metrics}), refinement=refinement)
            case "ask":
                panel = judging.model_copy(update={"metrics": ("consistency",)}) if judging.judges else None
                return Ask(judging=panel)
            case "compare":
                return Compare(judging=bare)
            case "pack":
                return BuildQuestions(judging=bare)
            case "keyfacts":
                return BuildKeyfacts(judging=bare)
        return SUMMARIZE

    @classmethod
    def of_parts(
        cls, kind: Kind, settings: DraftConfig, judging: JudgeConfig | None, refinement: RefineConfig | None
    ) -> Order:
        """Return an order of these parts, such as those of a stored run that is repeated with changes."""
        return cls(kind=kind, settings=settings, judging=judging or JudgeConfig(), refinement=refinement)


def names_of_settings() -> list[str]:
    """Return the names of all settings of an order."""
    return [*dict.fromkeys(name for part in PARTS.values() for name in part.model_fields), JUDGES_ADDRESS]


def part_of(name: str) -> str:
    """Return the part of an order that has a setting; raise `UsageError` for an unknown one."""
    if name == JUDGES_ADDRESS:
        return "judging"
    for part, model in PARTS.items():
        if name in model.model_fields:
            return part
    raise UsageError(f"there is no setting {name!r}", fix=Choose(tuple(names_of_settings()), name))


def _judging_name(field: str) -> str:
    return JUDGES_ADDRESS if field == "base_url" else field


def kind_of_draft(order: Order, values: Mapping[str, Any], *, judged: bool) -> Kind:
    """Return what is to be done with a new draft: refine it if there are goals or other settings of refining, evaluate
    it if it is `judged`, or neither."""
    if order.refinement is not None or any(name in _OF_REFINING for name in values):
        return "refine"
    return "evaluate" if judged else "summarize"


def refuse_idle(kind: Kind, values: Mapping[str, Any]) -> None:
    """Raise `UsageError` for a setting that makes no difference to a run of this kind: one that judges and refines to a
    draft that is only written, one of drafting to a summary that is given."""
    if idle := next((name for name in values if name in _IDLE[kind]), None):
        with_judges = (", or add ", Set("metrics"), " or ", Set("goals"), ", so that the summary is judged")
        fix = ("leave it out", *(with_judges if kind == "summarize" else ()))
        call = "build" if kind in ("pack", "keyfacts") else kind
        raise UsageError(f"{idle} makes no difference to `{call}`", fix=fix)
