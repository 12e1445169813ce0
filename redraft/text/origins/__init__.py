"""The one map from the sentences of a text to the texts that they come from."""
