"""The channel to one worker: frames in both directions, requests to it, its own calls, and the rules of its handshake.

The life of a worker is above: in `supervisor.extension`.
"""
