"""What the class of a chat model declares: who it is, where it is, and by which names it takes its parameters."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import SecretStr

from redraft.errors import UsageError
from redraft.models.addresses import plain_address
from redraft.models.secrets import LEAST_SECRET, check_key, header_secrets

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

# As the integrations of the various providers call the most tokens of a reply.
_LIMITS = ("max_tokens", "max_output_tokens", "num_predict", "max_completion_tokens", "max_new_tokens")
_ADDRESSES = re.compile(r"(?:base_url|api_base|api_url|endpoint|endpoint_url|host)$")
_OPENAI_PACKAGE = "langchain_openai"
_HEADERS = ("default_headers", "additional_headers", "headers")


@dataclass(frozen=True, slots=True)
class Traits:
    """A chat model as its class describes it. What it does not declare it is never given."""

    provider: str
    name: str
    address: str | None
    temperature: str | None
    """The field of the temperature."""
    top_p: str | None
    """The field of the share of likely words that are drawn from."""
    limit: str | None
    """The field of the most tokens of a reply."""
    window: int | None
    """The tokens of a prompt that LangChain knows it to have room for."""
    speaks_openai: bool
    """Whether requests and answers have OpenAI's form, and take whatever else is put into `extra_body`."""
    thinking: int | None
    """The tokens that the chat model has itself been told to think for."""
    secrets: tuple[str, ...]
    """What no message may show."""

    @property
    def identity(self) -> str:
        """What tells the model from others: `provider:name@address`, as far as these are known."""
        named = f"{self.provider}:{self.name}" if self.name else self.provider
        return f"{named}@{self.address}" if self.address else named


def traits_of(chat: BaseChatModel) -> Traits:
    """What a chat model's fields say of it."""
    told, fields = chat._get_ls_params(), type(chat).model_fields
    values = {field: getattr(chat, field, None) for field in fields}
    hidden = {field: value.get_secret_value() for field, value in values.items() if isinstance(value, SecretStr)}
    for field, value in hidden.items():
        if field.endswith("key"):
            check_key(value, f"the {field} of {type(chat).__name__}")
    secrets = [*hidden.values(), *(secret for field in _HEADERS for secret in header_secrets(values.get(field)))]
    return Traits(
        provider=told.get("ls_provider") or type(chat).__name__,
        name=str(told.get("ls_model_name") or ""),
        address=_address(chat),
        temperature="temperature" if "temperature" in fields else None,
        top_p="top_p" if "top_p" in fields else None,
        limit=next((field for field in _LIMITS if field in fields), None),
        window=_window(chat),
        speaks_openai=any(kind.__module__.partition(".")[0] == _OPENAI_PACKAGE for kind in type(chat).__mro__),
        thinking=_thinking(values),
        secrets=tuple(secret for secret in secrets if len(secret) >= LEAST_SECRET),
    )


def _window(chat: BaseChatModel) -> int | None:
    found = (getattr(chat, "profile", None) or {}).get("max_input_tokens")
    return found if isinstance(found, int) and found > 0 else None


def _thinking(values: dict[str, Any]) -> int | None:
    """What a field says of thinking, as Anthropic's `thinking` and Google's `thinking_budget` do."""
    told = values.get("thinking")
    said = told.get("budget_tokens") if isinstance(told, dict) else values.get("thinking_budget")
    return said if isinstance(said, int) and said >= 0 else None


def _address(chat: Any) -> str | None:
    # LangChain's OpenAI models leave it to the client to know the address that the environment or nobody names.
    client = getattr(chat, "root_async_client", None)
    found = [getattr(client, "base_url", None), *(getattr(chat, field, None) for field in _address_fields(chat))]
    for value in found:
        if value is not None and "://" in str(value):
            try:
                return plain_address(str(value))
            except UsageError:
                continue
    return None


def _address_fields(chat: Any) -> list[str]:
    return [field for field in type(chat).model_fields if _ADDRESSES.search(field)]
