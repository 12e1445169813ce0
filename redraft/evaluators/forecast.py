"""What a metric knows of its work before anything is asked, and how it says what that comes to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil
from typing import Any

from redraft.agents import fact_checker
from redraft.agents.evidence import EntryBudget, EvidenceReader
from redraft.agents.examiner import ANSWER, COMPARISON, QUESTIONS_NEAR
from redraft.agents.judge import batch_size, reply_tokens
from redraft.agents.retrieval import ReadingBounds, ReadingCost
from redraft.domain import Chunk
from redraft.evaluators.reference.keyfact_builder import chunk_tokens
from redraft.evaluators.reference.questions import Quantity, questions_wanted
from redraft.prompts.book import PromptBook
from redraft.prompts.contract import Prompt
from redraft.prompts.factual import ALIGN_FACTS
from redraft.prompts.qa import ANSWER_FROM_DOCUMENT, COMPARE_ANSWERS
from redraft.settings import JudgeConfig, Role
from redraft.text.chunks import chunk

# As a rule: a question or a fact with its number, and what is said around a sentence to number it.
A_QUESTION = 40
A_FACT = 50
A_NUMBER = 16


@dataclass(frozen=True, slots=True)
class Stage:
    """One kind of work, over all rounds: how often somebody is asked, the tokens of that at most, and who it is."""

    name: str
    calls: int
    prompt_tokens: int
    completion_tokens: int
    by: Role = "judge"
    about: bool = False
    """Whether it may come to more: it goes by how many key facts, or sentences of a draft, there are as a rule."""


@dataclass(frozen=True)
class Ahead:
    """What lies ahead of the judges: a document, drafts that are not written yet, and how they are to be judged."""

    reader: EvidenceReader
    book: PromptBook
    judging: JudgeConfig
    words: int
    """The words of a draft at most."""
    summary: int
    """The tokens of a draft at most."""
    sentences: int
    """The sentences of a draft, as a rule; of the one that is given, as many as it has."""
    counted: bool = False
    """Whether they are those of one that is given."""
    rounds: int = 0
    """How often a draft is revised at most."""
    others: int = 0
    """How many drafts there are beside the first one, among which that is chosen."""
    query: str | None = None
    """The question that the drafts answer, where they are not about the document as a whole."""

    @property
    def seats(self) -> int:
        """How many judgings there are of each draft: every judge, as often as it judges."""
        return max(1, len(self.judging.judges)) * self.judging.repeat

    @property
    def drafts(self) -> int:
        """How many drafts are judged at most, each of which may be new from end to end."""
        return 1 + self.others + self.rounds

    @property
    def judgings(self) -> int:
        """How many judgings there are of all drafts."""
        return self.seats * self.drafts

    @property
    def reply_room(self) -> int:
        """The tokens of a reply at most."""
        return reply_tokens(self.reader.window)

    def overhead(self, prompt: Prompt[Any, Any]) -> int:
        """The tokens of a prompt before anything is put into it."""
        return self.reader.tokenizer.count(self.book.template(prompt))

    def needs(self, entry: EntryBudget) -> int:
        """The tokens that an entry of a reply may need."""
        return entry.tokens(self.reader.wording)

    def batches(self, items: int, tokens: int) -> int:
        """How many calls so many items come to, when each takes so many tokens of a reply."""
        return ceil(items / batch_size(self.reply_room, tokens))

    def fact_batches(self, facts: int, tokens: int) -> int:
        """As many for facts, which stand in the prompt beside a text."""
        return ceil(facts / fact_checker.facts_at_once(self.reply_room, tokens))

    def parts(self) -> tuple[int, int]:
        """In how many parts a summary is read, and the tokens of each; mostly it is one."""
        summary = self.summary + self.sentences * A_NUMBER
        parts = max(1, ceil(summary / self.reader.room))
        return parts, ceil(summary / parts)

    def searching(self, items: int, tokens: int, near: int, query: str | None = None) -> ReadingCost:
        """What is read when every item takes all that there is to read.

        An answer to a query is held against the chunk that the query is about.
        """
        most = self._most(items, tokens, near, chunk_tokens(self.reader) if query else self.reader.document_tokens)
        return (most.whole() or most.parts()) if query else most.looks(self.reader.reading)

    def _most(self, items: int, tokens: int, near: int, read: int) -> ReadingBounds:
        fitting = batch_size(self.reply_room, tokens)
        return ReadingBounds(self.reader.window, read, items, tokens + A_QUESTION, min(near, fitting), fitting)

    def comparing(self, items: int, confirm: bool) -> tuple[int, int, int]:
        """The calls, the prompt tokens and those of the replies, when so many pairs of answers are compared in words.

        With `confirm` each of them is taken for a contradiction at first, and answered from more of the document.
        """
        calls = self.batches(items, self.needs(COMPARISON))
        prompt = calls * self.overhead(COMPARE_ANSWERS) + items * 2 * A_QUESTION
        completion = items * self.needs(COMPARISON)
        if not confirm:
            return calls, prompt, completion
        reading, evidence, _ = self._most(
            items, self.needs(ANSWER), QUESTIONS_NEAR, self.reader.document_tokens
        ).closer()
        more = evidence + reading * self.overhead(ANSWER_FROM_DOCUMENT) + items * A_QUESTION
        return 2 * calls + reading, 2 * prompt + more, 2 * completion + items * self.needs(ANSWER)

    def aligning(self, facts: int) -> tuple[int, int, int]:
        """The calls, the prompt tokens and those of the replies, when a draft is held against so many facts."""
        parts, part = self.parts()
        calls = parts * self.fact_batches(facts, self.needs(fact_checker.ALIGNMENT))
        prompt = calls * (part + self.overhead(ALIGN_FACTS)) + parts * facts * A_FACT
        return calls, prompt, parts * facts * self.needs(fact_checker.ALIGNMENT)

    @property
    def quantity(self) -> Quantity:
        """How many questions about the document are asked for."""
        return Quantity(self.judging.questions, self.judging.stretch_tokens)

    @property
    def questions(self) -> int:
        """How many questions the document's pack has at most."""
        return questions_wanted(self.reader, self.quantity)

    @cached_property
    def chunks(self) -> Sequence[Chunk]:
        """The chunks that trees of key facts are grown on."""
        return chunk(self.reader.document, self.reader.tokenizer, chunk_tokens(self.reader))

    @property
    def perspectives(self) -> int:
        """From how many perspectives trees are grown on each of them."""
        return 2 if self.judging.perspective == "both" else 1

    @property
    def facts(self) -> int:
        """How many facts a draft is held against as a rule: all, or those of the tree whose query it answers."""
        return (1 if self.query else len(self.chunks) * self.perspectives) * self.facts_a_tree

    @property
    def facts_a_tree(self) -> int:
        """How many facts a tree has as a rule, where it takes all the room of a reply. Shorter ones may be more."""
        return batch_size(self.reply_room, fact_checker.FACT_TOKENS)
