-- The second step of the schema on a Postgres server: what `../messages.sql` has, where the columns are explained.

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
