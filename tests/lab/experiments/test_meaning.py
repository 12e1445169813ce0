"""Answers to questions, compared by their meaning."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.inside import Inside
from tests.text.test_embeddings import model_folder
from tests.valley import book

__all__ = ["model_folder"]


@pytest.mark.slow
def test_answers_to_questions_are_compared_by_meaning(tmp_path: Path, model_folder: Path) -> None:
    (tmp_path / "valley.txt").write_text(book(6).text, "utf-8")
    words = ("experiment", "qa", "valley.txt", "-m", "extractive", "--until", "5000", "--set", "similarity=cosine")
    done = Inside(tmp_path).run(*words, "--set", f"embeddings={model_folder}", "--json", "-q")
    assert done.json["settings"]["similarity"] == "cosine"
    actual = [item["similarity"] for item in done.json["items"] if item["similarity"] is not None]
    assert actual
    assert actual == pytest.approx([1.0, 1.0, 1.0], abs=1e-3), "the built-in model answers in the words of the document"
    assert done.json["settings"]["embeddings"] == str(model_folder)
