"""Batches: tasks, outcomes, the lines of the journal, the records of `--json`, and what a run says to its batch."""
