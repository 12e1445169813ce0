"""Answers to questions, compared by their meaning."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from redraft.domain import Span
from redraft.evaluators.similarity import similarity
from redraft.lab.experiments.qa import QaItem
from redraft.lab.experiments.questioner import Response
from redraft.lab.experiments.typed_questions import TypedQuestion
from redraft.text.vectors import load_encoder
from tests.cli.local_command import LocalCommand
from tests.text.test_embeddings import model_folder
from tests.valley import book

__all__ = ["model_folder"]


@pytest.mark.slow
def test_answers_to_questions_are_compared_by_meaning(tmp_path: Path, model_folder: Path) -> None:
    (tmp_path / "valley.txt").write_text(book(6).text, "utf-8")
    words = ("experiment", "qa", "valley.txt", "-m", "extractive", "--until", "5000", "--set", "similarity=cosine")
    done = LocalCommand(tmp_path).run(*words, "--set", f"embeddings={model_folder}", "--json", "-q")
    assert done.json["settings"]["similarity"] == "cosine"
    actual = [item["similarity"] for item in done.json["items"] if item["similarity"] is not None]
    assert actual == pytest.approx([1.0, 1.0, 1.0], abs=1e-3), "the built-in model answers in the words of the document"
    assert done.json["settings"]["embeddings"] == str(model_folder)


@pytest.mark.slow
def test_reworded_answers_are_nearer_than_others(model_folder: Path) -> None:
    question = TypedQuestion(1, "abstractive", "When does the pool open?", "The pool opens at nine.", "", Span(0, 40))
    item = QaItem("d", "The Pool", "m", 1, 100, question, "beginning", end=100)

    def similarity_to(answer: str) -> float:
        answered = replace(item, response=Response(answer=answer))
        return answered.with_similarities(similarity("cosine", load_encoder(str(model_folder)))).similarity or 0.0

    reworded, unrelated = map(similarity_to, ("It opens its doors at nine o'clock.", "Trains are late in winter."))
    assert 0.5 < reworded < 0.95
    assert unrelated < 0.3
