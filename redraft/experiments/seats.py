"""Who takes part in an experiment, and who gets OPENAI_API_KEY: no run knows the address of another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

from redraft.models.addresses import OPENAI, base_url, home_of_the_key, provider_of, server_at
from redraft.runs.experiment_runner import Bench
from redraft.runs.model_pool import hire
from redraft.runs.models import resolve
from redraft.settings import NO_KEY, Judging, ModelSettings, ReplyForm, Settings

_OF_ITS_PLACE = {"base_url", "key_env", "price"}


@dataclass(frozen=True, slots=True)
class Seat:
    """A model by the name that it was given, and the settings under which it works."""

    name: str
    settings: Settings

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

    def reading(self, judge: str, window: int, **more: Any) -> Settings:
        """How a judge reads in a window, with what else there is to say of it."""
        return Settings(
            strategy="given",
            context_tokens=self.context_tokens or window,
            temperature=self.temperature,
            prompts=self.prompts,
            replies=self.replies,
            **{"model": judge, "base_url": self.base_url, **more},
        )


def seated(name: str, seats: Iterable[Seat]) -> Seat:
    """The one of this name."""
    return next(one for one in seats if one.name == name)


def keyed(one: Settings, everyone: Iterable[Settings]) -> Settings:
    """The settings without OPENAI_API_KEY, unless they are for the one server of the experiment that gets it."""
    if one.key_env is not None or provider_of(one.model) != OPENAI:
        return one
    wanting = [it for it in everyone if it.key_env is None and provider_of(it.model) == OPENAI]
    home = home_of_the_key([base_url(it.base_url) for it in wanting])
    return one if server_at(base_url(one.base_url)) == home else one.model_copy(update={"key_env": NO_KEY})


def judged_by(judging: Judging, name: str, settings: Settings) -> Judging:
    """The judging by the model that these settings are of. One that draws its replies in a way of its own is named with
    it: a run gives a judge who has no name there what the prompts have, in place of what a writer has."""
    if settings.temperature is None and settings.top_p is None:
        return judging
    of_it = {one: getattr(settings, one) for one in ModelSettings.model_fields}
    models = {**judging.models, name: ModelSettings.model_validate(of_it)}
    return judging.model_copy(update={"judges": (name,), "models": models})


def check_seats(bench: Bench, *seats: tuple[Settings, Judging | None]) -> None:
    """Refuse a name or a price that nobody knows, before anything is paid for."""
    for settings, judging in seats:
        hire(resolve(settings), judging, bench.limits, bench.prices)
