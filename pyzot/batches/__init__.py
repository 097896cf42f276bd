"""Batches for programs: many prompts, each in its own process."""
