-- How likely it is that there is no such fault, where the judge says; NULL elsewhere.
ALTER TABLE findings ADD COLUMN probability DOUBLE PRECISION;
