"""The formats of annotations: a file of a few items of each, what is wrong with single lines, and the real files."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from redraft.errors import UsageError
from redraft.lab.agreement.formats import FORMATS, find_format
from redraft.lab.agreement.people import Dataset

DATA = Path(os.environ.get("REDRAFT_DATA", Path(__file__).parents[3].parent / "shared" / "data"))
ARTICLE = "The ship left the harbour on Monday. Nobody saw it again."


def lines(folder: Path, entries: Sequence[object], name: str = "people.jsonl") -> str:
    """A file of these lines; what is no JSON yet becomes it."""
    path = folder / name
    path.write_text(
        "".join(f"{entry if isinstance(entry, str) else json.dumps(entry)}\n" for entry in entries), "utf-8"
    )
    return str(path)


def whole(folder: Path, content: object, name: str = "people.json") -> str:
    (folder / name).write_text(json.dumps(content), "utf-8")
    return str(folder / name)


def figures(dataset: Dataset) -> list[dict[str, float]]:
    return [dict(item.people) for item in dataset.items]


def _voted(sentence: str, *responses: str) -> dict[str, Any]:
    votes = [{"worker_id": n, "response": response} for n, response in enumerate(responses)]
    return {"sentence": sentence, "responses": votes}


def test_qags_has_the_majority_of_each_sentence(tmp_path: Path) -> None:
    sentences = [_voted("It left on Monday.", "yes", "yes", "no"), _voted("It sank.", "no", "yes", "no")]
    read = FORMATS["qags"].read(lines(tmp_path, [{"article": ARTICLE, "summary_sentences": sentences}]))
    [item] = read.items
    assert (item.people, item.labels, item.source) == ({"consistency": 0.5}, (True, False), ARTICLE)
    assert item.text == "It left on Monday.\n\nIt sank."
    assert item.votes == [[True, True, False], [False, True, False]]


def test_unreadable_lines_are_reported_and_skipped(tmp_path: Path) -> None:
    good = {"article": ARTICLE, "summary_sentences": [_voted("It left.", "yes", "yes", "no")]}
    strange = {"article": ARTICLE, "summary_sentences": [_voted("It left.", "maybe")]}
    entries = [
        "{broken",
        good,
        {"summary_sentences": []},
        "",
        "[1, 2]",
        strange,
        {**good, "summary_sentences": []},
        good,
    ]
    read = FORMATS["qags"].read(lines(tmp_path, entries))
    assert [item.id for item in read.items] == ["line 2", "line 8"]
    messages = dict(read.troubles)
    assert list(messages) == ["line 1", "line 3", "line 5", "line 6", "line 7"]
    assert "not JSON" in messages["line 1"]
    assert "the summary has no sentence" in messages["line 3"]
    assert "an object was expected" in messages["line 5"]
    assert "'maybe'" in messages["line 6"]
    assert "no sentence" in messages["line 7"]


def test_a_refusal_explains_the_first_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nothing in it can be read as qags: line 1: `summary_sentences` is no list"):
        FORMATS["qags"].read(lines(tmp_path, [{"text": "x"}]))
    with pytest.raises(UsageError, match="cannot be read"):
        FORMATS["qags"].read(str(tmp_path / "none.jsonl"))
    with pytest.raises(UsageError, match="no format 'xml'"):
        find_format("xml")


def test_summeval_in_both_layouts(tmp_path: Path) -> None:
    lines(tmp_path, [{"id": "d1", "source": ARTICLE}], "documents.jsonl")
    packed = {"id": "d1", "system": "M1", "summary": "It left.", "human": {"consistency": 4.5, "relevance": 2}}
    released = {
        "id": "d1",
        "model_id": "M2",
        "decoded": "It sank.",
        "expert_annotations": [{"consistency": 1, "relevance": 2}, {"consistency": 2, "relevance": 5}],
        "turker_annotations": [{"consistency": 5}],
    }
    read = FORMATS["summeval"].read(lines(tmp_path, [packed, released, {**packed, "human": {}}]))
    assert figures(read) == [{"consistency": 4.5, "relevance": 2.0}, {"consistency": 1.5, "relevance": 3.5}]
    assert [(item.system, item.source) for item in read.items] == [("M1", ARTICLE), ("M2", ARTICLE)]
    assert read.items[1].votes == [[1.0, 2.0]]
    assert [place for place, _ in read.troubles] == ["line 3"]
    assert [read.field(metric, None) for metric in ("consistency", "coverage", "booookscore")] == [
        "consistency",
        "relevance",
        "coherence",
    ]
    assert read.field("consistency", "fluency") == "fluency"
    with pytest.raises(UsageError, match="which of these position measures"):
        read.field("position", None)
    with pytest.raises(UsageError, match="not asked about 'style'"):
        read.field("consistency", "style")


def test_a_document_that_is_nowhere_is_reported(tmp_path: Path) -> None:
    entry = {"id": "d1", "system": "M1", "summary": "It left.", "human": {"consistency": 5}}
    path = lines(tmp_path, [entry, {**entry, "id": "d2"}])
    library = tmp_path / "texts"
    library.mkdir()
    (library / "d2.txt").write_text(ARTICLE, "utf-8")
    read = FORMATS["summeval"].read(path, str(library))
    assert [item.document for item in read.items] == ["d2"]
    assert "--documents" in read.troubles[0][1]
    assert len(FORMATS["summeval"].read(path, whole(tmp_path, {"d1": ARTICLE, "d2": ARTICLE}, "d.json")).items) == 2


def test_realsumm_has_a_line_for_each_document(tmp_path: Path) -> None:
    summaries = [
        {"system": name, "summary": f"{name}.", "litepyramid_recall": r} for name, r in (("a", 0.25), ("b", 1))
    ]
    read = FORMATS["realsumm"].read(lines(tmp_path, [{"id": "d", "document": ARTICLE, "summaries": summaries}]))
    assert figures(read) == [{"recall": 0.25}, {"recall": 1.0}]
    assert [(item.system, item.document) for item in read.items] == [("a", "d"), ("b", "d")]
    assert read.field("keyfact_recall", None) == "recall"


def test_summedits_in_both_layouts(tmp_path: Path) -> None:
    lines(tmp_path, [{"id": "d1", "text": ARTICLE}], "news.documents.jsonl")
    packed = {"id": "a", "document": "d1", "summary": "It left.", "consistent": 1, "edit_types": []}
    edited = {**packed, "id": "b", "consistent": 0, "edit_types": ["entity modification"]}
    read = FORMATS["summedits"].read(lines(tmp_path, [packed, edited, {**packed, "consistent": 0.5}], "news.jsonl"))
    assert figures(read) == [{"consistency": 1.0}, {"consistency": 0.0}]
    assert {item.source for item in read.items} == {ARTICLE}
    assert [place for place, _ in read.troubles] == ["line 3"]
    released = [{"id": "a", "doc": ARTICLE, "summary": "It left.", "label": 1, "edit_types": None}]
    [item] = FORMATS["summedits"].read(whole(tmp_path, released)).items
    assert (item.source, item.people) == (ARTICLE, {"consistency": 1.0})


SUMMARY = "The ship left the harbour on a Monday. The boy swam home. Nobody saw it again."


def test_booookscore_by_marks_and_by_annotated_sentences(tmp_path: Path) -> None:
    marks = {
        "summary": SUMMARY,
        "singles": [{"span": "The boy swam", "questions": "Which boy?", "labels": ["entity omission"]}],
        "relations": [{"span_a": "left the harbour", "span_b": "not in it", "shared_labels": ["discontinuity"]}],
    }
    read = FORMATS["booookscore"].read(whole(tmp_path, {"book": marks}))
    [item] = read.items
    assert (item.labels, item.people) == ((False, False, True), {"coherence": pytest.approx(1 / 3)})
    summaries = whole(tmp_path, {"book": SUMMARY, "other": SUMMARY}, "summaries.json")
    annotations = {
        "book": {"The boy swam home.": {"questions": "Which boy?", "types": ["entity omission"]}},
        "lost": {},
    }
    read = FORMATS["booookscore"].read(whole(tmp_path, annotations), summaries)
    assert [item.labels for item in read.items] == [(True, False, True)]
    with pytest.raises(UsageError, match="--documents"):
        FORMATS["booookscore"].read(whole(tmp_path, annotations))


def test_own_annotations_of_summaries_sentences_and_claims(tmp_path: Path) -> None:
    entries: list[dict[str, Any]] = [
        {"text": ARTICLE, "summary": "It left.", "human": {"relevance": 3, "note": "fine"}, "system": "a"},
        {
            "text": ARTICLE,
            "sentences": [{"sentence": "It left.", "label": True}, {"sentence": "It sank.", "label": None}],
        },
        {"text": ARTICLE, "claim": "It sank.", "label": 0},
        {"text": ARTICLE, "summary": "It left."},
        {"text": ARTICLE, "sentences": [{"sentence": "It left.", "label": 0.5}]},
    ]
    read = FORMATS["jsonl"].read(lines(tmp_path, entries))
    assert figures(read) == [{"relevance": 3.0}, {"label": 1.0}, {"label": 0.0}]
    assert read.items[1].labels == (True, None)
    assert len({item.document for item in read.items}) == 1
    assert [place for place, _ in read.troubles] == ["line 4", "line 5"]
    assert read.fields == {"relevance": 0.0, "label": 1.0}
    assert read.field("coverage", "relevance") == "relevance"


def test_some_items_are_those_of_some_documents(tmp_path: Path) -> None:
    entries = [{"text": f"{ARTICLE} {n % 10}", "summary": f"Summary {n}.", "label": 1} for n in range(40)]
    read = FORMATS["jsonl"].read(lines(tmp_path, entries))
    sample = read.sample(10)
    assert len(sample.items) == 10
    assert len({item.document for item in sample.items}) == 3
    assert read.sample(10) == sample
    assert read.sample(40) is read


REAL: list[tuple[str, str, str | None, int, int, str, float]] = [
    ("qags", "qags/mturk_cnndm.jsonl", None, 235, 235, "consistency", 0.744),
    ("summeval", "summeval/summaries.jsonl", None, 1600, 100, "consistency", 4.660),
    ("realsumm", "realsumm/documents.jsonl", None, 1080, 45, "recall", 0.472),
    ("summedits", "summedits/news.jsonl", None, 819, 25, "consistency", 0.392),
    ("booookscore", "booookscore/human/summary-gpt4-4096-hier.json", None, 100, 100, "coherence", 0.864),
    (
        "booookscore",
        "booookscore/annotations/gpt4-2048-hier.v2.json",
        "booookscore/summaries/gpt4-2048-hier-cleaned.json",
        100,
        100,
        "coherence",
        0.909,
    ),
]


@pytest.mark.slow
@pytest.mark.skipif(not DATA.is_dir(), reason="needs $REDRAFT_DATA")
@pytest.mark.parametrize(("name", "path", "documents", "items", "of", "field", "mean"), REAL)
def test_the_released_files_are_read_whole(
    name: str, path: str, documents: str | None, items: int, of: int, field: str, mean: float
) -> None:
    read = FORMATS[name].read(str(DATA / path), str(DATA / documents) if documents else None)
    assert (len(read.items), len({item.document for item in read.items}), read.troubles) == (items, of, ())
    assert fmean(item.people[field] for item in read.items) == pytest.approx(mean, abs=0.0005)
    assert all(item.source and item.text for item in read.items)


def test_arxiv_and_govreport_are_in_one_file(tmp_path: Path) -> None:
    entry = {"model_type": "BART (LEAD 1K)", "model_summary": "It left.", "relevance": 0.5, "factual_consistency": 0.75}
    both = [
        {"dataset": "arXiv", "dataset_id": "0704.1", **entry},
        {"dataset": "GovReport", "dataset_id": "ID_R45741", **entry},
        {"dataset": "GovReport", "dataset_id": "ID_GAO-1", **entry, "relevance": None, "factual_consistency": None},
    ]
    texts = [{"article_id": "0704.1", "article_text": ["The ship", "left ."]}, {"id": "R45741", "text": ARTICLE}]
    lines(tmp_path, texts, "documents.jsonl")
    path = whole(tmp_path, both)
    arxiv, reports = FORMATS["arxiv"].read(path), FORMATS["govreport"].read(path)
    assert [(item.source, item.system) for item in arxiv.items] == [("The ship left .", "BART (LEAD 1K)")]
    assert [item.source for item in reports.items] == [ARTICLE]
    assert figures(reports) == [{"consistency": 0.75, "relevance": 0.5}]
    assert [message for _, message in reports.troubles] == ["it has no annotations"]
    assert (arxiv.field("consistency", None), arxiv.field("coverage", None)) == (
        "consistency",
        "relevance",
    )


def test_tldr_has_the_mean_of_its_raters(tmp_path: Path) -> None:
    def rated(accuracy: int | None, coverage: int, text: str = "It left.") -> dict[str, Any]:
        axes = {"overall": 5, "accuracy": accuracy, "coverage": coverage, "coherence": 7}
        return {"info": {"id": "t3_a", "post": ARTICLE}, "summary": {"text": text, "policy": "sup4", "axes": axes}}

    read = FORMATS["tldr"].read(lines(tmp_path, [rated(7, 4), rated(4, 5), rated(None, 1, "It sank.")]))
    assert figures(read) == [
        {"accuracy": 5.5, "coverage": 4.5, "coherence": 7, "overall": 5},
        {"coverage": 1, "coherence": 7, "overall": 5},
    ]
    assert read.items[0].votes == [[7, 4], [4, 5], [7, 7], [5, 5]]
    assert (read.field("consistency", None), read.field("coverage", None)) == ("accuracy", "coverage")


def test_patents_have_columns_by_system_and_rating(tmp_path: Path) -> None:
    patent = {"abstract": "A lamp.", "claims": "1. A lamp that burns.", "bart": "It burns.", "gpt35": "It sinks."}
    rated = {"accuracy_summary_3": 4, "coverage_summary_3": 2.5, "clarity_summary_3": 5, "accuracy_summary_5": 1}
    entries = [
        {**patent, **rated, "xl_net": "It is unrated."},
        {**patent, "accuracy_summary_1": 5},
        {"claims": "Its abstract is missing."},
    ]
    read = FORMATS["patentsumeval"].read(lines(tmp_path, entries))
    assert figures(read) == [{"accuracy": 4, "coverage": 2.5, "clarity": 5}, {"accuracy": 1}]
    assert [(item.system, item.summary) for item in read.items] == [("bart", "It burns."), ("gpt35", "It sinks.")]
    assert {item.source for item in read.items} == {"A lamp.\n\n1. A lamp that burns."}
    assert len({item.document for item in read.items}) == 1
    assert [place for place, _ in read.troubles] == ["line 2", "line 3"]
    assert read.troubles[0][1] == "it has no summary with ratings"
