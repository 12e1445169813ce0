"""What a metric knows of its work before anything is asked, and how it says what that comes to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil
from operator import mul
from typing import Any, Literal

from redraft.agents import factfinder
from redraft.agents.evidence import FAR, NEAR, EvidenceDesk
from redraft.agents.judge import batch_size, reply_tokens
from redraft.agents.room import Entry
from redraft.domain import Chunk
from redraft.packs.growing import chunk_tokens
from redraft.packs.questions import questions_wanted
from redraft.prompts.book import PromptBook
from redraft.prompts.contract import Prompt
from redraft.settings import Judging
from redraft.text.chunks import chunk
from redraft.text.passages import WINDOW

# As a rule: a question or a fact with its number, and what is said around a sentence to number it.
A_QUESTION = 40
A_FACT = 50
A_NUMBER = 16

Role = Literal["writer", "judge", "validator", "decider"]


@dataclass(frozen=True, slots=True)
class Stage:
    """One kind of work, over all rounds: how often somebody is asked, the tokens of that at most, and who it is."""

    name: str
    calls: int
    prompt_tokens: int
    completion_tokens: int
    by: Role = "judge"


@dataclass(frozen=True)
class Ahead:
    """What lies ahead of the judges: a document, drafts that are not written yet, and how they are to be judged."""

    desk: EvidenceDesk
    book: PromptBook
    judging: Judging
    words: int
    """The words of a draft at most."""
    summary: int
    """The tokens of a draft at most."""
    sentences: int
    """The sentences of a draft, as a rule; of the one that is given, as many as it has."""
    rounds: int = 0
    """How often a draft is revised at most."""
    query: str | None = None
    """The question that the drafts answer, where they are not about the document as a whole."""

    @property
    def seats(self) -> int:
        """How many judgings there are of each draft: every judge, as often as it judges."""
        return max(1, len(self.judging.judges)) * self.judging.repeat

    @property
    def drafts(self) -> int:
        """How many drafts are judged at most, each of which may be new from end to end."""
        return 1 + self.rounds

    @property
    def judgings(self) -> int:
        """How many judgings there are of all drafts."""
        return self.seats * self.drafts

    @property
    def reply_room(self) -> int:
        """The tokens of a reply at most."""
        return reply_tokens(self.desk.window)

    def overhead(self, prompt: Prompt[Any, Any]) -> int:
        """The tokens of a prompt before anything is put into it."""
        return self.desk.tokenizer.count(self.book.template(prompt))

    def needs(self, entry: Entry) -> int:
        """The tokens that an entry of a reply may need."""
        return entry.tokens(self.desk.wording)

    def batches(self, items: int, tokens: int) -> int:
        """How many calls so many items come to, when each takes so many tokens of a reply."""
        return ceil(items / batch_size(self.reply_room, tokens))

    def fact_batches(self, facts: int, tokens: int) -> int:
        """As many for facts, which stand in the prompt beside a text."""
        return ceil(facts / factfinder.facts_at_once(self.reply_room, tokens))

    def parts(self) -> tuple[int, int]:
        """In how many parts a summary is read, and the tokens of each; mostly it is one."""
        summary = self.summary + self.sentences * A_NUMBER
        parts = max(1, ceil(summary / self.desk.room))
        return parts, ceil(summary / parts)

    def searching(self, items: int, tokens: int, near: int, query: str | None = None) -> tuple[int, int]:
        """The calls, and the tokens of evidence in them, when every item is looked for twice in the document.

        An answer to a query is held against the chunk that the query is about.
        """
        document = chunk_tokens(self.desk) if query else self.desk.document_tokens
        fitting = batch_size(self.reply_room, tokens)
        first = min(near, fitting, max(1, self.desk.room // (NEAR * WINDOW)))
        second = fitting if document <= self.desk.room else min(fitting, max(1, self.desk.room // (FAR * WINDOW)))
        calls = ceil(items / first), ceil(items / second)
        evidence = min(document, self.desk.room, first * NEAR * WINDOW), min(document, self.desk.room)
        return sum(calls), sum(map(mul, calls, evidence))

    @property
    def questions(self) -> int:
        """How many questions the document's pack has at most."""
        return questions_wanted(self.desk, self.judging.questions)

    @cached_property
    def chunks(self) -> Sequence[Chunk]:
        """The chunks that trees of key facts are grown on."""
        return chunk(self.desk.document, self.desk.tokenizer, chunk_tokens(self.desk))

    @property
    def perspectives(self) -> int:
        """From how many perspectives trees are grown on each of them."""
        return 2 if self.judging.perspective == "both" else 1

    @property
    def facts_a_tree(self) -> int:
        """How many facts a tree has at most: as many as a reply has room for."""
        return batch_size(self.reply_room, factfinder.FACT_TOKENS)
