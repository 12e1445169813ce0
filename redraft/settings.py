"""User settings: `DraftConfig` determines the result and is part of a run's identity; `Limits` bounds the effort."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Annotated, Literal, get_args

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, field_validator

from redraft.domain import Usage
from redraft.errors import UsageError
from redraft.fields import same, setting

MERGING = "hierarchical"  # the strategy that merges summaries
AUTO = "auto"  # in place of a strategy that is found out when the document is known, and then is on record
GIVEN_STRATEGY = "given"  # in place of a strategy where the first draft comes from the user
ANSWER = "answer"  # in place of a strategy where a question about the document is answered
EvidenceName = Literal["auto", "whole", "retrieved"]
SimilarityName = Literal["exact", "rouge1", "cosine", "judge"]
USUAL_METRICS = ("coverage", "consistency")
"""The default metrics. Key-fact metrics must be requested by name, since they read the document about ten times."""
DEFAULT_GOALS = {"coverage": 0.8, "consistency": 0.85}
"""The default goals of a refinement."""
STATISTICS = "statistics"
"""Figures about a draft that are in every report. They are not a score and cannot be a goal."""
FIGURES = (STATISTICS, "position")  # all of redraft's metrics that give figures and no score
PackPart = Literal["questions", "keyfacts"]  # what is built of a document for its drafts to be judged by
YARDSTICKS: dict[PackPart, str] = {"questions": "pack", "keyfacts": "keyfacts"}
"""The name of each pack part: its field in `JudgeConfig`, its key beside scores, and the kind of a run that builds it.
"""
PerspectiveName = Literal["both", "analytical", "narrative"]
Chunking = Literal["natural", "fixed"]
"""Whether chunks end at chapters, scenes and paragraphs and leave out surrounding matter, or are as large as possible.
"""
Merging = Literal["summaries", "source"]
"""Whether a merge sees only the summaries, or also the paragraphs that they are based on."""
ReplyForm = Literal["schema", "tools", "plain"]
"""The mode of structured output."""
Role = Literal["writer", "judge", "validator", "decider"]
PolicyName = Literal["consistency-first", "paper", "weakest-first", "all", "agent"]
PathOrName = Annotated[str, BeforeValidator(lambda given: str(given) if isinstance(given, Path) else given)]
"""Also accepts a `Path`, which is stored as text."""

LEVEL_RATIO = 0.65  # the paper's ratio of words to tokens, and of one level's limit to the next
EXTRACTIVE = "extractive"
NLI = "nli"
"""The provider of entailment models as judges."""
LANGUAGE_NAME = r"^[^\W\d_][\w ()'’-]{1,39}$"
"""The format of language names. They are inserted into prompts, so they cannot hold a sentence."""
NO_KEY = ""  # in place of the variable with a key, for a model that is to get none
ASSUMED_WINDOW = 8192  # the tokens that a model has room for where nobody knows better
_MILLION = 1_000_000


def reads_prompts(model: str) -> bool:
    """Return whether a model reads prompts, and so has a window and paid tokens."""
    return model != EXTRACTIVE and not is_entailment(model)


def is_entailment(model: str) -> bool:
    """Return whether a model is an entailment model, by its name."""
    return model.startswith(f"{NLI}:")


class Price(BaseModel):
    """US dollars per million tokens."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)

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


class ModelSettings(BaseModel):
    """The settings of a model in any role: a table `[models.NAME]` of `redraft.toml`. Unset fields are detected or take
    the usual defaults."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)

    model: str = Field(min_length=1)
    base_url: str | None = setting(
        None, "Where the model is served; for openai:NAME the default is OPENAI_BASE_URL.", "model", "URL"
    )
    key_env: str | None = setting(
        None,
        "The environment variable with the key for openai:NAME, in place of OPENAI_API_KEY.",
        "model",
        "VARIABLE",
    )
    """For the model's own address only, or `NO_KEY`."""
    context_tokens: int | None = Field(default=None, ge=64)
    """The token limit of a prompt and its reply."""
    temperature: float | None = setting(
        None, "For every prompt that the writer is asked, in place of each one's own.", "model", "T", ge=0, le=2
    )
    top_p: float | None = setting(
        None,
        "The writer draws each word from the likeliest ones that together have this probability.",
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
        "Most tokens that a model may think for in each call, besides its reply.",
        "model",
        "N",
        said="as its name and its replies tell",
        ge=0,
    )
    prompts: PathOrName | None = None
    """A set of prompts or a directory; by default the run's."""
    replies: ReplyForm | None = setting(
        None,
        "How structured replies are asked for: by a JSON schema, by function calling, or in words alone.",
        "model",
        said="the first of these that the server takes",
    )
    price: Price | None = None
    """The price of the model, overriding price tables."""

    @field_validator("model")
    @classmethod
    def _has_settings(cls, model: str) -> str:
        if model == EXTRACTIVE:
            raise ValueError("the built-in model has no settings of its own; name it as it is")
        return model


# What makes no difference to what is asked, or shows in the prompts' hashes, or in what is read.
_NO_MATTER = {"chosen", "prompts", "key_env", "replies", "reasoning_tokens", "price", "source_language"}
_LANGUAGES = r"^(([A-Za-z]{2,3}([-_][A-Za-z0-9]{1,8})*)?(,|$))*$"


class DraftConfig(BaseModel):
    """Everything that determines the summary."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)

    strategy: str = setting(
        AUTO,
        "How the summary is drafted: {listed}. auto drafts directly what fits the model's window and is no long story,"
        " and else merges summaries of the parts.",
        "summary",
        "NAME",
    )
    chosen: str = ""
    """Why this strategy was chosen automatically."""
    words: int | None = setting(
        None, "Limit of the summary; without it, one that fits.", "summary", "N", "--words", "-w", ge=10
    )
    by_chapter: bool = setting(
        False,
        "One summary of each chapter, side by side, and one of all made from them. --words is that of all; a chapter's"
        " has half as many at most, and a third of the chapter.",
        "summary",
        environment=False,
    )
    until: int | None = setting(
        None,
        "Read the first N tokens of the document and no more, up to the end of a sentence.",
        "summary",
        "N",
        said="all",
        ge=64,
    )
    query: str | None = setting(
        None,
        "The question that the summary answers. Where a tree of `redraft keyfacts` has it, its facts are what counts.",
        "summary",
        "TEXT",
    )
    language: str | None = setting(
        None,
        "Language to write in, by its English name, such as German; without it, the document's own (see"
        " --source-language for that).",
        "summary",
        "NAME",
        pattern=LANGUAGE_NAME,
    )
    source_language: str | None = setting(
        None,
        "The language that SOURCE is in, such as de; without it, what the file says, or the text shows.",
        "source",
        "CODE",
        environment=False,
        pattern=_LANGUAGES,
    )
    """Stored with a run as detected; for several documents, separated by commas."""
    model: str = setting(
        EXTRACTIVE,
        "Who writes, and judges unless --judge says who: extractive (built in), openai:NAME, PROVIDER:NAME, or the NAME"
        " of a [models.NAME] in redraft.toml.",
        "model",
        "NAME",
        "--model",
        "--writer",
        "-m",
    )
    base_url: str | None = same(ModelSettings, "base_url")
    key_env: str | None = same(ModelSettings, "key_env")
    chunk_tokens: int = setting(2048, "Most tokens of a chunk.", "summary", "N", ge=16)
    chunking: Chunking = setting(
        "natural",
        "natural: chunks end at chapters, scenes or paragraphs, and what surrounds the text (thanks, notes on the"
        " author, references) is left out of the draft; fixed: all of it, in chunks as large as they may be.",
        "summary",
    )
    merge: Merging = setting(
        "summaries",
        "What a merge of summaries has in view: these alone, or beside each the paragraphs of the document that it"
        " rests on, in a third of the room.",
        "summary",
    )
    drafts: int = setting(
        1,
        "Make K drafts and go on with the best: by its scores where it is judged, else, and where these are equal, by"
        " comparing two at a time. With --strategy auto one is drafted in another way, where the document fits the"
        " window.",
        "summary",
        "K",
        ge=1,
        le=8,
    )
    context_tokens: int = setting(
        ASSUMED_WINDOW,
        "The writer's window: most tokens of a prompt with its reply.",
        "model",
        "N",
        said=f"the model's own where that is known, else {ASSUMED_WINDOW}",
        ge=64,
    )
    temperature: float | None = same(ModelSettings, "temperature")
    """The writer's. By default each prompt uses its paper's, as it does for judges."""
    top_p: float | None = same(ModelSettings, "top_p")
    max_tokens: int | None = same(ModelSettings, "max_tokens")
    reasoning_tokens: int | None = same(ModelSettings, "reasoning_tokens")
    price: Price | None = None
    """The price of the model, overriding price tables."""
    prompts: PathOrName = setting("standard", "standard, simple (weak models), or a directory.", "model", "SET|DIR")
    sample: int = setting(0, "Another number, another draw.", "model", "N", ge=0)
    """Another number draws different replies to the same requests."""
    replies: ReplyForm | None = same(ModelSettings, "replies")

    @property
    def chunk_budget(self) -> int:
        """Return the tokens of a chunk; a direct summary has a single chunk."""
        return self.context_tokens if self.strategy == "direct" else self.chunk_tokens

    @property
    def drafting(self) -> str:
        """Return the strategy for the summary itself; summaries of chapters are always merged."""
        return MERGING if self.by_chapter else self.strategy

    def identity(self, document: str, tokenizer: str, prompt_hashes: dict[str, str]) -> str:
        """Return the identity: equal for two runs exactly if they ask the same of the same text."""
        kept = self.model_dump(mode="json", exclude=_NO_MATTER)
        material = [kept, document, tokenizer, prompt_hashes]
        return hashlib.sha256(json.dumps(material, sort_keys=True).encode()).hexdigest()[:32]


MOST_QUESTIONS = 1000
_RANGE = re.compile(r"\s*([0-9]{1,4})\s*[-–]\s*([0-9]{1,4})\s*")


def _questions(given: object) -> object:
    """Parse a range such as 9-15."""
    found = _RANGE.fullmatch(given) if isinstance(given, str) else None
    return (int(found[1]), int(found[2])) if found else given


def _counted(given: int | tuple[int, int]) -> int | tuple[int, int]:
    ends = (given, given) if isinstance(given, int) else given
    if not 1 <= ends[0] <= ends[1] <= MOST_QUESTIONS:
        raise ValueError(f"a number from 1 to {MOST_QUESTIONS}, or a range of such numbers as in 9-15")
    return given


Questions = Annotated[int | tuple[int, int], BeforeValidator(_questions), AfterValidator(_counted)]
"""The number of questions: a maximum, or a range per stretch."""


class JudgeConfig(BaseModel):
    """How drafts are judged."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)

    metrics: tuple[str, ...] = setting(
        (),
        "{listed}; may be repeated. booookscore is about coherence, spread and position about where in the document the"
        " summary comes from, and statistics are always there. The key facts for keyfact_recall cost about ten readings"
        " of the document, once.",
        "judging",
        "NAME",
        "--metric",
        said=" and ".join(USUAL_METRICS),
    )
    judges: tuple[str, ...] = setting(
        (),
        "Model that judges, in place of --model; several decide by majority. The first asks the questions and finds the"
        " key facts.",
        "judging",
        "NAME",
        "--judge",
    )
    models: dict[str, ModelSettings] = {}
    """The settings of named judges, validator and decider. A name without an entry is a model name."""
    base_url: str | None = setting(
        None, "Where the judges are served, if elsewhere.", "judging", "URL", "--judge-base-url"
    )
    """By default, judges of the writer's provider use the writer's address."""
    repeat: int = setting(1, "Let each judge judge K times.", "judging", "K", ge=1, le=50)
    questions: Questions = setting(
        40,
        "Most questions about the document: their number grows with the root of its length, up to N. Or from A to B"
        " about each stretch of it, as in 9-15.",
        "judging",
        "N|A-B",
    )
    stretch_tokens: int = setting(
        6144, "Most tokens of the document that questions are asked about at once.", "judging", "N", ge=256
    )
    claims: int = setting(120, "Most questions about one summary.", "judging", "N", ge=1, le=10_000)
    batch: int = setting(
        10,
        "Sentences of the summary judged at once for booookscore; 1 is the paper's way.",
        "judging",
        "N",
        ge=1,
        le=100,
    )
    top_k: int | None = setting(None, "Judge by the K most important questions only.", "judging", "K", ge=1)
    similarity: SimilarityName = setting(
        "judge",
        "How answers are compared: by the judge, or by a measure, as LongSumEval does; cosine needs --embeddings.",
        "judging",
    )
    threshold: float = setting(0.6, "Answers no more alike than this differ.", "judging", "X", ge=0, lt=1)
    evidence: EvidenceName = setting(
        "auto",
        "What is read before something is said to be missing from the document: all of it (auto; whole: to confirm a"
        " contradiction as well), or only passages that a search finds, whose silence leaves a claim undecided.",
        "judging",
    )
    """`auto` reads the document at once where it fits a judge's window, and part by part otherwise."""
    second_look: bool = setting(
        True,
        "Before answers are said to differ, have the judge compare them in words, with more of the document read.",
        "judging",
        None,
        "--second-look/--no-second-look",
        said="second look",
    )
    embeddings: PathOrName | None = setting(
        None,
        "A sentence-transformers model, by name or path, to find passages and origins by too.",
        "judging",
        "MODEL",
    )
    """Used for `cosine` and to find passages."""
    reference: str | None = None
    """Another summary of the document, whose position figures are shown for comparison."""
    pack: str | None = setting(
        None, "Judge by these questions, not by the document's own: see `redraft pack list`.", "judging", "ID"
    )
    """The id of a pack; by default the document's is used or built."""
    keyfacts: str | None = setting(None, "Judge by these key facts, not by the document's own.", "judging", "ID")
    """The id of key facts; by default the document's are used or built."""
    perspective: PerspectiveName = setting(
        "both",
        "Key facts of what the document means and argues (analytical), of what happens in it (narrative), or both.",
        "judging",
    )
    validator: str | None = setting(
        None, "Model that validates key facts, in place of the first judge, who finds them.", "judging", "NAME"
    )

    def asks(self) -> dict[str, object]:
        """Return the settings that change what is asked."""
        kept = self.model_dump(mode="json", exclude={"models", "reference"})
        models = {name: one.model_dump(mode="json", exclude=_NO_MATTER) for name, one in self.models.items()}
        return {**kept, "models": models} if models else kept

    @property
    def reported(self) -> tuple[str, ...]:
        """Return the metrics to report, with the statistics at the end."""
        return (*(metric for metric in self.metrics if metric != STATISTICS), STATISTICS)


class RefineConfig(BaseModel):
    """What a draft is refined for, and for how long."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)

    goals: dict[str, Annotated[float, Field(ge=0, le=1)]] = setting(
        ...,
        "Least score that satisfies, such as coverage=0.8; may be repeated.",
        "refining",
        "METRIC=VALUE",
        "--goal",
        "-g",
    )
    policy: PolicyName = setting("consistency-first", "What is mended first; with agent a model decides.", "refining")
    rounds: int = setting(4, "Most revisions.", "refining", "N", ge=1, le=100)
    tolerance: float = setting(
        0.02, "How far another goal's metric may fall in a revision that is taken.", "refining", "X", ge=0, le=1
    )
    judged_share: float = setting(
        0.8,
        "On which share of a metric's items there must be a verdict for its goal to be met.",
        "refining",
        "X",
        ge=0.5,
        le=1,
    )
    review: bool = setting(
        False,
        "Before each revision, show what it is to mend, and let you drop findings, add some, or edit the draft.",
        "refining",
        None,
        "--review/--no-review",
    )
    final_comparison: bool = setting(
        True,
        "In the end, let the language models that judge compare the first draft with the best one, and return the one"
        " that they prefer.",
        "refining",
        None,
        "--final-comparison/--no-final-comparison",
        said="they do",
    )
    allow_self_check: bool = setting(
        False, "Refine for goals even where the built-in model writes and judges itself.", "refining"
    )
    decider: str | None = setting(
        None, "Model that decides with --policy agent, in place of --model.", "refining", "NAME"
    )


_ALL_OF_A_WAVE = 50_000  # more than a provider takes in one job


class Limits(BaseModel):
    """How much a run may spend, and how fast."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)

    concurrency: int = setting(16, "Most requests at once.", "limits", "N", ge=1, le=1000)
    requests_per_minute: int | None = setting(None, "Most requests a minute.", "limits", "N", ge=1)
    tokens_per_minute: int | None = setting(None, "Most tokens a minute.", "limits", "N", ge=1)
    max_cost: float | None = setting(None, "Stop before it costs more.", "limits", "USD", gt=0)
    max_calls: int | None = setting(None, "Stop before there are more calls.", "limits", "N", ge=1)
    timeout: float = setting(300.0, "Most seconds a request may take.", "limits", "SECONDS", gt=0)
    provider_batch: bool = setting(
        False, "Hand requests over as jobs of the provider's batch API: cheaper, within a day.", "limits"
    )

    @property
    def at_once(self) -> int:
        """Return the maximum number of concurrent requests; for provider batches as many as possible."""
        return _ALL_OF_A_WAVE if self.provider_batch else self.concurrency


class _Purpose(BaseModel):
    """Base of the purposes of a run. `kind` identifies them in the store and in JSON."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class Summarize(_Purpose):
    """Draft a summary."""

    kind: Literal["summarize"] = "summarize"
    judging: None = None
    refinement: None = None


SUMMARIZE = Summarize()


class Evaluate(_Purpose):
    """Judge a draft, new or given."""

    kind: Literal["evaluate"] = "evaluate"
    judging: JudgeConfig
    refinement: None = None


class Refine(_Purpose):
    """Judge and refine a draft, new or given."""

    kind: Literal["refine"] = "refine"
    judging: JudgeConfig
    refinement: RefineConfig


class Compare(_Purpose):
    """Compare two given summaries."""

    kind: Literal["compare"] = "compare"
    judging: JudgeConfig
    refinement: None = None


class BuildQuestions(_Purpose):
    """Build the questions about a document without judging a draft. `judging.pack` names them."""

    kind: Literal["pack"] = "pack"
    judging: JudgeConfig
    refinement: None = None


class BuildKeyfacts(_Purpose):
    """Build the key facts of a document without judging a draft. `judging.keyfacts` names them."""

    kind: Literal["keyfacts"] = "keyfacts"
    judging: JudgeConfig
    refinement: None = None


class TraceLineage(_Purpose):
    """Trace the sentences of an existing summary with a model; drafts and judges nothing."""

    kind: Literal["lineage"] = "lineage"
    judging: JudgeConfig
    refinement: None = None


class Ask(_Purpose):
    """A question about a document is answered with citations. The answer is judged where there is a judge."""

    kind: Literal["ask"] = "ask"
    judging: JudgeConfig | None = None
    refinement: None = None


class ExperimentPart(_Purpose):
    """A part of an experiment, whose kind is the experiment's name. Only the experiment can resume it."""

    kind: str = Field(min_length=1)
    judging: JudgeConfig
    refinement: None = None

    @field_validator("kind")
    @classmethod
    def _is_no_other(cls, kind: str) -> str:
        if kind in _PURPOSES:
            raise UsageError(f"no experiment can be named {kind!r}: that is what other runs are for")
        return kind


Purpose = Summarize | Evaluate | Refine | Compare | BuildQuestions | BuildKeyfacts | TraceLineage | Ask | ExperimentPart
_PURPOSES: dict[str, type[Purpose]] = {one.model_fields["kind"].default: one for one in get_args(Purpose)[:-1]}


def purpose_of(kind: str, judging: JudgeConfig | None, refinement: RefineConfig | None) -> Purpose:
    """Return the purpose of a stored run from its kind, judging and refinement settings."""
    return _PURPOSES.get(kind, ExperimentPart).model_validate(
        {"kind": kind, "judging": judging, "refinement": refinement}
    )


def with_draft(judging: JudgeConfig | None, refinement: RefineConfig | None = None) -> Purpose:
    """Return the purpose for a draft: refine it, judge it, or neither."""
    if refinement is not None:
        return Refine(judging=judging or JudgeConfig(), refinement=refinement)
    return SUMMARIZE if judging is None else Evaluate(judging=judging)
