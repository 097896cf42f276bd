"""Rehearsals: one extension as a supervised child, without a run, and everything that is said recorded."""
