"""The annotation formats of LongSumEval's other sets: Arxiv and GovReport (Koh et al.), TL;DR (Stiennon et al.) and
patents (PatentSumEval)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean

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
_PATENT_SYSTEMS = {
    "summary_1": "hupd-t5-base",
    "summary_2": "xl_net",
    "summary_3": "bart",
    "summary_4": "long-t5-tglobal-base-16384-book-summary-2",
    "summary_5": "gpt35",
}
"""The columns with the summaries of a system, by how the columns of its ratings end, such as `accuracy_summary_1`."""


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
    axes = mapping(summary.get("axes"))
    people = {name: value for name in AXES if (value := number(axes.get(name))) is not None}
    if not people:
        raise UnreadableError(f"there is none of {', '.join(AXES)}")
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


def items_of_patents(entry: FileEntry, _: Library) -> list[HumanItem]:
    """Return the rated summaries of a patent, a row of the released sheet; its abstract and claims were summarized."""
    content = mapping(entry.content)
    source = "\n\n".join(text_at(content, name) for name in ("abstract", "claims"))
    found: list[HumanItem] = []
    for column, system in _PATENT_SYSTEMS.items():
        ratings = {name: number(content.get(f"{name}_{column}")) for name in RATED}
        people = {name: value for name, value in ratings.items() if value is not None}
        if people and content.get(system):
            found.append(HumanItem(system, "", text_at(content, system), people, source=source, system=system))
    if not found:
        raise UnreadableError("it has no summary with ratings")
    return found
