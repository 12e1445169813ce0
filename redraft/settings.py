"""User settings: of models, of drafting, judging and refining, which identify a run, and `Limits` of its effort."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, field_validator

from redraft.domain import Usage
from redraft.fields import HELP, Settings, harmless, setting, unusual

EXTRACTIVE = "extractive"  # the built-in model
MERGING = "hierarchical"  # the strategy that merges summaries
AUTO = "auto"  # in place of a strategy that is found out when the document is known, and then is on record
GIVEN_STRATEGY = "given"  # in place of a strategy where the first draft comes from the user
ANSWER = "answer"  # in place of a strategy where a question about the document is answered
EvidenceName = Literal["auto", "whole", "retrieved"]
SimilarityName = Literal["exact", "rouge1", "cosine", "judge"]
FormulaName = Literal["weighted", "paper"]
USUAL_METRICS = ("coverage", "consistency")
"""The default metrics. Key-fact metrics must be requested by name, since they read the document about ten times."""
LISTED_METRICS = (*USUAL_METRICS, "keyfact_recall", "faithfulness")
"""The metrics that are listed first, in this order, whichever is judged first."""
DEFAULT_GOALS = {"coverage": 0.8, "consistency": 0.85}
STATISTICS = "statistics"
"""Figures about a draft that are in every report. They are not a score and cannot be a goal."""
NEWCOMER = "newcomer"
"""The metric of the places where a newcomer stops. They are findings without a score, so it cannot be a goal."""
COMPUTED = (STATISTICS, "position")  # redraft's metrics that give figures, and ask no model for them
FIGURES = (*COMPUTED, NEWCOMER)  # all of redraft's metrics that give no score
PackPart = Literal["questions", "keyfacts"]  # what is built of a document for its drafts to be judged by
REFERENCES: dict[PackPart, str] = {"questions": "pack", "keyfacts": "keyfacts"}
"""Name of each pack part: its field in `JudgeConfig`, its key next to scores, and the kind of run that builds it."""
PerspectiveName = Literal["both", "analytical", "narrative"]
Chunking = Literal["natural", "fixed"]
"""Whether chunks end at chapters, scenes and paragraphs and skip surrounding matter, or are as large as possible."""
WordsAs = Literal["limit", "target"]
"""Whether `words` are the most that a summary has, or what is asked for, with a cap in tokens."""
Role = Literal["writer", "judge", "validator", "decider"]
StrategyName = Literal["auto", "direct", "hierarchical", "incremental"]
"""redraft's own strategies, and the choice between them."""
PolicyName = Literal["editor", "paper", "agent"]
FeedbackName = Literal["findings", "questions", "generic"]

LEVEL_RATIO = 0.65  # the paper's ratio of words to tokens, and of one level's limit to the next
NLI = "nli"
"""The provider of entailment models as judges."""
LANGUAGE_NAME = r"^[^\W\d_][\w ()'’-]{1,39}$"
"""The format of language names. They are inserted into prompts, so they cannot hold a sentence."""
NO_KEY = ""  # in place of the variable with a key, for a model that is to get none
ASSUMED_WINDOW = 8192  # the context window assumed where none is known


def reads_prompts(model: str) -> bool:
    """Return whether a model reads prompts, and so has a window and paid tokens."""
    return model != EXTRACTIVE and not is_entailment(model)


def is_entailment(model: str) -> bool:
    """Return whether a model is an entailment model, by its name."""
    return model.startswith(f"{NLI}:")


class FoundSettings(Settings):
    """What a settings file that was merely found has set."""

    file: str
    values: dict[str, str]
    """The values by option name, as in the file."""

    def __str__(self) -> str:
        folder, _, name = self.file.rpartition("/")
        assignments = [f"{key} {value}" if "=" in value else f"{key}={value}" for key, value in self.values.items()]
        return f"{name} in {folder or '/'} sets {', '.join(assignments)}"


MAX_QUESTIONS = 1000
_RANGE = re.compile(r"\s*([0-9]{1,4})\s*[-–]\s*([0-9]{1,4})\s*")


def _questions(value: object) -> object:
    """Parse a range such as 9-15."""
    match = _RANGE.fullmatch(value) if isinstance(value, str) else None
    return (int(match[1]), int(match[2])) if match else value


def _counted(value: int | tuple[int, int]) -> int | tuple[int, int]:
    ends = (value, value) if isinstance(value, int) else value
    if not 1 <= ends[0] <= ends[1] <= MAX_QUESTIONS:
        raise ValueError(f"a number from 1 to {MAX_QUESTIONS}, or a range of such numbers as in 9-15")
    return value


Questions = Annotated[int | tuple[int, int], BeforeValidator(_questions), AfterValidator(_counted)]
"""The number of questions: a maximum, or a range per stretch."""

_KEYFACT_CHUNKS = re.compile(r"(?:25[6-9]|2[6-9]\d|[3-9]\d\d|[1-9]\d{3,6})\+?")


def _chunks_of(value: object) -> object:
    if not _KEYFACT_CHUNKS.fullmatch(str(value)):
        raise ValueError(
            "must be a number of tokens, 256 or more, such as 4096, or 4000+ for 4000 and the rest of the last sentence"
        )
    return str(value)


KeyfactChunks = Annotated[str, BeforeValidator(_chunks_of)]
"""The tokens of a chunk for key facts: at most N, or with a plus sign N and the rest of the sentence begun."""

_LevelTexts = Annotated[tuple[Annotated[str, Field(max_length=300)], ...], Field(min_length=2, max_length=10)]


class RubricSettings(Settings):
    """A metric that is stated in a sentence: a table `[rubrics.NAME]` of `redraft.toml`."""

    requirement: str = Field(min_length=1, max_length=2_000)
    levels: Annotated[int, Field(ge=2, le=10)] | _LevelTexts = 5
    """The number of levels, or what each of them means, from the worst to the best."""
    aim: Literal["truth", "content", "form"] = "form"


class Exchange(Settings):
    """A question about a document, and the answer that it had."""

    question: str = Field(max_length=2_000)
    answer: str = Field(max_length=20_000)


MAX_EARLIER = 3
"""The questions that a follow-up knows."""
ReplyForm = Literal["schema", "tools", "plain"]
"""The mode of structured output."""
PathOrName = Annotated[str, BeforeValidator(lambda given: str(given) if isinstance(given, Path) else given)]
"""Also accepts a `Path`, which is stored as text."""
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


class ModelFields(Settings):
    """The fields that say which model is asked, where, and how. Unset ones are detected or take the usual defaults."""

    model: str = Field(min_length=1)
    base_url: str | None = setting(None, "model", "URL")
    key_env: str | None = setting(None, "model", "VARIABLE", rare=True)
    """For the model's own address only, or `NO_KEY`."""
    context_tokens: int | None = Field(default=None, ge=64)
    """The token limit of a prompt and its reply."""
    temperature: float | None = setting(None, "model", "T", found="yes", ge=0, le=2)
    top_p: float | None = setting(None, "model", "P", said="the model's own", found="yes", gt=0, le=1, rare=True)
    max_tokens: int | None = Field(default=None, ge=16)
    """The maximum tokens of a reply."""
    reasoning_tokens: int | None = setting(
        None, "model", "N", said="from the model's name and replies", found="yes", ge=0, rare=True
    )
    prompts: PathOrName | None = None
    """A set of prompts or a directory; by default the run's."""
    replies: ReplyForm | None = setting(
        None, "model", said="the first that the server supports", found="yes", rare=True
    )
    price: Price | None = None
    """The price of the model, overriding price tables."""


class ModelSettings(ModelFields):
    """The settings of a model in any role: a table `[models.NAME]` of `redraft.toml`."""

    @field_validator("model")
    @classmethod
    def _has_settings(cls, model: str) -> str:
        if model == EXTRACTIVE:
            raise ValueError("the built-in model has no settings; use its name without a table")
        return model


# What makes no difference to what is asked, or shows in the prompts' hashes, or in what is read.
_NO_MATTER = {"chosen", "found", "prompts", "key_env", "replies", "reasoning_tokens", "price", "source_language"}
_LANGUAGES = re.compile(r"^(([A-Za-z]{2,3}([-_][A-Za-z0-9]{1,8})*)?(,|$))*$")


def _hashed(material: list[object]) -> str:
    return hashlib.sha256(json.dumps(material, sort_keys=True).encode()).hexdigest()[:32]


class DraftConfig(ModelFields):
    """Everything that determines the summary."""

    strategy: str = setting(AUTO, "summary", "NAME", found="strategy")
    chosen: str = ""
    """Why this strategy was chosen automatically."""
    found: FoundSettings | None = None
    """What a settings file that was merely found has set for this run, its judges and their goals."""
    words: int | None = harmless(
        None, "summary", "N", "--words", "-w", said="chosen for the document", ge=10, label="word limit"
    )
    words_as: WordsAs = unusual("limit", "summary")
    by_chapter: bool = setting(False, "summary", environment=False)
    until: int | None = unusual(None, "summary", "N", said="all", ge=64, label="read until token")
    query: str | None = setting(None, "summary", "TEXT", label="question to answer")
    earlier: tuple[Exchange, ...] = Field(default=(), max_length=MAX_EARLIER)
    """The questions before a follow-up with their answers, the latest last."""
    language: str | None = harmless(None, "summary", "NAME", said="the document's", pattern=LANGUAGE_NAME)
    source_language: str | None = setting(None, "source", "CODE", said="detected", environment=False, rare=True)
    """Stored with a run as detected; for several documents, separated by commas."""
    model: str = setting(EXTRACTIVE, "model", "NAME", "--model", "--writer", "-m", found="model")
    chunk_tokens: int = harmless(2048, "summary", "N", ge=16)
    chunking: Chunking = unusual("natural", "summary")
    context_tokens: int = harmless(
        *(ASSUMED_WINDOW, "model", "N"),
        said=f"the model's own if known, else {ASSUMED_WINDOW}",
        ge=64,
        label="window, in tokens",
    )
    prompts: PathOrName = setting("standard", "model", "SET|DIR", found="prompts")
    sample: int = unusual(0, "model", "N", ge=0)
    """Another number draws different replies to the same requests."""

    @field_validator("source_language")
    @classmethod
    def _check_source_language(cls, codes: str | None) -> str | None:
        if codes and not _LANGUAGES.match(codes):
            raise ValueError(f"{codes!r:.40} is not a language: give a code of ISO 639, such as de, ja or pt-BR")
        return codes

    @property
    def window(self) -> int | None:
        """Return the token limit of a prompt and its reply; None for a model that reads no prompts."""
        return self.context_tokens if reads_prompts(self.model) else None

    @property
    def chunk_budget(self) -> int:
        """Return the tokens of a chunk; a direct summary has a single chunk."""
        return self.context_tokens if self.strategy == "direct" else self.chunk_tokens

    def token_cap(self, words: int) -> int:
        """Return the most tokens of a summary that is asked for this many words; 0 if `words` is the limit itself."""
        return round(words / LEVEL_RATIO) if self.words_as == "target" else 0

    @property
    def draft_strategy(self) -> str:
        """Return the strategy for the summary itself; summaries of chapters are always merged."""
        return MERGING if self.by_chapter else self.strategy

    def identity(
        self, document: str, tokenizer: str, prompt_hashes: dict[str, str], asked: Sequence[object] = ()
    ) -> str:
        """Return the identity: equal for two runs exactly if they ask the same of the same text. `asked` is what is
        asked of the draft."""
        fields = self.model_dump(mode="json", exclude=_NO_MATTER)
        drafted = _hashed([fields, document, tokenizer, prompt_hashes])
        return _hashed([drafted, *asked]) if asked else drafted


class JudgeConfig(Settings):
    """How drafts are judged."""

    metrics: tuple[str, ...] = setting(
        (), "judging", "NAME", "--metric", said=" and ".join(USUAL_METRICS), found="metric"
    )
    judges: tuple[str, ...] = setting((), "judging", "NAME", "--judge", found="model", label="judge")
    models: dict[str, ModelSettings] = Field(default={})
    """The settings of named judges, validator and decider. A name without an entry is a model name."""
    rubrics: dict[str, RubricSettings] = Field(default={})
    """Metrics that are stated in a sentence, by name."""
    base_url: str | None = setting(
        None, "judging", "URL", "--judge-base-url", rare=True, description=HELP["judge_base_url"]
    )
    """By default, judges of the writer's provider use the writer's address."""
    repeat: int = harmless(1, "judging", "K", ge=1, le=50)
    questions: Questions = harmless(40, "judging", "N|A-B")
    stretch_tokens: int = unusual(6144, "judging", "N", ge=256)
    claims: Questions = unusual(120, "judging", "N|A-B")
    batch: int = unusual(10, "judging", "N", ge=1, le=100)
    top_k: int | None = unusual(None, "judging", "K", ge=1)
    similarity: SimilarityName = unusual("judge", "judging")
    threshold: float = unusual(0.6, "judging", "X", ge=0, lt=1)
    evidence: EvidenceName = unusual("auto", "judging")
    """`auto` reads the document at once where it fits a judge's window, and part by part otherwise."""
    formula: FormulaName = setting("weighted", "judging", rare=True)
    second_look: bool = unusual(True, "judging", None, "--second-look/--no-second-look", said="on")
    embeddings: PathOrName | None = setting(None, "judging", "MODEL", rare=True)
    """Used for `cosine` and to find passages."""
    reference: str | None = None
    """Another summary of the document, whose position figures are shown for comparison."""
    pack: str | None = setting(None, "judging", "ID", rare=True)
    """The id of a pack; by default the document's is used or built."""
    keyfacts: str | None = setting(None, "judging", "ID", rare=True)
    """The id of key facts; by default the document's are used or built."""
    perspective: PerspectiveName = unusual("both", "judging")
    validator: str | None = setting(None, "judging", "NAME", found="model", rare=True)
    keyfact_chunks: KeyfactChunks = unusual("4096", "judging", "N|N+")
    keyfact_overlap: int = unusual(0, "judging", "N", ge=0, le=8192)
    verify_against: Literal["chunk", "document"] = unusual("chunk", "judging")
    confirm: str | None = setting(None, "judging", "NAME", found="model", rare=True)
    """It is the last of the `judges` of a run."""

    def asks(self) -> dict[str, object]:
        """Return the settings that change what is asked; newer ones only if set, since runs are identified by them."""
        facts = ("keyfact_chunks", "keyfact_overlap", "verify_against")
        newer = ("rubrics", "confirm", "formula", *facts)
        unset = {name for name in newer if getattr(self, name) == type(self).model_fields[name].get_default()}
        fields = self.model_dump(mode="json", exclude={"models", "reference", *unset})
        models = {name: settings.model_dump(mode="json", exclude=_NO_MATTER) for name, settings in self.models.items()}
        return {**fields, "models": models} if models else fields

    @property
    def reported_metrics(self) -> tuple[str, ...]:
        """Return the metrics to report, with the statistics at the end."""
        return (*(metric for metric in self.metrics if metric != STATISTICS), STATISTICS)


class RefineConfig(Settings):
    """What a draft is refined for, and for how long."""

    goals: dict[str, Annotated[float, Field(ge=0, le=1)]] = setting(
        ..., "refining", "METRIC=VALUE", "--goal", "-g", found="metric"
    )
    policy: PolicyName = harmless("editor", "refining")
    feedback: FeedbackName | None = unusual(None, "refining", said="questions")
    rounds: int = harmless(3, "refining", "N", ge=0, le=100, label="maximum revisions")
    free_length: bool = unusual(False, "refining", None, "--free-length/--no-free-length")
    judged_share: float = unusual(0.8, "refining", "X", ge=0.5, le=1)
    review: bool = harmless(False, "refining", None, "--review/--no-review", label="ask me before each revision")
    decider: str | None = setting(None, "refining", "NAME", found="model", rare=True)

    @property
    def feedback_name(self) -> FeedbackName:
        """Return the feedback that the reviser gets."""
        return (self.feedback or "questions") if self.policy == "paper" else "findings"

    def asks(self) -> dict[str, object]:
        """Return the settings that change what is asked; those that came later only where they are set."""
        unset = {name for name in ("feedback", "free_length") if not getattr(self, name)}
        return self.model_dump(mode="json", exclude=unset)


class Limits(Settings):
    """How much a run may spend, and how fast."""

    concurrency: int = harmless(16, "limits", "N", ge=1, le=1000)
    requests_per_minute: int | None = unusual(None, "limits", "N", ge=1)
    tokens_per_minute: int | None = unusual(None, "limits", "N", ge=1)
    max_cost: float | None = harmless(None, "limits", "USD", gt=0, label="stop before it costs more than")
    max_calls: int | None = harmless(None, "limits", "N", ge=1, label="limit of calls")
    timeout: float = unusual(300.0, "limits", "SECONDS", gt=0)
    tries: int = unusual(6, "limits", "N", ge=1, le=100)
    longest_wait: float = unusual(120.0, "limits", "SECONDS", ge=0)
    deadline: float | None = unusual(None, "limits", "SECONDS", gt=0)
