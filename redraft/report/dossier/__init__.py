"""What there is to look at in a run, as one typed value: shown by pages, held by exports, answered by the API."""
