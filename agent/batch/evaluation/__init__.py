"""Statistics over the results of batches: estimates with their intervals, and batches compared task by task. Pure.

`pass_at_k` and `interval` are the formulas. `repetitions` sums up the results of one task, `evaluation` those of a
batch, and `comparison` holds several batches against the first one. `task_versions` finds tasks that are not the same
in two batches. Results come from `agent.batch.journal.shards.BatchResults`; nothing here opens a file.
"""
