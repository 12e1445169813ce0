"""The pages of research in the studio, which loads them by the entry point in `extension.py`."""
