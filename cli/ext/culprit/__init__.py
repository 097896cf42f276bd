"""`zot ext torture` and the other commands that find out which extension did it, and why."""
