"""`zot ext bisect`, `torture`, `profile` and `replay`: they find out which extension did it, and why."""
