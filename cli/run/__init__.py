"""`zot -p`, `zot --json` and `zot demo`: from the flags to a run, and what a person sees of it."""
