"""Files in the formats in which the papers' data are released, with content made of the sample: no real annotations."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from redraft.text.sentences import sentences
from tests.support import SAMPLE

_DOCUMENTS = 2
_SYSTEMS = 3
"""Each system tells one sentence less than the one before, and has one more wrong number."""
_NUMBER = re.compile(r"\b\d+\b")


def write_files(folder: Path) -> None:
    """Write all files that the commands of docs/papers.md read, under the names that they have there."""
    texts = {f"d{n}": _text(n) for n in range(_DOCUMENTS)}
    _lines(folder / "summeval" / "documents.jsonl", [{"id": name, "source": text} for name, text in texts.items()])
    _lines(folder / "summeval" / "summaries.jsonl", [
        {"id": name, "system": f"s{wrong}", "summary": _summary(text, wrong),
         "human": {"coherence": 4, "consistency": 5 - wrong, "fluency": 5, "relevance": 5 - wrong}}
        for name, text in texts.items() for wrong in range(_SYSTEMS)
    ])  # fmt: skip
    _lines(folder / "qags" / "mturk_cnndm.jsonl", [
        {"article": text, "summary_sentences": [_voted(_summary(text, n % 2), "no" if n % 2 else "yes")]}
        for n, text in enumerate(texts.values())
    ])  # fmt: skip
    _lines(folder / "realsumm" / "documents.jsonl", [
        {"id": name, "document": text, "reference": _summary(text, 0), "key_facts": [_summary(text, 2)], "summaries": [
            {"system": f"s{wrong}", "summary": _summary(text, wrong), "litepyramid_recall": 1 - wrong / _SYSTEMS}
            for wrong in range(_SYSTEMS)
        ]}
        for name, text in texts.items()
    ])  # fmt: skip
    _booookscore(folder)
    _lines(folder / "dev.jsonl", [story(n) for n in range(_DOCUMENTS)])


def story(number: int) -> dict[str, Any]:
    """A story as SQuALITY has it, with a plot that four people have told."""
    text = _text(number)
    responses = [{"worker_id": f"{n}", "uid": f"{number}{n}", "response_text": _summary(text, n)} for n in range(4)]
    question = {"question_text": "What is the plot of the story?", "question_number": 1, "responses": responses}
    return {"metadata": {"passage_id": f"{number}"}, "document": text, "questions": [question]}


def _text(number: int) -> str:
    """The beginning of a third of the sample."""
    paragraphs = [paragraph for paragraph in SAMPLE.read_text("utf-8").split("\n\n") if len(paragraph) > 80]
    size = len(paragraphs) // 3
    return "\n\n".join(paragraphs[number * size :][:12])


def _summary(text: str, wrong: int) -> str:
    """The first sentences of a text that have a number, some of the numbers being wrong."""
    chosen = [sentence for span in sentences(text) if _NUMBER.search(sentence := text[span.start : span.end])][
        : 6 - wrong
    ]
    return " ".join(_NUMBER.sub("99", sentence) if n < wrong else sentence for n, sentence in enumerate(chosen))


def _voted(sentence: str, verdict: str) -> dict[str, Any]:
    return {"sentence": sentence, "responses": [{"worker_id": n, "response": verdict} for n in range(3)]}


def _booookscore(folder: Path) -> None:
    """Ten books: of the first people mark the third sentence, and the model the third and fourth."""
    books = {f"island-{n}.epub": [f"The keeper number {n} is called {name}." for name in "ABCD"] for n in range(10)}
    (first, *_) = books
    third, fourth = books[first][2:]
    mark = {"id": "a", "span": third, "questions": "Who?", "labels": ["entity omission"]}
    marked = {
        name: {"summary": " ".join(sentences_of_book), "singles": [mark] if name == first else [], "relations": []}
        for name, sentences_of_book in books.items()
    }
    types = {"questions": "Who is he?", "types": ["entity omission"]}
    confused = {name: dict.fromkeys((third, fourth), types) if name == first else {} for name in books}
    for strategy in ("hier", "inc"):
        _json(folder / "human" / f"summary-gpt4-4096-{strategy}.json", marked)
    for name in ("gpt4-4096-hier", "gpt4-4096-inc", "gpt4-2048-hier", "gpt4-2048-inc"):
        more = ["So it is told."] if name.endswith("inc") else []
        summary_of = {book: " ".join(sentences_of_book + more) for book, sentences_of_book in books.items()}
        _json(folder / "summaries" / f"{name}-cleaned.json", summary_of)
        _json(folder / "annotations" / f"{name}.json", confused)
    answers = [{"source": source, "anno": mark, "agreement": "Agree"} for source in ("human", "model")]
    _json(folder / "human" / "annotations-gpt4-4096-inc.json", {first: {"summary": "", "annotations": answers}})
    aspects = ("preference", "detail", "structure", "logic")
    result = [{"from_name": aspect, "value": {"choices": ["Summary 1"]}} for aspect in aspects]
    sentences_of_book = " ".join(books[first])
    data = {"book": first, "summary_1": f"{sentences_of_book} So it is told.", "summary_2": sentences_of_book}
    for n in range(1, 5):
        place = folder / "human" / "qualitative_comparison" / f"annotator{n}.json"
        _json(place, [{"data": data, "annotations": [{"result": result}]}])
    _json(
        folder / "references.json", {book: " ".join(sentences_of_book[:2]) for book, sentences_of_book in books.items()}
    )


def _lines(path: Path, entries: Sequence[Any]) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(map(json.dumps, entries)), "utf-8")


def _json(path: Path, content: Any) -> None:
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text(json.dumps(content), "utf-8")
