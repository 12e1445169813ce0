BEGIN TRANSACTION;
CREATE TABLE "_sqlite_migrations" (
   "id" INTEGER PRIMARY KEY,
   "migration_set" TEXT,
   "name" TEXT,
   "applied_at" TEXT
);
INSERT INTO "_sqlite_migrations" VALUES(1,'redraft','m001_texts_runs_calls','2026-11-21 02:02:59.392591+00:00');
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
    ;
INSERT INTO "calls" VALUES(1,'abc123','key','m','merge','h','chunk 1',0,0.5,10,1,'ok','','stop','9cf70ad7f71ec41be29cf299b966c4b36aa92c3e75dbc69b13671bfd2c54a4c5',5,4,3,2,1,0.25,0.5,'2025');
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
    ;
INSERT INTO "chunks" VALUES('abcd83ad01b4aef11d8d6c4c3038c5e13f362bc2ecb394868053479e16ef11ec','estimate',2048,0,0,10,4);
INSERT INTO "chunks" VALUES('abcd83ad01b4aef11d8d6c4c3038c5e13f362bc2ecb394868053479e16ef11ec','estimate',2048,1,10,20,5);
CREATE TABLE documents (
        id TEXT PRIMARY KEY REFERENCES texts(id),
        title TEXT NOT NULL,
        source TEXT NOT NULL,
        encoding TEXT NOT NULL,
        characters INTEGER NOT NULL,
        sections TEXT NOT NULL,
        added TEXT NOT NULL
    ) STRICT
    ;
INSERT INTO "documents" VALUES('abcd83ad01b4aef11d8d6c4c3038c5e13f362bc2ecb394868053479e16ef11ec','A title','book.txt','utf-16',31,'[["I. Ü", 1, 0, 10], ["II", 2, 10, 31]]','2026-11-21T02:02:59.393+00:00');
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
    ;
INSERT INTO "drafts" VALUES('abc123-0-61a7199f','abc123',0,'merge','3bed3768b0c1e7a42047586e6e623445157a2a1e1af681ba042adbcd16f91ac1',2,'["a note"]','2026-11-21T02:02:59.394+00:00');
CREATE TABLE gaps (
        run TEXT NOT NULL REFERENCES runs(id),
        chunk INTEGER NOT NULL,
        code TEXT NOT NULL,
        reason TEXT NOT NULL,
        PRIMARY KEY (run, chunk)
    ) STRICT, WITHOUT ROWID
    ;
INSERT INTO "gaps" VALUES('abc123',1,'refused','would not');
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
    ;
INSERT INTO "pieces" VALUES('abc123',0,0,0,0,'34235a2c502e3919d3f00af5dabb87cb58aef4566b10631f2a5db94950ebffbd',1,2,9,1,'');
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
    ;
INSERT INTO "runs" VALUES('abc123','identity','abcd83ad01b4aef11d8d6c4c3038c5e13f362bc2ecb394868053479e16ef11ec','{"strategy":"hierarchical","words":50,"query":"What? 😀","model":"extractive","base_url":null,"chunk_tokens":2048,"context_tokens":8192,"temperature":null,"prompts":"standard","sample":0}','{"concurrency":16,"requests_per_minute":null,"tokens_per_minute":null,"max_cost":null,"max_calls":3,"timeout":300.0}','{"merge": "1"}','estimate','0.1','running',NULL,NULL,'abc123-0-61a7199f',0.0,'2026-11-21T02:02:59.394+00:00','2026-11-21T02:02:59.394+00:00');
CREATE TABLE texts (
        id TEXT PRIMARY KEY,
        text TEXT NOT NULL
    ) STRICT
    ;
INSERT INTO "texts" VALUES('abcd83ad01b4aef11d8d6c4c3038c5e13f362bc2ecb394868053479e16ef11ec','Ünïcode 😀.
The end of the book.');
INSERT INTO "texts" VALUES('9cf70ad7f71ec41be29cf299b966c4b36aa92c3e75dbc69b13671bfd2c54a4c5','reply to key');
INSERT INTO "texts" VALUES('34235a2c502e3919d3f00af5dabb87cb58aef4566b10631f2a5db94950ebffbd','piece');
INSERT INTO "texts" VALUES('3bed3768b0c1e7a42047586e6e623445157a2a1e1af681ba042adbcd16f91ac1','The draft.');
CREATE TABLE uses (
        run TEXT NOT NULL REFERENCES runs(id),
        call INTEGER NOT NULL REFERENCES calls(id),
        PRIMARY KEY (run, call)
    ) STRICT, WITHOUT ROWID
    ;
INSERT INTO "uses" VALUES('abc123',1);
CREATE UNIQUE INDEX "idx__sqlite_migrations_migration_set_name"
    ON "_sqlite_migrations" ("migration_set", "name");
CREATE UNIQUE INDEX calls_answer ON calls(key) WHERE outcome = 'ok';
CREATE INDEX calls_run ON calls(run);
COMMIT;
