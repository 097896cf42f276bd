"""Batches: many tasks, each in a process of its own, with a journal, a shared throttle and budgets."""
