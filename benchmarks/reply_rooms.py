"""How many batches of twelve plausible questions fit into the room that a judge has for them, by language and form.

    python -m benchmarks.reply_rooms [--batches 1000]

Twelve questions are drawn, with replacement, from those about one chapter; `longer` draws only such as quote sentences
longer than the median. The room was 90 tokens for a question once, whatever the language.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from statistics import median

from benchmarks.common import options_of, table, use_vocabulary
from benchmarks.languages import LANGUAGES, Questioned, chapter
from redraft.agents.judge import wording_of
from redraft.evaluators.reference.builders import QUESTION
from redraft.text.tokens import Tokenizer, tokenizer_named

AT_ONCE = 12
BEFORE, FRAME = 90, 60
FORMS = {"compact": None, "indented": 2}


def tracing_budget(asked: Sequence[Questioned], tokenizer: Tokenizer) -> int:
    """The tokens of the reply to a judge who is asked for twelve questions about a chapter."""
    wording = wording_of(chapter(list(asked)), tokenizer)
    return AT_ONCE * QUESTION.tokens(wording) + FRAME


def reply(questions: Sequence[Questioned], indent: int | None) -> str:
    """The questions as a judge writes them."""
    entries = [
        {"question": one.question, "kind": "what", "answer": one.answer, "quote": one.quote} for one in questions
    ]
    return json.dumps({"questions": entries}, ensure_ascii=False, indent=indent)


def sizes(
    asked: Sequence[Questioned], tokenizer: Tokenizer, indent: int | None, batches: int, *, longer: bool
) -> list[int]:
    """The tokens of so many replies."""
    middle = median(len(one.quote) for one in asked)
    pool = [one for one in asked if len(one.quote) > middle] if longer else list(asked)
    drawn = random.Random(7)
    return [tokenizer.count(reply(drawn.choices(pool, k=AT_ONCE), indent)) for _ in range(batches)]


def print_rooms(batches: int) -> None:
    """The table."""
    use_vocabulary()
    tokenizer = tokenizer_named("o200k_base")
    before = AT_ONCE * BEFORE + FRAME
    rows: list[Sequence[object]] = [
        ("language", "form", "quotes", "median", "most", "room before", "fit", "room now", "fit")
    ]
    for language, asked in LANGUAGES.items():
        room = tracing_budget(asked, tokenizer)
        for form, indent in FORMS.items():
            for longer in (False, True):
                found = sizes(asked, tokenizer, indent, batches, longer=longer)
                fits = [f"{sum(size <= limit for size in found) / batches:.0%}" for limit in (before, room)]
                middle, most = round(median(found)), max(found)
                which = "longer" if longer else "any"
                rows.append((language, form, which, middle, most, before, fits[0], room, fits[1]))
    print(f"{batches} batches of {AT_ONCE} questions, tokens by {tokenizer.name}")
    table(rows)


def main() -> None:
    arguments = options_of(__doc__)
    arguments.add_argument("--batches", type=int, default=1_000)
    print_rooms(arguments.parse_args().batches)


if __name__ == "__main__":
    main()
