"""What a user can set: `Settings` decide the result and are part of a run's identity, `Limits` bound the effort."""

from __future__ import annotations

import hashlib
import json
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

Strategy = Literal["hierarchical", "incremental", "direct"]

# The paper's ratio of words to tokens, and of one level's limit to the next.
LEVEL_RATIO = 0.65
EXTRACTIVE = "extractive"


class Settings(BaseModel):
    """Everything that decides what the summary says."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    strategy: Strategy = "hierarchical"
    words: int | None = Field(default=None, ge=10)
    """The limit of the summary; None becomes a fitting number once the document is known."""
    query: str | None = None
    model: str = EXTRACTIVE
    base_url: str | None = None
    chunk_tokens: int = Field(default=2048, ge=16)
    context_tokens: int = Field(default=8192, ge=64)
    temperature: float | None = Field(default=None, ge=0, le=2)
    """Overrides every prompt's own; None leaves them as the paper has them."""
    prompts: str = "standard"
    sample: int = Field(default=0, ge=0)
    """A different number draws different replies to the same requests."""

    @property
    def chunk_budget(self) -> int:
        """The tokens of a chunk; a direct summary takes the document as one."""
        return self.context_tokens if self.strategy == "direct" else self.chunk_tokens

    def identity(self, document: str, tokenizer: str, prompt_hashes: dict[str, str]) -> str:
        """The same for two runs exactly when they ask the same of the same text."""
        material = [self.model_dump(mode="json", exclude={"prompts"}), document, tokenizer, prompt_hashes]
        return hashlib.sha256(json.dumps(material, sort_keys=True).encode()).hexdigest()[:32]


class Limits(BaseModel):
    """How much a run may use, and how hard it may push."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    concurrency: int = Field(default=16, ge=1, le=1000)
    requests_per_minute: int | None = Field(default=None, ge=1)
    tokens_per_minute: int | None = Field(default=None, ge=1)
    max_cost: float | None = Field(default=None, gt=0)
    max_calls: int | None = Field(default=None, ge=1)
    timeout: float = Field(default=300.0, gt=0)
    """Seconds one request may take."""
