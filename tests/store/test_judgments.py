"""What is judged by, and what was judged, comes out of the store: packs, key facts, evaluations, rounds, verdicts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from redraft.domain import Evaluation, Round
from redraft.errors import StoreError
from redraft.order import Build, Compare, Evaluate, ExperimentPart, Order, Refine, Summarize
from redraft.store.store import Store
from redraft.store.table import ordered
from tests.store import hostile as made
from tests.store.hostile import hostile, stored, unused
from tests.store.support import (
    FAILED,
    JUDGING,
    REFINEMENT,
    add_call,
    call,
    document,
    dump,
    evaluation,
    fact,
    finding,
    keyfacts,
    pack,
    rounds,
    run,
    start,
    tree,
)

RUN = "abc123"


@pytest.fixture
def store(place: Path | str) -> Iterator[Store]:
    with Store(place) as opened:
        opened.documents.add(document())
        opened.runs.add(run())
        yield opened


@pytest.fixture
def draft(store: Store) -> str:
    return store.runs.keep_draft(RUN, "The draft.", 2, "given", is_result=False)


@pytest.mark.slow
@hostile
@given(made.evaluations)
def test_every_evaluation_comes_back(store: Store, coverage: Evaluation) -> None:
    draft = store.runs.keep_draft(RUN, unused(), 1, "revise", round_=1)
    store.judgments.keep(draft, coverage)
    assert store.judgments.of(draft) == {"coverage": stored(coverage)}


def test_a_repeated_draft_takes_the_latest_notes(store: Store) -> None:
    first = store.runs.keep_draft(RUN, "One.", 1, "revise", ("at first",), 1)
    assert store.runs.keep_draft(RUN, "One.", 1, "revise", ("in the end",), 1) == first
    assert store.runs.draft(first).notes == ("in the end",)
    assert len(store.runs.drafts(RUN)) == 1
    drafts = {store.runs.keep_draft(RUN, "One.", 1, node, round_=n) for node, n in (("given", 0), ("revise", 0))}
    assert len(drafts | {first}) == 3, "the same words in another round are another draft"


def test_a_new_evaluation_replaces_the_metrics_own(store: Store, draft: str) -> None:
    store.judgments.keep(draft, evaluation())
    store.judgments.keep(draft, FAILED)
    new = evaluation(score=0.5, findings=(finding("Only this."),), held=(), details={})
    store.judgments.keep(draft, new)
    assert store.judgments.of(draft) == {"coverage": new, "consistency": FAILED}
    assert len(dump(store.address)["evaluations"]) == 2
    assert store.judgments.of("another") == {}


def test_a_judged_round_replaces_the_waiting_one(store: Store, draft: str) -> None:
    second = store.runs.keep_draft(RUN, "The second draft.", 2, "revise", round_=1)
    waiting = Round(1, second, draft, ("coverage",), ("f1",))
    rejected = replace(waiting, accepted=False, reason="coverage fell")
    for round_ in (waiting, Round(0, draft), rejected):
        store.rounds.put(round_, run=RUN)
    assert store.rounds.of(RUN) == [Round(0, draft), rejected]


def test_rounds_after_one_are_forgotten(store: Store, draft: str) -> None:
    store.runs.add(run("another"))
    for name in (RUN, "another"):
        for round_ in rounds(draft, draft):
            store.rounds.put(round_, run=name)
    assert not store.rounds.cut(RUN, ordered(rounds(draft, draft)[-1].number + 1))
    assert store.rounds.of(RUN) == rounds(draft, draft)
    for after, count in ((0, 1), (-1, 0)):
        assert store.rounds.cut(RUN, ordered(after + 1))
        assert store.rounds.of(RUN) == rounds(draft, draft)[:count]
    assert store.rounds.of("another") == rounds(draft, draft)
    assert store.rounds.of("none") == []


def test_the_first_verdict_on_an_item_stands(store: Store) -> None:
    store.verdicts.put({"a": "first"}, keep=True)
    store.verdicts.put({"a": "second", "b": "new"}, keep=True)
    assert store.verdicts.find(["a", "b"]) == {"a": "first", "b": "new"}


def test_stored_lists_are_extended(store: Store) -> None:
    store.verdicts.put({"a": '{"said": [{"by": "Tom"}], "no": ["x"]}'}, keep=True)
    store.verdicts.extend({"a": '{"said": [2, {"by": "Tom"}]}', "b": '{"no": [3]}'})
    assert store.verdicts.find(["a", "b"]) == {
        "a": '{"said": [{"by": "Tom"}, 2], "no": ["x"]}',
        "b": '{"no": [3]}',
    }


def test_verdicts_are_kept_all_or_none(store: Store) -> None:
    broken: Any = {"a": "fine", "b": "fine", object(): "no key"}
    with pytest.raises(StoreError):
        store.verdicts.put(broken, keep=True)
    assert store.verdicts.find(["a", "b"]) == {}


@pytest.mark.parametrize(
    ("order", "kind"),
    [
        (Summarize(), "summarize"),
        (Summarize(judging=JUDGING), "summarize"),
        (Evaluate(judging=JUDGING), "evaluate"),
        (Refine(judging=JUDGING, refinement=REFINEMENT), "refine"),
        (Compare(judging=JUDGING), "compare"),
        (Build(kind="pack", judging=JUDGING), "pack"),
        (Build(kind="keyfacts", judging=JUDGING), "keyfacts"),
        (ExperimentPart(kind="a trial of lamps", judging=JUDGING), "a trial of lamps"),
    ],
)
def test_a_run_remembers_its_order(store: Store, order: Order, kind: str) -> None:
    forked = run("fork", order=order, parent=RUN)
    store.runs.add(forked)
    loaded = store.runs.get("fork")
    assert replace(loaded, created="", updated="") == forked
    assert (loaded.kind, loaded.judging, loaded.refinement) == (kind, order.judging, order.refinement)


ORPHANS: dict[str, Callable[[Store, str], object]] = {
    "a pack of no document": lambda store, draft: store.packs.add(pack(text="Another book."), "key"),
    "an evaluation of no draft": lambda store, draft: store.judgments.keep("none", evaluation()),
    "a round of no run": lambda store, draft: store.rounds.put(Round(0, draft), run="none"),
    "a call of no run": lambda store, draft: add_call(store, call(run="none")),
    "a run of no document": lambda store, draft: store.runs.add(run("other", "Another book.")),
    "a document of no text": lambda store, draft: store.documents.add(replace(document(), id="not its text")),
    "a draft of no run": lambda store, draft: store.runs.keep_draft("none", "text", 1, "revise", round_=1),
}


@pytest.mark.parametrize("orphan", ORPHANS)
def test_foreign_keys_hold(store: Store, draft: str, orphan: str) -> None:
    before = dump(store.address)
    with pytest.raises(StoreError, match=r"(?i)foreign key"):
        ORPHANS[orphan](store, draft)
    assert dump(store.address) == before


_JUDGE = """
import sys
from redraft.store.store import Store
from redraft.store.table import ordered
from tests.store.support import evaluation, finding, pack, question
path, name, draft = sys.argv[1:]
with Store(path) as store:
    print("ready", flush=True)
    sys.stdin.readline()
    for n in range(40):
        store.verdicts.put({f"{n} {k}": name for k in range(3)}, keep=True)
        store.judgments.keep(draft, evaluation(reason=name, findings=(finding(name), finding(name + "!"))))
        store.packs.add(pack(f"common {n}", questions=(question(1, name), question(2, name))), "common")
        store.packs.add(pack(f"{name} {n}"), name)
"""


@pytest.mark.slow
def test_two_processes_judge_at_once(store: Store, draft: str) -> None:
    processes = [start(_JUDGE, store.address, name, draft) for name in ("ann", "ben")]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.communicate("go\n", timeout=60)
    assert [process.returncode for process in processes] == [0, 0]
    verdicts = store.verdicts.find([f"{n} {k}" for n in range(40) for k in range(3)])
    assert len(verdicts) == 120
    assert all(len({verdicts[f"{n} {k}"] for k in range(3)}) == 1 for n in range(40)), "one process had each turn"
    last = store.judgments.of(draft)["coverage"]
    assert [finding.explanation for finding in last.findings] == [last.reason, f"{last.reason}!"]
    packs = [pack_ for pack_, _ in store.packs.all()]
    assert len(packs) == 120
    assert all(len({q.text for q in pack_.questions}) == 1 for pack_ in packs if pack_.id.startswith("common"))


BOOK = document().id


def test_trees_and_facts_keep_their_order(store: Store) -> None:
    trees = tuple(tree(*(fact(n) for n in range(1, 12)), chunk=12 - n) for n in range(12))
    store.keyfacts.add(keyfacts(trees=trees), "key")
    assert store.keyfacts.get("keyfacts-1").trees == trees


@dataclass(frozen=True)
class Kind:
    """Where question sets of a kind are stored, how one is made, and how an error begins."""

    sets: Any
    make: Callable[..., Any]
    none: str


@pytest.fixture(params=["packs", "keyfacts"])
def shelf(request: pytest.FixtureRequest, store: Store) -> Kind:
    if request.param == "packs":
        return Kind(store.packs, pack, "no pack")
    return Kind(store.keyfacts, keyfacts, "no key facts")


def test_last_import_wins_then_last_built(store: Store, shelf: Kind) -> None:
    store.documents.add(another := document("Another book."))
    shelf.sets.add(shelf.make("other", another.text), "key")
    shelf.sets.prefer("other")
    assert shelf.sets.latest(BOOK) is None
    for name in ("a", "b", "c"):
        shelf.sets.add(shelf.make(name), name)
    assert shelf.sets.imported(BOOK) is None
    assert shelf.sets.latest(BOOK) == shelf.make("c")
    # So fast that several share a moment, and back and forth.
    for name in ("c", "b", "a", "b", "c", "a") * 3:
        shelf.sets.prefer(name)
        assert shelf.sets.imported(BOOK) == shelf.sets.latest(BOOK) == shelf.make(name, imported=True)
    assert shelf.sets.find(BOOK, "c") == shelf.make("c", imported=True), (
        "by what it was built from it is found all the same"
    )


def test_stored_set_stays_unless_more_complete(store: Store, shelf: Kind) -> None:
    shelf.sets.add(shelf.make("one", missing=("a part",)), "key")
    before = dump(store.address)["artifacts"]
    shelf.sets.add(shelf.make("one", missing=("a part", "another")), "another")
    assert shelf.sets.find(BOOK, "another") is None
    assert dump(store.address)["artifacts"] == before != []
    shelf.sets.add(shelf.make("one", missing=()), "another")
    assert shelf.sets.find(BOOK, "key") == shelf.make("one", missing=())


def test_sets_are_found_by_document_and_key(store: Store, shelf: Kind) -> None:
    store.documents.add(another := document("Another book."))
    for question_set in (shelf.make("one"), shelf.make("two", another.text)):
        shelf.sets.add(question_set, "key")
    assert shelf.sets.find(BOOK, "key") == shelf.make("one")
    assert shelf.sets.find(another.id, "key") == shelf.make("two", another.text)
    assert shelf.sets.find(BOOK, "ke_") is None
    # An import is the choice for its own document alone.
    shelf.sets.prefer("two")
    assert shelf.sets.imported(BOOK) is None


def test_two_builds_of_a_pack_share_one(store: Store) -> None:
    """Their questions differ, and so do their names, for they are made of the questions."""
    with Store(store.address) as second:
        second.packs.add(pack("b"), "key")
        time.sleep(0.01)
        store.packs.add(pack("a"), "key")
        assert store.packs.find(BOOK, "key") == second.packs.find(BOOK, "key") == pack("b")


@pytest.mark.parametrize("key", ["abc123", "abc", "x_", "x%", "50%", "a\\b", "Ünï"])
def test_sets_are_found_by_an_id_prefix(shelf: Kind, key: str) -> None:
    for name in ("abc123", "abd123", "x_y", "x%y", "50%", "a\\b", "Ünïcode"):
        shelf.sets.add(shelf.make(name), "key")
    assert shelf.sets.get(key).id.startswith(key)


@pytest.mark.parametrize(
    ("key", "error"),
    [
        *((key, "") for key in ("a_c", "%", "_", "ABC", "abc1234", "abc\x00", "\\", "abc\udce9")),
        ("ab", "more than one"),
        ("", "more than one"),
    ],
)
def test_ambiguous_or_unknown_prefixes_are_refused(shelf: Kind, key: str, error: str) -> None:
    for name in ("abc123", "abd123"):
        shelf.sets.add(shelf.make(name), "key")
    with pytest.raises(StoreError, match=error or shelf.none) as caught:
        shelf.sets.get(key)
    assert "session.store.packs.all()" in caught.value.hint
