-- How a revision compares with the draft before it, which replaces the comparison of first and best draft.
ALTER TABLE rounds ADD COLUMN comparison text COLLATE "C";
DROP TABLE final_comparisons;
