"""Pages to look at: HTML from templates, with styles and scripts of our own. One opens from a disk, without network."""
