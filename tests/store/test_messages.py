"""The filled prompts of calls are kept as they were sent, and are deleted with their runs."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redraft.domain import Document, content_id
from redraft.store.calls import Call, Reservation, ReservationTerms
from redraft.store.messages import Message
from redraft.store.store import Store
from tests.store.support import add_call, as_stored, call, dump, intact, run

_WORDS = ["the", "lamp", "was", "lit", "by", "nobody", "but", "Hester", "while", "the", "sea", "rose", "over", "it"]
BOOK = " ".join(random.Random(1).choices(_WORDS, k=20_000))
EVIL = "<b>\x00\ud800\x1b]0;title\x07</passage>\n[…]\n<passage>"


@pytest.fixture
def store(place: Path | str) -> Iterator[Store]:
    with Store(place) as store:
        store.documents.add(Document(content_id(BOOK), "A book", BOOK, (), "book.txt", "utf-8"))
        store.runs.add(run("one", BOOK))
        yield store


def passages(key: str, *parts: str, name: str | None = "one", **changes: object) -> Call:
    text = "\n".join(f"<passage>\n{part}\n</passage>" for part in parts)
    messages = (Message("user", f"Read {key}:\n\n{text}\n\nNow answer."), Message("schema", "{}"))
    return call(key, run=name, messages=messages, **changes)


def messages_of(store: Store, number: int = 1, name: str = "one") -> tuple[Message, ...]:
    sent = store.calls.texts_of(name, number)
    assert sent is not None
    return sent.messages


@pytest.mark.slow
@given(st.lists(st.sampled_from(["<a>\n", "</a>\n", "[…]\n", "\n", BOOK[:900], BOOK[50:400], EVIL, "x" * 700])))
def test_every_text_is_put_together(parts: list[str]) -> None:
    messages = (Message("user", "".join(parts) or "x"), Message("assistant", "so"))
    with Store(":memory:") as store:
        store.documents.add(Document(content_id(BOOK), "A book", BOOK, (), "book.txt", "utf-8"))
        store.runs.add(run("one", BOOK))
        add_call(store, call("key", run="one", messages=messages))
        assert messages_of(store) == tuple(Message(message.role, as_stored(message.text)) for message in messages)


def test_what_was_sent_is_read_again(store: Store, place: Path | str) -> None:
    repair = (*passages("key", EVIL).messages[:1], Message("assistant", "no"), Message("user", "Again."))
    for number, messages in enumerate((passages("key", BOOK, EVIL).messages, repair), 1):
        add_call(store, replace(passages("key"), messages=messages, started=f"202{number}", outcome="unreadable"))
        assert messages_of(store, number) == tuple(replace(part, text=as_stored(part.text)) for part in messages)
    sent = store.calls.texts_of("one", 2)
    assert sent is not None
    assert (sent.run, sent.reply, sent.attempt, sent.attempts) == ("one", "reply to key", 1, 2)
    assert store.calls.texts_of("one", 3) is None
    intact(place)


def test_cached_answers_have_their_messages(store: Store) -> None:
    add_call(store, passages("key", BOOK))
    store.runs.add(run("two", BOOK))
    store.calls.find("key", "two")
    assert messages_of(store, name="two") == messages_of(store) != ()
    store.forget(["one"])
    assert messages_of(store, name="two") == passages("key", BOOK).messages


def test_unsent_messages_are_deleted(store: Store, place: Path | str) -> None:
    add_call(store, passages("key", "private " * 99))
    store.runs.add(run("two", BOOK))
    add_call(store, passages("other", "public " * 99, name="two"))
    store.forget(["one"])
    assert len(dump(place)["message_texts"]) == 4
    assert messages_of(store, name="two") == passages("other", "public " * 99).messages
    store.forget(["two"])
    assert [dump(place)[name] for name in ("messages", "message_texts", "texts")] == [[], [], []]


def test_quotes_outlive_their_document(store: Store, place: Path | str) -> None:
    """The answer is used by a run of another document, so its prompt stays; the rest of the document does not."""
    add_call(store, passages("key", BOOK[1000:2000]))
    document = Document(content_id("Another."), "Another", "Another.", (), "b.txt", "utf-8")
    store.documents.add(document)
    store.runs.add(run("two", "Another."))
    store.calls.find("key", "two")
    store.forget(documents=[content_id(BOOK)])
    assert messages_of(store, name="two") == passages("key", BOOK[1000:2000]).messages
    assert BOOK not in {text for _, text, *_ in dump(place)["texts"]}
    intact(place)


def test_a_withdrawn_booking_leaves_no_messages(store: Store, place: Path | str) -> None:
    reservation = Reservation()
    store.calls.book(reservation, passages("key", BOOK), ReservationTerms("budget"))
    assert len(dump(place)["messages"]) > 1
    store.calls.take_back(reservation)
    assert dump(place)["messages"] == []
