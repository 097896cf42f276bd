"""How a worker is connected: a process on pipes, or a part of the program that embeds this host.

The handshake, the frames and the requests are those of `extension.worker` in both cases.
"""
