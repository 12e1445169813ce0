"""What a user can set: `Settings` decide the result and are part of a run's identity, `Limits` bound the effort."""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator
from pydantic_core import PydanticCustomError

Strategy = Literal["hierarchical", "incremental", "direct", "given"]
"""`given`: the first draft comes from the user."""
SimilarityName = Literal["exact", "rouge1", "cosine"]
MetricName = Literal["coverage", "consistency", "keyfact_recall", "faithfulness", "booookscore", "statistics"]
USUAL_METRICS: tuple[MetricName, ...] = ("coverage", "consistency")
"""What a draft is judged by where no metric is named: key facts cost ten readings of the document, so they are asked
for by name."""
STATISTICS: MetricName = "statistics"
"""Figures on a draft, which are in every report. They give no score, so they are no goal."""
KEYFACT_METRICS: frozenset[MetricName] = frozenset({"keyfact_recall", "faithfulness"})
BuildName = Literal["questions", "keyfacts", "marks", "annotations", "preference"]
PerspectiveName = Literal["both", "analytical", "narrative"]
PolicyName = Literal["consistency-first", "paper", "weakest-first", "all"]

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


class Judging(BaseModel):
    """How a draft is judged."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    metrics: tuple[MetricName, ...] = ()
    """None named is the usual ones; with `build`, none."""
    build: BuildName | None = None
    """What to build instead of judging a draft: the document's questions, or its trees of key facts; marks for its
    chunks, by which their size is chosen; annotations of many summaries; or a preference between two of them."""
    judges: tuple[str, ...] = ()
    """The models that judge, the first of which asks the questions; without any, the writer's model judges."""
    base_url: str | None = None
    """Where the judges are; without one, those of the writer's provider are where the writer is."""
    repeat: int = Field(default=1, ge=1, le=50)
    """How often each judge answers."""
    questions: int = Field(default=40, ge=1, le=1000)
    """The most questions of a pack, however long the document."""
    claims: int = Field(default=120, ge=1, le=10_000)
    """The most questions about one draft."""
    batch: int = Field(default=10, ge=1, le=100)
    """How many sentences a judge of coherence has before it at once; the paper has one."""
    top_k: int | None = Field(default=None, ge=1)
    """Judge by the most important questions only."""
    similarity: SimilarityName = "rouge1"
    threshold: float = Field(default=0.6, ge=0, lt=1)
    """Answers that are no more alike than this are not the same."""
    embeddings: str | None = None
    """A sentence-transformers model, by name or path: for `cosine`, and to find passages."""
    pack: str | None = None
    """The id of the pack to use; without one, the document's own is used, or built."""
    keyfacts: str | None = None
    """The id of the trees to use; without one, the document's own are used, or built."""
    perspective: PerspectiveName = "both"
    """From which perspectives there are trees."""
    validator: str | None = None
    """The model that validates key facts; without one, the first judge validates what it has found itself."""

    @property
    def reported(self) -> tuple[MetricName, ...]:
        """What is said of each draft: the metrics, and the statistics after them. Nothing where something is built."""
        if self.build:
            return self.metrics
        return (*(metric for metric in self.metrics if metric != STATISTICS), STATISTICS)


class Refinement(BaseModel):
    """What a draft is redrafted for, and how long."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    goals: dict[MetricName, Annotated[float, Field(ge=0, le=1)]]
    policy: PolicyName = "consistency-first"
    rounds: int = Field(default=4, ge=1, le=100)
    tolerance: float = Field(default=0.02, ge=0, le=1)
    """How much a goal's metric may fall while another gains."""
    review: bool = False
    """Whether a person looks at the findings before each revision."""
    decider: str | None = None
    """The model that decides what a revision shall mend, where the policy leaves that to one; else the writer's."""

    @field_validator("goals")
    @classmethod
    def _have_scores(cls, goals: dict[MetricName, float]) -> dict[MetricName, float]:
        if STATISTICS in goals:
            raise PydanticCustomError("no_score", "statistics give no score, so they cannot be a goal")
        return goals


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
