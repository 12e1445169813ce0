"""HTML pages from templates, with their own styles and scripts. A page opens from a disk, without a network."""
