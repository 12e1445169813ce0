"""Databases of every age are opened, and those that are not ours are left alone."""

from __future__ import annotations

import json
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from sqlite_utils import Database

from redraft.domain import Gap, Parent, Round, Usage
from redraft.errors import StoreError
from redraft.settings import Judging, Refinement
from redraft.store.calls import Answer
from redraft.store.manners import Manners
from redraft.store.migrations import steps
from redraft.store.schema import STEPS
from redraft.store.store import Store
from tests.store.support import (
    AGREEMENT,
    ASKED,
    FAILED,
    JUDGING,
    LOOKUPS,
    MODEL,
    PARENTS,
    PRINTABLE,
    REFINEMENT,
    STANDING,
    TROUBLE,
    VERDICTS,
    document,
    dump,
    evaluation,
    fill,
    keyfacts,
    pack,
    piece,
    plain,
    rounds,
    start,
    typed,
)

SCHEMAS = Path(__file__).parent / "schemas"
AGES = sorted(SCHEMAS.glob("*.sql"))
SINCE_JUDGING = [schema for schema in AGES if schema.stem >= "m002"]
SINCE_MANNERS = [schema for schema in AGES if schema.stem >= "m009"]
SINCE_AGREEMENTS = [schema for schema in AGES if schema.stem >= "m010"]
SINCE_LOOKUPS = [schema for schema in AGES if schema.stem >= "m014"]
SINCE_TYPED = [schema for schema in AGES if schema.stem >= "m015"]
SINCE_BATCHES = [schema for schema in AGES if schema.stem >= "m018"]
SINCE_PARENTS = [schema for schema in AGES if schema.stem >= "m011"]
SINCE_KEYFACTS = [schema for schema in AGES if schema.stem >= "m003"]
EVERY_AGE = pytest.mark.parametrize("schema", AGES, ids=lambda path: path.stem)


def restored(path: Path, schema: Path) -> None:
    with plain(path) as database:
        database.executescript(schema.read_text("utf-8"))


def schema_of(path: Path) -> set[tuple[str, str]]:
    with plain(path) as database:
        rows = database.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    return {(name, " ".join(sql.split())) for name, sql in rows}


def test_every_step_is_listed_and_frozen() -> None:
    with Database(memory=True) as database:
        assert [step.name for step in steps().pending(database)] == list(STEPS)
    assert {file.stem for file in SCHEMAS.glob("*.sql")} == {step.partition("_")[0] for step in STEPS}


@pytest.mark.parametrize("step", STEPS)
def test_a_released_step_is_never_changed(tmp_path: Path, step: str) -> None:
    restored(tmp_path / "old.db", SCHEMAS / f"{step.partition('_')[0]}.sql")
    with Database(tmp_path / "new.db") as database:
        later = list(STEPS)[list(STEPS).index(step) + 1 :]
        steps().apply(database, stop_before=later)
    assert schema_of(tmp_path / "new.db") == schema_of(tmp_path / "old.db")


@EVERY_AGE
def test_a_database_of_every_age_is_opened_and_keeps_its_rows(tmp_path: Path, schema: Path) -> None:
    path = tmp_path / "redraft.db"
    restored(path, schema)
    with Store(path) as store:
        book = document(PRINTABLE)
        assert store.documents.get(book.id) == book
        assert len(store.documents.chunks(book.id, "estimate", 2048)) == 2
        found = store.runs.get("abc123")
        assert found.draft is not None
        assert store.runs.draft(found.draft).text == "The draft."
        assert store.runs.pieces("abc123") == [piece()]
        assert store.runs.gaps("abc123") == [Gap(1, "refused", "would not")]
        assert store.calls.find("key", None) == Answer(1, "reply to key", "stop", Usage(5, 4, 3, 2))
        assert store.calls.totals("abc123").calls == 1
        assert (found.kind, found.judging, found.refinement, found.parent) == ("summarize", None, None, None)
    with Store(tmp_path / "fresh.db"):
        assert schema_of(path) == schema_of(tmp_path / "fresh.db")


def expect_judged(store: Store, fork: str, *, led: bool = True, holed: bool = True, answered: bool = True) -> None:
    """What `fill_judged` has stored is there; before a model could lead a refinement, none had `led` one, and before
    it was put on record what a pack lacks, it was not known whether one is `holed`.
    """
    found = store.runs.get(fork)
    first, second = (draft.id for draft in store.runs.drafts(fork))
    assert (found.judging, found.refinement, found.parent) == (JUDGING, REFINEMENT, fork.removeprefix("fork-of-"))
    assert found.draft == second
    questions = pack(text=PRINTABLE) if holed else pack(text=PRINTABLE, missing=())
    assert store.packs.get("pack-1") == store.packs.find(found.document, "made from this") == questions
    assert store.judgments.of(first) == {"coverage": evaluation(), "consistency": FAILED}
    assert store.judgments.rounds(fork) == rounds(first, second, led=led, answered=answered)
    assert found.why == ("Nöthing is left." if led else "")
    assert store.judgments.verdicts(list(VERDICTS)) == VERDICTS


@pytest.mark.parametrize("schema", SINCE_JUDGING, ids=lambda path: path.stem)
def test_a_database_since_judging_keeps_what_was_judged(tmp_path: Path, schema: Path) -> None:
    restored(tmp_path / "redraft.db", schema)
    with Store(tmp_path / "redraft.db") as store:
        since = schema.stem
        expect_judged(store, "fork-of-abc123", led=since >= "m005", holed=since >= "m007", answered=since >= "m023")


@pytest.mark.parametrize("schema", SINCE_KEYFACTS, ids=lambda path: path.stem)
def test_a_database_since_key_facts_keeps_them(tmp_path: Path, schema: Path) -> None:
    restored(tmp_path / "redraft.db", schema)
    with Store(tmp_path / "redraft.db") as store:
        assert store.keyfacts.latest(document(PRINTABLE).id) == keyfacts(text=PRINTABLE)


@pytest.mark.parametrize("schema", SINCE_TYPED, ids=lambda path: path.stem)
def test_a_database_since_typed_questions_keeps_them(tmp_path: Path, schema: Path) -> None:
    restored(tmp_path / "redraft.db", schema)
    with Store(tmp_path / "redraft.db") as store:
        assert store.typed.latest(document(PRINTABLE).id) == typed(text=PRINTABLE)


@pytest.mark.parametrize("schema", SINCE_LOOKUPS, ids=lambda path: path.stem)
def test_a_database_since_lookups_keeps_what_was_looked_up(tmp_path: Path, schema: Path) -> None:
    restored(tmp_path / "redraft.db", schema)
    with Store(tmp_path / "redraft.db") as store:
        assert store.judgments.lookups("fork-of-abc123") == {1: LOOKUPS}


@pytest.mark.parametrize("schema", SINCE_MANNERS, ids=lambda path: path.stem)
def test_a_database_since_manners_keeps_what_was_learned_of_a_model(tmp_path: Path, schema: Path) -> None:
    restored(tmp_path / "redraft.db", schema)
    with Store(tmp_path / "redraft.db") as store:
        assert store.manners.known(MODEL) == Manners("tools", 700)


@pytest.mark.parametrize("schema", SINCE_AGREEMENTS, ids=lambda path: path.stem)
def test_a_database_since_agreements_keeps_how_far_judges_agree_with_people(tmp_path: Path, schema: Path) -> None:
    restored(tmp_path / "redraft.db", schema)
    with Store(tmp_path / "redraft.db") as store:
        assert store.agreements.of(STANDING) == store.agreements.all() == [AGREEMENT]


@pytest.mark.parametrize("schema", SINCE_PARENTS, ids=lambda path: path.stem)
def test_a_database_since_parents_keeps_what_its_texts_were_made_from(tmp_path: Path, schema: Path) -> None:
    restored(tmp_path / "redraft.db", schema)
    with Store(tmp_path / "redraft.db") as store:
        draft = store.runs.get("abc123").draft
        assert store.ancestry.of("abc123") == {"0/0/0": PARENTS, draft: (Parent.of_piece(piece()),)}
        assert store.ancestry.links("links-1") == "[[0, 10, []]]"
        assert store.ancestry.vectors(document(PRINTABLE).id, "cut", "weights") == b"\x00\x01"


@pytest.mark.parametrize("schema", SINCE_BATCHES, ids=lambda path: path.stem)
def test_a_database_since_batches_keeps_them(tmp_path: Path, schema: Path) -> None:
    restored(tmp_path / "redraft.db", schema)
    with Store(tmp_path / "redraft.db") as store:
        batch = store.batches.get("batch-of-abc123")
        assert (batch.asked, batch.limits, batch.folder, batch.status) == (ASKED, {"max_cost": 1.5}, "/out/ö", "open")
        first, second = store.batches.items(batch.name)
        assert (first.source, first.file, first.state, first.run, first.short) == (
            "/in/ä.txt",
            "ä",
            "done",
            "abc123",
            True,
        )
        assert (second.document, second.priority, second.error) == (document(PRINTABLE).id, 3, TROUBLE)


_OF_KIND = """
    INSERT INTO runs (id, identity, document, settings, limits, prompt_hashes, tokenizer, version, status, judging,
    refinement, created, updated) SELECT :id, identity, document, settings, limits, prompt_hashes, tokenizer, version,
    status, :judging, :refinement, created, updated FROM runs WHERE id = 'abc123'
"""
# What a run judged by and for, as it was stored, and the kind that followed from it.
_BEFORE_KINDS: list[tuple[dict[str, Any] | None, dict[str, Any] | None, str]] = [
    (None, None, "summarize"),
    ({"metrics": ["coverage"], "build": None}, None, "evaluate"),
    ({"metrics": ["coverage"]}, None, "evaluate"),
    ({"metrics": ["coverage"], "build": None}, {"goals": {"coverage": 0.8}}, "refine"),
    ({"metrics": [], "build": "questions", "pack": "p"}, None, "pack"),
    ({"metrics": []}, None, "pack"),
    ({}, None, "pack"),
    ({"metrics": [], "build": "keyfacts"}, None, "keyfacts"),
    ({"metrics": [], "build": "marks"}, None, "chunk-size"),
    ({"metrics": [], "build": "annotations", "threshold": 0.1}, None, "booookscore"),
    ({"metrics": [], "build": "preference", "judges": ["j 😀"]}, None, "compare"),
]


def _stored(value: dict[str, Any] | None) -> str | None:
    return None if value is None else json.dumps(value, ensure_ascii=False)


@pytest.mark.parametrize("schema", [one for one in SINCE_JUDGING if one.stem < "m004"], ids=lambda path: path.stem)
def test_a_run_from_before_kinds_keeps_its_kind(tmp_path: Path, schema: Path) -> None:
    path = tmp_path / "redraft.db"
    restored(path, schema)
    with plain(path) as database:
        for n, (judging, refinement, _) in enumerate(_BEFORE_KINDS):
            stored = {"judging": _stored(judging), "refinement": _stored(refinement)}
            database.execute(_OF_KIND, {"id": f"run {n}", **stored})
    with Store(path) as store:
        for n, (judging, refinement, kind) in enumerate(_BEFORE_KINDS):
            (found,) = [run for run in store.runs.latest(99) if run.id == f"run {n}"]
            assert found.kind == kind
            plainly = {name: value for name, value in (judging or {}).items() if name != "build"}
            assert found.judging == (None if judging is None else Judging.model_validate(plainly))
            assert found.refinement == (refinement and Refinement.model_validate(refinement))
        assert (store.runs.get("abc123").kind, store.runs.get("fork-of-abc123").kind) == ("summarize", "refine")


def test_a_given_draft_of_a_database_of_any_age_is_still_given(tmp_path: Path) -> None:
    restored(tmp_path / "redraft.db", SCHEMAS / "m003.sql")
    with plain(tmp_path / "redraft.db") as database:
        database.execute("UPDATE runs SET settings = json_set(settings, '$.strategy', 'given')")
    with Store(tmp_path / "redraft.db") as store:
        assert store.runs.get("abc123").settings.strategy == "given"


@EVERY_AGE
def test_a_database_of_every_age_takes_new_records_beside_the_old(tmp_path: Path, schema: Path) -> None:
    path = tmp_path / "redraft.db"
    restored(path, schema)
    with Store(path) as store:
        fill(store, "another")
        # The pack that was there before is the same as the new one.
        expect_judged(store, "fork-of-another", holed=not "m002" <= schema.stem < "m007")
        assert store.keyfacts.get("keyfacts-1") == keyfacts(text=PRINTABLE)
        assert {"another", "abc123"} <= {run.id for run in store.runs.latest(9)}
    with plain(path) as database:
        assert database.execute("PRAGMA foreign_key_check").fetchall() == []


@EVERY_AGE
def test_a_draft_of_every_age_can_be_judged(tmp_path: Path, schema: Path) -> None:
    restored(tmp_path / "redraft.db", schema)
    with Store(tmp_path / "redraft.db") as store:
        draft = store.runs.get("abc123").draft
        assert draft is not None
        store.judgments.keep(draft, evaluation())
        store.judgments.keep_round("abc123", Round(0, draft))
        assert store.judgments.of(draft) == {"coverage": evaluation()}
        assert store.judgments.rounds("abc123") == [Round(0, draft)]


def test_an_empty_file_becomes_a_database(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "down" / "redraft.db"
    for _ in range(2):
        with Store(path) as store:
            pass
    assert len(dump(path)["_sqlite_migrations"]) == len(STEPS)
    assert store.checkpoints.path == path.with_name("redraft.checkpoints.db")
    (tmp_path / "empty.db").touch()
    with Store(tmp_path / "empty.db") as store:
        fill(store)


def test_a_newer_database_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "redraft.db"
    with Store(path) as store:
        fill(store)
    with plain(path) as database:
        row = ("redraft", "m999_the_future", "2099")
        database.execute("INSERT INTO _sqlite_migrations (migration_set, name, applied_at) VALUES (?, ?, ?)", row)
    before = dump(path)
    with pytest.raises(StoreError, match="newer redraft") as caught:
        Store(path)
    assert "upgrade" in caught.value.hint
    assert dump(path) == before


def test_the_database_of_another_program_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "places.sqlite"
    with plain(path) as database:
        database.execute("CREATE TABLE bookmarks (url)")
    with pytest.raises(StoreError, match="another program") as caught:
        Store(path)
    assert "--db" in caught.value.hint
    assert list(dump(path)) == ["bookmarks"]


def test_a_step_that_fails_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "redraft.db"
    with monkeypatch.context() as patch:
        patch.setitem(STEPS, "m001_texts_runs_calls", ("CREATE TABLE texts (id)", "nonsense"))
        with pytest.raises(StoreError):
            Store(path)
    assert dump(path) == {}
    with Store(path) as store:
        fill(store)


_OPEN = """
import sys
from redraft.store.store import Store
print("ready", flush=True)
sys.stdin.readline()
with Store(sys.argv[1]) as store:
    store.documents.add_text(sys.argv[2])
"""


@pytest.mark.slow
def test_several_processes_may_open_a_new_database_at_once(tmp_path: Path) -> None:
    processes = [start(_OPEN, tmp_path / "redraft.db", number) for number in range(4)]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in processes:
        process.communicate(timeout=60)
    assert [process.returncode for process in processes] == [0] * 4
    assert sorted(text for _, text in dump(tmp_path / "redraft.db")["texts"]) == ["0", "1", "2", "3"]


@pytest.mark.slow
def test_several_threads_may_open_a_new_database_at_once(tmp_path: Path) -> None:
    gate = threading.Barrier(6)

    def open_and_write(path: Path, number: int) -> None:
        gate.wait()
        with Store(path) as store:
            store.documents.add_text(str(number))

    with ThreadPoolExecutor(6) as pool:
        for round_ in range(20):
            path = tmp_path / f"{round_}.db"
            list(pool.map(open_and_write, [path] * 6, range(6)))
            assert len(dump(path)["texts"]) == 6


def test_a_database_opens_in_plain_sqlite(tmp_path: Path) -> None:
    with Store(tmp_path / "redraft.db") as store:
        fill(store)
    with sqlite3.connect(tmp_path / "redraft.db") as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert database.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    database.close()
