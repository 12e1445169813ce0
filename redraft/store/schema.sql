-- The schema for SQLite. For a PostgreSQL server `postgres.py` replaces types and the frames of triggers.
-- `body` is a record as JSON; the other columns are what is searched, summed or shown in lists. Moments are ISO 8601 in
-- UTC, truth is 0 or 1.

-- Every text once: documents, partial summaries, drafts and replies refer to it by the hash of its content.
CREATE TABLE texts (
    id TEXT PRIMARY KEY,
    text TEXT NOT NULL
) STRICT;

CREATE TABLE documents (
    id TEXT PRIMARY KEY REFERENCES texts(id),
    title TEXT NOT NULL,
    characters INTEGER NOT NULL,
    notes TEXT NOT NULL,                        -- what the reader left out, in sentences
    added TEXT NOT NULL,
    body TEXT NOT NULL
) STRICT;

-- What belongs to a document: question packs, key facts, and rulings on findings.
CREATE TABLE artifacts (
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    document TEXT NOT NULL REFERENCES documents(id) ON DELETE CASCADE,
    key TEXT NOT NULL DEFAULT '',               -- hash of what it was made from
    imported INTEGER NOT NULL DEFAULT 0,        -- 0 if made here; otherwise the highest is preferred
    created TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (kind, id, document)
) STRICT;
CREATE INDEX artifacts_document ON artifacts(document, kind, key);

-- What can be computed again: verdicts on items, the sources of a text's sentences, vectors of a document's sentences.
CREATE TABLE cache (
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    owner TEXT NOT NULL,                        -- the document or text with which it is deleted
    body TEXT NOT NULL,
    PRIMARY KEY (kind, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX cache_owner ON cache(owner);

-- What is known whatever the document: prompts by hash, capabilities of models, and which texts a person added.
CREATE TABLE knowledge (
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (kind, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE runs (
    id TEXT PRIMARY KEY,
    identity TEXT NOT NULL,                     -- hash of the request: equal requests have the same
    document TEXT NOT NULL REFERENCES documents(id),
    kind TEXT NOT NULL,                         -- summarize, evaluate, refine, compare, pack, ...
    status TEXT NOT NULL,                       -- running, waiting, done, stopped, failed or interrupted
    experiment TEXT,
    draft TEXT,                                 -- the result so far
    seconds REAL NOT NULL,                      -- over all resumptions
    created TEXT NOT NULL,
    updated TEXT NOT NULL,
    body TEXT NOT NULL
) STRICT;
CREATE INDEX runs_identity ON runs(identity);
CREATE INDEX runs_document ON runs(document);

CREATE TABLE drafts (
    id TEXT PRIMARY KEY,
    run TEXT NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
    round INTEGER NOT NULL,
    text TEXT NOT NULL REFERENCES texts(id),
    words INTEGER NOT NULL,
    body TEXT NOT NULL
) STRICT;
CREATE INDEX drafts_run ON drafts(run);
CREATE INDEX drafts_text ON drafts(text);

-- What else a run records: its chunks or chapters, partial summaries, what each text was made from, gaps, rounds, texts
-- that only its checkpoints name, and a person's opinions on findings.
CREATE TABLE records (
    run TEXT NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    text TEXT REFERENCES texts(id),             -- of a partial summary, or one that another was made from
    part TEXT REFERENCES runs(id) ON DELETE SET NULL, -- the run of a chapter
    body TEXT NOT NULL,
    PRIMARY KEY (run, kind, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX records_text ON records(text) WHERE text IS NOT NULL;
CREATE INDEX records_part ON records(part) WHERE part IS NOT NULL;

-- What a metric says of a draft, with its findings.
CREATE TABLE evaluations (
    draft TEXT NOT NULL REFERENCES drafts(id) ON DELETE CASCADE,
    metric TEXT NOT NULL,
    score REAL,                                 -- NULL where there is none: a failure is not 0
    body TEXT NOT NULL,
    PRIMARY KEY (draft, metric)
) STRICT;

-- Every attempt at a call. An answer (outcome ok) is reused for the same request: calls with one key ask the same.
CREATE TABLE calls (
    id INTEGER PRIMARY KEY,
    run TEXT REFERENCES runs(id) ON DELETE SET NULL, -- NULL once the run is forgotten
    key TEXT NOT NULL,
    model TEXT NOT NULL,
    prompt TEXT NOT NULL,
    label TEXT NOT NULL,
    outcome TEXT NOT NULL,
    error TEXT NOT NULL,
    finish_reason TEXT NOT NULL,
    max_tokens INTEGER,
    reply TEXT REFERENCES texts(id),
    prompt_tokens INTEGER NOT NULL,
    cached_prompt_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    lost_tokens INTEGER NOT NULL,               -- what it may take at most, while that is unknown
    cost_usd REAL,                              -- NULL without a price
    booked_usd REAL,                            -- what it counts against a budget from the moment it is sent
    seconds REAL NOT NULL,
    started TEXT NOT NULL,
    body TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX calls_answer ON calls(key) WHERE outcome = 'ok';
CREATE INDEX calls_unreadable ON calls(key) WHERE outcome = 'unreadable';
CREATE INDEX calls_sent ON calls(key) WHERE outcome = 'sent';
CREATE INDEX calls_left ON calls(key) WHERE outcome IN ('lost', 'cancelled');
CREATE INDEX calls_run ON calls(run, outcome, booked_usd);
CREATE INDEX calls_reply ON calls(reply);

-- The parts of messages, each once: calls share the document, instructions, summaries and findings.
CREATE TABLE message_texts (
    id TEXT PRIMARY KEY,                        -- hash of the text
    body BLOB NOT NULL                          -- UTF-8, compressed with zlib
) STRICT;

-- The messages of each call in order, cut into parts.
CREATE TABLE messages (
    call INTEGER NOT NULL REFERENCES calls(id) ON DELETE CASCADE,
    idx INTEGER NOT NULL,
    role TEXT NOT NULL,                         -- user, assistant or schema
    text TEXT NOT NULL,                         -- in message_texts
    PRIMARY KEY (call, idx)
) STRICT, WITHOUT ROWID;
CREATE INDEX messages_text ON messages(text);

-- Answers that a run has used, its own and those of other runs.
CREATE TABLE uses (
    run TEXT NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
    call INTEGER NOT NULL REFERENCES calls(id) ON DELETE CASCADE,
    PRIMARY KEY (run, call)
) STRICT, WITHOUT ROWID;
CREATE INDEX uses_call ON uses(call);

-- Which runs draw on one budget.
CREATE TABLE budget_runs (
    budget TEXT NOT NULL,
    run TEXT NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
    PRIMARY KEY (budget, run)
) STRICT, WITHOUT ROWID;
CREATE INDEX budget_runs_run ON budget_runs(run);

-- What a budget has spent. Triggers keep it the sum of its runs' calls, but for those that the provider turned away.
CREATE TABLE budget_sums (
    budget TEXT PRIMARY KEY,
    calls INTEGER NOT NULL,
    usd REAL NOT NULL,                          -- whole trillionths of a dollar: exact in any order below 9,000 dollars
    unpriced INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TRIGGER call_added AFTER INSERT ON calls BEGIN
    UPDATE budget_sums SET calls = calls + 1,
        usd = usd + round(coalesce(new.booked_usd, 0) * 1000000000000),
        unpriced = unpriced + CASE WHEN new.booked_usd IS NULL THEN 1 ELSE 0 END
    WHERE new.outcome NOT IN ('rate_limited', 'unsupported') AND budget IN (SELECT budget FROM budget_runs WHERE run = new.run);
END;

CREATE TRIGGER call_removed AFTER DELETE ON calls BEGIN
    UPDATE budget_sums SET calls = calls - 1,
        usd = usd - round(coalesce(old.booked_usd, 0) * 1000000000000),
        unpriced = unpriced - CASE WHEN old.booked_usd IS NULL THEN 1 ELSE 0 END
    WHERE old.outcome NOT IN ('rate_limited', 'unsupported') AND budget IN (SELECT budget FROM budget_runs WHERE run = old.run);
END;

CREATE TRIGGER call_changed AFTER UPDATE OF run, outcome, booked_usd ON calls BEGIN
    UPDATE budget_sums SET calls = calls - 1,
        usd = usd - round(coalesce(old.booked_usd, 0) * 1000000000000),
        unpriced = unpriced - CASE WHEN old.booked_usd IS NULL THEN 1 ELSE 0 END
    WHERE old.outcome NOT IN ('rate_limited', 'unsupported') AND budget IN (SELECT budget FROM budget_runs WHERE run = old.run);
    UPDATE budget_sums SET calls = calls + 1,
        usd = usd + round(coalesce(new.booked_usd, 0) * 1000000000000),
        unpriced = unpriced + CASE WHEN new.booked_usd IS NULL THEN 1 ELSE 0 END
    WHERE new.outcome NOT IN ('rate_limited', 'unsupported') AND budget IN (SELECT budget FROM budget_runs WHERE run = new.run);
END;

CREATE TRIGGER run_added AFTER INSERT ON budget_runs BEGIN
    INSERT INTO budget_sums VALUES (new.budget, 0, 0, 0) ON CONFLICT DO NOTHING;
    UPDATE budget_sums SET calls = calls + (SELECT count(*) FROM calls c
            WHERE c.run = new.run AND c.outcome NOT IN ('rate_limited', 'unsupported')),
        usd = usd + (SELECT coalesce(sum(round(coalesce(c.booked_usd, 0) * 1000000000000)), 0) FROM calls c
            WHERE c.run = new.run AND c.outcome NOT IN ('rate_limited', 'unsupported')),
        unpriced = unpriced + (SELECT coalesce(sum(CASE WHEN c.booked_usd IS NULL THEN 1 ELSE 0 END), 0) FROM calls c
            WHERE c.run = new.run AND c.outcome NOT IN ('rate_limited', 'unsupported'))
    WHERE budget = new.budget;
END;

CREATE TRIGGER run_removed AFTER DELETE ON budget_runs BEGIN
    UPDATE budget_sums SET calls = calls - (SELECT count(*) FROM calls c
            WHERE c.run = old.run AND c.outcome NOT IN ('rate_limited', 'unsupported')),
        usd = usd - (SELECT coalesce(sum(round(coalesce(c.booked_usd, 0) * 1000000000000)), 0) FROM calls c
            WHERE c.run = old.run AND c.outcome NOT IN ('rate_limited', 'unsupported')),
        unpriced = unpriced - (SELECT coalesce(sum(CASE WHEN c.booked_usd IS NULL THEN 1 ELSE 0 END), 0) FROM calls c
            WHERE c.run = old.run AND c.outcome NOT IN ('rate_limited', 'unsupported'))
    WHERE budget = old.budget;
    DELETE FROM budget_sums WHERE budget = old.budget AND NOT EXISTS (SELECT 1 FROM budget_runs WHERE budget = old.budget);
END;

-- The requests of the last minute, by which rate limits are kept across processes.
CREATE TABLE rate_limits (
    limiter TEXT NOT NULL,                      -- provider and budget
    at REAL NOT NULL,
    tokens INTEGER NOT NULL
) STRICT;
CREATE INDEX rate_limits_at ON rate_limits(at, limiter, tokens);

CREATE TABLE batches (
    name TEXT PRIMARY KEY,
    status TEXT NOT NULL,
    created TEXT NOT NULL,
    updated TEXT NOT NULL,
    body TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The documents of a batch. A worker holds an item until a moment, which it puts off as long as it lives.
CREATE TABLE items (
    batch TEXT NOT NULL REFERENCES batches(name),
    idx INTEGER NOT NULL,
    source TEXT NOT NULL,
    document TEXT REFERENCES documents(id) ON DELETE CASCADE,
    file TEXT NOT NULL,                         -- the name of the summary in the folder
    priority INTEGER NOT NULL,
    state TEXT NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    worker TEXT,
    until REAL,
    deaths INTEGER NOT NULL DEFAULT 0,          -- how many workers ended while they held it
    answers INTEGER NOT NULL DEFAULT 0,
    run TEXT REFERENCES runs(id) ON DELETE CASCADE,
    short INTEGER NOT NULL DEFAULT 0,           -- whether the run fell short of what was asked
    error TEXT,
    PRIMARY KEY (batch, idx)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX items_source ON items(batch, source);
CREATE UNIQUE INDEX items_file ON items(batch, lower(file));
CREATE INDEX items_order ON items(batch, state, priority DESC, attempts, idx, short);
CREATE INDEX items_run ON items(run);
CREATE INDEX items_document ON items(document);
