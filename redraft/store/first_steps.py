"""The first steps of the schema, on which the later ones rest."""

from __future__ import annotations

# Texts by content, documents and their chunks, runs with drafts and pieces, and the ledger of calls.
FOUNDATION = (
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
JUDGING = (
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
KEYFACTS = (
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
