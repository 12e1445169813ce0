-- How much a summary needs what is missing, how much of the score depends on it, and what a partial answer lacks.
ALTER TABLE findings ADD COLUMN weight bigint NOT NULL DEFAULT 0;
ALTER TABLE findings ADD COLUMN counts bigint NOT NULL DEFAULT 1;
ALTER TABLE findings ADD COLUMN missing text NOT NULL DEFAULT '';
