"""Who works for a workshop: models by name, or the very objects that an application hands over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from redraft.errors import UsageError
from redraft.models.base import Model
from redraft.models.chat import wrapped
from redraft.runs.staff import located
from redraft.settings import Judging, Refinement, Settings

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    GivenModel = str | Model | BaseChatModel
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

    def judging(self, judging: Judging, settings: Settings) -> Judging:
        """The judging by the judges of the workshop, with the address of those that are only named."""
        named = {"judges": self.judges or judging.judges, "validator": self.validator or judging.validator}
        return located(judging.model_copy(update=named), settings, self.objects)

    def refinement(self, refinement: Refinement) -> Refinement:
        """The refinement with the decider of the workshop."""
        return refinement if self.decider is None else refinement.model_copy(update={"decider": self.decider})


def people(
    model: GivenModel | None,
    judges: Sequence[GivenModel],
    validator: GivenModel | None,
    decider: GivenModel | None,
) -> People:
    """Everybody under a name. Two objects of one name could not be told apart, and are refused."""
    objects: dict[str, Model] = {}
    seen: dict[int, Model] = {}

    def named(given: GivenModel | None) -> str | None:
        if given is None or isinstance(given, str):
            return given
        found = seen.setdefault(id(given), wrapped(given))
        if objects.setdefault(found.identity, found) is not found:
            raise UsageError(
                f"two different models have the identity {found.identity}, and their answers could not be told apart",
                hint="give them identities of their own: ChatModel(chat, identity=...); or let one judge more than"
                " once, with repeat",
            )
        return found.identity

    writer, panel = named(model), tuple(name for one in judges if (name := named(one)) is not None)
    if twice := next((name for name in panel if panel.count(name) > 1), None):
        raise UsageError(f"the judge {twice} is there twice", hint="use repeat to let a judge judge more than once")
    return People(writer, panel, named(validator), named(decider), objects)
