"""One extension: its workers from handshake to exit, requests to them, restarts, stalls, log and notices.

To choose between extensions is the part of `supervisor.calls`; what happens to all of them in `supervisor.supervisor`.
"""
