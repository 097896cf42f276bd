"""Session files in zot's format: one per run, each message written as it happens.

The messages themselves are defined in `agent.transcript`.
"""
