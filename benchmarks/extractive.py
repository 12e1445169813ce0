"""How much of people's summaries the extractive model finds, against the first words and random sentences.

    python -m benchmarks.extractive [--words 250] [--stories 12:25]

Reads squality/dev.jsonl under $REDRAFT_DATA (by default ../shared/data). The four references of a story are people's
answers to "What is the plot of the story?"; ROUGE F1 is given as the mean over them, and as the best of them. The
model was tuned on stories 0 to 11, so the default is the others.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from statistics import mean

from rouge_score.rouge_scorer import RougeScorer

from benchmarks.common import options_of, stories
from benchmarks.refine import lead
from redraft.builtin.draft import summarize
from redraft.domain import Document, content_id
from redraft.prompts.summarization import ChunkInput, MergeInput, WholeInput
from redraft.text.chunks import chunk
from redraft.text.sentences import sentences
from redraft.text.tokens import Tokenizer
from redraft.text.words import count_words

KINDS = ("rouge1", "rouge2", "rougeL")
CHUNK_TOKENS = 2_000
CHUNK_WORDS = 200


def random_sentences(text: str, words: int) -> str:
    """Sentences drawn at random, in the order of the text."""
    found = [text[span.start : span.end] for span in sentences(text)]
    order = random.Random(content_id(text)).sample(range(len(found)), len(found))
    drawn: list[int] = []
    left = words
    for at in order:
        if (length := count_words(found[at])) <= left:
            drawn.append(at)
            left -= length
    return " ".join(found[at] for at in sorted(drawn))


def whole(text: str, words: int) -> str:
    return summarize(WholeInput(document=text, words=words))


def hierarchical(text: str, words: int) -> str:
    document = Document(content_id(text), "", text)
    chunks = chunk(document, Tokenizer(), CHUNK_TOKENS)
    excerpts = [text[piece.span.start : piece.span.end] for piece in chunks]
    summaries = [summarize(ChunkInput(excerpt=excerpt, words=CHUNK_WORDS)) for excerpt in excerpts]
    return summarize(MergeInput(summaries=summaries, words=words))


SYSTEMS: dict[str, Callable[[str, int], str]] = {
    "lead": lead,
    "random": random_sentences,
    "whole": whole,
    "chunks, merged": hierarchical,
}


def main() -> None:
    arguments = options_of(__doc__)
    arguments.add_argument("--words", type=int, default=250)
    arguments.add_argument("--stories", default="12:25", help="which of the 25, as START:END")
    options = arguments.parse_args()
    start, end = map(int, options.stories.split(":"))
    told = [
        (story["document"], [response["response_text"] for response in story["questions"][0]["responses"]])
        for story in stories()[start:end]
    ]
    if not told:
        sys.exit("skipped: set REDRAFT_DATA to the folder that holds squality/dev.jsonl")
    scorer = RougeScorer(KINDS, use_stemmer=True)
    print(f"{len(told)} stories, {options.words} words; mean over the references / best reference")
    print(f"{'':16}{'words':>7}" + "".join(f"{kind:>16}" for kind in KINDS))
    for name, system in SYSTEMS.items():
        drafts = [system(text, options.words) for text, _ in told]
        scores = [[scorer.score(one, d) for one in many] for d, (_, many) in zip(drafts, told, strict=True)]
        row = f"{name:16}{mean(map(count_words, drafts)):7.0f}"
        for kind in KINDS:
            of_each = [[score[kind].fmeasure for score in many] for many in scores]
            row += f"{mean(map(mean, of_each)):9.3f} /{mean(map(max, of_each)):.3f}"
        print(row)


if __name__ == "__main__":
    main()
