"""The schema, as numbered steps. A step that has been released is never changed; a new one is added below it."""

from __future__ import annotations

# Texts by content, documents and their chunks, runs with drafts and pieces, and the ledger of calls.
_FOUNDATION = (
    """
    CREATE TABLE texts (
        id TEXT PRIMARY KEY,
        text TEXT NOT NULL
    ) STRICT
    """,
    """
    CREATE TABLE documents (
        id TEXT PRIMARY KEY REFERENCES texts(id),
        title TEXT NOT NULL,
        source TEXT NOT NULL,
        encoding TEXT NOT NULL,
        characters INTEGER NOT NULL,
        sections TEXT NOT NULL,
        added TEXT NOT NULL
    ) STRICT
    """,
    """
    CREATE TABLE chunks (
        document TEXT NOT NULL REFERENCES documents(id),
        tokenizer TEXT NOT NULL,
        budget INTEGER NOT NULL,
        idx INTEGER NOT NULL,
        start INTEGER NOT NULL,
        "end" INTEGER NOT NULL,
        tokens INTEGER NOT NULL,
        PRIMARY KEY (document, tokenizer, budget, idx)
    ) STRICT, WITHOUT ROWID
    """,
    """
    CREATE TABLE runs (
        id TEXT PRIMARY KEY,
        identity TEXT NOT NULL,
        document TEXT NOT NULL REFERENCES documents(id),
        settings TEXT NOT NULL,
        limits TEXT NOT NULL,
        prompt_hashes TEXT NOT NULL,
        tokenizer TEXT NOT NULL,
        version TEXT NOT NULL,
        status TEXT NOT NULL,
        stop_reason TEXT,
        error TEXT,
        draft TEXT REFERENCES drafts(id),
        seconds REAL NOT NULL DEFAULT 0,
        created TEXT NOT NULL,
        updated TEXT NOT NULL
    ) STRICT
    """,
    """
    CREATE TABLE drafts (
        id TEXT PRIMARY KEY,
        run TEXT NOT NULL REFERENCES runs(id),
        round INTEGER NOT NULL,
        node TEXT NOT NULL,
        text TEXT NOT NULL REFERENCES texts(id),
        words INTEGER NOT NULL,
        notes TEXT NOT NULL,
        created TEXT NOT NULL
    ) STRICT
    """,
    """
    CREATE TABLE pieces (
        run TEXT NOT NULL REFERENCES runs(id),
        level INTEGER NOT NULL,
        idx INTEGER NOT NULL,
        first_chunk INTEGER NOT NULL,
        last_chunk INTEGER NOT NULL,
        text TEXT NOT NULL REFERENCES texts(id),
        words INTEGER NOT NULL,
        tokens INTEGER NOT NULL,
        word_limit INTEGER NOT NULL,
        attempts INTEGER NOT NULL,
        flaw TEXT NOT NULL,
        PRIMARY KEY (run, level, idx)
    ) STRICT, WITHOUT ROWID
    """,
    """
    CREATE TABLE gaps (
        run TEXT NOT NULL REFERENCES runs(id),
        chunk INTEGER NOT NULL,
        code TEXT NOT NULL,
        reason TEXT NOT NULL,
        PRIMARY KEY (run, chunk)
    ) STRICT, WITHOUT ROWID
    """,
    """
    CREATE TABLE calls (
        id INTEGER PRIMARY KEY,
        run TEXT REFERENCES runs(id),
        key TEXT NOT NULL,
        model TEXT NOT NULL,
        prompt TEXT NOT NULL,
        prompt_hash TEXT NOT NULL,
        label TEXT NOT NULL,
        sample INTEGER NOT NULL,
        temperature REAL NOT NULL,
        max_tokens INTEGER,
        attempt INTEGER NOT NULL,
        outcome TEXT NOT NULL,
        error TEXT NOT NULL,
        finish_reason TEXT NOT NULL,
        reply TEXT REFERENCES texts(id),
        prompt_tokens INTEGER NOT NULL,
        completion_tokens INTEGER NOT NULL,
        cached_prompt_tokens INTEGER NOT NULL,
        reasoning_tokens INTEGER NOT NULL,
        usage_reported INTEGER NOT NULL,
        cost_usd REAL,
        seconds REAL NOT NULL,
        started TEXT NOT NULL
    ) STRICT
    """,
    "CREATE UNIQUE INDEX calls_answer ON calls(key) WHERE outcome = 'ok'",
    "CREATE INDEX calls_run ON calls(run)",
    """
    CREATE TABLE uses (
        run TEXT NOT NULL REFERENCES runs(id),
        call INTEGER NOT NULL REFERENCES calls(id),
        PRIMARY KEY (run, call)
    ) STRICT, WITHOUT ROWID
    """,
)

# Packs, evaluations with their findings, rounds of refinement, and the verdicts on single items.
_JUDGING = (
    "CREATE INDEX calls_unreadable ON calls(key) WHERE outcome = 'unreadable'",
    "ALTER TABLE runs ADD COLUMN judging TEXT",
    "ALTER TABLE runs ADD COLUMN refinement TEXT",
    "ALTER TABLE runs ADD COLUMN parent TEXT",
    """
    CREATE TABLE packs (
        id TEXT PRIMARY KEY,
        document TEXT NOT NULL REFERENCES documents(id),
        key TEXT NOT NULL,
        model TEXT NOT NULL,
        prompt_hashes TEXT NOT NULL,
        imported INTEGER NOT NULL,
        created TEXT NOT NULL
    ) STRICT
    """,
    "CREATE INDEX packs_document ON packs(document, key)",
    """
    CREATE TABLE questions (
        pack TEXT NOT NULL REFERENCES packs(id),
        rank INTEGER NOT NULL,
        question TEXT NOT NULL,
        kind TEXT NOT NULL,
        answer TEXT NOT NULL,
        evidence TEXT NOT NULL,
        start INTEGER,
        "end" INTEGER,
        position REAL NOT NULL,
        PRIMARY KEY (pack, rank)
    ) STRICT, WITHOUT ROWID
    """,
    """
    CREATE TABLE evaluations (
        id INTEGER PRIMARY KEY,
        draft TEXT NOT NULL REFERENCES drafts(id),
        metric TEXT NOT NULL,
        version INTEGER NOT NULL,
        outcome TEXT NOT NULL,
        score REAL,
        judged INTEGER NOT NULL,
        unjudged INTEGER NOT NULL,
        reason TEXT NOT NULL,
        held TEXT NOT NULL,
        details TEXT NOT NULL,
        created TEXT NOT NULL,
        UNIQUE (draft, metric)
    ) STRICT
    """,
    """
    CREATE TABLE findings (
        evaluation INTEGER NOT NULL REFERENCES evaluations(id) ON DELETE CASCADE,
        idx INTEGER NOT NULL,
        id TEXT NOT NULL,
        kind TEXT NOT NULL,
        task TEXT NOT NULL,
        explanation TEXT NOT NULL,
        sentence TEXT NOT NULL,
        question TEXT NOT NULL,
        found TEXT NOT NULL,
        expected TEXT NOT NULL,
        evidence TEXT,
        start INTEGER,
        "end" INTEGER,
        PRIMARY KEY (evaluation, idx)
    ) STRICT, WITHOUT ROWID
    """,
    """
    CREATE TABLE rounds (
        run TEXT NOT NULL REFERENCES runs(id),
        number INTEGER NOT NULL,
        draft TEXT NOT NULL REFERENCES drafts(id),
        base TEXT REFERENCES drafts(id),
        aims TEXT NOT NULL,
        findings TEXT NOT NULL,
        accepted INTEGER,
        reason TEXT NOT NULL,
        PRIMARY KEY (run, number)
    ) STRICT, WITHOUT ROWID
    """,
    """
    CREATE TABLE verdicts (
        key TEXT PRIMARY KEY,
        verdict TEXT NOT NULL,
        created TEXT NOT NULL
    ) STRICT, WITHOUT ROWID
    """,
)

# Trees of key facts.
_KEYFACTS = (
    "CREATE INDEX runs_identity ON runs(identity)",
    """
    CREATE TABLE keyfacts (
        id TEXT PRIMARY KEY,
        document TEXT NOT NULL REFERENCES documents(id),
        key TEXT NOT NULL,
        builder TEXT NOT NULL,
        validator TEXT NOT NULL,
        prompt_hashes TEXT NOT NULL,
        missing TEXT NOT NULL,
        imported INTEGER NOT NULL,
        created TEXT NOT NULL
    ) STRICT
    """,
    "CREATE INDEX keyfacts_document ON keyfacts(document, key)",
    """
    CREATE TABLE trees (
        keyfacts TEXT NOT NULL REFERENCES keyfacts(id),
        idx INTEGER NOT NULL,
        chunk INTEGER NOT NULL,
        perspective TEXT NOT NULL,
        start INTEGER NOT NULL,
        "end" INTEGER NOT NULL,
        position REAL NOT NULL,
        query TEXT NOT NULL,
        PRIMARY KEY (keyfacts, idx)
    ) STRICT, WITHOUT ROWID
    """,
    """
    CREATE TABLE facts (
        keyfacts TEXT NOT NULL,
        tree INTEGER NOT NULL,
        id INTEGER NOT NULL,
        level TEXT NOT NULL,
        parent INTEGER,
        fact TEXT NOT NULL,
        evidence TEXT NOT NULL,
        start INTEGER,
        "end" INTEGER,
        objections TEXT NOT NULL,
        PRIMARY KEY (keyfacts, tree, id),
        FOREIGN KEY (keyfacts, tree) REFERENCES trees(keyfacts, idx)
    ) STRICT, WITHOUT ROWID
    """,
)

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

STEPS = {
    "m001_texts_runs_calls": _FOUNDATION,
    "m002_judging": _JUDGING,
    "m003_keyfacts": _KEYFACTS,
    "m004_kinds": _KINDS,
    "m005_reasons": _REASONS,
    "m006_bookings": _BOOKINGS,
    "m007_holes": _HOLES,
    "m008_output": _OUTPUT,
    "m009_manners": _MANNERS,
    "m010_agreements": _AGREEMENTS,
}
"""The statements of each, by the name under which a database has it on record."""
