"""A dossier: everything to see in a run as one typed value, which pages show, exports contain and the API returns."""
