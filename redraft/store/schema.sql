-- The schema. `postgres/schema.sql` has the same for a server.
-- Lists and objects are JSON, moments ISO 8601 in UTC, truth is 0 or 1; `start` and `end` count characters.

-- Documents

-- Every text once: documents, partial summaries, drafts and replies refer to it by the hash of its content.
CREATE TABLE texts (
    id TEXT PRIMARY KEY,
    text TEXT NOT NULL
) STRICT;

CREATE TABLE documents (
    id TEXT PRIMARY KEY REFERENCES texts(id),
    title TEXT NOT NULL,
    source TEXT NOT NULL,                       -- the file or address it was read from
    encoding TEXT NOT NULL,
    characters INTEGER NOT NULL,
    sections TEXT NOT NULL,                     -- [[title, level, start, end], ...]
    added TEXT NOT NULL,
    marks TEXT NOT NULL DEFAULT '[]',           -- pages, footnotes and the like, with their places
    notes TEXT NOT NULL DEFAULT '[]',           -- what the reader left out, in sentences
    language TEXT NOT NULL DEFAULT ''           -- as the file itself declares it
) STRICT;

-- How a document is cut for a tokenizer and a budget of tokens; never changed once stored.
CREATE TABLE chunks (
    document TEXT NOT NULL REFERENCES documents(id),
    tokenizer TEXT NOT NULL,                    -- with the way of cutting
    budget INTEGER NOT NULL,
    idx INTEGER NOT NULL,
    start INTEGER NOT NULL,
    "end" INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    PRIMARY KEY (document, tokenizer, budget, idx)
) STRICT, WITHOUT ROWID;

-- Vectors of a document's sentences, by how it was cut and by the weights of the model.
CREATE TABLE embeddings (
    document TEXT NOT NULL REFERENCES documents(id),
    cut TEXT NOT NULL,
    weights TEXT NOT NULL,
    vectors BLOB NOT NULL,
    PRIMARY KEY (document, cut, weights)
) STRICT, WITHOUT ROWID;

-- Runs, and what they write

CREATE TABLE runs (
    id TEXT PRIMARY KEY,
    identity TEXT NOT NULL,                     -- hash of what is asked: the same request has the same
    document TEXT NOT NULL REFERENCES documents(id),
    settings TEXT NOT NULL,
    limits TEXT NOT NULL,
    prompt_hashes TEXT NOT NULL,
    tokenizer TEXT NOT NULL,
    version TEXT NOT NULL,                      -- of redraft
    status TEXT NOT NULL,                       -- running, waiting, done, stopped, failed or interrupted
    stop_reason TEXT,
    error TEXT,
    draft TEXT REFERENCES drafts(id),           -- the result so far
    seconds REAL NOT NULL DEFAULT 0,            -- over all resumptions
    created TEXT NOT NULL,
    updated TEXT NOT NULL,
    judging TEXT,                               -- how drafts are judged; NULL where none is
    refinement TEXT,                            -- the goals of redrafting; NULL where there is none
    parent TEXT,                                -- the run this was forked from, which may have been forgotten
    kind TEXT NOT NULL DEFAULT '',              -- summarize, evaluate, refine, compare, pack, ...
    why TEXT NOT NULL DEFAULT '',               -- a leading model's reason to stop
    experiment TEXT,
    output TEXT                                 -- the file that the summary goes to
) STRICT;
CREATE INDEX runs_identity ON runs(identity);
CREATE INDEX runs_document ON runs(document);
CREATE INDEX runs_draft ON runs(draft);

CREATE TABLE drafts (
    id TEXT PRIMARY KEY,
    run TEXT NOT NULL REFERENCES runs(id),
    round INTEGER NOT NULL,
    node TEXT NOT NULL,                         -- the step that wrote it
    text TEXT NOT NULL REFERENCES texts(id),
    words INTEGER NOT NULL,
    notes TEXT NOT NULL,
    created TEXT NOT NULL
) STRICT;
CREATE INDEX drafts_run ON drafts(run);
CREATE INDEX drafts_text ON drafts(text);

-- Partial summaries: as written (step 0), and as shortened.
CREATE TABLE pieces (
    run TEXT NOT NULL REFERENCES runs(id),
    level INTEGER NOT NULL,                     -- 0 summarizes chunks, each further level those below it
    idx INTEGER NOT NULL,
    step INTEGER NOT NULL,
    first_chunk INTEGER NOT NULL,
    last_chunk INTEGER NOT NULL,
    text TEXT NOT NULL REFERENCES texts(id),
    words INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    word_limit INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    flaw TEXT NOT NULL,                         -- what is wrong with it still; empty where nothing is
    PRIMARY KEY (run, level, idx, step)
) STRICT, WITHOUT ROWID;
CREATE INDEX pieces_text ON pieces(text);

-- Chunks that could not be summarized.
CREATE TABLE gaps (
    run TEXT NOT NULL REFERENCES runs(id),
    chunk INTEGER NOT NULL,
    code TEXT NOT NULL,
    reason TEXT NOT NULL,
    PRIMARY KEY (run, chunk)
) STRICT, WITHOUT ROWID;

-- What each piece and draft was made from, in order.
CREATE TABLE parents (
    run TEXT NOT NULL REFERENCES runs(id),
    child TEXT NOT NULL,                        -- a draft's id, or level/idx/step of a piece
    ordinal INTEGER NOT NULL,
    kind TEXT NOT NULL,
    node TEXT NOT NULL,
    text TEXT NOT NULL REFERENCES texts(id),
    start INTEGER NOT NULL,
    "end" INTEGER NOT NULL,
    PRIMARY KEY (run, child, ordinal)
) STRICT, WITHOUT ROWID;
CREATE INDEX parents_text ON parents(text);

-- Where the sentences of a text were found to come from; a cache.
CREATE TABLE links (
    key TEXT PRIMARY KEY,
    child TEXT NOT NULL REFERENCES texts(id),
    found TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX links_child ON links(child);

-- The parts of a document that runs of their own summarize, and the run that makes one summary of them.
CREATE TABLE chapters (
    whole TEXT NOT NULL REFERENCES runs(id),
    idx INTEGER NOT NULL,
    title TEXT NOT NULL,
    start INTEGER NOT NULL,
    "end" INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    run TEXT REFERENCES runs(id),               -- NULL before it has begun
    PRIMARY KEY (whole, idx)
) STRICT, WITHOUT ROWID;
CREATE INDEX chapters_run ON chapters(run);

-- Drafts of several runs, of which a run takes the best.
CREATE TABLE candidates (
    whole TEXT NOT NULL REFERENCES runs(id),
    idx INTEGER NOT NULL,
    run TEXT REFERENCES runs(id),
    draft TEXT REFERENCES drafts(id),
    chosen INTEGER,
    reason TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (whole, idx)
) STRICT, WITHOUT ROWID;
CREATE INDEX candidates_run ON candidates(run);
CREATE INDEX candidates_draft ON candidates(draft);

-- The templates of prompts that were used, by their hash.
CREATE TABLE prompts (
    hash TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    text TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Calls of models, and budgets

-- Every attempt at a call. An answer (outcome ok) is reused by whoever asks the same: calls of one key ask the same.
CREATE TABLE calls (
    id INTEGER PRIMARY KEY,
    run TEXT REFERENCES runs(id),               -- NULL once the run is forgotten
    key TEXT NOT NULL,
    model TEXT NOT NULL,
    prompt TEXT NOT NULL,                       -- its name
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
    usage_reported INTEGER NOT NULL,            -- whether the provider gave the counts
    cost_usd REAL,                              -- NULL without a price
    seconds REAL NOT NULL,
    started TEXT NOT NULL,
    most_tokens INTEGER NOT NULL DEFAULT 0,     -- what it may take at most, known before it is sent
    booked_usd REAL,                            -- what it counts against a budget from the moment it is sent
    waited REAL                                 -- seconds before it was sent; NULL until it has ended
) STRICT;
CREATE UNIQUE INDEX calls_answer ON calls(key) WHERE outcome = 'ok';
CREATE INDEX calls_unreadable ON calls(key) WHERE outcome = 'unreadable';
CREATE INDEX calls_sent ON calls(key) WHERE outcome = 'sent';
CREATE INDEX calls_left ON calls(key) WHERE outcome IN ('lost', 'cancelled');
CREATE INDEX calls_run ON calls(run, outcome, booked_usd);
CREATE INDEX calls_reply ON calls(reply);

-- The parts of messages that are not in the document, each once: calls share instructions, summaries and findings.
CREATE TABLE message_texts (
    id TEXT PRIMARY KEY,                        -- hash of the text
    body BLOB NOT NULL                          -- UTF-8, compressed with zlib
) STRICT;

-- The messages of each call in order, cut into parts. A stretch of the document has `start` and `end`, any other part
-- a `text`.
CREATE TABLE messages (
    call INTEGER NOT NULL REFERENCES calls(id) ON DELETE CASCADE,
    idx INTEGER NOT NULL,
    role TEXT NOT NULL,                         -- user, assistant or schema; document names the document in `text`
    text TEXT,                                  -- in message_texts
    start INTEGER,
    "end" INTEGER,
    PRIMARY KEY (call, idx)
) STRICT, WITHOUT ROWID;
CREATE INDEX messages_text ON messages(text) WHERE text IS NOT NULL;

-- Answers that a run has used, its own and those of other runs.
CREATE TABLE uses (
    run TEXT NOT NULL REFERENCES runs(id),
    call INTEGER NOT NULL REFERENCES calls(id),
    PRIMARY KEY (run, call)
) STRICT, WITHOUT ROWID;
CREATE INDEX uses_call ON uses(call);

-- Which runs draw on one budget.
CREATE TABLE budget_runs (
    budget TEXT NOT NULL,
    run TEXT NOT NULL REFERENCES runs(id),
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

-- What was learned of how a model replies: the mode of structured output, and tokens of reasoning.
CREATE TABLE capabilities (
    model TEXT PRIMARY KEY,
    mode TEXT,
    reasoning_tokens INTEGER,
    learned TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- What drafts are judged by

-- Questions about a document; frozen once stored.
CREATE TABLE packs (
    id TEXT PRIMARY KEY,
    document TEXT NOT NULL REFERENCES documents(id),
    key TEXT NOT NULL,                          -- hash of what it was made from
    model TEXT NOT NULL,
    prompt_hashes TEXT NOT NULL,
    imported INTEGER NOT NULL,                  -- 0 where built here; else the highest is the preferred one
    created TEXT NOT NULL,
    missing TEXT NOT NULL DEFAULT '[]'          -- what could not be asked, in sentences
) STRICT;
CREATE INDEX packs_document ON packs(document, key);

CREATE TABLE questions (
    pack TEXT NOT NULL REFERENCES packs(id),
    rank INTEGER NOT NULL,
    question TEXT NOT NULL,
    kind TEXT NOT NULL,
    answer TEXT NOT NULL,
    evidence TEXT NOT NULL,
    start INTEGER,                              -- of the evidence; NULL where it was not found
    "end" INTEGER,
    position REAL NOT NULL,                     -- in the document, from 0 to 1
    weight INTEGER NOT NULL,                    -- how much a summary needs the answer, from 1 to 3
    PRIMARY KEY (pack, rank)
) STRICT, WITHOUT ROWID;

-- Key facts of a document, as trees: a chunk and perspective each.
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
) STRICT;
CREATE INDEX keyfacts_document ON keyfacts(document, key);

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
) STRICT, WITHOUT ROWID;

CREATE TABLE facts (
    keyfacts TEXT NOT NULL,
    tree INTEGER NOT NULL,
    id INTEGER NOT NULL,
    level TEXT NOT NULL,
    parent INTEGER,                             -- the fact above it in the tree
    fact TEXT NOT NULL,
    evidence TEXT NOT NULL,
    start INTEGER,
    "end" INTEGER,
    objections TEXT NOT NULL,                   -- the validator's
    PRIMARY KEY (keyfacts, tree, id), FOREIGN KEY (keyfacts, tree) REFERENCES trees(keyfacts, idx)
) STRICT, WITHOUT ROWID;

-- Questions of four types about the thirds of a document.
CREATE TABLE typed_packs (
    id TEXT PRIMARY KEY,
    document TEXT NOT NULL REFERENCES documents(id),
    key TEXT NOT NULL,
    model TEXT NOT NULL,
    prompt_hashes TEXT NOT NULL,
    span_end INTEGER NOT NULL,                  -- how far the document was asked about
    missing TEXT NOT NULL,
    imported INTEGER NOT NULL,
    created TEXT NOT NULL
) STRICT;
CREATE INDEX typed_packs_document ON typed_packs(document, key);

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
) STRICT, WITHOUT ROWID;

-- What was judged

-- What a metric says of a draft.
CREATE TABLE evaluations (
    id INTEGER PRIMARY KEY,
    draft TEXT NOT NULL REFERENCES drafts(id),
    metric TEXT NOT NULL,
    version INTEGER NOT NULL,                   -- of the metric
    outcome TEXT NOT NULL,
    score REAL,                                 -- NULL where there is none: a failure is not 0
    judged INTEGER NOT NULL,
    unjudged INTEGER NOT NULL,
    reason TEXT NOT NULL,
    held TEXT NOT NULL,                         -- sentences without which the score would fall
    details TEXT NOT NULL,
    created TEXT NOT NULL,
    UNIQUE (draft, metric)
) STRICT;

CREATE TABLE findings (
    evaluation INTEGER NOT NULL REFERENCES evaluations(id) ON DELETE CASCADE,
    idx INTEGER NOT NULL,
    id TEXT NOT NULL,
    kind TEXT NOT NULL,
    task TEXT NOT NULL,                         -- what the reviser is to do
    explanation TEXT NOT NULL,
    sentence TEXT NOT NULL,
    question TEXT NOT NULL,
    found TEXT NOT NULL,
    expected TEXT NOT NULL,
    evidence TEXT,
    start INTEGER,                              -- of the evidence in the document
    "end" INTEGER,
    said_by TEXT,                               -- [judges who say so, judges with a verdict]; NULL of one judge
    read TEXT NOT NULL,                         -- what of the document was read for it
    value REAL NOT NULL,                        -- what its item counts in the score
    weight INTEGER NOT NULL,                    -- how much a summary needs what is missing, from 1 to 3; 0 elsewhere
    counts INTEGER NOT NULL,                    -- how much of the score depends on it
    missing TEXT NOT NULL,                      -- what a partial answer lacks
    PRIMARY KEY (evaluation, idx)
) STRICT, WITHOUT ROWID;

-- Verdicts on single items, by a hash of what was judged and who judged it; a cache.
CREATE TABLE verdicts (
    key TEXT PRIMARY KEY,
    verdict TEXT NOT NULL,
    created TEXT NOT NULL,
    document TEXT NOT NULL DEFAULT ''
) STRICT, WITHOUT ROWID;
CREATE INDEX verdicts_document ON verdicts(document);

-- Second looks at findings; a ruling holds for the document.
CREATE TABLE rulings (
    document TEXT NOT NULL,
    finding TEXT NOT NULL,
    verdict TEXT NOT NULL,
    quote TEXT NOT NULL,
    start INTEGER,
    "end" INTEGER,
    reason TEXT NOT NULL,
    judge TEXT NOT NULL,
    contested TEXT NOT NULL,                    -- what was said against the finding; empty where nothing was
    run TEXT NOT NULL,
    round INTEGER NOT NULL,
    created TEXT NOT NULL,
    PRIMARY KEY (document, finding)
) STRICT, WITHOUT ROWID;

-- A person's word on a finding.
CREATE TABLE opinions (
    run TEXT NOT NULL REFERENCES runs(id),
    finding TEXT NOT NULL,
    draft TEXT NOT NULL REFERENCES drafts(id),
    agrees INTEGER NOT NULL,
    note TEXT NOT NULL,
    said TEXT NOT NULL,                         -- when
    PRIMARY KEY (run, finding)
) STRICT, WITHOUT ROWID;
CREATE INDEX opinions_draft ON opinions(draft);

-- How far judges were found to agree with people.
CREATE TABLE agreements (
    judge TEXT NOT NULL,
    metric TEXT NOT NULL,
    version INTEGER NOT NULL,
    prompts TEXT NOT NULL,
    terms TEXT NOT NULL,                        -- the judge's settings
    dataset TEXT NOT NULL,
    human TEXT NOT NULL,                        -- what people were asked
    level TEXT NOT NULL,
    measure TEXT NOT NULL,
    n INTEGER NOT NULL,
    value REAL NOT NULL,
    low REAL,                                   -- the interval, where there is one
    high REAL,
    measured TEXT NOT NULL,
    PRIMARY KEY (judge, metric, version, prompts, terms, dataset, human, level, measure)
) STRICT, WITHOUT ROWID;

-- Refinement

CREATE TABLE rounds (
    run TEXT NOT NULL REFERENCES runs(id),
    number INTEGER NOT NULL,
    draft TEXT NOT NULL REFERENCES drafts(id),
    base TEXT REFERENCES drafts(id),            -- the draft that was revised; NULL of the first
    aims TEXT NOT NULL,                         -- the metrics to raise
    findings TEXT NOT NULL,                     -- the ids of those that the reviser got
    accepted INTEGER,                           -- NULL while that is open
    reason TEXT NOT NULL,
    why TEXT NOT NULL DEFAULT '',               -- a leading model's reason for the round
    instruction TEXT NOT NULL DEFAULT '',       -- and its words to the reviser
    answers TEXT NOT NULL DEFAULT '[]',         -- what the reviser says of each finding
    comparison TEXT,                            -- with the draft before it
    PRIMARY KEY (run, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX rounds_draft ON rounds(draft);
CREATE INDEX rounds_base ON rounds(base);

-- Batches of many documents
CREATE TABLE batches (
    name TEXT PRIMARY KEY,
    asked TEXT NOT NULL,                        -- the settings
    limits TEXT NOT NULL,
    folder TEXT NOT NULL,                       -- for the summaries
    status TEXT NOT NULL,
    error TEXT,
    created TEXT NOT NULL,
    updated TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The documents of a batch. A worker holds an item until a moment, which it puts off as long as it lives.
CREATE TABLE items (
    batch TEXT NOT NULL REFERENCES batches(name),
    idx INTEGER NOT NULL,
    source TEXT NOT NULL,
    document TEXT REFERENCES documents(id),
    file TEXT NOT NULL,                         -- the name of the summary in the folder
    priority INTEGER NOT NULL,
    state TEXT NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    worker TEXT,
    until REAL,
    deaths INTEGER NOT NULL DEFAULT 0,          -- how many workers ended while they held it
    answers INTEGER NOT NULL DEFAULT 0,
    run TEXT REFERENCES runs(id),
    short INTEGER NOT NULL DEFAULT 0,           -- whether the run fell short of what was asked
    error TEXT,
    PRIMARY KEY (batch, idx)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX items_source ON items(batch, source);
CREATE UNIQUE INDEX items_file ON items(batch, lower(file));
CREATE INDEX items_order ON items(batch, state, priority DESC, attempts, idx, short);
CREATE INDEX items_run ON items(run);
CREATE INDEX items_document ON items(document);
