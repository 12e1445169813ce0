"""The settings of one model in any role: its address, window, sampling and price."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, field_validator

from redraft.domain import Usage
from redraft.fields import Settings, setting

ReplyForm = Literal["schema", "tools", "plain"]
"""The mode of structured output."""
PathOrName = Annotated[str, BeforeValidator(lambda given: str(given) if isinstance(given, Path) else given)]
"""Also accepts a `Path`, which is stored as text."""
EXTRACTIVE = "extractive"
_MILLION = 1_000_000


class Price(Settings):
    """US dollars per million tokens."""

    prompt: float = Field(ge=0)
    completion: float = Field(ge=0)
    cached_prompt: float | None = Field(default=None, ge=0)

    def of(self, usage: Usage) -> float:
        """Return the price of one call."""
        cached = min(usage.cached_prompt_tokens, usage.prompt_tokens)
        rate = self.prompt if self.cached_prompt is None else self.cached_prompt
        fresh = usage.prompt_tokens - cached
        return (fresh * self.prompt + cached * rate + usage.completion_tokens * self.completion) / _MILLION

    def half(self) -> Price:
        """Return half the price."""
        return Price(**{name: rate / 2 for name, rate in self.model_dump(exclude_none=True).items()})


class ModelSettings(Settings):
    """The settings of a model in any role: a table `[models.NAME]` of `redraft.toml`. Unset fields are detected or take
    the usual defaults."""

    model: str = Field(min_length=1)
    base_url: str | None = setting(
        None, "Address of the model's server; for openai:NAME the default is OPENAI_BASE_URL.", "model", "URL"
    )
    key_env: str | None = setting(
        None, "Environment variable with the key for openai:NAME, instead of OPENAI_API_KEY.", "model", "VARIABLE"
    )
    """For the model's own address only, or `NO_KEY`."""
    context_tokens: int | None = Field(default=None, ge=64)
    """The token limit of a prompt and its reply."""
    temperature: float | None = setting(
        None, "The writer's temperature, instead of each prompt's own.", "model", "T", ge=0, le=2
    )
    top_p: float | None = setting(
        None,
        "The writer samples from the likeliest tokens that together have this probability.",
        "model",
        "P",
        said="the model's own",
        gt=0,
        le=1,
    )
    max_tokens: int | None = Field(default=None, ge=16)
    """The maximum tokens of a reply."""
    reasoning_tokens: int | None = setting(
        None,
        "Maximum reasoning tokens per call, not counting the reply.",
        "model",
        "N",
        said="from the model's name and replies",
        ge=0,
    )
    prompts: PathOrName | None = None
    """A set of prompts or a directory; by default the run's."""
    replies: ReplyForm | None = setting(
        None,
        "How structured replies are requested: JSON schema, function calling, or plain text.",
        "model",
        said="the first that the server supports",
    )
    price: Price | None = None
    """The price of the model, overriding price tables."""

    @field_validator("model")
    @classmethod
    def _has_settings(cls, model: str) -> str:
        if model == EXTRACTIVE:
            raise ValueError("the built-in model has no settings of its own; name it as it is")
        return model
