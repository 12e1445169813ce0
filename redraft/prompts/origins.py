"""The prompt that asks where sentences come from, where words alone do not tell."""

from __future__ import annotations

from typing import Annotated

from redraft.prompts.contract import Also, Fence, GivenModel, Prompt, ReplyModel, Silent
from redraft.prompts.qa import IDS, Statement
from redraft.prompts.tags import LISTED, ONLY_KNOWN, Names, TaggedItem


class Place(TaggedItem):
    """A place that a sentence may come from."""

    passage: str


class TraceGiven(GivenModel):
    """Sentences, and the places that each of them may come from: any number of them."""

    places: Annotated[list[Place], Fence("place", "the places of the document")]
    sentences: Annotated[list[Statement], Fence("sentence", "the sentences of the summary")]


class Sources(ReplyModel):
    """The places that a sentence takes something from."""

    id: Annotated[int, Names("sentences"), IDS]
    places: Annotated[
        list[Annotated[int, Names("places")]],
        LISTED,
        ONLY_KNOWN,
        Silent(),
        Also("place ids", "ids", "place", "sources"),
    ]


class AllSources(ReplyModel):
    """One entry for each sentence."""

    sentences: list[Sources]


TRACE_SENTENCES: Prompt[TraceGiven, AllSources] = Prompt(
    "trace_sentences", TraceGiven, AllSources, "lineage: say which places sentences come from", 0.0
)
