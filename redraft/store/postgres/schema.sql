-- The schema on a Postgres server: what `../schema.sql` has, where the columns are explained.
-- What orders or compares texts does so by their characters, as SQLite has it;
-- `rowid` counts the rows that SQLite would count.

-- SQLite has these functions.
CREATE FUNCTION json_each(given text) RETURNS TABLE (value text) LANGUAGE sql IMMUTABLE STRICT AS $$
    SELECT value FROM pg_catalog.json_array_elements_text(
        CASE json_typeof(given::json) WHEN 'array' THEN given::json ELSE '[]' END)
    UNION ALL SELECT value FROM pg_catalog.json_each_text(
        CASE json_typeof(given::json) WHEN 'object' THEN given::json ELSE '{}' END)
$$;

CREATE FUNCTION json_array_length(given text) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT AS
$$ SELECT pg_catalog.json_array_length(given::json) $$;

CREATE TABLE texts (
    id text COLLATE "C" PRIMARY KEY,
    text text COLLATE "C" NOT NULL,
    rowid bigint GENERATED ALWAYS AS IDENTITY
);

CREATE TABLE documents (
    id text COLLATE "C" PRIMARY KEY REFERENCES texts(id) DEFERRABLE,
    title text COLLATE "C" NOT NULL,
    source text COLLATE "C" NOT NULL,
    encoding text COLLATE "C" NOT NULL,
    characters bigint NOT NULL,
    sections text COLLATE "C" NOT NULL,
    added text COLLATE "C" NOT NULL,
    marks text COLLATE "C" NOT NULL DEFAULT '[]',
    notes text COLLATE "C" NOT NULL DEFAULT '[]',
    language text COLLATE "C" NOT NULL DEFAULT '',
    rowid bigint GENERATED ALWAYS AS IDENTITY
);

CREATE TABLE chunks (
    document text COLLATE "C" NOT NULL REFERENCES documents(id) DEFERRABLE,
    tokenizer text COLLATE "C" NOT NULL,
    budget bigint NOT NULL,
    idx bigint NOT NULL,
    start bigint NOT NULL,
    "end" bigint NOT NULL,
    tokens bigint NOT NULL,
    PRIMARY KEY (document, tokenizer, budget, idx)
);

CREATE TABLE embeddings (
    document text COLLATE "C" NOT NULL REFERENCES documents(id) DEFERRABLE,
    cut text COLLATE "C" NOT NULL,
    weights text COLLATE "C" NOT NULL,
    vectors bytea NOT NULL,
    PRIMARY KEY (document, cut, weights)
);

CREATE TABLE runs (
    id text COLLATE "C" PRIMARY KEY,
    identity text COLLATE "C" NOT NULL,
    document text COLLATE "C" NOT NULL REFERENCES documents(id) DEFERRABLE,
    settings text COLLATE "C" NOT NULL,
    limits text COLLATE "C" NOT NULL,
    prompt_hashes text COLLATE "C" NOT NULL,
    tokenizer text COLLATE "C" NOT NULL,
    version text COLLATE "C" NOT NULL,
    status text COLLATE "C" NOT NULL,
    stop_reason text COLLATE "C",
    error text COLLATE "C",
    draft text COLLATE "C",
    seconds double precision NOT NULL DEFAULT 0,
    created text COLLATE "C" NOT NULL,
    updated text COLLATE "C" NOT NULL,
    judging text COLLATE "C",
    refinement text COLLATE "C",
    parent text COLLATE "C",
    kind text COLLATE "C" NOT NULL DEFAULT '',
    why text COLLATE "C" NOT NULL DEFAULT '',
    experiment text COLLATE "C",
    output text COLLATE "C",
    rowid bigint GENERATED ALWAYS AS IDENTITY
);
CREATE INDEX runs_identity ON runs(identity);
CREATE INDEX runs_document ON runs(document);
CREATE INDEX runs_draft ON runs(draft);

CREATE TABLE drafts (
    id text COLLATE "C" PRIMARY KEY,
    run text COLLATE "C" NOT NULL REFERENCES runs(id) DEFERRABLE,
    round bigint NOT NULL,
    node text COLLATE "C" NOT NULL,
    text text COLLATE "C" NOT NULL REFERENCES texts(id) DEFERRABLE,
    words bigint NOT NULL,
    notes text COLLATE "C" NOT NULL,
    created text COLLATE "C" NOT NULL,
    rowid bigint GENERATED ALWAYS AS IDENTITY
);

ALTER TABLE runs ADD FOREIGN KEY (draft) REFERENCES drafts(id) DEFERRABLE;
CREATE INDEX drafts_run ON drafts(run);
CREATE INDEX drafts_text ON drafts(text);

CREATE TABLE pieces (
    run text COLLATE "C" NOT NULL REFERENCES runs(id) DEFERRABLE,
    level bigint NOT NULL,
    idx bigint NOT NULL,
    step bigint NOT NULL,
    first_chunk bigint NOT NULL,
    last_chunk bigint NOT NULL,
    text text COLLATE "C" NOT NULL REFERENCES texts(id) DEFERRABLE,
    words bigint NOT NULL,
    tokens bigint NOT NULL,
    word_limit bigint NOT NULL,
    attempts bigint NOT NULL,
    flaw text COLLATE "C" NOT NULL,
    PRIMARY KEY (run, level, idx, step)
);
CREATE INDEX pieces_text ON pieces(text);

CREATE TABLE gaps (
    run text COLLATE "C" NOT NULL REFERENCES runs(id) DEFERRABLE,
    chunk bigint NOT NULL,
    code text COLLATE "C" NOT NULL,
    reason text COLLATE "C" NOT NULL,
    PRIMARY KEY (run, chunk)
);

CREATE TABLE parents (
    run text COLLATE "C" NOT NULL REFERENCES runs(id) DEFERRABLE,
    child text COLLATE "C" NOT NULL,
    ordinal bigint NOT NULL,
    kind text COLLATE "C" NOT NULL,
    node text COLLATE "C" NOT NULL,
    text text COLLATE "C" NOT NULL REFERENCES texts(id) DEFERRABLE,
    start bigint NOT NULL,
    "end" bigint NOT NULL,
    PRIMARY KEY (run, child, ordinal)
);
CREATE INDEX parents_text ON parents(text);

CREATE TABLE links (
    key text COLLATE "C" PRIMARY KEY,
    child text COLLATE "C" NOT NULL REFERENCES texts(id) DEFERRABLE,
    found text COLLATE "C" NOT NULL
);
CREATE INDEX links_child ON links(child);

CREATE TABLE chapters (
    whole text COLLATE "C" NOT NULL REFERENCES runs(id) DEFERRABLE,
    idx bigint NOT NULL,
    title text COLLATE "C" NOT NULL,
    start bigint NOT NULL,
    "end" bigint NOT NULL,
    tokens bigint NOT NULL,
    run text COLLATE "C" REFERENCES runs(id) DEFERRABLE,
    PRIMARY KEY (whole, idx)
);
CREATE INDEX chapters_run ON chapters(run);

CREATE TABLE candidates (
    whole text COLLATE "C" NOT NULL REFERENCES runs(id) DEFERRABLE,
    idx bigint NOT NULL,
    run text COLLATE "C" REFERENCES runs(id) DEFERRABLE,
    draft text COLLATE "C" REFERENCES drafts(id) DEFERRABLE,
    chosen bigint,
    reason text COLLATE "C" NOT NULL DEFAULT '',
    PRIMARY KEY (whole, idx)
);
CREATE INDEX candidates_run ON candidates(run);
CREATE INDEX candidates_draft ON candidates(draft);

CREATE TABLE prompts (
    hash text COLLATE "C" PRIMARY KEY,
    name text COLLATE "C" NOT NULL,
    text text COLLATE "C" NOT NULL
);

CREATE TABLE calls (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run text COLLATE "C" REFERENCES runs(id) DEFERRABLE,
    key text COLLATE "C" NOT NULL,
    model text COLLATE "C" NOT NULL,
    prompt text COLLATE "C" NOT NULL,
    prompt_hash text COLLATE "C" NOT NULL,
    label text COLLATE "C" NOT NULL,
    sample bigint NOT NULL,
    temperature double precision NOT NULL,
    max_tokens bigint,
    attempt bigint NOT NULL,
    outcome text COLLATE "C" NOT NULL,
    error text COLLATE "C" NOT NULL,
    finish_reason text COLLATE "C" NOT NULL,
    reply text COLLATE "C" REFERENCES texts(id) DEFERRABLE,
    prompt_tokens bigint NOT NULL,
    completion_tokens bigint NOT NULL,
    cached_prompt_tokens bigint NOT NULL,
    reasoning_tokens bigint NOT NULL,
    usage_reported bigint NOT NULL,
    cost_usd double precision,
    seconds double precision NOT NULL,
    started text COLLATE "C" NOT NULL,
    most_tokens bigint NOT NULL DEFAULT 0,
    booked_usd double precision,
    waited double precision,
    rowid bigint GENERATED ALWAYS AS IDENTITY
);
CREATE UNIQUE INDEX calls_answer ON calls(key) WHERE outcome = 'ok';
CREATE INDEX calls_unreadable ON calls(key) WHERE outcome = 'unreadable';
CREATE INDEX calls_sent ON calls(key) WHERE outcome = 'sent';
CREATE INDEX calls_left ON calls(key) WHERE outcome IN ('lost', 'cancelled');
CREATE INDEX calls_run ON calls(run, outcome, booked_usd);
CREATE INDEX calls_reply ON calls(reply);

CREATE TABLE message_texts (
    id text COLLATE "C" PRIMARY KEY,
    body bytea NOT NULL
);

CREATE TABLE messages (
    call bigint NOT NULL REFERENCES calls(id) ON DELETE CASCADE DEFERRABLE,
    idx bigint NOT NULL,
    role text COLLATE "C" NOT NULL,
    text text COLLATE "C",
    start bigint,
    "end" bigint,
    PRIMARY KEY (call, idx)
);
CREATE INDEX messages_text ON messages(text) WHERE text IS NOT NULL;

CREATE TABLE uses (
    run text COLLATE "C" NOT NULL REFERENCES runs(id) DEFERRABLE,
    call bigint NOT NULL REFERENCES calls(id) DEFERRABLE,
    PRIMARY KEY (run, call)
);
CREATE INDEX uses_call ON uses(call);

CREATE TABLE budget_runs (
    budget text COLLATE "C" NOT NULL,
    run text COLLATE "C" NOT NULL REFERENCES runs(id) DEFERRABLE,
    PRIMARY KEY (budget, run)
);
CREATE INDEX budget_runs_run ON budget_runs(run);

CREATE TABLE budget_sums (
    budget text COLLATE "C" PRIMARY KEY,
    calls bigint NOT NULL,
    usd double precision NOT NULL,
    unpriced bigint NOT NULL
);

CREATE FUNCTION call_added() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    UPDATE budget_sums SET calls = calls + 1,
        usd = usd + round(coalesce(new.booked_usd, 0) * 1000000000000),
        unpriced = unpriced + CASE WHEN new.booked_usd IS NULL THEN 1 ELSE 0 END
    WHERE new.outcome NOT IN ('rate_limited', 'unsupported') AND budget IN (SELECT budget FROM budget_runs WHERE run = new.run);
    RETURN NULL;
END $$;

CREATE TRIGGER call_added AFTER INSERT ON calls FOR EACH ROW EXECUTE FUNCTION call_added();

CREATE FUNCTION call_removed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    UPDATE budget_sums SET calls = calls - 1,
        usd = usd - round(coalesce(old.booked_usd, 0) * 1000000000000),
        unpriced = unpriced - CASE WHEN old.booked_usd IS NULL THEN 1 ELSE 0 END
    WHERE old.outcome NOT IN ('rate_limited', 'unsupported') AND budget IN (SELECT budget FROM budget_runs WHERE run = old.run);
    RETURN NULL;
END $$;

CREATE TRIGGER call_removed AFTER DELETE ON calls FOR EACH ROW EXECUTE FUNCTION call_removed();

CREATE FUNCTION call_changed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    UPDATE budget_sums SET calls = calls - 1,
        usd = usd - round(coalesce(old.booked_usd, 0) * 1000000000000),
        unpriced = unpriced - CASE WHEN old.booked_usd IS NULL THEN 1 ELSE 0 END
    WHERE old.outcome NOT IN ('rate_limited', 'unsupported') AND budget IN (SELECT budget FROM budget_runs WHERE run = old.run);
    UPDATE budget_sums SET calls = calls + 1,
        usd = usd + round(coalesce(new.booked_usd, 0) * 1000000000000),
        unpriced = unpriced + CASE WHEN new.booked_usd IS NULL THEN 1 ELSE 0 END
    WHERE new.outcome NOT IN ('rate_limited', 'unsupported') AND budget IN (SELECT budget FROM budget_runs WHERE run = new.run);
    RETURN NULL;
END $$;

CREATE TRIGGER call_changed AFTER UPDATE OF run, outcome, booked_usd ON calls
FOR EACH ROW EXECUTE FUNCTION call_changed();

CREATE FUNCTION run_added() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO budget_sums VALUES (new.budget, 0, 0, 0) ON CONFLICT DO NOTHING;
    UPDATE budget_sums SET calls = calls + (SELECT count(*) FROM calls c
            WHERE c.run = new.run AND c.outcome NOT IN ('rate_limited', 'unsupported')),
        usd = usd + (SELECT coalesce(sum(round(coalesce(c.booked_usd, 0) * 1000000000000)), 0) FROM calls c
            WHERE c.run = new.run AND c.outcome NOT IN ('rate_limited', 'unsupported')),
        unpriced = unpriced + (SELECT coalesce(sum(CASE WHEN c.booked_usd IS NULL THEN 1 ELSE 0 END), 0) FROM calls c
            WHERE c.run = new.run AND c.outcome NOT IN ('rate_limited', 'unsupported'))
    WHERE budget = new.budget;
    RETURN NULL;
END $$;

CREATE TRIGGER run_added AFTER INSERT ON budget_runs FOR EACH ROW EXECUTE FUNCTION run_added();

CREATE FUNCTION run_removed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    UPDATE budget_sums SET calls = calls - (SELECT count(*) FROM calls c
            WHERE c.run = old.run AND c.outcome NOT IN ('rate_limited', 'unsupported')),
        usd = usd - (SELECT coalesce(sum(round(coalesce(c.booked_usd, 0) * 1000000000000)), 0) FROM calls c
            WHERE c.run = old.run AND c.outcome NOT IN ('rate_limited', 'unsupported')),
        unpriced = unpriced - (SELECT coalesce(sum(CASE WHEN c.booked_usd IS NULL THEN 1 ELSE 0 END), 0) FROM calls c
            WHERE c.run = old.run AND c.outcome NOT IN ('rate_limited', 'unsupported'))
    WHERE budget = old.budget;
    DELETE FROM budget_sums WHERE budget = old.budget AND NOT EXISTS (SELECT 1 FROM budget_runs WHERE budget = old.budget);
    RETURN NULL;
END $$;

CREATE TRIGGER run_removed AFTER DELETE ON budget_runs FOR EACH ROW EXECUTE FUNCTION run_removed();

CREATE TABLE rate_limits (
    limiter text COLLATE "C" NOT NULL,
    at double precision NOT NULL,
    tokens bigint NOT NULL,
    rowid bigint GENERATED ALWAYS AS IDENTITY
);
CREATE INDEX rate_limits_at ON rate_limits(at, limiter, tokens);

CREATE TABLE capabilities (
    model text COLLATE "C" PRIMARY KEY,
    mode text COLLATE "C",
    reasoning_tokens bigint,
    learned text COLLATE "C" NOT NULL
);

CREATE TABLE packs (
    id text COLLATE "C" PRIMARY KEY,
    document text COLLATE "C" NOT NULL REFERENCES documents(id) DEFERRABLE,
    key text COLLATE "C" NOT NULL,
    model text COLLATE "C" NOT NULL,
    prompt_hashes text COLLATE "C" NOT NULL,
    imported bigint NOT NULL,
    created text COLLATE "C" NOT NULL,
    missing text COLLATE "C" NOT NULL DEFAULT '[]',
    rowid bigint GENERATED ALWAYS AS IDENTITY
);
CREATE INDEX packs_document ON packs(document, key);

CREATE TABLE questions (
    pack text COLLATE "C" NOT NULL REFERENCES packs(id) DEFERRABLE,
    rank bigint NOT NULL,
    question text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    answer text COLLATE "C" NOT NULL,
    evidence text COLLATE "C" NOT NULL,
    start bigint,
    "end" bigint,
    position double precision NOT NULL,
    weight bigint NOT NULL,
    PRIMARY KEY (pack, rank)
);

CREATE TABLE keyfacts (
    id text COLLATE "C" PRIMARY KEY,
    document text COLLATE "C" NOT NULL REFERENCES documents(id) DEFERRABLE,
    key text COLLATE "C" NOT NULL,
    builder text COLLATE "C" NOT NULL,
    validator text COLLATE "C" NOT NULL,
    prompt_hashes text COLLATE "C" NOT NULL,
    missing text COLLATE "C" NOT NULL,
    imported bigint NOT NULL,
    created text COLLATE "C" NOT NULL,
    rowid bigint GENERATED ALWAYS AS IDENTITY
);
CREATE INDEX keyfacts_document ON keyfacts(document, key);

CREATE TABLE trees (
    keyfacts text COLLATE "C" NOT NULL REFERENCES keyfacts(id) DEFERRABLE,
    idx bigint NOT NULL,
    chunk bigint NOT NULL,
    perspective text COLLATE "C" NOT NULL,
    start bigint NOT NULL,
    "end" bigint NOT NULL,
    position double precision NOT NULL,
    query text COLLATE "C" NOT NULL,
    PRIMARY KEY (keyfacts, idx)
);

CREATE TABLE facts (
    keyfacts text COLLATE "C" NOT NULL,
    tree bigint NOT NULL,
    id bigint NOT NULL,
    level text COLLATE "C" NOT NULL,
    parent bigint,
    fact text COLLATE "C" NOT NULL,
    evidence text COLLATE "C" NOT NULL,
    start bigint,
    "end" bigint,
    objections text COLLATE "C" NOT NULL,
    PRIMARY KEY (keyfacts, tree, id), FOREIGN KEY (keyfacts, tree) REFERENCES trees(keyfacts, idx) DEFERRABLE
);

CREATE TABLE typed_packs (
    id text COLLATE "C" PRIMARY KEY,
    document text COLLATE "C" NOT NULL REFERENCES documents(id) DEFERRABLE,
    key text COLLATE "C" NOT NULL,
    model text COLLATE "C" NOT NULL,
    prompt_hashes text COLLATE "C" NOT NULL,
    span_end bigint NOT NULL,
    missing text COLLATE "C" NOT NULL,
    imported bigint NOT NULL,
    created text COLLATE "C" NOT NULL,
    rowid bigint GENERATED ALWAYS AS IDENTITY
);
CREATE INDEX typed_packs_document ON typed_packs(document, key);

CREATE TABLE typed_questions (
    pack text COLLATE "C" NOT NULL REFERENCES typed_packs(id) DEFERRABLE,
    rank bigint NOT NULL,
    type text COLLATE "C" NOT NULL,
    question text COLLATE "C" NOT NULL,
    answer text COLLATE "C" NOT NULL,
    reason text COLLATE "C" NOT NULL,
    start bigint NOT NULL,
    "end" bigint NOT NULL,
    PRIMARY KEY (pack, rank)
);

CREATE TABLE evaluations (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    draft text COLLATE "C" NOT NULL REFERENCES drafts(id) DEFERRABLE,
    metric text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    outcome text COLLATE "C" NOT NULL,
    score double precision,
    judged bigint NOT NULL,
    unjudged bigint NOT NULL,
    reason text COLLATE "C" NOT NULL,
    held text COLLATE "C" NOT NULL,
    details text COLLATE "C" NOT NULL,
    created text COLLATE "C" NOT NULL,
    UNIQUE (draft, metric),
    rowid bigint GENERATED ALWAYS AS IDENTITY
);

CREATE TABLE findings (
    evaluation bigint NOT NULL REFERENCES evaluations(id) ON DELETE CASCADE DEFERRABLE,
    idx bigint NOT NULL,
    id text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    task text COLLATE "C" NOT NULL,
    explanation text COLLATE "C" NOT NULL,
    sentence text COLLATE "C" NOT NULL,
    question text COLLATE "C" NOT NULL,
    found text COLLATE "C" NOT NULL,
    expected text COLLATE "C" NOT NULL,
    evidence text COLLATE "C",
    start bigint,
    "end" bigint,
    said_by text COLLATE "C",
    read text COLLATE "C" NOT NULL,
    value double precision NOT NULL,
    weight bigint NOT NULL,
    counts bigint NOT NULL,
    missing text COLLATE "C" NOT NULL,
    PRIMARY KEY (evaluation, idx)
);

CREATE TABLE verdicts (
    key text COLLATE "C" PRIMARY KEY,
    verdict text COLLATE "C" NOT NULL,
    created text COLLATE "C" NOT NULL,
    document text COLLATE "C" NOT NULL DEFAULT ''
);
CREATE INDEX verdicts_document ON verdicts(document);

CREATE TABLE rulings (
    document text COLLATE "C" NOT NULL,
    finding text COLLATE "C" NOT NULL,
    verdict text COLLATE "C" NOT NULL,
    quote text COLLATE "C" NOT NULL,
    start bigint,
    "end" bigint,
    reason text COLLATE "C" NOT NULL,
    judge text COLLATE "C" NOT NULL,
    contested text COLLATE "C" NOT NULL,
    run text COLLATE "C" NOT NULL,
    round bigint NOT NULL,
    created text COLLATE "C" NOT NULL,
    PRIMARY KEY (document, finding)
);

CREATE TABLE opinions (
    run text COLLATE "C" NOT NULL REFERENCES runs(id) DEFERRABLE,
    finding text COLLATE "C" NOT NULL,
    draft text COLLATE "C" NOT NULL REFERENCES drafts(id) DEFERRABLE,
    agrees bigint NOT NULL,
    note text COLLATE "C" NOT NULL,
    said text COLLATE "C" NOT NULL,
    PRIMARY KEY (run, finding)
);
CREATE INDEX opinions_draft ON opinions(draft);

CREATE TABLE agreements (
    judge text COLLATE "C" NOT NULL,
    metric text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    prompts text COLLATE "C" NOT NULL,
    terms text COLLATE "C" NOT NULL,
    dataset text COLLATE "C" NOT NULL,
    human text COLLATE "C" NOT NULL,
    level text COLLATE "C" NOT NULL,
    measure text COLLATE "C" NOT NULL,
    n bigint NOT NULL,
    value double precision NOT NULL,
    low double precision,
    high double precision,
    measured text COLLATE "C" NOT NULL,
    PRIMARY KEY (judge, metric, version, prompts, terms, dataset, human, level, measure)
);

CREATE TABLE rounds (
    run text COLLATE "C" NOT NULL REFERENCES runs(id) DEFERRABLE,
    number bigint NOT NULL,
    draft text COLLATE "C" NOT NULL REFERENCES drafts(id) DEFERRABLE,
    base text COLLATE "C" REFERENCES drafts(id) DEFERRABLE,
    aims text COLLATE "C" NOT NULL,
    findings text COLLATE "C" NOT NULL,
    accepted bigint,
    reason text COLLATE "C" NOT NULL,
    why text COLLATE "C" NOT NULL DEFAULT '',
    instruction text COLLATE "C" NOT NULL DEFAULT '',
    answers text COLLATE "C" NOT NULL DEFAULT '[]',
    comparison text COLLATE "C",
    PRIMARY KEY (run, number)
);
CREATE INDEX rounds_draft ON rounds(draft);
CREATE INDEX rounds_base ON rounds(base);

CREATE TABLE batches (
    name text COLLATE "C" PRIMARY KEY,
    asked text COLLATE "C" NOT NULL,
    limits text COLLATE "C" NOT NULL,
    folder text COLLATE "C" NOT NULL,
    status text COLLATE "C" NOT NULL,
    error text COLLATE "C",
    created text COLLATE "C" NOT NULL,
    updated text COLLATE "C" NOT NULL
);

CREATE TABLE items (
    batch text COLLATE "C" NOT NULL REFERENCES batches(name) DEFERRABLE,
    idx bigint NOT NULL,
    source text COLLATE "C" NOT NULL,
    document text COLLATE "C" REFERENCES documents(id) DEFERRABLE,
    file text COLLATE "C" NOT NULL,
    priority bigint NOT NULL,
    state text COLLATE "C" NOT NULL,
    attempts bigint NOT NULL DEFAULT 0,
    worker text COLLATE "C",
    until double precision,
    deaths bigint NOT NULL DEFAULT 0,
    answers bigint NOT NULL DEFAULT 0,
    run text COLLATE "C" REFERENCES runs(id) DEFERRABLE,
    short bigint NOT NULL DEFAULT 0,
    error text COLLATE "C",
    PRIMARY KEY (batch, idx)
);
CREATE UNIQUE INDEX items_source ON items(batch, source);
CREATE UNIQUE INDEX items_file ON items(batch, lower(file));
CREATE INDEX items_order ON items(batch, state, priority DESC, attempts, idx, short);
CREATE INDEX items_run ON items(run);
CREATE INDEX items_document ON items(document);
