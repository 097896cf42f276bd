"""Reads sessions for a reader: the whole history, the arguments of calls in words, where a text occurs, and the forks.

`agent.sessions.load` reads one for the model, and `agent.sessions.store` only the facts for a list.
"""
