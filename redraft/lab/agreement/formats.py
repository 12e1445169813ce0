"""The annotation formats of public datasets (LongSumEval's among them), and JSONL for your own annotations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from redraft.domain import content_id
from redraft.errors import UsageError
from redraft.evaluators.base import statements_of
from redraft.evaluators.booookscore import sentences_of
from redraft.lab.agreement.annotations import (
    MARKS,
    entries_of,
    lists_every_sentence,
    marked_sentences,
    match_to_sentences,
)
from redraft.lab.agreement.annotations import AnnotatedSentence as Annotated
from redraft.lab.agreement.people import (
    Dataset,
    FileEntry,
    FileProblem,
    HumanField,
    HumanItem,
    Library,
    UnreadableError,
    as_object,
    list_at,
    number,
    number_at,
    optional_text,
    read_entries,
    read_texts_by_id,
    summary_id,
    text_at,
)
from redraft.text.sanitizer import one_line

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
        content = as_object(entry.content)
        if text_at(content, "dataset").casefold() != dataset:
            return []
        name, system = optional_text(content, "dataset_id"), optional_text(content, "model_type")
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
    content = as_object(entry.content)
    info, summary = as_object(content.get("info")), as_object(content.get("summary"))
    system = optional_text(summary, "policy")
    axes = as_object(summary.get("axes"))
    people = {name: value for name in AXES if (value := number(axes.get(name))) is not None}
    if not people:
        raise UnreadableError(f"there is none of {', '.join(AXES)}")
    source = text_at(info, "post", "article")
    return [
        HumanItem(system, optional_text(info, "id"), text_at(summary, "text"), people, source=source, system=system)
    ]


def merged(items: Sequence[HumanItem]) -> list[HumanItem]:
    """Return each summary once, with the means of all its ratings, and the ratings themselves."""
    of: dict[tuple[str, str, str], list[HumanItem]] = {}
    for item in items:
        of.setdefault((item.document, item.system, item.summary), []).append(item)
    human_items: list[HumanItem] = []
    for same in of.values():
        fields = dict.fromkeys(field for item in same for field in item.people)
        said = {field: [item.people[field] for item in same if field in item.people] for field in fields}
        means = {field: fmean(values) for field, values in said.items()}
        votes = [values for values in said.values() if len(values) > 1]
        human_items.append(replace(same[0], people=means, votes=votes))
    return human_items


def items_of_patents(entry: FileEntry, _: Library) -> list[HumanItem]:
    """Return the rated summaries of a patent, a row of the released sheet; its abstract and claims were summarized."""
    content = as_object(entry.content)
    source = "\n\n".join(text_at(content, name) for name in ("abstract", "claims"))
    items: list[HumanItem] = []
    for column, system in _PATENT_SYSTEMS.items():
        ratings = {name: number(content.get(f"{name}_{column}")) for name in RATED}
        people = {name: value for name, value in ratings.items() if value is not None}
        if people and content.get(system):
            items.append(HumanItem(system, "", text_at(content, system), people, source=source, system=system))
    if not items:
        raise UnreadableError("it has no summary with ratings")
    return items


Items = Callable[[FileEntry, Library], Sequence[HumanItem]]
"""Returns the items of an entry; raises `UnreadableError` with the reason if it cannot."""
Parts = Callable[[FileEntry], Iterator[FileEntry]]
"""Splits an entry into smaller ones, for formats in which the whole file is one object."""


@dataclass(frozen=True, slots=True)
class Format:
    """An annotation format, and the title under which its figures are reported."""

    name: str
    title: str
    fields: Mapping[str, HumanField]
    items: Items
    parts: Parts | None = None
    beside: tuple[str, ...] = ()
    """The file names under which the documents may be in the same folder; `{stem}` is the stem of the annotated file.
    """
    any_field: bool = False
    """Whether fields other than the known ones are allowed."""
    needs_documents: bool = True
    joined: Callable[[Sequence[HumanItem]], list[HumanItem]] = list
    """Brings the items together that several entries are about."""

    def read(self, path: str, documents: str | None = None) -> Dataset:
        """Return all items of a file with their documents; what cannot be read is reported and skipped."""
        known = read_texts_by_id(documents or self._beside(path))
        items: list[HumanItem] = []
        troubles: list[FileProblem] = []
        for entry in read_entries(path):
            if isinstance(entry, FileProblem):
                troubles.append(entry)
                continue
            for part in self._parts(entry, troubles):
                try:
                    items += (self._sourced(item, part, known) for item in self.items(part, known))
                except UnreadableError as error:
                    troubles.append(FileProblem(part.place, str(error)))
        if not items:
            said = f": {troubles[0].place}: {troubles[0].message}" if troubles else ""
            raise UsageError(
                f"nothing in it can be read as {self.name}{said}",
                place=path,
                hint="name its format with --format; `redraft help agree with` lists them",
            )
        items = self.joined(items)
        fields = self.fields if not self.any_field else _fields(items, self.fields)
        return Dataset(f"{self.title} ({one_line(Path(path).name)})", fields, tuple(items), tuple(troubles))

    def _parts(self, entry: FileEntry, troubles: list[FileProblem]) -> Iterator[FileEntry]:
        if self.parts is None:
            yield entry
            return
        try:
            yield from self.parts(entry)
        except UnreadableError as error:
            troubles.append(FileProblem(entry.place, str(error)))

    def _beside(self, path: str) -> str | None:
        place = Path(path).expanduser()
        names = (place.with_name(name.format(stem=place.name.partition(".")[0])) for name in self.beside)
        return next((str(one) for one in names if one != place and one.is_file()), None)

    def _sourced(self, item: HumanItem, entry: FileEntry, known: Library) -> HumanItem:
        source = item.source or known.get(item.document, "")
        if not source and self.needs_documents:
            raise UnreadableError(
                f"the document {one_line(item.document, 60)!r} is missing: name a file or a folder with --documents"
            )
        place = f"{entry.place} {item.id}".strip()
        return replace(item, id=place, source=source, document=item.document or content_id(source)[:12])


def _fields(items: Sequence[HumanItem], known: Mapping[str, HumanField]) -> Mapping[str, HumanField]:
    """Return the fields of the items; one that only has 0 and 1 says whether a summary is right."""
    names = dict.fromkeys(name for item in items for name in item.people)
    found: dict[str, HumanField] = {}
    for name in names:
        values = {item.people[name] for item in items if name in item.people}
        found[name] = known.get(name) or HumanField(1.0 if values <= {0.0, 1.0} else None)
    return found


_TRUTH = HumanField(1.0, ("consistency", "faithfulness"))
_COVERED = ("coverage", "keyfact_recall")
_KOH = {"consistency": _TRUTH, "relevance": HumanField(None, _COVERED)}


def _likert(best: float, fields: Sequence[str]) -> Mapping[str, HumanField]:
    """Return the fields of ratings up to `best`."""
    metrics = {"accuracy": _TRUTH.metrics, "coverage": _COVERED, "coherence": ("booookscore",)}
    return {name: HumanField(best, metrics.get(name, ())) for name in fields}


_LIKERT_7, _LIKERT_5 = _likert(7.0, AXES), _likert(5.0, RATED)


def _parts(entry: FileEntry) -> Iterator[FileEntry]:
    """Yield the summaries of a file; whether every sentence is listed is decided from the whole file."""
    summaries = as_object(entry.content)
    sentences = [one for each in summaries.values() if isinstance(each, Mapping) for one in each.values()]
    every = lists_every_sentence(sentences)
    for name, one in summaries.items():
        yield FileEntry(str(name), {"said": one or {}, "name": name, "every": every})


def _items(entry: FileEntry, known: Library) -> list[HumanItem]:
    said, name = as_object(entry.content["said"]), str(entry.content["name"])
    summary = text_at(said, "summary") if MARKS in said else known.get(name, "")
    if not summary:
        raise UnreadableError("its summary is missing: name the file of summaries with --documents")
    statements = statements_of(summary)
    counted = sentences_of(statements)
    sentences = tuple(statement.sentence for statement in counted)
    if MARKS in said:
        labels: tuple[bool | None, ...] = tuple(
            not sentence for sentence in marked_sentences(sentences, _annotated(name, said))
        )
    else:
        verdicts = match_to_sentences(_annotated(name, said), statements, every=entry.content["every"]).verdicts
        labels = tuple(
            not verdicts[statement.id].confusing if statement.id in verdicts else None for statement in counted
        )
    clear = [label for label in labels if label is not None]
    if not clear:
        raise UnreadableError("no sentence of the summary is judged")
    people = {"coherence": sum(clear) / len(clear)}
    return [HumanItem("", name, summary, people, source=summary, sentences=sentences, labels=labels)]


def _annotated(name: str, said: Mapping[str, Any]) -> tuple[Annotated, ...]:
    try:
        return entries_of(name, name, said)
    except UsageError as error:
        raise UnreadableError(error.message) from error


_LABELS = {"yes": 1.0, "no": 0.0, "partialsupport": 0.5, "partial support": 0.5}


def _parts_of_datasets(entry: FileEntry) -> Iterator[FileEntry]:
    for book, models in as_object(entry.content).items():
        for model, one in as_object(models).items():
            for named, claim in as_object(as_object(one).get("claims")).items():
                yield FileEntry(f"{book}, {model}, claim {named}", {"book": book, "model": model, "said": claim})


def _items_of_datasets(entry: FileEntry, _: Library) -> list[HumanItem]:
    said = as_object(entry.content["said"])
    label = optional_text(said, "label").strip().lower()
    if label not in _LABELS:
        raise UnreadableError(f"the label is {label!r:.40}, which means neither true nor false")
    book, model = str(entry.content["book"]), str(entry.content["model"])
    return [HumanItem("", book, text_at(said, "claim"), {"faithful": _LABELS[label]}, system=model)]


_NOTHING_WRONG = "NoE"


def _items_of_frank(entry: FileEntry, known: Library) -> list[HumanItem]:
    content = as_object(entry.content)
    sentences, votes, kinds = _sentences(content)
    labels = tuple(2 * sum(row) > len(row) for row in votes)
    people = {"factuality": sum(labels) / len(labels)} if labels else {"factuality": number_at(content, "Factuality")}
    document, model = text_at(content, "hash"), optional_text(content, "model_name")
    summary = " ".join(sentences) or known.get(summary_id(document, model), "") or text_at(content, "summary")
    article = content.get("article")
    return [
        HumanItem(
            model,
            document,
            summary,
            people,
            source=article if isinstance(article, str) else "",
            system=model,
            sentences=sentences,
            labels=labels,
            votes=votes,
            kinds=kinds,
        )
    ]


def _sentences(content: Mapping[str, Any]) -> tuple[tuple[str, ...], list[list[bool]], tuple[str, ...]]:
    """Return the sentences, whether each person finds each one right, and the kinds of errors that anyone found."""
    if "summary_sentences_annotations" not in content:
        return (), [], ()
    sentences = tuple(str(one) for one in list_at(content, "summary_sentences"))
    said = [_said(as_object(one)) for one in list_at(content, "summary_sentences_annotations")]
    if len(said) != len(sentences) or not all(said):
        raise UnreadableError(f"there are annotations for {len(said)} sentences, and {len(sentences)} sentences")
    kinds = {kind for people in said for errors in people for kind in errors} - {_NOTHING_WRONG}
    return sentences, [[_NOTHING_WRONG in errors for errors in people] for people in said], tuple(sorted(kinds))


def _said(people: Mapping[str, Any]) -> list[Sequence[str]]:
    return [[str(kind) for kind in errors] for errors in people.values() if isinstance(errors, list)]


def _items_of_qags(entry: FileEntry, _: Library) -> list[HumanItem]:
    content = as_object(entry.content)
    article = text_at(content, "article")
    parts = [as_object(one) for one in list_at(content, "summary_sentences")]
    if not parts:
        raise UnreadableError("the summary has no sentence")
    votes = [[_is_yes(vote) for vote in list_at(part, "responses")] for part in parts]
    if not all(votes):
        raise UnreadableError("one of the sentences has no vote")
    labels = tuple(2 * sum(vote) > len(vote) for vote in votes)
    sentences = tuple(text_at(part, "sentence") for part in parts)
    people = {"consistency": fmean(labels)}
    return [
        HumanItem("", "", " ".join(sentences), people, source=article, sentences=sentences, labels=labels, votes=votes)
    ]


def _is_yes(vote: object) -> bool:
    said = as_object(vote).get("response")
    if said not in ("yes", "no"):
        raise UnreadableError(f"a response is {said!r:.40} where yes or no was expected")
    return bool(said == "yes")


def _items_of_rank19(entry: FileEntry, known: Library) -> list[HumanItem]:
    content = as_object(entry.content)
    article = optional_text(content, "article_id")
    # The release has no articles: without them the common source sentence is the document.
    source = known.get(article) or text_at(content, "article", "article_sent")
    return [
        HumanItem(name, article, text_at(content, f"{name}_sent"), people, source=source, pair=entry.place)
        for name, people in (("correct", {"consistency": 1.0}), ("incorrect", {"consistency": 0.0}))
    ]


def _items_of_realsumm(entry: FileEntry, _: Library) -> list[HumanItem]:
    content = as_object(entry.content)
    document, source = optional_text(content, "id", "doc_id"), text_at(content, "document", "source")
    items: list[HumanItem] = []
    for one in map(as_object, list_at(content, "summaries")):
        system, people = optional_text(one, "system"), {"recall": number_at(one, "litepyramid_recall")}
        items.append(HumanItem(system, document, text_at(one, "summary"), people, source=source, system=system))
    return items


def _items_of_summedits(entry: FileEntry, known: Library) -> list[HumanItem]:
    content = as_object(entry.content)
    name = "consistent" if "consistent" in content else "label"
    if (label := number_at(content, name)) not in (0, 1):
        raise UnreadableError(f"`{name}` is {label:g} where 0 or 1 was expected")
    # The release contains the text itself; with separate documents there is an id instead.
    document = text_at(content, "doc", "document")
    source = "" if document in known else document
    kinds = content.get("edit_types")
    return [
        HumanItem(
            optional_text(content, "id"),
            content_id(source)[:12] if source and "doc" in content else document,
            text_at(content, "summary"),
            {"consistency": label},
            source=source if "doc" in content else "",
            kinds=tuple(map(str, kinds)) if isinstance(kinds, list) else (),
        )
    ]


_FIELDS = {
    "consistency": HumanField(5.0, _TRUTH.metrics),
    "relevance": HumanField(5.0, _COVERED),
    "coherence": HumanField(5.0, ("booookscore",)),
    "fluency": HumanField(5.0),
}


def _items_of_summeval(entry: FileEntry, _: Library) -> list[HumanItem]:
    content = as_object(entry.content)
    experts = content.get("expert_annotations")
    ratings = [as_object(one) for one in (experts if isinstance(experts, list) else [content.get("human") or {}])]
    people = {
        field: fmean(known)
        for field in _FIELDS
        if (known := [value for rating in ratings if (value := number(rating.get(field))) is not None])
    }
    if not people:
        raise UnreadableError("there are no ratings (`human` or `expert_annotations`)")
    votes = [[number(rating.get("consistency")) for rating in ratings]] if len(ratings) > 1 else []
    document = text_at(content, "id")
    summary = text_at(content, "summary", "decoded")
    source = content.get("text") or content.get("source") or ""
    return [
        HumanItem(
            optional_text(content, "system", "model_id"),
            document,
            summary,
            people,
            source=source if isinstance(source, str) else "",
            system=optional_text(content, "system", "model_id"),
            votes=votes,
        )
    ]


_FIELDS_OF_UNISUMEVAL = {
    "faithfulness_score": _TRUTH,
    "completeness": HumanField(None, _COVERED),
    "conciseness": HumanField(None),
}


def _items_of_unisumeval(entry: FileEntry, _: Library) -> list[HumanItem]:
    content = as_object(entry.content)
    people = {field: value for field in _FIELDS_OF_UNISUMEVAL if (value := number(content.get(field))) is not None}
    sentences, labels = _sentences_of_unisumeval(content)
    if not people:
        raise UnreadableError(f"there is none of {', '.join(_FIELDS_OF_UNISUMEVAL)}")
    source = next((content[name] for name in ("transcript", "document", "input") if content.get(name)), "")
    kinds = content.get("fact_verification_error_type")
    return [
        HumanItem(
            optional_text(content, "model"),
            text_at(content, "doc_id", "uid"),
            text_at(content, "summary"),
            people,
            source=source if isinstance(source, str) else "",
            system=optional_text(content, "model"),
            sentences=sentences,
            labels=labels,
            kinds=tuple(sorted({str(kind) for kind in kinds} - {"no error"})) if isinstance(kinds, list) else (),
        )
    ]


def _sentences_of_unisumeval(content: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[bool | None, ...]]:
    """Return the sentences and whether people find them right; the file's labels mark invented ones."""
    sentences, labels = content.get("sentences"), content.get("fact_verification_label")
    if not isinstance(sentences, list) or not isinstance(labels, list):
        return (), ()
    if len(sentences) != len(labels):
        raise UnreadableError(f"there are {len(labels)} labels for {len(sentences)} sentences")
    made_up = [number(label) for label in labels]
    return tuple(map(str, sentences)), tuple(None if one is None else not one for one in made_up)


LABEL = "label"


def _items_of_catalog(entry: FileEntry, known: Library) -> list[HumanItem]:
    content = as_object(entry.content)
    text = text_at(content, "text", "source", "document")
    here = "" if text in known else text
    document = optional_text(content, "document_id") or (content_id(here)[:12] if here else text)
    sentences, labels = _sentences_of_catalog(content)
    said = [label for label in labels if label is not None]
    people = _figures(content) or ({LABEL: fmean(said)} if said else {})
    if not people:
        raise UnreadableError("it has no annotations: no `human` with numbers, no `label`, no `sentences`")
    return [
        HumanItem(
            optional_text(content, "id"),
            document,
            " ".join(sentences) or text_at(content, "summary", "claim"),
            people,
            source=here,
            system=optional_text(content, "system", "model"),
            sentences=sentences,
            labels=labels,
            pair=optional_text(content, "pair"),
        )
    ]


def _figures(content: Mapping[str, Any]) -> dict[str, float]:
    """Return the scores under `human` by field, or the single label."""
    named = content.get("human")
    said = named if isinstance(named, Mapping) else {LABEL: content.get(LABEL, named)}
    return {str(name): found for name, value in said.items() if (found := number(value)) is not None}


def _sentences_of_catalog(content: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[bool | None, ...]]:
    if "sentences" not in content:
        return (), ()
    parts = [as_object(one) for one in list_at(content, "sentences")]
    if not parts:
        raise UnreadableError("the summary has no sentence")
    labels = [number(part.get(LABEL)) for part in parts]
    if any(label not in (None, 0.0, 1.0) for label in labels):
        raise UnreadableError("a sentence's `label` is neither true nor false")
    found = tuple(None if label is None else bool(label) for label in labels)
    return tuple(text_at(part, "sentence", "text") for part in parts), found


FORMATS: Mapping[str, Format] = {
    one.name: one
    for one in (
        Format("qags", "QAGS", {"consistency": _TRUTH}, _items_of_qags),
        Format("summeval", "SummEval", _FIELDS, _items_of_summeval, beside=("documents.jsonl",)),
        Format("realsumm", "REALSumm", {"recall": HumanField(None, _COVERED)}, _items_of_realsumm),
        Format(
            "summedits", "SummEdits", {"consistency": _TRUTH}, _items_of_summedits, beside=("{stem}.documents.jsonl",)
        ),
        Format("rank19", "Rank19", {"consistency": _TRUTH}, _items_of_rank19),
        Format("frank", "FRANK", {"factuality": _TRUTH}, _items_of_frank, beside=("benchmark_data.json",)),
        Format("fables", "FABLES", {"faithful": _TRUTH}, _items_of_datasets, parts=_parts_of_datasets),
        Format(
            "booookscore",
            "BooookScore",
            {"coherence": HumanField(1.0, ("booookscore",))},
            _items,
            parts=_parts,
            needs_documents=False,
        ),
        *(
            Format(name, title, _KOH, items_of_koh(name), beside=("documents.jsonl",))
            for name, title in (("arxiv", "Arxiv"), ("govreport", "GovReport"))
        ),
        Format("tldr", "TL;DR", _LIKERT_7, items_of_tldr, joined=merged),
        Format("patentsumeval", "PatentSumEval", _LIKERT_5, items_of_patents),
        Format("unisumeval", "UniSumEval", _FIELDS_OF_UNISUMEVAL, _items_of_unisumeval, beside=("documents.jsonl",)),
        Format(
            "jsonl",
            "own annotations",
            {LABEL: HumanField(1.0)},
            _items_of_catalog,
            beside=("documents.jsonl", "{stem}.documents.jsonl"),
            any_field=True,
        ),
    )
}
