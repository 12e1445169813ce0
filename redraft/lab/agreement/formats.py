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
    AnnotatedSentence,
    entries_of,
    lists_every_sentence,
    marked_sentences,
    match_to_sentences,
)
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

Items = Callable[[FileEntry, Library], Sequence[HumanItem]]
"""Returns the items of an entry; raises `UnreadableError` with the reason if it cannot."""
Labels = tuple[bool | None, ...]
_FAITHFUL, _COVERED = ("consistency", "faithfulness"), ("coverage", "keyfact_recall")
_TRUTH = HumanField(1.0, _FAITHFUL)
LABEL = "label"


@dataclass(frozen=True, slots=True)
class Format:
    """An annotation format, and the title under which its figures are reported."""

    name: str
    title: str
    fields: Mapping[str, HumanField]
    items: Items
    parts: Callable[[FileEntry], Iterator[FileEntry]] | None = None
    """Splits an entry into smaller ones, where the whole file is one object."""
    beside: tuple[str, ...] = ()
    """The names of files with the documents in the same folder; `{stem}` is the stem of the annotated file."""
    any_field: bool = False
    """Whether fields other than the known ones are allowed."""
    needs_documents: bool = True
    joined: Callable[[Sequence[HumanItem]], list[HumanItem]] = list
    """Brings the items together that several entries are about."""

    def read(self, path: str, documents: str | None = None) -> Dataset:
        """Return all items of a file with their documents; what cannot be read is reported and skipped."""
        place = Path(path).expanduser()
        near = (place.with_name(name.format(stem=place.name.partition(".")[0])) for name in self.beside)
        known = read_texts_by_id(documents or next((str(one) for one in near if one != place and one.is_file()), None))
        items: list[HumanItem] = []
        troubles: list[FileProblem] = []
        for entry in read_entries(path):
            if isinstance(entry, FileProblem):
                troubles.append(entry)
                continue
            part = entry
            try:
                for part in self.parts(entry) if self.parts else (entry,):
                    items += self._read_part(part, known, troubles)
            except UnreadableError as error:
                troubles.append(FileProblem(part.place, str(error)))
        if not items:
            first = f": {troubles[0].place}: {troubles[0].message}" if troubles else ""
            raise UsageError(
                f"nothing in it can be read as {self.name}{first}",
                place=path,
                hint="name its format with --format; `redraft help agree with` lists them",
            )
        items = self.joined(items)
        fields = _fields_of(items, self.fields) if self.any_field else self.fields
        return Dataset(f"{self.title} ({one_line(Path(path).name)})", fields, tuple(items), tuple(troubles))

    def _read_part(self, part: FileEntry, known: Library, troubles: list[FileProblem]) -> list[HumanItem]:
        try:
            return [self._with_source(item, part, known) for item in self.items(part, known)]
        except UnreadableError as error:
            troubles.append(FileProblem(part.place, str(error)))
            return []

    def _with_source(self, item: HumanItem, entry: FileEntry, known: Library) -> HumanItem:
        source = item.source or known.get(item.document, "")
        if not source and self.needs_documents:
            raise UnreadableError(
                f"the document {one_line(item.document, 60)!r} is missing: name a file or a folder with --documents"
            )
        place = f"{entry.place} {item.id}".strip()
        return replace(item, id=place, source=source, document=item.document or content_id(source)[:12])


def _fields_of(items: Sequence[HumanItem], known: Mapping[str, HumanField]) -> Mapping[str, HumanField]:
    """Return the fields of the items; one that only has 0 and 1 says whether a summary is right."""
    names = dict.fromkeys(name for item in items for name in item.people)
    values = {name: {item.people[name] for item in items if name in item.people} for name in names}
    return {name: known.get(name) or HumanField(1.0 if values[name] <= {0.0, 1.0} else None) for name in names}


@dataclass(frozen=True, slots=True)
class Columns:
    """A reader of entries that have a summary with figures; a column may be within others, as in `summary.text`."""

    document: str
    summary: tuple[str, ...]
    figures: Mapping[str, str]
    """The columns of people's figures by field."""
    source: tuple[str, ...] = ()
    """The columns of the document, if the entry has it."""
    system: tuple[str, ...] = ()
    only: tuple[str, str] | None = None
    """A column and its value in the entries that belong to the set."""
    prefix: str = ""
    """A beginning of the ids that the documents' own file may lack."""
    lacking: str = ""
    """What is said of an entry without figures."""

    def __call__(self, entry: FileEntry, known: Library) -> list[HumanItem]:
        """Return the item of an entry."""
        content = _flat(as_object(entry.content))
        if self.only and text_at(content, self.only[0]).casefold() != self.only[1]:
            return []
        people = figures_of(content, self.figures)
        if not people:
            raise UnreadableError(self.lacking or f"there is none of {', '.join(self.figures)}")
        document, system = optional_text(content, self.document), optional_text(content, *self.system)
        source = text_at(content, *self.source) if self.source else known.get(document.removeprefix(self.prefix), "")
        summary = text_at(content, *self.summary)
        return [HumanItem(system, document, summary, people, source=source, system=system)]


def _flat(content: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Return an object with its inner objects' values by their path."""
    flat: dict[str, Any] = {}
    for name, value in content.items():
        flat |= _flat(value, f"{before}{name}.") if isinstance(value, Mapping) else {f"{before}{name}": value}
    return flat


def figures_of(content: Mapping[str, Any], columns: Mapping[str, str]) -> dict[str, float]:
    """Return the figures that an entry has, by field."""
    return {field: value for field, column in columns.items() if (value := number(content.get(column))) is not None}


def _merged(items: Sequence[HumanItem]) -> list[HumanItem]:
    """Return each summary once, with the means of all its ratings, and the ratings themselves."""
    of_summary: dict[tuple[str, str, str], list[HumanItem]] = {}
    for item in items:
        of_summary.setdefault((item.document, item.system, item.summary), []).append(item)
    merged: list[HumanItem] = []
    for same in of_summary.values():
        fields = dict.fromkeys(field for item in same for field in item.people)
        ratings = {field: [item.people[field] for item in same if field in item.people] for field in fields}
        means = {field: fmean(values) for field, values in ratings.items()}
        merged.append(replace(same[0], people=means, votes=[values for values in ratings.values() if len(values) > 1]))
    return merged


_PATENT_SYSTEMS = {
    "summary_1": "hupd-t5-base",
    "summary_2": "xl_net",
    "summary_3": "bart",
    "summary_4": "long-t5-tglobal-base-16384-book-summary-2",
    "summary_5": "gpt35",
}
"""The columns with the summaries of a system, by how the columns of its ratings end, such as `accuracy_summary_1`."""
AXES = ("accuracy", "coverage", "coherence", "overall")
RATED = ("accuracy", "coverage", "clarity", "overall")


def _patents(entry: FileEntry, _: Library) -> list[HumanItem]:
    """Return the rated summaries of a patent, a row of the released sheet; its abstract and claims were summarized."""
    content = as_object(entry.content)
    source = "\n\n".join(text_at(content, name) for name in ("abstract", "claims"))
    items: list[HumanItem] = []
    for column, system in _PATENT_SYSTEMS.items():
        people = figures_of(content, {name: f"{name}_{column}" for name in RATED})
        if people and content.get(system):
            items.append(HumanItem(system, "", text_at(content, system), people, source=source, system=system))
    if not items:
        raise UnreadableError("it has no summary with ratings")
    return items


def _likert(best: float, fields: Sequence[str]) -> Mapping[str, HumanField]:
    """Return the fields of ratings up to `best`."""
    metrics = {"accuracy": _FAITHFUL, "coverage": _COVERED, "coherence": ("booookscore",), "consistency": _FAITHFUL}
    metrics["relevance"] = _COVERED
    return {name: HumanField(best, metrics.get(name, ())) for name in fields}


def _book_parts(entry: FileEntry) -> Iterator[FileEntry]:
    """Yield the summaries of a file; whether every sentence is listed is decided from the whole file."""
    summaries = as_object(entry.content)
    sentences = [one for each in summaries.values() if isinstance(each, Mapping) for one in each.values()]
    every = lists_every_sentence(sentences)
    for name, one in summaries.items():
        yield FileEntry(str(name), {"entries": one or {}, "name": name, "every": every})


def _books(entry: FileEntry, known: Library) -> list[HumanItem]:
    content, name = as_object(entry.content["entries"]), str(entry.content["name"])
    summary = text_at(content, "summary") if MARKS in content else known.get(name, "")
    if not summary:
        raise UnreadableError("its summary is missing: name the file of summaries with --documents")
    statements = statements_of(summary)
    counted = sentences_of(statements)
    sentences = tuple(statement.sentence for statement in counted)
    if MARKS in content:
        labels: Labels = tuple(not marked for marked in marked_sentences(sentences, _annotated(name, content)))
    else:
        verdicts = match_to_sentences(_annotated(name, content), statements, every=entry.content["every"]).verdicts
        labels = tuple(not verdicts[one.id].confusing if one.id in verdicts else None for one in counted)
    clear = [label for label in labels if label is not None]
    if not clear:
        raise UnreadableError("no sentence of the summary is judged")
    people = {"coherence": fmean(clear)}
    return [HumanItem("", name, summary, people, source=summary, sentences=sentences, labels=labels)]


def _annotated(name: str, content: Mapping[str, Any]) -> tuple[AnnotatedSentence, ...]:
    try:
        return entries_of(name, name, content)
    except UsageError as error:
        raise UnreadableError(error.message) from error


_FABLES_LABELS = {"yes": 1.0, "no": 0.0, "partialsupport": 0.5, "partial support": 0.5}


def _fables_parts(entry: FileEntry) -> Iterator[FileEntry]:
    for book, models in as_object(entry.content).items():
        for model, one in as_object(models).items():
            for number_, claim in as_object(as_object(one).get("claims")).items():
                content = {**as_object(claim), "book": book, "model": model}
                yield FileEntry(f"{book}, {model}, claim {number_}", content)


def _fables(entry: FileEntry, _: Library) -> list[HumanItem]:
    label = optional_text(entry.content, "label").strip().lower()
    if label not in _FABLES_LABELS:
        raise UnreadableError(f"the label is {label!r:.40}, which means neither true nor false")
    people, model = {"faithful": _FABLES_LABELS[label]}, str(entry.content["model"])
    return [HumanItem("", str(entry.content["book"]), text_at(entry.content, "claim"), people, system=model)]


_NOTHING_WRONG = "NoE"


def _frank(entry: FileEntry, known: Library) -> list[HumanItem]:
    content = as_object(entry.content)
    sentences, votes = _frank_sentences(content)
    labels = tuple(2 * sum(row) > len(row) for row in votes)
    people = {"factuality": fmean(labels) if labels else number_at(content, "Factuality")}
    document, model = text_at(content, "hash"), optional_text(content, "model_name")
    summary = " ".join(sentences) or known.get(summary_id(document, model), "") or text_at(content, "summary")
    source = str(content.get("article") or "")
    found = HumanItem(model, document, summary, people, source=source, system=model)
    return [replace(found, sentences=sentences, labels=labels, votes=votes)]


def _frank_sentences(content: Mapping[str, Any]) -> tuple[tuple[str, ...], list[list[bool]]]:
    """Return the sentences, and whether each person finds each one right."""
    if "summary_sentences_annotations" not in content:
        return (), []
    sentences = tuple(str(one) for one in list_at(content, "summary_sentences"))
    annotations = [as_object(one) for one in list_at(content, "summary_sentences_annotations")]
    votes = [[_NOTHING_WRONG in kinds for kinds in one.values() if isinstance(kinds, list)] for one in annotations]
    if len(votes) != len(sentences) or not all(votes):
        raise UnreadableError(f"there are annotations for {len(votes)} sentences, and {len(sentences)} sentences")
    return sentences, votes


def _qags(entry: FileEntry, _: Library) -> list[HumanItem]:
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
    found = HumanItem("", "", " ".join(sentences), {"consistency": fmean(labels)}, source=article)
    return [replace(found, sentences=sentences, labels=labels, votes=votes)]


def _is_yes(vote: object) -> bool:
    response = as_object(vote).get("response")
    if response not in ("yes", "no"):
        raise UnreadableError(f"a response is {response!r:.40} where yes or no was expected")
    return bool(response == "yes")


def _realsumm(entry: FileEntry, _: Library) -> list[HumanItem]:
    content = as_object(entry.content)
    document, source = optional_text(content, "id", "doc_id"), text_at(content, "document", "source")
    items: list[HumanItem] = []
    for one in map(as_object, list_at(content, "summaries")):
        system, people = optional_text(one, "system"), {"recall": number_at(one, "litepyramid_recall")}
        items.append(HumanItem(system, document, text_at(one, "summary"), people, source=source, system=system))
    return items


def _summedits(entry: FileEntry, known: Library) -> list[HumanItem]:
    content = as_object(entry.content)
    name = "consistent" if "consistent" in content else LABEL
    if (label := number_at(content, name)) not in (0, 1):
        raise UnreadableError(f"`{name}` is {label:g} where 0 or 1 was expected")
    # The release contains the text itself; with separate documents there is an id instead.
    document = text_at(content, "doc", "document")
    source = document if "doc" in content and document not in known else ""
    people, summary = {"consistency": label}, text_at(content, "summary")
    return [HumanItem(optional_text(content, "id"), "" if source else document, summary, people, source=source)]


_SUMMEVAL = ("consistency", "relevance", "coherence", "fluency")


def _summeval(entry: FileEntry, _: Library) -> list[HumanItem]:
    content = as_object(entry.content)
    experts = content.get("expert_annotations")
    ratings = [as_object(one) for one in (experts if isinstance(experts, list) else [content.get("human") or {}])]
    values = {name: [value for one in ratings if (value := number(one.get(name))) is not None] for name in _SUMMEVAL}
    people = {name: fmean(known) for name, known in values.items() if known}
    if not people:
        raise UnreadableError("there are no ratings (`human` or `expert_annotations`)")
    votes = [[number(rating.get("consistency")) for rating in ratings]] if len(ratings) > 1 else []
    source, system = content.get("text") or content.get("source"), optional_text(content, "system", "model_id")
    summary = text_at(content, "summary", "decoded")
    found = HumanItem(system, text_at(content, "id"), summary, people, system=system, votes=votes)
    return [replace(found, source=source if isinstance(source, str) else "")]


_UNISUMEVAL = {
    "faithfulness_score": _TRUTH,
    "completeness": HumanField(None, _COVERED),
    "conciseness": HumanField(None),
}


def _unisumeval(entry: FileEntry, _: Library) -> list[HumanItem]:
    content = as_object(entry.content)
    people = figures_of(content, {name: name for name in _UNISUMEVAL})
    sentences, labels = _unisumeval_sentences(content)
    if not people:
        raise UnreadableError(f"there is none of {', '.join(_UNISUMEVAL)}")
    system, summary = optional_text(content, "model"), text_at(content, "summary")
    source = next((content[name] for name in ("transcript", "document", "input") if content.get(name)), "")
    found = HumanItem(system, text_at(content, "doc_id", "uid"), summary, people, system=system)
    return [replace(found, source=source if isinstance(source, str) else "", sentences=sentences, labels=labels)]


def _unisumeval_sentences(content: Mapping[str, Any]) -> tuple[tuple[str, ...], Labels]:
    """Return the sentences and whether people find them right; the file's labels mark invented ones."""
    sentences, made_up = content.get("sentences"), content.get("fact_verification_label")
    if not isinstance(sentences, list) or not isinstance(made_up, list):
        return (), ()
    if len(sentences) != len(made_up):
        raise UnreadableError(f"there are {len(made_up)} labels for {len(sentences)} sentences")
    marks = [number(mark) for mark in made_up]
    return tuple(map(str, sentences)), tuple(None if mark is None else not mark for mark in marks)


def _own(entry: FileEntry, known: Library) -> list[HumanItem]:
    content = as_object(entry.content)
    text = text_at(content, "text", "source", "document")
    here = "" if text in known else text
    document = optional_text(content, "document_id") or (content_id(here)[:12] if here else text)
    sentences, labels = _own_sentences(content)
    named = content.get("human")
    figures = named if isinstance(named, Mapping) else {LABEL: content.get(LABEL, named)}
    people = {str(name): value for name, one in figures.items() if (value := number(one)) is not None}
    if not people and (clear := [label for label in labels if label is not None]):
        people = {LABEL: fmean(clear)}
    if not people:
        raise UnreadableError("it has no annotations: no `human` with numbers, no `label`, no `sentences`")
    summary, name = " ".join(sentences) or text_at(content, "summary", "claim"), optional_text(content, "id")
    found = HumanItem(name, document, summary, people, source=here, system=optional_text(content, "system", "model"))
    return [replace(found, sentences=sentences, labels=labels)]


def _own_sentences(content: Mapping[str, Any]) -> tuple[tuple[str, ...], Labels]:
    if "sentences" not in content:
        return (), ()
    parts = [as_object(one) for one in list_at(content, "sentences")]
    if not parts:
        raise UnreadableError("the summary has no sentence")
    labels = [number(part.get(LABEL)) for part in parts]
    if any(label not in (None, 0.0, 1.0) for label in labels):
        raise UnreadableError("a sentence's `label` is neither true nor false")
    texts = tuple(text_at(part, "sentence", "text") for part in parts)
    return texts, tuple(None if label is None else bool(label) for label in labels)


def _koh(name: str) -> Columns:
    """Return the columns of one of the two sets that one file holds."""
    return Columns(
        "dataset_id",
        ("model_summary",),
        {"consistency": "factual_consistency", "relevance": "relevance"},
        system=("model_type",),
        only=("dataset", name),
        prefix="ID_",
        lacking="it has neither `factual_consistency` nor `relevance`",
    )


_TLDR = Columns(
    "info.id",
    ("summary.text",),
    {axis: f"summary.axes.{axis}" for axis in AXES},
    source=("info.post", "info.article"),
    system=("summary.policy",),
)
_KOH = {"consistency": _TRUTH, "relevance": HumanField(None, _COVERED)}
_CONSISTENT, _COHERENT = {"consistency": _TRUTH}, {"coherence": HumanField(1.0, ("booookscore",))}
_DOCUMENTS = ("documents.jsonl",)
_STEM_DOCUMENTS = ("{stem}.documents.jsonl",)
_LISTED = (
    Format("qags", "QAGS", _CONSISTENT, _qags),
    Format("summeval", "SummEval", _likert(5.0, _SUMMEVAL), _summeval, beside=_DOCUMENTS),
    Format("realsumm", "REALSumm", {"recall": HumanField(None, _COVERED)}, _realsumm),
    Format("summedits", "SummEdits", _CONSISTENT, _summedits, beside=_STEM_DOCUMENTS),
    Format("frank", "FRANK", {"factuality": _TRUTH}, _frank, beside=("benchmark_data.json",)),
    Format("fables", "FABLES", {"faithful": _TRUTH}, _fables, parts=_fables_parts),
    Format("booookscore", "BooookScore", _COHERENT, _books, parts=_book_parts, needs_documents=False),
    Format("arxiv", "Arxiv", _KOH, _koh("arxiv"), beside=_DOCUMENTS),
    Format("govreport", "GovReport", _KOH, _koh("govreport"), beside=_DOCUMENTS),
    Format("tldr", "TL;DR", _likert(7.0, AXES), _TLDR, joined=_merged),
    Format("patentsumeval", "PatentSumEval", _likert(5.0, RATED), _patents),
    Format("unisumeval", "UniSumEval", _UNISUMEVAL, _unisumeval, beside=_DOCUMENTS),
    Format(
        *("jsonl", "own annotations", {LABEL: HumanField(1.0)}, _own),
        beside=(*_DOCUMENTS, *_STEM_DOCUMENTS),
        any_field=True,
    ),
)
FORMATS: Mapping[str, Format] = {one.name: one for one in _LISTED}
