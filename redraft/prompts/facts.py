"""The prompt that takes the sentences of a summary apart into atomic facts: one piece of information each."""

from __future__ import annotations

from typing import Annotated

from redraft.prompts.contract import Also, AtMost, Fence, GivenModel, Prompt, ReplyModel, Text
from redraft.prompts.judging import IDS, Statement
from redraft.prompts.tags import Names

# More than this is in no sentence.
_MOST_FACTS = 20


class FactsGiven(GivenModel):
    """The sentences of a summary that are to be taken apart."""

    sentences: Annotated[list[Statement], Fence("sentence")]


class SentenceFacts(ReplyModel):
    """The atomic facts of a sentence; none where it says nothing that could be so or not."""

    id: Annotated[int, Names("sentences"), IDS]
    facts: Annotated[list[Text], Also("atomic facts", "statements", "claims", "fact"), AtMost(_MOST_FACTS)]


class AllFacts(ReplyModel):
    """One entry for each sentence."""

    sentences: list[SentenceFacts]


SPLIT_FACTS: Prompt[FactsGiven, AllFacts] = Prompt(
    "split_facts", FactsGiven, AllFacts, "experiment context: take sentences apart into atomic facts", 0.0
)
