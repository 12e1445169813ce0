-- The second step of the schema: the messages of calls. `postgres/messages.sql` has the same for a server.

-- The parts of messages that are not in the document, each once: calls share instructions, summaries and findings.
CREATE TABLE message_texts (
    id TEXT PRIMARY KEY,                        -- hash of the text
    body BLOB NOT NULL                          -- UTF-8, compressed with zlib
) STRICT;

-- The messages of each call in order, cut into parts. A stretch of the document has `start` and `end`, any other part
-- a `text`. Calls made before this step have none.
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
