"""Opens models by name under the settings of their roles."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from difflib import get_close_matches
from typing import TYPE_CHECKING

from redraft import plugins
from redraft.builtin.facade import IDENTITY
from redraft.builtin.facade import open_model as open_extractive
from redraft.errors import RunCommand, Set, UsageError
from redraft.llm.addresses import OPENAI, address_in, base_url, name_of, openai_key, plain_address, provider_of
from redraft.llm.base import LazyModel, Model
from redraft.llm.budget import FREE, PriceTable
from redraft.llm.nli import SERVES, open_entailment
from redraft.llm.reasoning_budget import usual_room
from redraft.settings import (
    EXTRACTIVE,
    GIVEN_STRATEGY,
    DraftConfig,
    JudgeConfig,
    Price,
    RefineConfig,
    is_entailment,
    reads_prompts,
)
from redraft.text.tokens import EstimatingTokenizer, Tokenizer, tokenizer_for

if TYPE_CHECKING:
    from redraft.evaluators.base import Evaluator
from redraft.runs.model_names import judge_settings_of, named_in, settings_by_name


def resolve(settings: DraftConfig) -> DraftConfig:
    """Return the settings with the model's address filled in for the record; unknown names are refused."""
    model, given = settings.model, settings.base_url
    if model == EXTRACTIVE:
        return settings.model_copy(update={"base_url": None, "key_env": None})
    if address_in(model):
        raise UsageError(f"{model} was passed as an object", hint="pass it again, from Python")
    provider, named, name = model.partition(":")
    if is_entailment(model) and name:
        return settings.model_copy(update={"base_url": None, "key_env": None})
    if provider == OPENAI and name:
        return settings.model_copy(update={"base_url": base_url(given)})
    if settings.key_env:
        raise UsageError(f"{model} takes its key from its provider's own variable", fix=("leave out ", Set("key_env")))
    if not (named and provider in plugins.names("models")):
        _check_provider(provider, model, name)
    return settings.model_copy(update={"base_url": plain_address(given) if given else None})


def _check_provider(provider: str, model: str, name: str) -> None:
    from redraft.llm.providers import check_provider, providers

    if not name or provider not in providers():
        own = plugins.names("models")
        meant = _meant(model, provider, name, (OPENAI, *own, *providers()))
        others = "".join(f"{plugin}:NAME, " for plugin in own)
        usual = f"openai:NAME, {others}PROVIDER:NAME ({_SOME}, ...), nli:MODEL as a judge, or extractive"
        raise UsageError(f"there is no model {model!r}", hint=f"did you mean {meant}?" if meant else f"use {usual}")
    check_provider(provider, model)


_SOME = "anthropic, google_genai, mistralai, ollama"
_FAMILIES = {
    "openai": ("gpt", "chatgpt", "o1", "o3", "o4"),
    "anthropic": ("claude",),
    "google_genai": ("gemini",),
    "mistralai": ("mistral", "magistral", "codestral"),
    "deepseek": ("deepseek",),
    "xai": ("grok",),
}


def _meant(model: str, provider: str, name: str, known: Sequence[str]) -> str:
    """The model that is likely meant: with the provider of its family, or with a provider that is written so."""
    if name:
        near = get_close_matches(provider.lower(), known, 1)
        return f"{near[0]}:{name}" if near else ""
    of_family = (family for family, begins in _FAMILIES.items() if model.lower().startswith(begins))
    return next((f"{family}:{model.lower()}" for family in of_family), "") if ":" not in model else ""


def tokenizer_of(settings: DraftConfig) -> tuple[Tokenizer, str]:
    """Return the model's tokenizer, with a warning where it is an approximation. Models that read no prompts cannot
    overflow a window."""
    if not reads_prompts(settings.model):
        return EstimatingTokenizer(), ""
    return tokenizer_for(name_of(settings.model))


def exact_tokenizer(settings: DraftConfig) -> Tokenizer | None:
    """Return the provider's tokenizer; None where it is not known for certain."""
    if not _is_at_openai(settings):
        return None
    tokenizer, warning = tokenizer_for(name_of(settings.model))
    return None if warning else tokenizer


def price_of(settings: DraftConfig, table: PriceTable) -> Price | None:
    """Return the price of a model; None where unknown. OpenAI's prices apply only to OpenAI's server."""
    if not reads_prompts(settings.model):
        return FREE
    if settings.price is not None:
        return settings.price
    return table.price(name_of(settings.model) or settings.model, at_openai=_is_at_openai(settings))


def _is_at_openai(settings: DraftConfig) -> bool:
    address = address_in(settings.model) or settings.base_url or ""
    return provider_of(settings.model) == OPENAI and address.startswith("https://api.openai.com/")


def reasoning_reserve(settings: DraftConfig) -> int:
    """Return the tokens that a model may use for reasoning in each call, besides its reply."""
    if not reads_prompts(settings.model):
        return 0
    if settings.reasoning_tokens is not None:
        return settings.reasoning_tokens
    return usual_room(name_of(settings.model))


@asynccontextmanager
async def open_model(settings: DraftConfig, *, seconds: float, usual_key: bool = True) -> AsyncIterator[Model]:
    """Open the model that the settings name for the duration of the context. Slow imports wait for the first call.
    Without its own key, a model that speaks OpenAI's protocol gets OPENAI_API_KEY only if `usual_key` allows it."""
    provider = provider_of(settings.model)
    if settings.model == EXTRACTIVE:
        yield LazyModel(IDENTITY, open_extractive)
    elif is_entailment(settings.model):
        yield open_entailment(name_of(settings.model))
    elif provider == OPENAI:
        async with AsyncExitStack() as closing:
            yield _late_openai(settings, seconds, closing, usual_key=usual_key)
    else:
        from redraft.llm.providers import open_plugged, open_provided

        known = provider in plugins.names("models")
        yield (open_plugged if known else open_provided)(settings, seconds=seconds)


def load_openai() -> None:
    """Import the OpenAI client."""
    import redraft.llm.openai  # noqa: F401


def _late_openai(settings: DraftConfig, seconds: float, closing: AsyncExitStack, *, usual_key: bool) -> Model:
    name, url = name_of(settings.model), settings.base_url
    assert url is not None
    key = openai_key(settings.model, url, settings.key_env, usual=usual_key)

    def opened() -> Model:
        from redraft.llm.openai import open_openai

        return open_openai(
            name,
            url,
            key=key,
            seconds=seconds,
            closing=closing,
            replies=settings.replies,
            reasoning=settings.reasoning_tokens,
        )

    return LazyModel(f"{settings.model}@{url}", opened)


_WHAT = "only says whether one text follows from another"
_AS_JUDGE = ("name it as one of the ", Set("judges"), f", for {SERVES[0]} or {SERVES[1]}")


def check_writer(settings: DraftConfig, refinement: RefineConfig | None) -> None:
    """Refuse a model that only judges as one that writes."""
    model = settings.model
    if is_entailment(model) and (settings.strategy != GIVEN_STRATEGY or refinement):
        raise UsageError(f"{model} cannot write: it {_WHAT}", fix=_AS_JUDGE)


def check_judges(
    settings: DraftConfig,
    judging: JudgeConfig,
    refinement: RefineConfig | None,
    known: Sequence[Evaluator],
    has_facts: bool,
) -> None:
    """Refuse what the judges that write no text do not serve. `has_facts` says whether there are key facts."""
    judges = judge_settings_of(settings, judging)
    for role, name in named_in(judging, refinement):
        other = settings_by_name(name, settings, judging).model
        if role != "judge" and is_entailment(other):
            raise UsageError(f"{other} can only be a judge: it {_WHAT}", fix=_AS_JUDGE)
    model = next((judge.model for judge in judges if is_entailment(judge.model)), None)
    if model is None:
        return
    asked = [evaluator.name for evaluator in known if evaluator.prompts]
    if not asked:
        raise UsageError(f"{model} cannot be used here: it {_WHAT}", fix=_AS_JUDGE)
    if strange := [name for name in asked if name not in SERVES]:
        raise UsageError(
            f"the judge {model} does not support {' and '.join(strange)}: it {_WHAT}",
            hint=f"it supports {', '.join(SERVES[:-1])} and {SERVES[-1]}; name another judge for the rest",
        )
    if SERVES[-1] in asked and is_entailment(judges[0].model) and not has_facts:
        raise UsageError(
            f"the judge {model} finds no key facts: it {_WHAT}",
            fix=("import some with ", RunCommand("pack import"), ", or name a judge that finds them before it"),
        )
