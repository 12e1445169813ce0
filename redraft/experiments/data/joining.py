"""Short articles joined to long documents, as the traceability thesis joins XSum's (section 4.4)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from redraft.experiments.data.examples import Example, Reference
from redraft.text.tokens import Tokenizer


def joined(examples: Iterable[Example], tokens: int, tokenizer: Tokenizer) -> Iterator[Example]:
    """One document of as many examples in their order as it takes to have so many tokens; and so on.

    The summaries are joined alike, the first of each. What is left at the end, and is shorter, is left out.
    """
    some: list[Example] = []
    long = 0
    for one in examples:
        if not one.summaries:
            continue
        some.append(one)
        long += tokenizer.count(one.text)
        if long >= tokens:
            first, last = some[0], some[-1]
            name = f"{first.id or first.place} to {last.id or last.place}"
            summary = " ".join(each.summaries[0].text for each in some)
            text = "\n\n".join(each.text for each in some)
            yield Example(first.place, name, f"{len(some)} articles, {name}", text, (Reference(summary),))
            some, long = [], 0


def as_line(example: Example) -> str:
    """An example as a line of our own form."""
    summaries = [{"query": one.query, "text": one.text} for one in example.summaries]
    content = {"id": example.id, "title": example.title, "text": example.text, "summaries": summaries}
    return json.dumps(content, ensure_ascii=False) + "\n"
