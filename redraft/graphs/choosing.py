"""Which strategy a document is drafted by where nobody has named one."""

from __future__ import annotations

from redraft.domain import Chunk, Document, Span
from redraft.errors import PlanError
from redraft.graphs.plan import Planner
from redraft.prompts.book import PromptBook
from redraft.settings import MERGING, Settings, reads_prompts
from redraft.text.genre import kind_by_form
from redraft.text.tokens import Tokenizer

DIRECT = "direct"
# A story of more chunks than this is long.
_CHUNKS_OF_A_LONG_STORY = 3
_CALLED = {"narrative": "the story", "report": "the report"}


def chosen_strategy(
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
