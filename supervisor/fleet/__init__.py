"""All running hosts of this user together, as one process of its own asks and watches them on one loop: their metrics,
served by HTTP, and what happens to their extensions.

No host imports this room.
"""
