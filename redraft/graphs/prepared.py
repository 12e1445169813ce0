"""What a run works with: its document with all decisions before the first call, and its open models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from redraft.agents.evidence import EvidenceReader, tokens_in
from redraft.agents.judge import Judge, TokenRates, reply_rooms
from redraft.domain import Chunk, Document, DocumentSection, Span
from redraft.graphs.plan import Plan, Planner
from redraft.llm.addresses import name_of
from redraft.llm.base import Model
from redraft.prompts.book import PromptBook
from redraft.readers.parts import split_document
from redraft.settings import DraftConfig, EvidenceName, reads_prompts
from redraft.store.table import Cache
from redraft.text.chunks import chunk
from redraft.text.languages import language_context
from redraft.text.retrieval import Passages
from redraft.text.tokens import Tokenizer, tokenizer_for
from redraft.text.vectors import Encoder


@dataclass(frozen=True)
class PreparedDocument:
    """A document and all decisions before the first call: what follows from the settings and its length. It is chunked
    and planned on first use, since a run is found again without that."""

    document: Document
    """The document with its language."""
    settings: DraftConfig
    tokenizer: Tokenizer
    book: PromptBook
    warnings: tuple[str, ...]
    span: Span
    """The part of the document that is read."""
    planning: Callable[[Planner], Plan]
    """How the strategy plans a draft."""
    stored: Sequence[Chunk] = ()
    """The chunks of a run on record."""
    notes: tuple[str, ...] = ()
    """What is assumed about the models of a run."""

    @cached_property
    def chapters(self) -> Sequence[DocumentSection]:
        """The chapters, if each is drafted by itself."""
        return split_document(self.document) if self.settings.by_chapter else ()

    @cached_property
    def chunks(self) -> Sequence[Chunk]:
        """The chunks of the draft; with chapters, the chapters."""
        document, settings, tokenizer, (start, end) = self.document, self.settings, self.tokenizer, self.span
        if self.stored:
            return self.stored
        with language_context(document):
            if settings.by_chapter:
                meter = tokenizer.measure(document.text)
                return [Chunk(at, part.span, meter.tokens(*part.span)) for at, part in enumerate(self.chapters)]
            natural = settings.chunking == "natural"
            return chunk(document, tokenizer, settings.chunk_budget, end, start=start, natural=natural)

    @cached_property
    def plan(self) -> Plan:
        """The plan of the draft; a `PlanError` where the document does not fit."""
        with language_context(self.document):
            return self.planning(Planner(self.document, self.chunks, self.settings, self.tokenizer, self.book))

    def reader(
        self,
        judging: Sequence[DraftConfig],
        tokenizer: Tokenizer,
        encoder: Encoder | None = None,
        reading: EvidenceName = "auto",
    ) -> EvidenceReader:
        """Return the evidence reader for models with these settings, sized by the smallest of their windows."""
        # Models without a window do not count.
        bounded = [settings.window for settings in judging if settings.window is not None]
        window, document = min(bounded, default=judging[0].context_tokens), self.document
        passages, tokens = Passages(document, tokenizer, encoder), tokens_in(document.text, tokenizer)
        return EvidenceReader(document, passages, tokenizer, window, tokens, reading)


def tokenizer_of(settings: DraftConfig) -> tuple[Tokenizer, str]:
    """Return the model's tokenizer, with a warning where it is an approximation. Models that read no prompts cannot
    overflow a window."""
    if not reads_prompts(settings.model):
        return Tokenizer(), ""
    return tokenizer_for(name_of(settings.model))


@dataclass(frozen=True, slots=True)
class OpenModel:
    """An open model with its settings and prompts for a role."""

    model: Model
    settings: DraftConfig
    book: PromptBook
    is_object: bool = False
    """Whether the model was passed as an object, about whose tokens nothing is known."""

    @property
    def tokenizer(self) -> Tokenizer:
        """Return the tokenizer that counts its tokens, or an estimate."""
        return Tokenizer() if self.is_object else tokenizer_of(self.settings)[0]

    def judge(
        self, verdicts: Cache, document: str, wording: TokenRates, sample: int | None = None, visit: int = 0
    ) -> Judge:
        """Return it as a judge of a document, by default with the sample of its settings."""
        settings = self.settings
        usual, longest = reply_rooms(settings.context_tokens, settings.max_tokens)
        return Judge(
            self.model,
            self.book,
            verdicts,
            sample=settings.sample if sample is None else sample,
            temperature=settings.temperature,
            top_p=settings.top_p,
            reply_tokens=usual,
            longest_reply=longest,
            wording=wording,
            document=document,
            visit=visit,
        )


@dataclass(frozen=True, slots=True)
class ModelPool:
    """The writer and the judges of a run; the first judge writes the questions."""

    writer: OpenModel
    judges: tuple[OpenModel, ...]
    validator: OpenModel
    """The model that validates the key facts found by the first judge."""
    decider: OpenModel
    """The model that decides what to revise, if the policy uses one."""

    @property
    def readers(self) -> list[OpenModel]:
        """Return the judges that are language models."""
        return [judge for judge in self.judges if judge.settings.window is not None]
