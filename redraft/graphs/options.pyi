"""The options of one run for type checkers, written by `python docs/write_options.py`."""

from pathlib import Path
from typing import Literal

from typing_extensions import TypedDict

from redraft.graphs.state import Strategy
from redraft.settings import StrategyName

class Options(TypedDict, total=False):
    """What one run may override of its session: fields of `DraftConfig`, `JudgeConfig` and
    `RefineConfig` by name. Models, addresses and keys are not among these: they are usually in the session's settings,
    but are accepted, with `judge_base_url` for `JudgeConfig.base_url`. A strategy of an installed package is named in
    `DraftConfig(strategy=...)`, or passed as an object. Type checkers read the stub file options.pyi, which
    `python docs/write_options.py` writes."""

    context_tokens: int
    temperature: float | None
    top_p: float | None
    max_tokens: int | None
    reasoning_tokens: int | None
    prompts: str | Path
    strategy: StrategyName | Strategy
    words: int | None
    words_as: Literal["limit", "target"]
    by_chapter: bool
    until: int | None
    query: str | None
    language: str | None
    chunk_tokens: int
    chunking: Literal["natural", "fixed"]
    sample: int
    repeat: int
    questions: int | tuple[int, int]
    stretch_tokens: int
    claims: int | tuple[int, int]
    batch: int
    top_k: int | None
    similarity: Literal["exact", "rouge1", "cosine", "judge"]
    threshold: float
    evidence: Literal["auto", "whole", "retrieved"]
    formula: Literal["weighted", "paper"]
    second_look: bool
    embeddings: str | Path | None
    pack: str | None
    keyfacts: str | None
    perspective: Literal["both", "analytical", "narrative"]
    keyfact_chunks: str
    keyfact_overlap: int
    verify_against: Literal["chunk", "document"]
    goals: dict[str, float]
    policy: Literal["editor", "paper", "agent"]
    feedback: Literal["findings", "questions", "generic"] | None
    rounds: int
    free_length: bool
    judged_share: float
    review: bool
