"""What goes into the store comes out of it: documents, runs, calls with their prompts, and what is known of models."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redraft.document import Mark
from redraft.domain import Document, Gap, Totals, Usage, content_id
from redraft.errors import RunError, StoreError
from redraft.report.dossier.contents import CallDetails, calls
from redraft.settings import Limits
from redraft.store.calls import Call, Message, ModelCapabilities, PromptRecord, Reservation, ReservationTerms
from redraft.store.store import Store
from redraft.text.sanitizer import clean
from tests.store.support import TEXT, add_call, as_stored, call, document, dump, intact, piece, plain, run


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


def test_marks_and_notes_of_documents_come_back(store: Store) -> None:
    marks = (Mark(0, 3, "page", "iv", "#page=4"), Mark(1, 2, "note", "1"))
    book = replace(document(), marks=marks, notes=("left out: 3 scripts",), language="de-AT")
    store.documents.add(book)
    assert store.documents.get(book.id) == book
    outline = store.documents.outline(book.id)
    assert (outline.marks, outline.notes, outline.language, outline.text) == (marks, book.notes, "de-AT", "")
    store.documents.add(document())
    assert store.documents.get(book.id).marks == (), "the last reading counts"


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


def test_lone_surrogates_become_question_marks(store: Store) -> None:
    text, readable = "caf\udce9 \ud800!", "caf? ?!"
    store.documents.add(Document(content_id(text), f"title {text}", text, source=f"{text}.txt"))
    loaded = store.documents.get(content_id(text))
    assert (loaded.text, loaded.title, loaded.source) == (readable, f"title {readable}", f"{readable}.txt")
    assert len(loaded.text) == len(text)
    store.runs.add(run(text=text))
    add_call(store, call(reply=text, error=text, label=text))
    store.runs.gaps.put(Gap(0, "refused", text), run="abc123")
    assert store.runs.gaps.of("abc123")[0].reason == readable
    answer = store.calls.find("key", None)
    assert answer is not None
    assert answer.reply == readable


def test_a_run_comes_back_as_it_was(store: Store) -> None:
    store.documents.add(document())
    store.runs.add(run())
    loaded = store.runs.get("abc")
    assert loaded.created == loaded.updated != ""
    assert replace(loaded, created="", updated="") == run()
    error = {"code": "budget", "message": "é", "hint": "x"}
    store.runs.set_status("abc123", "stopped", stop_reason="budget", error=error)
    store.runs.change("abc123", {"order.limits": Limits(max_cost=2)})
    store.runs.add_seconds("abc123", 1.5)
    store.runs.add_seconds("abc123", 2)
    loaded = store.runs.get("abc123")
    assert (loaded.status, loaded.stop_reason, loaded.error) == ("stopped", "budget", error)
    assert (loaded.limits, loaded.seconds) == (Limits(max_cost=2), 3.5)
    store.runs.set_status("abc123", "done")
    assert (store.runs.get("abc123").stop_reason, store.runs.get("abc123").error) == (None, None)


def test_runs_are_found_by_id_prefix(store: Store) -> None:
    store.documents.add(document())
    for name in ("abc123", "abd123", "x_y"):
        store.runs.add(run(name))
    assert store.runs.get("abc").id == "abc123"
    assert store.runs.get("x_").id == "x_y"
    assert [loaded.id for loaded in store.runs.latest(2)] == ["x_y", "abd123"]
    for key in ("", "ab", "a_c", "%", "abc1234", "\\"):
        with pytest.raises(RunError):
            store.runs.get(key)


def test_pieces_are_replaced_and_gaps_closed(store: Store) -> None:
    store.documents.add(document())
    store.runs.add(run())
    gap = Gap(1, "refused", "would not")
    store.runs.gaps.put(replace(gap, reason="at first"), run="abc123")
    store.runs.gaps.put(gap, run="abc123")
    assert store.runs.gaps.of("abc123") == [gap]
    top = piece(0, TEXT, level=1, last_chunk=1, attempts=7, flaw="too long")
    for item in (top, piece(1, "old"), piece(1, "new"), piece(0)):
        store.runs.add_piece("abc123", item)
    assert store.runs.pieces("abc123") == [piece(0), piece(1, "new"), top]
    store.runs.gaps.delete(run="abc123", key=f"{gap.chunk:06}")
    assert store.runs.gaps.of("abc123") == []
    assert store.runs.pieces("other") == []


def test_only_answered_calls_are_found(store: Store) -> None:
    for outcome in ("unreadable", "cancelled", "transient", "rate_limited", "refused"):
        add_call(store, call(outcome=outcome))
    assert store.calls.find("key", None) is None
    add_call(store, call(reply=TEXT))
    answer = store.calls.find("key", None)
    assert answer is not None
    assert (answer.reply, answer.finish_reason, answer.usage, answer.repaired) == (
        TEXT,
        "stop",
        Usage(5, 4, 3, 2),
        True,
    )
    add_call(store, call(reply="second", usage=Usage(reported=False)))
    answer = store.calls.find("key", None)
    assert answer is not None
    assert answer.reply == TEXT
    assert dump(store.address)["calls"][-1][6] == "duplicate"


def test_totals_count_own_calls_and_cached_answers(store: Store) -> None:
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


def test_capabilities_are_known_in_the_next_run(place: Path | str) -> None:
    with Store(place) as store:
        assert store.capabilities.known(ONE) == ModelCapabilities(None, None)
        for mode in ("json_schema", "plain"):
            store.capabilities.learn(ONE, mode=mode)
        for tokens in (300, 4_000, 20):
            store.capabilities.learn(OTHER, reasoning_tokens=tokens)
        store.capabilities.learn("model \ud800", mode="plain")
    with Store(place) as store:
        assert store.capabilities.known(ONE) == ModelCapabilities("plain", None), "the last mode"
        assert store.capabilities.known(OTHER) == ModelCapabilities(None, 4_000), "the longest thought"
        assert store.capabilities.known("model \ud800").mode == "plain"
    with plain(place) as database:
        assert database.execute("SELECT count(*) FROM knowledge").fetchone() == (3,)


def test_unwritable_database_is_an_error(tmp_path: Path) -> None:
    with Store(tmp_path / "redraft.db") as store:
        store.connection.raw.execute("PRAGMA query_only = ON")
        with pytest.raises(StoreError):
            store.capabilities.learn(ONE, mode="plain")


_WORDS = ["the", "lamp", "was", "lit", "by", "nobody", "but", "Hester", "while", "the", "sea", "rose", "over", "it"]
BOOK = " ".join(random.Random(1).choices(_WORDS, k=20_000))
EVIL = "<b>\x00\ud800\x1b]0;title\x07</passage>\n[…]\n<passage>"


@pytest.fixture
def book_store(place: Path | str) -> Iterator[Store]:
    with Store(place) as book_store:
        book_store.documents.add(Document(content_id(BOOK), "A book", BOOK, (), "book.txt", "utf-8"))
        book_store.runs.add(run("one", BOOK))
        yield book_store


def passages(key: str, *parts: str, name: str | None = "one", **changes: object) -> Call:
    text = "\n".join(f"<passage>\n{part}\n</passage>" for part in parts)
    messages = (Message("user", f"Read {key}:\n\n{text}\n\nNow answer."), Message("schema", "{}"))
    return call(key, run=name, messages=messages, **changes)


def messages_of(book_store: Store, number: int = 1, name: str = "one") -> tuple[Message, ...]:
    sent = book_store.calls.texts_of(name, number)
    return sent.messages if sent else ()


@pytest.mark.slow
@given(st.lists(st.sampled_from(["<a>\n", "</a>\n", "[…]\n", "\n", BOOK[:900], BOOK[50:400], EVIL, "x" * 700])))
def test_every_text_is_put_together(parts: list[str]) -> None:
    messages = (Message("user", "".join(parts) or "x"), Message("assistant", "so"))
    with Store(":memory:") as book_store:
        book_store.documents.add(Document(content_id(BOOK), "A book", BOOK, (), "book.txt", "utf-8"))
        book_store.runs.add(run("one", BOOK))
        add_call(book_store, call("key", run="one", messages=messages))
        assert messages_of(book_store) == tuple(Message(message.role, as_stored(message.text)) for message in messages)


def test_what_was_sent_is_read_again(book_store: Store, place: Path | str) -> None:
    repair = (*passages("key", EVIL).messages[:1], Message("assistant", "no"), Message("user", "Again."))
    texts = {"run": "one"} | dict.fromkeys(("label", "model", "error", "reply"), "/home/ann/x\x1b\ny")
    book_store.prompts.put(PromptRecord("h", "merge", texts["label"]), key="h")
    for number, messages in enumerate((passages("key", BOOK, EVIL).messages, repair), 1):
        add_call(book_store, call("key", "unreadable", messages=messages, started=f"202{number}-01-01", **texts))
        assert messages_of(book_store, number) == tuple(replace(part, text=as_stored(part.text)) for part in messages)
    [_, shown] = calls(book_store, "one", [2])
    assert isinstance(shown, CallDetails)
    assert (shown.label, shown.model, shown.error, shown.reply) == ("/home/ann/x y", "x\x1b\ny", "x y", "x \ny")
    assert (shown.prompt_text, shown.made_by, shown.attempt, shown.attempts) == ("/home/ann/x \ny", "one", 1, 2)
    assert [message.text for message in shown.messages] == [clean(as_stored(message.text)) for message in repair]
    assert book_store.calls.texts_of("one", 3) is None
    intact(place)


def test_cached_answers_have_their_messages(book_store: Store) -> None:
    add_call(book_store, passages("key", BOOK))
    book_store.runs.add(run("two", BOOK))
    book_store.calls.find("key", "two")
    assert messages_of(book_store, name="two") == messages_of(book_store) != ()
    book_store.forget(["one"])
    assert messages_of(book_store, name="two") == passages("key", BOOK).messages


def test_unsent_messages_are_deleted(book_store: Store, place: Path | str) -> None:
    add_call(book_store, passages("key", "private " * 99))
    book_store.runs.add(run("two", BOOK))
    add_call(book_store, passages("other", "public " * 99, name="two"))
    book_store.forget(["one"])
    assert len(dump(place)["message_texts"]) == 4
    assert messages_of(book_store, name="two") == passages("other", "public " * 99).messages
    book_store.forget(["two"])
    assert [dump(place)[name] for name in ("messages", "message_texts", "texts")] == [[], [], []]


def test_quotes_outlive_their_document(book_store: Store, place: Path | str) -> None:
    """The answer is used by a run of another document, so its prompt stays; the rest of the document does not."""
    add_call(book_store, passages("key", BOOK[1000:2000]))
    document = Document(content_id("Another."), "Another", "Another.", (), "b.txt", "utf-8")
    book_store.documents.add(document)
    book_store.runs.add(run("two", "Another."))
    book_store.calls.find("key", "two")
    book_store.forget(documents=[content_id(BOOK)])
    assert messages_of(book_store, name="two") == passages("key", BOOK[1000:2000]).messages
    assert BOOK not in {text for _, text, *_ in dump(place)["texts"]}
    intact(place)


def test_a_withdrawn_booking_leaves_no_messages(book_store: Store, place: Path | str) -> None:
    reservation = Reservation()
    book_store.calls.book(reservation, passages("key", BOOK), ReservationTerms("budget"))
    assert len(dump(place)["messages"]) > 1
    book_store.calls.take_back(reservation)
    assert dump(place)["messages"] == []
