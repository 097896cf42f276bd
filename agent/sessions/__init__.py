"""Session files in zot's format: one per run, each message appended and synced as it happens.

What is said to the model is kept in `agent.transcript`.
"""
