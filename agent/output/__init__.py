"""What a run writes: the event stream, notices on stderr, and the writer that never blocks.

The definitions of the events are in `wire.events`.
"""
