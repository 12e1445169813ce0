"""Controls for judges: summaries of which it is known what is to be said of them, and whether a judge says it."""
