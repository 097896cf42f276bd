"""The output of a run: the event stream, notices on stderr, the stats timeline, and a writer that never blocks.

`wire.events` defines the events.
"""
