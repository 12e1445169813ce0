-- How much a summary needs the answer, from 1 to 3; 1 for questions that were stored before this step.
ALTER TABLE questions ADD COLUMN weight INTEGER NOT NULL DEFAULT 1;
