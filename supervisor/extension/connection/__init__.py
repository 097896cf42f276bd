"""The channel to one worker: frames in both directions, requests to it, its own calls, and the rules of its handshake.

Which worker there is, and what becomes of it, is above: in `supervisor.extension`.
"""
