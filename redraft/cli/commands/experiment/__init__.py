"""`redraft experiment`: comparing models and judges, with tables that can be made again."""
