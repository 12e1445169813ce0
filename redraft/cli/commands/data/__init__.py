"""`redraft data`: public sets, and files of documents."""
