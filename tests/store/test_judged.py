"""What was judged goes into the store and comes out of it: packs, drafts, evaluations, rounds, verdicts."""

from __future__ import annotations

import itertools
import json
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from redraft.domain import (
    Evaluation,
    Evidence,
    Finding,
    Outcome,
    Pack,
    PackQuestion,
    QuestionWord,
    Round,
    Span,
    Task,
)
from redraft.errors import RunError, StoreError, UsageError
from redraft.settings import (
    BuildKeyfacts,
    BuildQuestions,
    Compare,
    Evaluate,
    ExperimentPart,
    JudgeConfig,
    Purpose,
    Refine,
    Summarize,
    purpose_of_draft,
)
from redraft.store.store import Store
from tests.store.support import (
    FAILED,
    JUDGING,
    REFINEMENT,
    add_call,
    as_stored,
    call,
    document,
    dump,
    evaluation,
    fill,
    finding,
    pack,
    plain,
    question,
    rounds,
    run,
    start,
)
from tests.text.hostile import EXTREMES, raw_texts

RUN = "abc123"
BOOK = document().id


@pytest.fixture
def store(place: Path | str) -> Iterator[Store]:
    with Store(place) as made:
        made.documents.add(document())
        made.runs.add(run())
        yield made


@pytest.fixture
def draft(store: Store) -> str:
    return store.runs.add_draft(RUN, "The draft.", 2, "given", 0)


hostile = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
_counter = itertools.count()


def unused() -> str:
    """A name that no other example of a property has taken."""
    return f"name-{next(_counter)}"


def stored(value: Any) -> Any:
    """The value, however deep, as the store gives it back."""
    if isinstance(value, str):
        return as_stored(value)
    if isinstance(value, list):
        return [stored(one) for one in value]
    if isinstance(value, dict):
        return {as_stored(name): stored(one) for name, one in value.items()}
    return value


def stored_evidence(evidence: Evidence | None) -> Evidence | None:
    return evidence and replace(evidence, text=as_stored(evidence.text))


def stored_question(one: PackQuestion) -> PackQuestion:
    evidence = stored_evidence(one.evidence)
    assert evidence is not None
    return replace(one, text=as_stored(one.text), answer=as_stored(one.answer), evidence=evidence)


def stored_finding(one: Finding) -> Finding:
    names = ("explanation", "sentence", "question", "found", "expected")
    return replace(
        one, evidence=stored_evidence(one.evidence), **{name: as_stored(getattr(one, name)) for name in names}
    )


def stored_evaluation(one: Evaluation) -> Evaluation:
    return replace(
        one,
        findings=tuple(map(stored_finding, one.findings)),
        held=tuple(map(as_stored, one.held)),
        details=stored(dict(one.details)),
        reason=as_stored(one.reason),
    )


# Half surrogate pairs and NULs are what a database minds most, and too rare among all that is hostile.
_texts = raw_texts | st.lists(st.sampled_from(["\ud800", "\udce9", "\x00", "\x1b", "\U0001f600", "so. "])).map("".join)
_numbers = st.integers(0, 2**63 - 1)
_shares = st.floats(0, 1)
_spans = st.none() | st.builds(Span, _numbers, _numbers)
_evidence = st.builds(Evidence, _texts, _spans)
_json = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.integers() | _texts,
    lambda some: st.lists(some, max_size=3) | st.dictionaries(_texts, some, max_size=3),
    max_leaves=5,
)
_questions = st.builds(
    PackQuestion,
    _numbers,
    _texts,
    st.sampled_from(get_args(QuestionWord)),
    _texts,
    _evidence,
    _shares,
    st.integers(1, 3),
)
_packs = st.builds(
    lambda some, hashes, missing, imported: pack(
        unused(),
        questions=tuple(sorted(some, key=lambda one: one.id)),
        prompt_hashes=hashes,
        missing=tuple(missing),
        imported=imported,
    ),
    st.lists(_questions, max_size=3, unique_by=lambda one: one.id),
    st.dictionaries(st.text(max_size=9), st.text(max_size=9), max_size=2),
    st.lists(_texts, max_size=2),
    st.booleans(),
)
_findings = st.builds(
    Finding,
    metric=st.just("coverage"),
    kind=st.text(max_size=9),
    task=st.sampled_from(get_args(Task)),
    explanation=_texts,
    sentence=_texts,
    question=_texts,
    found=_texts,
    expected=_texts,
    evidence=st.none() | _evidence,
)
_evaluations = st.builds(
    Evaluation,
    metric=st.just("coverage"),
    version=_numbers,
    outcome=st.sampled_from(get_args(Outcome)),
    score=st.none() | _shares,
    judged=_numbers,
    unjudged=_numbers,
    findings=st.lists(_findings, max_size=3).map(tuple),
    held=st.lists(_texts, max_size=3).map(tuple),
    details=st.dictionaries(_texts, _json, max_size=3),
    reason=_texts,
)


@pytest.mark.slow
@hostile
@given(_packs)
def test_every_pack_comes_back(store: Store, one: Pack) -> None:
    store.packs.add(one, one.id)
    missing = tuple(map(as_stored, one.missing))
    expected = replace(one, questions=tuple(map(stored_question, one.questions)), missing=missing)
    assert store.packs.get(one.id) == store.packs.find(BOOK, one.id) == expected


@pytest.mark.slow
@hostile
@given(_evaluations)
def test_every_evaluation_comes_back(store: Store, one: Evaluation) -> None:
    draft = store.runs.add_draft(RUN, unused(), 1, "revise", 1)
    store.judgments.keep(draft, one)
    assert store.judgments.of(draft) == {"coverage": stored_evaluation(one)}


@pytest.mark.slow
@hostile
@given(_texts, _numbers, _numbers, st.lists(_texts, max_size=3))
def test_every_draft_comes_back(store: Store, text: str, words: int, number: int, notes: list[str]) -> None:
    key = store.runs.add_draft(RUN, text, words, unused(), number, notes)
    found = store.runs.draft(key)
    assert (found.text, found.words, found.round) == (as_stored(text), words, number)
    assert found.notes == tuple(map(as_stored, notes))


@pytest.mark.slow
@hostile
@given(
    st.lists(st.text(max_size=9), max_size=3),
    st.lists(st.text(max_size=9), max_size=3),
    st.sampled_from([None, True, False]),
    _texts,
    st.booleans(),
)
def test_every_round_comes_back(
    store: Store, aims: list[str], findings: list[str], accepted: bool | None, reason: str, has_base: bool
) -> None:
    draft = store.runs.add_draft(RUN, "The draft.", 2, "given", 0)
    one = Round(1, draft, draft if has_base else None, tuple(aims), tuple(findings), accepted, reason)
    store.judgments.keep_round(RUN, one)
    assert store.judgments.rounds(RUN) == [replace(one, reason=as_stored(reason))]


@pytest.mark.slow
@hostile
@given(st.lists(_texts, max_size=5))
def test_every_verdict_comes_back(store: Store, said: list[str]) -> None:
    verdicts = {unused(): text for text in said}
    store.judgments.keep_verdicts(verdicts)
    assert store.judgments.verdicts(list(verdicts)) == stored(verdicts)


@pytest.mark.parametrize("evidence", [Evidence("It", Span(0, 2)), Evidence("", Span(0, 0)), Evidence("")])
def test_evidence_may_stand_at_the_very_beginning(store: Store, draft: str, evidence: Evidence) -> None:
    store.packs.add(pack(questions=(question(evidence=evidence),)), "key")
    store.judgments.keep(draft, evaluation(findings=(finding(evidence=evidence),)))
    assert store.packs.get("pack-1").questions[0].evidence == evidence
    assert store.judgments.of(draft)["coverage"].findings[0].evidence == evidence


@pytest.mark.slow
def test_a_megabyte_comes_back_as_a_question(store: Store) -> None:
    some = tuple(question(n, text, answer=text, evidence=Evidence(text)) for n, text in enumerate(EXTREMES.values()))
    store.packs.add(pack(questions=some), "key")
    assert store.packs.get("pack-1").questions == some


@pytest.mark.slow
def test_a_megabyte_comes_back_as_a_finding(store: Store, draft: str) -> None:
    some = tuple(finding(text, found=text, evidence=Evidence(text)) for text in EXTREMES.values())
    one = evaluation(findings=some, held=tuple(EXTREMES.values()), details=EXTREMES)
    store.judgments.keep(draft, one)
    assert store.judgments.of(draft) == {"coverage": one}


@pytest.mark.slow
def test_a_megabyte_comes_back_as_a_draft_and_as_a_verdict(store: Store) -> None:
    keys = {store.runs.add_draft(RUN, text, 1, "revise", 1): text for text in EXTREMES.values()}
    assert {draft.id: draft.text for draft in store.runs.drafts(RUN)} == keys
    store.judgments.keep_verdicts(EXTREMES)
    assert store.judgments.verdicts(list(EXTREMES)) == EXTREMES


# Packs.


def test_no_run_has_a_name_that_is_no_unicode(store: Store) -> None:
    with pytest.raises(RunError, match="no run"):
        store.runs.get("abc\udce9")


def test_the_last_imported_pack_wins(store: Store) -> None:
    names = ["a", "b", "c"]
    for name in names:
        store.packs.add(pack(name), "key")
    assert store.packs.imported(BOOK) is None
    # So fast that several share a moment, and back and forth.
    for name in names[::-1] * 5 + names * 5:
        store.packs.prefer(name)
        assert store.packs.imported(BOOK) == pack(name, imported=True)


def test_all_packs_are_listed_with_the_newest_first(store: Store) -> None:
    for name in ("b", "a", "c"):
        store.packs.add(pack(name), "key")
    assert [found.id for found, _ in store.packs.all()] == ["c", "a", "b"]
    assert [found.id for found in store.packs.listed()] == ["c", "a", "b"]
    assert all(moment.startswith("20") for _, moment in store.packs.all())


# Drafts.


def test_drafts_come_in_the_order_of_their_rounds(store: Store) -> None:
    numbers = (2, 0, 1, 10, 1, 1, 1, 1)
    made = [store.runs.add_draft(RUN, f"{n} {at}", 1, "revise", n) for at, n in enumerate(numbers)]
    assert [draft.id for draft in store.runs.drafts(RUN)] == [made[at] for at in (1, 2, 4, 5, 6, 7, 0, 3)]
    assert store.runs.drafts("another") == []


def test_an_added_draft_is_no_result_until_it_is_chosen(store: Store) -> None:
    first = store.runs.keep_draft(RUN, "One.", 1, "given")
    second = store.runs.add_draft(RUN, "Two.", 1, "revise", 1)
    assert store.runs.get(RUN).draft == first
    store.runs.choose_draft(RUN, second)
    assert store.runs.get(RUN).draft == second
    assert [draft.text for draft in store.runs.drafts(RUN)] == ["One.", "Two."]


def test_the_same_draft_is_stored_once_with_the_latest_notes(store: Store) -> None:
    first = store.runs.add_draft(RUN, "One.", 1, "revise", 1, ("at first",))
    assert store.runs.add_draft(RUN, "One.", 1, "revise", 1, ("in the end",)) == first
    assert store.runs.draft(first).notes == ("in the end",)
    assert len(store.runs.drafts(RUN)) == 1


def test_the_same_words_in_another_round_are_another_draft(store: Store) -> None:
    keys = {store.runs.add_draft(RUN, "One.", 1, node, n) for node, n in (("given", 0), ("revise", 0), ("revise", 1))}
    assert len(keys) == 3


# Evaluations.


def test_a_draft_has_one_evaluation_by_each_metric(store: Store, draft: str) -> None:
    store.judgments.keep(draft, evaluation())
    store.judgments.keep(draft, FAILED)
    assert store.judgments.of(draft) == {"coverage": evaluation(), "consistency": FAILED}
    assert store.judgments.of("another") == {}


def test_a_new_evaluation_takes_the_place_of_the_old_with_its_findings(store: Store, draft: str) -> None:
    new = evaluation(score=0.5, findings=(finding("Only this."),), held=(), details={})
    store.judgments.keep(draft, evaluation("consistency"))
    store.judgments.keep(draft, evaluation())
    store.judgments.keep(draft, new)
    assert store.judgments.of(draft) == {"coverage": new, "consistency": evaluation("consistency")}
    assert len(dump(store.address)["evaluations"]) == 2


def test_a_finding_keeps_its_id(store: Store, draft: str) -> None:
    store.judgments.keep(draft, evaluation())
    ids = [one.id for one in evaluation().findings]
    assert [one.id for one in store.judgments.of(draft)["coverage"].findings] == ids
    [(_, _, _, body)] = dump(store.address)["evaluations"]
    assert [one["id"] for one in json.loads(body)["findings"]] == ids


def test_how_many_judges_say_so_is_kept_with_a_finding(store: Store, draft: str) -> None:
    one = evaluation(findings=(finding(said_by=(1, 2)), finding("Say it."), finding("Mend it.", said_by=(2, 2))))
    store.judgments.keep(draft, one)
    assert store.judgments.of(draft) == {"coverage": one}


@pytest.mark.slow
def test_a_reader_sees_an_evaluation_with_its_own_findings(store: Store, draft: str) -> None:
    """And never those that came in its place while it looked."""
    versions = [evaluation(version=n, findings=(finding(f"Version {n}"),)) for n in (0, 1)]
    store.judgments.keep(draft, versions[0])
    done = threading.Event()

    def replace_again_and_again() -> None:
        with Store(store.address) as other:
            for n in itertools.count():
                other.judgments.keep(draft, versions[n % 2])
                if done.is_set():
                    return

    with ThreadPoolExecutor(1) as pool:
        writer = pool.submit(replace_again_and_again)
        end = time.monotonic() + 0.4
        try:
            while time.monotonic() < end:
                assert store.judgments.of(draft)["coverage"] in versions
        finally:
            done.set()
        writer.result()


# Rounds.


def test_a_round_is_replaced_by_what_became_of_it(store: Store, draft: str) -> None:
    other = store.runs.add_draft(RUN, "The second draft.", 2, "revise", 1)
    waiting = Round(1, other, draft, ("coverage",), ("f1",))
    judged = replace(waiting, accepted=False, reason="coverage fell")
    for one in (waiting, Round(0, draft), judged):
        store.judgments.keep_round(RUN, one)
    assert store.judgments.rounds(RUN) == [Round(0, draft), judged]


def test_the_rounds_of_a_run_are_forgotten_and_no_others(store: Store, draft: str) -> None:
    store.runs.add(run("another"))
    for name in (RUN, "another"):
        for one in rounds(draft, draft):
            store.judgments.keep_round(name, one)
    assert not store.judgments.forget_rounds(RUN, after=rounds(draft, draft)[-1].number)
    assert store.judgments.rounds(RUN) == rounds(draft, draft)
    assert store.judgments.forget_rounds(RUN, after=0)
    assert store.judgments.rounds(RUN) == rounds(draft, draft)[:1]
    assert store.judgments.forget_rounds(RUN, after=-1)
    assert store.judgments.rounds(RUN) == []
    assert store.judgments.rounds("another") == rounds(draft, draft)
    assert store.judgments.rounds("none") == []


# Verdicts.


def test_the_first_verdict_on_an_item_stands(store: Store) -> None:
    store.judgments.keep_verdicts({"a": "first"})
    store.judgments.keep_verdicts({"a": "second", "b": "new"})
    assert store.judgments.verdicts(["a", "b"]) == {"a": "first", "b": "new"}


@pytest.mark.parametrize("count", [0, 1, 499, 500, 501, 2000])
def test_verdicts_are_found_for_any_number_of_items(store: Store, count: int) -> None:
    verdicts = {f"key {n}": f"verdict {n}" for n in range(count)}
    store.judgments.keep_verdicts(verdicts)
    assert store.judgments.verdicts([*verdicts, *(f"no {key}" for key in verdicts)]) == verdicts


def test_verdicts_are_kept_all_or_none(store: Store) -> None:
    broken: Any = {"a": "fine", "b": "fine", object(): "no key"}
    with pytest.raises(StoreError):
        store.judgments.keep_verdicts(broken)
    assert store.judgments.verdicts(["a", "b"]) == {}


# Runs.


@pytest.mark.parametrize(
    ("purpose", "kind"),
    [
        (Summarize(), "summarize"),
        (Evaluate(judging=JUDGING), "evaluate"),
        (Refine(judging=JUDGING, refinement=REFINEMENT), "refine"),
        (Compare(judging=JUDGING), "compare"),
        (BuildQuestions(judging=JUDGING), "pack"),
        (BuildKeyfacts(judging=JUDGING), "keyfacts"),
        (ExperimentPart(kind="a trial of lamps", judging=JUDGING), "a trial of lamps"),
    ],
)
def test_a_run_remembers_what_it_was_started_for(store: Store, purpose: Purpose, kind: str) -> None:
    one = run("fork", purpose=purpose, parent=RUN)
    store.runs.add(one)
    found = store.runs.get("fork")
    assert replace(found, created="", updated="") == one
    assert (found.kind, found.judging, found.refinement) == (kind, purpose.judging, purpose.refinement)


def test_an_experiment_takes_no_name_of_another_kind_of_run() -> None:
    with pytest.raises(UsageError, match="no experiment can be named 'evaluate'"):
        ExperimentPart(kind="evaluate", judging=JUDGING)


def test_what_is_done_with_a_draft_follows_from_what_is_asked_for() -> None:
    assert purpose_of_draft(None) == Summarize()
    assert purpose_of_draft(JUDGING).kind == "evaluate"
    assert purpose_of_draft(None, REFINEMENT) == Refine(judging=JudgeConfig(), refinement=REFINEMENT)


def test_a_run_remembers_its_pack(store: Store) -> None:
    store.runs.add(run("building", purpose=BuildQuestions(judging=JudgeConfig())))
    store.runs.set_judging("building", JUDGING)
    assert store.runs.get("building").purpose == BuildQuestions(judging=JUDGING)


def test_half_a_surrogate_pair_in_an_error_becomes_a_question_mark(store: Store) -> None:
    store.runs.set_status(RUN, "failed", error={"place": "caf\udce9.txt"})
    assert store.runs.get(RUN).error == {"place": "caf?.txt"}


# The ledger.


@hostile
@given(st.lists(st.tuples(st.booleans(), st.sampled_from(["ok", "unreadable", "transient", "refused"])), max_size=8))
@pytest.mark.slow
def test_an_answer_is_repaired_exactly_when_it_came_after_an_unreadable_one(
    store: Store, attempts: list[tuple[bool, str]]
) -> None:
    ours, other = unused(), unused()
    for is_ours, outcome in attempts:
        add_call(store, call(ours if is_ours else other, outcome))
    outcomes = [outcome for is_ours, outcome in attempts if is_ours]
    answer = store.calls.find(ours, None)
    if "ok" not in outcomes:
        assert answer is None
    else:
        assert answer is not None
        assert answer.repaired == ("unreadable" in outcomes[: outcomes.index("ok")])


def test_an_answer_that_was_repaired_for_one_run_is_repaired_for_all(store: Store) -> None:
    store.runs.add(run("another"))
    for outcome in ("unreadable", "ok"):
        add_call(store, call(outcome=outcome, run=RUN))
    for name in (RUN, "another", None):
        answer = store.calls.find("key", name)
        assert answer is not None
        assert answer.repaired


# Foreign keys, and other programs.


ORPHANS: dict[str, Callable[[Store, str], object]] = {
    "a pack of no document": lambda store, draft: store.packs.add(pack(text="Another book."), "key"),
    "an evaluation of no draft": lambda store, draft: store.judgments.keep("none", evaluation()),
    "a round of no run": lambda store, draft: store.judgments.keep_round("none", Round(0, draft)),
    "a call of no run": lambda store, draft: add_call(store, call(run="none")),
    "a run of no document": lambda store, draft: store.runs.add(run("other", "Another book.")),
    "a document of no text": lambda store, draft: store.documents.add(replace(document(), id="not its text")),
    "a draft of no run": lambda store, draft: store.runs.add_draft("none", "text", 1, "revise", 1),
}


@pytest.mark.parametrize("orphan", ORPHANS)
def test_foreign_keys_hold(store: Store, draft: str, orphan: str) -> None:
    before = dump(store.address)
    with pytest.raises(StoreError, match=r"(?i)foreign key"):
        ORPHANS[orphan](store, draft)
    assert dump(store.address) == before


# What a person asks of the database with nothing but sqlite3, and what it says.
READABLE = {
    "SELECT json_extract(body, '$.questions[0].question') FROM artifacts WHERE kind = 'pack'": ("Who drowned?",),
    "SELECT document, key, model, items, json_extract(body, '$.prompt_hashes') FROM artifacts WHERE kind = 'pack'": (
        (document("Ünïcode \U0001f600.\nThe end of the book.").id, "made from this", "m", 2, '{"ask_document":"1"}')
    ),
    "SELECT score, json_extract(body, '$.outcome'), body ->> 'judged' FROM evaluations WHERE metric = 'coverage'": (
        (1 / 3, "scored", 3)
    ),
    "SELECT json_extract(body, '$.reason') FROM evaluations WHERE metric = 'consistency'": (FAILED.reason,),
    "SELECT value ->> 'task', value ->> 'explanation', value ->> 'sentence', value ->> 'found'"
    " FROM evaluations, json_each(body, '$.findings') WHERE json_each.key = 1": (
        ("correct", "Correct it.", "Ünïcode.", "Ann")
    ),
    "SELECT body ->> 'number', body -> 'aims', body ->> 'reason' FROM records WHERE kind = 'round' AND key LIKE '%1'": (
        (1, '["coverage"]', "coverage rose")
    ),
    "SELECT json_extract(body, '$.refinement.goals.coverage') FROM runs WHERE kind = 'refine'": (0.8,),
    "SELECT json_extract(body, '$.judging.judges[1]') FROM runs WHERE kind = 'refine'": ("j2 \U0001f600",),
    "SELECT body FROM cache WHERE key = 'verdict-2'": ("Ünïcode \U0001f600",),
    "SELECT texts.text, body -> 'notes' FROM drafts JOIN texts ON texts.id = drafts.text WHERE round = 1": (
        ("The second draft.", '["another nöte"]')
    ),
    "PRAGMA integrity_check": ("ok",),
    "PRAGMA journal_mode": ("wal",),
}


def test_a_person_can_read_it_in_plain_sqlite(tmp_path: Path) -> None:
    with Store(tmp_path / "redraft.db") as store:
        fill(store)
    with plain(tmp_path / "redraft.db") as database:
        assert {query: database.execute(query).fetchall() for query in READABLE} == {
            query: [row] for query, row in READABLE.items()
        }


# Several at once.


_JUDGE = """
import sys
from redraft.store.store import Store
from tests.store.support import evaluation, finding, pack, question
path, name, draft = sys.argv[1:]
with Store(path) as store:
    print("ready", flush=True)
    sys.stdin.readline()
    for n in range(40):
        store.judgments.keep_verdicts({f"{n} {k}": name for k in range(3)})
        store.judgments.keep(draft, evaluation(reason=name, findings=(finding(name), finding(name + "!"))))
        store.packs.add(pack(f"common {n}", questions=(question(1, name), question(2, name))), "common")
        store.packs.add(pack(f"{name} {n}"), name)
"""


@pytest.fixture
def judged_by_two(store: Store, draft: str) -> Store:
    """A database in which two processes have judged the same draft at the same time."""
    processes = [start(_JUDGE, store.address, name, draft) for name in ("ann", "ben")]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.communicate("go\n", timeout=60)
    assert [process.returncode for process in processes] == [0, 0]
    return store


@pytest.mark.slow
def test_two_processes_judge_at_once(judged_by_two: Store, draft: str) -> None:
    store = judged_by_two
    said = store.judgments.verdicts([f"{n} {k}" for n in range(40) for k in range(3)])
    assert len(said) == 120
    assert all(len({said[f"{n} {k}"] for k in range(3)}) == 1 for n in range(40)), "one process had each turn"
    last = store.judgments.of(draft)["coverage"]
    assert [one.explanation for one in last.findings] == [last.reason, f"{last.reason}!"]
    packs = [found for found, _ in store.packs.all()]
    assert len(packs) == 120
    assert all(len({one.text for one in found.questions}) == 1 for found in packs if found.id.startswith("common"))


def test_two_processes_that_build_one_pack_use_the_same(store: Store) -> None:
    """Their questions differ, and so do their names, for they are made of the questions."""
    with Store(store.address) as other:
        other.packs.add(pack("b"), "key")
        time.sleep(0.01)
        store.packs.add(pack("a"), "key")
        assert store.packs.find(BOOK, "key") == other.packs.find(BOOK, "key") == pack("b")


@pytest.mark.slow
def test_threads_take_turns_at_judging(store: Store, draft: str) -> None:
    def work(n: int) -> None:
        store.judgments.keep_verdicts({"common": str(n), f"own {n}": str(n)})
        store.judgments.keep(draft, evaluation(version=n, findings=(finding(str(n)),)))
        store.judgments.keep_round(RUN, Round(n, draft))
        assert store.judgments.verdicts([f"own {n}"]) == {f"own {n}": str(n)}

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(100)))
    last = store.judgments.of(draft)["coverage"]
    assert last == evaluation(version=last.version, findings=(finding(str(last.version)),))
    assert [one.number for one in store.judgments.rounds(RUN)] == list(range(100))
