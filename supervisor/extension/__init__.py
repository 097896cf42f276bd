"""One extension: its processes from handshake to exit, its requests under way, restarts, stalls, log and notices.

Choosing between extensions is in `supervisor.calls`; what happens to all of them in `supervisor.supervisor`.
"""
