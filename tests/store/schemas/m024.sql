BEGIN TRANSACTION;
CREATE TABLE "_sqlite_migrations" (
   "id" INTEGER PRIMARY KEY,
   "migration_set" TEXT,
   "name" TEXT,
   "applied_at" TEXT
);
INSERT INTO "_sqlite_migrations" VALUES(1,'redraft','m001_texts_runs_calls','2026-11-25 23:26:10.718948+00:00');
INSERT INTO "_sqlite_migrations" VALUES(2,'redraft','m002_judging','2026-11-25 23:26:10.721807+00:00');
INSERT INTO "_sqlite_migrations" VALUES(3,'redraft','m003_keyfacts','2026-11-25 23:26:10.722970+00:00');
INSERT INTO "_sqlite_migrations" VALUES(4,'redraft','m004_kinds','2026-11-25 23:26:10.725694+00:00');
INSERT INTO "_sqlite_migrations" VALUES(5,'redraft','m005_reasons','2026-11-25 23:26:10.728456+00:00');
INSERT INTO "_sqlite_migrations" VALUES(6,'redraft','m006_bookings','2026-11-25 23:26:10.730594+00:00');
INSERT INTO "_sqlite_migrations" VALUES(7,'redraft','m007_holes','2026-11-25 23:26:10.731852+00:00');
INSERT INTO "_sqlite_migrations" VALUES(8,'redraft','m008_output','2026-11-25 23:26:10.732774+00:00');
INSERT INTO "_sqlite_migrations" VALUES(9,'redraft','m009_manners','2026-11-25 23:26:10.733255+00:00');
INSERT INTO "_sqlite_migrations" VALUES(10,'redraft','m010_agreements','2026-11-25 23:26:10.733709+00:00');
INSERT INTO "_sqlite_migrations" VALUES(11,'redraft','m011_parents','2026-11-25 23:26:10.738174+00:00');
INSERT INTO "_sqlite_migrations" VALUES(12,'redraft','m012_prompts','2026-11-25 23:26:10.738727+00:00');
INSERT INTO "_sqlite_migrations" VALUES(13,'redraft','m013_opinions','2026-11-25 23:26:10.747553+00:00');
INSERT INTO "_sqlite_migrations" VALUES(14,'redraft','m014_lookups','2026-11-25 23:26:10.748315+00:00');
INSERT INTO "_sqlite_migrations" VALUES(15,'redraft','m015_typed','2026-11-25 23:26:10.749066+00:00');
INSERT INTO "_sqlite_migrations" VALUES(16,'redraft','m016_marks','2026-11-25 23:26:10.751877+00:00');
INSERT INTO "_sqlite_migrations" VALUES(17,'redraft','m017_chapters','2026-11-25 23:26:10.752680+00:00');
INSERT INTO "_sqlite_migrations" VALUES(18,'redraft','m018_batches','2026-11-25 23:26:10.754081+00:00');
INSERT INTO "_sqlite_migrations" VALUES(19,'redraft','m019_jobs','2026-11-25 23:26:10.755078+00:00');
INSERT INTO "_sqlite_migrations" VALUES(20,'redraft','m020_pot_sums','2026-11-25 23:26:10.761683+00:00');
INSERT INTO "_sqlite_migrations" VALUES(21,'redraft','m021_errands','2026-11-25 23:26:10.762753+00:00');
INSERT INTO "_sqlite_migrations" VALUES(22,'redraft','m022_waited','2026-11-25 23:26:10.764746+00:00');
INSERT INTO "_sqlite_migrations" VALUES(23,'redraft','m023_rulings','2026-11-25 23:26:10.767229+00:00');
INSERT INTO "_sqlite_migrations" VALUES(24,'redraft','m024_candidates','2026-11-25 23:26:10.768156+00:00');
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
    ;
INSERT INTO "agreements" VALUES('openai:ünïcode@http://127.0.0.1/v1','consistency',3,'3f2a9c41','{"threshold":0.1}','QAGS Ünïcode 😀','consistency','summaries','tau-b',108,3.33333333333333314829e-01,NULL,0.5,'2026-11-22');
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
    ;
INSERT INTO "batches" VALUES('batch-of-abc123','{"settings": {"words": 100}, "name": "ünïcode 😀"}','{"max_cost": 1.5}','/out/ö','open',NULL,'2026-11-25T23:26:10.820+00:00','2026-11-25T23:26:10.820+00:00');
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
    , most_tokens INTEGER NOT NULL DEFAULT 0, booked_usd REAL, waited REAL) STRICT
    ;
INSERT INTO "calls" VALUES(1,'abc123','key','m','merge','h','chunk 1',0,0.5,10,1,'ok','','stop','9cf70ad7f71ec41be29cf299b966c4b36aa92c3e75dbc69b13671bfd2c54a4c5',5,4,3,2,1,0.25,0.5,'2025',0,NULL,NULL);
CREATE TABLE candidates (
        whole TEXT NOT NULL REFERENCES runs(id),
        idx INTEGER NOT NULL,
        run TEXT REFERENCES runs(id),
        draft TEXT REFERENCES drafts(id),
        chosen INTEGER,
        reason TEXT NOT NULL DEFAULT '',
        PRIMARY KEY (whole, idx)
    ) STRICT, WITHOUT ROWID
    ;
INSERT INTO "candidates" VALUES('abc123',1,NULL,'abc123-0-61a7199f',1,'it is bétter');
INSERT INTO "candidates" VALUES('abc123',2,NULL,NULL,0,'');
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
    ;
INSERT INTO "chapters" VALUES('abc123',0,'Öne',0,10,5,NULL);
INSERT INTO "chapters" VALUES('abc123',1,'Two',10,20,5,NULL);
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
    , marks TEXT NOT NULL DEFAULT '[]', notes TEXT NOT NULL DEFAULT '[]', language TEXT NOT NULL DEFAULT '') STRICT
    ;
INSERT INTO "documents" VALUES('abcd83ad01b4aef11d8d6c4c3038c5e13f362bc2ecb394868053479e16ef11ec','A title','book.txt','utf-16',31,'[["I. Ü", 1, 0, 10], ["II", 2, 10, 31]]','2026-11-25T23:26:10.775+00:00','[]','[]','');
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
INSERT INTO "drafts" VALUES('abc123-0-61a7199f','abc123',0,'merge','3bed3768b0c1e7a42047586e6e623445157a2a1e1af681ba042adbcd16f91ac1',2,'["a note"]','2026-11-25T23:26:10.811+00:00');
INSERT INTO "drafts" VALUES('fork-of-abc123-0-98fb5b3e','fork-of-abc123',0,'given','d3638a7fe62a3c6426fd1cfa29a0eb17a8d19338018baf75b1e4138b6fabdb78',3,'[]','2026-11-25T23:26:10.815+00:00');
INSERT INTO "drafts" VALUES('fork-of-abc123-1-8c924b4c','fork-of-abc123',1,'revise','42c94d20eeacbf3d128a02d07a70cd1afe720958cb369f67d1f38b3910e7c2b7',3,'["another nöte"]','2026-11-25T23:26:10.816+00:00');
CREATE TABLE embeddings (
        document TEXT NOT NULL REFERENCES documents(id),
        cut TEXT NOT NULL,
        weights TEXT NOT NULL,
        vectors BLOB NOT NULL,
        PRIMARY KEY (document, cut, weights)
    ) STRICT, WITHOUT ROWID
    ;
INSERT INTO "embeddings" VALUES('abcd83ad01b4aef11d8d6c4c3038c5e13f362bc2ecb394868053479e16ef11ec','cut','weights',X'0001');
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
    ;
INSERT INTO "errands" VALUES('abc123','key-3','batch-of-abc123','w','{}',0,'open',NULL,NULL,NULL);
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
    ;
INSERT INTO "evaluations" VALUES(1,'fork-of-abc123-0-98fb5b3e','coverage',1,'scored',3.33333333333333314829e-01,3,2,'','["A kept sentence."]','{"kinds": {"who": [1, 2]}}','2026-11-25T23:26:10.816+00:00');
INSERT INTO "evaluations" VALUES(2,'fork-of-abc123-0-98fb5b3e','consistency',2,'failed',NULL,0,4,'Nothing was judged: ünïcode 😀.','[]','{}','2026-11-25T23:26:10.816+00:00');
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
    ;
INSERT INTO "facts" VALUES('keyfacts-1',0,1,'root',NULL,'Hester drowned.','Hester drowned.',3,18,'[]');
INSERT INTO "facts" VALUES('keyfacts-1',0,2,'branch',1,'She could swim. 😀','somewhere',NULL,NULL,'[]');
INSERT INTO "facts" VALUES('keyfacts-1',0,3,'leaf',2,'It was cold.','Hester drowned.',3,18,'[["objectivity", "An öpinion."], ["unjudged", "😀"]]');
INSERT INTO "facts" VALUES('keyfacts-1',1,1,'root',NULL,'Water is deep.','',NULL,NULL,'[]');
CREATE TABLE final_comparisons (
        run TEXT PRIMARY KEY REFERENCES runs(id),
        first TEXT NOT NULL REFERENCES drafts(id),
        best TEXT NOT NULL REFERENCES drafts(id),
        first_won INTEGER NOT NULL,
        reason TEXT NOT NULL,
        votes TEXT NOT NULL,
        document_read INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID
    ;
INSERT INTO "final_comparisons" VALUES('fork-of-abc123','fork-of-abc123-0-98fb5b3e','fork-of-abc123-1-8c924b4c',1,'It is möre.','[1, 0, 0]',1);
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
    ;
INSERT INTO "findings" VALUES(1,0,'b53e0ee5ff82','unanswered','add','Say who drowned.','','Who drowned?','','Hester','Hester drowned.',3,18);
INSERT INTO "findings" VALUES(1,1,'aff9dc2ab5ef','unanswered','correct','Correct it.','Ünïcode.','Who drowned?','Ann','','x',NULL,NULL);
INSERT INTO "findings" VALUES(1,2,'401a974c46d5','unanswered','add','Say it.','','Who drowned?','','',NULL,NULL,NULL);
CREATE TABLE gaps (
        run TEXT NOT NULL REFERENCES runs(id),
        chunk INTEGER NOT NULL,
        code TEXT NOT NULL,
        reason TEXT NOT NULL,
        PRIMARY KEY (run, chunk)
    ) STRICT, WITHOUT ROWID
    ;
INSERT INTO "gaps" VALUES('abc123',1,'refused','would not');
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
    ;
INSERT INTO "items" VALUES('batch-of-abc123',0,'/in/ä.txt',NULL,'ä',0,'done',1,NULL,NULL,0,0,'abc123',1,NULL);
INSERT INTO "items" VALUES('batch-of-abc123',1,'c.jsonl#b','abcd83ad01b4aef11d8d6c4c3038c5e13f362bc2ecb394868053479e16ef11ec','b',3,'failed',1,NULL,NULL,0,0,NULL,0,'{"code": "document", "message": "It is empty. 😀", "hint": "mend it"}');
CREATE TABLE job_lines (
        attempt TEXT NOT NULL,
        job TEXT NOT NULL REFERENCES jobs(id),
        call TEXT NOT NULL,
        PRIMARY KEY (attempt, job)
    ) STRICT, WITHOUT ROWID
    ;
INSERT INTO "job_lines" VALUES('key-1','d3fc62cc1439729f','key');
INSERT INTO "job_lines" VALUES('key-2','d3fc62cc1439729f','key');
CREATE TABLE jobs (
        id TEXT PRIMARY KEY,
        address TEXT NOT NULL,
        name TEXT,
        begun TEXT NOT NULL
    ) STRICT
    ;
INSERT INTO "jobs" VALUES('d3fc62cc1439729f','http://127.0.0.1:1/v1','batch_ü','2026-11-25T23:26:10.822+00:00');
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
    ;
INSERT INTO "keyfacts" VALUES('keyfacts-1','abcd83ad01b4aef11d8d6c4c3038c5e13f362bc2ecb394868053479e16ef11ec','grown from this','m','v','{"query_narrative": "1"}','["chunk 2: nö tree"]',0,'2026-11-25T23:26:10.813+00:00');
CREATE TABLE links (
        key TEXT PRIMARY KEY,
        child TEXT NOT NULL REFERENCES texts(id),
        found TEXT NOT NULL
    ) STRICT, WITHOUT ROWID
    ;
INSERT INTO "links" VALUES('links-1','3bed3768b0c1e7a42047586e6e623445157a2a1e1af681ba042adbcd16f91ac1','[[0, 10, []]]');
CREATE TABLE lookups (
        run TEXT NOT NULL REFERENCES runs(id),
        round INTEGER NOT NULL,
        idx INTEGER NOT NULL,
        asked TEXT NOT NULL,
        found INTEGER NOT NULL,
        said TEXT NOT NULL,
        PRIMARY KEY (run, round, idx)
    ) STRICT, WITHOUT ROWID
    ;
INSERT INTO "lookups" VALUES('fork-of-abc123',1,0,'search: lamp',2,'');
INSERT INTO "lookups" VALUES('fork-of-abc123',1,1,'read: nöwhere',0,'that is no place 😀');
CREATE TABLE manners (
        model TEXT PRIMARY KEY,
        mode TEXT,
        reasoning_tokens INTEGER,
        learned TEXT NOT NULL
    ) STRICT, WITHOUT ROWID
    ;
INSERT INTO "manners" VALUES('openai:ünïcode@http://127.0.0.1/v1','tools',700,'2026-11-25T23:26:10.812+00:00');
CREATE TABLE opinions (
        run TEXT NOT NULL REFERENCES runs(id),
        finding TEXT NOT NULL,
        draft TEXT NOT NULL REFERENCES drafts(id),
        agrees INTEGER NOT NULL,
        note TEXT NOT NULL,
        said TEXT NOT NULL,
        PRIMARY KEY (run, finding)
    ) STRICT, WITHOUT ROWID
    ;
INSERT INTO "opinions" VALUES('fork-of-abc123','b53e0ee5ff82','fork-of-abc123-0-98fb5b3e',0,'She did nöt. 😀','2026-11-25T23:26:10.818+00:00');
CREATE TABLE packs (
        id TEXT PRIMARY KEY,
        document TEXT NOT NULL REFERENCES documents(id),
        key TEXT NOT NULL,
        model TEXT NOT NULL,
        prompt_hashes TEXT NOT NULL,
        imported INTEGER NOT NULL,
        created TEXT NOT NULL
    , missing TEXT NOT NULL DEFAULT '[]') STRICT
    ;
INSERT INTO "packs" VALUES('pack-1','abcd83ad01b4aef11d8d6c4c3038c5e13f362bc2ecb394868053479e16ef11ec','made from this','m','{"ask_document": "1"}',0,'2026-11-25T23:26:10.812+00:00','["stretch 2: nö question"]');
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
    ;
INSERT INTO "parents" VALUES('abc123','0/0/0',0,'context','','abcd83ad01b4aef11d8d6c4c3038c5e13f362bc2ecb394868053479e16ef11ec',0,4);
INSERT INTO "parents" VALUES('abc123','0/0/0',1,'excerpt','','abcd83ad01b4aef11d8d6c4c3038c5e13f362bc2ecb394868053479e16ef11ec',0,10);
INSERT INTO "parents" VALUES('abc123','abc123-0-61a7199f',0,'piece','0/0/0','34235a2c502e3919d3f00af5dabb87cb58aef4566b10631f2a5db94950ebffbd',0,5);
CREATE TABLE "pieces" (
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
    ;
INSERT INTO "pieces" VALUES('abc123',0,0,0,0,0,'34235a2c502e3919d3f00af5dabb87cb58aef4566b10631f2a5db94950ebffbd',1,2,9,1,'');
CREATE TABLE pot_sums (
        pot TEXT PRIMARY KEY,
        calls INTEGER NOT NULL,
        usd REAL NOT NULL,
        unpriced INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID
    ;
CREATE TABLE pots (
        pot TEXT NOT NULL,
        run TEXT NOT NULL REFERENCES runs(id),
        PRIMARY KEY (pot, run)
    ) STRICT, WITHOUT ROWID
    ;
CREATE TABLE prompts (
        hash TEXT PRIMARY KEY,
        name TEXT NOT NULL,
        text TEXT NOT NULL
    ) STRICT, WITHOUT ROWID
    ;
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
    ;
INSERT INTO "questions" VALUES('pack-1',1,'Who drowned?','who','Hester','Hester drowned.',3,18,0.25);
INSERT INTO "questions" VALUES('pack-1',2,'Why? 😀','who','Hester','somewhere',NULL,NULL,1.0);
CREATE TABLE rounds (
        run TEXT NOT NULL REFERENCES runs(id),
        number INTEGER NOT NULL,
        draft TEXT NOT NULL REFERENCES drafts(id),
        base TEXT REFERENCES drafts(id),
        aims TEXT NOT NULL,
        findings TEXT NOT NULL,
        accepted INTEGER,
        reason TEXT NOT NULL, why TEXT NOT NULL DEFAULT '', instruction TEXT NOT NULL DEFAULT '', answers TEXT NOT NULL DEFAULT '[]',
        PRIMARY KEY (run, number)
    ) STRICT, WITHOUT ROWID
    ;
INSERT INTO "rounds" VALUES('fork-of-abc123',0,'fork-of-abc123-0-98fb5b3e',NULL,'[]','[]',NULL,'','','','[]');
INSERT INTO "rounds" VALUES('fork-of-abc123',1,'fork-of-abc123-1-8c924b4c','fork-of-abc123-0-98fb5b3e','["coverage"]','["b53e0ee5ff82"]',1,'coverage rose','','','[]');
INSERT INTO "rounds" VALUES('fork-of-abc123',2,'fork-of-abc123-0-98fb5b3e','fork-of-abc123-1-8c924b4c','["consistency", "coverage"]','[]',NULL,'','','','[]');
INSERT INTO "rounds" VALUES('fork-of-abc123',3,'fork-of-abc123-1-8c924b4c','fork-of-abc123-0-98fb5b3e','["coverage"]','[]',0,'no gain','It says "no". 😀','Näme her.','[{"finding": "b53e0ee5ff82", "became": "mended", "said": ""}, {"finding": "f2", "became": "kept", "said": "Ünïcode."}, {"finding": "f3", "became": "left", "said": "why"}]');
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
    ;
INSERT INTO "rulings" VALUES('abcd83ad01b4aef11d8d6c4c3038c5e13f362bc2ecb394868053479e16ef11ec','b53e0ee5ff82','supported','drowned 😀',2,9,'It says söme.','m#1','drowned','abc',1,'2026-11-25T23:26:10.818+00:00');
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
    , judging TEXT, refinement TEXT, parent TEXT, kind TEXT NOT NULL DEFAULT '', why TEXT NOT NULL DEFAULT '', experiment TEXT, output TEXT) STRICT
    ;
INSERT INTO "runs" VALUES('abc123','identity','abcd83ad01b4aef11d8d6c4c3038c5e13f362bc2ecb394868053479e16ef11ec','{"strategy":"auto","chosen":"","words":50,"by_chapter":false,"until":null,"query":"What? 😀","language":null,"source_language":null,"model":"extractive","base_url":null,"key_env":null,"chunk_tokens":2048,"chunking":"natural","merge":"summaries","drafts":1,"context_tokens":8192,"temperature":null,"top_p":null,"max_tokens":null,"reasoning_tokens":null,"price":null,"prompts":"standard","sample":0,"replies":null}','{"concurrency":16,"requests_per_minute":null,"tokens_per_minute":null,"max_cost":null,"max_calls":3,"timeout":300.0,"provider_batch":false}','{"merge": "1"}','estimate','0.1','running',NULL,NULL,'abc123-0-61a7199f',0.0,'2026-11-25T23:26:10.807+00:00','2026-11-25T23:26:10.811+00:00',NULL,NULL,NULL,'summarize','',NULL,NULL);
INSERT INTO "runs" VALUES('fork-of-abc123','identity','abcd83ad01b4aef11d8d6c4c3038c5e13f362bc2ecb394868053479e16ef11ec','{"strategy":"auto","chosen":"","words":50,"by_chapter":false,"until":null,"query":"What? 😀","language":null,"source_language":null,"model":"extractive","base_url":null,"key_env":null,"chunk_tokens":2048,"chunking":"natural","merge":"summaries","drafts":1,"context_tokens":8192,"temperature":null,"top_p":null,"max_tokens":null,"reasoning_tokens":null,"price":null,"prompts":"standard","sample":0,"replies":null}','{"concurrency":16,"requests_per_minute":null,"tokens_per_minute":null,"max_cost":null,"max_calls":3,"timeout":300.0,"provider_batch":false}','{"merge": "1"}','estimate','0.1','done','decided',NULL,'fork-of-abc123-1-8c924b4c',0.0,'2026-11-25T23:26:10.815+00:00','2026-11-25T23:26:10.819+00:00','{"metrics":["coverage"],"judges":["j1","j2 😀"],"models":{},"base_url":null,"repeat":2,"questions":40,"stretch_tokens":6144,"claims":120,"batch":10,"top_k":null,"similarity":"rouge1","threshold":0.1,"evidence":"auto","second_look":true,"embeddings":null,"reference":null,"pack":"pack-1","keyfacts":null,"perspective":"both","validator":null}','{"goals":{"coverage":0.8,"consistency":0.3333333333333333},"policy":"paper","rounds":7,"tolerance":0.02,"judged_share":0.8,"review":true,"final_comparison":true,"allow_self_check":false,"decider":null}','abc123','refine','Nöthing is left.',NULL,NULL);
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
INSERT INTO "texts" VALUES('d3638a7fe62a3c6426fd1cfa29a0eb17a8d19338018baf75b1e4138b6fabdb78','The first draft.');
INSERT INTO "texts" VALUES('42c94d20eeacbf3d128a02d07a70cd1afe720958cb369f67d1f38b3910e7c2b7','The second draft.');
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
    ;
INSERT INTO "trees" VALUES('keyfacts-1',0,0,'narrative',0,18,0.25,'Who drowned? 😀');
INSERT INTO "trees" VALUES('keyfacts-1',1,1,'analytical',0,18,0.25,'');
CREATE TABLE turns (
        gate TEXT NOT NULL,
        at REAL NOT NULL,
        tokens INTEGER NOT NULL
    ) STRICT
    ;
INSERT INTO "turns" VALUES('gate',1.79564917082235527036e+09,7);
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
    ;
INSERT INTO "typed_packs" VALUES('typed-1','abcd83ad01b4aef11d8d6c4c3038c5e13f362bc2ecb394868053479e16ef11ec','asked from this','m','{"ask_typed": "1"}',18,'["no abstractive question 1 about the end: nö"]',0,'2026-11-25T23:26:10.813+00:00');
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
    ;
INSERT INTO "typed_questions" VALUES('typed-1',1,'binary','Did she drown? 😀','yes','Nobody săved her.',3,18);
INSERT INTO "typed_questions" VALUES('typed-1',2,'unanswerable','In which year?','','',3,18);
CREATE TABLE uses (
        run TEXT NOT NULL REFERENCES runs(id),
        call INTEGER NOT NULL REFERENCES calls(id),
        PRIMARY KEY (run, call)
    ) STRICT, WITHOUT ROWID
    ;
INSERT INTO "uses" VALUES('abc123',1);
CREATE TABLE verdicts (
        key TEXT PRIMARY KEY,
        verdict TEXT NOT NULL,
        created TEXT NOT NULL
    , document TEXT NOT NULL DEFAULT '') STRICT, WITHOUT ROWID
    ;
INSERT INTO "verdicts" VALUES('verdict-1','agrees','2026-11-25T23:26:10.818+00:00','abcd83ad01b4aef11d8d6c4c3038c5e13f362bc2ecb394868053479e16ef11ec');
INSERT INTO "verdicts" VALUES('verdict-2','Ünïcode 😀','2026-11-25T23:26:10.818+00:00','abcd83ad01b4aef11d8d6c4c3038c5e13f362bc2ecb394868053479e16ef11ec');
CREATE UNIQUE INDEX "idx__sqlite_migrations_migration_set_name"
    ON "_sqlite_migrations" ("migration_set", "name");
CREATE UNIQUE INDEX calls_answer ON calls(key) WHERE outcome = 'ok';
CREATE INDEX calls_unreadable ON calls(key) WHERE outcome = 'unreadable';
CREATE INDEX packs_document ON packs(document, key);
CREATE INDEX runs_identity ON runs(identity);
CREATE INDEX keyfacts_document ON keyfacts(document, key);
CREATE INDEX verdicts_document ON verdicts(document);
CREATE INDEX runs_document ON runs(document);
CREATE INDEX runs_draft ON runs(draft);
CREATE INDEX drafts_run ON drafts(run);
CREATE INDEX drafts_text ON drafts(text);
CREATE INDEX calls_reply ON calls(reply);
CREATE INDEX uses_call ON uses(call);
CREATE INDEX rounds_draft ON rounds(draft);
CREATE INDEX rounds_base ON rounds(base);
CREATE INDEX calls_run ON calls(run, outcome, booked_usd);
CREATE INDEX calls_sent ON calls(key) WHERE outcome = 'sent';
CREATE INDEX pots_run ON pots(run);
CREATE INDEX pieces_text ON pieces(text);
CREATE INDEX parents_text ON parents(text);
CREATE INDEX links_child ON links(child);
CREATE INDEX opinions_draft ON opinions(draft);
CREATE INDEX typed_packs_document ON typed_packs(document, key);
CREATE INDEX chapters_run ON chapters(run);
CREATE UNIQUE INDEX items_source ON items(batch, source);
CREATE UNIQUE INDEX items_file ON items(batch, file);
CREATE INDEX items_run ON items(run);
CREATE INDEX items_document ON items(document);
CREATE INDEX turns_at ON turns(at, gate, tokens);
CREATE INDEX job_lines_job ON job_lines(job);
CREATE INDEX calls_of_job_lines ON job_lines(call);
CREATE INDEX calls_left ON calls(key) WHERE outcome IN ('lost', 'cancelled');
CREATE TRIGGER call_taken AFTER INSERT ON calls BEGIN 
    UPDATE pot_sums SET calls = calls + 1, usd = usd + 
    round(coalesce(new.booked_usd, 0) * 1000000000000)
, unpriced = unpriced + CASE WHEN new.booked_usd IS NULL THEN 1 ELSE 0 END
    WHERE new.outcome NOT IN ('rate_limited', 'unsupported') AND pot IN (SELECT pot FROM pots WHERE run = new.run);
 END;
CREATE TRIGGER call_given_back AFTER DELETE ON calls BEGIN 
    UPDATE pot_sums SET calls = calls - 1, usd = usd - 
    round(coalesce(old.booked_usd, 0) * 1000000000000)
, unpriced = unpriced - CASE WHEN old.booked_usd IS NULL THEN 1 ELSE 0 END
    WHERE old.outcome NOT IN ('rate_limited', 'unsupported') AND pot IN (SELECT pot FROM pots WHERE run = old.run);
 END;
CREATE TRIGGER call_changed AFTER UPDATE OF run, outcome, booked_usd ON calls BEGIN 
    UPDATE pot_sums SET calls = calls - 1, usd = usd - 
    round(coalesce(old.booked_usd, 0) * 1000000000000)
, unpriced = unpriced - CASE WHEN old.booked_usd IS NULL THEN 1 ELSE 0 END
    WHERE old.outcome NOT IN ('rate_limited', 'unsupported') AND pot IN (SELECT pot FROM pots WHERE run = old.run);
 
    UPDATE pot_sums SET calls = calls + 1, usd = usd + 
    round(coalesce(new.booked_usd, 0) * 1000000000000)
, unpriced = unpriced + CASE WHEN new.booked_usd IS NULL THEN 1 ELSE 0 END
    WHERE new.outcome NOT IN ('rate_limited', 'unsupported') AND pot IN (SELECT pot FROM pots WHERE run = new.run);
 END;
CREATE TRIGGER run_put_in AFTER INSERT ON pots BEGIN
    INSERT INTO pot_sums VALUES (new.pot, 0, 0, 0) ON CONFLICT DO NOTHING; 
    UPDATE pot_sums SET
    calls = calls + (SELECT count(*) FROM calls c WHERE c.run = new.run AND c.outcome NOT IN ('rate_limited', 'unsupported')),
    usd = usd + (SELECT coalesce(sum(
    round(coalesce(c.booked_usd, 0) * 1000000000000)
), 0) FROM calls c
        WHERE c.run = new.run AND c.outcome NOT IN ('rate_limited', 'unsupported')),
    unpriced = unpriced + (SELECT coalesce(sum(CASE WHEN c.booked_usd IS NULL THEN 1 ELSE 0 END), 0) FROM calls c
        WHERE c.run = new.run AND c.outcome NOT IN ('rate_limited', 'unsupported'))
    WHERE pot = new.pot;
 END;
CREATE TRIGGER run_taken_out AFTER DELETE ON pots BEGIN 
    UPDATE pot_sums SET
    calls = calls - (SELECT count(*) FROM calls c WHERE c.run = old.run AND c.outcome NOT IN ('rate_limited', 'unsupported')),
    usd = usd - (SELECT coalesce(sum(
    round(coalesce(c.booked_usd, 0) * 1000000000000)
), 0) FROM calls c
        WHERE c.run = old.run AND c.outcome NOT IN ('rate_limited', 'unsupported')),
    unpriced = unpriced - (SELECT coalesce(sum(CASE WHEN c.booked_usd IS NULL THEN 1 ELSE 0 END), 0) FROM calls c
        WHERE c.run = old.run AND c.outcome NOT IN ('rate_limited', 'unsupported'))
    WHERE pot = old.pot;

    DELETE FROM pot_sums WHERE pot = old.pot AND NOT EXISTS (SELECT 1 FROM pots WHERE pot = old.pot); END;
CREATE INDEX items_turn ON items(batch, state, priority DESC, attempts, idx, short);
CREATE INDEX errands_asker ON errands(asker);
CREATE INDEX errands_open ON errands(batch, state);
CREATE INDEX errands_helper ON errands(helper) WHERE state = 'taken';
CREATE INDEX final_comparisons_first ON final_comparisons(first);
CREATE INDEX final_comparisons_best ON final_comparisons(best);
CREATE INDEX candidates_run ON candidates(run);
CREATE INDEX candidates_draft ON candidates(draft);
COMMIT;
