"""Who works for a workshop: models by name, or the very objects that an application hands over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count

from langchain_core.language_models import BaseChatModel

from redraft.errors import UsageError
from redraft.models.base import Model
from redraft.models.chat import wrapped
from redraft.runs.locating import located
from redraft.runs.staff import by_identity
from redraft.settings import Judging, ModelSettings, Refinement, Settings

ModelLike = str | ModelSettings | Model | BaseChatModel
"""A model by name, as on the command line, or with settings of its own, or an object: one of redraft's models, or any
LangChain chat model."""
# What a model has of its own, whatever a run says.
_ITS_OWN = frozenset({"model", "base_url", "key_env"})


@dataclass(frozen=True, slots=True)
class People:
    """The names of those who write, judge, validate and decide, and the objects behind them where there are any."""

    model: str | None = None
    judges: tuple[str, ...] = ()
    validator: str | None = None
    decider: str | None = None
    objects: dict[str, Model] = field(default_factory=dict)
    """By identity."""
    writer: ModelSettings | None = None
    """What the writer has of its own."""
    models: dict[str, ModelSettings] = field(default_factory=dict)
    """What the others have of their own, by name."""

    def settings(self, settings: Settings) -> Settings:
        """The settings with the writer of the workshop."""
        if self.writer is None:
            return settings if self.model is None else settings.model_copy(update={"model": self.model})
        own = {name: getattr(self.writer, name) for name in {*self.writer.model_fields_set, *_ITS_OWN}}
        said = settings.model_fields_set - _ITS_OWN
        return settings.model_copy(update={name: value for name, value in own.items() if name not in said})

    def judging(self, judging: Judging, settings: Settings, refinement: Refinement | None = None) -> Judging:
        """The judging by the judges of the workshop, with the address of those that are only named."""
        named = {
            "judges": self.judges or judging.judges,
            "validator": self.validator or judging.validator,
            "models": {**judging.models, **self.models},
        }
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
    models: dict[str, ModelSettings] = {}

    def named(given: ModelLike | None) -> str | None:
        if given is None or isinstance(given, str):
            return given
        if isinstance(given, ModelSettings):
            return _kept(given, models)
        return seen.setdefault(id(given), wrapped(given)).identity

    writer = model if isinstance(model, ModelSettings) else None
    name = writer.model if writer else named(model)
    panel = tuple(seat for one in judges if (seat := named(one)) is not None)
    others = panel, named(validator), named(decider)
    return People(name, *others, objects=by_identity(seen.values()), writer=writer, models=models)


def _kept(given: ModelSettings, models: dict[str, ModelSettings]) -> str:
    """A name for a model with settings: its own, or its own with a number where there is another one of that."""
    names = (f"{given.model}{f' ({number})' if number > 1 else ''}" for number in count(1))
    return next(name for name in names if models.setdefault(name, given) == given)
