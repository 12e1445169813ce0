"""`redraft agree`: how far judges agree with people."""
