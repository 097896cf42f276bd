"""Fills the object store of a Ray cluster whose address is the argument, until the end of its input."""

import pickle
import sys

import ray

PIECES, PIECE = 12, 8 * 2**20
"""More than a machine of `tests.support.ray_cluster` has."""


class Piece:
    """One that has been read stays in the store while it lives: Ray copies no such buffer."""

    def __init__(self, content: object) -> None:
        self.content = content

    def __reduce_ex__(self, _protocol: int) -> object:
        return Piece, (pickle.PickleBuffer(self.content),)


ray.init(sys.argv[1], log_to_driver=False, logging_level="error")
kept = [ray.get(ray.put(Piece(bytearray(PIECE)))) for _ in range(PIECES)]
print("full", flush=True)
sys.stdin.read()
