"""The schema, as numbered steps. A step that has been released is never changed; a new one is added below it."""

from __future__ import annotations

from redraft.store import pot_sums
from redraft.store.first_steps import FOUNDATION, JUDGING, KEYFACTS

# What each run is for, whose verdicts are whose, and indexes for all that `forget` follows.
_KINDS = (
    "ALTER TABLE runs ADD COLUMN kind TEXT NOT NULL DEFAULT ''",
    # Until now it followed from how the run judges.
    """
    UPDATE runs SET kind = CASE
        WHEN refinement IS NOT NULL THEN 'refine'
        WHEN judging IS NULL THEN 'summarize'
        WHEN json_array_length(judging, '$.metrics') > 0 THEN 'evaluate'
        ELSE CASE json_extract(judging, '$.build')
            WHEN 'keyfacts' THEN 'keyfacts'
            WHEN 'marks' THEN 'chunk-size'
            WHEN 'annotations' THEN 'booookscore'
            WHEN 'preference' THEN 'compare'
            ELSE 'pack'
        END
    END
    """,
    "UPDATE runs SET judging = json_remove(judging, '$.build') WHERE judging IS NOT NULL",
    "ALTER TABLE verdicts ADD COLUMN document TEXT NOT NULL DEFAULT ''",
    "CREATE INDEX verdicts_document ON verdicts(document)",
    "CREATE INDEX runs_document ON runs(document)",
    "CREATE INDEX runs_draft ON runs(draft)",
    "CREATE INDEX drafts_run ON drafts(run)",
    "CREATE INDEX drafts_text ON drafts(text)",
    "CREATE INDEX pieces_text ON pieces(text)",
    "CREATE INDEX calls_reply ON calls(reply)",
    "CREATE INDEX uses_call ON uses(call)",
    "CREATE INDEX rounds_draft ON rounds(draft)",
    "CREATE INDEX rounds_base ON rounds(base)",
)

# Why a model that leads the refinement decided so, what it told the reviser; and which experiment made a run.
_REASONS = (
    "ALTER TABLE rounds ADD COLUMN why TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE rounds ADD COLUMN instruction TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE runs ADD COLUMN why TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE runs ADD COLUMN experiment TEXT",
)

# What a call counts as against a budget from the moment that it is booked, and which runs draw on one budget.
_BOOKINGS = (
    "ALTER TABLE calls ADD COLUMN most_tokens INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE calls ADD COLUMN booked_usd REAL",
    "UPDATE calls SET booked_usd = cost_usd",
    # All that is added up at each booking is in the index.
    "DROP INDEX calls_run",
    "CREATE INDEX calls_run ON calls(run, outcome, booked_usd)",
    "CREATE INDEX calls_sent ON calls(key) WHERE outcome = 'sent'",
    """
    CREATE TABLE pots (
        pot TEXT NOT NULL,
        run TEXT NOT NULL REFERENCES runs(id),
        PRIMARY KEY (pot, run)
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX pots_run ON pots(run)",
)

# What a pack of questions lacks, as key facts have it.
_HOLES = ("ALTER TABLE packs ADD COLUMN missing TEXT NOT NULL DEFAULT '[]'",)

# Where a summary is to be written, for whoever goes on with the run.
_OUTPUT = ("ALTER TABLE runs ADD COLUMN output TEXT",)

# What the replies of a model are like. It is of no document and of no run.
_MANNERS = (
    """
    CREATE TABLE manners (
        model TEXT PRIMARY KEY,
        mode TEXT,
        reasoning_tokens INTEGER,
        learned TEXT NOT NULL
    ) STRICT, WITHOUT ROWID
    """,
)

# How far judges were found to agree with people. It is of no document and of no run.
_AGREEMENTS = (
    """
    CREATE TABLE agreements (
        judge TEXT NOT NULL,
        metric TEXT NOT NULL,
        version INTEGER NOT NULL,
        prompts TEXT NOT NULL,
        terms TEXT NOT NULL,
        dataset TEXT NOT NULL,
        human TEXT NOT NULL,
        level TEXT NOT NULL,
        measure TEXT NOT NULL,
        n INTEGER NOT NULL,
        value REAL NOT NULL,
        low REAL,
        high REAL,
        measured TEXT NOT NULL,
        PRIMARY KEY (judge, metric, version, prompts, terms, dataset, human, level, measure)
    ) STRICT, WITHOUT ROWID
    """,
)

# What every text was made from, which pieces are worked on again, and where their sentences were found to come from;
# the embeddings of a document's sentences, by how it was cut and by the weights of the model.
_PARENTS = (
    """
    CREATE TABLE pieces_with_steps (
        run TEXT NOT NULL REFERENCES runs(id),
        level INTEGER NOT NULL,
        idx INTEGER NOT NULL,
        step INTEGER NOT NULL,
        first_chunk INTEGER NOT NULL,
        last_chunk INTEGER NOT NULL,
        text TEXT NOT NULL REFERENCES texts(id),
        words INTEGER NOT NULL,
        tokens INTEGER NOT NULL,
        word_limit INTEGER NOT NULL,
        attempts INTEGER NOT NULL,
        flaw TEXT NOT NULL,
        PRIMARY KEY (run, level, idx, step)
    ) STRICT, WITHOUT ROWID
    """,
    """
    INSERT INTO pieces_with_steps
    SELECT run, level, idx, 0, first_chunk, last_chunk, text, words, tokens, word_limit, attempts, flaw FROM pieces
    """,
    "DROP TABLE pieces",
    "ALTER TABLE pieces_with_steps RENAME TO pieces",
    "CREATE INDEX pieces_text ON pieces(text)",
    """
    CREATE TABLE parents (
        run TEXT NOT NULL REFERENCES runs(id),
        child TEXT NOT NULL,
        ordinal INTEGER NOT NULL,
        kind TEXT NOT NULL,
        node TEXT NOT NULL,
        text TEXT NOT NULL REFERENCES texts(id),
        start INTEGER NOT NULL,
        "end" INTEGER NOT NULL,
        PRIMARY KEY (run, child, ordinal)
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX parents_text ON parents(text)",
    """
    CREATE TABLE links (
        key TEXT PRIMARY KEY,
        child TEXT NOT NULL REFERENCES texts(id),
        found TEXT NOT NULL
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX links_child ON links(child)",
    """
    CREATE TABLE embeddings (
        document TEXT NOT NULL REFERENCES documents(id),
        cut TEXT NOT NULL,
        weights TEXT NOT NULL,
        vectors BLOB NOT NULL,
        PRIMARY KEY (document, cut, weights)
    ) STRICT, WITHOUT ROWID
    """,
)

_PROMPT_TEXTS = (
    """
    CREATE TABLE prompts (
        hash TEXT PRIMARY KEY,
        name TEXT NOT NULL,
        text TEXT NOT NULL
    ) STRICT, WITHOUT ROWID
    """,
)

# What a person says of what was found wrong, one word for each finding of a run.
_OPINIONS = (
    """
    CREATE TABLE opinions (
        run TEXT NOT NULL REFERENCES runs(id),
        finding TEXT NOT NULL,
        draft TEXT NOT NULL REFERENCES drafts(id),
        agrees INTEGER NOT NULL,
        note TEXT NOT NULL,
        said TEXT NOT NULL,
        PRIMARY KEY (run, finding)
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX opinions_draft ON opinions(draft)",
)

# What a model that leads the refinement has looked up before each of its decisions.
_LOOKUPS = (
    """
    CREATE TABLE lookups (
        run TEXT NOT NULL REFERENCES runs(id),
        round INTEGER NOT NULL,
        idx INTEGER NOT NULL,
        asked TEXT NOT NULL,
        found INTEGER NOT NULL,
        said TEXT NOT NULL,
        PRIMARY KEY (run, round, idx)
    ) STRICT, WITHOUT ROWID
    """,
)

# Questions of four types about the thirds of a document.
_TYPED = (
    """
    CREATE TABLE typed_packs (
        id TEXT PRIMARY KEY,
        document TEXT NOT NULL REFERENCES documents(id),
        key TEXT NOT NULL,
        model TEXT NOT NULL,
        prompt_hashes TEXT NOT NULL,
        span_end INTEGER NOT NULL,
        missing TEXT NOT NULL,
        imported INTEGER NOT NULL,
        created TEXT NOT NULL
    ) STRICT
    """,
    "CREATE INDEX typed_packs_document ON typed_packs(document, key)",
    """
    CREATE TABLE typed_questions (
        pack TEXT NOT NULL REFERENCES typed_packs(id),
        rank INTEGER NOT NULL,
        type TEXT NOT NULL,
        question TEXT NOT NULL,
        answer TEXT NOT NULL,
        reason TEXT NOT NULL,
        start INTEGER NOT NULL,
        "end" INTEGER NOT NULL,
        PRIMARY KEY (pack, rank)
    ) STRICT, WITHOUT ROWID
    """,
)

# The pages of a document, its notes and the like; what was left out of it; the language that it says it is in.
_MARKS = (
    "ALTER TABLE documents ADD COLUMN marks TEXT NOT NULL DEFAULT '[]'",
    "ALTER TABLE documents ADD COLUMN notes TEXT NOT NULL DEFAULT '[]'",
    "ALTER TABLE documents ADD COLUMN language TEXT NOT NULL DEFAULT ''",
)

# The parts of a document that are summarized each by a run of its own, and the run that makes one summary of theirs.
_CHAPTERS = (
    """
    CREATE TABLE chapters (
        whole TEXT NOT NULL REFERENCES runs(id),
        idx INTEGER NOT NULL,
        title TEXT NOT NULL,
        start INTEGER NOT NULL,
        "end" INTEGER NOT NULL,
        tokens INTEGER NOT NULL,
        run TEXT REFERENCES runs(id),
        PRIMARY KEY (whole, idx)
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX chapters_run ON chapters(run)",
)

# Many documents under one order: who is at which of them, and what became of each; who has asked in the last minute.
_BATCHES = (
    """
    CREATE TABLE batches (
        name TEXT PRIMARY KEY,
        asked TEXT NOT NULL,
        limits TEXT NOT NULL,
        folder TEXT NOT NULL,
        status TEXT NOT NULL,
        error TEXT,
        created TEXT NOT NULL,
        updated TEXT NOT NULL
    ) STRICT, WITHOUT ROWID
    """,
    """
    CREATE TABLE items (
        batch TEXT NOT NULL REFERENCES batches(name),
        idx INTEGER NOT NULL,
        source TEXT NOT NULL,
        document TEXT REFERENCES documents(id),
        file TEXT NOT NULL COLLATE NOCASE,
        priority INTEGER NOT NULL,
        state TEXT NOT NULL,
        attempts INTEGER NOT NULL DEFAULT 0,
        worker TEXT,
        until REAL,
        deaths INTEGER NOT NULL DEFAULT 0,
        answers INTEGER NOT NULL DEFAULT 0,
        run TEXT REFERENCES runs(id),
        short INTEGER NOT NULL DEFAULT 0,
        error TEXT,
        PRIMARY KEY (batch, idx)
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE UNIQUE INDEX items_source ON items(batch, source)",
    "CREATE UNIQUE INDEX items_file ON items(batch, file)",
    "CREATE INDEX items_turn ON items(batch, state, priority DESC, attempts, idx)",
    "CREATE INDEX items_run ON items(run)",
    "CREATE INDEX items_document ON items(document)",
    """
    CREATE TABLE turns (
        gate TEXT NOT NULL,
        at REAL NOT NULL,
        tokens INTEGER NOT NULL
    ) STRICT
    """,
    "CREATE INDEX turns_at ON turns(at, gate, tokens)",
)

_JOBS = (
    """
    CREATE TABLE jobs (
        id TEXT PRIMARY KEY,
        address TEXT NOT NULL,
        name TEXT,
        begun TEXT NOT NULL
    ) STRICT
    """,
    """
    CREATE TABLE job_lines (
        attempt TEXT NOT NULL,
        job TEXT NOT NULL REFERENCES jobs(id),
        call TEXT NOT NULL,
        PRIMARY KEY (attempt, job)
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX job_lines_job ON job_lines(job)",
    "CREATE INDEX calls_of_job_lines ON job_lines(call)",
    "CREATE INDEX calls_left ON calls(key) WHERE outcome IN ('lost', 'cancelled')",
)

# Calls of a run that other workers of its batch may make.
_ERRANDS = (
    """
    CREATE TABLE errands (
        run TEXT NOT NULL REFERENCES runs(id),
        key TEXT NOT NULL,
        batch TEXT NOT NULL,
        asker TEXT NOT NULL,
        request TEXT NOT NULL,
        first INTEGER NOT NULL,
        state TEXT NOT NULL,
        helper TEXT,
        until REAL,
        failure TEXT,
        PRIMARY KEY (run, key)
    ) STRICT
    """,
    "CREATE INDEX errands_asker ON errands(asker)",
    "CREATE INDEX errands_open ON errands(batch, state)",
    "CREATE INDEX errands_helper ON errands(helper) WHERE state = 'taken'",
)

# How long a call waited before it was sent, once it has ended: nothing of calls from before.
_WAITED = ("ALTER TABLE calls ADD COLUMN waited REAL",)

# What a reviser says of each point, second looks at findings, and how a refinement's first and best draft compare.
_RULINGS = (
    "ALTER TABLE rounds ADD COLUMN answers TEXT NOT NULL DEFAULT '[]'",
    """
    CREATE TABLE rulings (
        document TEXT NOT NULL,
        finding TEXT NOT NULL,
        verdict TEXT NOT NULL,
        quote TEXT NOT NULL,
        start INTEGER,
        "end" INTEGER,
        reason TEXT NOT NULL,
        judge TEXT NOT NULL,
        contested TEXT NOT NULL,
        run TEXT NOT NULL,
        round INTEGER NOT NULL,
        created TEXT NOT NULL,
        PRIMARY KEY (document, finding)
    ) STRICT, WITHOUT ROWID
    """,
    """
    CREATE TABLE final_comparisons (
        run TEXT PRIMARY KEY REFERENCES runs(id),
        first TEXT NOT NULL REFERENCES drafts(id),
        best TEXT NOT NULL REFERENCES drafts(id),
        first_won INTEGER NOT NULL,
        reason TEXT NOT NULL,
        votes TEXT NOT NULL,
        document_read INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX final_comparisons_first ON final_comparisons(first)",
    "CREATE INDEX final_comparisons_best ON final_comparisons(best)",
)

_CANDIDATES = (
    """
    CREATE TABLE candidates (
        whole TEXT NOT NULL REFERENCES runs(id),
        idx INTEGER NOT NULL,
        run TEXT REFERENCES runs(id),
        draft TEXT REFERENCES drafts(id),
        chosen INTEGER,
        reason TEXT NOT NULL DEFAULT '',
        PRIMARY KEY (whole, idx)
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX candidates_run ON candidates(run)",
    "CREATE INDEX candidates_draft ON candidates(draft)",
)

STEPS = {
    "m001_texts_runs_calls": FOUNDATION,
    "m002_judging": JUDGING,
    "m003_keyfacts": KEYFACTS,
    "m004_kinds": _KINDS,
    "m005_reasons": _REASONS,
    "m006_bookings": _BOOKINGS,
    "m007_holes": _HOLES,
    "m008_output": _OUTPUT,
    "m009_manners": _MANNERS,
    "m010_agreements": _AGREEMENTS,
    "m011_parents": _PARENTS,
    "m012_prompts": _PROMPT_TEXTS,
    "m013_opinions": _OPINIONS,
    "m014_lookups": _LOOKUPS,
    "m015_typed": _TYPED,
    "m016_marks": _MARKS,
    "m017_chapters": _CHAPTERS,
    "m018_batches": _BATCHES,
    "m019_jobs": _JOBS,
    "m020_pot_sums": pot_sums.STEP,
    "m021_errands": _ERRANDS,
    "m022_waited": _WAITED,
    "m023_rulings": _RULINGS,
    "m024_candidates": _CANDIDATES,
}
"""The statements of each, by the name under which a database has it on record."""
