"""What goes into the store comes out of it: documents, runs, calls, what is known of models, and agreements."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from redraft.document import Mark
from redraft.domain import Chunk, Document, Gap, Span, Totals, Usage, content_id, record_json
from redraft.errors import RunError, StoreError
from redraft.report.tables import Table
from redraft.settings import Limits
from redraft.store.calls import CachedAnswer, ModelCapabilities
from redraft.store.runs import new_run_id
from redraft.store.store import Store
from tests.store.support import AGREEMENT, STANDING, TEXT, add_call, call, document, dump, piece, plain, run


def test_a_document_comes_back_as_it_was(store: Store) -> None:
    store.documents.add(document())
    assert store.documents.get(document().id) == document()
    assert store.documents.title(document().id) == "A title"
    assert store.documents.text(document().id) == TEXT
    with pytest.raises(StoreError):
        store.documents.get("none")
    with pytest.raises(StoreError):
        store.documents.text("none")
    assert store.documents.title("none") == ""


def test_what_stands_where_in_a_document_and_what_was_left_out_comes_back(store: Store) -> None:
    marks = (Mark(0, 3, "page", "iv", "#page=4"), Mark(1, 2, "note", "1"))
    told = replace(document(), marks=marks, notes=("left out: 3 scripts",), language="de-AT")
    store.documents.add(told)
    assert store.documents.get(told.id) == told
    outline = store.documents.outline(told.id)
    assert (outline.marks, outline.notes, outline.language, outline.text) == (marks, told.notes, "de-AT", "")
    store.documents.add(document())
    assert store.documents.get(told.id).marks == (), "the last reading counts"


def test_a_book_is_stored_once(store: Store) -> None:
    for title in ("one", "another"):
        store.documents.add(document(title=title))
        assert store.documents.add_text(TEXT) == document().id
    assert store.documents.title(document().id) == "another"
    store.runs.add(run())
    store.runs.keep_draft("abc123", TEXT, 9, "merge")
    add_call(store, call(reply=TEXT, run="abc123"))
    rows = dump(store.address)
    assert rows["texts"] == [(document().id, TEXT)]
    assert len(rows["documents"]) == 1


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text())
def test_every_text_comes_back(store: Store, text: str) -> None:
    assert store.documents.text(store.documents.add_text(text)) == text


def test_half_a_surrogate_pair_becomes_a_question_mark(store: Store) -> None:
    text, kept = "caf\udce9 \ud800!", "caf? ?!"
    store.documents.add(Document(content_id(text), f"title {text}", text, source=f"{text}.txt"))
    found = store.documents.get(content_id(text))
    assert (found.text, found.title, found.source) == (kept, f"title {kept}", f"{kept}.txt")
    assert len(found.text) == len(text)
    store.runs.add(run(text=text))
    add_call(store, call(reply=text, error=text, label=text))
    store.runs.add_gap("abc123", Gap(0, "refused", text))
    assert store.runs.gaps("abc123")[0].reason == kept
    answer = store.calls.find("key", None)
    assert answer is not None
    assert answer.text == kept


def test_chunks_belong_to_a_tokenizer_and_a_budget(store: Store) -> None:
    chunks = [Chunk(n, Span(n * 10, n * 10 + 10), n) for n in range(12)]
    store.documents.add(document())
    store.documents.add_chunks(document().id, "estimate", 64, chunks)
    store.documents.add_chunks(document().id, "estimate", 64, [replace(chunks[0], tokens=99)])
    assert store.documents.chunks(document().id, "estimate", 64) == chunks
    assert store.documents.chunks(document().id, "estimate", 65) == []
    assert store.documents.chunks(document().id, "o200k", 64) == []


def test_a_run_comes_back_as_it_was(store: Store) -> None:
    store.documents.add(document())
    store.runs.add(run())
    found = store.runs.get("abc")
    assert found.created == found.updated != ""
    assert replace(found, created="", updated="") == run()
    error = {"code": "budget", "message": "é", "hint": "x"}
    store.runs.set_status("abc123", "stopped", stop_reason="budget", error=error)
    store.runs.set_limits("abc123", Limits(max_cost=2))
    store.runs.add_seconds("abc123", 1.5)
    store.runs.add_seconds("abc123", 2)
    found = store.runs.get("abc123")
    assert (found.status, found.stop_reason, found.error) == ("stopped", "budget", error)
    assert (found.limits, found.seconds) == (Limits(max_cost=2), 3.5)
    store.runs.set_status("abc123", "done")
    assert (store.runs.get("abc123").stop_reason, store.runs.get("abc123").error) == (None, None)


def test_a_run_is_found_by_the_beginning_of_its_name(store: Store) -> None:
    store.documents.add(document())
    for name in ("abc123", "abd123", "x_y"):
        store.runs.add(run(name))
    assert store.runs.get("abc").id == "abc123"
    assert store.runs.get("x_").id == "x_y"
    assert [found.id for found in store.runs.latest(2)] == ["x_y", "abd123"]
    for key in ("", "ab", "a_c", "%", "abc1234", "\\"):
        with pytest.raises(RunError):
            store.runs.get(key)
    assert len({new_run_id() for _ in range(200)}) == 200


def test_a_draft_is_the_result_of_its_run(store: Store) -> None:
    store.documents.add(document())
    store.runs.add(run())
    first = store.runs.keep_draft("abc123", "One.", 1, "partial", ("3 of 9",))
    assert store.runs.keep_draft("abc123", "One.", 1, "partial", ("4 of 9",)) == first
    assert store.runs.draft(first).notes == ("4 of 9",)
    second = store.runs.keep_draft("abc123", TEXT, 7, "merge", round_=2)
    found = store.runs.draft(second)
    assert store.runs.get("abc123").draft == second != first
    assert (found.run, found.round, found.node, found.text, found.words) == ("abc123", 2, "merge", TEXT, 7)
    with pytest.raises(RunError):
        store.runs.draft("none")


def test_a_piece_replaces_the_one_in_its_place_and_a_gap_can_be_closed(store: Store) -> None:
    store.documents.add(document())
    store.runs.add(run())
    gap = Gap(1, "refused", "would not")
    store.runs.add_gap("abc123", replace(gap, reason="at first"))
    store.runs.add_gap("abc123", gap)
    assert store.runs.gaps("abc123") == [gap]
    top = piece(0, TEXT, level=1, last_chunk=1, attempts=7, flaw="too long")
    for one in (top, piece(1, "old"), piece(1, "new"), piece(0)):
        store.runs.add_piece("abc123", one)
    assert store.runs.pieces("abc123") == [piece(0), piece(1, "new"), top]
    store.runs.close_gap("abc123", gap.chunk)
    assert store.runs.gaps("abc123") == []
    assert store.runs.pieces("other") == []


def test_an_answered_call_is_found_and_a_failed_one_is_not(store: Store) -> None:
    for outcome in ("unreadable", "cancelled", "transient", "rate_limited", "refused"):
        add_call(store, call(outcome=outcome))
    assert store.calls.find("key", None) is None
    add_call(store, call(reply=TEXT))
    assert store.calls.find("key", None) == CachedAnswer(6, TEXT, "stop", Usage(5, 4, 3, 2), repaired=True)
    add_call(store, call(reply="second", usage=Usage(reported=False)))
    answer = store.calls.find("key", None)
    assert answer is not None
    assert answer.text == TEXT
    assert dump(store.address)["calls"][-1][6] == "duplicate"


def test_totals_count_what_was_read_and_what_was_taken_from_others(store: Store) -> None:
    store.documents.add(document())
    for name in ("one", "two"):
        store.runs.add(run(name))
    assert store.calls.totals("one") == Totals()
    add_call(store, call("a", run="one"))
    add_call(store, call("b", "unreadable", run="one"))
    add_call(store, call("c", "cancelled", run="one", reply=None, usage=Usage(), cost_usd=None))
    for outcome in ("rate_limited", "unsupported"):
        add_call(store, call("d", outcome, run="one", reply=None, usage=Usage(), cost_usd=None))
    add_call(store, call("e", run="two"))
    store.runs.add_seconds("one", 4)
    for _ in range(2):
        store.calls.find("e", "one")
        store.calls.find("a", "one")
    assert store.calls.totals("one") == Totals(3, 1, 10, 6, 8, 0.5, 4)
    add_call(store, call("f", run="one", cost_usd=None))
    assert store.calls.totals("one").cost_usd is None


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
        assert database.execute("SELECT count(*) FROM knowledge").fetchone() == (1,)


def test_a_name_that_is_no_unicode_is_a_name(place: Path | str) -> None:
    with Store(place) as store:
        store.capabilities.learn_mode("model \ud800", "plain")
        assert store.capabilities.known("model \ud800").mode == "plain"


def test_a_database_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    with Store(tmp_path / "redraft.db") as store:
        store._connection.raw.execute("PRAGMA query_only = ON")
        with pytest.raises(StoreError):
            store.capabilities.learn_mode(ONE, "plain")


def test_a_figure_holds_for_one_standing_and_takes_the_place_of_an_earlier_one(place: Path | str) -> None:
    with Store(place) as store:
        store.agreements.keep(AGREEMENT)
        again = replace(AGREEMENT, value=0.4, n=200, measured="2026-11-23")
        store.agreements.keep(again)
        other = replace(AGREEMENT, level="systems")
        store.agreements.keep(other)
        assert store.agreements.of(STANDING) == [other, again]
        changes = ({"judge": "x"}, {"metric": "x"}, {"version": 4}, {"prompts": ""}, {"terms": ""})
        assert [store.agreements.of(replace(STANDING, **one)) for one in changes] == [[]] * 5  # type: ignore[arg-type]


def test_what_is_no_unicode_and_a_day_that_is_left_out(place: Path | str) -> None:
    with Store(place) as store:
        strange = replace(STANDING, judge="model \ud800")
        store.agreements.keep(replace(AGREEMENT, standing=strange, measured=""))
        [found] = store.agreements.of(strange)
        assert len(found.measured) == len("2026-11-22")


def test_a_record_as_json_has_aliases_and_computed_values_and_no_excluded_fields() -> None:
    table = record_json(Table("t", "T", "", "", ("name", "n"), (("one", 1),)))
    assert (table["columns"], table["rows"]) == (["name", "n"], [{"name": "one", "n": 1}])
    assert "standing" not in record_json(AGREEMENT)
