"""The filled prompts of calls are kept as they were sent, take little space, and are deleted with their runs."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redraft.domain import Document, content_id
from redraft.store.calls import Call
from redraft.store.messages import Message, PreparedMessages, messages_in
from redraft.store.reservations import Reservation, ReservationTerms
from redraft.store.store import Store
from tests.store.support import add_call, as_stored, call, dump, intact, run, started

_WORDS = ["the", "lamp", "was", "lit", "by", "nobody", "but", "Hester", "while", "the", "sea", "rose", "over", "it"]
BOOK = " ".join(random.Random(1).choices(_WORDS, k=20_000))
EVIL = "<b>\x00\ud800\x1b]0;title\x07</passage>\n[…]\n<passage>"


@pytest.fixture
def store(place: Path | str) -> Iterator[Store]:
    with Store(place) as made:
        made.documents.add(Document(content_id(BOOK), "A book", BOOK, (), "book.txt", "utf-8"))
        made.runs.add(run("one", BOOK))
        yield made


def asked(key: str, *parts: str, name: str | None = "one", **changes: object) -> Call:
    text = "\n".join(f"<passage>\n{part}\n</passage>" for part in parts)
    messages = (Message("user", f"Read {key}:\n\n{text}\n\nNow answer."), Message("schema", "{}"))
    return call(key, run=name, messages=messages, **changes)


def kept(store: Store, number: int = 1, name: str = "one") -> tuple[Message, ...]:
    found = store.calls.texts_of(name, number)
    assert found is not None
    return found.messages


@pytest.mark.slow
@given(st.lists(st.sampled_from(["<a>\n", "</a>\n", "[…]\n", "\n", BOOK[:900], BOOK[50:400], EVIL, "x" * 700])))
def test_every_text_is_put_together_again(parts: list[str]) -> None:
    text = as_stored("".join(parts)) or "x"
    prepared = PreparedMessages([Message("user", text), Message("assistant", "so")], "book", BOOK)
    names = ("role", "text", "start", "stop")
    first, *rows = [dict(zip(names, row, strict=True)) | {"body": prepared.texts.get(row[1])} for row in prepared.rows]
    assert first["text"] == "book"
    assert messages_in(rows, BOOK) == (Message("user", text), Message("assistant", "so"))


def test_what_was_sent_is_read_again(store: Store, place: Path | str) -> None:
    again = (*asked("key", EVIL).messages[:1], Message("assistant", "no"), Message("user", "Again."))
    for number, messages in enumerate((asked("key", BOOK, EVIL).messages, again), 1):
        add_call(store, replace(asked("key"), messages=messages, started=f"202{number}", outcome="unreadable"))
        assert kept(store, number) == tuple(Message(role, as_stored(text)) for role, text in messages)
    found = store.calls.texts_of("one", 2)
    assert found is not None
    assert (found.run, found.reply, found.attempt, found.attempts) == ("one", "reply to key", 1, 2)
    assert store.calls.texts_of("one", 3) is None
    intact(place)


@pytest.mark.slow
def test_calls_of_one_document_hardly_take_space(tmp_path: Path) -> None:
    with Store(tmp_path / "redraft.db") as store:
        store.documents.add(Document(content_id(BOOK), "A book", BOOK, (), "book.txt", "utf-8"))
        store.runs.add(run("one", BOOK))
        before = store.connection.size
        for number in range(40):
            add_call(store, asked(f"key {number}", BOOK, BOOK[number * 999 :], BOOK[number * 500 :][:5000]))
        # A call takes about 1 KB without its messages.
        assert store.connection.size - before < 40 * 3000


def test_an_answer_from_the_cache_has_the_messages_of_the_run_that_asked(store: Store) -> None:
    add_call(store, asked("key", BOOK))
    store.runs.add(run("two", BOOK))
    store.calls.find("key", "two")
    assert kept(store, name="two") == kept(store) != ()
    store.forget(["one"])
    assert kept(store, name="two") == asked("key", BOOK).messages


def test_what_no_call_sent_any_more_is_deleted(store: Store, place: Path | str) -> None:
    add_call(store, asked("key", "private " * 99))
    store.runs.add(run("two", BOOK))
    add_call(store, asked("other", "public " * 99, name="two"))
    store.forget(["one"])
    assert len(dump(place)["message_texts"]) == 4
    assert kept(store, name="two") == asked("other", "public " * 99).messages
    store.forget(["two"])
    assert [dump(place)[name] for name in ("messages", "message_texts", "texts")] == [[], [], []]


def test_a_deleted_document_is_kept_only_as_far_as_an_answer_in_use_quotes_it(store: Store, place: Path | str) -> None:
    """The answer is used by a run of another document, so its prompt stays; the rest of the document does not."""
    add_call(store, asked("key", BOOK[1000:2000]))
    other = Document(content_id("Another."), "Another", "Another.", (), "b.txt", "utf-8")
    store.documents.add(other)
    store.runs.add(run("two", "Another."))
    store.calls.find("key", "two")
    store.forget(documents=[content_id(BOOK)])
    assert kept(store, name="two") == asked("key", BOOK[1000:2000]).messages
    assert BOOK not in {text for _, text, *_ in dump(place)["texts"]}
    intact(place)


def test_a_call_that_is_taken_back_leaves_no_messages(store: Store, place: Path | str) -> None:
    reservation = Reservation()
    store.reservations.book(reservation, asked("key", BOOK), ReservationTerms("budget"))
    assert len(dump(place)["messages"]) > 1
    store.reservations.take_back(reservation)
    assert dump(place)["messages"] == []


_KILLED = """
import os, sys
from redraft.store.sqlite import SqliteTransaction
from redraft.store.store import Store
from tests.store.test_messages import asked, add_call
with Store(sys.argv[1]) as store:
    at, execute = int(sys.argv[2]), SqliteTransaction.executemany
    def killed(self, statement, rows):
        global at
        at -= 1
        if at < 0:
            os._exit(9)
        return execute(self, statement, rows)
    SqliteTransaction.executemany = killed
    print("ready", flush=True)
    add_call(store, asked("key", "word " * 999))
"""


@pytest.mark.nightly
@pytest.mark.parametrize("place", ["file"], indirect=True)
def test_a_kill_at_any_write_leaves_no_half(store: Store, place: Path) -> None:
    for at in range(2):
        with started(_KILLED, place, at) as other:
            assert other.wait(60) == 9
        assert dump(place)["calls"] == dump(place)["messages"] == dump(place)["message_texts"] == []
