"""Opens models by name under the settings of their roles."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from difflib import get_close_matches
from typing import TYPE_CHECKING

from redraft import plugins
from redraft.builtin.facade import IDENTITY
from redraft.builtin.facade import open_model as open_extractive
from redraft.errors import UsageError
from redraft.llm.addresses import OPENAI, address_in, base_url, is_here, name_of, openai_key, plain_address, provider_of
from redraft.llm.base import LazyModel, Model
from redraft.llm.budget import FREE, PriceTable
from redraft.llm.claim_judge import DECIDED, QUESTIONS_VERSION
from redraft.llm.nli import SERVES, open_entailment
from redraft.llm.reasoning_budget import usual_room
from redraft.settings import (
    DECISIONS,
    EXTRACTIVE,
    GIVEN_STRATEGY,
    SYSTEMONE,
    DraftConfig,
    JudgeConfig,
    Price,
    RefineConfig,
    is_decision,
    is_entailment,
    is_language_model,
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
    if is_decision(model) and name:
        return _resolved_decisions(settings, provider)
    if settings.key_env:
        raise UsageError(f"{model} takes its key from its provider's own variable", hint="leave out --set key_env")
    if not (named and provider in plugins.names("models")):
        _check_provider(provider, model, name)
    return settings.model_copy(update={"base_url": plain_address(given) if given else None})


def _resolved_decisions(settings: DraftConfig, provider: str) -> DraftConfig:
    """Return the settings of a decision model with its address. Only OpenAI's API has a usual one."""
    if provider == DECISIONS:
        return settings.model_copy(update={"base_url": base_url(settings.base_url)})
    if not settings.base_url:
        raise UsageError(
            f"{settings.model} needs the address of its server",
            hint="give it with --set judge_base_url, for example http://localhost:8080",
        )
    return settings.model_copy(update={"base_url": plain_address(settings.base_url)})


def _check_provider(provider: str, model: str, name: str) -> None:
    from redraft.llm.providers import check_provider, providers

    if not name or provider not in providers():
        own = plugins.names("models")
        meant = _meant(model, provider, name, (OPENAI, *own, *providers()))
        others = "".join(f"{plugin}:NAME, " for plugin in own)
        judges = "nli:MODEL, decisions:NAME or systemone:NAME as a judge"
        usual = f"openai:NAME, {others}PROVIDER:NAME ({_SOME}, ...), {judges}, or extractive"
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
    if provider_of(settings.model) == SYSTEMONE and is_here(settings.base_url or ""):
        return FREE
    return table.price(name_of(settings.model) or settings.model, at_openai=_is_at_openai(settings))


def _is_at_openai(settings: DraftConfig) -> bool:
    address = address_in(settings.model) or settings.base_url or ""
    return provider_of(settings.model) in (OPENAI, DECISIONS) and address.startswith("https://api.openai.com/")


def reasoning_reserve(settings: DraftConfig) -> int:
    """Return the tokens that a model may use for reasoning in each call, besides its reply."""
    if not is_language_model(settings.model):
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
    elif is_decision(settings.model):
        async with AsyncExitStack() as closing:
            yield _open_decision_model(settings, seconds, closing, usual_key=usual_key)
    elif provider == OPENAI:
        async with AsyncExitStack() as closing:
            yield _late_openai(settings, seconds, closing, usual_key=usual_key)
    else:
        from redraft.llm.providers import open_plugged, open_provided

        known = provider in plugins.names("models")
        yield (open_plugged if known else open_provided)(settings, seconds=seconds)


def _open_decision_model(settings: DraftConfig, seconds: float, closing: AsyncExitStack, *, usual_key: bool) -> Model:
    name, url = name_of(settings.model), settings.base_url
    assert url is not None
    openais = provider_of(settings.model) == DECISIONS
    key = openai_key(settings.model, url, settings.key_env, usual=usual_key and openais)
    identity = f"{settings.model}:{QUESTIONS_VERSION}@{url}"
    if not openais:
        from redraft.llm.decisions import open_systemone

        return open_systemone(name, url, key=key, seconds=seconds, closing=closing, identity=identity)
    from redraft.llm.openai import open_decisions

    return open_decisions(name, url, key=key, seconds=seconds, closing=closing, identity=identity)


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


def _what(model: str) -> str:
    return "answers typed questions only" if is_decision(model) else "only says whether one text follows from another"


def _serves(model: str) -> tuple[str, ...]:
    return DECIDED if is_decision(model) else SERVES


def _hint(model: str) -> str:
    first, second, *_ = _serves(model)
    return f"name it as --judge, for --metric {first} or --metric {second}"


def check_writer(settings: DraftConfig, refinement: RefineConfig | None) -> None:
    """Refuse a model that only judges as one that writes."""
    model = settings.model
    if _only_judges(model) and (settings.strategy != GIVEN_STRATEGY or refinement):
        raise UsageError(f"{model} cannot write: it {_what(model)}", hint=_hint(model))


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
        if role != "judge" and _only_judges(other):
            raise UsageError(f"{other} can only be a judge: it {_what(other)}", hint=_hint(other))
    model = next((judge.model for judge in judges if _only_judges(judge.model)), None)
    if model is None:
        return
    asked, serves = [evaluator.name for evaluator in known if evaluator.prompts], _serves(model)
    if not asked:
        raise UsageError(f"{model} cannot be used here: it {_what(model)}", hint=_hint(model))
    if strange := [name for name in asked if name not in serves]:
        raise UsageError(
            f"the judge {model} does not support {' and '.join(strange)}: it {_what(model)}",
            hint=f"it supports {', '.join(serves[:-1])} and {serves[-1]}; name another judge for the rest",
        )
    if serves[-1] in asked and _only_judges(judges[0].model) and not has_facts:
        raise UsageError(
            f"the judge {model} finds no key facts: it {_what(model)}",
            hint="import some with `redraft pack import`, or name a judge that finds them before it",
        )


def _only_judges(model: str) -> bool:
    return is_entailment(model) or is_decision(model)
