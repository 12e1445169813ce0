"""One long document and several workers: those that have none of their own make calls of its run."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from redraft.batches.asked import Asked, pot_of
from redraft.batches.crew import Crew
from redraft.batches.processes import Processes
from redraft.batches.results import results
from redraft.batches.sources import put_in
from redraft.batches.terms import Terms
from redraft.batches.work import Worker, share_of
from redraft.errors import UsageError
from redraft.models.prices import PriceTable, price_table
from redraft.settings import Limits, Settings
from redraft.store.batches import Batch, Item
from redraft.store.errands import Errands
from redraft.store.store import Store
from tests.chatserver import ChatServer, Fault, Reply, Seen, asked, summarizer, text_of
from tests.judges import KEY
from tests.support import story

_PRICES = '[prices]\n"m" = { prompt = 100.0, completion = 100.0 }\n'
_SENTENCES = 120
_MOST_USD = 0.4
"""What no call of the book can cost more than."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "book.md").write_text(story(_SENTENCES).text, "utf-8")
    (tmp_path / "prices.toml").write_text(_PRICES, "utf-8")
    return tmp_path


@pytest.fixture
def store(folder: Path, place: Path | str) -> Iterator[Store]:
    with Store(place) as made:
        yield made


def opened(store: Store, folder: Path, url: str = "", name: str = "b", **limits: object) -> None:
    """A batch of all there is in the folder, whose workers together may have four requests under way."""
    model = {"model": "openai:m", "base_url": url, "context_tokens": 1024} if url else {}
    settings = Settings.model_validate({"words": 60, "chunk_tokens": 192, "strategy": "hierarchical", **model})
    bounds = Limits.model_validate({"concurrency": 4, **limits})
    store.batches.open(Batch(name, Asked(settings).to_json(), bounds.model_dump(mode="json")))
    put_in(store, name, [str(folder / "in")])


def worked(
    store: Store, workers: int, name: str = "b", prices: PriceTable | None = None, *, lease_seconds: float = 5.0
) -> None:
    """So many workers, each with an event loop and a connection of its own, as on as many machines."""
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            with Store(store.address) as own:
                limits = share_of(own.batches.get(name), number, workers)
                worker = Worker(own, name, f"w{number}", limits, prices, lease_seconds=lease_seconds)
                asyncio.run(worker.work())
        except BaseException as error:
            failures.append(error)
            raise

    threads = [threading.Thread(target=work, args=(number,), daemon=True) for number in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
        assert not thread.is_alive()
    assert not failures


def the_item(store: Store, name: str = "b") -> Item:
    (item,) = store.batches.items(name)
    return item


def errands(store: Store) -> list[tuple[str, str, str | None]]:
    rows = store.connection.rows("SELECT asker, state, helper FROM errands")
    return [(row["asker"], row["state"], row["helper"]) for row in rows]


def asked_once(server: ChatServer) -> bool:
    return len({asked(seen) for seen in server.seen}) == len(server.seen)


@pytest.mark.slow
def test_what_waits_for_a_place_before_others_could_have_made_it_is_told(store: Store, folder: Path) -> None:
    (folder / "in" / "book.md").write_text(story(12).text, "utf-8")
    with ChatServer(latency=lambda *_: 0.4) as server:
        opened(store, folder, server.base_url, concurrency=2)
        # The other worker, to which the second place falls, never comes.
        asyncio.run(Worker(store, "b", "w", share_of(store.batches.get("b"), 0, 2)).work())
        assert server.peak == 1
    waited = {row["label"]: row["waited"] for row in store.connection.rows("SELECT label, waited FROM calls")}
    # The first has waited, too: for what is loaded when the first tokens are counted.
    earlier, later = sorted([waited.pop("chunk 1/2"), waited.pop("chunk 2/2")])
    assert earlier + 0.3 < later
    assert max(waited.values()) < 0.3, "the rest has waited for nothing"


@pytest.mark.slow
def test_four_workers_make_the_calls_of_one_book_each_of_them_once(store: Store, folder: Path) -> None:
    with ChatServer() as server:
        opened(store, folder, server.base_url, name="alone")
        worked(store, 1, "alone")
        alone = len(server.seen)
    (first,) = results(store, "alone")
    with Store(folder / "anew.db") as anew, ChatServer(latency=lambda *_: 0.6) as server:
        opened(anew, folder, server.base_url)
        worked(anew, 4)
        assert server.peak == 4, "each worker had its one request under way"
        assert len(server.seen) == alone
        assert asked_once(server)
        (second,) = results(anew, "b")
        assert second["summary"] == first["summary"]
        run = the_item(anew).run
        assert run is not None
        assert {row["run"] for row in anew.connection.rows("SELECT run FROM calls")} == {run}
        assert anew.calls.totals(run).calls == alone
        assert anew.bookings.used(pot_of("b"))[0] == alone
        assert errands(anew) == []


@pytest.mark.slow
def test_the_database_of_a_team_will_do_as_well(store: Store, folder: Path) -> None:
    with ChatServer(latency=lambda *_: 0.6) as server:
        opened(store, folder, server.base_url, max_cost=1000.0)
        worked(store, 4, prices=price_table(str(folder / "prices.toml")))
        assert server.peak == 4
        assert asked_once(server)
    assert the_item(store).state == "done"
    assert errands(store) == []


@pytest.mark.slow
def test_while_documents_wait_nothing_is_put_out(store: Store, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(10):
        text = story(24).text.replace("keeper", f"keeper {number}")
        (folder / "in" / f"{number}.md").write_text(text, "utf-8")
    waiting: list[int] = []
    for name in ("put_out", "are_open", "standing"):
        known = getattr(Errands, name)

        def noted(self: Errands, *given: object, known: Callable[..., object] = known) -> object:
            waiting.append(store.batches.counts("b").waiting)
            return known(self, *given)

        monkeypatch.setattr(Errands, name, noted)
    with ChatServer(latency=lambda *_: 0.1) as server:
        opened(store, folder, server.base_url)
        worked(store, 2)
        assert asked_once(server)
    assert store.batches.counts("b").done == 11
    assert not any(waiting)
    assert waiting, "the last of them were made together"


@pytest.mark.slow
def test_who_works_alone_puts_nothing_out(store: Store, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Errands, "are_open", None)
    monkeypatch.setattr(Errands, "put_out", None)
    with ChatServer(latency=lambda *_: 0.05) as server:
        opened(store, folder, server.base_url)
        worked(store, 1)
    assert the_item(store).state == "done"


@pytest.mark.slow
def test_what_the_provider_refuses_of_one_chunk_is_asked_once_by_whoever(store: Store, folder: Path) -> None:
    write = summarizer()

    def script(seen: Seen) -> Reply:
        text = text_of(seen.messages[-1])
        refused = "at station 40." in text or "at station 90." in text
        return Fault("status", status=400, message="This prompt is not for us.") if refused else write(seen)

    with ChatServer(script, latency=lambda *_: 0.3) as server:
        opened(store, folder, server.base_url)
        worked(store, 4)
        assert server.peak > 1
        assert asked_once(server), "what one worker has heard no other asks"
    item = the_item(store)
    assert item.run is not None
    assert {gap.code for gap in store.runs.gaps(item.run)} == {"rejected"}
    assert (item.state, item.short) == ("done", True)


@pytest.mark.slow
def test_who_cannot_make_a_call_leaves_it_to_the_one_who_asked(
    store: Store, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[object] = []

    def without_key(*given: object, **more: object) -> None:
        tried.append(given)
        raise UsageError("there is no key on this machine")

    monkeypatch.setattr("redraft.batches.helping.hire", without_key)
    with ChatServer(latency=lambda *_: 0.2) as server:
        opened(store, folder, server.base_url)
        worked(store, 4)
        assert server.peak == 1
        assert asked_once(server)
    assert the_item(store).state == "done"
    assert 1 <= len(tried) <= 3, "each of the others has tried once, and then no more"
    assert errands(store) == []


@pytest.mark.slow
def test_a_limit_that_has_room_for_few_at_a_time_stops_nobody(store: Store, folder: Path) -> None:
    prices = price_table(str(folder / "prices.toml"))
    with ChatServer() as server, Store(folder / "first.db") as first:
        opened(first, folder, server.base_url, max_cost=1000.0)
        worked(first, 1, prices=prices)
        took = first.bookings.used(pot_of("b"))[1]
    assert took is not None
    # In the end there is room for the last call at its most, and before that not for eight at once.
    with ChatServer(latency=lambda *_: 0.2) as server:
        opened(store, folder, server.base_url, max_cost=took + _MOST_USD, concurrency=8)
        worked(store, 8, prices=prices)
        assert server.peak < 8
        assert asked_once(server)
    assert (the_item(store).state, store.batches.get("b").error) == ("done", None)


@pytest.mark.slow
def test_what_a_worker_took_and_was_never_heard_of_again_is_made_by_another(store: Store, folder: Path) -> None:
    taken = threading.Event()

    def ghost() -> None:
        with Store(store.address) as own:
            while not own.errands.take("b", "ghost", 2, 1.5):
                time.sleep(0.05)
            taken.set()

    threading.Thread(target=ghost, daemon=True).start()
    with ChatServer(latency=lambda *_: 0.3) as server:
        opened(store, folder, server.base_url)
        worked(store, 2)
        assert asked_once(server)
    assert taken.is_set()
    assert the_item(store).state == "done"
    assert errands(store) == []


def _killed_once(
    store: Store, folder: Path, server: ChatServer, chosen: Callable[[], str | None]
) -> tuple[str, Counter[str]]:
    """A batch of the book by four processes; the one that `chosen` names first is killed. Returns who that was, and how
    often each call was answered."""
    killed = ""
    with ExitStack() as stack:
        crew = stack.enter_context(Crew(store, Processes(), Terms(store.address, "b", "", 0, 4), lambda note: None))
        began = time.monotonic()
        while crew.mend():
            assert time.monotonic() - began < 120
            if not killed and (name := chosen()):
                (post,) = [one for one in crew._posts if one.terms.worker == name]
                place = post.hand.place()
                assert place is not None
                os.kill(place.pid, signal.SIGKILL)
                killed = name
            time.sleep(0.05)
    return killed, Counter(asked(seen) for seen in server.answered)


def _lost(store: Store) -> int:
    return sum(row["outcome"] in ("lost", "sent") for row in store.connection.rows("SELECT outcome FROM calls"))


@pytest.mark.slow
def test_a_helper_that_is_killed_loses_the_one_call_that_it_had_in_hand(store: Store, folder: Path) -> None:
    def helper() -> str | None:
        found = [who for _, state, who in errands(store) if state == "taken"]
        return found[0] if len(found) == 3 else None

    with ChatServer(latency=lambda *_: 1.0) as server:
        opened(store, folder, server.base_url)
        killed, answered = _killed_once(store, folder, server, helper)
        assert killed
        assert len(server.seen) <= len(answered) + 1
        assert max(answered.values()) <= 2
    assert the_item(store).deaths == 0
    assert the_item(store).state == "done"
    assert _lost(store) <= 1
    assert errands(store) == []


@pytest.mark.slow
def test_when_the_one_who_asks_is_killed_what_the_others_have_in_hand_is_not_asked_again(
    store: Store, folder: Path
) -> None:
    with ChatServer(latency=lambda *_: 2.0) as server:

        def asker() -> str | None:
            return the_item(store).worker if server.in_flight == 4 else None

        opened(store, folder, server.base_url)
        killed, _ = _killed_once(store, folder, server, asker)
        assert killed
        asked_for = Counter(asked(seen) for seen in server.seen)
        assert sum(asked_for.values()) - len(asked_for) <= 1, "the one that it was at itself"
    assert the_item(store).state == "done"
    assert _lost(store) <= 1
    assert errands(store) == []
