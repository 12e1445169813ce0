"""The annotation formats of LongSumEval's other sets: Arxiv and GovReport (Koh et al.), TL;DR (Stiennon et al.) and
patents (PatentSumEval)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from typing import Any

from redraft.lab.agreement.people import (
    FileEntry,
    HumanItem,
    Library,
    UnreadableError,
    mapping,
    number,
    optional,
    text_at,
)

# The prefix of the ids of GovReport in the annotations, which its own files lack.
_PREFIX = "ID_"
AXES = ("accuracy", "coverage", "coherence", "overall")
RATED = ("accuracy", "coverage", "clarity", "overall")


def items_of_koh(dataset: str) -> Callable[[FileEntry, Library], list[HumanItem]]:
    """Return a reader of one of the two sets that one file holds; entries of the other are passed over."""

    def read(entry: FileEntry, known: Library) -> list[HumanItem]:
        content = mapping(entry.content)
        if text_at(content, "dataset").casefold() != dataset:
            return []
        name, system = optional(content, "dataset_id"), optional(content, "model_type")
        people = {
            field: value
            for field, column in (("consistency", "factual_consistency"), ("relevance", "relevance"))
            if (value := number(content.get(column))) is not None
        }
        if not people:
            raise UnreadableError("it has neither `factual_consistency` nor `relevance`")
        source = known.get(name) or known.get(name.removeprefix(_PREFIX), "")
        summary = text_at(content, "model_summary")
        return [HumanItem(system, name, summary, people, source=source, system=system)]

    return read


def items_of_tldr(entry: FileEntry, _: Library) -> list[HumanItem]:
    """Return one person's ratings of a summary, as the file has them; `merged` brings those of several together."""
    content = mapping(entry.content)
    info, summary = mapping(content.get("info")), mapping(content.get("summary"))
    system = optional(summary, "policy")
    people = _figures(mapping(summary.get("axes")), AXES)
    source = text_at(info, "post", "article")
    return [HumanItem(system, optional(info, "id"), text_at(summary, "text"), people, source=source, system=system)]


def merged(items: Sequence[HumanItem]) -> list[HumanItem]:
    """Return each summary once, with the means of all its ratings, and the ratings themselves."""
    of: dict[tuple[str, str, str], list[HumanItem]] = {}
    for item in items:
        of.setdefault((item.document, item.system, item.summary), []).append(item)
    found: list[HumanItem] = []
    for same in of.values():
        fields = dict.fromkeys(field for item in same for field in item.people)
        said = {field: [item.people[field] for item in same if field in item.people] for field in fields}
        means = {field: fmean(values) for field, values in said.items()}
        votes = [values for values in said.values() if len(values) > 1]
        first = same[0]
        found.append(
            HumanItem(
                first.id, first.document, first.summary, means, source=first.source, system=first.system, votes=votes
            )
        )
    return found


def items_of_patents(entry: FileEntry, known: Library) -> list[HumanItem]:
    """Return a rated summary of a patent; what was summarized is its abstract and claims."""
    content = mapping(entry.content)
    document = optional(content, "patent_id", "document_id", "id")
    parts = [str(content[name]) for name in ("abstract", "claims") if isinstance(content.get(name), str)]
    source = "\n\n".join(parts) or known.get(document) or text_at(content, "text", "source", "document")
    rated = content.get("human")
    people = _figures(rated if isinstance(rated, Mapping) else content, RATED)
    system = optional(content, "system", "model")
    return [HumanItem(system, document, text_at(content, "summary"), people, source=source, system=system)]


def _figures(rated: Mapping[str, Any], fields: Sequence[str]) -> dict[str, float]:
    """Return the ratings by field: of several annotators their mean."""
    listed = {name: value if isinstance(value, list) else [value] for name in fields if (value := rated.get(name))}
    known = {name: [one for value in values if (one := number(value)) is not None] for name, values in listed.items()}
    people = {name: fmean(values) for name, values in known.items() if values}
    if not people:
        raise UnreadableError(f"there is none of {', '.join(fields)}")
    return people
