"""What a user can set: `Settings` decide the result and are part of a run's identity, `Limits` bound the effort."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Annotated, Literal, get_args

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, field_validator

from redraft.domain import Usage
from redraft.errors import UsageError

MERGING = "hierarchical"  # the strategy that merges summaries
AUTO = "auto"  # in place of a strategy that is found out when the document is known, and then is on record
GIVEN_STRATEGY = "given"  # in place of a strategy where the first draft comes from the user
EvidenceName = Literal["auto", "whole", "retrieved"]
SimilarityName = Literal["exact", "rouge1", "cosine", "judge"]
USUAL_METRICS = ("coverage", "consistency")
"""What a draft is judged by where no metric is named: key facts cost ten readings of the document, so they are asked
for by name."""
DEFAULT_GOALS = {"coverage": 0.8, "consistency": 0.85}
"""What a draft is redrafted for where no goal is named."""
STATISTICS = "statistics"
"""Figures on a draft, which are in every report. They give no score, so they are no goal."""
FIGURES = (STATISTICS, "position")  # all of redraft's metrics that give figures and no score
PackPart = Literal["questions", "keyfacts"]  # what is built of a document for its drafts to be judged by
YARDSTICKS: dict[PackPart, str] = {"questions": "pack", "keyfacts": "keyfacts"}
"""What such a part is called where it is named: in `Judging`, with the scores that rest on it, as the kind of a run."""
PerspectiveName = Literal["both", "analytical", "narrative"]
Chunking = Literal["natural", "fixed"]
"""Whether chunks end at chapters, scenes and paragraphs, without what surrounds the text; or are as large as may be."""
Merging = Literal["summaries", "source"]
"""Whether a merge has the summaries alone in view, or the paragraphs of the document that they rest on as well."""
ReplyForm = Literal["schema", "tools", "plain"]
"""In which way a model is asked for a structured reply."""
Role = Literal["writer", "judge", "validator", "decider"]
PolicyName = Literal["consistency-first", "paper", "weakest-first", "all", "agent"]
PathOrName = Annotated[str, BeforeValidator(lambda given: str(given) if isinstance(given, Path) else given)]
"""What may be given as a `Path` too. It is kept as text, as it stands in the store."""

LEVEL_RATIO = 0.65  # the paper's ratio of words to tokens, and of one level's limit to the next
EXTRACTIVE = "extractive"
NLI = "nli"
"""The provider of judges that are no language models, but say whether one text follows from another."""
LANGUAGE_NAME = r"^[^\W\d_][\w ()'’-]{1,39}$"
"""What the name of a language looks like: it stands in prompts as it is, and holds no sentence."""
NO_KEY = ""  # in place of the variable with a key, for a model that is to get none
ASSUMED_WINDOW = 8192  # the tokens that a model has room for where nobody knows better
_MILLION = 1_000_000


def reads_prompts(model: str) -> bool:
    """Whether a model is asked in words, for which it has a window and tokens that may cost something."""
    return model != EXTRACTIVE and not is_entailment(model)


def is_entailment(model: str) -> bool:
    """Whether a model is an entailment model, by its name."""
    return model.startswith(f"{NLI}:")


class Price(BaseModel):
    """US dollars per million tokens."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)

    prompt: float = Field(ge=0)
    completion: float = Field(ge=0)
    cached_prompt: float | None = Field(default=None, ge=0)

    def of(self, usage: Usage) -> float:
        """The price of one call."""
        cached = min(usage.cached_prompt_tokens, usage.prompt_tokens)
        rate = self.prompt if self.cached_prompt is None else self.cached_prompt
        fresh = usage.prompt_tokens - cached
        return (fresh * self.prompt + cached * rate + usage.completion_tokens * self.completion) / _MILLION

    def half(self) -> Price:
        """Half of it."""
        return Price(**{name: rate / 2 for name, rate in self.model_dump(exclude_none=True).items()})


class ModelSettings(BaseModel):
    """A model with all that belongs to it, for whichever role: a table `[models.NAME]` of `redraft.toml`.

    What is left out is found out, or is as it is for every model.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)

    model: str = Field(min_length=1)
    base_url: str | None = None
    key_env: str | None = None
    """The environment variable with the key for the model's address and for no other, or `NO_KEY`."""
    context_tokens: int | None = Field(default=None, ge=64)
    """Its window: the most tokens of a prompt with its reply."""
    temperature: float | None = Field(default=None, ge=0, le=2)
    """Overrides every prompt's own."""
    top_p: float | None = Field(default=None, gt=0, le=1)
    max_tokens: int | None = Field(default=None, ge=16)
    """The most tokens of a reply, however much room it would have."""
    reasoning_tokens: int | None = Field(default=None, ge=0)
    """The tokens that it may think in each call, besides its reply."""
    prompts: PathOrName | None = None
    """A set of prompts, or a directory; without one those of the run."""
    replies: ReplyForm | None = None
    price: Price | None = None

    @field_validator("model")
    @classmethod
    def _has_settings(cls, model: str) -> str:
        if model == EXTRACTIVE:
            raise ValueError("the built-in model has no settings of its own; name it as it is")
        return model


# What makes no difference to what is asked, or shows in the prompts' hashes, or in what is read.
_NO_MATTER = {"chosen", "prompts", "key_env", "replies", "reasoning_tokens", "price", "source_language"}
_LANGUAGES = r"^(([A-Za-z]{2,3}([-_][A-Za-z0-9]{1,8})*)?(,|$))*$"


class Settings(BaseModel):
    """Everything that decides what the summary says."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)

    strategy: str = AUTO
    chosen: str = ""
    """Why it is this strategy, where nobody has named one."""
    words: int | None = Field(default=None, ge=10)
    """The limit of the summary; None becomes a fitting number once the document is known."""
    by_chapter: bool = False
    """Whether each chapter is drafted by itself, by the strategy, and the summary is made from these."""
    until: int | None = Field(default=None, ge=64)
    """So many tokens are read of the document, from its beginning on; without a number all."""
    query: str | None = None
    language: str | None = Field(default=None, pattern=LANGUAGE_NAME)
    """The language that is written in, by its English name; without one the document's own."""
    source_language: str | None = Field(default=None, pattern=_LANGUAGES)
    """The language of the document, by its code, where somebody says so. A run has on record what it was read by; those
    of several documents stand with commas between them."""
    model: str = EXTRACTIVE
    base_url: str | None = None
    key_env: str | None = None
    """The variable with the key for the model's address alone, or `NO_KEY`; else OPENAI_API_KEY, at one server."""
    chunk_tokens: int = Field(default=2048, ge=16)
    chunking: Chunking = "natural"
    merge: Merging = "summaries"
    drafts: int = Field(default=1, ge=1, le=8)
    """How many drafts are made, of which the best one is judged and refined."""
    context_tokens: int = Field(default=ASSUMED_WINDOW, ge=64)
    """The writer's window. Where it is not set a run has the model's own, if that is known."""
    temperature: float | None = Field(default=None, ge=0, le=2)
    """The writer's: overrides every prompt's own. Without one each prompt has the paper's, as it has for judges."""
    top_p: float | None = Field(default=None, gt=0, le=1)
    max_tokens: int | None = Field(default=None, ge=16)
    """The most tokens of a reply, however much room it would have."""
    reasoning_tokens: int | None = Field(default=None, ge=0)
    """The tokens that the model may think in each call, besides its reply; without a number what is known of it."""
    price: Price | None = None
    """What the model costs, in place of what tables say."""
    prompts: PathOrName = "standard"
    sample: int = Field(default=0, ge=0)
    """A different number draws different replies to the same requests."""
    replies: ReplyForm | None = None
    """Without one, whatever way of asking for structured replies is found to work."""

    @property
    def chunk_budget(self) -> int:
        """The tokens of a chunk; a direct summary takes the document as one."""
        return self.context_tokens if self.strategy == "direct" else self.chunk_tokens

    @property
    def drafting(self) -> str:
        """The strategy by which the summary itself comes about: from those of chapters it is merged in any case."""
        return MERGING if self.by_chapter else self.strategy

    def identity(self, document: str, tokenizer: str, prompt_hashes: dict[str, str]) -> str:
        """The same for two runs exactly when they ask the same of the same text."""
        kept = self.model_dump(mode="json", exclude=_NO_MATTER)
        material = [kept, document, tokenizer, prompt_hashes]
        return hashlib.sha256(json.dumps(material, sort_keys=True).encode()).hexdigest()[:32]


MOST_QUESTIONS = 1000
_RANGE = re.compile(r"\s*([0-9]{1,4})\s*[-–]\s*([0-9]{1,4})\s*")


def _questions(given: object) -> object:
    """A range as it is typed, 9-15, as its two ends."""
    found = _RANGE.fullmatch(given) if isinstance(given, str) else None
    return (int(found[1]), int(found[2])) if found else given


def _counted(given: int | tuple[int, int]) -> int | tuple[int, int]:
    ends = (given, given) if isinstance(given, int) else given
    if not 1 <= ends[0] <= ends[1] <= MOST_QUESTIONS:
        raise ValueError(f"a number from 1 to {MOST_QUESTIONS}, or a range of such numbers as in 9-15")
    return given


Questions = Annotated[int | tuple[int, int], BeforeValidator(_questions), AfterValidator(_counted)]
"""How many questions there are: at most, or about each stretch from so many to so many."""


class Judging(BaseModel):
    """How a draft is judged."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)

    metrics: tuple[str, ...] = ()
    """None named is the usual ones, where a draft is judged."""
    judges: tuple[str, ...] = ()
    """The models that judge, the first of which asks the questions; without any, the writer's model judges."""
    models: dict[str, ModelSettings] = {}
    """What belongs to the judges, the validator and the decider that are named, by their names here. A name that has
    nothing here is a model's own."""
    base_url: str | None = None
    """Where the judges are; without one, those of the writer's provider are where the writer is."""
    repeat: int = Field(default=1, ge=1, le=50)
    """How often each judge answers."""
    questions: Questions = 40
    """The most questions of a pack, however long the document; or how many are asked about each stretch: `(9, 15)`."""
    stretch_tokens: int = Field(default=6144, ge=256)
    """The tokens of a stretch of the document that questions are asked about at once, at most."""
    claims: int = Field(default=120, ge=1, le=10_000)
    """The most questions about one draft."""
    batch: int = Field(default=10, ge=1, le=100)
    """How many sentences a judge of coherence has before it at once; the paper has one."""
    top_k: int | None = Field(default=None, ge=1)
    """Judge by the most important questions only."""
    similarity: SimilarityName = "judge"
    threshold: float = Field(default=0.6, ge=0, lt=1)
    """Answers that are no more alike than this are not the same."""
    evidence: EvidenceName = "auto"
    """How much of the document is read before something is said to be missing from it: all of it, at once where it fits
    a judge's window and else part by part (`auto`; `whole` to confirm a contradiction as well), or only the windows
    that a search finds, whose silence leaves a claim undecided (`retrieved`)."""
    second_look: bool = True
    """Whether a judge confirms in words, with more of the document, that answers differ before that is a finding."""
    embeddings: PathOrName | None = None
    """A sentence-transformers model, by name or path: for `cosine`, and to find passages."""
    reference: str | None = None
    """Another summary of the document, beside whose position that of the draft is shown."""
    pack: str | None = None
    """The id of the pack to use; without one, the document's own is used, or built."""
    keyfacts: str | None = None
    """The id of the trees to use; without one, the document's own are used, or built."""
    perspective: PerspectiveName = "both"
    """From which perspectives there are trees."""
    validator: str | None = None
    """The model that validates key facts; without one, the first judge validates what it has found itself."""

    def asks(self) -> dict[str, object]:
        """All of it that makes a difference to what is asked."""
        kept = self.model_dump(mode="json", exclude={"models", "reference"})
        models = {name: one.model_dump(mode="json", exclude=_NO_MATTER) for name, one in self.models.items()}
        return {**kept, "models": models} if models else kept

    @property
    def reported(self) -> tuple[str, ...]:
        """What is said of each draft: the metrics, and the statistics after them."""
        return (*(metric for metric in self.metrics if metric != STATISTICS), STATISTICS)


class Refinement(BaseModel):
    """What a draft is redrafted for, and how long."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)

    goals: dict[str, Annotated[float, Field(ge=0, le=1)]]
    policy: PolicyName = "consistency-first"
    rounds: int = Field(default=4, ge=1, le=100)
    tolerance: float = Field(default=0.02, ge=0, le=1)
    """How much a goal's metric may fall while another gains."""
    judged_share: float = Field(default=0.8, ge=0.5, le=1)
    """On which share of a metric's items there must be a verdict for its goal to be met."""
    review: bool = False
    """Whether a person looks at the findings before each revision."""
    final_comparison: bool = True
    """Whether language models that judge compare the first draft with the best one in the end; it may win."""
    allow_self_check: bool = False
    """Whether goals count where the built-in model writes and judges itself."""
    decider: str | None = None
    """The model that decides what a revision shall mend, where the policy leaves that to one; else the writer's."""


_ALL_OF_A_WAVE = 50_000  # more than a provider takes in one job


class Limits(BaseModel):
    """How much a run may use, and how hard it may push."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)

    concurrency: int = Field(default=16, ge=1, le=1000)
    requests_per_minute: int | None = Field(default=None, ge=1)
    tokens_per_minute: int | None = Field(default=None, ge=1)
    max_cost: float | None = Field(default=None, gt=0)
    max_calls: int | None = Field(default=None, ge=1)
    timeout: float = Field(default=300.0, gt=0)
    """Seconds one request may take."""
    provider_batch: bool = False
    """Whether requests go out together as jobs of the provider's, which are cheaper and take up to a day."""

    @property
    def at_once(self) -> int:
        """How many requests may be under way at the same time. A job is the better the more of them it takes along."""
        return _ALL_OF_A_WAVE if self.provider_batch else self.concurrency


class _Purpose(BaseModel):
    """What a run is for. `kind` tells the purposes apart, in the store and in `--json`."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class Summarize(_Purpose):
    """A summary is drafted, and that is all."""

    kind: Literal["summarize"] = "summarize"
    judging: None = None
    refinement: None = None


SUMMARIZE = Summarize()


class Evaluate(_Purpose):
    """A draft is judged, one that is made first or one that is handed over."""

    kind: Literal["evaluate"] = "evaluate"
    judging: Judging
    refinement: None = None


class Refine(_Purpose):
    """A draft is judged and redrafted, one that is made first or one that is handed over."""

    kind: Literal["refine"] = "refine"
    judging: Judging
    refinement: Refinement


class Compare(_Purpose):
    """Two summaries that are handed over are held against each other."""

    kind: Literal["compare"] = "compare"
    judging: Judging
    refinement: None = None


class BuildQuestions(_Purpose):
    """The questions about a document are asked once and for all; no draft is judged. `judging.pack` names them."""

    kind: Literal["pack"] = "pack"
    judging: Judging
    refinement: None = None


class BuildKeyfacts(_Purpose):
    """The key facts of a document are found; no draft is judged. `judging.keyfacts` names them."""

    kind: Literal["keyfacts"] = "keyfacts"
    judging: Judging
    refinement: None = None


class Trace(_Purpose):
    """The sentences of a summary that is there are traced with a model's help; nothing is drafted, and none judged."""

    kind: Literal["lineage"] = "lineage"
    judging: Judging
    refinement: None = None


class Part(_Purpose):
    """A part of an experiment, which gives it its own name as its kind. Only the experiment can go on with it."""

    kind: str = Field(min_length=1)
    judging: Judging
    refinement: None = None

    @field_validator("kind")
    @classmethod
    def _is_no_other(cls, kind: str) -> str:
        if kind in _PURPOSES:
            raise UsageError(f"no experiment can be named {kind!r}: that is what other runs are for")
        return kind


Purpose = Summarize | Evaluate | Refine | Compare | BuildQuestions | BuildKeyfacts | Trace | Part
_PURPOSES: dict[str, type[Purpose]] = {one.model_fields["kind"].default: one for one in get_args(Purpose)[:-1]}


def purpose_of(kind: str, judging: Judging | None, refinement: Refinement | None) -> Purpose:
    """The purpose of a run whose kind, judging and refinement these are."""
    return _PURPOSES.get(kind, Part).model_validate({"kind": kind, "judging": judging, "refinement": refinement})


def with_draft(judging: Judging | None, refinement: Refinement | None = None) -> Purpose:
    """What is done with a draft: it is refined, or judged, or stays as it is."""
    if refinement is not None:
        return Refine(judging=judging or Judging(), refinement=refinement)
    return SUMMARIZE if judging is None else Evaluate(judging=judging)
