"""What was learned of a model's replies is there for the next run, each model's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from redraft.errors import StoreError
from redraft.store.calls import ModelCapabilities
from redraft.store.store import Store
from tests.store.support import plain

ONE, OTHER = "openai:small@http://127.0.0.1:8080/v1", "openai:small@http://127.0.0.1:9090/v1"


def test_what_is_learned_of_a_model_is_known_in_the_next_run_and_of_no_other_model(place: Path | str) -> None:
    with Store(place) as store:
        assert store.capabilities.known(ONE) == ModelCapabilities(None, None)
        store.capabilities.learn_mode(ONE, "json_schema")
        store.capabilities.learn_reasoning(OTHER, 300)
    with Store(place) as store:
        assert store.capabilities.known(ONE) == ModelCapabilities("json_schema", None)
        assert store.capabilities.known(OTHER) == ModelCapabilities(None, 300)


def test_the_last_mode_and_the_longest_thought_are_remembered(place: Path | str) -> None:
    with Store(place) as store:
        for mode in ("json_schema", "plain"):
            store.capabilities.learn_mode(ONE, mode)
        for tokens in (300, 4_000, 20):
            store.capabilities.learn_reasoning(ONE, tokens)
        assert store.capabilities.known(ONE) == ModelCapabilities("plain", 4_000)
    with plain(place) as database:
        assert database.execute("SELECT count(*) FROM capabilities").fetchone() == (1,)


def test_a_name_that_is_no_unicode_is_a_name(place: Path | str) -> None:
    with Store(place) as store:
        store.capabilities.learn_mode("model \ud800", "plain")
        assert store.capabilities.known("model \ud800").mode == "plain"


def test_a_database_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    with Store(tmp_path / "redraft.db") as store:
        store._connection.raw.execute("PRAGMA query_only = ON")
        with pytest.raises(StoreError):
            store.capabilities.learn_mode(ONE, "plain")
