"""`zot ext stats`, `logs`, `restart` and `reload`: extensions of a host that runs."""
