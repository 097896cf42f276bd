"""One extension: its workers from handshake to exit, requests to them, restarts, stalls, log and notices.

`supervisor.calls` chooses which extension to ask; `supervisor.supervisor` starts and stops all of them.
"""
