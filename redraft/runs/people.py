"""Who works for a workshop: models by name, or the very objects that an application hands over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from langchain_core.language_models import BaseChatModel

from redraft.errors import UsageError
from redraft.models.base import Model
from redraft.models.chat import wrapped
from redraft.runs.staff import by_identity, located
from redraft.settings import Judging, Refinement, Settings

ModelLike = str | Model | BaseChatModel
"""A model by name, as on the command line, or an object: one of redraft's models, or any LangChain chat model."""


@dataclass(frozen=True, slots=True)
class People:
    """The names of those who write, judge, validate and decide, and the objects behind them where there are any."""

    model: str | None = None
    judges: tuple[str, ...] = ()
    validator: str | None = None
    decider: str | None = None
    objects: dict[str, Model] = field(default_factory=dict)
    """By identity."""

    def settings(self, settings: Settings) -> Settings:
        """The settings with the writer of the workshop."""
        return settings if self.model is None else settings.model_copy(update={"model": self.model})

    def judging(self, judging: Judging, settings: Settings, refinement: Refinement | None = None) -> Judging:
        """The judging by the judges of the workshop, with the address of those that are only named."""
        named = {"judges": self.judges or judging.judges, "validator": self.validator or judging.validator}
        return located(judging.model_copy(update=named), settings, refinement, self.objects)

    def refinement(self, refinement: Refinement) -> Refinement:
        """The refinement with the decider of the workshop."""
        return refinement if self.decider is None else refinement.model_copy(update={"decider": self.decider})


def people(
    model: ModelLike | None,
    judges: Sequence[ModelLike],
    validator: ModelLike | None,
    decider: ModelLike | None,
) -> People:
    """Everybody under a name; an object may have several roles."""
    if isinstance(judges, str):
        raise UsageError(f"judges is the text {judges!r:.40}", hint=f"give a list: judges=[{judges!r:.40}]")
    seen: dict[int, Model] = {}

    def named(given: ModelLike | None) -> str | None:
        if given is None or isinstance(given, str):
            return given
        return seen.setdefault(id(given), wrapped(given)).identity

    panel = tuple(name for one in judges if (name := named(one)) is not None)
    return People(named(model), panel, named(validator), named(decider), by_identity(seen.values()))
