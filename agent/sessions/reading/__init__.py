"""Reads sessions for a reader: the whole history, the arguments of calls in words, and where a text occurs.

`agent.sessions.load` reads one for the model, and `agent.sessions.store` only what a list shows.
"""
