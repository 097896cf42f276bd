"""Batches for programs: many prompts, each in a process of its own."""
