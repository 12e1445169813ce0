"""What of a document is read for a draft, and by which strategy that is drafted where nobody has named one."""

from __future__ import annotations

from redraft.domain import Chunk, Document, Span
from redraft.errors import PlanError
from redraft.graphs.plan import Planner
from redraft.prompts.book import PromptBook
from redraft.settings import AUTO, GIVEN_STRATEGY, MERGING, Settings, reads_prompts
from redraft.text.genre import kind_by_form
from redraft.text.matter import Body, body_of
from redraft.text.tokens import Tokenizer

DIRECT = "direct"
# A story of more chunks than this is long.
_CHUNKS_OF_A_LONG_STORY = 3
_CALLED = {"narrative": "the story", "report": "the report"}


def what_is_read(
    document: Document, end: int, settings: Settings, tokenizer: Tokenizer, book: PromptBook
) -> tuple[Settings, Span, list[str]]:
    """The settings with the strategy that is drafted by, what is read for the draft, and what there is to say of that.

    Where a draft is handed over, or goes by chapters, none of it is left out.
    """
    if settings.strategy == GIVEN_STRATEGY:
        return settings.model_copy(update={"chunking": "fixed"}), Span(0, end), []
    if settings.by_chapter:
        return settings, Span(0, end), []
    body = body_of(document, end) if settings.chunking == "natural" else Body(Span(0, end))
    why = ""
    if settings.strategy == AUTO:
        strategy, why = _chosen(document, body.span, settings, tokenizer, book)
        settings = settings.model_copy(update={"strategy": strategy, "chosen": why})
    return settings, body.span, [one for one in (body.said, why) if one]


def _chosen(
    document: Document, read: Span, settings: Settings, tokenizer: Tokenizer, book: PromptBook
) -> tuple[str, str]:
    """The strategy for what is read of a document, and why in one line.

    What fits the writer's window is drafted directly, unless it is a long story: the summary of such a one in one go
    was found worse by readers than one of the summaries of its parts. The built-in model merges, as it has no window.
    """
    if not reads_prompts(settings.model):
        return MERGING, ""
    text = document.text[slice(*read)]
    tokens, kind = tokenizer.count(text), kind_by_form(text)
    if kind == "narrative" and tokens > _CHUNKS_OF_A_LONG_STORY * settings.chunk_tokens:
        return MERGING, f"drafted part by part: it is a long story ({tokens:,} tokens)"
    it, window = _CALLED.get(kind, "the document"), settings.context_tokens
    try:
        whole = [Chunk(0, read, tokens)]
        Planner(document, whole, settings.model_copy(update={"strategy": DIRECT}), tokenizer, book).direct()
    except PlanError:
        return MERGING, f"drafted part by part: {it} ({tokens:,} tokens) does not fit the model's window ({window:,})"
    return DIRECT, f"drafted directly: {it} fits the model's window ({tokens:,} of {window:,} tokens)"
