"""Summaries of absurd length and form: refused, or judged in bounded work."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from redraft.domain import Document
from redraft.errors import UsageError
from redraft.runs.prepare import LONGEST_SUMMARY, check_length
from tests.cli.local_command import LocalCommand
from tests.command import Command
from tests.support import SAMPLE

VOCABULARY = "keeper river salt ledger captain Ines Orla wrote the town grain boat letter and of in to had with"
WORDS = VOCABULARY.split()
DRAW = random.Random(1)


def drawn(count: int) -> list[str]:
    return [DRAW.choice(WORDS) for _ in range(count)]


# Each of 100,000 words or signs.
FORMS = {
    "one sentence": f"{' '.join(drawn(100_000))}.",
    "one word": "word" * 100_000,
    "sentences of one word": " ".join(f"{word.capitalize()}." for word in drawn(100_000)),
    "commas": f"The keeper {',' * 100_000} wrote.",
    "quotes": f"The keeper {'“' * 100_000} wrote {'”' * 100_000}.",
    "numbers": f"He counted {' '.join(str(DRAW.randrange(10**6)) for _ in range(100_000))}.",
    "names": f"{' '.join(f'N{DRAW.randrange(10**6)}' for _ in range(100_000))}.",
    "clauses": f"{', and '.join(drawn(100_000))}.",
}


def test_summary_may_exceed_a_short_document() -> None:
    document = Document("d", "t", "It rained. " * 10)
    check_length("x" * LONGEST_SUMMARY, document)
    with pytest.raises(UsageError, match="the summary has 60,001 characters, and its document 110"):
        check_length("x" * (LONGEST_SUMMARY + 1), document)
    check_length("x" * 100_000, Document("d", "t", "It rained. " * 10_000))


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [("evaluate",), ("evaluate", "--dry-run"), ("refine", "-g", "coverage=1"), ("compare", "--judge", "openai:m")],
)
def test_summary_longer_than_its_document_is_refused(tmp_path: Path, words: tuple[str, ...]) -> None:
    command = LocalCommand(tmp_path, "http://127.0.0.1:9/v1")
    (tmp_path / "short.md").write_text("Nora drank a cup of tea.")
    texts = ["short.md", "book.md"] if words[0] == "compare" else ["book.md"]
    (tmp_path / "book.md").write_text(SAMPLE.read_text("utf-8"))
    done = command.run(*words, "short.md", *texts, code=2)
    assert "name the document before the summary; a summary may have 60,000 characters here" in done.err


@pytest.mark.nightly
@pytest.mark.parametrize("form", FORMS)
def test_summary_of_any_form_is_judged_quickly(tmp_path: Path, form: str) -> None:
    """As long as its document, which is the most that is taken. A command that takes two minutes is ended."""
    document = SAMPLE.read_text("utf-8")
    (tmp_path / "summary.md").write_text(FORMS[form][: len(document) - 1_000])
    command = Command(tmp_path)
    for words in (("evaluate",), ("refine", "-g", "coverage=0.9")):
        done = command.run(*words, str(SAMPLE), "summary.md", "--json", code=(0, 3))
        assert done.json["usage"]["calls"] < 2_000
