"""A judge that is no language model: a cross-encoder that says whether one text follows from another."""
