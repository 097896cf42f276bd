"""`zot ext bisect` and the other commands that find out which extension did it, and why."""
