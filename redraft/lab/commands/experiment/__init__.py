"""`redraft experiment`: compare models and judges, with reproducible tables."""
