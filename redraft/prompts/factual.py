"""The prompts about facts: split, verify and align key facts, and rule on findings before they are fixed."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, WithJsonSchema

from redraft.domain import Level, Perspective, RulingVerdict
from redraft.prompts.contract import (
    OMITTABLE,
    AliasNames,
    Aside,
    Excerpt,
    Facts,
    Fence,
    Label,
    MaxItems,
    Prompt,
    PromptInput,
    ReplyModel,
    Sentences,
    Text,
    Unsure,
    Whole,
    Words,
    is_denied,
    refusing,
    synonyms,
)
from redraft.prompts.qa import IDS, LABELS, DocumentView, Quote, Reason, Reasoned, SentenceNames, Statement
from redraft.prompts.revision import Point
from redraft.prompts.tags import ItemRef, TaggedItem

Pass = Literal["pass", "fail"]
YesNo = Literal["yes", "no"]
Category = Literal["none", "out_of_article", "entity", "relation", "sentence"]
"""What is wrong with a sentence: nothing; not in the document; a name or number; a relation; all of it."""

# A kind of error may be followed by its subject, in brackets or after a colon.
_KIND = re.compile(
    r"(entity|relation|sentence|out[\W_]+of[\W_]+article)[\W_]*errors?\s*(?:\(([^()]*)\)|[:–—-]\s+(.*))\W*"
)
_OTHER_KIND = re.compile(r"entity|relation|sentence|article|none|\bnot?\b|\bor\b|/|\?")
_SPEAKS_OF_TREE = re.compile(r"\bkey[ -]?facts?\b|\bfact tree\b|\bexcerpts?\b|\bbranch(?:es)? and lea(?:f|ves)\b", re.I)


_SOME = refusing(lambda level: not level, "a level of the tree is missing")
_SELF_CONTAINED = refusing(
    lambda query: _SPEAKS_OF_TREE.findall(query)[:1],
    "the query mentions {0[0]!r}, which the person who answers it does not know",
)


def _category(value: object) -> object:
    """Return a category however it is spelled, as "Out-of-article error", "Relation error (verb)" or "Supported"."""
    if not isinstance(value, str):
        return value
    label = value.strip().casefold()
    if (kind := _KIND.fullmatch(label)) and not _OTHER_KIND.search(kind[2] or kind[3] or ""):
        label = kind[1]
    words = re.sub(r"[^a-z]+", "_", label).strip("_").removesuffix("s")
    category = synonyms("category").get(words, words.removesuffix("_error"))
    return value if is_denied(value, category) else category


Mark = Annotated[Whole, refusing(lambda mark: not 1 <= mark <= 5, "a mark is from 1 to 5")]


class Branch(ReplyModel):
    """A supporting fact, and the details that bear it out."""

    fact: Words
    leaves: Annotated[
        list[Words],
        BeforeValidator(
            lambda leaves: [leaf for leaf in leaves if leaf is not None] if type(leaves) is list else leaves
        ),
        BeforeValidator(lambda part: [] if part is None else part),
        OMITTABLE,
    ]


class Root(ReplyModel):
    """A main fact, and those that support it."""

    fact: Words
    branches: Annotated[list[Branch], _SOME]


class FactTree(ReplyModel):
    """The key facts of an excerpt."""

    roots: Annotated[list[Root], _SOME]


class ExcerptInput(PromptInput):
    """A stretch of a document, to find key facts in or to be judged as something to draw them from."""

    excerpt: Excerpt


class Fact(TaggedItem):
    """A key fact to be looked for."""

    fact: str


class TreeFact(TaggedItem):
    """A key fact to be judged, with its level in its tree."""

    level: Level
    fact: str


class FactWithLevel(PromptInput):
    """A key fact under a number, with its level in its tree."""

    id: int
    level: Level
    fact: str


class ValidateFactsInput(PromptInput):
    """Key facts, and the excerpt that they are from."""

    excerpt: Excerpt
    facts: Annotated[list[TreeFact], Fence("fact", "the key facts to judge")]


class FactAssessment(Reasoned):
    """Whether a fact passes, and why."""

    id: Annotated[int, ItemRef("facts"), IDS]
    verdict: Annotated[Pass, Label(Pass, "pass", names=LABELS)]


FactAssessments = Facts[FactAssessment]


class FactSupport(Reasoned):
    """Whether the excerpt bears a fact out, why, and the words of the excerpt that do."""

    id: Annotated[int, ItemRef("facts"), IDS]
    quote: Quote
    verdict: Annotated[Pass | Unsure, Label(Pass, "pass", "support", names=LABELS)]


FactSupports = Facts[FactSupport]


class QueryInput(PromptInput):
    """The key facts that a query shall lead to, depth first, and their excerpt, if there is room."""

    excerpt: Annotated[str | None, Fence("excerpt")] = None
    facts: Annotated[list[FactWithLevel], Fence("fact", "the key facts that the query leads to")]


class Query(ReplyModel):
    """A question that makes sense to a reader who has only the document."""

    query: Annotated[Words, _SELF_CONTAINED]


class AlignInput(PromptInput):
    """The sentences of a summary, and the facts to look for in it."""

    sentences: Annotated[list[Statement], Fence("sentence", "the sentences of the summary")]
    facts: Annotated[list[Fact], Fence("fact", "the key facts to look for")]


class Alignment(ReplyModel):
    """Whether a summary states a fact, and the tags of the sentences that do."""

    id: Annotated[int, ItemRef("facts"), IDS]
    stated: Annotated[YesNo | Unsure, Label(YesNo, "stated", names=("is stated", "verdict", *LABELS))]
    sentences: SentenceNames


Alignments = Facts[Alignment]


class VerifyInput(DocumentView):
    """Sentences of a summary, and the part of the document to check them against."""

    sentences: Annotated[list[Statement], Fence("sentence", "the sentences of the summary")]


class Verification(ReplyModel):
    """The words of the document that come closest to a sentence, what is wrong with it, and why."""

    id: Annotated[int, ItemRef("sentences"), IDS]
    quote: Quote
    reason: Reason
    category: Annotated[
        Category | Unsure,
        BeforeValidator(_category),
        WithJsonSchema({"enum": list(get_args(Category)), "type": "string"}),
        AliasNames("error", "error type", "error category", "type", "verdict", *LABELS),
    ]


Verifications = Sentences[Verification]


class ChunkRating(ReplyModel):
    """Marks from 1 to 5, and in a few words why."""

    major_facts: Whole
    connections: Whole
    explanation: Aside
    validity: Mark
    coherence: Mark
    cross_content: Mark


KEYFACTS_ANALYTICAL = Prompt(
    "keyfacts_analytical", ExcerptInput, FactTree, "key facts: what a stretch means and argues, as a tree"
)
KEYFACTS_NARRATIVE = Prompt(
    "keyfacts_narrative", ExcerptInput, FactTree, "key facts: what happens in a stretch, as a tree"
)
FACTS_FAITHFUL = Prompt("facts_faithful", ValidateFactsInput, FactSupports, "key facts: does the text support them?")
FACTS_OBJECTIVE = Prompt("facts_objective", ValidateFactsInput, FactAssessments, "key facts: are they free of opinion?")
FACTS_SIGNIFICANT = Prompt("facts_significant", ValidateFactsInput, FactAssessments, "key facts: do they matter?")
QUERY_ANALYTICAL = Prompt(
    "query_analytical", QueryInput, Query, "key facts: the question that an analytical tree answers"
)
QUERY_NARRATIVE = Prompt("query_narrative", QueryInput, Query, "key facts: the question that a narrative tree answers")
ALIGN_FACTS = Prompt("align_facts", AlignInput, Alignments, "keyfact_recall: which facts does the summary state?")
VERIFY_SENTENCES = Prompt(
    "verify_sentences", VerifyInput, Verifications, "faithfulness: what is wrong with each sentence?"
)
JUDGE_CHUNK = Prompt("judge_chunk", ExcerptInput, ChunkRating, "chunk-size: does a chunk suit key facts?")

KEYFACT_PROMPTS: dict[Perspective, Prompt[ExcerptInput, FactTree]] = {
    "analytical": KEYFACTS_ANALYTICAL,
    "narrative": KEYFACTS_NARRATIVE,
}
QUERY_PROMPTS: dict[Perspective, Prompt[QueryInput, Query]] = {
    "analytical": QUERY_ANALYTICAL,
    "narrative": QUERY_NARRATIVE,
}

_VALIDATION = (FACTS_FAITHFUL, FACTS_OBJECTIVE, FACTS_SIGNIFICANT)
TREE_PROMPTS: tuple[Prompt[Any, Any], ...] = (*KEYFACT_PROMPTS.values(), *_VALIDATION, *QUERY_PROMPTS.values())
"""The prompts that key facts depend on."""
FACT_PROMPTS: tuple[Prompt[Any, Any], ...] = (*TREE_PROMPTS, ALIGN_FACTS, VERIFY_SENTENCES)
"""The prompts that build key facts, and judge a draft by them."""


# The most facts of one sentence.
_MAX_FACTS = 20


class SplitFactsInput(PromptInput):
    """The sentences of a summary that are to be taken apart."""

    sentences: Annotated[list[Statement], Fence("sentence", "the sentences of the summary")]


class SentenceFacts(ReplyModel):
    """The atomic facts of a sentence; none where it says nothing that could be so or not."""

    listed_as = "AllFacts"
    id: Annotated[int, ItemRef("sentences"), IDS]
    facts: Annotated[list[Text], AliasNames("atomic facts", "statements", "claims", "fact"), MaxItems(_MAX_FACTS)]


AllFacts = Sentences[SentenceFacts]


SPLIT_FACTS: Prompt[SplitFactsInput, AllFacts] = Prompt(
    "split_facts", SplitFactsInput, AllFacts, "experiment context: split sentences into atomic facts"
)


class RuleInput(DocumentView):
    """What is read of the document, what to rule on, and whether a point is contested with a quote."""

    points: Annotated[list[Point], Fence("point", "the findings to rule on")]
    contested: bool = False


class PointRuling(Reasoned):
    """Why, the document's words that decide, and the verdict."""

    id: Annotated[int, ItemRef("points"), IDS]
    quote: Quote
    verdict: Annotated[RulingVerdict, Label(RulingVerdict, "ruling", names=LABELS)]


class PointRulings(ReplyModel):
    """One entry for each point."""

    points: list[PointRuling]


RULE_ON_FINDINGS = Prompt("rule_on_findings", RuleInput, PointRulings, "refine: confirm findings before they are fixed")
